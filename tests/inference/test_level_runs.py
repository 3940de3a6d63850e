"""Runs of consecutive levels: against slow code, and counts of false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.level_runs import best_run
from rdiv.inference.mean_gaps import gaps_and_errors, mean_gap

QUICK = PermutationSettings(n_resamples=39)


def slow_best(
    losses: np.ndarray, level: np.ndarray, groups: np.ndarray | None
) -> tuple[float, int, int, float, float] | None:
    """The largest studentised gap of any run that lies on one side, level by level."""
    levels = int(level.max())
    leans = [
        np.sign(losses[level == k].mean() - losses[level == 0].mean()) for k in range(1, levels + 1)
    ]
    best = None
    for first in range(levels):
        for last in range(first + 1, levels):
            if len(set(leans[first : last + 1])) > 1 or leans[first] == 0:
                continue
            own = (level == 0) | ((level >= first + 1) & (level <= last + 1))
            codes = None if groups is None else groups[own]
            gap, error = gaps_and_errors(losses[own][:, None], codes)((level[own] == 0)[None])
            ratio = abs(gap[0, 0]) / error[0, 0]
            if best is None or ratio > best[0]:
                best = (ratio, first, last, gap[0, 0], error[0, 0])
    return best


@settings(max_examples=30)
@given(
    seed=st.integers(0, 100),
    sizes=st.lists(st.integers(2, 6), min_size=4, max_size=6),
    grouped=st.booleans(),
)
def test_against_slow_code(seed: int, sizes: list[int], grouped: bool) -> None:
    rng = np.random.default_rng(seed)
    times = 2 if grouped else 1
    level = np.repeat(np.arange(len(sizes)), np.array(sizes) * times)
    losses = rng.normal(size=len(level)) + 0.5 * (level > 1)
    groups = np.arange(len(level)) // 2 if grouped else None
    order = rng.permutation(len(level))
    losses, level = losses[order], level[order]
    groups = None if groups is None else groups[order]
    found = best_run(losses, level, QUICK, rng=np.random.default_rng(1), groups=groups)
    expected = slow_best(losses, level, groups)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert (found.first, found.last) == expected[1:3]
        assert (found.gap, found.error) == pytest.approx(expected[3:])
        assert found.pvalue >= 1 / 40


def false_alarms(draws: int) -> tuple[int, int]:
    """Alarms at .05 where nothing differs: of the run, and of the same run as if named before."""
    level = np.repeat(np.arange(9), [24] + [8] * 8)
    ours = named = 0
    for seed in range(draws):
        rng = np.random.default_rng([8, seed])
        losses = rng.exponential(size=len(level))
        found = best_run(losses, level, QUICK, rng=rng)
        if found is None:
            continue
        own = (level == 0) | ((level > found.first) & (level <= found.last + 1))
        ours += found.pvalue <= 0.05
        named += permute(mean_gap(losses[own]), level[own] == 0, QUICK, rng=rng).pvalue <= 0.05
    return ours, named


def test_its_level_holds_and_that_of_a_run_chosen_before_the_test_does_not() -> None:
    ours, named = false_alarms(400)
    assert ours <= binom.ppf(0.999, 400, 0.05) < named


def test_ten_worse_days_are_found_in_a_row() -> None:
    rng = np.random.default_rng(2)
    level = np.repeat(np.arange(11), [400] + [40] * 10)
    lift = np.r_[0.0, np.linspace(0.33, 0.61, 10)]
    found = best_run(rng.normal(size=800) ** 2 + lift[level], level, QUICK, rng=rng)
    assert found is not None
    assert found.gap > 0
    assert found.last - found.first >= 4
    assert found.pvalue == 1 / 40


def test_levels_that_lean_both_ways_are_no_run() -> None:
    level = np.repeat(np.arange(4), 5)
    losses = np.array([0.0, 1.0, -1.0, 1.0])[level] + np.tile([-0.1, 0, 0, 0, 0.1], 4)
    assert best_run(losses, level, QUICK, rng=np.random.default_rng(0)) is None
