"""The loss that is to be expected of a row from its inputs, learned from the reference alone.

g(x, prediction) is a regression of the losses of the model in use. For a model that rdiv trained on
part A it is fitted to the out-of-fold losses of part A; for a given model it is cross-fitted on the
reference. Nothing here sees a current loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.questions import Answer
from rdiv.discrepancies.in_use import TrainedOnReference
from rdiv.models.boosting import FEW_BINS, MANY_COLUMNS
from rdiv.models.cross_fit import fold_of_rows
from rdiv.models.protocol import FittedModel, predictions_of
from rdiv.samples.pool import Pool

__all__ = ["ExpectedLoss", "expected_loss"]

Floats = NDArray[np.float64]

FOLDS = 3
"""Folds of the reference, where the model is given."""

FEWEST_ROWS = 50
"""Reference rows that a regression of the loss needs at least."""

MOST_ROWS = 50_000
"""Rows that a regression of the loss is fitted to at most."""


@dataclass(frozen=True, eq=False)
class ExpectedLoss:
    """Expected losses of the rows that were compared.

    Parameters
    ----------
    values : (n,) array
        g of every row; that of a reference row comes from a fit that did not see it.
    features : (n, f) array
        What g looks at: the inputs as numbers, then the predictions.
    inputs : (n, d) array
        The inputs alone.
    owners : tuple of str
        The input column that each column of `inputs` was made from.
    of_inputs : callable
        The expected loss from the inputs alone, ``(m, d)`` to ``(m,)``, to explain g by columns.
    """

    values: Floats
    features: Floats
    inputs: Floats
    owners: tuple[str, ...]
    of_inputs: Callable[[Floats], Floats]


def expected_loss(answer: Answer, rng: np.random.Generator) -> ExpectedLoss | None:
    """Learn the expected loss of the model in use; None where there are too few reference rows."""
    if isinstance(answer.fitted, TrainedOnReference):
        return _from_part(answer, answer.fitted, rng)
    return _cross_fitted(answer, rng)


def _from_part(
    answer: Answer, learned: TrainedOnReference, rng: np.random.Generator
) -> ExpectedLoss | None:
    """For a model trained on part A: from the out-of-fold losses of part A."""
    left_out, train = learned.left_out, learned.trained
    if left_out is None or len(train) < FEWEST_ROWS:
        return None
    pool = answer.samples.pool.like(train)
    losses = left_out.losses(train)
    known = _features(train, left_out), train.matrix()
    here = _features(pool, learned.fitted), pool.matrix()
    g, of_inputs = (_fit(x, losses, rng) for x in known)
    return ExpectedLoss(g(here[0]), here[0], here[1], pool.owners(), of_inputs)


def _cross_fitted(answer: Answer, rng: np.random.Generator) -> ExpectedLoss | None:
    """For a given model: from the reference, each row by the folds that it is not in."""
    pool, is_p = answer.samples.pool, answer.samples.is_p
    rows = np.flatnonzero(is_p)
    if len(rows) < FEWEST_ROWS:
        return None
    features, inputs = _features(pool, answer.fitted), pool.matrix()
    fold = fold_of_rows(pool.take(rows), FOLDS, rng)
    values = np.zeros(len(pool))
    for k in range(FOLDS):
        own, others = rows[fold == k], rows[fold != k]
        g = _fit(features[others], answer.losses[others], rng)
        values[own] = g(features[own])
        values[~is_p] += g(features[~is_p]) / FOLDS
    of_inputs = _fit(inputs[rows], answer.losses[rows], rng)
    return ExpectedLoss(values, features, inputs, pool.owners(), of_inputs)


def _features(pool: Pool, fitted: FittedModel | None) -> Floats:
    """The inputs as numbers, and what the model predicts for them."""
    predicted = None if fitted is None else predictions_of(fitted, pool)
    parts: Sequence[Floats] = [pool.matrix()]
    if predicted is not None:
        parts = [*parts, predicted]
        if pool.task == "classification":
            shares = np.clip(predicted, 1e-12, 1)
            parts = [*parts, -(shares * np.log(shares)).sum(axis=1, keepdims=True)]
    return np.concatenate(parts, axis=1)


def _fit(x: Floats, losses: Floats, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """A regression of the losses; of a random choice of the rows where there are very many."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows = rng.permutation(len(x))[:MOST_ROWS]
    if not x.shape[1]:
        mean = float(losses.mean())
        return lambda more: np.full(len(more), mean)
    booster: Any = HistGradientBoostingRegressor(
        max_iter=60, learning_rate=0.05, max_leaf_nodes=15, min_samples_leaf=40,
        l2_regularization=1.0, early_stopping=False, random_state=int(rng.integers(2**31)),
        max_bins=FEW_BINS if x.shape[1] > MANY_COLUMNS else 255,
    )  # fmt: skip
    booster.fit(x[rows], losses[rows])
    return lambda more: np.asarray(booster.predict(more), dtype=np.float64)
