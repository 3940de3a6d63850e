"""Gradients of a linear correction: of many rows in single precision, next to the same."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.models import corrections
from rdiv.models.corrections import class_residuals, linear_correction
from rdiv.samples import Pool

RNG = np.random.default_rng


@pytest.mark.parametrize("classes", [1, 3])
def test_in_single_precision(monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    """Columns far from 0, of any unit, constant, and with missing numbers."""
    x = RNG(0).normal(size=(3000, 4)) * [1.0, 1e-9, 1e5, 0.0] + [0.0, 0.0, 1.7e9, 3.0]
    x[5, 1], x[7, 2] = np.nan, np.inf
    residuals = RNG(1).normal(size=(3000, classes))
    double = linear_correction(residuals, Pool(x))
    monkeypatch.setattr(corrections, "MOST_DOUBLE", 0)
    monkeypatch.setattr(corrections, "BLOCK", 700)
    single = linear_correction(residuals, Pool(x))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5)
    plain = x.astype(np.float32)[:, 2]  # the broken variant: rounded before they are centred
    finite = np.isfinite(plain)
    scaled = (plain[finite] - plain[finite].mean()) / plain[finite].std()
    own = residuals[finite, 0] * scaled
    assert np.abs(own - double[finite, 3]).max() > 20 * np.abs(single - double).max()


def test_residuals_of_two_classes() -> None:
    chance = RNG(2).uniform(size=50)
    y = RNG(3).integers(2, size=50)
    found = class_residuals(np.stack([1 - chance, chance], axis=1), y)
    assert np.array_equal(found[:, 0], [p - own for p, own in zip(chance, y, strict=True)])
