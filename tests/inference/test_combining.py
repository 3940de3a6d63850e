"""Min-p: the definition, fairness to every row, and rejections at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from rdiv.inference.combining import Combine, min_p, nested, weighted_p
from rdiv.inference.engine import permutation_pvalue


def slow_keys(parts: np.ndarray) -> list[tuple[float, float]]:
    """Smallest p-value and sum of logs of every row, counted one by one."""
    n = len(parts)
    keys = []
    for row in parts:
        counts = [sum(other[j] >= row[j] for other in parts) for j in range(parts.shape[1])]
        keys.append((min(counts) / n, sum(np.log(np.array(sorted(counts)) / n))))
    return keys


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("n", [2, 12, 100])
def test_the_order_is_that_of_the_definition(n: int, k: int) -> None:
    parts = np.random.default_rng(n + k).integers(0, 40, size=(n, k)).astype(float)
    combined, keys = min_p(parts), slow_keys(parts)
    for i in range(n):
        for j in range(n):
            smaller_p = (round(keys[i][0], 9), round(keys[i][1], 9)) < (
                round(keys[j][0], 9),
                round(keys[j][1], 9),
            )
            assert smaller_p == (combined[i] > combined[j] + 1e-12)


@pytest.mark.parametrize("combine", [min_p, weighted_p([0.2, 0.5, 0.3])])
def test_rows_are_treated_alike(combine: Combine) -> None:
    parts = np.random.default_rng(0).normal(size=(50, 3))
    order = np.random.default_rng(1).permutation(50)
    assert (combine(parts[order]) == combine(parts)[order]).all()


def test_weighted_p_values_by_hand() -> None:
    parts = np.random.default_rng(6).integers(0, 9, size=(12, 3)).astype(float)
    weights = [0.5, 0.2, 0.3]
    for row, found in zip(parts, weighted_p(weights)(parts), strict=True):
        shares = [sum(other[j] >= row[j] for other in parts) / 12 for j in range(3)]
        squares = [(w / p) ** 2 for w, p in zip(weights, shares, strict=True)]
        assert 10**found == pytest.approx(sum(squares) ** 0.5)


def test_weighted_p_values_add_evidence_where_the_minimum_does_not() -> None:
    parts = np.random.default_rng(7).normal(size=(400, 2))
    parts[0] = np.sort(parts, axis=0)[-12]  # two p-values of .03
    one, two = (combine(parts) for combine in (min_p, weighted_p([1.0, 1.0])))
    assert permutation_pvalue(two[0], two[1:]) < 0.05 < permutation_pvalue(one[0], one[1:])


def test_a_column_is_seen_the_more_easily_the_larger_its_weight() -> None:
    parts = np.random.default_rng(8).normal(size=(400, 2))
    parts[0] = np.sort(parts[:, 0])[-12], -9.0  # p-values of .03 and 1
    light, heavy = (weighted_p([w, 1 - w])(parts) for w in (0.3, 0.9))
    assert permutation_pvalue(heavy[0], heavy[1:]) < 0.05 < permutation_pvalue(light[0], light[1:])


def test_a_hundred_rows_can_reject_at_one_percent() -> None:
    parts = np.random.default_rng(2).normal(size=(100, 2))
    parts[0] = 10.0, 2.0
    combined = min_p(parts)
    assert permutation_pvalue(combined[0], combined[1:]) == 0.01


@pytest.mark.parametrize("together", [min_p, weighted_p([0.3, 0.7])])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_level_is_exact(correlation: float, together: Combine) -> None:
    """Exchangeable rows: the combined p-value is uniform, whatever the dependence of columns."""
    rng = np.random.default_rng(3)
    rejected, draws = 0, 2000
    for _ in range(draws):
        parts = rng.normal(size=(40, 3))
        parts[:, 1] = correlation * parts[:, 0] + np.sqrt(1 - correlation**2) * parts[:, 1]
        combined = nested([(1, None), (2, min_p)], together)(parts)
        rejected += permutation_pvalue(combined[0], combined[1:]) <= 0.05
    assert binomtest(rejected, draws, 0.05).pvalue > 1e-3


def test_the_naive_minimum_has_no_level() -> None:
    """Deliberately broken variant: the smallest p-value of three columns, unadjusted."""
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(400):
        parts = rng.normal(size=(40, 3))
        rejected += min(permutation_pvalue(c[0], c[1:]) for c in parts.T) <= 0.05
    assert binomtest(rejected, 400, 0.05).pvalue < 1e-6


def test_levels_nest() -> None:
    parts = np.random.default_rng(5).normal(size=(30, 4))
    inner = min_p(parts[:, 1:])
    expected = min_p(np.stack([parts[:, 0], inner], axis=1))
    assert (nested([(1, None), (3, min_p)])(parts) == expected).all()
    assert (nested([(1, None)])(parts[:, :1]) == parts[:, 0]).all()
