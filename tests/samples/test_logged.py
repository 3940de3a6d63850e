"""Logged predictions and losses: which loss they stand for, and one sentence for what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from rdiv.errors import InputError
from rdiv.models import LoggedLosses, LoggedPredictions
from rdiv.samples.pooling import PooledSamples, pool_samples

Y = ["a", "b", "c", "a", "b", "c"]
FRAME = pl.DataFrame(
    {
        "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "y": Y,
        "two": ["no", "yes", "no", "yes", "yes", "no"],
        "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.5],
        "p": [0.1, 0.9, 0.2, 0.6, 0.5, 1.0],
        "guess": ["a", "b", "a", "z", "b", "c"],
        "pa": [0.5, 0.2, 0.1, 0.7, 0.3, 0.0],
        "pb": [0.3, 0.7, 0.1, 0.2, 0.3, 0.5],
        "pc": [0.2, 0.1, 0.8, 0.1, 0.4, 0.5],
        "forecast": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "loss": [0.5, 0.25, 0.0, 1.0, 2.0, 4.0],
    }
)


def pooled(frame: pl.DataFrame = FRAME, keep: tuple[str, ...] = (), **how: Any) -> PooledSamples:
    own = frame if not keep else frame.select(keep)
    return pool_samples(own[:3], own[3:], rng=0, **how)


def as_given(values: Any, found: PooledSamples) -> Any:
    """Numbers of the pool in the order of the file."""
    row = found.places + np.where(found.is_p, 0, 3)
    return np.asarray(values)[np.argsort(row)]


@pytest.mark.parametrize(
    ("target", "prediction", "name", "losses"),
    [
        ("two", "p", "log loss", -np.log([0.9, 0.9, 0.8, 0.6, 0.5, 1e-12])),
        ("y", "guess", "0/1 loss", [0, 0, 1, 1, 0, 0]),
        ("size", "forecast", "squared error", [0, 0, 0, 0, 0, 0.25]),
        (
            "y",
            {"a": "pa", "b": "pb", "c": "pc"},
            "log loss",
            -np.log([0.5, 0.7, 0.8, 0.7, 0.3, 0.5]),
        ),
    ],
)
def test_predictions_have_the_loss_of_the_task(
    target: str, prediction: Any, name: str, losses: list[float]
) -> None:
    columns = [prediction] if isinstance(prediction, str) else list(prediction.values())
    found = pooled(keep=("x", target, *columns), target=target, prediction=prediction)
    model = LoggedPredictions("p")
    assert model.loss_name(found.pool) == name
    np.testing.assert_allclose(as_given(model.losses(found.pool), found), losses)
    assert found.pool.columns == ("x",)


def test_whole_numbers_that_are_classes_are_predicted_classes() -> None:
    frame = FRAME.with_columns(y=pl.Series([0, 1, 0, 1, 1, 0]), p=pl.Series([0, 1, 1, 1, 0, 0]))
    found = pooled(frame, ("x", "y", "p"), target="y", prediction="p")
    losses = LoggedPredictions("p").losses(found.pool)
    assert as_given(losses, found).tolist() == [0, 0, 1, 0, 1, 0]


def test_losses_need_neither_target_nor_inputs() -> None:
    for keep in (("loss",), ("x", "loss")):
        found = pooled(keep=keep, loss="loss")
        losses = LoggedLosses("loss").losses(found.pool)
        assert as_given(losses, found).tolist() == FRAME["loss"].to_list()


def test_they_count_in_the_content_of_a_row() -> None:
    """Rows that differ in their logged loss alone are no copies."""
    frame = pl.DataFrame({"x": [1.0] * 6, "loss": [1.0, 1.0, 2.0, 1.0, 2.0, 3.0]})
    found = pooled(frame, loss="loss")
    assert len(np.unique(found.pool.first_copy)) == 3


BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "outside": (
        {"p": [0.1, 0.9, 1.5, 0.6, 0.5, 1.0]},
        {"target": "two", "prediction": "p"},
        "between 0 and 1, got 1.5 in row 2 of p",
    ),
    "missing": (
        {"p": [0.1, 0.9, 0.2, 0.6, None, 1.0]},
        {"target": "two", "prediction": "p"},
        "'p' must have a value in every row, got 1 missing or infinite, the first in row 1 of q",
    ),
    "a class without a column": (
        {},
        {"target": "y", "prediction": {"a": "pa", "b": "pb"}},
        "a column for every class of the target, got none for 'c'",
    ),
    "not adding up": (
        {"pa": [0.9, 0.2, 0.1, 0.7, 0.3, 0.0]},
        {"target": "y", "prediction": {"a": "pa", "b": "pb", "c": "pc"}},
        "add up to 1 in every row, got 1.4 in row 0 of p",
    ),
    "one column for three classes": (
        {},
        {"target": "y", "prediction": "p"},
        "cannot predict 3 classes",
    ),
    "other classes": (
        {"guess": ["u"] * 6},
        {"target": "y", "prediction": "guess"},
        "values such as 'u', and the target has the classes 'a', 'b', 'c'",
    ),
    "no target": ({}, {"prediction": "p"}, "needs the target that was predicted"),
    "text for numbers": ({}, {"target": "size", "prediction": "guess"}, "must hold numbers"),
    "classes of a regression": (
        {},
        {"target": "size", "prediction": {"a": "pa"}},
        "one column of values",
    ),
    "losses with holes": (
        {"loss": [0.5, float("nan"), 0.0, None, 2.0, 4.0]},
        {"loss": "loss"},
        "'loss' must have a value in every row, got 2 missing or infinite, the first in row 1 of p",
    ),
    "no such column": ({}, {"loss": "lost"}, "found 'lost' in neither sample; did you mean 'loss'"),
    "twice": ({}, {"target": "y", "prediction": "y"}, "cannot be the target and the prediction"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_sentence(case: str) -> None:
    change, how, sentence = BAD[case]
    frame = FRAME.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    with pytest.raises(InputError) as caught:
        pooled(frame, **how)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arrays_have_no_columns_to_name() -> None:
    with pytest.raises(InputError, match="names a column of a frame, got arrays"):
        pool_samples(np.zeros((4, 1)), np.ones((4, 1)), loss="loss", rng=0)
