"""Confidence sequences against slow bounds, and how often they ever miss."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import binom, norm

from rdiv.inference.confidence_sequences import (
    FIRST_ASYMPTOTIC,
    RunningMean,
    asymptotic_width,
    bounded_log_wealth,
    mean_bounds,
)


def test_sums_in_parts_are_those_of_the_whole() -> None:
    values = np.random.default_rng(0).exponential(size=500) + 1e6
    mean = RunningMean(1e6)
    for part in np.split(values, [1, 200]):
        mean = mean.after(part)
    assert mean.count == 500
    assert abs(mean.value - values.mean()) < 1e-8
    assert abs(mean.deviation / values.std(ddof=1) - 1) < 1e-9


@pytest.mark.parametrize("k", [0, 1, 30, 100])
def test_bounds_of_zeros_and_ones_are_where_the_wealth_is_enough(k: int) -> None:
    values = np.repeat([0.0, 1.0], [100 - k, k])
    low, high = RunningMean().after(values).sequence(0.1, bounded=True, pace=1000)
    grid = np.linspace(1e-6, 1 - 1e-6, 20_001)
    kept = np.ones(len(grid), bool)
    for sign in (1, -1):
        wealth = bounded_log_wealth(
            np.full(len(grid), float(k)), np.full(len(grid), 100), grid, sign
        )
        kept &= wealth < log(2 / 0.1)
    assert abs(grid[kept].min() - low) < 1e-4
    assert abs(grid[kept].max() - high) < 1e-4
    assert low <= k / 100 <= high


def test_the_wealth_of_zeros_and_ones_is_fair() -> None:
    # All outcomes of twelve rows, by their number of ones.
    ones, mean = np.arange(13.0), 0.3
    chance = binom.pmf(ones, 12, mean)
    for sign in (1, -1):
        wealth = np.exp(bounded_log_wealth(ones, np.full(13, 12), np.full(13, mean), sign))
        assert abs(chance @ wealth - 1) < 1e-12


def test_bounded_sequences_seldom_ever_miss() -> None:
    rng, streams, alpha = np.random.default_rng(1), 400, 0.1
    t = np.arange(1, 801)
    missed = 0
    for _ in range(streams):
        means = 0.1 + 0.2 * (t > 300)  # the mean of the rows so far is covered, also after a change
        totals = np.cumsum(rng.random(800) < means)
        average = np.cumsum(means) / t
        wealth = [bounded_log_wealth(totals * 1.0, t, average, sign).max() for sign in (1, -1)]
        missed += max(wealth) >= log(2 / alpha)
    assert missed <= streams * alpha + 3 * sqrt(streams * alpha * (1 - alpha))


def test_asymptotic_sequences_seldom_ever_miss() -> None:
    rng, streams, alpha = np.random.default_rng(2), 400, 0.1
    t = np.arange(1, 1501)
    looks, width = t >= FIRST_ASYMPTOTIC, asymptotic_width(t, alpha, 1000)
    missed = fixed = 0
    for _ in range(streams):
        x = rng.exponential(size=1500)
        mean = np.cumsum(x) / t
        deviation = np.sqrt(np.maximum(np.cumsum(x**2) / t - mean**2, 0))
        missed += (np.abs(mean - 1) > deviation * width)[looks].any()
        fixed += (np.abs(mean - 1) > deviation * norm.isf(alpha / 2) / np.sqrt(t))[looks].any()
    most = streams * alpha + 3 * sqrt(streams * alpha * (1 - alpha))
    assert missed <= most
    assert fixed > most  # deliberately broken: an interval for one look, read after every row


def test_there_is_no_asymptotic_sequence_of_few_rows() -> None:
    few = RunningMean().after(np.arange(FIRST_ASYMPTOTIC - 1.0))
    assert few.sequence(0.05, bounded=False, pace=1000) is None
    low, high = few.after(np.array([5.0])).sequence(0.05, bounded=False, pace=1000)
    assert low < 50 < high


def test_nothing_is_known_before_the_first_row() -> None:
    assert RunningMean().sequence(0.05, bounded=True, pace=10) == (0.0, 1.0)


def test_bounds_of_a_sample() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    low, high = mean_bounds(values, 0.05, bounded=False)
    assert abs((low + high) / 2 - 4) < 1e-12
    assert abs((high - low) / 2 - 3.182446 * values.std(ddof=1) / 2) < 1e-5
    low, high = mean_bounds(np.zeros(20), 0.1, bounded=True)
    assert low == 0
    assert abs(binom.cdf(0, 20, high) - 0.05) < 1e-9
    assert mean_bounds(np.ones(20), 0.1, bounded=True).high == 1
