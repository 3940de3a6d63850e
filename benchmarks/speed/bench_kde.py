"""Blocked kernel density against `scipy.stats.gaussian_kde.evaluate`, on one thread.

    python benchmarks/speed/bench_kde.py [--points 20000] [--columns 4] [--repeats 2]

Prints the best seconds of each, how many times faster than scipy, the largest error of the log
density, and the peak memory beyond the input at the given number of points and at twice as many.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import ratio, report, show, take_turns

from rdiv.models.kernel_density import KernelDensity
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool

Rows = NDArray[np.float64]
TARGET = ">= 1.2"
LARGEST_ERROR = "< 1e-8"


def compare_with_scipy(x: Rows, at: Rows, label: str, repeats: int) -> None:
    """Times, their ratio and the largest error."""
    scipy_kde = gaussian_kde(x.T)
    values: dict[str, Rows] = {}

    def by_scipy() -> None:
        values["scipy"] = -np.log(scipy_kde.evaluate(at.T))

    def by_us() -> None:
        values["rdiv"] = fitted.losses(Pool(at))

    fitted = KernelDensity("scott").fit(Pool(x), np.random.default_rng(0))
    rows, columns = x.shape
    print(f"{rows} points, {columns} columns, {label}, best of {repeats}", flush=True)
    times = take_turns({"scipy": by_scipy, "rdiv": by_us}, repeats)
    for name, seconds in times.items():
        show(name, seconds)
    ratio("scipy / rdiv", times["scipy"], times["rdiv"], TARGET)
    error = float(np.abs(values["rdiv"] - values["scipy"]).max())
    report("largest error of the log density", error, LARGEST_ERROR)


def peak_megabytes(points: int, columns: int) -> float:
    """Peak memory of a default fit and its losses, beyond the rows themselves."""
    pool = Pool(np.random.default_rng(1).normal(size=(points, columns)))
    tracemalloc.start()
    try:
        KernelDensity().fit(pool, np.random.default_rng(0)).losses(pool)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def main() -> None:
    """Print the times and the ratios for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    x, others = (rng.normal(size=(given.points, given.columns)) for _ in range(2))
    with one_thread():
        compare_with_scipy(x, x, "at the points themselves", given.repeats)
        compare_with_scipy(x, others, "at other points", given.repeats)
        for points in (given.points, 2 * given.points):
            peak = peak_megabytes(points, given.columns)
            square = 8 * points**2 / 1e6
            print(f"peak memory at {points} points: {peak:.1f} MB (full matrix {square:.0f} MB)")


if __name__ == "__main__":
    main()
