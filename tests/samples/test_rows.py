"""Rows of a pool: an array, a table and a dataset keep one protocol."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rdiv.errors import InputTypeError
from rdiv.row_blocks import cut, cut_sizes, rows_at_once, rows_within
from rdiv.samples.datasets import read_dataset
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.pool import Pool, content_keys
from rdiv.samples.row_keys import array_keys
from rdiv.samples.rows import ArrayRows, Rows, TableRows, UnreadRows, as_rows

X = np.random.default_rng(0).normal(size=(9, 2))
ORDER = np.array([4, 0, 8, 4])


class Items:
    """A map-style dataset of the rows above."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, i: int) -> Any:
        return X[i]


KINDS: dict[str, tuple[type, Callable[[], Any]]] = {
    "array": (ArrayRows, lambda: X),
    "list": (ArrayRows, X.tolist),
    "polars": (TableRows, lambda: pl.DataFrame(X, schema=["a", "b"])),
    "pandas": (TableRows, lambda: pd.DataFrame(X, columns=["a", "b"], index=range(3, 12))),
    "frame rows": (TableRows, lambda: FrameRows(pl.DataFrame(X[::-1], ["a", "b"]), np.arange(9))),
    "dataset": (UnreadRows, lambda: read_dataset(Items(), "p")[0]),
}


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> Rows:
    kind, make = KINDS[request.param]
    found = as_rows(make())
    assert type(found) is kind
    return found


def test_rows_are_made_once(rows: Rows) -> None:
    assert as_rows(rows) is rows
    assert Pool(rows).rows is rows


def test_rows_are_taken_in_the_order_given(rows: Rows) -> None:
    part = rows.take(ORDER)
    assert type(part) is type(rows)
    assert (len(rows), len(part)) == (9, 4)
    assert (rows.shape, part.shape) == ((9, 2), (4, 2))
    assert part.numbers().tobytes() == rows.numbers()[ORDER].tobytes()
    assert part.keys.tobytes() == rows.keys[ORDER].tobytes()
    again = part.take(np.array([3, 1]))
    assert again.numbers().tobytes() == rows.numbers()[[4, 0]].tobytes()
    assert again.owners() == rows.owners()


def test_rows_in_memory_have_the_same_numbers(rows: Rows) -> None:
    read = rows.read()
    assert read.numbers().tobytes() == rows.numbers().tobytes()
    assert not isinstance(read, UnreadRows)
    assert (rows.step is None) == (not isinstance(rows, UnreadRows))


def test_rows_travel_to_another_process(rows: Rows) -> None:
    there = pickle.loads(pickle.dumps(Pool(rows).take(ORDER)))
    assert there.numbers().tobytes() == rows.numbers()[ORDER].tobytes()
    assert there.keys.tobytes() == rows.keys[ORDER].tobytes()


def test_another_order_learns_its_preparation_anew() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 30.0]})
    rows, last = as_rows(frame), np.array([1, 0])
    assert rows.take(last).numbers().std() < 0.5
    np.testing.assert_allclose(rows.anew(last).numbers()[:, 0], [1.0, -1.0])


def test_a_frame_is_gathered_when_it_is_asked_for_and_then_kept() -> None:
    frame = pl.DataFrame(X, schema=["a", "b"])
    rows = as_rows(frame)
    assert rows.x is frame
    part = rows.take(ORDER)
    assert part.x is part.x
    assert part.x.equals(frame[ORDER])


def test_a_pool_says_what_its_rows_are() -> None:
    array, frame = Pool(X), Pool(pl.DataFrame({"a": [1.0]}))
    images, unread = Pool(np.zeros((2, 1, 3, 3))), Pool(read_dataset(Items(), "p")[0])
    pools = (array, frame, images, unread)
    assert [pool.is_table for pool in pools] == [False, True, False, False]
    assert [pool.is_images for pool in pools] == [False, False, True, False]
    assert [pool.unread for pool in pools] == [False, False, False, True]
    assert array.x is X
    with pytest.raises(InputTypeError, match="not a table"):
        array.columnwise()


@pytest.mark.parametrize("labels", [(), (np.arange(9), None, np.array(["a", "b", "c"] * 3))])
def test_keys_of_rows_and_of_labels_add_up(rows: Rows, labels: tuple[Any, ...]) -> None:
    keys = content_keys(rows, labels)
    assert len(np.unique(keys, axis=0)) == 9
    assert (keys.tobytes() == rows.keys.tobytes()) == (not labels)
    if not isinstance(rows, TableRows):
        assert rows.keys.tobytes() == array_keys(X).tobytes()


def test_a_table_without_columns_has_keys_of_its_labels() -> None:
    keys = content_keys(as_rows(pd.DataFrame(index=range(3))), (np.arange(3),))
    assert len(np.unique(keys, axis=0)) == 3


def test_blocks_cover_all_rows_once() -> None:
    for n in range(12):
        for step in range(1, 7):
            blocks = [np.arange(n)[block] for block in cut(n, step)]
            assert np.concatenate([*blocks, []]).tolist() == list(range(n))
            assert cut_sizes(n, step) == [len(block) for block in blocks]
            assert all(len(block) == step for block in blocks[:-1])


def test_blocks_are_as_large_as_memory_allows_and_never_empty() -> None:
    assert rows_within(2**16, 3) == 21845
    assert rows_within(5, 0) == 5
    assert rows_within(5, 100) == 1
    assert rows_at_once((2,)) == 4096
    assert rows_at_once((3, 224, 224)) == 1
    assert rows_at_once((2**20,)) == 4
    assert rows_at_once(()) == 4096
