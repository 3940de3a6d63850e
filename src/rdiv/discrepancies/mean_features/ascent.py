"""Placing features where two samples differ most: gradient ascent of Hotelling's statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.mean_features.features import Evaluate, PlacedFeatures, fit_scaling
from rdiv.samples.pool import Pool, require_finite

__all__ = ["climb", "hotelling", "place"]

Floats = NDArray[np.float64]

STOPS = (0, 3, 8, 20, 60)  # numbers of steps after which an ascent may stop
FOLDS = 4  # of the training rows, to choose between starts and stops
NARROWEST, WIDEST = 1 / 64, 8.0  # of the width, in median distances
CHOICE_ROWS, MOST_ROWS, MOST_CELLS = 1000, 5000, 2_000_000  # of one sample: choice, last ascent


def place(
    pool: Pool,
    is_p: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    evaluate: Evaluate,
    starts: Callable[[Floats, np.random.Generator], Iterable[list[tuple[Floats, float]]]],
    regularization: float,
    who: str,
) -> tuple[PlacedFeatures, dict[str, Any]]:
    """Features that separate the samples of a training half, and notes on how they were found.

    Parameters
    ----------
    starts : callable
        From scaled inputs and a generator to lists of places and widths; an ascent starts from
        the best of each list.

    Notes
    -----
    On the rows that it is maximised on, the statistic can become very large by fitting noise. The
    number of steps is therefore chosen by cross-validation: four times, three quarters of the rows
    place the features and combine them into one number per row, whose gap between the samples is
    computed on the other quarter. Of the places reached from all starts, the best is kept.
    """
    x = pool.matrix()
    require_finite(x, who=who)
    most = max(min(MOST_ROWS, MOST_CELLS // x.shape[1]), 500)
    rows = _some_rows(is_p, most, rng)
    scaling = fit_scaling(x[rows], rng)
    training = Training(scaling(x[rows]), int(is_p[rows].sum()), evaluate, regularization)
    trials = [
        [np.append(places, np.log(width)) for places, width in tries]
        for tries in starts(training.z, rng)
    ]
    groups = np.arange(len(rows)) if pool.groups is None else pool.groups[rows]
    scores = _validate(training, trials, _folds(groups, training.n_p, rng))
    stops = STOPS[: int(np.argmax(scores.max(axis=0))) + 1]
    begun = [training.best(tries) for tries in trials]
    reached = [climb(training.objective, start, stops)[-1] for start in begun]
    values = [training.value(parameters) for parameters in reached]
    best = int(np.argmax(values))
    notes: dict[str, Any] = {"objective": [training.value(begun[best]), values[best]]}
    if len(rows) < len(x):
        notes["rows learned on"] = len(rows)
    return PlacedFeatures(evaluate, scaling, *_unpacked(reached[best], x.shape[1])), notes


@dataclass(frozen=True, eq=False)
class Training:
    """Scaled rows of p, then of q, and the statistic as a function of places and width.

    Parameters
    ----------
    z : (n, d) array
    n_p : int
    evaluate : Evaluate
    regularization : float
    """

    z: Floats
    n_p: int
    evaluate: Evaluate
    regularization: float

    def take(self, rows: NDArray[np.intp]) -> Training:
        """The same for some of the rows, given in increasing order."""
        n_p = int(np.searchsorted(rows, self.n_p))
        return Training(self.z[rows], n_p, self.evaluate, self.regularization)

    def objective(self, parameters: Floats) -> tuple[float, Floats]:
        """The statistic and its gradient in the parameters: places, then the log width."""
        features, pullback = self.evaluate(self.z, *_unpacked(parameters, self.z.shape[1]))
        value, per_row, per_feature = hotelling(features, self.n_p, self.regularization)
        return value, np.append(*pullback(per_row, per_feature))

    def value(self, parameters: Floats) -> float:
        """The statistic."""
        return self._split(parameters)[0]

    def best(self, tries: list[Floats]) -> Floats:
        """The parameters with the largest statistic."""
        return max(tries, key=self.value)

    def witness(self, parameters: Floats, z: Floats) -> Floats:
        """One number per row of `z`: the combination of features that best separates p and q."""
        features = self.evaluate(z, *_unpacked(parameters, z.shape[1]))[0]
        return features @ self._split(parameters)[2]

    def _split(self, parameters: Floats) -> tuple[float, Floats, Floats]:
        features = self.evaluate(self.z, *_unpacked(parameters, self.z.shape[1]))[0]
        return hotelling(features, self.n_p, self.regularization)


def climb(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    stops: tuple[int, ...] = STOPS,
) -> list[Floats]:
    """The parameters of an ascent (L-BFGS-B) after each of several numbers of steps.

    Parameters
    ----------
    objective : callable
        From parameters ``(k,)``, the last of which is a log width, to the value to raise and its
        gradient.
    start : (k,) array
    stops : tuple of int
        Numbers of steps, increasing.

    Examples
    --------
    >>> way = climb(lambda t: (-float((t[0] - 2) ** 2), -2 * (t - 2)), np.ones(1))
    >>> print(way[0], way[-1].round(3))
    [1.] [2.]
    """
    from scipy.optimize import minimize

    def descent(parameters: Floats) -> tuple[float, Floats]:
        value, gradient = objective(parameters)
        return -value, -gradient

    way = [start]
    if stops[-1] == 0:
        return way
    minimize(
        descent,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * (len(start) - 1) + [(np.log(NARROWEST), np.log(WIDEST))],
        callback=lambda parameters: way.append(np.array(parameters)),
        options={"maxiter": stops[-1]},
    )
    return [way[min(stop, len(way) - 1)] for stop in stops]


def hotelling(features: Floats, n_p: int, regularization: float) -> tuple[float, Floats, Floats]:
    """Hotelling's statistic of one split and its gradient in the features, which has rank one.

    Parameters
    ----------
    features : (n, m) array
        Those of p come first.
    n_p : int
    regularization : float

    Returns
    -------
    statistic : float
    per_row : (n,) array
    per_feature : (m,) array
        The derivative in the feature j of row i is ``per_row[i] * per_feature[j]``.

    Notes
    -----
    With ``a = M^-1 z`` the differential of ``z' M^-1 z`` is ``2 a' dz - a' dM a``, and both terms
    see a feature of row i through ``a`` alone.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [4.0], [7.0]])
    >>> print(round(hotelling(x, 2, regularization=0.5)[0], 4))
    8.3333
    """
    m = features.shape[1]
    gap, matrix = np.zeros(m), np.zeros((m, m))
    sides = []
    for rows, sign in ((slice(None, n_p), 1.0), (slice(n_p, None), -1.0)):
        n = len(features[rows])
        mean = features[rows].sum(axis=0) / n
        residuals, weight = features[rows] - mean, 1 / (n * max(n - 1, 1))
        gap += sign * mean
        matrix += weight * (residuals.T @ residuals)
        matrix.flat[:: m + 1] += regularization / n
        sides.append((residuals, sign / n, weight))
    per_feature: Floats = np.linalg.solve(matrix, gap).astype(np.float64, copy=False)
    per_row = [2 * (share - weight * (rows @ per_feature)) for rows, share, weight in sides]
    return float(gap @ per_feature), np.concatenate(per_row), per_feature


def _validate(training: Training, trials: list[list[Floats]], folds: NDArray[np.intp]) -> Floats:
    """Gap between the samples out of fold in standard errors, ``(len(trials), len(STOPS))``.

    Rows with fold -1 take no part; with less than two folds the statistic itself is taken.
    """
    if folds.max() < 1:
        ways = [climb(training.objective, training.best(tries)) for tries in trials]
        return np.array([[training.value(there) for there in way] for way in ways])
    witness = np.zeros((len(trials), len(STOPS), len(folds)))
    for fold in range(folds.max() + 1):
        held_out = np.flatnonzero(folds == fold)
        part = training.take(np.flatnonzero((folds >= 0) & (folds != fold)))
        for of_trial, tries in zip(witness, trials, strict=True):
            way = climb(part.objective, part.best(tries))
            for numbers, there in zip(of_trial, way, strict=True):
                seen = part.witness(there, training.z[held_out])
                numbers[held_out] = seen / (seen.std() or 1.0)
    counted = np.flatnonzero(folds >= 0)
    p, q = (witness[..., rows] for rows in np.split(counted, [(counted < training.n_p).sum()]))
    variance = p.var(axis=-1) / p.shape[-1] + q.var(axis=-1) / q.shape[-1]
    gaps: Floats = (p.mean(axis=-1) - q.mean(axis=-1)) / np.sqrt(np.maximum(variance, 1e-12))
    return gaps


def _folds(groups: NDArray[np.intp], n_p: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Fold of every row, or -1: whole groups, each fold with rows of both samples."""
    sides = [groups[:n_p], groups[n_p:]]
    units = [rng.permutation(np.unique(side))[:CHOICE_ROWS] for side in sides]
    count = min(FOLDS, *(len(side) for side in units))
    fold_of = np.full(int(groups.max()) + 1, -1)
    for side in units:
        fold_of[side] = np.arange(len(side)) % count
    return fold_of[groups]


def _some_rows(is_p: NDArray[np.bool_], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows of p, then rows of q: all, or a random part of a sample that has very many."""
    order = rng.permutation(len(is_p))
    return np.concatenate([np.sort(order[side[order]][:most]) for side in (is_p, ~is_p)])


def _unpacked(parameters: Floats, d: int) -> tuple[Floats, float]:
    return parameters[:-1].reshape(-1, d), float(np.exp(parameters[-1]))
