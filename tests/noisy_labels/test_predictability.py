"""Clean labels that cannot be predicted are not called wrong, and claims are discounted."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.noisy_labels import LabelNoiseDetector, RobustClassifier, flip_labels
from rdiv.noisy_labels.predictability import Predictability, measure_predictability
from rdiv.report.noise_view import noise_page


def coins(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


@pytest.mark.trains
@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_coin_flips_give_no_interval_and_no_suspicion(model: str) -> None:
    x, y = coins()
    found = LabelNoiseDetector(model).fit(x, y, rng=0)
    assert found.noise_interval is None
    assert found.noise_rate == 0
    assert not found.suspected.any()
    assert np.isnan(found.probabilities).all()
    assert str(found).startswith("No label of 300 is suspected, as the model hardly predicts any")
    assert "cannot be told from labels that the model cannot predict: it misses" in str(found)
    assert "Labels cannot be judged" in noise_page(found)
    assert found.to_dict()["noise_interval"] is None


@pytest.mark.trains
def test_a_share_that_was_asked_for_is_ranked_but_not_given_probabilities() -> None:
    x, y = coins()
    found = LabelNoiseDetector("logistic", 0.1).fit(x, y, rng=0)
    assert found.suspected.sum() == 30
    assert np.isnan(found.rows()["probability"]).all()
    assert "cannot be told from" in str(found)
    assert "unknown" in noise_page(found)


@pytest.mark.trains
def test_training_on_coin_flips_keeps_every_row() -> None:
    x, y = coins()
    robust = RobustClassifier(random_state=0).fit(x, y)
    assert not robust.noise_.suspected.any()


@pytest.mark.trains
def test_on_predictable_labels_flips_are_still_counted() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=400)
    x = 4.0 * y[:, None] + rng.normal(size=(400, 2))
    given = flip_labels(y, "symmetric", 0.15, rng=2)
    found = LabelNoiseDetector("logistic").fit(x, given, rng=0)
    assert found.noise_interval is not None
    assert found.noise_interval.low <= (given != y).mean() <= found.noise_interval.high
    assert found.probabilities[given != y].mean() > 0.8
    assert found.probabilities[given == y].mean() < 0.1


def test_what_flips_do_not_explain() -> None:
    certain, doubtful = Predictability(0.1, 0.5), Predictability(0.3, 0.5)
    assert certain.explained(0.1) == 1
    assert doubtful.explained(0.1) == pytest.approx(0.5)  # 0.2 of 0.4 avoidable mistakes
    assert Predictability(0.5, 0.5).explained(0.6) == 0


def test_shares_are_counted_over_rows() -> None:
    predicted = np.array([[0.7, 0.2, 0.1]] * 3 + [[0.1, 0.2, 0.7]] * 2)
    found = measure_predictability(predicted, np.array([0, 0, 1, 2, 0]))
    assert (found.error, found.base_error) == pytest.approx((2 / 5, 2 / 5))
    assert found.skill == pytest.approx(0)
    assert not found.told_apart
