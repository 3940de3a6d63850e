"""Slices: found on one half of each sample, tested on the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.protocol import Masks, Prepared
from rdiv.drivers.findings import SliceDriver
from rdiv.drivers.inputs import InputColumn
from rdiv.drivers.slice_gaps import SliceGaps, slice_gaps
from rdiv.drivers.slice_search import Candidate, search_slices
from rdiv.drivers.step_down import step_down
from rdiv.halving import halves
from rdiv.permutation import permute
from rdiv.planning import critical_value, gap_interval
from rdiv.samples.pool import Pool

__all__ = ["NULL", "driving_slices"]

Floats = NDArray[np.float64]

NULL = (
    "found on one random half of each sample and tested on the other, both ways round, by "
    "step-down studentised max-T over the slices found and Bonferroni over the two ways; the null "
    "is an equal gap inside and outside (exact when both samples come from one distribution, "
    "asymptotic otherwise)"
)
WAYS = 2
MOST_SLICES = 4
MOST_OVERLAP = 0.3  # rows in both over rows in either, of two slices that are reported


def driving_slices(
    pool: Pool,
    inputs: list[InputColumn],
    losses: Floats,
    is_p: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    honest: bool,
    alpha: float,
    n_resamples: int,
    n_jobs: int | None = None,
) -> tuple[SliceDriver, ...]:
    """Slices in which the gap concentrates, with adjusted p-values and simultaneous intervals.

    Parameters
    ----------
    pool : Pool
        For its groups and copies of rows, which stay in one half.
    inputs, losses, is_p
        Of the same rows.
    honest : bool
        The losses are out of fold; otherwise there are no intervals.

    Notes
    -----
    The labels of one half choose the slices and their direction, those of the other are permuted.
    Each way round is a valid test at half the level, and a slice that one half misses has a second
    chance. A slice that mostly repeats one with a smaller p-value is left out.
    """
    halving, *drawing = rng.spawn(1 + WAYS)
    parts = halves(pool, is_p, halving)
    tested: list[_Tested] = []
    for stream, learn, test in zip(drawing, parts, parts[::-1], strict=True):
        found = search_slices(_rows_of(inputs, learn), losses[learn], is_p[learn])
        if found:
            half = _Half(
                _rows_of(inputs, test), losses[test], is_p[test],
                None if pool.groups is None else pool.groups[test],
            )  # fmt: skip
            drivers, ratios = half.test(
                found, rng=stream, honest=honest, alpha=alpha / WAYS, n_resamples=n_resamples,
                n_jobs=n_jobs,
            )  # fmt: skip
            rows = [candidate.inside(inputs) for candidate in found]
            tested += zip(drivers, ratios, rows, strict=True)
    return _without_repeats(tested)


_Tested = tuple[SliceDriver, float, NDArray[np.bool_]]  # what was found, its ratio, its rows


def _without_repeats(tested: list[_Tested]) -> tuple[SliceDriver, ...]:
    """The slices by p-value, equal ones by their ratio, without those that repeat a better one."""
    kept: list[_Tested] = []
    for found in sorted(tested, key=lambda one: (one[0].pvalue, -one[1])):
        rows = found[2]
        repeats = any((rows & r).sum() > MOST_OVERLAP * (rows | r).sum() for *_, r in kept)
        if not repeats and len(kept) < MOST_SLICES:
            kept.append(found)
    return tuple(driver for driver, *_ in kept)


@dataclass(frozen=True, eq=False)
class _Half:
    """The rows on which slices are tested that the other half has found."""

    inputs: list[InputColumn]
    losses: Floats
    is_p: NDArray[np.bool_]
    groups: NDArray[np.intp] | None

    def test(
        self,
        found: list[Candidate],
        *,
        rng: np.random.Generator,
        honest: bool,
        alpha: float,
        n_resamples: int,
        n_jobs: int | None,
    ) -> tuple[list[SliceDriver], list[float]]:
        inside = np.stack([candidate.inside(self.inputs) for candidate in found], axis=1)
        gaps = slice_gaps(inside, self.losses, self.groups)
        signs = np.sign([candidate.ratio for candidate in found])

        def statistic(masks: Masks) -> Floats:
            measured = gaps(masks)
            return np.concatenate([signs * measured.excess, np.abs(measured.inside)], axis=1)

        null = permute(
            Prepared(statistic, combine=lambda parts: parts[:, 0]), self.is_p, groups=self.groups,
            n_resamples=n_resamples, rng=rng, n_jobs=n_jobs, alpha=alpha,
        )  # fmt: skip
        k = len(found)
        pvalues = np.minimum(WAYS * step_down(null.parts[:, :k]), 1.0)
        critical = critical_value(null.parts[1:, k:].max(axis=1), alpha) if honest else None
        observed = gaps(self.is_p[None])
        drivers = [
            self._driver(candidate, observed, j, inside[:, j], float(pvalues[j]), critical)
            for j, candidate in enumerate(found)
        ]
        return drivers, null.parts[0, :k].tolist()

    def _driver(
        self,
        candidate: Candidate,
        observed: SliceGaps,
        j: int,
        inside: NDArray[np.bool_],
        pvalue: float,
        critical: float | None,
    ) -> SliceDriver:
        gap, error = float(observed.gap_inside[0, j]), float(observed.error_inside[0, j])
        n_p, n_q = int((inside & self.is_p).sum()), int((inside & ~self.is_p).sum())
        return SliceDriver(
            clauses=candidate.clauses(self.inputs),
            gap=gap,
            gap_outside=float(observed.gap_outside[0, j]),
            interval=None if critical is None else gap_interval(gap, error, critical),
            share_p=n_p / int(self.is_p.sum()),
            share_q=n_q / int((~self.is_p).sum()),
            n_p=n_p,
            n_q=n_q,
            pvalue=pvalue,
        )


def _rows_of(inputs: list[InputColumn], rows: NDArray[np.intp]) -> list[InputColumn]:
    return [replace(column, codes=column.codes[rows]) for column in inputs]
