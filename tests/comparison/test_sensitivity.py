"""The smallest detectable gap of a comparison: that of the verdict, at the spread of the gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import rdiv
from rdiv.comparison.sensitivity import verdict_level
from rdiv.inference.intervals import critical_value


def regression(n: int, gap: float, rng: np.random.Generator) -> Any:
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + (1 + gap) ** 0.5 * rng.normal(size=n)


def test_it_is_larger_than_the_spread_without_a_gap_says() -> None:
    """Squared errors spread more where they are larger, and the verdict asks three questions."""
    rng = np.random.default_rng(0)
    found = rdiv.compare(
        regression(120, 0, rng), regression(120, 0, rng), model="ridge", drivers=False, rng=0
    )
    test = found.results["in-use"]
    error = abs(found.gap / test.ranked)
    naive = error * (critical_value(test.null_distribution, 0.05) + norm.ppf(0.8))
    assert found.smallest_detectable_gap > 1.2 * naive


def test_a_verdict_finds_it_four_times_in_five() -> None:
    """For the exact count see docs/measured/planned_power.md."""
    hits, draws = 0, 40
    how: dict[str, Any] = {"loss": "loss", "drivers": False, "n_resamples": 99, "rng": 0}
    for i in range(draws):
        rng = np.random.default_rng([3, i])

        def losses(gap: float, rng: np.random.Generator = rng) -> pl.DataFrame:
            return pl.DataFrame({"loss": (1 + gap) * rng.exponential(size=80)})

        gap = rdiv.compare(losses(0), losses(0), **how).smallest_detectable_gap
        hits += rdiv.compare(losses(0), losses(gap), **how).verdict == "risk shift"
    assert abs(hits / draws - 0.8) < 0.05 + 3 * (0.16 / draws) ** 0.5


@pytest.mark.parametrize("design", ["groups", "strata"])
def test_groups_and_strata(design: str) -> None:
    rng = np.random.default_rng(1)
    shared = rng.exponential(size=60)
    p, q = (np.repeat(shared[k : k + 30], 4) + 0.1 * rng.exponential(size=120) for k in (0, 30))
    labels = np.repeat(np.arange(30), 4)
    other = labels if design == "strata" else labels + 30
    frames = [pl.DataFrame({"l": x, design: y}) for x, y in ((p, labels), (q, other))]
    how: dict[str, Any] = {"loss": "l", "drivers": False, "n_resamples": 99, "rng": 0}
    plain = rdiv.compare(*(frame.drop(design) for frame in frames), **how)
    found = rdiv.compare(*frames, **{design: design}, **how)
    if design == "groups":  # a quarter of the rows says something new
        assert found.smallest_detectable_gap > 1.4 * plain.smallest_detectable_gap
    else:  # strata of four rows of each sample: their own level does not matter any more
        assert np.isfinite(found.smallest_detectable_gap)


def test_the_level_of_a_verdict() -> None:
    assert verdict_level(1, 0.1) == 0.1
    assert verdict_level(2, 0.1) == verdict_level(3, 0.1) == 0.05
