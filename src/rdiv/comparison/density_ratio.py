"""How much more often a reference row would occur among the current rows: the density ratio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.column_paths import Matrix
from rdiv.models.boosting import FEW_BINS, MANY_COLUMNS
from rdiv.models.cross_fit import fold_of_rows, fold_units
from rdiv.models.quick_trees import QuickTrees
from rdiv.parallel.spreading import block_by_block
from rdiv.row_blocks import cut
from rdiv.samples.pool import Pool

__all__ = ["DensityRatio", "density_ratio", "ratio_folds"]

Floats = NDArray[np.float64]

FOLDS = 5
LARGEST = 20.0
"""Weights are cut here."""

MOST_COLUMNS = 100
"""Columns up to which trees are tried; of more, as of embeddings, a logistic regression is fit."""

MOST_ROWS = 50_000
"""Rows that each classifier is fitted to at most."""

MOST_JUDGED = 200_000
"""Rows that decide which classifier is best, at most; all reference rows get weights."""

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class DensityRatio:
    """Weights of the reference rows.

    Parameters
    ----------
    weights : (n_p,) array
        With mean 1.
    effective_rows : float
        How many equally weighted rows they are worth, ``(sum w)^2 / sum w^2``.
    covered : float
        Mean of the weights before they were brought to mean 1. Far below 1 it says that most
        current rows are where there are no reference rows.
    """

    weights: Floats
    effective_rows: float
    covered: float


def ratio_folds(pool: Pool, rng: np.random.Generator) -> NDArray[np.intp] | None:
    """The fold of each row for `density_ratio`; None where all rows are the same.

    Examples
    --------
    >>> pool = Pool(np.array([[0.0], [1.0], [1.0]]))
    >>> print(sorted(set(ratio_folds(pool, np.random.default_rng(0)).tolist())))
    [0, 1]
    """
    folds = min(FOLDS, len(fold_units(pool)))
    return None if folds < 2 else fold_of_rows(pool, folds, rng)


def density_ratio(
    features: Matrix, is_p: NDArray[np.bool_], fold: NDArray[np.intp], rng: np.random.Generator
) -> DensityRatio:
    """Cross-fit a classifier of the samples and turn its odds into weights.

    Of a constant, a logistic regression and boosted trees (not of more than `MOST_COLUMNS`
    columns), the one with the smallest out-of-fold log loss gives the weights, so that samples
    which cannot be told apart get equal ones.

    Parameters
    ----------
    features : (n, f) array, or an object that makes rows when they are asked for
    is_p : (n,) mask
    fold : (n,) integers
        Copies of a row and rows of a group are in one fold.
    rng : Generator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(size=500), rng.normal(1, 1, size=500)][:, None]
    >>> ratio = density_ratio(x, np.arange(1000) < 500, np.arange(1000) % 5, rng)
    >>> print(round(float(ratio.weights.mean()), 6), bool(ratio.weights[x[:500, 0] > 1].mean() > 1))
    1.0 True
    """
    n = len(is_p)
    current = (~is_p).astype(float)
    share = float(current.mean())
    judged = np.arange(n)
    if n > MOST_JUDGED:
        judged = np.sort(rng.choice(n, MOST_JUDGED, replace=False))
    best, chance = _surprise(np.full(len(judged), share), current[judged]), None
    fits: list[Any] = []
    for make in (_logistic, _trees) if features.shape[1] <= MOST_COLUMNS else (_logistic,):
        drawn = [_draw(make, fold != k, rng) for k in range(int(fold.max()) + 1)]
        found = list(block_by_block(partial(_fit, features, is_p), drawn))
        own = _chances(found, features, fold, judged)
        surprise = _surprise(own, current[judged])
        if surprise < best:
            best, chance, fits = surprise, own, found
    of_p = np.flatnonzero(is_p)
    if not fits or chance is None:
        chance = np.full(len(of_p), share)
    else:
        chance = chance[of_p] if len(judged) == n else _chances(fits, features, fold, of_p)
    odds = chance / (1 - chance) * (1 - share) / share
    raw = np.minimum(odds, LARGEST)
    covered = float(raw.mean())
    weights = raw / covered
    return DensityRatio(weights, float(weights.sum() ** 2 / (weights**2).sum()), covered)


def _surprise(chance: Floats, current: Floats) -> float:
    return float(-np.mean(np.log(np.where(current == 1, chance, 1 - chance))))


def _draw(
    make: Callable[[int], Any], others: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.intp], Any]:
    """Some of the rows outside of a fold, and a classifier that is to be fitted to them."""
    rows = np.flatnonzero(others)
    if len(rows) > MOST_ROWS:  # to permute all of them would take longer
        rows = rng.choice(rows, MOST_ROWS, replace=False)
    else:
        rows = rng.permutation(rows)
    return rows, make(int(rng.integers(2**31)))


def _fit(features: Matrix, is_p: NDArray[np.bool_], rows: NDArray[np.intp], model: Any) -> Any:
    """A classifier of the samples, fitted to some rows."""
    of_trees = hasattr(model, "max_bins")
    if of_trees and features.shape[1] > MANY_COLUMNS:
        model.set_params(max_bins=FEW_BINS)
    fitted = model.fit(features[rows], ~is_p[rows])
    return QuickTrees(fitted) if of_trees else fitted


def _chances(
    fits: list[Any], features: Matrix, fold: NDArray[np.intp], rows: NDArray[np.intp]
) -> Floats:
    """How likely some rows are current, each by the fit that left its fold out."""
    chance = np.empty(len(rows))
    for k, model in enumerate(fits):
        own = np.flatnonzero(fold[rows] == k)
        for block in cut(len(own), _BLOCK):
            chance[own[block]] = model.predict_proba(features[rows[own[block]]])[:, 1]
    return np.clip(chance, 1e-6, 1 - 1e-6)


def _logistic(seed: int) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    del seed
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1, max_iter=300))


def _trees(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=20,
        l2_regularization=1.0, early_stopping=False, random_state=seed,
    )  # fmt: skip
