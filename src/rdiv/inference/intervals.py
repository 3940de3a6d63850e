"""Intervals and one-sided limits of a gap, from its standard error.

The ratio of a gap to its standard error is compared with a permutation quantile. The interval and
the p-value therefore agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.engine import allowed_exceedances
from rdiv.inference.ties import TIE_TOLERANCE

__all__ = [
    "Estimate",
    "Interval",
    "critical_value",
    "gap_interval",
    "one_sided_limits",
    "one_sided_pvalue",
    "planned_critical",
    "sum_of_cubes",
    "variance_of_mean",
    "welch_freedom",
]


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float
    low: float
    high: float


def critical_value(null_distribution: NDArray[np.float64], alpha: float) -> float:
    """The ratio that an observed one must exceed to be significant at level alpha.

    It is the permutation quantile that belongs to ``(1 + #{null >= observed}) / (1 + B)``.

    Examples
    --------
    >>> print(critical_value(np.arange(1.0, 20.0), 0.1))
    18.0
    """
    allowed = max(allowed_exceedances(alpha, len(null_distribution)), 1)
    return float(np.sort(null_distribution)[-allowed])


def gap_interval(gap: float, standard_error: float, critical: float) -> Interval:
    """``gap +- critical * standard_error``; it excludes 0 exactly when the test rejects.

    With a standard error of 0 the interval is unbounded when the null has no spread either.

    Examples
    --------
    >>> print(gap_interval(1.0, 0.25, 2.0))
    Interval(low=0.5, high=1.5)
    """
    half = _product(critical, standard_error)
    low, high = gap - half, gap + half
    if abs(gap) <= half * (1 + TIE_TOLERANCE):  # a tie does not reject, so 0 belongs inside
        return Interval(min(low, 0.0), max(high, 0.0))
    return Interval(low, high)


def sum_of_cubes(numbers: NDArray[np.float64]) -> float:
    """The sum of third powers; as a power of an array it takes thirty times as long.

    Examples
    --------
    >>> print(sum_of_cubes(np.array([1.0, -2.0])))
    -7.0
    """
    return float((numbers * numbers * numbers).sum())


def variance_of_mean(losses: NDArray[np.float64], groups: NDArray[np.intp] | None = None) -> float:
    """Variance of the mean of losses, times their number; with groups that of group sums.

    Without groups it is the sample variance. With groups it is the variance that independent rows
    would need for the mean to have the same standard error.

    Examples
    --------
    >>> print(variance_of_mean(np.array([1.0, 3.0])))
    2.0
    >>> print(variance_of_mean(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1])))
    4.0
    """
    if groups is None:
        return float(losses.var(ddof=1))
    codes = np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(codes, losses - losses.mean())
    return float((sums**2).sum() * len(sums) / (len(sums) - 1) / len(losses))


def planned_critical(
    n_p: float, n_q: float, variance_p: float, variance_q: float, alpha: float
) -> float:
    """The approximate `critical_value` at these sizes: Student's quantile, Welch's freedom.

    Examples
    --------
    >>> print(round(planned_critical(10, 10, 1.0, 1.0, 0.05), 3))
    2.101
    """
    from scipy.special import stdtrit

    return float(stdtrit(welch_freedom(n_p, n_q, variance_p, variance_q), 1 - alpha / 2))


def welch_freedom(n_p: float, n_q: float, variance_p: float, variance_q: float) -> float:
    """Degrees of freedom of a difference of two means with their own variances.

    Examples
    --------
    >>> print(welch_freedom(10, 10, 1.0, 1.0))
    18.0
    """
    of_p, of_q = variance_p / n_p, variance_q / n_q
    below = of_p**2 / max(n_p - 1, 1) + of_q**2 / max(n_q - 1, 1)
    return (of_p + of_q) ** 2 / below if below > 0 else n_p + n_q - 2


def one_sided_pvalue(ratio: float, freedom: float, skewness: float = 0.0) -> float:
    """The probability that an estimate lies at least this far below the truth.

    Parameters
    ----------
    ratio : float
        Estimate minus truth, over the standard error.
    freedom : float
        Degrees of freedom of Student's distribution.
    skewness : float
        Third central moment of the estimate over the cube of its standard error.

    Notes
    -----
    A skewed loss skews the studentised gap, which affects one-sided tests more than two-sided ones;
    Hall's cubic transformation removes the skewness (Hall 1992).

    Examples
    --------
    >>> print(round(one_sided_pvalue(-1.645, 1e9), 3), round(one_sided_pvalue(-1.645, 1e9, 0.2), 3))
    0.05 0.075
    """
    from scipy.special import stdtr

    pvalue = float(stdtr(freedom, _unskewed(ratio, skewness)))
    return max(pvalue, float(np.finfo(np.float64).tiny))


def one_sided_limits(
    gap: float, standard_error: float, freedom: float, skewness: float, alpha: float
) -> Interval:
    """Lower and upper limit of a gap, each wrong with probability alpha; see `one_sided_pvalue`.

    Examples
    --------
    >>> low, high = one_sided_limits(1.0, 0.5, 1e9, 0.0, 0.05)
    >>> print(round(low, 2), round(high, 2))
    0.18 1.82
    """
    from scipy.special import stdtrit

    critical = float(stdtrit(freedom, 1 - alpha))
    return Interval(
        gap - standard_error * _skewed(critical, skewness),
        gap - standard_error * _skewed(-critical, skewness),
    )


def _unskewed(ratio: float, skewness: float) -> float:
    """Hall's transformation: increasing, and about normal for a studentised mean."""
    cubic = (skewness * ratio) ** 2 * ratio / 27
    return ratio + skewness * ratio**2 / 3 + cubic + skewness / 6


def _skewed(value: float, skewness: float) -> float:
    """The inverse of `_unskewed`."""
    moved = value - skewness / 6
    if abs(skewness * moved) < 1e-6:
        return moved - skewness * moved**2 / 3
    return float(3 / skewness * (np.cbrt(1 + skewness * moved) - 1))


def _product(critical: float, standard_error: float) -> float:
    if standard_error > 0:
        return critical * standard_error
    return float("inf") if critical == float("inf") else 0.0
