"""A gap in mean loss from few labelled and many unlabelled rows: prediction-powered inference.

The mean of an expected loss over many rows without labels is corrected on the few that have one
(PPI++, Angelopoulos, Duchi and Zrnic 2023). The expected loss must be learned from other rows; how
good it is decides how much is won, never whether the interval holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import Estimate, Interval, sum_of_cubes, variance_of_mean
from rdiv.inference.widened import LossShape, Side, widened_interval

__all__ = ["PoweredGap", "best_weight", "powered_gap"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class PoweredGap:
    """A gap from labelled and unlabelled rows.

    Parameters
    ----------
    gap : Estimate
    weight : float
        Between 0 and 1: how far the expected losses of the unlabelled rows are relied on.
    error : float
        Standard error of the gap.
    """

    gap: Estimate
    weight: float
    error: float


def best_weight(
    losses: Floats,
    expected: Floats,
    unlabelled: Floats,
    groups: tuple[Codes | None, Codes | None] = (None, None),
) -> float:
    """The weight of the expected loss that makes the variance smallest, between 0 and 1.

    Parameters
    ----------
    losses, expected : (n,) arrays
        Losses of the labelled rows, and what was expected of them.
    unlabelled : (m,) array
        Expected losses of the other rows.
    groups : pair of integer codes, optional
        Of the labelled and of the unlabelled rows.

    Examples
    --------
    >>> g = np.random.default_rng(0).normal(size=4000)
    >>> print(round(best_weight(g[:1000], g[:1000], g[1000:]), 2))
    0.74
    >>> print(best_weight(-g[:1000], g[:1000], g[1000:]))
    0.0
    """
    if min(len(losses), len(unlabelled)) < 2:
        return 0.0
    together = variance_of_mean(losses + expected, groups[0])
    apart = variance_of_mean(losses - expected, groups[0])
    shared = (together - apart) / 4 / len(losses)  # the covariance of both means
    spread = variance_of_mean(expected, groups[0]) / len(losses)
    spread += variance_of_mean(unlabelled, groups[1]) / len(unlabelled)
    return float(np.clip(shared / spread, 0.0, 1.0)) if spread > 0 else 0.0


def powered_gap(
    reference: Floats,
    losses: Floats,
    expected: Floats,
    unlabelled: Floats,
    alpha: float,
    groups: tuple[Codes | None, Codes | None, Codes | None] = (None, None, None),
    *,
    unseen: Interval | None = None,
) -> PoweredGap:
    """The mean loss of all current rows minus that of the reference, with its interval.

    Parameters
    ----------
    reference : (n_p,) array
        Losses of the reference rows.
    losses, expected : (n,) arrays
        Losses of the labelled current rows, and what was expected of them.
    unlabelled : (m,) array
        Expected losses of the current rows without labels.
    alpha : float
    groups : three integer codes, optional
        Of the reference, the labelled and the unlabelled rows.
    unseen : Interval, optional
        How far losses that the labelled rows have not shown may move the gap; see
        `rdiv.inference.widened`.

    Notes
    -----
    With g the expected loss and w the weight, the mean over current is estimated by ``mean of w g
    over unlabelled rows + mean of (loss - w g) over labelled rows``. That is unbiased for any g and
    any fixed w if labels are missing at random; the three means are of different rows, so their
    variances add. One degree of freedom of the labelled rows is spent on w. The interval is
    Student's with Satterthwaite's degrees of freedom, wider where losses are skewed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> g = rng.normal(size=5200)
    >>> losses = 1 + g[:200] + 0.5 * rng.normal(size=200)
    >>> found = powered_gap(1.1 * rng.normal(size=5000), losses, g[:200], g[200:], 0.05)
    >>> print(round(found.gap.value, 1), round(found.gap.high - found.gap.low, 2))
    1.0 0.16
    """
    weight = best_weight(losses, expected, unlabelled, (groups[1], groups[2]))
    rest = losses - weight * expected
    parts = [(-reference, groups[0]), (rest, groups[1]), (weight * unlabelled, groups[2])]
    value = float(sum(numbers.mean() for numbers, _ in parts))
    spent = (0, 1 if weight > 0 else 0, 0)
    moments = [_moments(*part, more) for part, more in zip(parts, spent, strict=True)]
    variance = sum(one[0] for one in moments)
    if not variance > 0:
        return PoweredGap(Estimate(value, value, value), weight, 0.0)
    below = sum(one[0] ** 2 / one[2] for one in moments)
    third = moments[1][1] + moments[2][1]
    sides = [-moments[0][1] / variance**1.5, third / variance**1.5]
    shape = LossShape(
        variance**2 / below,
        Side(len(reference), sides[0], Interval(0.0, 0.0)),
        Side(len(losses), sides[1], unseen or Interval(0.0, 0.0)),
    )
    error = float(np.sqrt(variance))
    return PoweredGap(
        Estimate(value, *widened_interval(value, error, 0.0, shape, alpha)), weight, error
    )


def _moments(numbers: Floats, groups: Codes | None, spent: int) -> tuple[float, float, float]:
    """Variance and third central moment of a mean, and its degrees of freedom."""
    units = len(numbers) if groups is None else len(np.unique(groups))
    freedom = max(units - 1 - spent, 1)
    off = (numbers - numbers.mean()) / len(numbers)
    if groups is not None:
        off = np.bincount(np.unique(groups, return_inverse=True)[1], off)
    fair = (units - 1) / freedom
    variance = variance_of_mean(numbers, groups) / len(numbers) * fair if units > 1 else 0.0
    return variance, sum_of_cubes(off), float(freedom)
