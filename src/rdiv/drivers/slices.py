"""Slices: found on one half of each sample, tested on the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.bins import InputColumn
from rdiv.drivers.result import SliceDriver
from rdiv.drivers.slice_search import Candidate, search_slices
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.intervals import Estimate, critical_value, gap_interval
from rdiv.inference.masked_sums import masked_sums, unit_sums
from rdiv.inference.mean_difference import difference_of_means
from rdiv.inference.prepared import Masks, Prepared
from rdiv.inference.step_down import step_down
from rdiv.samples.pool import Pool
from rdiv.two_sample import halves_of

__all__ = ["NULL", "SliceGaps", "driving_slices", "slice_gaps"]


Floats = NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SliceGaps:
    """Gaps of ``k`` slices for ``b`` masks, ``(b, k)`` each; current (q) minus reference (p).

    Parameters
    ----------
    gap_inside, gap_outside, error_inside : arrays
        Gaps of mean losses, and the standard error of the first.
    inside, excess : arrays
        The gap inside, and the gap inside minus the gap outside, over their standard errors; 0
        where a sample has fewer than two rows (or groups) inside or outside.
    """

    gap_inside: Floats
    gap_outside: Floats
    error_inside: Floats
    inside: Floats
    excess: Floats


def slice_gaps(
    inside: NDArray[np.bool_], losses: Floats, groups: NDArray[np.intp] | None = None
) -> Callable[[Masks], SliceGaps]:
    """Make the function from masks to the gaps of slices.

    Parameters
    ----------
    inside : (n, k) mask
        Which rows lie in which slice.
    losses : (n,) array
    groups : (n,) integer codes, optional
        Standard errors are then those of group sums (cluster-robust).

    Examples
    --------
    >>> inside = np.array([[True], [True], [True], [True], [False], [False], [False], [False]])
    >>> losses = np.array([1.0, 3.0, 4.0, 8.0, 1.0, 2.0, 1.0, 2.0])
    >>> is_p = np.array([True, True, False, False, True, True, False, False])
    >>> found = slice_gaps(inside, losses)(is_p[None])
    >>> print(found.gap_inside[0], found.gap_outside[0], found.inside[0].round(3))
    [4.] [0.] [1.789]
    """
    centre = losses.mean()
    scale = losses.std() or 1.0
    units = np.arange(len(losses)) if groups is None else groups
    first, code = np.unique(units, return_index=True, return_inverse=True)[1:]
    columns = _unit_columns(inside, (losses - centre) / scale, code, len(first))  # (units, 16 k)
    totals = np.ascontiguousarray(columns.T).sum(axis=1)
    k = inside.shape[1]

    def measure(masks: Masks) -> SliceGaps:
        sums = masked_sums(masks[:, first] if groups is not None else masks, columns)
        of_p = _side(sums.reshape(len(masks), 16, k))
        of_q = _side((totals - sums).reshape(len(masks), 16, k))
        inner, outer = of_q[0] - of_p[0], of_q[1] - of_p[1]
        error, excess = np.sqrt(of_p[2] + of_q[2]), np.sqrt(of_p[3] + of_q[3])
        enough = of_p[4] & of_q[4]
        return SliceGaps(
            scale * inner, scale * outer, scale * error,
            _ratio(inner, error, enough), _ratio(inner - outer, excess, enough),
        )  # fmt: skip

    return measure


def _unit_columns(
    inside: NDArray[np.bool_], losses: Floats, code: NDArray[np.intp], count: int
) -> Floats:
    """Per unit and slice: rows and sum of losses in and out, whether any, and their products."""
    sums = partial(unit_sums, codes=code, count=count)
    n, m = sums(inside.astype(float)), sums((~inside).astype(float))
    a, c = sums(inside * losses[:, None]), sums(~inside * losses[:, None])
    products = (a * a, a * n, n * n, c * c, c * m, m * m, a * c, a * m, n * c, n * m)
    return np.concatenate([n, m, a, c, n > 0, m > 0, *products], axis=1)


def _side(sums: Floats) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Means inside and outside, variances of the first and of the difference, whether defined."""
    n, m, a, c, units_in, units_out, aa, an, nn, cc, cm, mm, ac, am, nc, nm = sums.swapaxes(0, 1)
    enough = (np.round(units_in) >= 2) & (np.round(units_out) >= 2)
    n, m = np.maximum(n, 1), np.maximum(m, 1)
    mean_in, mean_out = a / n, c / m
    inner = _positive(aa - 2 * mean_in * an + mean_in**2 * nn, aa) / n**2
    outer = _positive(cc - 2 * mean_out * cm + mean_out**2 * mm, cc) / m**2
    cross = (ac - mean_out * am - mean_in * nc + mean_in * mean_out * nm) / (n * m)
    inner *= units_in / np.maximum(units_in - 1, 1)
    outer *= units_out / np.maximum(units_out - 1, 1)
    return mean_in, mean_out, inner, np.maximum(inner + outer - 2 * cross, 0), enough


