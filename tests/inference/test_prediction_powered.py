"""Prediction-powered gaps: by a slow computation, unbiased whatever g is, and never much wider."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize_scalar

from rdiv.inference.intervals import Interval
from rdiv.inference.prediction_powered import best_weight, powered_gap

Floats = NDArray[np.float64]


def drawn(seed: int, share: float = 0.5, n: int = 60, m: int = 900) -> tuple[Floats, ...]:
    """Losses of the reference and of labelled rows, and g of labelled and unlabelled ones."""
    rng = np.random.default_rng(seed)
    known, more = rng.normal(size=n), rng.normal(size=m)
    losses = 0.3 + np.sqrt(share) * known + np.sqrt(1 - share) * rng.normal(size=n)
    return rng.normal(size=800), losses, known, more


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_the_weight_makes_the_variance_smallest(share: float) -> None:
    _, losses, g, more = drawn(1, share)

    def variance(weight: float) -> float:
        own = np.var(losses - weight * g, ddof=1) / len(losses)
        return float(own + weight**2 * np.var(more, ddof=1) / len(more))

    by_search = minimize_scalar(variance, bounds=(0.0, 1.0), method="bounded").x
    assert best_weight(losses, g, more) == pytest.approx(by_search, abs=1e-3)


def test_the_gap_and_its_interval_by_hand() -> None:
    reference, losses, g, more = drawn(2)
    found = powered_gap(reference, losses, g, more, 0.1)
    w = best_weight(losses, g, more)
    value = w * more.mean() + (losses - w * g).mean() - reference.mean()
    rest = np.var(losses - w * g, ddof=2) / len(losses)
    parts = [rest, w**2 * np.var(more, ddof=1) / len(more), np.var(reference, ddof=1) / 800]
    freedom = [len(losses) - 2, len(more) - 1, 799]
    total = sum(parts)
    df = total**2 / sum(one**2 / f for one, f in zip(parts, freedom, strict=True))
    half = stats.t.ppf(0.95, df) * np.sqrt(total)
    assert found.gap.value == pytest.approx(value)
    assert found.error == pytest.approx(np.sqrt(total))
    assert found.gap.high - value >= half * (1 - 1e-9)  # wider where skewed, never narrower
    assert found.gap.high - value <= 1.1 * half


def test_equal_groups_of_one_row_change_nothing() -> None:
    reference, losses, g, more = drawn(3)
    plain = powered_gap(reference, losses, g, more, 0.05)
    groups = tuple(np.arange(len(each)) for each in (reference, losses, more))
    alone = powered_gap(reference, losses, g, more, 0.05, groups)  # type: ignore[arg-type]
    assert alone.gap == pytest.approx(plain.gap)
    twice = [np.repeat(each, 2) for each in (reference, losses, g, more)]
    doubled = tuple(np.repeat(one, 2) for one in groups)
    grouped = powered_gap(*twice, 0.05, doubled)  # type: ignore[arg-type]
    ignored = powered_gap(*twice, 0.05)
    assert grouped.error == pytest.approx(plain.error, rel=0.03)
    assert ignored.error < 0.8 * grouped.error


def test_a_constant_or_opposite_g_gets_no_weight() -> None:
    reference, losses, g, more = drawn(4)
    for other in (np.ones_like(g), -g):
        assert best_weight(losses, other, more) == pytest.approx(0.0, abs=1e-9)
    found = powered_gap(reference, losses, np.ones_like(g), np.ones(50), 0.05)
    assert found.gap.value == pytest.approx(losses.mean() - reference.mean())


def test_losses_that_were_not_seen_widen_it() -> None:
    reference, losses, g, more = drawn(5)
    wide = powered_gap(reference, losses, g, more, 0.05, unseen=Interval(0.0, 3.0))
    assert wide.gap.high >= wide.gap.value + 3.0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_coverage_and_width(share: float) -> None:
    """400 draws: coverage within what chance allows; narrower where g knows, else hardly wider."""
    hits, widths = 0, []
    for i in range(400):
        reference, losses, g, more = drawn(1000 + i, share)
        found = powered_gap(reference, losses, g + 2.0, more + 2.0, 0.05).gap  # g may be off
        alone = powered_gap(reference, losses, 0 * g, 0 * more, 0.05).gap
        hits += found.low <= 0.3 <= found.high
        widths.append((found.high - found.low) / (alone.high - alone.low))
    assert stats.binomtest(hits, 400, 0.95).pvalue > 1e-3
    assert np.mean(widths) <= (0.8 if share else 1.03)


def test_the_broken_variant_is_caught() -> None:
    """Without the correction on labelled rows an expected loss that is off moves the gap."""
    hits = 0
    for i in range(100):
        reference, losses, g, more = drawn(1000 + i)
        found = powered_gap(reference, losses, g, more + 0.5, 0.05).gap  # g of other rows differs
        hits += found.low <= 0.3 <= found.high
    assert stats.binomtest(hits, 100, 0.95).pvalue < 1e-6
