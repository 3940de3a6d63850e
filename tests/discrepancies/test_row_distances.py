"""Energy distances of splits: all pairs against a double loop, landmarks against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.discrepancies import row_distances
from rdiv.discrepancies.row_distances import (
    energies,
    energy_of_landmarks,
    energy_of_pairs,
    landmark_features,
    most_landmarks,
)
from rdiv.inference.masks import random_subsets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) * [1.0, 5.0, 0.1]
MASKS = random_subsets(np.random.default_rng(1), 12, 40, 11)


def double_loop(p: np.ndarray, q: np.ndarray) -> float:
    def mean_distance(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.mean([[np.linalg.norm(x - y) for y in b] for x in a]))

    return 2 * mean_distance(p, q) - mean_distance(p, p) - mean_distance(q, q)


def test_all_pairs_equal_the_double_loop() -> None:
    slow = [double_loop(X[mask], X[~mask]) for mask in MASKS]
    np.testing.assert_allclose(energy_of_pairs(X)(MASKS), slow, rtol=1e-9)


def test_every_row_as_a_landmark_gives_the_distance_itself() -> None:
    """The centre of the kernel is the mean, so a row there makes the landmarks complete."""
    centred = np.concatenate([X, X.mean(axis=0, keepdims=True)])
    masks = np.concatenate([MASKS, np.zeros((12, 1), bool)], axis=1)
    found = energy_of_landmarks(centred, len(centred))(masks)
    np.testing.assert_allclose(found, energy_of_pairs(centred)(masks), rtol=1e-6)


def test_few_landmarks_keep_the_order_of_splits() -> None:
    x = RNG.normal(size=(400, 5))
    x[:100] += 0.7
    masks = random_subsets(np.random.default_rng(2), 200, 400, 100)
    masks[0] = np.arange(400) < 100
    order = np.random.default_rng(3).permutation(400)  # landmarks are the first rows
    few, pairs = (energy(masks[:, order]) for energy in
                  (energy_of_landmarks(x[order], 60), energy_of_pairs(x[order])))  # fmt: skip
    assert few.argmax() == pairs.argmax() == 0
    assert np.corrcoef(few[1:], pairs[1:])[0, 1] > 0.8


def test_large_samples_use_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_distances, "PAIRS_UP_TO", 39)
    monkeypatch.setattr(row_distances, "LANDMARKS", 7)
    assert landmark_features(X, most_landmarks(40)).shape == (40, 7)
    np.testing.assert_allclose(energies(X)(MASKS), energy_of_landmarks(X, 7)(MASKS))


def test_the_numbers_fit_in_memory() -> None:
    assert most_landmarks(10_000) == row_distances.LANDMARKS
    assert most_landmarks(1_000_000) * 1_000_000 <= row_distances.MOST_NUMBERS


@pytest.mark.parametrize("energy", [energy_of_pairs, energy_of_landmarks])
def test_identical_samples_have_distance_0(energy: object) -> None:
    twice = np.concatenate([X, X])
    found = energy(twice)(np.arange(80)[None] < 40)  # type: ignore[operator]
    assert found[0] == 0.0


def test_constant_rows_do_not_differ() -> None:
    for energy in (energy_of_pairs, energy_of_landmarks):
        assert (energy(np.ones((40, 2)))(MASKS) == 0).all()
        assert (energy(np.ones((40, 0)))(MASKS) == 0).all()
