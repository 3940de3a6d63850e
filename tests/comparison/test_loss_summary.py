"""Losses in bins: every row counted once, the same edges for both sides, no matter the scale."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.comparison.loss_summary import BINS, summarise_losses

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("losses", "scale"),
    [
        (RNG.normal(size=500), "linear"),
        (RNG.normal(size=500) ** 2, "log"),
        (np.full(500, 3.0), "linear"),
        (np.zeros(500), "linear"),
        (np.r_[RNG.normal(size=499), 1e12], "linear"),
        (RNG.normal(size=500).astype(np.float32), "linear"),
    ],
)
def test_shares_sum_to_one_and_edges_increase(losses: np.ndarray, scale: str) -> None:
    is_p = np.arange(500) < 200
    found = summarise_losses(losses, is_p)
    assert found is not None
    assert found.scale == scale
    assert np.all(np.diff(found.edges) > 0)
    assert len(found.edges) == BINS + 1
    for shares in (found.shares_p, found.shares_q):
        assert np.isclose(sum(shares), 1)
    assert np.allclose(found.quantiles_q, np.quantile(losses[200:], found.levels))


def test_bins_hold_what_numpy_counts() -> None:
    losses, is_p = RNG.uniform(size=1000), np.arange(1000) % 2 == 0
    found = summarise_losses(losses, is_p)
    assert found is not None
    clipped = np.clip(losses[is_p], found.edges[0], found.edges[-1])
    counts, _ = np.histogram(clipped, found.edges)
    assert np.allclose(np.array(found.shares_p) * is_p.sum(), counts)


def test_nothing_to_show_without_finite_losses() -> None:
    assert summarise_losses(None, np.array([True, False])) is None
    assert summarise_losses(np.array([1.0, np.inf]), np.array([True, False])) is None
