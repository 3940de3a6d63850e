"""Intervals that are widened for skewed, rare and few losses: against slow code, and by counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.inference.slow_widened import slow_gap, slow_mean

from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.intervals import Interval, critical_value, gap_interval
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.widened import loss_shape, skewed_mean, widened_interval


def drawn(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    made = {
        "normal": rng.normal(size=n),
        "skewed": rng.lognormal(size=n),
        "rare": (rng.random(n) < 0.2).astype(float),
        "near": 1 + 0.001 * rng.normal(size=n),
    }
    return made[kind]


@given(
    kinds=st.tuples(*[st.sampled_from(["normal", "skewed", "rare", "near"])] * 2),
    sizes=st.tuples(st.integers(5, 60), st.integers(5, 60)),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
    critical=st.floats(0, 6),
    seed=st.integers(0, 50),
)
def test_against_slow_code(
    kinds: tuple[str, str], sizes: tuple[int, int], alpha: float, critical: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    p, q = (drawn(kind, n, rng) for kind, n in zip(kinds, sizes, strict=True))
    losses, is_p = np.concatenate([p, q]), np.arange(sum(sizes)) < sizes[0]
    observed = mean_gap(losses).observe(is_p)
    if not observed.error:
        return
    shape = loss_shape(losses, is_p, alpha)
    found = widened_interval(observed.gap, observed.error, critical, shape, alpha)
    expected = slow_gap(p, q, alpha, critical)
    if abs(abs(observed.gap) - critical * observed.error) > 1e-6:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    inner = gap_interval(observed.gap, observed.error, critical)
    assert found.low <= inner.low <= inner.high <= found.high


def test_groups_count_as_single_rows() -> None:
    rng = np.random.default_rng(3)
    single, is_p = rng.lognormal(size=30), np.arange(30) < 14
    groups = np.repeat(np.arange(30), 3)
    alone = loss_shape(single, is_p, 0.05)
    copied = loss_shape(np.repeat(single, 3), np.repeat(is_p, 3), 0.05, groups=groups)
    assert copied.what == "groups"
    for one, other in ((alone.p, copied.p), (alone.q, copied.q)):
        assert (one.units, one.skewness) == pytest.approx((other.units, other.skewness))
    assert alone.freedom == pytest.approx(copied.freedom)


def test_pairs_have_as_many_degrees_of_freedom_as_pairs_less_one() -> None:
    strata, is_p = np.tile(np.arange(12), 2), np.arange(24) < 12
    shape = loss_shape(np.random.default_rng(0).normal(size=24), is_p, 0.05, strata=strata)
    assert (shape.freedom, shape.skewness, shape.p.units) == (11.0, 0.0, 12)
    many = loss_shape(np.arange(24.0), is_p, 0.05, strata=np.tile(np.arange(3), 8))
    assert many.freedom == 24 - 6


def test_a_side_without_errors_may_have_some() -> None:
    """The rule of three: ten rows without an error do not rule out a rate of 30 %."""
    losses, is_p = np.r_[np.ones(5), np.zeros(95), np.zeros(10)], np.arange(110) < 100
    shape = loss_shape(losses, is_p, 0.05)
    assert shape.q.unseen == pytest.approx((0.0, 1 - 0.025 ** (1 / 10)))
    assert shape.p.unseen == (0.0, 0.0)
    found = widened_interval(-0.05, 0.02, 2.0, shape, 0.05)
    assert found.high == pytest.approx(-0.05 + 0.308, abs=1e-3)


@pytest.mark.parametrize(
    ("p", "q", "why"),
    [
        (np.arange(60.0) % 7, np.arange(12.0), "only 12 current rows"),
        (np.arange(9.0), np.arange(12.0), "only 9 reference and 12 current rows"),
        (np.arange(60.0) % 7, np.r_[np.zeros(59), 50.0], "a few rows carry the current losses"),
        (np.ones(60), np.arange(60.0) % 7, "all reference losses are the same"),
        (np.arange(60.0) % 7, np.arange(80.0) % 11, None),
    ],
)
def test_why_an_interval_is_asymptotic(p: np.ndarray, q: np.ndarray, why: str | None) -> None:
    losses, is_p = np.concatenate([p, q]), np.arange(len(p) + len(q)) < len(p)
    assert loss_shape(losses, is_p, 0.05).why_asymptotic() == why


@given(seed=st.integers(0, 30), n=st.integers(3, 40), alpha=st.sampled_from([0.01, 0.05]))
def test_the_mean_against_slow_code(seed: int, n: int, alpha: float) -> None:
    numbers = np.random.default_rng(seed).lognormal(size=n)
    assert tuple(skewed_mean(numbers, alpha)) == pytest.approx(slow_mean(numbers, alpha), rel=1e-6)


def test_means_of_nothing_and_of_constants() -> None:
    assert skewed_mean(np.array([2.0]), 0.05) == (2.0, -np.inf, np.inf)
    assert skewed_mean(np.full(5, 2.0), 0.05) == (2.0, 2.0, 2.0)


def test_it_misses_less_than_the_permutation_quantile_alone() -> None:
    """A near-constant reference and rare errors in current; q* alone must be caught."""
    rng, draws, truth = np.random.default_rng(5), 300, 0.03 - 1
    is_p = np.arange(150) < 100
    settings = PermutationSettings(n_resamples=99)
    missed = {"widened": 0, "q* alone": 0}
    for _ in range(draws):
        losses = np.r_[1 + 0.01 * rng.normal(size=100), rng.random(50) < 0.03]
        prepared = mean_gap(losses)
        null = permute(prepared, is_p, settings, rng=rng).null_distribution
        seen, critical = prepared.observe(is_p), critical_value(null, 0.05)
        shape = loss_shape(losses, is_p, 0.05)
        spans: dict[str, Interval] = {
            "widened": widened_interval(seen.gap, seen.error, critical, shape, 0.05),
            "q* alone": gap_interval(seen.gap, seen.error, critical),
        }
        for name, (low, high) in spans.items():
            missed[name] += not low <= truth <= high
    allowed = binom.ppf(0.999, draws, 0.07)
    assert missed["widened"] <= allowed < missed["q* alone"]
