"""Predictions of scikit-learn's histogram boosting by compiled loops, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.leaf_sets import LeafSets, leaf_sets
from rdiv.parallel.loops import compiled_loops

__all__ = ["QuickTrees"]

Floats = NDArray[np.float64]

FEWEST_STEPS = 1 << 21
"""Rows times trees from which on compiled loops are loaded (a tenth of a second)."""

_ASKED = 64


@dataclass(frozen=True, eq=False)
class QuickTrees:
    """A fitted ``HistGradientBoosting`` estimator that predicts many rows many times faster.

    By sets of leaves (see `leaf_sets`) or, where these are too large, by walking down all trees
    without branches. The predictions are the estimator's own to the last bit: it is asked for the
    first rows, and for all of them should it answer differently. Without the `fast` extra, for few
    rows, and for trees that split categories it is always asked.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Fitted with its default loss.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> fitted = HistGradientBoostingRegressor(max_iter=5).fit(x, x[:, 0])
    >>> print(np.array_equal(QuickTrees(fitted).predict(x), fitted.predict(x)))
    True
    """

    estimator: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of a classifier, in order."""
        classes: NDArray[Any] = self.estimator.classes_
        return classes

    def predict(self, x: Floats) -> Floats:
        """Predicted values of a regressor, ``(n,)``."""
        quick = self._scores(x, "predict")
        found: Floats = self.estimator.predict(x) if quick is None else quick[:, 0]
        return found

    def predict_proba(self, x: Floats) -> Floats:
        """Predicted probabilities of a classifier, ``(n, n_classes)``."""
        quick = self._scores(x, "predict_proba")
        found: Floats = self.estimator.predict_proba(x) if quick is None else _chances(quick)
        return found

    def _scores(self, x: Floats, method: str) -> Floats | None:
        """Sums over all trees, ``(n, k)``; None where the estimator itself is to predict."""
        trees = getattr(self.estimator, "n_iter_", 0)
        if len(x) * trees < FEWEST_STEPS or compiled_loops("rdiv.models.tree_kernels") is None:
            return None
        if self._forest is None:
            return None
        rows = np.ascontiguousarray(x, dtype=np.float64)
        scores = self._forest.scores(rows)
        if not self._checked:
            first = scores[:_ASKED]
            own = first[:, 0] if method == "predict" else _chances(first)
            asked = getattr(self.estimator, method)(rows[:_ASKED])
            self._checked.append(np.array_equal(own, asked))
        return scores if self._checked[0] else None

    @cached_property
    def _checked(self) -> list[bool]:
        """Whether the first predictions were those of the estimator; empty before any."""
        return []

    @cached_property
    def _forest(self) -> Forest | None:
        return forest_of(self.estimator)


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of all trees in a row, as `tree_kernels.add_leaves` reads them."""

    start: Floats
    feature: NDArray[np.uint64]
    threshold: Floats
    missing: NDArray[np.uint64]
    child: NDArray[np.uint64]
    value: Floats
    trees: NDArray[np.uint64]

    def scores(self, x: Floats) -> Floats:
        """Sums of the leaves that rows reach, ``(n, d) -> (n, k)``."""
        kernels = compiled_loops("rdiv.models.tree_kernels")
        assert kernels is not None
        sums = np.tile(self.start, (len(x), 1))
        if self._sets is not None:
            self._sets.add_to(sums, x)
        else:
            kernels.add_leaves(x, *self._nodes, sums)
        return sums

    @cached_property
    def _sets(self) -> LeafSets | None:
        return leaf_sets(*self._nodes)

    @property
    def _nodes(self) -> tuple[NDArray[Any], ...]:
        nodes = self.feature, self.threshold, self.missing, self.child, self.value
        return *nodes, self.trees


def forest_of(estimator: Any) -> Forest | None:
    """The trees of an estimator; None where they split categories or are kept in another way.

    How scikit-learn keeps them is not promised, so nothing here may fail on another version.
    """
    if getattr(estimator, "is_categorical_", None) is not None:
        return None
    try:
        rounds = estimator._predictors
        nodes = [tree.nodes for trees in rounds for tree in trees]
        start = np.asarray(estimator._baseline_prediction, dtype=np.float64).reshape(1, -1)
        sizes = np.array([len(own) for own in nodes])
        roots = np.cumsum(sizes) - sizes
        leaf = _joined(nodes, "is_leaf").astype(bool)
        offset, place = np.repeat(roots, sizes), np.arange(len(leaf))
        child = np.stack([_joined(nodes, side) + offset for side in ("left", "right")], axis=1)
        child[leaf] = place[leaf, None]
        feature = np.where(leaf, 0, _joined(nodes, "feature_idx"))
        depth = [int(own["depth"].max()) for own in nodes]
        return Forest(
            start[0],
            feature.astype(np.uint64),
            np.where(leaf, np.inf, _joined(nodes, "num_threshold")),
            (~_joined(nodes, "missing_go_to_left").astype(bool)).astype(np.uint64),
            child.astype(np.uint64).ravel(),
            _joined(nodes, "value").astype(np.float64),
            np.stack([roots, depth, np.arange(len(nodes)) % start.shape[1]], 1).astype(np.uint64),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _joined(nodes: list[Any], field: str) -> NDArray[Any]:
    return np.concatenate([own[field] for own in nodes])


def _chances(scores: Floats) -> Floats:
    """Probabilities from sums over trees, as scikit-learn computes them."""
    from scipy.special import expit
    from sklearn.utils.extmath import softmax

    if scores.shape[1] > 1:
        many: Floats = softmax(scores, copy=True)
        return many
    chances = np.empty((len(scores), 2))
    chances[:, 1] = expit(scores[:, 0])
    chances[:, 0] = 1 - chances[:, 1]
    return chances
