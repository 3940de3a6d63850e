"""The density ratio: near the true one, equal where nothing moved, and small without overlap."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rdiv.comparison import density_ratio as ratios
from rdiv.comparison.density_ratio import LARGEST, DensityRatio, density_ratio
from rdiv.comparison.split import LEAST_COVERED

Floats = NDArray[np.float64]


def found(x: Floats, n_p: int, seed: int = 0) -> DensityRatio:
    is_p, fold = np.arange(len(x)) < n_p, np.arange(len(x)) % 5
    return density_ratio(x, is_p, fold, np.random.default_rng(seed))


def test_of_a_shift_it_is_near_the_true_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    x[1500:, 1] += 0.8
    ratio = found(x, 1500)
    true = np.exp(0.8 * x[:1500, 1] - 0.32)
    assert ratio.weights.mean() == pytest.approx(1)
    assert np.corrcoef(np.log(ratio.weights), np.log(true))[0, 1] > 0.95
    assert np.mean((ratio.weights - true) ** 2) < 0.1 * true.var()
    weighted = np.average(x[:1500], axis=0, weights=ratio.weights)
    errors = x[1500:].std(axis=0) * np.sqrt(1 / 1500 + 1 / ratio.effective_rows)
    assert (np.abs(weighted - x[1500:].mean(axis=0)) < 4 * errors).all()
    assert ratio.covered == pytest.approx(1, abs=0.1)


def test_trees_see_what_a_line_does_not() -> None:
    """The spread grew: no linear score tells the samples apart."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3000, 2))
    x[1500:, 0] *= 1.4
    weights = found(x, 1500).weights
    far = np.abs(x[:1500, 0]) > 1.5
    assert weights[far].mean() > 1.3 > 1 > weights[~far].mean()


def test_samples_of_other_sizes() -> None:
    """The share of the samples is not part of the weights."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2400, 1))
    x[400:, 0] += 0.5
    ratio = found(x, 400)
    assert ratio.covered == pytest.approx(1, abs=0.15)
    assert np.corrcoef(ratio.weights, np.exp(0.5 * x[:400, 0]))[0, 1] > 0.9


def test_samples_alike_have_equal_weights() -> None:
    """Mostly: noise wins over a constant in few draws, and then says little."""
    equal = 0
    for seed in range(10):
        ratio = found(np.random.default_rng([5, seed]).normal(size=(600, 4)), 300, seed)
        equal += bool((ratio.weights == 1).all())
        assert ratio.effective_rows > 270
    assert equal >= 6


def test_effective_rows() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1000, 1))
    x[500:, 0] += 1.2
    ratio = found(x, 500)
    w = ratio.weights
    assert ratio.effective_rows == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert ratio.effective_rows < 300
    assert w.max() <= LARGEST / ratio.covered


def test_no_overlap() -> None:
    rng = np.random.default_rng(4)
    x = rng.random(size=(400, 2))
    x[200:, 1] += 3
    assert found(x, 200).covered < LEAST_COVERED


def test_a_row_is_weighed_by_fits_without_its_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []

    class Spy:
        def fit(self, x: Floats, y: NDArray[np.bool_]) -> Spy:
            self.known = set(x[:, 0].tolist())
            return self

        def predict_proba(self, x: Floats) -> Floats:
            seen.append((len(x), len(self.known & set(x[:, 0].tolist()))))
            return np.full((len(x), 2), 0.5)

    monkeypatch.setattr(ratios, "_trees", lambda seed: Spy())
    monkeypatch.setattr(ratios, "_logistic", lambda seed: Spy())
    found(np.random.default_rng(0).normal(size=(100, 1)), 50)
    assert seen == [(20, 0)] * 10
