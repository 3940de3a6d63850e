"""Blocked kernel density against `scipy.stats.gaussian_kde.evaluate`, on one thread.

    python benchmarks/bench_kde.py [--points 20000] [--columns 4] [--repeats 2]

Prints seconds, how many times faster than scipy, the largest error of the log density, and the
peak of the memory beyond the input at the given number of points and at twice as many.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.stats import gaussian_kde

from rdiv.models.kernel_density import KernelDensity
from rdiv.samples.pool import Pool
from rdiv.threads import one_thread

TARGETS = {"float64": 1.2, "float32": 2.5}
LARGEST_ERROR = {"float64": 1e-8, "float32": 1e-4}


def best_times(calls: dict[str, Callable[[], np.ndarray]], repeats: int) -> dict[str, tuple]:
    """Shortest seconds and the values of each call; the calls take turns, so noise is shared."""
    best: dict[str, tuple] = {}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            values = call()
            seconds = time.perf_counter() - start
            best[name] = (min(seconds, best.get(name, (np.inf,))[0]), values)
    return best


def compare_with_scipy(x: np.ndarray, at: np.ndarray, label: str, repeats: int) -> bool:
    rng = np.random.default_rng(0)
    scipy_kde = gaussian_kde(x.T)
    fits = {t: KernelDensity("scott", dtype=t).fit(Pool(x), rng) for t in TARGETS}
    calls: dict[str, Callable[[], np.ndarray]] = {"scipy": lambda: scipy_kde.evaluate(at.T)}
    for name, fitted in fits.items():
        calls[name] = lambda fitted=fitted: fitted.losses(Pool(at))
    best = best_times(calls, repeats)
    seconds, density = best.pop("scipy")
    reference = -np.log(density)
    print(f"{label:<12}{'scipy':<10}{seconds:>9.2f}{1:>10.2f}")
    met = True
    for name, (own_seconds, losses) in best.items():
        ratio, error = seconds / own_seconds, np.abs(losses - reference).max()
        met &= bool(ratio >= TARGETS[name] and error < LARGEST_ERROR[name])
        print(f"{label:<12}{name:<10}{own_seconds:>9.2f}{ratio:>10.2f}{error:>12.1e}")
    return met


def peak_megabytes(points: int, columns: int) -> float:
    """Peak memory of a default fit and its losses, beyond the rows themselves."""
    pool = Pool(np.random.default_rng(1).normal(size=(points, columns)))
    tracemalloc.start()
    try:
        model = KernelDensity(dtype="float32")
        model.fit(pool, np.random.default_rng(0)).losses(pool)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    x, fresh = (rng.normal(size=(given.points, given.columns)) for _ in range(2))
    print(f"{given.points} points, {given.columns} columns, one thread")
    print(f"{'points':<12}{'code':<10}{'seconds':>9}{'ratio':>10}{'max error':>12}")
    with one_thread():
        met = compare_with_scipy(x, x, "own", given.repeats)
        met &= compare_with_scipy(x, fresh, "fresh", given.repeats)
        for points in (given.points, 2 * given.points):
            peak = peak_megabytes(points, given.columns)
            square = 8 * points**2 / 1e6
            print(f"peak memory at {points} points: {peak:.1f} MB (full matrix {square:.0f} MB)")
    targets = ", ".join(f"{name} {ratio} times" for name, ratio in TARGETS.items())
    print(f"targets ({targets}, error under 1e-4 in float32): {'met' if met else 'MISSED'}")


if __name__ == "__main__":
    main()
