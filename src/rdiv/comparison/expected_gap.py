"""The gap to be expected of current rows that have no labels, if the relation holds.

With g the expected loss and w the density ratio of current to reference, ``theta = mean over
current of g + mean over reference of w (loss - g)`` is the loss on current under the relation
between inputs and target that the reference has; the expected gap is theta minus the mean loss on
the reference. Its interval is that of this sum. The value relies on the second mean only as far as
it stands out from its noise, because w is estimated and few reference rows carry most of it. Labels
of the reference are first read here, after the test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.density_ratio import DensityRatio, density_ratio, ratio_folds
from rdiv.comparison.split import FEWEST_EFFECTIVE, LEAST_COVERED, no_overlap, residual_variance
from rdiv.comparison.support import Support
from rdiv.drivers.column_paths import Matrix
from rdiv.inference.intervals import Estimate, variance_of_mean
from rdiv.inference.mean_difference import difference_of_means
from rdiv.samples.pooling import PooledSamples

__all__ = ["FEWEST_COVERED", "ExpectedGap", "ExpectedLosses", "expected_gap", "noise_in_mean"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

FEWEST_COVERED = 50
"""Covered current rows that a gap on them needs at least."""

LEAST_PART = 0.2
"""Share of the current rows that must be covered for a gap on them."""


@dataclass(frozen=True)
class ExpectedGap:
    """What is to be expected of current rows without labels.

    Parameters
    ----------
    gap : Estimate, optional
        Mean loss on current minus that on the reference, if the relation between inputs and target
        holds; None where the inputs do not overlap.
    covered_gap : Estimate, optional
        The same for the current rows that lie where part A has rows.
    covered_rows : int, optional
        How many those are.
    outside, outside_reference : float, optional
        Share of the current rows, and of the held-out reference rows, outside what part A covers;
        None for inputs that are no table.
    effective_rows : float, optional
        How many equally weighted reference rows the correction rests on.
    reference_loss : float
        Mean loss on the reference rows that were compared.
    note : str, optional
        Why there is no gap.
    """

    gap: Estimate | None
    covered_gap: Estimate | None
    covered_rows: int | None
    outside: float | None
    outside_reference: float | None
    effective_rows: float | None
    reference_loss: float
    note: str | None = None

    def fields(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        gaps = {"gap": self.gap, "covered_gap": self.covered_gap}
        return {
            **{name: None if one is None else one._asdict() for name, one in gaps.items()},
            "covered_rows": self.covered_rows,
            "outside": self.outside,
            "outside_reference": self.outside_reference,
            "effective_rows": self.effective_rows,
            "reference_loss": self.reference_loss,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class ExpectedLosses:
    """Numbers of the compared rows.

    Parameters
    ----------
    values : (m,) array
        g of every row.
    features : (m, f) array, or an object that makes rows when they are asked for
        What g looks at.
    losses : (n_p,) array
        Losses of the reference rows among them, in their order.
    squared : bool
        Whether these are squared errors of a model.
    """

    values: Floats
    features: Matrix
    losses: Floats
    squared: bool


def expected_gap(
    known: ExpectedLosses,
    samples: PooledSamples,
    support: Support | None,
    alpha: float,
    rng: np.random.Generator,
) -> ExpectedGap:
    """Estimate the gap on current, all of it and the covered part, with intervals.

    Parameters
    ----------
    known : ExpectedLosses
    samples : PooledSamples
        The rows that were compared.
    support : Support, optional
    alpha : float
    rng : Generator
    """
    outside = None if support is None else support.current
    of_reference = None if support is None else support.reference
    mean = float(known.losses.mean())
    if samples.pool.strata is not None:
        why = "with strata= rows are compared within strata only, and no expected gap is estimated"
        return ExpectedGap(None, None, None, outside, of_reference, None, mean, why)
    fold = ratio_folds(samples.pool, rng)
    if fold is None:
        why = "all rows have the same inputs, so no other loss can be expected of any of them"
        return ExpectedGap(None, None, None, outside, of_reference, None, mean, why)
    ratio = density_ratio(known.features, samples.is_p, fold, rng)
    whole = np.ones(len(samples.is_p), dtype=bool)
    gap, note = None, None
    if _overlaps(ratio, 1.0):
        gap = _gap_where(whole, known, samples, ratio, alpha)
    else:
        note = no_overlap(ratio)
    inside = whole if support is None else ~support.outside
    rows = int((inside & ~samples.is_p).sum())
    part = rows / int((~samples.is_p).sum())
    covered = None
    if support is not None and rows >= FEWEST_COVERED and part >= LEAST_PART:
        covered = _gap_where(inside, known, samples, ratio, alpha, part)
    return ExpectedGap(
        gap, covered, None if support is None else rows, outside, of_reference,
        ratio.effective_rows, mean, note,
    )  # fmt: skip


def _overlaps(ratio: DensityRatio, part: float) -> bool:
    """Whether enough reference rows are like the current rows, or a part of these."""
    return ratio.effective_rows >= FEWEST_EFFECTIVE and ratio.covered >= LEAST_COVERED * part


def _gap_where(
    inside: Mask,
    known: ExpectedLosses,
    samples: PooledSamples,
    ratio: DensityRatio,
    alpha: float,
    part: float = 1.0,
) -> Estimate | None:
    """Expected loss on the current rows inside, minus the mean loss on the reference."""
    is_p, groups = samples.is_p, samples.pool.groups
    weights = np.where(inside[is_p], ratio.weights, 0.0)
    if not weights.sum() > 0:
        return None
    weights = weights / weights.mean()
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    if effective < FEWEST_EFFECTIVE or not _overlaps(ratio, part):
        return None
    g, losses, current = known.values[is_p], known.losses, ~is_p & inside
    spread = 0.0
    if known.squared:
        noise = residual_variance(losses, g)
        spread = float(g.var() + ((1 - weights) ** 2 * noise).mean())
    sides = (None, None) if groups is None else (groups[is_p], groups[current])
    correction = (weights - 1) * (losses - g)
    found = difference_of_means(
        g - correction, known.values[current], alpha, sides, modelled=spread
    )
    value = found.value - noise_in_mean(correction, sides[0])
    return found._replace(value=float(np.clip(value, found.low, found.high)))


def noise_in_mean(numbers: Floats, groups: NDArray[np.intp] | None = None) -> float:
    """The part of a mean to leave out as noise: all of it within one standard error of 0.

    Farther away it is ``error^2 / mean`` (positive-part shrinkage of James and Stein), which is
    soon nothing, so that a correction which is needed is made.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).normal(size=10_000)
    >>> print(round(noise_in_mean(numbers + 1.0), 3), round(noise_in_mean(numbers - 0.02), 3))
    0.0 -0.007
    """
    mean = float(numbers.mean())
    if len(numbers) < 2 or mean == 0.0:
        return 0.0
    squared_error = variance_of_mean(numbers, groups) / len(numbers)
    return mean * min(squared_error / mean**2, 1.0)
