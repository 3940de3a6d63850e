"""Flips have the frequencies of their matrix, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from rdiv.noisy_labels import flip_labels, transition_matrix


@given(
    kind=st.sampled_from(["symmetric", "pair"]),
    rate=st.floats(0, 0.999),
    n_classes=st.integers(2, 12),
)
def test_rows_of_a_matrix_sum_to_one(kind: str, rate: float, n_classes: int) -> None:
    matrix = transition_matrix(kind, rate, n_classes)  # type: ignore[arg-type]
    assert np.allclose(matrix.sum(axis=1), 1)
    assert np.allclose(np.diag(matrix), 1 - rate)
    assert (matrix >= 0).all()


@pytest.mark.parametrize("kind", ["symmetric", "pair"])
def test_labels_flip_as_often_as_asked_and_where_asked(kind: str) -> None:
    y = np.random.default_rng(0).integers(4, size=4000)
    flipped = flip_labels(y, kind, 0.3, rng=1)  # type: ignore[arg-type]
    moves = (flipped - y)[flipped != y] % 4
    assert binomtest(len(moves), len(y), 0.3).pvalue > 1e-4
    if kind == "pair":
        assert (moves == 1).all()
    else:
        assert binomtest(int((moves == 2).sum()), len(moves), 1 / 3).pvalue > 1e-4


def test_labels_may_be_text_and_stay_as_they_were() -> None:
    y = np.array(["owl", "cat", "dog"] * 20)
    before = y.copy()
    flipped = flip_labels(y, "pair", 0.5, rng=0)
    assert (y == before).all()
    after = {"cat": "dog", "dog": "owl", "owl": "cat"}
    assert all(new in (old, after[old]) for old, new in zip(y, flipped, strict=True))
    assert (flipped == flip_labels(y.tolist(), "pair", 0.5, rng=0)).all()


def test_rate_zero_changes_nothing() -> None:
    y = np.array([3, 1, 2, 3])
    assert (flip_labels(y, "symmetric", 0.0, rng=0) == y).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], "pair", 1.0), "rate must be a share of at least 0 and below 1, got 1.0"),
        (([0, 1], "pair", -0.1), "below 1, got -0.1"),
        (([0, 1], "pair", float("nan")), "below 1, got nan"),
        (([0, 1], "triple", 0.1), "kind must be 'symmetric' or 'pair'"),
        (([0, 0], "pair", 0.1), "at least two classes"),
        (([0, None], "pair", 0.1), "no missing values"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        flip_labels(*arguments)  # type: ignore[arg-type]
