"""The loss that is to be expected of a row from its inputs, learned from the reference alone.

g(x, prediction) is a regression of the losses of the model in use. For a model that rdiv trained on
part A it is fitted to the out-of-fold losses of part A. For a given model it is cross-fitted on the
reference, or, where current rows have no labels, fitted to a part A that was drawn for it alone.
Nothing here sees a current loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.questions import Answer
from rdiv.discrepancies.in_use import TrainedOnReference, predictions_by
from rdiv.drivers.column_paths import Matrix
from rdiv.models.boosting import FEW_BINS, MANY_COLUMNS
from rdiv.models.cross_fit import fold_of_rows
from rdiv.models.protocol import FittedModel, check_losses, losses_of, predictions_of
from rdiv.models.quick_trees import QuickTrees
from rdiv.parallel.threads import one_thread
from rdiv.row_blocks import cut
from rdiv.samples.pool import Pool
from rdiv.samples.row_passes import row_by_row

__all__ = [
    "ExpectedLoss",
    "LossRegression",
    "RowFeatures",
    "all_finite",
    "expected_loss",
    "learn_from_part",
    "learn_from_rows",
]

Floats = NDArray[np.float64]

FOLDS = 3
"""Folds of the reference, where the model is given."""

FEWEST_ROWS = 50
"""Reference rows that a regression of the loss needs at least."""

MOST_ROWS = 50_000
"""Rows that a regression of the loss is fitted to at most."""

MOST_HELD = 1 << 23
"""Numbers of all rows (64 MB) that are held together; more are made when they are asked for."""

_BLOCK = 1 << 16

LEAF, FEWEST_IN_LEAF = 40, 5
"""Rows in a leaf of the regression, and fewest where part A is small."""


@dataclass(frozen=True, eq=False)
class ExpectedLoss:
    """Expected losses of the rows that were compared.

    Parameters
    ----------
    values : (n,) array
        g of every row; that of a reference row comes from a fit that did not see it.
    features : (n, f) array, or an object that makes rows when they are asked for
        What g looks at: the inputs as numbers, then the predictions.
    inputs : (n, d) array, or such an object
        The inputs alone.
    owners : tuple of str
        The input column that each column of `inputs` was made from.
    of_inputs : callable
        The expected loss from the inputs alone, ``(m, d)`` to ``(m,)``, to explain g by columns.
    """

    values: Floats
    features: Matrix
    inputs: Matrix
    owners: tuple[str, ...]
    of_inputs: Callable[[Floats], Floats]


def expected_loss(answer: Answer, rng: np.random.Generator) -> ExpectedLoss | None:
    """Learn the expected loss of the model in use; None where there are too few reference rows."""
    if not isinstance(answer.fitted, TrainedOnReference):
        return _cross_fitted(answer, rng)
    g = learn_from_part(answer.fitted, rng)
    known = answer.prepared.predictions
    return None if g is None else g.expected(answer.samples.pool, known)


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """What g looks at, ``(n, f)``, made for some rows when they are asked for.

    Parameters
    ----------
    pool : Pool
    part : Pool
        Part A, whose preparation reads the rows.
    predicted : (n, K) array, optional
        Predictions, which come after the inputs.
    """

    pool: Pool
    part: Pool
    predicted: Floats | None = None

    def __len__(self) -> int:
        return len(self.pool)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self), self[np.arange(min(1, len(self)))].shape[1]

    def __getitem__(self, rows: NDArray[np.intp]) -> Floats:
        known = None if self.predicted is None else self.predicted[rows]
        return _with_predictions(self.pool.take(rows).like(self.part), known)

    def held(self) -> Floats | RowFeatures:
        """All of them as an array, unless they are too many."""
        if self.shape[0] * self.shape[1] > MOST_HELD:
            return self
        return _with_predictions(self.pool.like(self.part), self.predicted)


def all_finite(matrix: Matrix) -> bool:
    """Whether no number of any row is missing, looking at some rows at a time."""
    blocks = (np.arange(rows.start, rows.stop) for rows in cut(len(matrix), _BLOCK))
    return all(bool(np.isfinite(matrix[rows]).all()) for rows in blocks)


def _valued(g: Callable[[Floats], Floats], features: Floats | RowFeatures) -> Floats:
    """The expected losses of all rows, some at a time."""
    if isinstance(features, np.ndarray):
        return g(features)
    return row_by_row(features.pool, lambda rows: g(features[rows]), threads=True)


@dataclass(frozen=True, eq=False)
class LossRegression:
    """g: the loss of the model in use that is to be expected of a row, learned from part A.

    It gives numbers for any rows of the same columns, with or without a target, and reads none.

    Parameters
    ----------
    part : Pool
        Part A, or `MOST_ROWS` random rows of it; its preparation reads all other rows.
    fitted : FittedModel or None
        The model in use, whose predictions g looks at; None where it predicts nothing.
    losses : (m,) array
        Losses of part A, of fits that did not see the row.
    of_features : callable
        The regression of the losses on inputs and predictions, ``(m, f)`` to ``(m,)``.
    rng : Generator
        For `of_inputs`, which is fitted when it is needed.
    leaf : int
        Fewest rows of a leaf.

    Examples
    --------
    >>> from rdiv.models import LoggedLosses
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 1))
    >>> part = Pool(x, loss=np.where(x[:, 0] > 0, 3.0, 1.0))
    >>> g = learn_from_rows(LoggedLosses(), part, rng)
    >>> print(g.of(Pool(np.array([[-1.0], [1.0]]))).round())
    [1. 3.]
    """

    part: Pool
    fitted: FittedModel | None
    losses: Floats
    of_features: Callable[[Floats], Floats]
    rng: np.random.Generator = field(repr=False)
    leaf: int = LEAF

    @cached_property
    def of_inputs(self) -> Callable[[Floats], Floats]:
        """The regression of the losses on the inputs alone, to explain g by columns."""
        return _fit(_inputs(self.part), self.losses, self.rng, self.leaf)

    def of(self, pool: Pool) -> Floats:
        """The expected loss of every row, ``(n,)``; rows of one content have one.

        None is smaller or larger than all losses of part A.
        """
        if pool.in_partitions:
            values = self._in_one_pass(pool.like(self.part))
        else:
            values = _valued(self.of_features, self.features(pool))
        values = np.clip(values, self.losses.min(), self.losses.max())
        return check_losses(values, pool, "the expected loss")

    def _in_one_pass(self, pool: Pool) -> Floats:
        """Values of rows in partitions; their predictions are not kept, as there may be many."""
        fits: tuple[FittedModel | None, ...] = (self.fitted,)
        which = None
        if isinstance(self.fitted, TrainedOnReference):
            fits, which = self.fitted.predicting(pool)
        extra = {} if which is None else {"fit": which}
        return pool.over_blocks(_expected_in_block, (self.of_features, fits), **extra)

    def features(self, pool: Pool, predicted: Floats | None = None) -> Floats | RowFeatures:
        """What g looks at, ``(n, f)``: the inputs as numbers, then the predictions."""
        if predicted is None and self.fitted is not None:
            predicted = predictions_of(self.fitted, pool.like(self.part))
        return RowFeatures(pool, self.part, predicted).held()

    def expected(self, pool: Pool, predicted: Floats | None = None) -> ExpectedLoss:
        """The expected losses of the rows of a pool, with what explains them.

        `predicted` are the predictions of the model in use, where they are known.
        """
        features = self.features(pool, predicted)
        values = _valued(self.of_features, features)
        owners, inputs = self.part.owners(), self.inputs(pool)
        return ExpectedLoss(values, features, inputs, owners, self.of_inputs)

    def inputs(self, pool: Pool) -> Matrix:
        """The inputs alone as numbers, ``(n, d)``."""
        return RowFeatures(pool, self.part).held()


def _expected_in_block(
    shared: tuple[Callable[[Floats], Floats], Sequence[Any]],
    pool: Pool,
    labels: Mapping[str, NDArray[Any]],
) -> Floats:
    """Expected losses of some rows, each by the predictions of its fit."""
    of_features, fits = shared
    with one_thread():
        predicted = None if fits[0] is None else predictions_by(fits, labels.get("fit"), pool)
        return of_features(_with_predictions(pool, predicted))


def learn_from_part(
    learned: TrainedOnReference, rng: np.random.Generator, *, left_out: bool = False
) -> LossRegression | None:
    """For a model trained on part A: from the out-of-fold losses of part A.

    None where part A has too few rows.

    Parameters
    ----------
    learned : TrainedOnReference
    rng : Generator
    left_out : bool
        For rows without labels: a small part A is read more finely, and a row that stands in it
        gets the prediction of a fit without it, as it gets its loss. The rows must then all have
        keys without a target.
    """
    folds, part = learned.left_out, learned.trained
    if folds is None or len(part) < FEWEST_ROWS:
        return None
    fitted: FittedModel = learned if left_out else learned.fitted
    leaf = leaf_of(len(part)) if left_out else LEAF
    if len(part) > MOST_ROWS or part.in_partitions:
        many = len(part) > MOST_ROWS
        rows = rng.permutation(len(part))[:MOST_ROWS] if many else np.arange(len(part))
        part = part.take(rows).at_hand()
        folds = folds.part(rows, part)
    return _regression(part, folds, fitted, folds.losses(part), rng, leaf)


def learn_from_rows(
    fitted: FittedModel, part: Pool, rng: np.random.Generator
) -> LossRegression | None:
    """For a given model: from its losses on a part of the reference drawn for that alone.

    None where the part has too few rows.
    """
    if len(part) < FEWEST_ROWS:
        return None
    if len(part) > MOST_ROWS:
        part = part.take(rng.permutation(len(part))[:MOST_ROWS])
    part = part.at_hand()
    losses = check_losses(losses_of(fitted, part), part, "the model in use")
    return _regression(part, fitted, fitted, losses, rng, leaf_of(len(part)))


def leaf_of(rows: int) -> int:
    """Fewest rows of a leaf of g, by how many it is learned from.

    Examples
    --------
    >>> print([leaf_of(rows) for rows in (60, 300, 5000)])
    [5, 20, 40]
    """
    return min(LEAF, max(FEWEST_IN_LEAF, rows // 15))


def _regression(
    part: Pool,
    own: FittedModel,
    fitted: FittedModel,
    losses: Floats,
    rng: np.random.Generator,
    leaf: int,
) -> LossRegression:
    """Regress the losses of part A on what is known of its rows.

    `own` is the model that gave these losses, `fitted` the one that predicts other rows.
    """
    g = _fit(_features(part, own), losses, rng, leaf)
    return LossRegression(part, fitted, losses, g, rng, leaf)


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
    return _with_predictions(pool, None if fitted is None else predictions_of(fitted, pool))


def _with_predictions(pool: Pool, predicted: Floats | None) -> Floats:
    """The inputs as numbers, then predictions, and how uncertain those of classes are."""
    parts: Sequence[Floats] = [_inputs(pool)]
    if predicted is not None:
        parts = [*parts, predicted]
        if pool.task == "classification":
            shares = np.clip(predicted, 1e-12, 1)
            parts = [*parts, -(shares * np.log(shares)).sum(axis=1, keepdims=True)]
    return np.concatenate(parts, axis=1)


def _inputs(pool: Pool) -> Floats:
    """The inputs as numbers, missing where they are not finite; images are left to the model."""
    if pool.is_images:
        return np.zeros((len(pool), 0))
    x = pool.matrix()
    return x if np.isfinite(x).all() else np.where(np.isfinite(x), x, np.nan)


def _fit(
    x: Floats, losses: Floats, rng: np.random.Generator, leaf: int = LEAF
) -> Callable[[Floats], Floats]:
    """A regression of the losses; of a random choice of the rows where there are very many."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows = rng.permutation(len(x))[:MOST_ROWS]
    if not x.shape[1]:
        return _Constant(float(losses.mean()))
    booster: Any = HistGradientBoostingRegressor(
        max_iter=60, learning_rate=0.05, max_leaf_nodes=15, min_samples_leaf=leaf,
        l2_regularization=1.0, early_stopping=False, random_state=int(rng.integers(2**31)),
        max_bins=FEW_BINS if x.shape[1] > MANY_COLUMNS else 255,
    )  # fmt: skip
    return QuickTrees(booster.fit(x[rows], losses[rows])).predict


@dataclass(frozen=True)
class _Constant:
    """A regression on nothing."""

    value: float

    def __call__(self, x: Floats) -> Floats:
        return np.full(len(x), self.value)
