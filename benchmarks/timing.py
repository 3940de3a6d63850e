"""Shared by the benchmarks: time two things side by side and print their ratio."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Clock = Callable[[], float]


def best_of(
    function: Callable[[], Any], repeats: int = 3, clock: Clock = time.perf_counter
) -> float:
    """Seconds of the fastest of a few runs: what the code costs when nothing disturbs it."""
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def alternate(first: Callable[[], Any], second: Callable[[], Any], repeats: int = 5) -> float:
    """Median over repeats of time(first) / time(second), run in turn on the same machine state."""
    ratios = []
    for _ in range(repeats):
        one = best_of(first, 1)
        ratios.append(one / best_of(second, 1))
    return sorted(ratios)[len(ratios) // 2]


def best_ratio(
    first: Callable[[], Any],
    second: Callable[[], Any],
    repeats: int = 9,
    clock: Clock = time.perf_counter,
) -> float:
    """Fastest run of the first over the fastest of the second, run in turn.

    For ratios near 1: a disturbance only ever makes a run slower, so the fastest of several is what
    the code costs, and medians of single ratios scatter by more than what is measured. Runs of many
    seconds on one thread are never undisturbed: for these the clock may be ``time.process_time``.
    """
    times = [(best_of(first, 1, clock), best_of(second, 1, clock)) for _ in range(repeats)]
    return min(one for one, _ in times) / min(other for _, other in times)


def report(name: str, value: float, target: str, met: bool) -> None:
    """One line: what was measured, what was promised, whether it holds."""
    print(f"{name:<64} {value:8.2f}   {target:<12} {'met' if met else 'MISSED'}", flush=True)
