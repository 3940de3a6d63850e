"""Gaps within strata, and between groups of rows: sums over units, per sample and stratum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import Columns, unit_sums
from rdiv.inference.prepared import Masks

__all__ = [
    "ROUNDING",
    "StratumUnits",
    "gap_of_terms",
    "pooled_over_strata",
    "side_of",
    "stratum_sums",
    "terms_of_strata",
    "unit_moments",
]

ROUNDING = 1e-12
"""Gaps below this many pooled standard deviations are rounding, hence ties at 0."""

Floats = NDArray[np.float64]


def unit_moments(numbers: Floats, codes: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp]]:
    """Of every unit: 1, rows, rows squared, sums, sums times rows, sums squared; its first row."""
    first, codes = np.unique(codes, return_index=True, return_inverse=True)[1:]
    sums = unit_sums(numbers, codes)  # (units, m)
    sizes = np.bincount(codes).astype(np.float64)[:, None]
    parts = [np.ones_like(sizes), sizes, sizes**2, sums, sums * sizes, sums**2]
    return np.concatenate(parts, axis=1), first


@dataclass(frozen=True, eq=False)
class StratumUnits:
    """Rows or groups, stratum by stratum.

    Parameters
    ----------
    moments : (units, 3 + 3 m) array
        See `unit_moments`; the units of a stratum stand together.
    first : (units,) integers
        The first row of every unit.
    starts : (strata,) integers
        Where each stratum begins.
    """

    moments: Floats
    first: NDArray[np.intp]
    starts: NDArray[np.intp]

    @staticmethod
    def of(
        columns: Columns, groups: NDArray[np.intp] | None, strata: NDArray[np.intp]
    ) -> StratumUnits:
        """The units of rows, or of groups of rows."""
        numbers = np.asarray(columns)
        codes = np.arange(len(numbers)) if groups is None else groups
        return StratumUnits.sorted(*unit_moments(numbers, codes), strata)

    @staticmethod
    def sorted(moments: Floats, first: NDArray[np.intp], strata: NDArray[np.intp]) -> StratumUnits:
        """Units in any order, with the strata of all rows."""
        stratum = strata[first]
        order = np.argsort(stratum, kind="stable")
        starts = np.flatnonzero(np.diff(stratum[order], prepend=-1))
        return StratumUnits(moments[order], first[order], starts)

    @cached_property
    def totals(self) -> Floats:
        """Moments of all units of every stratum."""
        return np.add.reduceat(self.moments, self.starts, axis=0)

    @property
    def m(self) -> int:
        """How many numbers a row has."""
        return int(self.moments.shape[1] // 3 - 1)

    def of_masks(self, masks: Masks) -> tuple[Floats, Floats]:
        """Gaps and variances, from masks of the rows."""
        side_p = stratum_sums(masks[:, self.first], self.moments, self.starts)
        sides = [side_of(sums, self.m) for sums in (side_p, self.totals - side_p)]
        return pooled_over_strata(sides[0], sides[1])


def stratum_sums(masks: Masks, moments: Floats, starts: NDArray[np.intp]) -> Floats:
    """Sums over the units of every stratum that count as p, ``(b, strata, columns)``."""
    if len(starts) == 1:
        return np.stack([(mask.astype(np.float64) @ moments)[None] for mask in masks])
    return np.stack([np.add.reduceat(moments * mask[:, None], starts, axis=0) for mask in masks])


Side = tuple[Floats, ...]


def side_of(sums: Floats, m: int) -> Side:
    """Units, rows, mean and variance of the mean of one side, ``(b, strata, 1 or m)`` each."""
    units, rows, rows2 = sums[..., 0:1], sums[..., 1:2], sums[..., 2:3]
    total, cross, squares = (
        sums[..., 3 : 3 + m],
        sums[..., 3 + m : 3 + 2 * m],
        sums[..., 3 + 2 * m :],
    )
    mean = total / np.maximum(rows, 1)
    spread = squares - 2 * mean * cross + mean**2 * rows2
    spread[spread <= ROUNDING * squares] = 0.0
    factor = units / np.maximum(units - 1, 1) / np.maximum(rows, 1) ** 2
    return units, rows, mean, spread * factor


def pooled_over_strata(p: Side, q: Side) -> tuple[Floats, Floats]:
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


def terms_of_strata(p: Side, q: Side) -> Floats:
    """What `pooled_over_strata` needs, as sums over strata that can be added up, ``(b, 3 + 5 m)``.

    The sum of squared deviations from the gap, which is known only when all strata are, is taken
    apart into squares, products and weights.
    """
    (units_p, rows_p, mean_p, variance_p), (units_q, rows_q, mean_q, variance_q) = p, q
    weight = rows_p * rows_q / np.maximum(rows_p + rows_q, 1)
    large = (units_p >= 2) & (units_q >= 2)
    small = ~large & (weight > 0)
    gap, squares = mean_q - mean_p, small * weight**2
    spread = variance_p * (units_p >= 2) * (1 + units_p) + variance_q * (units_q >= 2) * (
        1 + units_q
    )
    terms = [
        weight, squares, small.astype(np.float64), weight * gap,
        large * weight**2 * (variance_p + variance_q), squares * gap**2, squares * gap,
        squares * spread,
    ]  # fmt: skip
    summed: Floats = np.concatenate([term.sum(axis=1) for term in terms], axis=1)
    return summed


def gap_of_terms(terms: Floats) -> tuple[Floats, Floats]:
    """The weighted gap and its variance, ``(b, m)`` each, as from `pooled_over_strata`."""
    m = (terms.shape[1] - 3) // 5
    whole, weights, n_small = (terms[:, j : j + 1] for j in range(3))
    moved, within, squares, products, alone = (
        terms[:, 3 + j * m : 3 + (j + 1) * m] for j in range(5)
    )
    gap = moved / whole
    between = squares - 2 * gap * products + gap**2 * weights
    between[between <= ROUNDING * squares] = 0.0
    variance = within + between * n_small / np.maximum(n_small - 1, 1)
    variance += np.where(n_small == 1, alone, 0.0)
    return gap, variance / whole**2
