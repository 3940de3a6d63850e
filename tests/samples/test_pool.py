"""The pool: rows without origin, their numbers, their copies."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rdiv.samples import Pool, pool_samples, require_finite
from rdiv.samples.preparation import fit_preparation

RNG = np.random.default_rng(0)


def test_a_pool_knows_no_origin() -> None:
    names = {field.name for field in fields(Pool)}
    assert not names & {"is_p", "mask", "origin", "side"}
    pool = Pool(np.zeros((3, 1)))
    with pytest.raises(FrozenInstanceError):
        pool.x = np.ones((3, 1))  # type: ignore[misc]


def test_take_keeps_everything_in_the_order_asked_for() -> None:
    pool = Pool(
        np.arange(8.0).reshape(4, 2),
        y=np.array([0, 1, 1, 0]),
        task="classification",
        groups=np.array([0, 0, 1, 2]),
        strata=np.array([1, 0, 1, 0]),
        classes=np.array(["no", "yes"]),
    )
    part = pool.take(np.array([3, 1]))
    assert part.x.tolist() == [[6.0, 7.0], [2.0, 3.0]]
    assert part.y.tolist() == [0, 1]
    assert part.groups.tolist() == [2, 0]
    assert part.strata.tolist() == [0, 0]
    assert part.task == "classification"
    assert part.classes.tolist() == ["no", "yes"]
    assert part.keys.tobytes() == pool.keys[[3, 1]].tobytes()
    assert part.take(np.array([1])).x.tolist() == [[2.0, 3.0]]
    assert len(part) == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64, np.bool_])
def test_numbers_of_an_array_are_the_array(dtype: type) -> None:
    x = RNG.integers(0, 2, size=(5, 3, 2, 2)).astype(dtype)
    pool = Pool(x)
    assert pool.numbers().shape == (5, 3, 2, 2)
    assert pool.numbers().dtype.kind == "f"
    assert (pool.numbers() == x).all()
    assert pool.matrix().shape == (5, 12)
    assert pool.matrix().dtype == np.float64


def test_nothing_is_imputed_or_scaled_in_an_array() -> None:
    x = np.array([[1.0, np.nan], [1e9, 3.0]])
    np.testing.assert_array_equal(Pool(x).numbers(), x)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["pl", "pd", "pa"])
def test_the_preparation_of_a_part_is_that_of_the_whole(make: object) -> None:
    frame = make({"a": [1.0, 2.0, None, 100.0], "b": ["x", "y", "x", "x"]})  # type: ignore[operator]
    pool = Pool(frame)
    whole = pool.numbers()
    np.testing.assert_array_equal(whole, fit_preparation(frame).apply(frame))
    part = pool.take(np.array([3, 0]))
    assert part.numbers().tobytes() == whole[[3, 0]].tobytes()
    assert part.take(np.array([1])).numbers().tobytes() == whole[[0]].tobytes()
    assert type(part.x) is type(frame)
    assert len(part) == 2


def test_one_fitted_on_a_part_first_is_still_fitted_on_the_whole() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 100.0]})
    part_first, whole_first = Pool(frame), Pool(frame)
    part = part_first.take(np.array([0, 1])).numbers()
    assert part.tobytes() == whole_first.numbers()[:2].tobytes()


def test_writing_to_the_numbers_of_a_frame_cannot_change_the_pool() -> None:
    pool = Pool(pl.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="read-only"):
        pool.numbers()[0] = 5.0


def test_twins_point_to_the_first_row_with_their_content() -> None:
    pool = Pool(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 5.0], [1.0, 2.0]]))
    assert pool.first_copy.tolist() == [0, 1, 0, 3, 0]
    labelled = Pool(pool.x, y=np.array([0, 0, 1, 0, 0]), task="classification")
    assert labelled.first_copy.tolist() == [0, 1, 2, 3, 0]  # the target is content too
    frame = Pool(pd.DataFrame({"a": ["x", None, "x", None], "b": [1, 1, 1, 2]}))
    assert frame.first_copy.tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1.5, None, 1.5], "b": ["x", "y", "x"]}),
        pd.DataFrame({"a": [1.5, None, 1.5], "b": ["x", "y", "x"]}),
    ],
    ids=["polars", "pandas"],
)
def test_keys_through_the_door_tell_the_same_rows_apart(frame: object) -> None:
    pooled = pool_samples(frame, frame, rng=0)
    again = Pool(pooled.pool.x)
    assert again.first_copy.tolist() == pooled.pool.first_copy.tolist()
    assert len(set(pooled.pool.first_copy.tolist())) == 2


def test_require_finite_counts_and_names_columns() -> None:
    require_finite(np.zeros((2, 2)), who="kde")
    x = np.zeros((4, 12))
    x[0, 3] = np.nan
    with pytest.raises(ValueError, match=r"gmm needs finite inputs, got 1 .* value in column 3;"):
        require_finite(x, who="gmm")
    x[1:3, 3:] = np.inf
    with pytest.raises(ValueError, match=r"got 19 .* values in columns 3, 4, .*10, \.\.\.;"):
        require_finite(x, who="gmm")
    with pytest.raises(ValueError, match="got 2"):
        require_finite(np.array([[[np.nan, 1.0]], [[np.inf, 1.0]]]), who="pca")


def test_keys_of_parts_are_gathered_late_and_sent_alone() -> None:
    pooled = pool_samples(np.arange(8.0)[:, None], np.arange(100.0, 106.0)[:, None], rng=0)
    part = pooled.pool.take(np.array([9, 2, 5])).take(np.array([2, 0]))
    expected = pooled.pool.keys[[5, 9]]
    sent = pickle.loads(pickle.dumps(part))
    for own in (part, sent):
        np.testing.assert_array_equal(own.keys, expected)
        np.testing.assert_array_equal(own.keys_of(np.array([1])), expected[1:])
    assert sent.known_keys.whole.shape == (2, 2)  # not those of all rows
