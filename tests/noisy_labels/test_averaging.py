"""Probabilities of wrong labels, averaged over rates of flips and powers of the model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rdiv.noisy_labels import averaging, flip_labels, transition_matrix
from rdiv.noisy_labels.averaging import POWERS, RATES, SURE_MISTAKES, averaged_wrong, in_order
from rdiv.remarks import SUSPECTED_LABELS


def planted(
    n_classes: int, rate: float, seed: int, n: int = 600
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions of a right model of clean labels, the labels, and those given."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, n_classes))
    predicted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = np.array([rng.choice(n_classes, p=row) for row in predicted])
    return predicted, true, flip_labels(true, "symmetric", rate, rng=seed)


def slowly(
    predicted: np.ndarray, given: np.ndarray, flips: np.ndarray, error: float
) -> list[float]:
    """The same by Bayes' rule, one row, rate, power and class at a time."""
    n_classes = predicted.shape[1]
    steps = np.gradient(RATES)
    logs, found = [], []
    for power in POWERS:
        for rate, step in zip(RATES, steps, strict=True):
            share = SURE_MISTAKES * max(error - rate, 0) * n_classes / (n_classes - 1)
            fit, wrong = 0.0, []
            for row, label in zip(predicted, given, strict=True):
                raised = row**power / sum(row**power)
                clean = (1 - share) * raised + share / n_classes
                chances = [
                    clean[k] * (1 - rate if k == label else rate / (n_classes - 1))
                    for k in range(n_classes)
                ]
                fit += np.log(sum(chances))
                wrong.append(1 - chances[label] / sum(chances))
            logs.append(fit + np.log(step * (rate + 0.01)))
            found.append(wrong)
    weights = np.exp(np.array(logs) - max(logs))
    return list(weights @ np.array(found) / weights.sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_against_a_slow_computation(n_classes: int) -> None:
    predicted, _, given = planted(n_classes, 0.2, 1, n=40)
    flips = transition_matrix("symmetric", 0.13, n_classes)
    error = float((predicted.argmax(axis=1) != given).mean())
    quick = averaged_wrong(predicted, given, flips, error)
    assert quick == pytest.approx(slowly(predicted, given, flips, error), abs=1e-3)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    predicted, _, given = planted(3, 0.1, 2)
    flips = transition_matrix("symmetric", 0.1, 3)
    whole = averaged_wrong(predicted, given, flips, 0.3)
    monkeypatch.setattr(averaging, "BLOCK", 7)
    assert averaged_wrong(predicted, given, flips, 0.3) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("rate", [0.1, 0.2])
def test_probabilities_hold_where_the_model_is_right(rate: float) -> None:
    """The sum of all claims is near the number of flips."""
    off, spread = 0.0, 0.0
    for seed in range(5):
        predicted, true, given = planted(2, rate, seed)
        flips = transition_matrix("symmetric", rate, 2)
        error = float((predicted.argmax(axis=1) != given).mean())
        wrong = averaged_wrong(predicted, given, flips, error)
        off += wrong.sum() - (given != true).sum()
        spread += len(given) * rate * (1 - rate)
    # the rate itself is estimated: about as uncertain as the count
    assert abs(off) < 4 * np.sqrt(2 * spread) + 0.05 * 5 * 600


def test_the_remark_says_what_was_measured() -> None:
    """What panel and page say of the probabilities is the figure of the page."""
    page = Path(__file__).parents[2] / "docs" / "measured" / "label_certainty.md"
    found = re.search(r"on average and ([0-9.]+) in absolute terms", page.read_text("utf-8"))
    assert found is not None
    assert f"off by {float(found[1]):.2f} on average" in SUSPECTED_LABELS


def test_the_order_is_kept() -> None:
    rng = np.random.default_rng(3)
    wrong, order = rng.random(50), rng.permutation(50)
    smooth = in_order(wrong, order)
    assert (np.diff(smooth[np.argsort(order)]) >= 0).all()
    assert smooth.mean() == pytest.approx(wrong.mean())
