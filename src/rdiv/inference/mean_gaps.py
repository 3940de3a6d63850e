"""Gaps between masked means of numbers per row: the arithmetic of most tests.

Numbers are centred and scaled by the pool, so a gap is a masked sum over a count, and its standard
error needs one more masked sum, of squares. With groups or strata other units are summed in the
same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import fsum

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import (
    Columns,
    mask_counts,
    masked_moments,
    masked_sums,
    squared,
    standardized,
    tiles,
    unit_sums,
)
from rdiv.inference.prepared import Masks, Observed, Prepared

__all__ = ["gaps_and_errors", "mean_gap", "mean_gaps"]

_ROUNDING = 1e-12  # gaps below this many pooled standard deviations are rounding, hence ties at 0

Gaps = Callable[[Masks], tuple[NDArray[np.float64], NDArray[np.float64]]]


def mean_gap(
    losses: NDArray[np.float64],
    *,
    studentize: bool = True,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
    signed: bool = False,
) -> Prepared:
    """The gap between the mean losses of p and q, for any split; absolute unless it is `signed`.

    Parameters
    ----------
    losses : (n,) array
    studentize : bool
        Rank the gap over its standard error, recomputed for every split.
    groups, strata : (n,) integer codes, optional
    signed : bool
        Rank mean over q minus mean over p, so that only a larger mean of q is evidence.

    Examples
    --------
    >>> prepared = mean_gap(np.array([0.0, 2.0, 5.0, 9.0]), studentize=False)
    >>> is_p = np.array([True, True, False, False])
    >>> print(prepared.statistic(is_p[None]), prepared.observe(is_p).gap)
    [6.] 6.0
    """
    measure = gaps_and_errors(losses[:, None], groups, strata)
    gaps = _ratios(measure) if studentize else lambda masks: measure(masks)[0]

    def observed(is_p: NDArray[np.bool_]) -> Observed:
        gaps, errors = measure(is_p[None])
        # Sums rounded once, in any order: identical samples have a gap of exactly 0.
        risk_p, risk_q = (fsum(losses[side]) / int(side.sum()) for side in (is_p, ~is_p))
        exact = strata is None and gaps[0, 0] != 0  # otherwise the rest is rounding error
        gap = risk_q - risk_p if exact else float(gaps[0, 0])
        statistic = gap if signed else abs(gap)
        return Observed(statistic, risk_p, risk_q, gap, float(errors[0, 0]))

    def statistic(masks: Masks) -> NDArray[np.float64]:
        values = gaps(masks)[:, 0]
        return values if signed else np.abs(values)

    return Prepared(statistic, observed=observed, losses=losses)


def mean_gaps(
    numbers: Columns,
    *,
    studentize: bool,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
    scale: NDArray[np.float64] | None = None,
) -> Callable[[Masks], NDArray[np.float64]]:
    """Signed gaps, mean over q minus mean over p, of each of ``m`` columns, for blocks of masks.

    Parameters
    ----------
    numbers : (n, m) array
    studentize : bool
        Divide each gap by its standard error for that split; 0 / 0 is 0, any other gap / 0 is
        infinite.
    groups : (n,) integer codes, optional
        Standard errors are then those of group sums (cluster-robust).
    strata : (n,) integer codes, optional
        Gaps are then those within strata, weighted by ``n_ps n_qs / n_s``.
    scale : (m,) array, optional
        Scale of the numbers, if they are already standardised.

    Returns
    -------
    callable
        From masks ``(b, n)`` to ``(b, m)``.

    Notes
    -----
    With ``studentize`` the permutation test is exact when p = q and of level alpha asymptotically
    when only the means agree, whatever the variances and sizes (Janssen 1997; Chung and Romano
    2013). When strata have one row per sample, the standard error is that of Pashley and Miratrix
    (2021).

    Examples
    --------
    >>> t = mean_gaps(np.array([[1.0], [3.0], [4.0], [8.0]]), studentize=True)
    >>> print(t(np.array([[True, True, False, False]])).round(3))
    [[1.789]]
    """
    measure = gaps_and_errors(numbers, groups, strata, errors=studentize, scale=scale)
    return _ratios(measure) if studentize else lambda masks: measure(masks)[0]


def _ratios(measure: Gaps) -> Callable[[Masks], NDArray[np.float64]]:
    """Gaps over their standard errors; 0 / 0 is 0, any other gap / 0 is infinite."""

    def ratios(masks: Masks) -> NDArray[np.float64]:
        gaps, errors = measure(masks)
        flat = np.where(gaps == 0, 0.0, np.copysign(np.inf, gaps))
        return np.divide(gaps, errors, out=flat, where=errors > 0)

    return ratios


def gaps_and_errors(
    numbers: Columns,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
    errors: bool = True,
    scale: NDArray[np.float64] | None = None,
) -> Gaps:
    """Function from masks to gaps and their standard errors, each ``(b, m)``, in original units.

    Examples
    --------
    >>> measure = gaps_and_errors(np.array([[1.0], [3.0], [4.0], [8.0]]))
    >>> gaps, errors = measure(np.array([[True, True, False, False]]))
    >>> print(gaps[0], errors[0].round(3))
    [4.] [2.236]
    """
    scaled, unit = standardized(np.asarray(numbers)) if scale is None else (numbers, scale)
    if groups is None and strata is None:
        measure = _by_rows(scaled, errors)
    else:
        measure = _by_units(scaled, groups, strata)

    def gaps(masks: Masks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gap, variance = measure(masks)
        gap[np.abs(gap) < _ROUNDING] = 0.0
        return gap * unit, np.sqrt(variance) * unit

    return gaps


def _by_rows(columns: Columns, errors: bool) -> Gaps:
    """The plain case: rows are the units, one stratum."""
    n, m = columns.shape
    if m > 1:
        return _by_rows_of_many(columns, errors)
    numbers = np.ascontiguousarray(np.asarray(columns)[:, 0])
    totals = np.array([numbers.sum(), (numbers**2).sum()])  # pairwise sums, for accuracy

    def measure(masks: Masks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        sums = masked_moments(masks, numbers) if errors else masked_sums(masks, numbers[:, None])
        n_p = mask_counts(masks)[:, None].astype(np.float64)
        mean_p, mean_q = sums[:, :m] / n_p, (totals[:m] - sums[:, :m]) / (n - n_p)
        if not errors:
            return mean_q - mean_p, np.zeros_like(mean_p)
        variance = _variance_of_mean(sums[:, m:], mean_p, n_p)
        variance += _variance_of_mean(totals[m:] - sums[:, m:], mean_q, n - n_p)
        return mean_q - mean_p, variance

    return measure


def _by_rows_of_many(numbers: Columns, errors: bool) -> Gaps:
    """The plain case for many columns: sums of squares are computed only where needed.

    With equal sizes the two sums of squares have the same weight in the variance of the gap, and
    their total is that of the pool.
    """
    n, _ = numbers.shape
    totals = np.sum([_column_sums(tile) for tile in tiles(numbers)], axis=0)
    all_squares = np.sum([np.einsum("ij,ij->j", tile, tile) for tile in tiles(numbers)], axis=0)

    @lru_cache(maxsize=1)
    def squares() -> Columns:
        return squared(numbers)

    def measure(masks: Masks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n_p = mask_counts(masks)[:, None].astype(np.float64)
        sums = masked_sums(masks, numbers)
        mean_p, mean_q = sums / n_p, (totals - sums) / (n - n_p)
        if not errors:
            return mean_q - mean_p, np.zeros_like(mean_p)
        if (2 * n_p == n).all():
            spread = all_squares - n_p * (mean_p**2 + mean_q**2)
            spread[spread <= _ROUNDING * all_squares] = 0.0
            return mean_q - mean_p, spread / (n_p * np.maximum(n_p - 1, 1))
        of_p = masked_sums(masks, squares())
        variance = _variance_of_mean(of_p, mean_p, n_p)
        variance += _variance_of_mean(all_squares - of_p, mean_q, n - n_p)
        return mean_q - mean_p, variance

    return measure


def _column_sums(numbers: NDArray[np.float64], block: int = 128) -> NDArray[np.float64]:
    """Sums of columns, first over blocks of rows: accurate without a transpose."""
    whole = len(numbers) - len(numbers) % block
    sums = numbers[:whole].reshape(-1, block, numbers.shape[1]).sum(axis=1).sum(axis=0)
    total: NDArray[np.float64] = sums + numbers[whole:].sum(axis=0)
    return total


def _variance_of_mean(
    squares: NDArray[np.float64], mean: NDArray[np.float64], n: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``s^2 / n`` from the sum of squares; rounding errors count as 0."""
    spread = squares / n - mean**2
    spread[spread <= _ROUNDING * squares / n] = 0.0
    return spread / np.maximum(n - 1, 1)


