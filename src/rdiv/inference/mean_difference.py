"""A difference of two means with an interval that knows how little it knows of the variances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import Estimate, variance_of_mean

__all__ = ["difference_of_means"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def difference_of_means(
    of_reference: Floats,
    of_current: Floats,
    alpha: float,
    groups: tuple[Codes | None, Codes | None] = (None, None),
    *,
    modelled: float = 0.0,
) -> Estimate:
    """Mean over current minus mean over reference, with Student's interval.

    Parameters
    ----------
    of_reference, of_current : (n_p,) and (n_q,) arrays
    alpha : float
    groups : pair of integer codes, optional
        Of the rows of each; the standard error is then that of group sums.
    modelled : float
        A variance of single reference numbers that theirs must not fall below.

    Notes
    -----
    The degrees of freedom count how well the variances are known, by the kurtosis of the numbers:
    ``1 / freedom`` is the sum of ``share^2 (kurtosis - 1) / (2 n)`` over both sides, with `share`
    what the side adds to the squared standard error (Satterthwaite; for normal numbers Welch's).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = difference_of_means(rng.normal(size=200), 1 + rng.normal(size=200), 0.05)
    >>> print(round(found.value, 1), round(found.low, 1), round(found.high, 1))
    0.9 0.7 1.1
    """
    from scipy.special import stdtrit

    sides = (of_reference, of_current)
    value = float(of_current.mean() - of_reference.mean())
    if min(len(side) for side in sides) < 2:
        return Estimate(value, -np.inf, np.inf)
    found = [variance_of_mean(*each) for each in zip(sides, groups, strict=True)]
    of_rows = float(of_reference.var(ddof=1))
    clustered = max(found[0] / of_rows, 1.0) if of_rows > 0 else 1.0
    found[0] = max(found[0], clustered * modelled)
    variances = [each / len(side) for each, side in zip(found, sides, strict=True)]
    if not sum(variances) > 0:
        return Estimate(value, value, value)
    unknown = sum(
        (one / sum(variances)) ** 2 * (_kurtosis(side) - 1) / (2 * len(side))
        for one, side in zip(variances, sides, strict=True)
    )
    half = float(stdtrit(1 / max(unknown, 1e-9), 1 - alpha / 2) * np.sqrt(sum(variances)))
    return Estimate(value, value - half, value + half)


def _kurtosis(numbers: Floats) -> float:
    squares = (numbers - numbers.mean()) ** 2
    return float((squares**2).mean() / squares.mean() ** 2) if squares.any() else 1.0
