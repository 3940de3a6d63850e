"""Learners hold their level over random splits of one fixed pool at one seed.

Small counts here; `benchmarks/calibration/fixed_pool.py` runs the full ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration import fixed_pool as benchmark
from benchmarks.calibration.fixed_pool import CELLS, Spread, spread

SPLITS, POOLS = 100, range(2)
KNOWING = CELLS[0]


@pytest.mark.parametrize("name", ["neighbours in one order", benchmark.POWER])
def test_the_level_of_one_pool_at_one_seed(name: str) -> None:
    cell = next(cell for cell in CELLS if cell.name == name)
    found = spread(cell, SPLITS, POOLS)
    assert found.passed, found.counts


def test_halves_by_the_order_of_the_pool_are_caught() -> None:
    with benchmark.halves_by_the_order_of_the_pool():
        found = spread(KNOWING, SPLITS // 2, POOLS)
    assert found.overall < benchmark.STRICTNESS, found.counts


def test_splits_of_a_pool_keep_its_rows_groups_and_strata() -> None:
    rng = np.random.default_rng(0)
    for draw in (benchmark.numbers, benchmark.grouped, benchmark.paired):
        pool = draw(20, rng)
        given = pool.split(8, rng)
        both = np.concatenate([given["p"], given["q"]])
        assert sorted(both[:, 0]) == sorted(pool.x[:, 0])
        if pool.groups is not None:
            assert len(set(given["groups"][0])) == 8
            assert not set(given["groups"][0]) & set(given["groups"][1])
        elif pool.strata is not None:
            assert sorted(given["strata"][0]) == sorted(given["strata"][1])
        else:
            assert len(given["p"]) == 8


def test_the_check_sees_a_level_that_differs_between_pools() -> None:
    assert Spread(np.array([40, 55, 50, 55]), 1000).passed
    assert not Spread(np.array([20, 80, 20, 80]), 1000).passed
    assert not Spread(np.array([75, 75, 75, 75]), 1000).passed
    assert Spread(np.array([0, 10, 30, 50]), 1000, ties=True).passed
    assert not Spread(np.array([0, 0, 0, 85]), 1000, ties=True).passed
