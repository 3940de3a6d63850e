"""Gaps and variances of means from sums over units: rows, rows with many numbers, groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import (
    Columns,
    mask_counts,
    masked_moments,
    masked_sums,
    squared,
    tiles,
)
from rdiv.inference.prepared import Masks
from rdiv.inference.stratified_gaps import ROUNDING, pooled_over_strata, side_of, unit_moments

__all__ = ["GroupUnits", "ManyColumns", "RowUnits", "Units"]

Floats = NDArray[np.float64]


class Units(Protocol):
    """Gaps and variances from sums over the units (rows or groups) that count as p."""

    @property
    def numbers(self) -> Columns: ...
    @property
    def squares(self) -> bool | None: ...
    @property
    def first(self) -> NDArray[np.intp] | None: ...
    def of_masks(self, masks: Masks) -> tuple[Floats, Floats]:
        """From masks of the rows."""
        ...

    def of_sums(self, sums: Floats, squares: Floats | None, n_p: Floats) -> tuple[Floats, Floats]:
        """From sums, sums of squares, and the number of units of p, ``(b, 1)``."""
        ...


@dataclass(frozen=True, eq=False)
class RowUnits:
    """The plain case: rows are the units, one column.

    From sums over tiles, squares are left out for equal sizes, see `ManyColumns`.
    """

    numbers: Columns  # (n, 1)
    squares: bool | None
    totals: Floats
    first: None = None

    @staticmethod
    def of(columns: Columns, errors: bool) -> RowUnits:
        if not isinstance(columns, np.ndarray):  # too many to be held twice
            parts = [(tile.sum(), np.square(tile).sum()) for tile in tiles(columns)]
            totals = np.array([fsum(values) for values in zip(*parts, strict=True)])
            return RowUnits(columns, None if errors else False, totals)
        numbers = np.ascontiguousarray(np.asarray(columns)[:, 0])
        totals = np.array([numbers.sum(), (numbers**2).sum()])  # pairwise sums, for accuracy
        return RowUnits(numbers[:, None], None if errors else False, totals)

    def of_masks(self, masks: Masks) -> tuple[Floats, Floats]:
        n_p = mask_counts(masks)[:, None].astype(np.float64)
        if self.squares is False:
            return self.of_sums(masked_sums(masks, self.numbers), None, n_p)
        sums = masked_moments(masks, self.numbers)
        return self.of_sums(sums[:, :1], sums[:, 1:], n_p)

    def of_sums(self, sums: Floats, squares: Floats | None, n_p: Floats) -> tuple[Floats, Floats]:
        n = self.numbers.shape[0]
        n_p = np.clip(n_p, 1, max(n - 1, 1))  # of some rows alone a mask may leave one side empty
        mean_p, mean_q = sums / n_p, (self.totals[:1] - sums) / (n - n_p)
        if self.squares is False:
            return mean_q - mean_p, np.zeros_like(mean_p)
        if squares is None:
            return mean_q - mean_p, _variance_of_equal(self.totals[1:], mean_p, mean_q, n_p)
        variance = _variance_of_mean(squares, mean_p, n_p)
        variance += _variance_of_mean(self.totals[1:] - squares, mean_q, n - n_p)
        return mean_q - mean_p, variance


@dataclass(frozen=True, eq=False)
class ManyColumns:
    """The plain case for many columns: sums of squares are computed only where needed.

    With equal sizes the two sums of squares have the same weight in the variance of the gap, and
    their total is that of the pool.
    """

    numbers: Columns
    squares: bool | None
    totals: Floats
    all_squares: Floats
    first: None = None

    @staticmethod
    def of(numbers: Columns, errors: bool) -> ManyColumns:
        parts = [(_column_sums(tile), np.einsum("ij,ij->j", tile, tile)) for tile in tiles(numbers)]
        totals, squares = np.sum(parts, axis=0)
        return ManyColumns(numbers, None if errors else False, totals, squares)

    @cached_property
    def squared(self) -> Columns:
        """The squares of all numbers."""
        return squared(self.numbers)

    def of_masks(self, masks: Masks) -> tuple[Floats, Floats]:
        n_p = mask_counts(masks)[:, None].astype(np.float64)
        sums = masked_sums(masks, self.numbers)
        equal = bool((2 * n_p == self.numbers.shape[0]).all())
        wanted = self.squares is None and not equal
        return self.of_sums(sums, masked_sums(masks, self.squared) if wanted else None, n_p)

    def of_sums(self, sums: Floats, squares: Floats | None, n_p: Floats) -> tuple[Floats, Floats]:
        n = self.numbers.shape[0]
        n_p = np.clip(n_p, 1, max(n - 1, 1))  # of some rows alone a mask may leave one side empty
        mean_p, mean_q = sums / n_p, (self.totals - sums) / (n - n_p)
        if self.squares is False:
            return mean_q - mean_p, np.zeros_like(mean_p)
        if squares is None:
            return mean_q - mean_p, _variance_of_equal(self.all_squares, mean_p, mean_q, n_p)
        variance = _variance_of_mean(squares, mean_p, n_p)
        variance += _variance_of_mean(self.all_squares - squares, mean_q, n - n_p)
        return mean_q - mean_p, variance


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
    spread[spread <= ROUNDING * squares / n] = 0.0
    return spread / np.maximum(n - 1, 1)


def _variance_of_equal(all_squares: Floats, mean_p: Floats, mean_q: Floats, n_p: Floats) -> Floats:
    """The variance of the gap of two samples of equal size, from the squares of the pool alone."""
    spread = all_squares - n_p * (mean_p**2 + mean_q**2)
    spread[spread <= ROUNDING * all_squares] = 0.0
    return spread / (n_p * np.maximum(n_p - 1, 1))


@dataclass(frozen=True, eq=False)
class GroupUnits:
    """Groups of rows, one stratum: sums over groups and their sizes."""

    numbers: Floats  # (groups, 3 + 3 m)
    first: NDArray[np.intp]
    totals: Floats
    squares: bool | None = False

    @staticmethod
    def of(columns: Columns, groups: NDArray[np.intp]) -> GroupUnits:
        moments, first = unit_moments(np.asarray(columns), groups)
        return GroupUnits(moments, first, np.add.reduceat(moments, [0], axis=0))

    def of_masks(self, masks: Masks) -> tuple[Floats, Floats]:
        chosen = masks[:, self.first]
        sums = np.stack([mask.astype(np.float64) @ self.numbers for mask in chosen])
        return self.of_sums(sums, None, np.empty(0))

    def of_sums(self, sums: Floats, squares: Floats | None, n_p: Floats) -> tuple[Floats, Floats]:
        del squares, n_p  # the units of p are among the sums
        of_p, m = sums[:, None], self.numbers.shape[1] // 3 - 1
        return pooled_over_strata(*(side_of(side, m) for side in (of_p, self.totals - of_p)))