def _by_units(
    columns: Columns,
    groups: NDArray[np.intp] | None,
    strata: NDArray[np.intp] | None,
) -> Gaps:
    """Groups of rows and strata: sums over units, per sample and stratum."""
    numbers = np.asarray(columns)
    n, m = numbers.shape
    codes = np.arange(n) if groups is None else groups
    first, codes = np.unique(codes, return_index=True, return_inverse=True)[1:]
    sums = unit_sums(numbers, codes)  # (units, m)
    sizes = np.bincount(codes).astype(np.float64)[:, None]
    moments = np.concatenate(
        [np.ones_like(sizes), sizes, sizes**2, sums, sums * sizes, sums**2], axis=1
    )
    stratum = np.zeros(len(first), np.intp) if strata is None else strata[first]
    order = np.argsort(stratum, kind="stable")
    starts = np.flatnonzero(np.diff(stratum[order], prepend=-1))
    moments = moments[order]
    totals = np.add.reduceat(moments, starts, axis=0)  # (strata, 3 + 3 m)

    def measure(masks: Masks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        chosen = masks[:, first[order]]
        side_p = np.stack([_stratum_sums(mask, moments, starts) for mask in chosen])
        sides = [_side(side, m) for side in (side_p, totals - side_p)]
        return _pooled_over_strata(*sides)

    return measure


def _stratum_sums(
    mask: NDArray[np.bool_], columns: NDArray[np.float64], starts: NDArray[np.intp]
) -> NDArray[np.float64]:
    if len(starts) == 1:
        return (mask.astype(np.float64) @ columns)[None]
    return np.add.reduceat(columns * mask[:, None], starts, axis=0)


Side = tuple[NDArray[np.float64], ...]


def _side(sums: NDArray[np.float64], m: int) -> Side:
    """Units, rows, mean and variance of the mean of one side, ``(b, strata, 1 or m)`` each."""
    units, rows, rows2 = sums[..., 0:1], sums[..., 1:2], sums[..., 2:3]
    total, cross, squares = (
        sums[..., 3 : 3 + m],
        sums[..., 3 + m : 3 + 2 * m],
        sums[..., 3 + 2 * m :],
    )
    mean = total / np.maximum(rows, 1)
    spread = squares - 2 * mean * cross + mean**2 * rows2
    spread[spread <= _ROUNDING * squares] = 0.0
    factor = units / np.maximum(units - 1, 1) / np.maximum(rows, 1) ** 2
    return units, rows, mean, spread * factor


def _pooled_over_strata(p: Side, q: Side) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weighted gap over the strata and its variance.

    The variance is that within strata where both sides have two units or more, and that between
    strata for the others (matched pairs).
    """
    (units_p, rows_p, mean_p, variance_p), (units_q, rows_q, mean_q, variance_q) = p, q
    weight = rows_p * rows_q / np.maximum(rows_p + rows_q, 1)
    whole = weight.sum(axis=1, keepdims=True)
    gap = (weight * (mean_q - mean_p)).sum(axis=1, keepdims=True) / whole
    large = (units_p >= 2) & (units_q >= 2)
    small = ~large & (weight > 0)
    within = (large * weight**2 * (variance_p + variance_q)).sum(axis=1)
    between = (small * (weight * (mean_q - mean_p - gap)) ** 2).sum(axis=1)
    n_small = small.sum(axis=1)
    variance = within + between * n_small / np.maximum(n_small - 1, 1)
    # A single small stratum has no others to compare with: use the variance of its larger side.
    alone = small & (n_small == 1)[:, None]
    spread = variance_p * (units_p >= 2) * (1 + units_p) + variance_q * (units_q >= 2) * (
        1 + units_q
    )
    variance += (alone * weight**2 * spread).sum(axis=1)
    return gap[:, 0], variance / whole[:, 0] ** 2
