"""The permutation engine alone against scipy.stats.permutation_test, and its memory.

    python benchmarks/speed/bench_engine.py [--rows 2000000]

Permutations of one loss vector, one thread. Ours ranks the studentised gap (sums of squares are
needed too where the samples differ in size), scipy's statistic is the plain gap of means,
vectorised, in batches. Every ratio compares whole runs with the same losses and the same number of
permutations, and both are printed above it: 999 permutations of 2000 losses, of a tenth of the rows
and of all rows. The last take scipy about a minute, 20 s of which go into the exact number of
possible splits. The engine's first call in a process, which loads the compiled loops, is timed in a
new interpreter. Last come sums of 21 columns (gradients), tile by tile and by whole masks.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from collections.abc import Callable
from importlib.util import find_spec
from math import inf
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import Seconds, ratio, report, show, take_turns, take_turns_fresh

from rdiv.inference import tiles
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap, mean_gaps
from rdiv.inference.prepared import Prepared
from rdiv.parallel.threads import one_thread

Losses = NDArray[np.float64]
FAST = find_spec("numba") is not None  # used where it pays
SETUP = """
import numpy as np
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.engine import PermutationSettings, permute
losses = np.random.default_rng(0).normal(size={rows})
is_p = np.arange(len(losses)) < len(losses) // 2
"""
FIRST = "permute(mean_gap(losses), is_p, PermutationSettings(), rng=np.random.default_rng(0))"


def gap_of_means(p: Losses, q: Losses, axis: int) -> Losses:
    """The statistic that scipy permutes."""
    gap: Losses = np.abs(p.mean(axis=axis) - q.mean(axis=axis))
    return gap


def scipy_test(losses: Losses, n_resamples: int) -> Callable[[], object]:
    """Its test, in batches of at most four million losses."""
    half = len(losses) // 2
    batch = max(1, min(n_resamples, 4_000_000 // len(losses)))
    return lambda: permutation_test(
        (losses[:half], losses[half:]), gap_of_means, n_resamples=n_resamples, vectorized=True,
        batch=batch, alternative="greater", rng=0,
    )  # fmt: skip


def engine(
    losses: Losses, n_resamples: int, *, compiled: bool, n_p: int | None = None
) -> Callable[[], object]:
    """Ours, from losses to p-value; runs with 99 permutations first, to compile and load."""
    is_p = np.arange(len(losses)) < (len(losses) // 2 if n_p is None else n_p)

    def run(count: int) -> object:
        settings, rng = PermutationSettings(n_resamples=count), np.random.default_rng(0)
        with patch.object(tiles, "COMPILED_FROM", 0 if compiled else inf):
            return permute(mean_gap(losses), is_p, settings, rng=rng)

    run(99)
    return lambda: run(n_resamples)


def against_scipy(losses: Losses, n_resamples: int, repeats: int, fast: bool) -> dict[str, Seconds]:
    """Print and return the best times of scipy, numpy only and, if `fast`, the compiled kernel."""
    print(f"{n_resamples} permutations of {len(losses)} losses, best of {repeats}", flush=True)
    functions = {"scipy": scipy_test(losses, n_resamples)}
    functions["rdiv, numpy only"] = engine(losses, n_resamples, compiled=False)
    if fast:
        functions["rdiv, fast extra"] = engine(losses, n_resamples, compiled=True)
    times = take_turns(functions, repeats)
    for name, seconds in times.items():
        show(name, seconds)
    return times


def peak_megabytes(losses: Losses) -> float:
    """Peak of what the engine allocates beyond its input."""
    is_p = np.arange(len(losses)) < len(losses) // 2
    prepared = mean_gap(losses)
    tracemalloc.start()
    permute(prepared, is_p, PermutationSettings(n_resamples=99), rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def ratios(times: dict[str, Seconds], targets: dict[str, str]) -> None:
    """How many times faster than scipy, at the size that was run."""
    for name in list(times)[1:]:
        ratio(f"scipy / {name}", times["scipy"], times[name], targets.get(name))


def gradients(rows: int) -> None:
    """999 permutations of 21 columns, tile by tile and as before, by whole masks."""
    print(f"999 permutations of {rows} rows of 21 columns, best of 1", flush=True)
    numbers = np.random.default_rng(1).normal(size=(rows, 21))
    gaps = mean_gaps(numbers, studentize=True)

    def squares(ratios: Losses) -> Losses:
        found: Losses = np.einsum("ij,ij->i", ratios, ratios)
        return found

    prepared = Prepared(lambda masks: squares(gaps(masks)), sums=gaps.sums(squares))
    is_p = np.arange(rows) < rows // 2

    def run(tile: int) -> Callable[[], object]:
        def call() -> object:
            with patch.object(tiles, "TILE_ROWS", tile):
                settings = PermutationSettings()
                return permute(prepared, is_p, settings, rng=np.random.default_rng(0))

        return call

    engine(numbers[:, 0].copy(), 999, compiled=True)  # to load the loops
    times = take_turns({"tiles": run(tiles.TILE_ROWS), "whole masks": run(10**12)}, 1)
    for name, seconds in times.items():
        show(name, seconds)
    ratio("whole masks / tiles", times["whole masks"], times["tiles"], ">= 2")


def alone(losses: Losses) -> None:
    """The engine by itself: samples of unequal size, and the first call of a process."""
    print(f"rdiv alone: 999 permutations of {len(losses)} losses, best of 2", flush=True)
    sizes = {
        "losses and squares (p has one row more)": len(losses) // 2 + 1,
        "the same, two rows of p to three of q": 2 * len(losses) // 5,
    }
    runs = {name: engine(losses, 999, compiled=FAST, n_p=n_p) for name, n_p in sizes.items()}
    times = take_turns(runs, 2)
    times |= take_turns_fresh({"first call": FIRST}, 2, setup=SETUP.format(rows=len(losses)))
    for name, seconds in times.items():
        show(name, seconds)
    squares = times["losses and squares (p has one row more)"]
    report("losses and squares, processor seconds", squares.processor, "<= 0.7" if FAST else None)


def main() -> None:
    """Print the times and the ratio for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    rows = parser.parse_args().rows
    losses = np.random.default_rng(0).normal(size=rows)
    with one_thread():
        ratios(against_scipy(losses[:2000], 999, 7, fast=False), {"rdiv, numpy only": ">= 1"})
        ratios(against_scipy(losses[: rows // 10], 999, 2, fast=FAST), {})
        times = against_scipy(losses, 999, 2, fast=FAST)
        ratios(times, {"rdiv, numpy only": ">= 12", "rdiv, fast extra": ">= 150"})
        if FAST:
            fast = times["rdiv, fast extra"]
            ratio("numpy only / fast extra", times["rdiv, numpy only"], fast)
            report("fast extra, processor seconds", fast.processor, "<= 0.7")
        alone(losses)
        report("peak memory beyond the input, MB", peak_megabytes(losses), "< 100")
        gradients(rows)


if __name__ == "__main__":
    main()
