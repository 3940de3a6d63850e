"""The index of a tail: known values, what changes nothing, and what it must tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.inference.tail_index import NO_VARIANCE, tail_index


def slow(values: np.ndarray) -> float:
    """By all pairs of excesses over the start of the tail."""
    n = len(values)
    start = np.quantile(values, 1 - min(max(0.25, 50 / n), 0.5))
    excess = [value - start for value in values if value > start]
    pairs = [abs(a - b) for i, a in enumerate(excess) for b in excess[:i]]
    return 2 - np.mean(excess) / (np.mean(pairs) / 2)


@pytest.mark.parametrize("n", [40, 150, 600])
def test_against_all_pairs(n: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n)
    assert tail_index(values).value == pytest.approx(slow(values), rel=1e-10)


@pytest.mark.parametrize("index", [-0.5, 0.0, 0.25])
def test_of_pareto_tails_and_its_error(index: float) -> None:
    """Excesses of a generalised Pareto distribution are such again, with the same index."""
    rng = np.random.default_rng(3)
    uniform = rng.random((400, 2000))
    values = -np.log(uniform) if index == 0 else (uniform**-index - 1) / index
    found = [tail_index(row) for row in values]
    estimates = np.array([one.value for one in found])
    assert estimates.mean() == pytest.approx(index, abs=4 * estimates.std() / 20 + 0.01)
    assert np.median([one.error for one in found]) == pytest.approx(estimates.std(), rel=0.2)


def test_scale_and_place_change_nothing() -> None:
    values = np.random.default_rng(4).exponential(size=300)
    assert tail_index(1 + 1e-3 * values).value == pytest.approx(tail_index(values).value)


@pytest.mark.parametrize(
    "values", [np.ones(200), np.r_[np.zeros(180), np.ones(20)], np.arange(12.0)]
)
def test_nothing_is_said_of_constants_errors_and_few_values(values: np.ndarray) -> None:
    found = tail_index(values)
    assert found.value == -np.inf
    assert not found.may_lack_variance


def test_squared_t3_is_told_from_squared_normal_errors() -> None:
    """The sample skewness is not enough: a fifth of such samples lack their large losses."""
    rng = np.random.default_rng(5)
    heavy = [tail_index(rng.standard_t(3, 400) ** 2).may_lack_variance for _ in range(200)]
    light = [tail_index(rng.normal(size=400) ** 2).may_lack_variance for _ in range(200)]
    assert np.mean(heavy) > 0.93
    assert np.mean(light) < 0.07
    assert NO_VARIANCE == 0.5
