"""Slices and weights raise no more false alarms than they say, and a mistake would be seen."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration import drivers as benchmark
from scipy.stats import binom

DRAWS = 60
BROKEN_DRAWS = 120  # five weights without adjustment alarm in about a fifth of the draws
ONCE_IN_A_THOUSAND = 1e-3


def alarms(draw: benchmark.Draw, sizes: tuple[int, int], draws: int) -> dict[str, int]:
    counts = {"slices": 0, "weights": 0}
    for i in range(draws):
        given = draw(*sizes, np.random.default_rng([80, i]))
        found = benchmark.run(given, i, resamples=59)
        for what, alarm in benchmark.false_alarms(given, found).items():
            counts[what] += alarm
    return counts


@pytest.mark.parametrize("draw", [benchmark.same, benchmark.moved_and_matters])
def test_false_alarms(draw: benchmark.Draw) -> None:
    counts = alarms(draw, (150, 450), DRAWS)
    most = binom.isf(ONCE_IN_A_THOUSAND, DRAWS, benchmark.ALPHA)
    assert max(counts.values()) <= most


@pytest.mark.parametrize("which", benchmark.BROKEN)
def test_mistakes_are_caught(which: str) -> None:
    with benchmark.broken(which):
        counts = alarms(benchmark.same, (150, 450), BROKEN_DRAWS)
    most = binom.isf(ONCE_IN_A_THOUSAND, BROKEN_DRAWS, benchmark.ALPHA)
    assert counts[which.split()[0]] > most


@pytest.mark.parametrize(("name", "draw"), benchmark.PLANTED)
def test_what_was_planted_is_found(name: str, draw: benchmark.Draw) -> None:
    hits = 0
    for i in range(3):
        given = draw(5000, 5000, np.random.default_rng([81, i]))
        hits += benchmark.recovered(given, benchmark.run(given, i, resamples=59))
    assert hits >= 2, name  # at a power of 0.95 chance fails this once in a hundred
