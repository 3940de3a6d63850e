"""Smooth features per row, and Hotelling's distance between their means for any split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.masked_sums import mask_counts, masked_sums, unit_sums
from rdiv.inference.prepared import Masks, Prepared
from rdiv.samples.pool import Pool, require_finite

__all__ = [
    "Evaluate",
    "FeatureMeans",
    "PlacedFeatures",
    "Pullback",
    "Scaling",
    "check_settings",
    "fit_scaling",
]


Floats = NDArray[np.float64]
Pullback = Callable[[Floats, Floats], tuple[Floats, float]]
"""From a gradient in features, ``per_row[i] * per_feature[j]``, to that in places and log width."""
Evaluate = Callable[[Floats, Floats, float], tuple[Floats, Pullback]]
"""From scaled inputs ``(n, d)``, places ``(J, d)`` and a width to features and their pullback."""

_PAIRS = 2000  # random pairs of rows for a median distance
_FAR = 1e6  # in median distances; features are flat long before


@dataclass(frozen=True, eq=False)
class Scaling:
    """Inputs centred and divided by one number: columns keep their relative sizes.

    Parameters
    ----------
    centre : (d,) array
    scale : float

    Examples
    --------
    >>> print(Scaling(np.array([1.0]), 2.0)(np.array([[1.0], [5.0]])).tolist())
    [[0.0], [2.0]]
    """

    centre: Floats
    scale: float

    def __call__(self, x: Floats) -> Floats:
        """Scaled inputs; rows beyond the reach of any feature are clipped."""
        return np.clip((x - self.centre) / self.scale, -_FAR, _FAR)


def fit_scaling(x: Floats, rng: np.random.Generator) -> Scaling:
    """Centre at the median of each column; the unit is the median distance between rows.

    Examples
    --------
    >>> scaling = fit_scaling(np.array([[0.0], [3.0]]), np.random.default_rng(0))
    >>> print(scaling.centre, scaling.scale)
    [1.5] 3.0
    """
    centre = np.median(x, axis=0)
    one = rng.integers(len(x), size=_PAIRS)
    other = (one + rng.integers(1, max(len(x), 2), size=_PAIRS)) % len(x)
    unit = float(np.abs(x - centre).max()) or 1.0  # so that squares cannot overflow
    distances = np.linalg.norm(x[one] / unit - x[other] / unit, axis=1)
    typical = float(np.median(distances)) or float(distances.mean()) or 1.0
    return Scaling(centre, unit * typical)


@dataclass(frozen=True, eq=False)
class PlacedFeatures:
    """Features of rows, with fixed places and width.

    Parameters
    ----------
    evaluate : Evaluate
    scaling : Scaling
        Places and width are in scaled units.
    places : (J, d) array
        Locations or frequencies.
    width : float
    """

    evaluate: Evaluate
    scaling: Scaling
    places: Floats
    width: float

    def __call__(self, x: Floats) -> Floats:
        """Features ``(n, m)`` of inputs ``(n, d)``."""
        return self.evaluate(self.scaling(x), self.places, self.width)[0]


_ROUNDING = 1e-12  # gaps below this many standard deviations of their feature are rounding


@dataclass(frozen=True, eq=False)
class FeatureMeans:
    """Distance between the mean features of p and of q, with fixed features.

    Parameters
    ----------
    features : callable
        From inputs ``(n, d)`` to features ``(n, m)``.
    normalized : bool
        Rank Hotelling's statistic; otherwise the root mean square of the ``m`` gaps.
    regularization : float
        Added to the variance of every feature.
    who : str
        The test's name, for messages.
    notes : mapping
        Facts for the result.

    Notes
    -----
    Hotelling's statistic is ``z' (S_p / n_p + S_q / n_q + r (1 / n_p + 1 / n_q) I)^-1 z`` with z
    the gap between the mean features, S_p and S_q their covariances and r the regularisation; all
    are recomputed for every split. With groups the covariances are those of group sums. With
    strata the features are centred within each stratum, which makes z proportional to the gap
    within strata, weighted by ``n_ps n_qs / n_s``; equal to it when all strata have one share of p.

    Examples
    --------
    >>> pool = Pool(np.array([[0.0], [1.0], [4.0], [7.0]]))
    >>> test = FeatureMeans(lambda x: x, regularization=0.5)
    >>> prepared = test.prepare(pool, np.random.default_rng(0))
    >>> print(prepared.statistic(np.array([[True, True, False, False]])).round(4))
    [8.3333]
    """

    features: Callable[[Floats], Floats]
    normalized: bool = True
    regularization: float = 1e-5
    who: str = "a test of mean features"
    notes: Mapping[str, Any] = field(default_factory=dict)

    task = "density"

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Compute the features of all rows once."""
        del rng
        x = pool.matrix()
        require_finite(x, who=self.who)
        features = _centred(self.features(x)[pool.first_copy], pool.strata)
        sums, spreads = _side_sums(features, pool.groups), features.std(axis=0)

        def plain(masks: Masks) -> Floats:
            size: Floats = np.sqrt(np.mean(_gaps(*sums(masks), spreads) ** 2, axis=1))
            return size

        def normalized(masks: Masks) -> Floats:
            p, q = sums(masks)
            gaps = _gaps(p, q, spreads)
            ridge = self.regularization * (1 / p.rows + 1 / q.rows)[..., None]
            covariances = _covariances(p) + _covariances(q) + ridge * np.eye(len(spreads))
            solved = np.linalg.solve(covariances, gaps[..., None])[..., 0]
            distances: Floats = np.maximum(np.einsum("bj,bj->b", gaps, solved), 0.0)
            return distances

        return Prepared(normalized if self.normalized else plain, notes=self.notes)


