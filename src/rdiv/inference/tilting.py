"""Losses reweighted to another mean, and the law of the mean of so many of them.

An exponential tilt changes a sample as little as a change of its mean allows: for 0/1 losses it is
another error rate, for squared normal errors another scale. The law of a mean of independent draws
is computed on a grid by one Fourier transform, so nothing is simulated and nothing is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Boundary", "Units", "tilted", "units_of"]

Floats = NDArray[np.float64]

_LENGTH = 1 << 14  # grid points that a law of a mean takes, more where a tilt widens it
_WINDOW = 14.0  # standard deviations of the mean that they cover
_BLUR = 1 / 64  # largest share of a standard error by which values between grid points move
_STEPS = 60  # most steps of a search; it usually takes ten
_CLOSE = 1e-4  # where a search for a margin ends, in standard errors


class Units(NamedTuple):
    """Sums of losses and numbers of rows of the units of one sample: rows, or groups of rows."""

    sums: Floats
    sizes: Floats

    @property
    def mean(self) -> float:
        """The mean loss of the rows."""
        return float(self.sums.sum() / self.sizes.sum())

    def around(self, centre: float, size: float) -> Floats:
        """Numbers per unit whose mean is that of the losses, when units have that size."""
        return centre + (self.sums - centre * self.sizes) / size

    @property
    def size(self) -> float:
        """Rows per unit."""
        return float(self.sizes.mean())


def units_of(losses: Floats, groups: NDArray[np.intp] | None = None) -> Units:
    """The units of a sample.

    Examples
    --------
    >>> found = units_of(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 1]))
    >>> print(found.sums, found.sizes, found.mean)
    [3. 6.] [2. 1.] 3.0
    """
    if groups is None:
        return Units(losses, np.ones(len(losses)))
    codes = np.unique(groups, return_inverse=True)[1]
    return Units(np.bincount(codes, losses), np.bincount(codes).astype(np.float64))


def tilted(values: Floats, mean: float, masses: Floats | None = None) -> Floats | None:
    """Probabilities of values, tilted exponentially to a mean; None where that is out of reach.

    Parameters
    ----------
    values : (n,) array
    mean : float
        It must lie strictly between the smallest and the largest value.
    masses : (n,) array, optional
        Probabilities before the tilt; by default all alike.

    Examples
    --------
    >>> print(tilted(np.array([0.0, 0.0, 0.0, 1.0]), 0.4).round(3))
    [0.2 0.2 0.2 0.4]
    >>> print(tilted(np.array([0.0, 1.0]), 1.0))
    None
    """
    low, high = float(values.min()), float(values.max())
    if not low < mean < high:
        return None
    base = np.full(len(values), 1 / len(values)) if masses is None else masses
    scaled = (values - mean) / (high - low)
    least, most, slope = -np.inf, np.inf, 0.0
    for _ in range(_STEPS):
        weights = base * np.exp(slope * scaled - (slope * scaled).max())
        weights /= weights.sum()
        off = float(weights @ scaled)
        if abs(off) < 1e-12:
            break
        least, most = (least, slope) if off > 0 else (slope, most)
        spread = float(weights @ scaled**2) - off**2
        newton = slope - off / spread if spread > 0 else np.nan
        slope = newton if least < newton < most else _between(least, most)
    return weights


def _between(least: float, most: float) -> float:
    """A point between two bounds, of which one may be infinite."""
    if np.isinf(least):
        return 2 * most - 1 if most < 0 else -1.0
    if np.isinf(most):
        return 2 * least + 1 if least > 0 else 1.0
    return (least + most) / 2


class _Grid(NamedTuple):
    """Values on a grid: integer places, and the mass at each."""

    start: float
    step: float
    places: NDArray[np.intp]
    masses: Floats

    @property
    def values(self) -> Floats:
        return self.start + self.step * self.places


def _gridded(values: Floats, n: int) -> _Grid:
    """Values on a grid that suits means of n of them; both ends lie on it.

    A value between two points is shared by them such that its mean stays.
    """
    start, span = float(values.min()), float(np.ptp(values))
    if not span > 0:
        return _Grid(start, 1.0, np.zeros(1, np.intp), np.ones(1))
    step = float(values.std()) * _WINDOW * n**0.5 / _LENGTH
    step = span / max(int(np.ceil(span / step)), 1)
    at = (values - start) / step
    below = np.floor(at + 1e-9)
    share = np.clip(at - below, 0.0, 1.0)
    places = below.astype(np.intp)
    masses = np.bincount(places, 1 - share, places.max() + 2)
    masses += np.bincount(places + 1, share, places.max() + 2)
    held = np.flatnonzero(masses)
    return _Grid(start, step, held, masses[held] / len(values))


class _Law(NamedTuple):
    """Distribution of a mean: its values, evenly spaced, and the mass at each."""

    start: float
    step: float
    masses: Floats

    def at_least(self, values: Floats) -> Floats:
        """Probability that the mean is at least so large."""
        beyond = np.append(np.cumsum(self.masses[::-1])[::-1], 0.0)
        places = np.ceil((values - self.start) / self.step - 1e-6)
        found: Floats = beyond[np.clip(places, 0, len(self.masses)).astype(np.intp)]
        return found

    @property
    def values(self) -> Floats:
        return self.start + self.step * np.arange(len(self.masses))


def _law_of_mean(grid: _Grid, masses: Floats, n: int) -> _Law:
    """The law of the mean of n independent draws from a grid."""
    places = grid.places.astype(np.float64)
    centre = float(masses @ places)
    spread = float(np.sqrt(masses @ (places - centre) ** 2))
    most = n * int(grid.places.max()) + 1  # with so many points no sum wraps around
    length = 1 << int(np.ceil(np.log2(max(min(_WINDOW * n**0.5 * spread, most), 2))))
    step = np.bincount(grid.places % length, masses, length)
    sums = np.fft.irfft(_power(np.fft.rfft(step), n), length)
    first = 0 if length >= most else int(np.floor(n * centre - length / 2))
    sums = np.maximum(np.roll(sums, -(first % length)), 0.0)
    return _Law(grid.start + grid.step * first / n, grid.step / n, sums / sums.sum())


def _power(numbers: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """Numbers to the power n by repeated squaring, which is faster than the general power."""
    result = np.ones_like(numbers)
    while n:
        if n & 1:
            result = result * numbers
        numbers, n = numbers * numbers, n >> 1
    return result


def _wider(values: Floats, centre: float, rows: float) -> Floats:
    """Values farther from their centre, because their spread was estimated from so many rows.

    The factor is the standard deviation of Student's t over that of the law with the variance seen.
    """
    return centre + (values - centre) * (rows / max(rows - 3, 1)) ** 0.5


@dataclass(frozen=True, eq=False)
class Boundary:
    """How small a gap looks when the truth lies at a margin.

    Parameters
    ----------
    reference, current : Units

    Notes
    -----
    At the margin, current units are drawn from all units of both samples, tilted to the mean of the
    reference plus the margin, and reference units from the reference itself; as many of each as
    there are. With groups the mean of rows is taken to be linear in the sums of the groups.

    Examples
    --------
    >>> found = Boundary(units_of(np.repeat([0.0, 1.0], [9900, 100])), units_of(np.zeros(10)))
    >>> print(round(found.pvalue(0.09), 2), round(0.9**10, 2))
    0.35 0.35
    """

    reference: Units
    current: Units

    @property
    def gap(self) -> float:
        """Mean loss of current minus that of reference."""
        return self.current.mean - self.reference.mean

    def mirrored(self) -> Boundary:
        """The same for losses of the opposite sign."""
        sides = (self.reference, self.current)
        return Boundary(*(Units(-side.sums, side.sizes) for side in sides))

    def pvalue(self, margin: float) -> float:
        """Probability of a gap as small as the observed one, at the margin.

        0 where the margin lies beyond all losses that were seen: there is nothing to draw from.
        """
        if self.reference.mean + margin >= self._reach:
            return 0.0
        grid = self._grid(margin)
        masses = tilted(grid.values, self.reference.mean + margin, grid.masses)
        if masses is None:
            return 1.0 if self.reference.mean + margin <= grid.start else 0.0
        n = len(self.current.sums)
        law = _law_of_mean(grid, masses, n)
        spread = float(np.sqrt(masses @ (grid.values - grid.values @ masses) ** 2))
        blur = min(grid.step, _BLUR * spread) / n**0.5
        held = law.masses > 0
        own, seen = law.masses[held], law.values[held]
        rows = len(self._pooled.sums) / float(masses @ (masses / grid.masses))
        wide = _wider(seen, self.reference.mean + margin, rows)
        both = own @ self._law_p.at_least(wide - self.gap - blur)
        alone = own.sum(where=seen <= self.current.mean + blur)
        return float(min(max(both, alone), 1.0))

    def limit(self, start: float, alpha: float) -> float:
        """The smallest margin from `start` on whose p-value is at most alpha.

        On the scale of the normal distribution p-values are about linear in the margin, so a few
        secants do.
        """
        from scipy.special import ndtri

        first = self.pvalue(start)
        if first <= alpha:
            return start
        low, high, scale = start, self._reach - self.reference.mean, float(ndtri(alpha))
        ends = [float(ndtri(min(first, 1 - 1e-9))) - scale, -1.0]
        step = abs(start - self.gap)
        trial = min(start + max(0.1, 0.5 * ends[0]) * step, (low + high) / 2)
        for _ in range(_STEPS):
            value = float(ndtri(np.clip(self.pvalue(trial), 1e-300, 1 - 1e-9))) - scale
            at = int(value <= 0)
            low, high = (low, trial) if at else (trial, high)
            ends[at] = value
            if high - low <= _CLOSE * step:
                break
            share = ends[0] / (ends[0] - ends[1])
            trial = low + min(max(share, 0.02), 0.98) * (high - low)
        return high

    @cached_property
    def _reach(self) -> float:
        """The largest mean that a tilt can have: that of the worst unit."""
        return max(float((side.sums / side.sizes).max()) for side in (self.reference, self.current))

    @cached_property
    def _law_p(self) -> _Law:
        side = self.reference
        values = _wider(side.around(side.mean, side.size), side.mean, len(side.sums))
        grid = _gridded(values, len(values))
        return _law_of_mean(grid, grid.masses, len(values))

    def _grid(self, margin: float) -> _Grid:
        """All units on a grid; without groups it is the same for every margin."""
        if (self._pooled.sizes == 1).all():
            return self._grid_of_rows
        return _gridded(
            self._pooled.around(self.reference.mean + margin, self.current.size),
            len(self.current.sums),
        )

    @cached_property
    def _pooled(self) -> Units:
        return Units(*(np.concatenate(pair) for pair in zip(self.reference, self.current)))

    @cached_property
    def _grid_of_rows(self) -> _Grid:
        return _gridded(self._pooled.sums, len(self.current.sums))
