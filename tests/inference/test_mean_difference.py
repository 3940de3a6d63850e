"""The difference of two means: by hand, covered with heavy tails, and never below a variance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, ttest_ind

from rdiv.inference.mean_difference import difference_of_means


def test_normal_numbers_give_welchs_interval() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=4000), 1 + 3 * rng.normal(size=900)
    welch = ttest_ind(q, p, equal_var=False).confidence_interval(0.9)
    found = difference_of_means(p, q, 0.1)
    assert (found.low, found.high) == pytest.approx((welch.low, welch.high), abs=1e-3)


def test_a_group_counts_once() -> None:
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=200), rng.normal(size=150)
    alone = difference_of_means(p, q, 0.05)
    codes = (np.repeat(np.arange(200), 4), np.repeat(np.arange(150), 4))
    copied = difference_of_means(np.repeat(p, 4), np.repeat(q, 4), 0.05, codes)
    assert copied == pytest.approx(alone, abs=0.005)


def test_a_modelled_variance_is_a_floor() -> None:
    p, q = np.zeros(100), np.zeros(100)
    p[0] = 1.0
    assert difference_of_means(p, q, 0.05, modelled=4.0).high > 0.35
    assert difference_of_means(p, q, 0.05).high < 0.05


def test_constant_and_single_numbers() -> None:
    same = difference_of_means(np.ones(5), np.full(5, 3.0), 0.05)
    assert same == (2.0, 2.0, 2.0)
    assert difference_of_means(np.ones(1), np.ones(5), 0.05).high == np.inf


def test_lognormal_numbers_are_covered_where_welch_is_not() -> None:
    """Skewed numbers against few constant-like ones; the freedom knows that tails are heavy."""
    truth, hits = -np.exp(0.5), np.zeros(2)
    for seed in range(400):
        rng = np.random.default_rng([2, seed])
        p, q = rng.lognormal(size=60), 0.01 * rng.normal(size=60)
        found = difference_of_means(p, q, 0.05)
        welch = ttest_ind(q, p, equal_var=False).confidence_interval(0.95)
        hits += [found.low <= truth <= found.high, welch.low <= truth <= welch.high]
    assert hits[0] > hits[1]
    assert hits[0] >= binom.ppf(1e-3, 400, 0.9)
