"""Power of any test, by running it on samples drawn from a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import OutOfReachError
from rdiv.inference.engine import PermutationSettings
from rdiv.parallel.threads import one_thread
from rdiv.parallel.workers import in_order, useful_jobs
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import run_test

__all__ = ["resampled", "simulated_curve", "size_with_power"]


def simulated_curve(
    test: Any,
    pooled: PooledSamples,
    sizes: Sequence[int],
    ratio: float,
    *,
    trials: int,
    alpha: float,
    n_resamples: int,
    n_jobs: int | None,
) -> dict[str, list[Any]]:
    """Rejection rates by size: samples drawn from the two pilots, and both from the pool."""
    from scipy.stats import binomtest

    columns: dict[str, list[Any]] = {
        name: [] for name in ("n_p", "n_q", "power", "low", "high", "se", "null")
    }
    settings = PermutationSettings(alpha, n_resamples)
    jobs = useful_jobs(n_jobs, trials)
    for n_p in sizes:
        n_q = max(2, int(np.ceil(ratio * n_p)))
        counts = [
            sum(
                in_order(
                    _rejects,
                    ((test, pooled, (n_p, n_q), null, i, settings) for i in range(trials)),
                    jobs,
                )
            )
            for null in (False, True)
        ]
        rate = counts[0] / trials
        interval = binomtest(counts[0], trials).proportion_ci(method="wilson")
        error = float(np.sqrt(rate * (1 - rate) / trials))
        line = (
            n_p,
            n_q,
            rate,
            float(interval.low),
            float(interval.high),
            error,
            counts[1] / trials,
        )
        for name, value in zip(columns, line, strict=True):
            columns[name].append(value)
    return columns


def size_with_power(curve: dict[str, list[Any]], power: float) -> int | None:
    """Rows at which a simulated curve first reaches a power, interpolated between the sizes.

    Examples
    --------
    >>> print(size_with_power({"n_p": [10, 20, 40], "power": [0.2, 0.6, 1.0]}, 0.8))
    30
    """
    rates = np.maximum.accumulate(np.asarray(curve["power"], dtype=np.float64))
    reached = np.flatnonzero(rates >= power)
    if not len(reached):
        return None
    at = int(reached[0])
    if at == 0:
        return int(curve["n_p"][0])
    below, above = rates[at - 1], rates[at]
    share = (power - below) / (above - below)
    few, many = curve["n_p"][at - 1], curve["n_p"][at]
    return int(np.ceil(few + share * (many - few)))


def resampled(
    pooled: PooledSamples, sizes: tuple[int, int], null: bool, rng: np.random.Generator
) -> PooledSamples:
    """Two samples drawn with replacement from the two pilots, or both from the pool.

    Whole groups are drawn, as many as hold about so many rows. With strata every stratum keeps its
    share of each sample; where a stratum has one unit per sample (pairs), whole strata are drawn.
    """
    pool = pooled.pool
    units = _units(pool.groups, pool.strata, pooled.is_p)
    drawn = _draw_pairs(units, sizes, null, rng) if units.paired else _draw(units, sizes, null, rng)
    rows = np.concatenate([units.rows[at] for at in drawn.units])
    counts = np.array([len(units.rows[at]) for at in drawn.units])
    order = rng.permutation(len(rows))  # the order must not depend on the samples
    rows = rows[order]
    groups = None if pool.groups is None else np.repeat(np.arange(len(counts)), counts)[order]
    strata = None if pool.strata is None else np.repeat(drawn.strata, counts)[order]
    return replace(
        pooled,
        pool=replace(pool.take(rows), groups=groups, strata=strata),
        is_p=np.repeat(drawn.is_p, counts)[order],
        places=pooled.places[rows],
        input_keys=pooled.input_keys[rows],
        entropy=(pooled.seed, int(rng.integers(2**53))),
    )


class _Units(NamedTuple):
    """Rows, or groups of rows: their places, stratum and sample."""

    rows: list[NDArray[np.intp]]
    strata: NDArray[np.intp]
    is_p: NDArray[np.bool_]

    @property
    def paired(self) -> bool:
        """Whether most strata have one unit of a sample or none."""
        parts = int(self.strata.max()) + 1
        fewest = np.minimum(*(np.bincount(self.strata[side], minlength=parts)
                              for side in (self.is_p, ~self.is_p)))  # fmt: skip
        return parts > 1 and float(np.median(fewest)) < 2

    def size(self, side: NDArray[np.bool_]) -> float:
        """Rows per unit of one sample."""
        return float(np.mean([len(self.rows[at]) for at in np.flatnonzero(side)]))


class _Drawn(NamedTuple):
    units: NDArray[np.intp]
    strata: NDArray[np.intp]
    is_p: NDArray[np.bool_]


def _units(
    groups: NDArray[np.intp] | None, strata: NDArray[np.intp] | None, is_p: NDArray[np.bool_]
) -> _Units:
    codes = np.arange(len(is_p)) if groups is None else groups
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    first = np.array([part[0] for part in rows])
    stratum = np.zeros(len(first), np.intp) if strata is None else strata[first]
    return _Units(rows, np.unique(stratum, return_inverse=True)[1], is_p[first])


def _draw(units: _Units, sizes: tuple[int, int], null: bool, rng: np.random.Generator) -> _Drawn:
    """Units of both samples, in every stratum as large a share of them as in the pilot."""
    chosen, sides = [], []
    for side, size in zip((units.is_p, ~units.is_p), sizes, strict=True):
        shares = np.bincount(units.strata[side], minlength=int(units.strata.max()) + 1)
        wanted = size / units.size(side) * shares / shares.sum()
        for stratum, count in enumerate(np.maximum(np.round(wanted), shares > 0).astype(int)):
            source = (units.strata == stratum) & (side | null)
            if count:
                chosen.append(rng.choice(np.flatnonzero(source), count))
                sides.append(np.full(count, side is units.is_p))
    at = np.concatenate(chosen)
    return _Drawn(at, units.strata[at], np.concatenate(sides))


def _draw_pairs(
    units: _Units, sizes: tuple[int, int], null: bool, rng: np.random.Generator
) -> _Drawn:
    """Whole strata, each with a label of its own; for the null their units are permuted."""
    members = [np.flatnonzero(units.strata == k) for k in range(int(units.strata.max()) + 1)]
    both = [part for part in members if 0 < units.is_p[part].sum() < len(part)]
    per = units.size(units.is_p) * float(np.mean([units.is_p[part].sum() for part in both]))
    picked = rng.integers(len(both), size=max(2, round(sizes[0] / per)))
    parts = [both[k] for k in picked]
    sides = [units.is_p[part] for part in parts]
    sides = [rng.permutation(side) for side in sides] if null else sides
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return _Drawn(np.concatenate(parts), labels, np.concatenate(sides))


def _rejects(
    test: Any,
    pooled: PooledSamples,
    sizes: tuple[int, int],
    null: bool,
    trial: int,
    settings: PermutationSettings,
) -> bool:
    rng = np.random.default_rng(np.random.SeedSequence([*pooled.entropy, *sizes, int(null), trial]))
    with one_thread():
        try:
            return run_test(test, resampled(pooled, sizes, null, rng), settings)[0].rejected
        except OutOfReachError:
            return False
