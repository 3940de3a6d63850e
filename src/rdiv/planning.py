"""How sure, and how many rows: intervals and detectable gaps from one standard error.

A gap is judged by its ratio to its standard error, and that ratio by its permutation quantile; an
interval, the smallest gap that would be found and the p-value therefore all agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.permutation import allowed_exceedances
from rdiv.ties import TIE_TOLERANCE

__all__ = ["Interval", "critical_value", "gap_interval", "smallest_detectable_gap"]


class Interval(NamedTuple):
    """A confidence interval."""

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

    Without any spread (a standard error of 0) nothing is known when the null has none either.

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


def smallest_detectable_gap(standard_error: float, critical: float, power: float = 0.8) -> float:
    """The gap that a test of this size finds with the given probability.

    Examples
    --------
    >>> print(round(smallest_detectable_gap(0.1, 1.96), 3))
    0.28
    """
    from scipy.special import ndtri

    return _product(float(critical + ndtri(power)), standard_error)


def _product(critical: float, standard_error: float) -> float:
    if standard_error > 0:
        return critical * standard_error
    return float("inf") if critical == float("inf") else 0.0
