"""Tilts and laws of means against enumeration, the binomial and plain simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiv.inference.tilting import Boundary, Units, _gridded, _law_of_mean, tilted, units_of


@given(rate=st.floats(0.01, 0.99), errors=st.integers(1, 19))
def test_for_errors_a_tilt_is_another_rate(rate: float, errors: int) -> None:
    values = (np.arange(20) < errors).astype(float)
    masses = tilted(values, rate)
    assert masses is not None
    assert masses[:errors].sum() == pytest.approx(rate, abs=1e-9)
    assert np.ptp(masses[:errors]) < 1e-12


@given(mean=st.floats(-0.9, 2.9), seed=st.integers(0, 20))
def test_a_tilt_has_the_mean_asked_for(mean: float, seed: int) -> None:
    values = np.random.default_rng(seed).exponential(size=30)
    masses = tilted(values, mean)
    if masses is None:
        assert not values.min() < mean < values.max()
    else:
        assert masses @ values == pytest.approx(mean, abs=1e-6)
        slope = np.polyfit(values, np.log(np.maximum(masses, 1e-300)), 1)
        held = masses > 1e-200
        assert np.allclose(np.log(masses[held]), np.polyval(slope, values[held]), atol=1e-4) or (
            not held.all()
        )


def test_a_tilt_of_squared_normal_errors_is_another_scale() -> None:
    values = np.random.default_rng(0).chisquare(1, 200_000)
    masses = tilted(values, 1.3)
    assert masses is not None
    assert masses @ (values - 1.3) ** 2 == pytest.approx(2 * 1.3**2, rel=0.03)


def test_the_law_of_a_mean_by_enumeration() -> None:
    values = np.array([0.0, 0.0, 1.0, 4.0])
    grid = _gridded(values, np.full(4, 0.25), 3)
    law = _law_of_mean(grid, grid.masses, 3)
    means = np.array([sum(draw) / 3 for draw in product(values, repeat=3)])
    for limit in (0.0, 1 / 3, 1.0, 5 / 3, 2.0, 4.0):
        expected = (means >= limit - 1e-9).mean()
        assert law.at_least(np.array([limit - 0.01]))[0] == pytest.approx(expected, abs=1e-6)


def test_the_boundary_by_simulation() -> None:
    rng = np.random.default_rng(1)
    p, q, margin = rng.exponential(size=400), rng.exponential(size=12), 0.6
    found = Boundary(units_of(p), units_of(q)).pvalue(margin)
    pool = np.concatenate([p, q])
    masses = tilted(pool, p.mean() + margin)
    draws = rng.choice(pool, size=(40_000, 12), p=masses).mean(axis=1)
    draws = draws - rng.choice(p, size=(40_000, 400)).mean(axis=1)
    simulated = float((draws <= q.mean() - p.mean()).mean())
    # the law is a little wider than what is drawn, as the spread was estimated
    assert found == pytest.approx(simulated, abs=4 * (0.25 / 40_000) ** 0.5 + 0.003)


@pytest.mark.parametrize("seed", range(5))
def test_the_limit_has_the_pvalue_of_the_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = Boundary(units_of(rng.exponential(size=50)), units_of(rng.exponential(size=15)))
    limit = found.limit(found.gap + 0.05, 0.05)
    assert found.pvalue(limit) <= 0.05
    assert found.pvalue(limit - 0.01) > 0.05


def test_in_the_other_direction_the_reference_may_lack_errors() -> None:
    """A current error rate of 10 % is not shown to be at most so much better than five rows say."""
    p, q = np.zeros(5), np.repeat([0.0, 1.0], [900, 100])
    there = Boundary(units_of(p), units_of(q)).swapped()
    assert there.gap == pytest.approx(-0.1)
    assert there.pvalue(0.1) == pytest.approx(0.8**5, rel=0.1)


def test_groups_of_copies_are_single_rows() -> None:
    rng = np.random.default_rng(5)
    p, q = rng.exponential(size=30), rng.exponential(size=12)
    once = Boundary(units_of(p), units_of(q))
    many = Boundary(*(units_of(np.repeat(x, 4), np.repeat(np.arange(len(x)), 4)) for x in (p, q)))
    assert many.pvalue(0.5) == pytest.approx(once.pvalue(0.5), rel=1e-6)
    assert isinstance(many.reference, Units)


def test_a_margin_beyond_all_losses_is_not_free() -> None:
    """Three rows without an error: a coin would have done that one time in eight."""
    found = Boundary(units_of(np.repeat([0.0, 1.0], [990, 10])), units_of(np.zeros(3)))
    assert found.pvalue(5.0) > 0.05
    assert found.limit(0.1, 0.05) == np.inf
    many = Boundary(units_of(np.repeat([0.0, 1.0], [990, 10])), units_of(np.zeros(30)))
    assert many.pvalue(5.0) < 1e-6


def test_the_pvalue_falls_with_the_margin() -> None:
    rng = np.random.default_rng(7)
    found = Boundary(units_of(rng.chisquare(1, 6)), units_of(rng.chisquare(1, 5)))
    pvalues = [found.pvalue(margin) for margin in np.linspace(-0.2, 6, 40)]
    assert (np.diff(pvalues) < 1e-6).all()
