"""Slices: found on one half of each sample, tested on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.bins import InputColumn
from rdiv.drivers.result import SliceDriver
from rdiv.drivers.slice_moments import SliceGaps, slice_gaps
from rdiv.drivers.slice_search import Candidate, search_slices
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.intervals import Estimate, critical_value, gap_interval
from rdiv.inference.mean_difference import difference_of_means
from rdiv.inference.prepared import Masks, Prepared
from rdiv.inference.step_down import step_down
from rdiv.samples.pool import Pool
from rdiv.two_sample import halves_of

__all__ = ["NULL", "Family", "driving_slices"]


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


@dataclass(frozen=True, eq=False)
class Family:
    """Numbers per row whose gap is looked for in slices; its slices have a level of their own.

    Parameters
    ----------
    losses : (n,) array
    weights : (n,) array, optional
        Weights that give the reference rows the inputs of current. No test uses them; they only
        add the weighted gap to each slice.
    """

    losses: Floats
    weights: Floats | None = None

    def of_rows(self, rows: NDArray[np.intp]) -> Family:
        """The same for some rows."""
        return Family(self.losses[rows], None if self.weights is None else self.weights[rows])


def driving_slices(
    pool: Pool,
    inputs: list[InputColumn],
    families: Sequence[Family],
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
    held_out: bool,
) -> list[tuple[SliceDriver, ...]]:
    """Slices where the gap is concentrated, with adjusted p-values and simultaneous intervals.

    Parameters
    ----------
    pool : Pool
        For its groups and copies of rows, which stay in one half.
    inputs, families, is_p
        All of the same rows. All families share the halves and their permutations.
    held_out : bool
        The losses are out of fold; otherwise there are no intervals.

    Notes
    -----
    The labels of one half choose the slices and their direction; those of the other half are
    permuted. Then the halves change roles. Each of the two is a valid test at half the level, and a
    slice that one half misses has a second chance. A slice that mostly repeats one with a smaller
    p-value is left out.
    """
    halving, *drawing = rng.spawn(1 + WAYS)
    parts = halves_of(pool, is_p, halving)
    each_way = replace(settings, alpha=settings.alpha / WAYS)
    tested: list[list[_Tested]] = [[] for _ in families]
    for stream, learn, test in zip(drawing, parts, parts[::-1], strict=True):
        learned = _rows_of(inputs, learn)
        found = [search_slices(learned, own.losses[learn], is_p[learn]) for own in families]
        if any(found):
            groups = None if pool.groups is None else pool.groups[test]
            own = [family.of_rows(test) for family in families]
            half = _Half(_rows_of(inputs, test), own, is_p[test], groups)
            results = half.test(found, each_way, rng=stream, held_out=held_out)
            for known, candidates, (drivers, ratios) in zip(tested, found, results, strict=True):
                rows = [candidate.inside(inputs) for candidate in candidates]
                known += zip(drivers, ratios, rows, strict=True)
    return [_without_repeats(known) for known in tested]


_Tested = tuple[SliceDriver, float, NDArray[np.bool_]]  # the slice, its ratio, its rows


def _without_repeats(tested: list[_Tested]) -> tuple[SliceDriver, ...]:
    """The slices by p-value, then by ratio, without those that repeat a better one."""
    kept: list[_Tested] = []
    for found in sorted(tested, key=lambda one: (one[0].pvalue, -one[1])):
        rows = found[2]
        repeats = any((rows & r).sum() > MOST_OVERLAP * (rows | r).sum() for *_, r in kept)
        if not repeats and len(kept) < MOST_SLICES:
            kept.append(found)
    return tuple(driver for driver, *_ in kept)


@dataclass(frozen=True, eq=False)
class _Half:
    """The rows on which the slices found in the other half are tested."""

    inputs: list[InputColumn]
    families: Sequence[Family]
    is_p: NDArray[np.bool_]
    groups: NDArray[np.intp] | None

    def test(
        self,
        found: list[list[Candidate]],
        settings: PermutationSettings,
        *,
        rng: np.random.Generator,
        held_out: bool,
    ) -> list[tuple[list[SliceDriver], list[float]]]:
        """The slices of every family and their ratios, all from the same permutations."""
        slices = [
            _Slices.of(own, self.inputs, family.losses, self.groups)
            for own, family in zip(found, self.families, strict=True)
            if own
        ]

        def statistic(masks: Masks) -> Floats:
            return np.concatenate([own.ratios(masks) for own in slices], axis=1)

        width = sum(2 * len(own) for own in found)
        prepared = Prepared(statistic, combine=lambda parts: parts[:, 0], width=width)
        null = permute(prepared, self.is_p, settings, rng=rng, groups=self.groups)
        start, left, results = 0, iter(slices), []
        for candidates, family in zip(found, self.families, strict=True):
            stop = start + 2 * len(candidates)
            if candidates:
                parts = null.parts[:, start:stop]
                results.append(self._judged(next(left), parts, family, settings, held_out))
            else:
                results.append(([], []))
            start = stop
        return results

    def _judged(
        self,
        slices: _Slices,
        parts: Floats,
        family: Family,
        settings: PermutationSettings,
        held_out: bool,
    ) -> tuple[list[SliceDriver], list[float]]:
        """The slices of one family, from the statistics of all permutations."""
        k = len(slices.found)
        pvalues = np.minimum(WAYS * step_down(parts[:, :k]), 1.0)
        farthest = parts[1:, k:].max(axis=1)
        critical = critical_value(farthest, settings.alpha) if held_out else None
        observed = slices.gaps(self.is_p[None])
        drivers = []
        for j, candidate in enumerate(slices.found):
            inside = slices.inside[:, j]
            own = self._driver(candidate, observed, j, inside, float(pvalues[j]), critical)
            weighted = self._weighted(family, inside, WAYS * settings.alpha)
            drivers.append(replace(own, weighted=weighted))
        return drivers, parts[0, :k].tolist()

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

    def _weighted(self, family: Family, inside: NDArray[np.bool_], alpha: float) -> Estimate | None:
        """The gap inside, with reference rows weighted to the inputs of current."""
        losses, of_p, of_q = family.losses, inside & self.is_p, inside & ~self.is_p
        if family.weights is None or not family.weights[of_p].any() or not of_q.any():
            return None
        weights = family.weights[of_p] / family.weights[of_p].mean()
        mean = float((weights * losses[of_p]).mean())
        codes = self.groups
        groups = (None, None) if codes is None else (codes[of_p], codes[of_q])
        numbers = mean + weights * (losses[of_p] - mean)
        return difference_of_means(numbers, losses[of_q], alpha, groups)


@dataclass(frozen=True, eq=False)
class _Slices:
    """The slices of one family, the rows in them, and their gaps as functions of masks."""

    found: list[Candidate]
    inside: NDArray[np.bool_]
    gaps: Callable[[Masks], SliceGaps]
    signs: Floats

    @staticmethod
    def of(
        found: list[Candidate],
        inputs: list[InputColumn],
        losses: Floats,
        groups: NDArray[np.intp] | None,
    ) -> _Slices:
        inside = np.stack([candidate.inside(inputs) for candidate in found], axis=1)
        signs = np.sign([candidate.ratio for candidate in found])
        return _Slices(found, inside, slice_gaps(inside, losses, groups), signs)

    def ratios(self, masks: Masks) -> Floats:
        """What is ranked: the excess in the direction found, then the gap inside."""
        measured = self.gaps(masks)
        return np.concatenate([self.signs * measured.excess, np.abs(measured.inside)], axis=1)


def _rows_of(inputs: list[InputColumn], rows: NDArray[np.intp]) -> list[InputColumn]:
    return [replace(column, codes=column.codes[rows]) for column in inputs]