def check_settings(test: Any, *, count: str) -> None:
    """Refuse settings of a test of feature means that cannot work."""
    number = getattr(test, count)
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise InputError(f"{count} must be a whole number from 1 on, got {number!r}.")
    if not 0 < test.regularization < np.inf:
        raise InputError(f"regularization must be a positive number, got {test.regularization!r}.")


@dataclass(frozen=True, eq=False)
class _Side:
    """Sums over the units (rows or groups) of one side of each of b splits.

    Units, rows and squared unit sizes are ``(b, 1)``; sums of the features of units, and of those
    times unit sizes, ``(b, m)``; sums of products of features of units ``(b, m (m + 1) / 2)``.
    """

    units: Floats
    rows: Floats
    squares: Floats
    sums: Floats
    weighted: Floats
    products: Floats


def _centred(features: Floats, strata: NDArray[np.intp] | None) -> Floats:
    """Features centred by the pool, or within each stratum; constant ones are exactly 0."""
    codes = np.zeros(len(features), np.intp) if strata is None else strata
    counts = np.maximum(np.bincount(codes), 1)
    means = unit_sums(features, codes) / counts[:, None]
    centred = features - means[codes]
    centred[:, np.abs(centred).max(axis=0) <= 1e-14 * np.abs(features).max(axis=0)] = 0.0
    return centred


def _side_sums(
    features: Floats, groups: NDArray[np.intp] | None
) -> Callable[[Masks], tuple[_Side, _Side]]:
    """Function from masks to the sums of both sides: one product of masks and columns."""
    m = features.shape[1]
    first, second = np.triu_indices(m)
    if groups is None:
        lead, units = np.arange(len(features)), features
        extra: list[Floats] = []
    else:
        lead, codes = np.unique(groups, return_index=True, return_inverse=True)[1:]
        units = unit_sums(features, codes)
        sizes = np.bincount(codes).astype(np.float64)[:, None]
        extra = [sizes, sizes**2, units * sizes]
    columns = np.concatenate([units, units[:, first] * units[:, second], *extra], axis=1)
    cuts = np.cumsum([m, len(first), 1, 1])
    totals = columns.sum(axis=0)

    def side(count: Floats, sums: Floats) -> _Side:
        of_units, products, rows, squares, weighted = np.split(sums, cuts, axis=1)
        if groups is None:
            rows, squares, weighted = count, count, of_units
        return _Side(count, rows, squares, of_units, weighted, products)

    def sides(masks: Masks) -> tuple[_Side, _Side]:
        chosen = masks if groups is None else masks[:, lead]
        count = mask_counts(chosen)[:, None].astype(np.float64)
        sums = masked_sums(chosen, columns)
        return side(count, sums), side(len(columns) - count, totals - sums)

    return sides


def _gaps(p: _Side, q: _Side, spreads: Floats) -> Floats:
    """Mean features of q minus those of p, ``(b, m)``; rounding errors are set to 0."""
    gaps = q.sums / q.rows - p.sums / p.rows
    gaps[np.abs(gaps) <= _ROUNDING * spreads] = 0.0
    return gaps


def _covariances(side: _Side) -> Floats:
    """Covariance of the mean features of one side, ``(b, m, m)``."""
    b, m = side.sums.shape
    first, second = np.triu_indices(m)
    mean = side.sums / side.rows
    crossed = mean[:, first] * side.weighted[:, second] + mean[:, second] * side.weighted[:, first]
    spread = side.products - crossed + mean[:, first] * mean[:, second] * side.squares
    spread *= side.units / np.maximum(side.units - 1, 1) / side.rows**2
    covariances = np.empty((b, m, m))
    covariances[:, first, second] = covariances[:, second, first] = spread
    return covariances
