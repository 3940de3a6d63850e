"""With the probabilities that made the labels, flips and wrong labels are found again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from rdiv.noisy_labels import transition_matrix
from rdiv.noisy_labels.posterior import (
    anchor_counts,
    clean_probabilities,
    estimate_transition,
    fit_posterior,
)
from rdiv.noisy_labels.predictability import measure_predictability
from rdiv.noisy_labels.result import estimate_rate

K = 5


def simulated(flips: np.ndarray, n: int = 6000, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Clean probabilities, true labels and given ones; a quarter of the rows is hard."""
    rng = np.random.default_rng(seed)
    easy = rng.random(n) < 0.75
    sharp = np.where(easy[:, None], 8.0, 1.0) * rng.normal(size=(n, K))
    clean = np.exp(sharp) / np.exp(sharp).sum(axis=1, keepdims=True)
    true = (rng.random(n)[:, None] > clean.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    given = (rng.random(n)[:, None] > flips[true].cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    return clean, true, given


@pytest.mark.parametrize("kind", ["symmetric", "pair"])
def test_flips_are_counted_among_the_surest_rows(kind: str) -> None:
    flips = transition_matrix(kind, 0.2, K)  # type: ignore[arg-type]
    clean, _, given = simulated(flips)
    counts = anchor_counts(clean @ flips, given)
    found = estimate_transition(counts)
    # 60 anchors a class: four standard errors of a share of 0.2, and of 0 for what never happens
    assert np.abs(found - flips).max() < 4 * np.sqrt(0.2 * 0.8 / 60)
    assert np.allclose(found.sum(axis=1), 1)


def test_equal_rates_are_pooled_and_different_ones_are_not() -> None:
    alike = np.array([[46.0, 4.0], [6.0, 44.0]])
    rates = 1 - np.diag(estimate_transition(alike))
    assert abs(rates[0] - rates[1]) < 0.01
    apart = np.array([[50.0, 0.0], [25.0, 25.0]])
    rates = 1 - np.diag(estimate_transition(apart))
    assert rates[1] - rates[0] > 0.4


def test_a_class_that_is_never_predicted_gets_the_common_rate() -> None:
    counts = np.array([[45.0, 5.0, 0.0], [5.0, 45.0, 0.0], [0.0, 0.0, 0.0]])
    found = estimate_transition(counts)
    assert np.isfinite(found).all()
    assert 0.05 < 1 - found[2, 2] < 0.15


def test_a_matrix_of_pure_chance_can_still_be_inverted() -> None:
    found = estimate_transition(np.full((2, 2), 25.0))
    assert np.linalg.cond(found) < 100


def test_the_probability_of_a_wrong_label_is_calibrated() -> None:
    flips = transition_matrix("pair", 0.2, K)
    clean, true, given = simulated(flips)
    found = fit_posterior(clean @ flips, given)
    wrong = given != true
    for low, high in ((0.0, 0.05), (0.95, 1.01)):
        inside = (found.wrong >= low) & (found.wrong < high)
        error = 4 * np.sqrt(0.25 / inside.sum())
        assert abs(wrong[inside].mean() - found.wrong[inside].mean()) < min(error, 0.1)


def test_pair_flips_are_ranked_better_than_by_the_loss() -> None:
    flips = transition_matrix("pair", 0.2, K)
    clean, true, given = simulated(flips)
    seen = clean @ flips
    wrong = given != true
    by_loss = roc_auc_score(wrong, -seen[np.arange(len(given)), given])
    assert roc_auc_score(wrong, fit_posterior(seen, given).wrong) > by_loss + 0.02


def test_flips_are_taken_out_of_the_probabilities() -> None:
    flips = transition_matrix("pair", 0.2, K)
    clean, _, given = simulated(flips)
    found = clean_probabilities(clean @ flips, given, flips)
    assert np.abs(found - clean).mean() < 0.02
    assert np.abs(clean @ flips - clean).mean() > 0.05


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_the_interval_has_the_share_of_wrong_labels(rate: float) -> None:
    hits = 0
    for seed in range(10):
        flips = transition_matrix("symmetric", rate, K)
        clean, true, given = simulated(flips, 2000, seed)
        seen = clean @ flips
        found = estimate_rate(fit_posterior(seen, given), measure_predictability(seen, given))
        assert found is not None
        hits += found.low <= (given != true).mean() <= found.high
    assert hits >= 7  # at 95 % fewer than 7 of 10 have probability 0.001
