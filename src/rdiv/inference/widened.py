"""Intervals of a gap that hold for skewed, rare and unequal losses as far as rows can tell.

The permutation quantile belongs to samples that are alike. Where they differ, a few large losses on
one side make ``gap +- q* se`` miss on that side: such intervals are widened here, never narrowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import (
    Estimate,
    Interval,
    gap_interval,
    one_sided_limits,
    sum_of_cubes,
    welch_freedom,
)
from rdiv.inference.tail_index import tail_index
from rdiv.row_blocks import cut

__all__ = [
    "FEW_UNITS",
    "LARGE_SKEWNESS",
    "LossShape",
    "Side",
    "loss_shape",
    "skewed_mean",
    "widened_interval",
]

FEW_UNITS = 30
"""A side with fewer rows (or groups) is small: its interval is marked as asymptotic."""

LARGE_SKEWNESS = 0.3
"""From this skewness of the gap on, which a few rows cause, an interval is marked as asymptotic."""

MINOR = 0.05
"""A side with less than this share of the variance of the gap may have a heavy tail."""

NEARLY_CONSTANT = 0.01
"""A side with less than this share of the pooled variance has not shown its own spread."""

WIDEST = 2.5
"""Most that the correction for skewness widens a side; beyond, it says nothing."""

_SUMMED = 1 << 20

Floats = NDArray[np.float64]


class Side(NamedTuple):
    """What the losses of one sample say about their mean.

    Parameters
    ----------
    units : int
        Rows, or groups.
    skewness : float
        Its part of the skewness of the gap, as a positive number where losses are skewed upwards.
    unseen : Interval
        How far the mean may lie below and above the one seen, because losses as small or as large
        as any of the pool may be too rare to have been drawn; 0 where the side shows its spread.
    constant : bool
        Whether all its losses are the same although those of the pool are not.
    heavy : bool
        Whether its losses may have no variance, see `tail_index`, and matter for the gap.
    """

    units: int
    skewness: float
    unseen: Interval
    constant: bool = False
    heavy: bool = False


@dataclass(frozen=True)
class LossShape:
    """Degrees of freedom of the gap, and the shape of both sides.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> losses, is_p = rng.exponential(size=60), np.arange(60) < 48
    >>> shape = loss_shape(losses, is_p, 0.05)
    >>> print(shape.q.units, shape.why_asymptotic())
    12 only 12 current rows
    """

    freedom: float
    p: Side
    q: Side
    what: str = "rows"

    @property
    def skewness(self) -> float:
        """Third central moment of the gap over the cube of its standard error."""
        return self.q.skewness - self.p.skewness

    def why_asymptotic(self) -> str | None:
        """Why an interval of this gap is asymptotic: a small, skewed or heavy side; or None."""
        sides = {"reference": self.p, "current": self.q}
        few = [f"{side.units} {name}" for name, side in sides.items() if side.units < FEW_UNITS]
        if few:
            return f"only {' and '.join(few)} {self.what}"
        flat = [name for name, side in sides.items() if side.constant]
        if flat:
            return f"all {' and '.join(flat)} losses are the same"
        bent = [name for name, side in sides.items() if abs(side.skewness) > LARGE_SKEWNESS]
        if bent:
            return f"a few {self.what} carry the {' and '.join(bent)} losses"
        heavy = [name for name, side in sides.items() if side.heavy]
        if heavy:
            return f"the tail of the {' and '.join(heavy)} losses is heavy"
        return None


def loss_shape(
    losses: Floats,
    is_p: NDArray[np.bool_],
    alpha: float,
    *,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
) -> LossShape:
    """The shape of the losses of two samples, for `widened_interval`.

    With groups all moments are those of group sums. With strata the degrees of freedom are those
    within strata (of pairs: their number minus one), and skewness is left out.
    """
    what = "rows" if groups is None else "groups"
    if strata is not None:
        units, freedom = _stratified(is_p, groups, strata)
        sides = [Side(count, 0.0, Interval(0.0, 0.0)) for count in units]
        return LossShape(freedom, sides[0], sides[1], what)
    parts = [_unit_parts(losses, side, groups) for side in (is_p, ~is_p)]
    variances = [float((part**2).sum()) for part in parts]
    counts = [len(part) for part in parts]
    unbiased = [c * v * c / max(c - 1, 1) for c, v in zip(counts, variances, strict=True)]
    freedom = welch_freedom(*counts, *unbiased)
    whole = sum(variances) ** 1.5
    sides = [
        Side(
            len(part),
            sum_of_cubes(part) / whole if whole > 0 else 0.0,
            _unseen(losses, side, len(part), alpha),
            bool(np.ptp(losses[side]) == 0),
            variance >= MINOR * sum(variances) > 0 and _heavy(part),
        )
        for part, side, variance in zip(parts, (is_p, ~is_p), variances, strict=True)
    ]
    return LossShape(freedom, sides[0], sides[1], what)


def _unit_parts(losses: Floats, side: NDArray[np.bool_], groups: NDArray[np.intp] | None) -> Floats:
    """What every unit adds to the error of the mean of its side."""
    off: Floats = losses[side]
    off -= off.mean()
    off /= len(off)
    if groups is None:
        return off
    codes = np.unique(groups[side], return_inverse=True)[1]
    return np.asarray(np.bincount(codes, off), dtype=np.float64)


def _heavy(parts: Floats) -> bool:
    """Whether the upper or the lower tail may lack a variance."""
    return any(tail_index(sign * parts).may_lack_variance for sign in (1.0, -1.0))


def _unseen(losses: Floats, side: NDArray[np.bool_], units: int, alpha: float) -> Interval:
    """How far losses that a nearly constant side has not shown may move its mean.

    What makes up a share r of a population is absent from n rows with probability (1 - r)^n, so
    shares up to 1 - (alpha / 2)^(1/n) are not ruled out (the "rule of three").
    """
    own = losses[side]
    spread = _variance(losses)
    if _variance(own) >= NEARLY_CONSTANT * spread or not spread > 0:
        return Interval(0.0, 0.0)
    share = 1 - (alpha / 2) ** (1 / units)
    mean = float(own.mean())
    return Interval(share * (mean - float(losses.min())), share * (float(losses.max()) - mean))


def _variance(numbers: Floats) -> float:
    """The variance, without a copy of so many numbers; 0 where all of them are equal."""
    n = len(numbers)

    def total(of: Callable[[Floats], Floats]) -> float:
        return fsum(float(of(numbers[block] - numbers[0]).sum()) for block in cut(n, _SUMMED))

    mean = total(lambda off: off) / n
    return total(lambda off: np.square(off - mean)) / n


def widened_interval(
    gap: float, error: float, critical: float, shape: LossShape, alpha: float
) -> Interval:
    """``gap +- critical * error``, wider where Student's quantile or skewed losses need more.

    Parameters
    ----------
    gap, error : float
        Mean of q minus mean of p, and its standard error.
    critical : float
        The permutation quantile of abs(gap / error); the interval is never narrower than that.
    shape : LossShape
    alpha : float

    Notes
    -----
    Each end is the farthest of three: the permutation quantile, Student's quantile with Welch's
    degrees of freedom, and the same after Hall's (1992) correction for skewness (at most 2.5 times
    as far). A side whose
    losses are nearly constant may hold losses that it has not shown: the end moves at least that
    far.

    Examples
    --------
    >>> flat = Side(400, 0.0, Interval(0.0, 0.0))
    >>> print(widened_interval(1.0, 0.25, 2.0, LossShape(1e9, flat, flat), 0.05))
    Interval(low=0.5, high=1.5)
    >>> skewed = Side(40, 0.4, Interval(0.0, 0.0))
    >>> low, high = widened_interval(1.0, 0.25, 2.0, LossShape(60.0, flat, skewed), 0.05)
    >>> print(round(low, 2), round(high, 2))
    0.5 1.83
    """
    low, high = gap_interval(gap, error, critical)
    if error > 0:
        ends = _skewed_ends(gap, error, shape.freedom, shape.skewness, alpha)
        low, high = min(low, ends.low), max(high, ends.high)
    below = max(shape.q.unseen.low, shape.p.unseen.high)
    above = max(shape.q.unseen.high, shape.p.unseen.low)
    return Interval(min(low, gap - below), max(high, gap + above))


def skewed_mean(
    numbers: Floats,
    alpha: float,
    groups: NDArray[np.intp] | None = None,
    inflation: float = 1.0,
) -> Estimate:
    """The mean of numbers (or groups) with Student's interval, wider where they are skewed.

    Parameters
    ----------
    numbers : (n,) array
    alpha : float
    groups : (n,) integers, optional
    inflation : float
        By how much dependence raises the variance of the mean; 1 where they are independent.

    Examples
    --------
    >>> found = skewed_mean(np.array([0.0, 1.0, 1.0, 2.0, 2.0, 6.0]), 0.05)
    >>> print(found.value, round(found.low, 1), round(found.high, 1))
    2.0 -0.2 7.5
    """
    mean = float(numbers.mean())
    parts = _unit_parts(numbers, np.ones(len(numbers), dtype=bool), groups)
    units = len(parts)
    if units < 2:
        return Estimate(mean, -np.inf, np.inf)
    variance = float((parts**2).sum())
    if not variance > 0:
        return Estimate(mean, mean, mean)
    error = float(np.sqrt(inflation * variance * units / (units - 1)))
    skewness = sum_of_cubes(parts) / (inflation * variance) ** 1.5
    return Estimate(mean, *_skewed_ends(mean, error, units - 1, skewness, alpha))


def _skewed_ends(
    value: float, error: float, freedom: float, skewness: float, alpha: float
) -> Interval:
    """Student's interval; an end is farther where Hall's correction moves it out."""
    plain = one_sided_limits(value, error, freedom, 0.0, alpha / 2)
    moved = one_sided_limits(value, error, freedom, skewness, alpha / 2)
    half = plain.high - value
    low, high = min(plain.low, moved.low), max(plain.high, moved.high)
    return Interval(max(low, value - WIDEST * half), min(high, value + WIDEST * half))


def _stratified(
    is_p: NDArray[np.bool_], groups: NDArray[np.intp] | None, strata: NDArray[np.intp]
) -> tuple[tuple[int, int], float]:
    """Units of p and of q, and the degrees of freedom within strata."""
    first = np.arange(len(is_p)) if groups is None else np.unique(groups, return_index=True)[1]
    own, stratum = is_p[first], np.unique(strata[first], return_inverse=True)[1]
    counts = np.bincount(2 * stratum + own, minlength=2 * (int(stratum.max()) + 1)).reshape(-1, 2)
    parts = len(counts)
    paired = bool((counts.min(axis=1) < 2).any())
    freedom = parts - 1 if paired else len(first) - 2 * parts
    return (int(own.sum()), int((~own).sum())), float(max(freedom, 1))
