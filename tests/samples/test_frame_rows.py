"""Rows of a table that are gathered late: the same rows, the same numbers, fewer copies."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rdiv
from rdiv.models.corrections import linear_correction
from rdiv.samples import frame_rows
from rdiv.samples import rows as kinds
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.frames import as_frame
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples

MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda columns: pd.DataFrame(columns, index=range(7, 7 + len(columns["a"]))),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
COLUMNS = {"a": [1.0, 2.0, None, 4.0, 9.0], "b": ["x", "y", "x", None, "y"]}


@pytest.fixture(params=MAKERS)
def frame(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param](COLUMNS)


@pytest.fixture
def keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_KEPT", 0)
    monkeypatch.setattr(kinds, "_LARGE_TABLE_STEP", 7)


def table(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    town = rng.choice(["north", "south", "west"], size=n)
    y = np.where(x + rng.normal(size=n) > 0, "yes", "no")
    return pl.DataFrame({"x": x, "town": town, "hole": np.where(x > 1, np.nan, x), "y": y})


def test_rows_are_those_asked_for(frame: Any) -> None:
    rows = FrameRows(frame, np.array([4, 0, 3]))[np.array([0, 2])]
    assert len(rows) == 2
    assert rows.columns == ["a", "b"]
    assert rows.get_column("a").to_list() == [9.0, 4.0]
    gathered = as_frame(rows.gathered())
    assert gathered.get_column("a").to_list() == [9.0, 4.0]
    assert FrameRows(frame).gathered() is frame


def test_a_pool_gathers_its_frame_when_it_is_read(frame: Any) -> None:
    pool = Pool(FrameRows(frame, np.array([4, 3, 2, 1, 0])))
    part = pool.take(np.array([0, 3]))
    assert len(pool) == 5
    assert len(part) == 2
    assert "x" not in part.rows.__dict__  # nothing was copied so far
    np.testing.assert_array_equal(part.numbers(), pool.numbers()[[0, 3]])
    assert "x" not in part.rows.__dict__
    assert as_frame(part.x).get_column("a").to_list() == [9.0, 2.0]
    assert type(part.given()) is type(frame)


def test_a_mask_takes_the_rows_where_it_is_true(frame: Any) -> None:
    pool = Pool(frame)
    part = pool.take(np.array([True, False, False, True, False]))
    assert len(part) == 2
    np.testing.assert_array_equal(part.numbers(), pool.numbers()[[0, 3]])


def test_a_pool_travels_to_another_process(frame: Any) -> None:
    pool = Pool(FrameRows(frame, np.array([4, 3, 2, 1, 0]))).take(np.array([1, 2]))
    there = pickle.loads(pickle.dumps(pool))
    np.testing.assert_array_equal(there.numbers(), pool.numbers())
    assert as_frame(there.x).get_column("a").to_list()[0] == 4.0


def test_a_large_table_has_the_numbers_of_a_kept_one(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.array([3, 0, 0])
    kept = Pool(frame)
    expected = kept.numbers(), kept.take(rows).numbers(), kept.owners()
    monkeypatch.setattr(kinds, "MOST_KEPT", 0)
    large = Pool(frame)
    np.testing.assert_array_equal(large.numbers(), expected[0])
    np.testing.assert_array_equal(large.take(rows).numbers(), expected[1])
    assert large.owners() == expected[2]
    large.numbers()[:] = 0.0  # a copy
    np.testing.assert_array_equal(large.numbers(), expected[0])


@pytest.mark.usefixtures("keep_nothing")
def test_blocks_cover_a_large_table() -> None:
    pool = pool_samples(table(20, 0), table(11, 1), target="y", rng=0).pool
    blocks = list(pool.blocks())
    assert [len(block) for block in blocks] == [7, 7, 7, 7, 3]
    np.testing.assert_array_equal(np.vstack([block.matrix() for block in blocks]), pool.matrix())


def test_gradients_of_a_large_table_are_those_of_a_kept_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pooled = pool_samples(table(40, 0), table(31, 1), target="y", rng=0)
    residuals = np.random.default_rng(2).normal(size=(71, 2))
    expected = linear_correction(residuals, pooled.pool)
    monkeypatch.setattr(kinds, "MOST_KEPT", 0)
    monkeypatch.setattr(kinds, "_LARGE_TABLE_STEP", 7)
    np.testing.assert_allclose(linear_correction(residuals, pooled.pool), expected, atol=1e-12)


def test_a_large_table_gets_the_verdict_of_a_kept_one(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = table(150, 0), table(120, 1)
    settings: dict[str, Any] = {"target": "y", "model": "boosting", "rng": 0, "n_resamples": 99}
    expected = rdiv.compare(p, q, **settings)
    monkeypatch.setattr(kinds, "MOST_KEPT", 0)
    monkeypatch.setattr(kinds, "_LARGE_TABLE_STEP", 50)
    found = rdiv.compare(p, q, **settings)
    assert found.gap == expected.gap
    for name, result in expected.results.items():
        assert found.results[name].pvalue == result.pvalue, name
    assert found.drivers is not None
    assert expected.drivers is not None
    assert repr(found.drivers.rows) == repr(expected.drivers.rows)  # cells hold NaN


@pytest.mark.usefixtures("keep_nothing")
def test_moving_rows_between_samples_changes_no_number_of_a_large_table() -> None:
    rows = pl.concat([table(30, 0), table(30, 1)])
    order = np.random.default_rng(3).permutation(60)
    deals = [order[:20], order[20:]], [order[40:], order[:40]]
    pool, other = (
        pool_samples(rows[first], rows[second], target="y", rng=0).pool for first, second in deals
    )
    assert pool.numbers().tobytes() == other.numbers().tobytes()
    assert pool.x.equals(other.x)


@pytest.mark.parametrize(
    "order", [[1, 2, 3], [0, 1, 2, 3, 4], [3, 1, 2], [1, 1, 2], [4], [0, 4], [], [4, 3, 2, 1, 0]]
)
@pytest.mark.parametrize("sparse", [1, 4])
def test_rows_of_a_stretch_are_those_asked_for(
    frame: Any, order: list[int], sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_rows, "_SPARSE", sparse)
    rows = FrameRows(frame, np.array(order, dtype=np.intp))
    for name, values in COLUMNS.items():
        found = [None if value != value else value for value in rows.get_column(name).to_list()]
        assert found == [values[place] for place in order]
