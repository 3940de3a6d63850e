"""Runs of consecutive levels against one reference: the run is chosen inside the permutation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.engine import PermutationSettings, permutation_pvalue
from rdiv.inference.intervals import critical_value
from rdiv.inference.masked_sums import standardized
from rdiv.row_blocks import cut_sizes, rows_within

__all__ = ["SHORTEST_RUN", "BestRun", "best_run"]

SHORTEST_RUN = 2
"""Fewest levels of a run."""

_BLOCK = 2**22  # codes that are permuted at a time
_ROUNDING = 1e-12  # gaps below this many pooled standard deviations are rounding

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class BestRun:
    """The run of levels that lean one way with the largest studentised gap.

    Parameters
    ----------
    first, last : int
        Its first and last level, counted from 0.
    gap, error : float
        Mean loss of its rows minus that of the reference, and the standard error.
    pvalue : float
        Of that run, given that it was chosen among all runs.
    critical : float
        The quantile of the largest studentised gap of any run when nothing has changed.
    """

    first: int
    last: int
    gap: float
    error: float
    pvalue: float
    critical: float


def best_run(
    losses: Floats,
    level: Codes,
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
    groups: Codes | None = None,
) -> BestRun | None:
    """Test the consecutive levels that lean one way and are farthest from the reference.

    Parameters
    ----------
    losses : (n,) array
    level : (n,) integers
        0 for the reference, 1, 2, ... for the levels in their order.
    settings : PermutationSettings
    rng : Generator
    groups : (n,) integer codes, optional
        Groups are permuted whole; each of them lies in one level.

    Returns
    -------
    BestRun or None
        None where no two neighbours lean to the same side of the reference.

    Notes
    -----
    A run is at least two neighbouring levels whose mean losses are all above, or all below, that of
    the reference. All rows of a run together are compared with the reference by the studentised
    gap. Rows are permuted among the reference and all levels, and the run is chosen anew in every
    permutation: the p-value is exact when no level differs, although the run was chosen by its
    data.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> level = np.repeat(np.arange(5), 40)
    >>> losses = rng.normal(size=200) + 0.5 * (level >= 2)
    >>> found = best_run(losses, level, PermutationSettings(), rng=rng)
    >>> print(found.first, found.last, found.pvalue)
    1 3 0.007
    """
    scaled, unit = standardized(losses[:, None])
    units, moments = _unit_moments(np.asarray(scaled)[:, 0], level, groups)
    size = int(level.max()) + 1
    runs = _runs(size - 1)
    observed, gaps, errors = _statistics(_sums(units[None], moments, size), runs)
    if not observed[0].max() > 0:
        return None
    chosen = int(observed[0].argmax())
    draws = cut_sizes(settings.n_resamples, rows_within(_BLOCK, max(len(units), 8 * len(runs))))
    null = np.concatenate(
        [
            _statistics(_sums(_permuted(units, count, rng), moments, size), runs)[0].max(axis=1)
            for count in draws
        ]
    )
    first, stop = runs[chosen]
    return BestRun(
        int(first),
        int(stop) - 1,
        float(gaps[0, chosen] * unit[0]),
        float(errors[0, chosen] * unit[0]),
        permutation_pvalue(float(observed[0, chosen]), null),
        critical_value(null, settings.alpha),
    )


def _runs(levels: int) -> Codes:
    """First level and the one after the last of every run, ``(runs, 2)``."""
    pairs = [(i, j) for i in range(levels) for j in range(i + SHORTEST_RUN, levels + 1)]
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def _permuted(units: Codes, count: int, rng: np.random.Generator) -> Codes:
    return rng.permuted(np.broadcast_to(units, (count, len(units))), axis=1)


def _unit_moments(losses: Floats, level: Codes, groups: Codes | None) -> tuple[Codes, Floats]:
    """The level of every row or group, and its count, rows and sums, ``(units, 6)``."""
    codes = np.arange(len(losses)) if groups is None else groups
    _, first, of_row = np.unique(codes, return_index=True, return_inverse=True)
    sizes = np.bincount(of_row).astype(np.float64)
    sums = np.bincount(of_row, losses)
    columns = (np.ones_like(sizes), sizes, sizes**2, sums, sums * sizes, sums**2)
    return level[first], np.stack(columns, axis=1)


def _sums(codes: Codes, moments: Floats, size: int) -> Floats:
    """Moments of the reference and of every level, ``(b, size, 6)``, for permuted codes."""
    flat = codes + size * np.arange(len(codes))[:, None]
    found = [
        np.bincount(flat.ravel(), np.broadcast_to(column, codes.shape).ravel(), len(codes) * size)
        for column in moments.T
    ]
    shape = (len(codes), size, moments.shape[1])
    return np.stack(found, axis=1).astype(np.float64).reshape(shape)


def _statistics(sums: Floats, runs: Codes) -> tuple[Floats, Floats, Floats]:
    """Studentised absolute gaps of all runs, 0 where levels lean both ways; gaps and errors."""
    mean, _ = _mean_and_variance(sums)
    lean = np.where(np.abs(mean[:, 1:] - mean[:, :1]) < _ROUNDING, 0.0, mean[:, 1:] - mean[:, :1])
    above, below = (_cumulated(lean > 0), _cumulated(lean < 0))
    length = runs[:, 1] - runs[:, 0]
    oneway = np.zeros((len(sums), len(runs)), dtype=bool)
    for count in (above, below):
        oneway |= count[:, runs[:, 1]] - count[:, runs[:, 0]] == length
    levels = _cumulated(sums[:, 1:])
    whole = levels[:, runs[:, 1]] - levels[:, runs[:, 0]]
    mean_q, variance_q = _mean_and_variance(whole)
    mean_p, variance_p = _mean_and_variance(sums[:, :1])
    gaps, errors = mean_q - mean_p, np.sqrt(variance_q + variance_p)
    flat = np.where(np.abs(gaps) < _ROUNDING, 0.0, np.inf)
    ratios = np.divide(np.abs(gaps), errors, out=flat, where=errors > 0)
    return np.where(oneway, ratios, 0.0), gaps, errors


def _cumulated(numbers: NDArray[np.generic]) -> Floats:
    """Cumulated over the levels, with a 0 in front."""
    shape = (numbers.shape[0], 1, *numbers.shape[2:])
    whole = np.concatenate([np.zeros(shape), numbers.astype(np.float64)], axis=1)
    return whole.cumsum(axis=1)


def _mean_and_variance(sums: Floats) -> tuple[Floats, Floats]:
    """Mean of rows and the (cluster-robust) variance of that mean."""
    units, rows, rows2, total, cross, squares = np.moveaxis(sums, -1, 0)
    mean = total / rows
    spread = squares - 2 * mean * cross + mean**2 * rows2
    spread[spread <= _ROUNDING * squares] = 0.0
    return mean, spread * units / np.maximum(units - 1, 1) / rows**2
