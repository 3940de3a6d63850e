"""Which numbers count as equal when null values are ranked.

Sums of the same numbers in another order differ in their last bits, and a small gap between sums of
millions of losses keeps about eleven digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["TIE_TOLERANCE", "at_least", "upper_counts"]

TIE_TOLERANCE = 1e-10  # relative


def at_least(values: NDArray[np.float64], bar: float) -> NDArray[np.bool_]:
    """Which values are as large as a bar, or tied with it.

    Examples
    --------
    >>> print(at_least(np.array([1.0, 2.0 - 1e-15, 3.0]), 2.0))
    [False  True  True]
    """
    bar = float(bar)
    tolerance = TIE_TOLERANCE * abs(bar) if np.isfinite(bar) else 0.0
    return values >= bar - tolerance


def upper_counts(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """How many of the values are as large as each of them, itself included, ``(n,)``.

    Sorted neighbours that are closer than the tolerance are tied, so the result does not depend on
    the order of the values.

    Examples
    --------
    >>> print(upper_counts(np.array([5.0, 1.0, 5.0 + 1e-14, 9.0])))
    [3 4 3 1]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    with np.errstate(invalid="ignore"):  # inf - inf
        steps = np.diff(ordered)
    finite = np.isfinite(ordered[1:])
    tolerance = TIE_TOLERANCE * np.abs(np.where(finite, ordered[1:], 0.0))
    rises = np.concatenate([[True], np.where(finite, steps > tolerance, steps == np.inf)])
    starts = np.flatnonzero(rises)
    counts = np.empty(len(values), dtype=np.intp)
    counts[order] = (len(values) - starts)[np.cumsum(rises) - 1]
    return counts
