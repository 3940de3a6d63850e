"""Rows of torch datasets: the pool of the same arrays, without their memory."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from rdiv.row_blocks import rows_at_once
from rdiv.samples import pool_samples
from rdiv.samples.datasets import DatasetRows

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).random((30, 1, 4, 4)).astype(np.float32)
Y = np.arange(30) % 3


class Items(torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows, with their targets if there are any; counts how often it was asked."""

    def __init__(self, x: Any, y: Any = None) -> None:
        self.x, self.y, self.asked = x, y, 0

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        self.asked += 1
        return self.x[i] if self.y is None else (self.x[i], self.y[i])


class Batches(Items):
    """A dataset that gives many items at once."""

    def __getitems__(self, rows: list[int]) -> list[Any]:
        return [(torch.as_tensor(self.x[i]), int(self.y[i])) for i in rows]


@pytest.mark.parametrize("kind", [Items, Batches])
def test_the_pool_is_that_of_the_arrays(kind: Any) -> None:
    plain = pool_samples((X[:12], Y[:12]), (X[12:], Y[12:]), rng=3)
    lazy = pool_samples(kind(X[:12], Y[:12]), kind(X[12:], Y[12:]), rng=3)
    assert isinstance(lazy.pool.x, DatasetRows)
    assert lazy.pool.x.shape == plain.pool.x.shape
    assert lazy.entropy == plain.entropy
    np.testing.assert_array_equal(lazy.is_p, plain.is_p)
    np.testing.assert_array_equal(lazy.places, plain.places)
    np.testing.assert_array_equal(lazy.pool.y, plain.pool.y)
    np.testing.assert_array_equal(lazy.pool.keys, plain.pool.keys)
    assert lazy.pool.numbers().tobytes() == plain.pool.numbers().tobytes()
    rows = np.array([5, 0, 5])
    np.testing.assert_array_equal(lazy.pool.take(rows).numbers(), plain.pool.take(rows).numbers())


def test_types_of_both_samples_are_joined_as_arrays_are() -> None:
    p, q = X[:12], X[12:].astype(np.float64)
    plain, lazy = pool_samples(p, q, rng=0), pool_samples(Items(p), Items(q), rng=0)
    assert lazy.pool.x.dtype == np.float64
    assert lazy.entropy == plain.entropy
    assert lazy.pool.numbers().tobytes() == plain.pool.numbers().tobytes()
    mixed = pool_samples(p, Items(q), rng=0)
    assert mixed.pool.numbers().tobytes() == plain.pool.numbers().tobytes()


def test_the_door_reads_every_row_once_and_single_numbers_are_a_column() -> None:
    p, q = Items(np.arange(6.0)), Items(np.arange(5.0))
    pool = pool_samples(p, q, rng=0).pool
    assert pool.x.shape == (11, 1)
    assert p.asked - 6 == q.asked - 5 == 2  # the first row twice more, for its shape
    np.testing.assert_array_equal(np.sort(pool.matrix()[:, 0]), np.sort([*range(6), *range(5)]))


def test_blocks_cover_the_pool_in_order() -> None:
    x = np.zeros((3 * rows_at_once((64, 64, 64)) + 2, 64, 64, 64), dtype=np.uint8)
    x[:, 0, 0, 0] = np.arange(len(x))
    pool = pool_samples(Items(x[:2]), Items(x[2:]), rng=0).pool
    blocks = list(pool.blocks())
    assert len(blocks) == 5
    assert not any(block.unread for block in blocks)
    whole = np.concatenate([block.x for block in blocks])
    np.testing.assert_array_equal(whole[:, 0, 0, 0], pool.numbers()[:, 0, 0, 0])


def test_rows_pickle_with_their_dataset() -> None:
    rows = pool_samples(Items(X[:12]), Items(X[12:]), rng=0).pool.x
    assert np.asarray(pickle.loads(pickle.dumps(rows))).tobytes() == np.asarray(rows).tobytes()
    with pytest.raises(ValueError, match="a copy is needed"):
        np.asarray(rows, copy=False)


class Noise(Items):
    """A dataset with a random transform."""

    def __getitem__(self, i: int) -> Any:
        return self.x[i] + np.float32(0.01) * torch.rand(1).item()


ragged = [np.zeros(3), np.zeros(3), np.zeros(2)]


@pytest.mark.parametrize(
    ("p", "error", "message"),
    [
        (Items(ragged), ValueError, r"one shape and type, got \(2,\) of float64 for item 2 beside"),
        (Items([np.zeros(3), np.zeros(3, int)]), ValueError, "got .3,. of int64 for item 1 beside"),
        (Items(["a", "b"]), TypeError, "rows of a dataset must be numbers, got p"),
        (Items([]), ValueError, "p must have rows, got an empty dataset"),
        (Items(np.zeros((4, 2))), ValueError, "p and q must have the same columns"),
    ],
)
def test_bad_datasets_are_one_sentence(p: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        pool_samples(p, Items(np.zeros((4, 3))), rng=0)


def test_rows_that_change_are_refused() -> None:
    pool = pool_samples(Noise(X[:12]), Noise(X[12:]), rng=0).pool
    with pytest.raises(ValueError, match=r"same row whenever it is read, got another one for item"):
        pool.numbers()
