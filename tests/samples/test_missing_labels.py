"""Labels that current lacks: found in every kind of sample, and refused where they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rdiv
from rdiv.errors import InputError
from rdiv.samples.missing_labels import FEWEST_LABELLED, separate_labels
from rdiv.samples.pooling import pool_samples

X = np.arange(80.0).reshape(40, 2)
Y = np.arange(40) % 3


def frame(y: Any, library: str = "polars") -> Any:
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "y": list(y)}
    if library == "pandas":
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if library == "polars" else pa.table(columns)


def without(known: int) -> list[Any]:
    return [*Y[:known].tolist(), *[None] * (40 - known)]


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("text", [False, True])
def test_frames_with_labels_in_part(library: str, text: bool) -> None:
    def labels(values: list[Any]) -> list[Any]:
        return ["no" if one is None else f"class {one}" for one in values] if text else values

    given = [None if one is None else labels([one])[0] for one in without(25)]
    found = separate_labels(frame(labels(Y.tolist()), library), frame(given, library), target="y")
    assert found is not None
    assert found.labels == "some"
    assert found.known.tolist() == [True] * 25 + [False] * 15
    pooled = pool_samples(found.reference, found.labelled, rng=0)
    assert pooled.pool.task == "classification"  # whole numbers beside empty cells are no floats
    assert pooled.pool.columns == ("a", "b")
    assert int((~pooled.is_p).sum()) == 25
    kept = np.sort(pooled.places[~pooled.is_p])
    np.testing.assert_array_equal(kept, np.arange(25))


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("known", [0, FEWEST_LABELLED - 1])
def test_no_labels_or_next_to_none(library: str, known: int) -> None:
    found = separate_labels(frame(Y, library), frame(without(known), library), target="y")
    assert found is not None
    assert found.labels == "none"
    assert found.labelled is None
    assert found.known.sum() == known


def test_an_absent_column() -> None:
    current = frame(Y).drop("y")
    found = separate_labels(frame(Y), current, target="y")
    assert found is not None
    assert found.labels == "none"
    assert found.current.columns == ["a", "b"]


def test_all_labels_leave_the_samples_as_they_are() -> None:
    reference, current = frame(Y), frame(Y)
    found = separate_labels(reference, current, target="y")
    assert found is not None
    assert found.labels == "all"
    assert found.reference is reference
    assert found.current is current


def test_pairs_of_arrays() -> None:
    y = Y.astype(float)
    y[30:] = np.nan
    found = separate_labels((X, Y), (X, y))
    assert found is not None
    assert found.labels == "some"
    assert found.labelled[1].dtype.kind == "i"
    np.testing.assert_array_equal(found.labelled[0], X[:30])
    alone = separate_labels((X, Y), X)
    assert alone is not None
    assert alone.labels == "none"
    assert separate_labels(X, X) is None


def test_groups_given_as_arrays_lose_the_rows_without_labels() -> None:
    y = Y.astype(float)
    y[::2] = np.nan
    groups = (np.arange(40), np.arange(40, 80))
    found = separate_labels((X, Y), (X, y), groups=groups)
    assert found is not None
    own = found.designs[0]
    assert own is not None
    np.testing.assert_array_equal(own[1], np.arange(41, 80, 2))


def test_a_loss_column_is_a_label_too() -> None:
    reference = frame(Y).rename({"y": "loss"})
    for current, labels in (
        (reference.with_columns(loss=pl.lit(None, pl.Float64)), "none"),
        (reference.drop("loss"), "none"),
        (frame(without(20)).rename({"y": "loss"}), "some"),
    ):
        found = separate_labels(reference, current, loss="loss")
        assert found is not None
        assert found.labels == labels


@pytest.mark.parametrize(
    ("reference", "current", "words"),
    [
        (frame(without(39)), frame(Y), "no missing values in the reference, got 1 of 40"),
        (frame(Y).drop("y"), frame(Y), "must be in the reference, found 'y' only in current"),
        (frame(Y).drop("y"), frame(Y).drop("y"), "found 'y' in neither sample"),
    ],
)
def test_what_is_refused(reference: Any, current: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        rdiv.compare(reference, current, target="y", rng=0)


def test_other_tests_still_need_all_labels() -> None:
    with pytest.raises(InputError, match="no missing values"):
        rdiv.two_sample_test(frame(Y), frame(without(20)), target="y", model="logistic")
    with pytest.raises(InputError, match="both samples need a target or neither"):
        rdiv.two_sample_test((X, Y), X, model="logistic")
