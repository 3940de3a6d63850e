"""The permutation engine alone against scipy.stats.permutation_test, and its memory.

    python benchmarks/bench_engine.py

999 relabellings of one loss vector, one thread. Ours ranks the studentised gap (two masked sums
for each relabelling), scipy's statistic is the plain gap of means, vectorised, in batches.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from scipy.stats import permutation_test

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rdiv.inference.masked_sums as masked_sums
from benchmarks.timing import best_of, report
from rdiv.inference.engine import permute
from rdiv.inference.mean_gaps import mean_gap
from rdiv.threads import one_thread


def gap_of_means(p: np.ndarray, q: np.ndarray, axis: int) -> np.ndarray:
    """The statistic that scipy permutes."""
    return np.abs(p.mean(axis=axis) - q.mean(axis=axis))


def scipy_seconds(losses: np.ndarray, n_resamples: int, batch: int, repeats: int) -> float:
    """Seconds of scipy's test with resamples in batches of this size."""
    half = len(losses) // 2
    return best_of(
        lambda: permutation_test(
            (losses[:half], losses[half:]), gap_of_means, n_resamples=n_resamples, vectorized=True,
            batch=batch, alternative="greater", rng=0,
        ),
        repeats,
    )  # fmt: skip


def our_seconds(losses: np.ndarray, repeats: int) -> float:
    """Seconds of the whole engine, from losses to p-value."""
    is_p = np.arange(len(losses)) < len(losses) // 2

    def run() -> None:
        permute(mean_gap(losses), is_p, n_resamples=999, rng=np.random.default_rng(0))

    run()  # compile
    return best_of(run, repeats)


def peak_megabytes(losses: np.ndarray) -> float:
    """Peak of what the engine allocates beyond its input."""
    is_p = np.arange(len(losses)) < len(losses) // 2
    prepared = mean_gap(losses)
    tracemalloc.start()
    permute(prepared, is_p, n_resamples=99, rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def main() -> None:
    """Print one line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    rows = parser.parse_args().rows
    losses = np.random.default_rng(0).normal(size=rows)
    short = losses[:2000]
    with one_thread():
        ratio = scipy_seconds(short, 999, 999, 7) / our_seconds(short, 7)
        report("scipy / rdiv at 2000 losses", ratio, ">= 1", ratio >= 1)
        few, more = (scipy_seconds(losses, count, 2, 1) for count in (11, 61))
        theirs = few + (999 - 11) * (more - few) / 50  # it has a fixed cost, then one a resample
        print(f"scipy at {rows} losses: {theirs:.0f} s, from runs with 11 and 61 resamples")
        compiled_from = masked_sums._COMPILED_FROM
        masked_sums._COMPILED_FROM = sys.maxsize
        ours = our_seconds(losses, 2)
        report(
            f"scipy / rdiv, numpy only ({ours:.1f} s)", theirs / ours, ">= 12", theirs / ours >= 12
        )
        masked_sums._COMPILED_FROM = compiled_from
        if masked_sums._compiled() is not None:
            ours = our_seconds(losses, 2)
            name = f"scipy / rdiv with the fast extra ({ours:.1f} s)"
            report(name, theirs / ours, ">= 50", theirs / ours >= 50)
        peak = peak_megabytes(losses)
        report("peak memory beyond the input, MB", peak, "< 100", peak < 100)


if __name__ == "__main__":
    main()
