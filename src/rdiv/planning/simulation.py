"""Power of any test, by running it on samples drawn from a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import OutOfReachError
from rdiv.inference.engine import PermutationSettings
from rdiv.samples.pooling import PooledSamples
from rdiv.threads import one_thread
from rdiv.two_sample import run_test
from rdiv.workers import in_order, useful_jobs

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
    """Two samples drawn with replacement from the two pilots, or both from the pool."""
    everything = np.arange(len(pooled.pool))
    sides = (everything, everything) if null else (
        np.flatnonzero(pooled.is_p), np.flatnonzero(~pooled.is_p)
    )  # fmt: skip
    rows: NDArray[np.intp] = np.concatenate(
        [rng.choice(side, size) for side, size in zip(sides, sizes, strict=True)]
    )
    order = rng.permutation(len(rows))  # the order must not depend on the samples
    mask = (np.arange(len(rows)) < sizes[0])[order]
    rows = rows[order]
    return replace(
        pooled,
        pool=pooled.pool.take(rows),
        is_p=mask,
        places=pooled.places[rows],
        entropy=(pooled.seed, int(rng.integers(2**53))),
    )


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
