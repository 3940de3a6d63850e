"""Gaps of numbers that only some rows of a pool have, on permutations of all of them.

A mask of the pool is restricted to the rows that have numbers, and those that count as p are
counted anew in every mask. Restricted to a fixed choice of rows, the permutations of a pool are
permutations of these rows with as many of them in p as fall to it by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import Columns, Tiled
from rdiv.inference.mean_gaps import MeanGaps, mean_gaps
from rdiv.inference.prepared import Masks
from rdiv.inference.strata_tiles import StratumSums
from rdiv.inference.stratified_gaps import StratumUnits
from rdiv.inference.tiles import Sums

__all__ = ["SampledGaps", "sampled_gaps"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def sampled_gaps(
    numbers: Columns,
    rows: Codes,
    n: int,
    *,
    studentize: bool,
    groups: Codes | None = None,
    strata: Codes | None = None,
    scale: Floats | None = None,
) -> SampledGaps:
    """`mean_gaps` of numbers of some rows, as a function of masks of all ``n`` rows.

    Parameters
    ----------
    numbers : (s, m) array
    rows : (s,) integers
        The places of the rows that they belong to, in order.
    n : int
    studentize, scale
        As for `mean_gaps`.
    groups, strata : (n,) integer codes, optional
        Of all rows.

    Examples
    --------
    >>> numbers = np.array([[1.0], [3.0], [8.0]])
    >>> gaps = sampled_gaps(numbers, np.array([0, 2, 3]), 4, studentize=False)
    >>> print(gaps(np.array([[True, True, False, False]])))
    [[4.5]]
    """
    inner = mean_gaps(
        numbers, studentize=studentize, scale=scale,
        groups=None if groups is None else groups[rows],
        strata=None if strata is None else strata[rows],
    )  # fmt: skip
    return SampledGaps(inner, rows, n, groups, strata)


@dataclass(frozen=True, eq=False)
class SampledGaps:
    """Gaps of some rows; make them with `sampled_gaps`."""

    inner: MeanGaps
    rows: Codes
    n: int
    groups: Codes | None
    strata: Codes | None

    def __call__(self, masks: Masks) -> Floats:
        return self.inner(masks[:, self.rows])

    def plain(self) -> SampledGaps:
        """The same gaps without division by their standard errors."""
        return replace(self, inner=self.inner.plain())

    def sums(self, statistic: Callable[[Floats], Floats]) -> tuple[Sums | StratumSums, ...]:
        """A statistic of these gaps, from sums over all rows or groups of the pool."""
        (own,) = self.inner.sums(statistic)
        if isinstance(own, StratumSums):
            return (replace(own, units=self._in_strata(own.units)),)
        if own.first is not None:
            moments, first = self._of_units(own.numbers, own.first)
            return (replace(own, numbers=moments, first=first),)
        return (replace(own, among=self.rows),)

    def _of_units(self, moments: Tiled, own: Codes) -> tuple[Floats, Codes]:
        """Moments of all units of the pool, 0 for those without a row of the sample."""
        codes = np.arange(self.n) if self.groups is None else self.groups
        known, first = np.unique(codes, return_index=True)
        spread = np.zeros((len(known), moments.shape[1]))
        spread[np.searchsorted(known, codes[self.rows[own]])] = np.asarray(moments)
        return spread, first

    def _in_strata(self, units: StratumUnits) -> StratumUnits:
        moments, first = self._of_units(units.moments, units.first)
        assert self.strata is not None
        return StratumUnits.sorted(moments, first, self.strata)
