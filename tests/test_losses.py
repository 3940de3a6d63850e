"""Losses per row, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiv.losses import PROBABILITY_FLOOR, log_loss, reconstruction_error, squared_error


def test_log_loss_by_hand() -> None:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25]])
    found = log_loss(np.array([0, 2]), probabilities)
    np.testing.assert_allclose(found, [-np.log(0.7), -np.log(0.25)])
    assert found.dtype == np.float64


def test_an_impossible_row_costs_the_floor_and_no_more() -> None:
    found = log_loss(np.array([0, 0, 0]), [[0.0, 1.0], [-1e-9, 1.0], [1e-30, 1.0]])
    assert found.tolist() == [-np.log(PROBABILITY_FLOOR)] * 3
    assert found[0] == pytest.approx(27.631, abs=1e-3)


def test_a_certain_row_costs_nothing() -> None:
    assert log_loss(np.array([1]), [[0.0, 1.0]]).tolist() == [0.0]


def test_float32_probabilities() -> None:
    found = log_loss(np.array([0]), np.array([[0.5, 0.5]], dtype=np.float32))
    assert found.dtype == np.float64


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_log_loss_is_finite_and_not_negative(values: list[float]) -> None:
    probabilities = np.column_stack([values, 1 - np.array(values)])
    found = log_loss(np.zeros(len(values), dtype=int), probabilities)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_squared_error_by_hand() -> None:
    assert squared_error([1.0, 2.0], [1.5, -1.0]).tolist() == [0.25, 9.0]
    assert squared_error([[1.0, 2.0]], [[0.0, 4.0]]).tolist() == [5.0]  # several outputs
    assert squared_error([1, 0], [True, False]).tolist() == [0.0, 0.0]


def test_reconstruction_error_of_images() -> None:
    images = np.ones((2, 3, 4, 4))
    assert reconstruction_error(images, np.zeros_like(images)).tolist() == [48.0, 48.0]
