"""Gaps between masked means of numbers per row: the arithmetic of most tests.

Numbers are centred and scaled by the pool, so a gap is a masked sum over a count, and its standard
error needs one more masked sum, of squares. With groups or strata other units are summed in the
same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import fsum

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.gap_units import GroupUnits, ManyColumns, RowUnits, Units
from rdiv.inference.masked_sums import Columns, standardized
from rdiv.inference.prepared import Masks, Observed, Prepared
from rdiv.inference.strata_tiles import StratumSums
from rdiv.inference.stratified_gaps import ROUNDING, StratumUnits, gap_of_terms
from rdiv.inference.tiles import Sums

__all__ = ["GapMeasure", "MeanGaps", "gaps_and_errors", "mean_gap", "mean_gaps"]

Floats = NDArray[np.float64]
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
    gaps = MeanGaps(measure, studentize)

    def ranked(gaps: Floats) -> Floats:
        gap: Floats = gaps[:, 0] if signed else np.abs(gaps[:, 0])
        return gap

    known: list[tuple[NDArray[np.bool_], Observed]] = []

    def observed(is_p: NDArray[np.bool_]) -> Observed:
        """The observed split, which several results ask for."""
        for split, numbers in known:
            if np.array_equal(split, is_p):
                return numbers
        found = summed(is_p)
        known[:] = [(is_p.copy(), found)]
        return found

    def summed(is_p: NDArray[np.bool_]) -> Observed:
        gaps, errors = measure(is_p[None])
        # Sums rounded once, in any order: identical samples have a gap of exactly 0.
        risk_p, risk_q = (fsum(losses[side]) / int(side.sum()) for side in (is_p, ~is_p))
        exact = strata is None and gaps[0, 0] != 0  # otherwise the rest is rounding error
        gap = risk_q - risk_p if exact else float(gaps[0, 0])
        statistic = gap if signed else abs(gap)
        return Observed(statistic, risk_p, risk_q, gap, float(errors[0, 0]))

    return Prepared(
        lambda masks: ranked(gaps(masks)), observed=observed, sums=gaps.sums(ranked), losses=losses
    )


def mean_gaps(
    numbers: Columns,
    *,
    studentize: bool,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
    scale: NDArray[np.float64] | None = None,
) -> MeanGaps:
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
    MeanGaps
        A function from masks ``(b, n)`` to ``(b, m)``, or from sums.

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
    return MeanGaps(measure, studentize)


@dataclass(frozen=True, eq=False)
class MeanGaps:
    """Gaps, or gaps over their standard errors, as a function of masks or of sums.

    Parameters
    ----------
    measure : GapMeasure
    studentize : bool
    """

    measure: GapMeasure
    studentize: bool

    def __call__(self, masks: Masks) -> Floats:
        return self.ranked(*self.measure(masks))

    def sums(self, statistic: Callable[[Floats], Floats]) -> tuple[Sums | StratumSums, ...]:
        """A statistic of these gaps, from sums over rows or groups."""
        units = self.measure.units
        if isinstance(units, StratumUnits):

            def of_terms(terms: Floats) -> Floats:
                return statistic(self.ranked(*self.measure.in_units(gap_of_terms(terms))))

            return (StratumSums(units, of_terms),)

        def of_sums(sums: Floats, squares: Floats | None, n_p: int | Floats) -> Floats:
            counts = np.broadcast_to(np.asarray(n_p, dtype=np.float64), (len(sums), 1))
            found = self.measure.in_units(units.of_sums(sums, squares, counts))
            return statistic(self.ranked(*found))

        return (Sums(units.numbers, units.squares, of_sums, units.first),)

    def plain(self) -> MeanGaps:
        """The same gaps without division by their standard errors."""
        return replace(self, studentize=False)

    def ranked(self, gaps: Floats, errors: Floats) -> Floats:
        """0 / 0 is 0, any other gap / 0 is infinite."""
        if not self.studentize:
            return gaps
        flat = np.where(gaps == 0, 0.0, np.copysign(np.inf, gaps))
        return np.divide(gaps, errors, out=flat, where=errors > 0)


def gaps_and_errors(
    numbers: Columns,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
    errors: bool = True,
    scale: NDArray[np.float64] | None = None,
) -> GapMeasure:
    """Function from masks to gaps and their standard errors, each ``(b, m)``, in original units.

    Examples
    --------
    >>> measure = gaps_and_errors(np.array([[1.0], [3.0], [4.0], [8.0]]))
    >>> gaps, errors = measure(np.array([[True, True, False, False]]))
    >>> print(gaps[0], errors[0].round(3))
    [4.] [2.236]
    """
    scaled, unit = standardized(np.asarray(numbers)) if scale is None else (numbers, scale)
    if strata is not None:
        within = StratumUnits.of(scaled, groups, strata)
        return GapMeasure(within.of_masks, unit, within)
    units: Units
    if groups is not None:
        units = GroupUnits.of(scaled, groups)
    elif scaled.shape[1] == 1:
        units = RowUnits.of(scaled, errors)
    else:
        units = ManyColumns.of(scaled, errors)
    return GapMeasure(units.of_masks, unit, units)


@dataclass(frozen=True, eq=False)
class GapMeasure:
    """Gaps and standard errors of every column.

    Parameters
    ----------
    of_masks : callable
        From masks to gaps and variances, of standardised numbers.
    scale : (m,) array
    units : Units or StratumUnits
        The same from sums over rows or groups.
    """

    of_masks: Gaps
    scale: Floats
    units: Units | StratumUnits

    def __call__(self, masks: Masks) -> tuple[Floats, Floats]:
        return self.in_units(self.of_masks(masks))

    def in_units(self, found: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Gaps and standard errors in the units of the numbers."""
        gap, variance = found
        gap[np.abs(gap) < ROUNDING] = 0.0
        return gap * self.scale, np.sqrt(variance) * self.scale
