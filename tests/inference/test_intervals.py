"""Intervals, critical values and detectable gaps agree with each other and with the p-value."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rdiv.inference.engine import PermutationSettings, permutation_pvalue, permute
from rdiv.inference.intervals import Interval, critical_value, gap_interval
from rdiv.inference.mean_gaps import mean_gap


def test_the_critical_value_by_hand() -> None:
    null = np.random.default_rng(0).permutation(np.arange(1.0, 20.0))
    assert critical_value(null, 0.05) == 19.0
    assert critical_value(null, 0.1) == 18.0
    assert critical_value(null, 0.5) == 10.0
    assert critical_value(np.array([0.0] * 18 + [np.inf]), 0.05) == np.inf


@given(
    null=st.lists(st.floats(0, 100), min_size=19, max_size=60),
    alpha=st.sampled_from([0.05, 0.1, 0.25, 0.5]),
    observed=st.floats(0, 120),
)
def test_above_it_a_test_rejects_and_at_it_not(
    null: list[float], alpha: float, observed: float
) -> None:
    values = np.array(null)
    critical = critical_value(values, alpha)
    assert permutation_pvalue(critical, values) > alpha
    if observed > critical * (1 + 1e-9):
        assert permutation_pvalue(observed, values) <= alpha
    if observed < critical * (1 - 1e-9):
        assert permutation_pvalue(observed, values) > alpha


def test_the_interval_by_hand() -> None:
    assert gap_interval(1.0, 0.5, 2.0) == Interval(0.0, 2.0)
    assert gap_interval(-1.0, 0.25, 2.0) == (-1.5, -0.5)
    assert gap_interval(1.0, 0.5, np.inf) == (-np.inf, np.inf)


few_values = st.lists(st.integers(0, 3), min_size=2, max_size=7)
many_values = st.lists(st.floats(-5, 5).map(lambda v: round(v, 3)), min_size=2, max_size=12)


@given(
    sides=st.one_of(st.tuples(few_values, few_values), st.tuples(many_values, many_values)),
    alpha=st.sampled_from([0.05, 0.1, 0.2]),
    seed=st.integers(0, 100),
)
def test_the_interval_excludes_0_exactly_when_the_test_rejects(
    sides: tuple[list[float], list[float]], alpha: float, seed: int
) -> None:
    """Also with ties, where rounding must not decide, and where a side has no spread at all."""
    losses = np.array([*sides[0], *sides[1]], dtype=float)
    is_p = np.arange(len(losses)) < len(sides[0])
    prepared = mean_gap(losses)
    null = permute(
        prepared, is_p, PermutationSettings(n_resamples=39), rng=np.random.default_rng(seed)
    )
    observed = prepared.observe(is_p)
    gap, error = observed.gap, observed.error
    low, high = gap_interval(gap, error, critical_value(null.null_distribution, alpha))
    assert low <= gap <= high
    assert (low > 0 or high < 0) == (null.pvalue <= alpha)
