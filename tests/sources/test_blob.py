"""Blob: its constants and the moments of a million draws, cluster by cluster."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import rdiv
from rdiv.sources import Blob, blob

DRAWS = 1_000_000
STATED = (-0.020, -0.022, -0.024, -0.026, 0.0, 0.020, 0.022, 0.024, 0.026)
CENTRES = np.array([(i, j) for i in range(3) for j in range(3)], dtype=float)


def monomials(x: np.ndarray) -> np.ndarray:
    """1, dx, dy, dx^2, dy^2, dx dy: what makes weights, means, variances and covariances."""
    a, b = x[..., 0], x[..., 1]
    return np.stack([np.ones_like(a), a, b, a * a, b * b, a * b])


def expected(covariances: np.ndarray) -> np.ndarray:
    """E[monomials; inside the unit square of a cluster], ``(9, 6)``.

    Neighbouring clusters reach into the square (half a unit is 2.9 standard deviations), so the
    density of the whole mixture is integrated over it, by Gauss-Legendre.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    offsets = np.stack(np.meshgrid(nodes / 2, nodes / 2, indexing="ij"), axis=-1)
    weight = np.outer(weights, weights) / 4
    moments = np.empty((9, 6))
    for cell, centre in enumerate(CENTRES):
        density = 0.0
        for other, covariance in zip(CENTRES, covariances, strict=True):
            matrix = np.array([[0.03, covariance], [covariance, 0.03]])
            delta = offsets + centre - other
            power = np.einsum("...i,ij,...j->...", delta, np.linalg.inv(matrix), delta)
            density += np.exp(-power / 2) / (2 * np.pi * np.linalg.det(matrix) ** 0.5) / 9
        moments[cell] = (monomials(offsets) * density * weight).sum(axis=(1, 2))
    return moments


def assert_moments(x: np.ndarray, covariances: np.ndarray) -> None:
    for centre, wanted in zip(CENTRES, expected(covariances), strict=True):
        delta = x - centre
        inside = (np.abs(delta) < 0.5).all(axis=1)
        values = monomials(delta) * inside
        error = values.std(axis=1) / len(x) ** 0.5
        assert (np.abs(values.mean(axis=1) - wanted) < 5 * error).all(), centre


def test_the_constants_are_those_of_the_paper() -> None:
    assert blob.VARIANCE == 0.03
    assert blob.COVARIANCES == STATED


@pytest.mark.parametrize("null", [False, True])
def test_moments_of_a_million_draws(null: bool) -> None:
    p, q = Blob().draw(DRAWS, np.random.default_rng(1), null=null)
    assert p.shape == q.shape == (DRAWS, 2)
    assert_moments(p, np.zeros(9))
    assert_moments(q, np.zeros(9) if null else np.array(STATED))


def test_ratio() -> None:
    for ratio, rows in ((1.0, 10), (2.5, 25), (0.5, 5), (0.01, 1)):
        p, q = Blob(ratio=ratio).draw(10, np.random.default_rng(0))
        assert (len(p), len(q)) == (10, rows)
    for ratio in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="ratio must be positive"):
            Blob(ratio=ratio).draw(10, np.random.default_rng(0))


def test_draws_are_fresh_and_repeatable() -> None:
    rng = np.random.default_rng(0)
    first, second = Blob().draw(50, rng, null=True), Blob().draw(50, rng, null=True)
    again = Blob().draw(50, np.random.default_rng(0), null=True)
    assert len(np.unique(np.concatenate([*first, *second]), axis=0)) == 200
    np.testing.assert_array_equal(first, again)


def test_the_permutation_level_holds_under_the_null() -> None:
    def nulls(n: int, rng: np.random.Generator, null: bool) -> tuple[np.ndarray, np.ndarray]:
        return Blob().draw(n, rng, null=True)

    found = rdiv.power_study(
        nulls, "energy", sizes=40, trials=300, n_resamples=39, alpha=(0.05, 0.2)
    )
    table = found.table()
    counts = dict(zip(table["alpha"], table["rejections"], strict=True))
    assert set(counts) == {0.05, 0.2}
    for alpha, rejections in counts.items():
        low, high = binom.ppf([5e-5, 1 - 5e-5], 300, alpha)
        assert low <= rejections <= high
