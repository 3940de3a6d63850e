"""Gradient boosting: the default model when there is a target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.models.adapters import Estimator, FittedEstimator, Kind
from rdiv.models.quick_trees import QuickTrees
from rdiv.samples.pool import Pool

__all__ = ["FEW_BINS", "MANY_COLUMNS", "Boosting"]

MANY_COLUMNS = 100
"""Beyond so many columns trees have 8 leaves and, without categories, numbers ``FEW_BINS`` bins."""

FEW_BINS = 31
_FEWER_TREES = 0.6  # of the trees, beyond so many columns


@dataclass(frozen=True)
class Boosting:
    """Histogram gradient boosting (scikit-learn) for either supervised task.

    It handles missing values, mixed scales and irrelevant columns, and splits categories by their
    levels (the 253 most frequent, all others as one more). With more than 100 columns trees are
    smaller, bins wider, and there are 0.6 times as many trees, each of which learns more: that
    takes far less time and loses next to nothing. Its in-sample losses are too low, because it
    memorises, so it is best used with folds.

    Parameters
    ----------
    iterations : int
        Number of trees (per class).
    learning_rate : float

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> pool = Pool(x, y=(x[:, 0] > 0.5).astype(float), task="regression")
    >>> losses = Boosting().fit(pool, np.random.default_rng(0)).losses(pool)
    >>> print(bool(losses.mean() < 0.01))
    True
    """

    about = "gradient boosting of trees, by scikit-learn"
    row_loss = "log loss or squared error"
    suits = "tables; missing values and interactions"
    keep_in_mind = "memorises: use folds"

    iterations: int = 100
    learning_rate: float = 0.1

    in_threads = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedEstimator:
        """Boost a classifier or a regressor, depending on the target."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        if pool.task == "density":
            raise InputError(
                "boosting needs a target, got none; name the column with target= "
                "or pass each sample as a pair (X, y)."
            )
        classify = pool.task == "classification"
        booster = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        few = pool.take(np.arange(1))  # enough to see which columns there are
        categories = _categories(few)
        wide = boosting_inputs(None, few).shape[1] > MANY_COLUMNS
        fewer = _FEWER_TREES if wide else 1.0
        estimator = booster(
            max_iter=max(1, round(fewer * self.iterations)),
            learning_rate=self.learning_rate / fewer,
            max_leaf_nodes=8 if wide else 31,
            max_bins=FEW_BINS if wide and categories is None else 255,
            early_stopping=False,
            categorical_features=categories,
        )
        kind: Kind = "classifier" if classify else "regressor"
        fitted = Estimator(estimator, kind, boosting_inputs).fit(pool, rng)
        if isinstance(fitted.estimator, booster):  # not where there is one class only
            fitted = replace(fitted, estimator=QuickTrees(fitted.estimator))
        return fitted


def boosting_inputs(estimator: Any, pool: Pool) -> NDArray[np.float64]:
    """Numbers, NaN where missing, then codes of categories, ``(n, d)``; arrays as they are."""
    del estimator
    if not pool.is_table:
        return pool.matrix()
    found = pool.by_kind()
    if found.numbers.shape[1] and not found.codes.shape[1]:
        return found.numbers
    codes = found.codes.astype(np.float64)
    codes[found.codes == 0] = np.nan
    inputs = np.concatenate([found.numbers, codes], axis=1)
    return inputs if inputs.shape[1] else np.zeros((len(pool), 1))


def _categories(pool: Pool) -> NDArray[np.bool_] | None:
    """Which of the inputs are categories; None if there are none."""
    if not pool.is_table:
        return None
    found = pool.by_kind()
    known = len(found.names), len(found.categories)
    return np.repeat([False, True], known) if known[1] else None
