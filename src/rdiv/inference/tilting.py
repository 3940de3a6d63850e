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
_FARTHEST = 1e9  # grid steps after which a search for a margin gives up
_CLOSE = 1e-4  # where a search for a margin ends, in standard errors


class Units(NamedTuple):
    """Mean losses and numbers of rows of the units of one sample: rows, or groups of rows."""

    means: Floats
    sizes: Floats

    @property
    def mean(self) -> float:
        """The mean loss of the rows."""
        return float(self.means @ self.masses)

    @property
    def masses(self) -> Floats:
        """The share of the rows that each unit has."""
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def number(self) -> float:
        """Units of one size whose mean would vary as much; with rows, or groups alike, all."""
        return float(self.sizes.sum() ** 2 / (self.sizes @ self.sizes))


def units_of(losses: Floats, groups: NDArray[np.intp] | None = None) -> Units:
    """The units of a sample.

    Examples
    --------
    >>> found = units_of(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 1]))
    >>> print(found.means, found.sizes, found.mean, round(found.number, 1))
    [1.5 6. ] [2. 1.] 3.0 1.8
    """
    if groups is None:
        return Units(losses, np.broadcast_to(1.0, len(losses)))
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    return Units(np.bincount(codes, losses) / sizes, sizes)


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
    return np.asarray(weights)


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
        return np.asarray(self.start + self.step * self.places, dtype=np.float64)


def _gridded(values: Floats, shares: Floats, n: int) -> _Grid:
    """Values on a grid that suits means of n of them; both ends lie on it.

    A value between two points is shared by them such that its mean stays.
    """
    start, span = float(values.min()), float(np.ptp(values))
    if not span > 0:
        return _Grid(start, 1.0, np.zeros(1, np.intp), np.ones(1))
    spread = float(np.sqrt(shares @ (values - shares @ values) ** 2))
    step = spread * _WINDOW * n**0.5 / _LENGTH
    step = span / max(int(np.ceil(span / step)), 1)
    at = (values - start) / step
    below = np.floor(at + 1e-9)
    share = np.clip(at - below, 0.0, 1.0)
    places = below.astype(np.intp)
    masses = np.zeros(int(places.max()) + 2)
    masses += np.bincount(places, shares * (1 - share), len(masses))
    masses += np.bincount(places + 1, shares * share, len(masses))
    held = np.flatnonzero(masses)
    return _Grid(start, step, held, masses[held])


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
        return np.asarray(self.start + self.step * np.arange(len(self.masses)), dtype=np.float64)


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


def _wider(values: Floats, centre: float, rows: float, fitted: int = 1) -> Floats:
    """Values farther from their centre, because their spread was estimated from so many rows.

    The factor is the standard deviation of Student's t over that of the law with the variance seen;
    `fitted` numbers were fitted to the rows: a mean, and a tilt where there is one.
    """
    factor = (rows / max(rows - fitted - 2, 1)) ** 0.5
    return np.asarray(centre + (values - centre) * factor)


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
    there are. Groups count as one unit with their mean loss, drawn by their share of the rows. A
    tilt goes at most half of the way to the largest loss; for a margin beyond that the losses are
    stretched, so that what was not seen yet is not taken to be impossible.

    Examples
    --------
    >>> found = Boundary(units_of(np.repeat([0.0, 1.0], [9900, 100])), units_of(np.zeros(10)))
    >>> print(round(found.pvalue(0.09), 2), round(0.9**10, 2))
    0.35 0.35
    """

    reference: Units
    current: Units

    @cached_property
    def gap(self) -> float:
        """Mean loss of current minus that of reference."""
        return self.current.mean - self.reference.mean

    def swapped(self) -> Boundary:
        """The same for the other direction: the reference is then the one that may lack errors."""
        return Boundary(self.current, self.reference)

    def pvalue(self, margin: float) -> float:
        """Probability of a gap as small as the observed one, at the margin."""
        centre = self.reference.mean + margin
        grid = self._stretched(centre)
        masses = tilted(grid.values, centre, grid.masses)
        if masses is None:
            return 1.0
        n = self._drawn
        law = _law_of_mean(grid, masses, n)
        spread = float(np.sqrt(masses @ (grid.values - grid.values @ masses) ** 2))
        blur = min(grid.step, _BLUR * spread) / n**0.5
        held = law.masses > 0
        own, seen = law.masses[held], law.values[held]
        rows = self._pooled.number / float(masses @ (masses / grid.masses))
        wide = _wider(seen, centre, rows, fitted=2)
        both = own @ self._law_p.at_least(wide - self.gap - blur)
        alone = own.sum(where=seen <= self.current.mean + blur)
        return float(min(max(both, alone), 1.0))

    def limit(self, start: float, alpha: float) -> float:
        """The smallest margin from `start` on whose p-value is at most alpha; it may be infinite.

        On the scale of the normal distribution p-values are about linear in the margin, so a few
        secants do.
        """
        from scipy.special import ndtri

        scale = float(ndtri(alpha))

        def above(margin: float) -> float:
            return float(ndtri(np.clip(self.pvalue(margin), 1e-300, 1 - 1e-9))) - scale

        low, ends = start, [above(start), 0.0]
        if ends[0] <= 0:
            return start
        step = abs(start - self.gap) or self._grid.step
        high = start + max(0.1, 0.5 * ends[0]) * step
        while (value := above(high)) > 0:
            low, ends[0], high = high, value, high + 2 * (high - start)
            if high > _FARTHEST * self._grid.step:
                return float("inf")
        ends[1] = value
        for _ in range(_STEPS):
            if high - low <= _CLOSE * step:
                break
            share = ends[0] / (ends[0] - ends[1])
            trial = low + min(max(share, 0.02), 0.98) * (high - low)
            value = above(trial)
            at = int(value <= 0)
            low, high = (low, trial) if at else (trial, high)
            ends[at] = value
        return high

    @property
    def _drawn(self) -> int:
        """Current units that are drawn."""
        return max(int(self.current.number + 1e-9), 1)

    def _stretched(self, centre: float) -> _Grid:
        """All losses; stretched where a tilt to the centre would lean on the largest of them alone.

        A tilt goes at most half of the way from the mean to the largest loss, and the losses are
        stretched away from the smallest one by what is missing.
        """
        grid = self._grid
        farthest = (self._pooled.mean + float(grid.values[-1])) / 2 - grid.start
        factor = (centre - grid.start) / farthest if farthest > 0 else 1.0
        return grid if factor <= 1 else grid._replace(step=factor * grid.step)

    @cached_property
    def _law_p(self) -> _Law:
        side, n = self.reference, max(int(self.reference.number + 1e-9), 1)
        grid = _gridded(_wider(side.means, side.mean, n), side.masses, n)
        return _law_of_mean(grid, grid.masses, n)

    @cached_property
    def _pooled(self) -> Units:
        pairs = zip(self.reference, self.current, strict=True)
        return Units(*(np.concatenate(pair) for pair in pairs))

    @cached_property
    def _grid(self) -> _Grid:
        return _gridded(self._pooled.means, self._pooled.masses, self._drawn)