def _positive(spread: Floats, squares: Floats) -> Floats:
    """The spread, with rounding errors set to 0."""
    return np.where(spread <= _ROUNDING * np.abs(squares), 0.0, spread)


def _ratio(gap: Floats, error: Floats, enough: NDArray[np.bool_]) -> Floats:
    gap = np.where(np.abs(gap) < _ROUNDING, 0.0, gap)
    flat = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    ratio: Floats = np.where(enough, np.divide(gap, error, out=flat, where=error > 0), 0.0)
    return ratio


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
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
    held_out: bool,
    weights: Floats | None = None,
) -> tuple[SliceDriver, ...]:
    """Slices where the gap is concentrated, with adjusted p-values and simultaneous intervals.

    Parameters
    ----------
    pool : Pool
        For its groups and copies of rows, which stay in one half.
    inputs, losses, is_p
        All of the same rows.
    held_out : bool
        The losses are out of fold; otherwise there are no intervals.
    weights : (n,) array, optional
        Weights that give the reference rows the inputs of current. No test uses them; they only
        add the weighted gap to each slice.

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
    tested: list[_Tested] = []
    for stream, learn, test in zip(drawing, parts, parts[::-1], strict=True):
        found = search_slices(_rows_of(inputs, learn), losses[learn], is_p[learn])
        if found:
            half = _Half(
                _rows_of(inputs, test), losses[test], is_p[test],
                None if pool.groups is None else pool.groups[test],
                None if weights is None else weights[test],
            )  # fmt: skip
            drivers, ratios = half.test(found, each_way, rng=stream, held_out=held_out)
            rows = [candidate.inside(inputs) for candidate in found]
            tested += zip(drivers, ratios, rows, strict=True)
    return _without_repeats(tested)


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
    losses: Floats
    is_p: NDArray[np.bool_]
    groups: NDArray[np.intp] | None
    weights: Floats | None

    def test(
        self,
        found: list[Candidate],
        settings: PermutationSettings,
        *,
        rng: np.random.Generator,
        held_out: bool,
    ) -> tuple[list[SliceDriver], list[float]]:
        inside = np.stack([candidate.inside(self.inputs) for candidate in found], axis=1)
        gaps = slice_gaps(inside, self.losses, self.groups)
        signs = np.sign([candidate.ratio for candidate in found])

        def statistic(masks: Masks) -> Floats:
            measured = gaps(masks)
            return np.concatenate([signs * measured.excess, np.abs(measured.inside)], axis=1)

        k = len(found)
        prepared = Prepared(statistic, combine=lambda parts: parts[:, 0], width=2 * k)
        null = permute(prepared, self.is_p, settings, rng=rng, groups=self.groups)
        pvalues = np.minimum(WAYS * step_down(null.parts[:, :k]), 1.0)
        farthest = null.parts[1:, k:].max(axis=1)
        critical = critical_value(farthest, settings.alpha) if held_out else None
        observed = gaps(self.is_p[None])
        drivers = [
            replace(
                self._driver(candidate, observed, j, inside[:, j], float(pvalues[j]), critical),
                weighted=self._weighted(inside[:, j], WAYS * settings.alpha),
            )
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

    def _weighted(self, inside: NDArray[np.bool_], alpha: float) -> Estimate | None:
        """The gap inside, with reference rows weighted to the inputs of current."""
        of_p, of_q = inside & self.is_p, inside & ~self.is_p
        if self.weights is None or not self.weights[of_p].any() or not of_q.any():
            return None
        weights = self.weights[of_p] / self.weights[of_p].mean()
        mean = float((weights * self.losses[of_p]).mean())
        codes = self.groups
        groups = (None, None) if codes is None else (codes[of_p], codes[of_q])
        numbers = mean + weights * (self.losses[of_p] - mean)
        return difference_of_means(numbers, self.losses[of_q], alpha, groups)


def _rows_of(inputs: list[InputColumn], rows: NDArray[np.intp]) -> list[InputColumn]:
    return [replace(column, codes=column.codes[rows]) for column in inputs]
