"""Going through the rows of a pool: every row gets its own number, whatever lies beside it."""

from __future__ import annotations

from threading import get_ident

import numpy as np
import polars as pl
import pytest

from rdiv.parallel.spreading import spread_over
from rdiv.samples import Pool
from rdiv.samples import rows as samples_rows
from rdiv.samples.row_passes import as_they_lie, row_by_row

POOL = Pool(pl.DataFrame({"a": np.arange(100.0)})).take(np.random.default_rng(0).permutation(100))


def values(rows: np.ndarray) -> np.ndarray:
    found: np.ndarray = POOL.take(rows).by_kind().numbers
    return found


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_numbers_come_back_in_the_order_of_the_rows(step: int, jobs: int) -> None:
    whole = values(np.arange(100))
    with spread_over(jobs, None):
        assert np.array_equal(row_by_row(POOL, values, step=step, threads=True), whole)
        some = np.array([50, 3, 99, 0])
        assert np.array_equal(row_by_row(POOL, values, some, step=step), whole[some])


def test_what_is_not_made_for_threads_stays_in_one() -> None:
    seen: set[int] = set()

    def look(rows: np.ndarray) -> np.ndarray:
        seen.add(get_ident())
        return values(rows)

    with spread_over(2, None):
        row_by_row(POOL, look, step=10)
    assert seen == {get_ident()}


def test_rows_are_read_in_the_order_in_which_they_lie() -> None:
    seen: list[float] = []

    def look(rows: np.ndarray) -> np.ndarray:
        seen.extend(values(rows)[:, 0])
        return values(rows)

    row_by_row(POOL, look, step=9)
    assert seen == sorted(seen)


def test_rows_that_were_taken_twice_are_gone_through_twice() -> None:
    twice = POOL.take(np.array([5, 7, 5]))
    blocks = as_they_lie(twice, np.arange(3), 2)
    assert sorted(np.concatenate(list(blocks)).tolist()) == [0, 1, 2]


def test_the_rows_of_another_preparation_lie_where_their_frame_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(samples_rows, "MOST_KEPT", 0)  # numbers that are kept lie beside each other
    like = POOL.take(np.arange(20)).like(POOL.anew(np.arange(30)))
    order = np.concatenate(list(as_they_lie(like, np.arange(20), 6)))
    assert np.array_equal(values(np.arange(20))[order, 0], np.sort(values(np.arange(20))[:, 0]))


def test_an_array_is_gone_through_as_it_is() -> None:
    pool = Pool(np.zeros((5, 1)))
    assert [block.tolist() for block in as_they_lie(pool, np.arange(5), 3)] == [[0, 1, 2], [3, 4]]
