"""Trained torch modules that are evaluated as they are."""

from __future__ import annotations

import numpy as np
import pytest

import rdiv
from rdiv.errors import InputError
from rdiv.models import Frozen

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(2, 60, 2))
LABELS = (X[..., 0] > 0).astype(int)


def linear(weights: list[list[float]]) -> Frozen:
    module = torch.nn.Linear(2, len(weights), bias=False)
    module.weight.data = torch.tensor(weights)
    return Frozen(module, trained_on="neither")


def risks(model: Frozen, *samples: object) -> tuple[float, float]:
    found = rdiv.two_sample_test(*samples, model=model, rng=0)
    assert found.risk_p is not None
    assert found.risk_q is not None
    return found.risk_p, found.risk_q


def test_regression() -> None:
    y = X @ np.array([1.0, 2.0])
    model = linear([[1.0, 2.0]])
    assert risks(model, (X[0], y[0]), (X[1], y[1] + 3)) == pytest.approx((0, 9), abs=1e-5)


@pytest.mark.parametrize("weights", [[[0.0, 0.0], [3.0, 0.0]], [[3.0, 0.0]]], ids=["two", "one"])
def test_classification(weights: list[list[float]]) -> None:
    """Two logits, or the logit of the second class."""
    margin = 3 * X[..., 0] * np.where(LABELS, 1, -1)
    wanted = np.log1p(np.exp(-margin)).mean(axis=1)
    found = risks(linear(weights), (X[0], LABELS[0]), (X[1], LABELS[1]))
    assert found == pytest.approx(wanted.tolist(), rel=1e-4)


def test_classes_that_the_samples_lack() -> None:
    """Of three logits the labels 0 and 2 have the first and the last."""
    model = linear([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    found = risks(model, (X[0], 2 * LABELS[0]), (X[1], 2 * LABELS[1]))
    assert max(found) < np.log(3)


def test_reconstruction() -> None:
    assert risks(linear([[1.0, 0.0], [0.0, 1.0]]), X[0], X[1]) == pytest.approx((0, 0), abs=1e-9)


def test_compare_leaves_the_module_alone() -> None:
    model = linear([[0.0, 0.0], [3.0, 0.0]])
    before = model.fitted.weight.clone()
    found = rdiv.compare((X[0], LABELS[0]), (X[1], 1 - LABELS[1]), model=model, rng=0)
    assert found.verdict == "risk shift"
    assert torch.equal(before, model.fitted.weight)


def test_modules_that_do_not_fit() -> None:
    with pytest.raises(InputError, match=r"evaluating Linear failed .*the samples' shape"):
        risks(linear([[1.0, 0.0]]), X[0][:, :1], X[1][:, :1])
    with pytest.raises(InputError, match="for density must give 2 numbers per row, got 1"):
        risks(linear([[1.0, 0.0]]), X[0], X[1])


def test_unlabelled_datasets_are_compared() -> None:
    class Rows(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self, x: np.ndarray) -> None:
            self.x = torch.tensor(x)

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, place: int) -> object:
            return self.x[place]

    found = rdiv.compare(Rows(X[0]), Rows(3 * X[1]), rng=0)
    assert found.drivers is not None
    row = found.drivers.rows[0]
    assert row.cells == {f"column {j}": 3 * X[1][row.index, j] for j in range(2)}
