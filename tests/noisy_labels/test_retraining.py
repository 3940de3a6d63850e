"""Objectives by hand, and retraining that is plain training where nothing is noisy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rdiv.models import Mlp, Training  # noqa: E402
from rdiv.noisy_labels.labelled import pool_labelled  # noqa: E402
from rdiv.noisy_labels.retraining import OBJECTIVES, batch_risk, retrain  # noqa: E402

P = torch.tensor([[0.7, 0.3], [0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], dtype=torch.float64)
Y = torch.tensor([0, 0, 1, 1])
SUSPICION = torch.tensor([0.1, 3.0, 2.0, 0.2], dtype=torch.float64)
WRONG = torch.tensor([0.0, 0.5, 1.0, 0.0], dtype=torch.float64)


def risk(objective: str, share: float = 0.5) -> float:
    return float(batch_risk(P.log(), Y, SUSPICION, WRONG, share, objective))


def test_objectives_by_hand() -> None:
    clean = -np.log([0.7, 0.4]).mean()
    noisy = -np.log([0.2, 0.1]).mean()
    assert risk("weighted") == pytest.approx(0.7 * clean + 0.3 * noisy)
    assert risk("difference") == pytest.approx(clean - noisy)
    doubted = [0.5 * -np.log(0.2) + 0.5 * -np.log(0.8), -np.log(0.9)]
    by_hand = np.mean([-np.log(0.7), *doubted, -np.log(0.4)])
    assert risk("complementary") == pytest.approx(by_hand)


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_without_noisy_rows_the_risk_is_the_mean_loss(objective: str) -> None:
    mean = -np.log([0.7, 0.2, 0.1, 0.4]).mean()
    assert risk(objective, 0.0) == pytest.approx(mean)


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_one_row_of_a_batch_is_always_clean(objective: str) -> None:
    assert np.isfinite(risk(objective, 0.99))


def test_the_complementary_loss_is_bounded_below_and_its_gradient_is_finite() -> None:
    logits = torch.tensor([[80.0, -80.0], [-80.0, 80.0]], requires_grad=True)
    y, order = torch.tensor([0, 0]), torch.tensor([1.0, 0.0])
    value = batch_risk(logits, y, order, torch.ones(2), 0.5, "complementary")
    value.backward()
    assert 0 <= float(value.detach()) < 200
    assert bool(torch.isfinite(logits.grad).all())


@pytest.mark.trains
def test_share_zero_is_plain_training() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    rows = pool_labelled(x, x[:, 0] > 0, rng=0)
    model = Mlp(hidden=(8,), training=Training(epochs=5, schedule="step"))
    plain = model.fit(rows.pool, np.random.default_rng(3))
    nothing = np.zeros(80)
    again = retrain(
        plain.recipe, rows.pool, nothing, nothing, 0.0, "complementary", np.random.default_rng(3)
    )
    assert np.allclose(plain.losses(rows.pool), again.losses(rows.pool), atol=1e-6)


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown objective 'harsh'"):
        risk("harsh")
