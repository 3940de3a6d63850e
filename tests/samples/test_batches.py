"""Later rows are read as those of the reference."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rdiv.errors import InputError
from rdiv.samples.batches import BatchReader, Roles
from rdiv.samples.frames import as_frame
from rdiv.samples.pooling import pool_alone


def reader(frame, **roles) -> BatchReader:
    pooled = pool_alone(frame, rng=0, **roles)
    inputs = as_frame(frame).drop([name for name in roles.values() if name in frame.columns])
    return BatchReader(inputs, pooled.pool, Roles(**roles), "target" in roles)


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame({"a": [1, 2, 3, 4], "c": ["x", "y", "x", "z"], "y": [0, 1, 1, 0]})


def test_rows_have_the_keys_of_the_reference(frame) -> None:
    read = reader(frame, target="y")
    batch = read.read(frame)
    known = {key.tobytes() for key in read.pool.keys}
    assert {key.tobytes() for key in batch.labelled.keys} == known
    floats = batch.keys.tobytes()
    assert read.read(frame.with_columns(pl.col("a").cast(pl.Float64))).keys.tobytes() == floats


def test_missing_labels_are_apart(frame) -> None:
    read = reader(frame, target="y")
    batch = read.read(frame.with_columns(y=pl.Series([None, 1, None, 0])))
    assert len(batch) == 4
    assert batch.pool.y is None
    assert sorted(batch.labelled.y.tolist()) == [0, 1]
    taken = batch.pool.take(batch.rows).x
    assert taken["a"].to_list() == batch.labelled.x["a"].to_list()
    assert len(read.read(frame.drop("y")).labelled) == 0


def test_classes_keep_their_codes(frame) -> None:
    read = reader(frame.with_columns(y=pl.Series(["n", "y", "y", "n"])), target="y")
    batch = read.read(frame.with_columns(y=pl.Series(["y", "maybe", "n", "y"])))
    assert batch.pool.classes.tolist() == ["n", "y", "maybe"]
    assert sorted(batch.labelled.y.tolist()) == [0, 1, 1, 2]
    with pytest.raises(InputError, match="must hold text, as in the reference"):
        read.read(frame)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop("a"), "same columns, got 'a' only in the reference"),
        (lambda f: f.with_columns(more=1), "'more' only in the batch"),
        (lambda f: f.with_columns(a=pl.lit("text")), "column 'a' must hold the same kind"),
        (lambda f: f.head(0), "has no rows"),
        (lambda f: f.to_pandas(), "frames of one library"),
        (lambda f: np.zeros((3, 2)), "must be a frame, as the reference, got an array"),
    ],
)
def test_other_columns_are_refused(frame, change, words: str) -> None:
    with pytest.raises(InputError, match=words):
        reader(frame, target="y").read(change(frame))


def test_columns_that_were_dropped_may_be_there_or_not(frame) -> None:
    pooled = pool_alone(frame.drop("c"), target="y", rng=0)
    inputs = as_frame(frame).select("a")
    read = BatchReader(inputs, pooled.pool, Roles("y", ignored=("c",)), True)
    assert np.array_equal(read.read(frame).keys, read.read(frame.drop("c")).keys)


def test_pandas_categories_and_missing_cells() -> None:
    table = pd.DataFrame({"c": pd.Categorical(["u", "v", "u"]), "x": [1.0, None, 2.0]})
    batch = reader(table).read(table.assign(c=pd.Categorical(["v", "w", "v"])))
    assert len(batch.labelled) == 3
    assert batch.pool.task == "density"


def test_losses() -> None:
    table = pl.DataFrame({"loss": [0.5, 1.5, 2.5]})
    read = reader(table, loss="loss")
    batch = read.read(pl.DataFrame({"loss": [3.0, None]}))
    assert batch.labelled.loss.tolist() == [3.0]
    assert len(batch) == 2
    for bad, words in (("text", "must hold numbers"), (float("inf"), "must hold finite numbers")):
        with pytest.raises(InputError, match=words):
            read.read(pl.DataFrame({"loss": [bad]}))
