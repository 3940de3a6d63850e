"""The expected loss: learned from the reference alone, out of fold, from inputs and predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.comparison.answers import Chances, Line, answered, given, with_losses

from rdiv.comparison.expected import (
    FEWEST_ROWS,
    expected_loss,
    learn_from_part,
    learn_from_rows,
)
from rdiv.comparison.questions import Answer
from rdiv.discrepancies.in_use import TrainedOnReference
from rdiv.models.protocol import predictions_of


def rows(n: int, task: str = "regression", seed: int = 0) -> tuple[Any, Any]:
    """Targets whose noise grows with the second input."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 3))
    if task == "regression":
        y: Any = x[:, 0] + np.exp(x[:, 1] / 2) * rng.normal(size=2 * n)
    else:
        y = (x[:, 0] * np.exp(-x[:, 1]) + 0.3 * rng.logistic(size=2 * n) > 0).astype(int)
    return (x[:n], y[:n]), (x[n:], y[n:])


CASES = [
    ("regression", given(Line())),
    ("regression", "ridge"),
    ("classification", given(Chances())),
    ("classification", "logistic"),
]


def expected(answer: Answer) -> Any:
    return expected_loss(answer, np.random.default_rng(0))


@pytest.mark.parametrize(("task", "model"), CASES)
def test_it_predicts_the_loss_of_rows_it_has_not_seen(task: str, model: Any) -> None:
    answer = answered(*rows(1000, task), model, task=task)
    found = expected(answer)
    assert found.values.shape == answer.losses.shape
    for side in (answer.samples.is_p, ~answer.samples.is_p):
        losses, g = answer.losses[side], found.values[side]
        assert np.corrcoef(losses, g)[0, 1] > 4 / np.sqrt(len(g))  # 0 within 4 standard errors
        error = np.std(losses - g, ddof=1) / np.sqrt(len(g))
        assert abs(np.mean(losses - g)) < 4.5 * error + 0.1 * losses.mean()


@pytest.mark.parametrize(("task", "model"), CASES)
def test_it_never_sees_a_current_loss(task: str, model: Any) -> None:
    """Other targets and losses of every current row leave all values as they are, bit by bit."""
    answer = answered(*rows(300, task), model, task=task)
    pool, is_p = answer.samples.pool, answer.samples.is_p
    found = expected(answer)
    losses = np.where(is_p, answer.losses, 50 + answer.losses[::-1] ** 2)
    assert pool.y is not None
    y = np.where(is_p, pool.y, pool.y[::-1])
    other = expected(with_losses(answer, losses, y))
    assert (losses != answer.losses).any()
    assert found.values.tobytes() == other.values.tobytes()
    grid = np.random.default_rng(1).normal(size=(50, 3))
    assert found.of_inputs(grid).tobytes() == other.of_inputs(grid).tobytes()


def test_a_reference_row_is_not_seen_by_its_own_fit() -> None:
    """A loss that is out of all proportion changes other values, not that of its row."""
    answer = answered(*rows(300), given(Line()))
    place = int(np.flatnonzero(answer.samples.is_p)[7])
    losses = answer.losses.copy()
    losses[place] = 1e6
    before, after = expected(answer), expected(with_losses(answer, losses))
    assert after.values[place] == before.values[place]
    assert np.abs(after.values - before.values).max() > 100


def test_a_trained_model_is_explained_by_the_rows_that_trained_it() -> None:
    """Losses of the rows that are compared, reference rows included, are not looked at."""
    answer = answered(*rows(300), "ridge")
    assert isinstance(answer.fitted, TrainedOnReference)
    found = expected(answer)
    other = expected(with_losses(answer, answer.losses * 7 + 3))
    assert found.values.tobytes() == other.values.tobytes()


@pytest.mark.parametrize(
    ("task", "model", "more"),
    [("regression", Line(), 1), ("classification", Chances(), 3)],
    ids=["value", "probabilities and entropy"],
)
def test_what_it_looks_at(task: str, model: Any, more: int) -> None:
    answer = answered(*rows(100, task), given(model), task=task)
    found = expected(answer)
    x = answer.samples.pool.matrix()
    np.testing.assert_array_equal(found.inputs, x)
    np.testing.assert_array_equal(found.features[:, :3], x)
    assert found.features.shape == (200, 3 + more)
    assert found.owners == ("column 0", "column 1", "column 2")
    if task == "regression":
        np.testing.assert_allclose(found.features[:, 3], x[:, 0])
    else:
        shares = Chances().predict_proba(x)
        np.testing.assert_allclose(found.features[:, 3:5], shares)
        entropy = -(shares * np.log(shares)).sum(axis=1)
        np.testing.assert_allclose(found.features[:, 5], entropy, atol=1e-9)


def test_few_rows() -> None:
    (x, y), current = rows(FEWEST_ROWS)
    assert expected(answered((x, y), current, given(Line()))) is not None
    assert expected(answered((x[1:], y[1:]), current, given(Line()))) is None


def blind(pool: Any) -> Any:
    """The same rows without their targets, under keys that do not know them."""
    return replace(pool, y=None, known_keys=pool.rows.keys)


@pytest.mark.parametrize(("task", "model"), CASES)
def test_what_part_a_taught_is_applied_to_any_rows_with_or_without_targets(
    task: str, model: Any
) -> None:
    answer = answered(*rows(600, task), model, task=task)
    pool, is_p = answer.samples.pool, answer.samples.is_p
    rng = np.random.default_rng(0)
    if isinstance(answer.fitted, TrainedOnReference):
        g = learn_from_part(answer.fitted, rng)
        fitted: Any = answer.fitted.fitted
    else:
        part = pool.anew(np.flatnonzero(is_p)[:300])
        g, fitted = learn_from_rows(answer.fitted, part, rng), answer.fitted
    assert g is not None
    assert fitted is g.fitted
    later = np.flatnonzero(~is_p)
    values = g.of(blind(pool.take(later)))
    np.testing.assert_allclose(values, g.of(pool.take(later)), rtol=1e-9)
    again = g.of(blind(pool.take(later[:40])))
    assert again.tobytes() == values[:40].tobytes()  # whatever else is in the batch
    losses = answer.losses[later]
    assert np.corrcoef(losses, values)[0, 1] > 4 / np.sqrt(len(later))


def test_predictions_of_rows_without_a_target_are_those_with_one() -> None:
    answer = answered(*rows(200), "ridge")
    assert isinstance(answer.fitted, TrainedOnReference)
    pool = answer.samples.pool.like(answer.fitted.trained)
    with_target = predictions_of(answer.fitted.fitted, pool)
    without = predictions_of(answer.fitted.fitted, blind(pool))
    assert with_target is not None
    assert without is not None
    np.testing.assert_allclose(without, with_target, atol=1e-12)


def test_too_small_a_part_teaches_nothing() -> None:
    (x, y), current = rows(FEWEST_ROWS)
    answer = answered((x, y), current, given(Line()))
    part = answer.samples.pool.anew(np.arange(FEWEST_ROWS - 1))
    assert not isinstance(answer.fitted, TrainedOnReference)
    assert answer.fitted is not None
    assert learn_from_rows(answer.fitted, part, np.random.default_rng(0)) is None
