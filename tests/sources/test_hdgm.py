"""HDGM: the moments of a million draws, cluster by cluster, and its rotation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import rdiv
from rdiv.sources import Hdgm

DRAWS = 1_000_000


def assert_mean(values: np.ndarray, wanted: float) -> None:
    """The mean is within five of its standard errors."""
    assert abs(values.mean() - wanted) < 5 * values.std() / len(values) ** 0.5


@pytest.mark.parametrize("null", [False, True])
def test_moments_of_a_million_draws(null: bool) -> None:
    """Moments of the mixture about its centre, up to those that tell the correlations.

    A row is s + e in every coordinate, s = -1/4 (first cluster) or 1/4, e normal with unit
    variance, correlation rho_s between the first two coordinates only. So E z0 z1 z2 is
    E s (rho_s + s^2), and E z0^2 z1^2 is s^4 + 2 s^2 + 4 s^2 E rho_s + 1 + 2 E rho_s^2.
    """
    square = 0.25**2
    for x, rho in zip(
        Hdgm(d=3).draw(DRAWS, np.random.default_rng(2), null=null),
        ((0.0, 0.0), (0.0, 0.0) if null else (0.5, -0.5)),
        strict=True,
    ):
        z = x - 0.25
        for i in range(3):
            assert_mean(z[:, i], 0.0)
            assert_mean(z[:, i] ** 2, 1 + square)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert_mean(z[:, i] * z[:, j], square)  # rho averages to 0
        third = -0.25 * (rho[0] + square) / 2 + 0.25 * (rho[1] + square) / 2
        assert_mean(z.prod(axis=1), third)
        spread = 1 + 2 * np.mean(np.square(rho))
        assert_mean(z[:, 0] ** 2 * z[:, 1] ** 2, square**2 + 2 * square + spread)
        assert_mean(z[:, 0] ** 2 * z[:, 2] ** 2, square**2 + 2 * square + 1)


def test_clusters_one_by_one() -> None:
    """With 600 columns the clusters are 12 standard deviations apart: the labels can be read."""
    p, q = Hdgm(d=600).draw(10_000, np.random.default_rng(3))
    for x, rhos in ((p, (0.0, 0.0)), (q, (0.5, -0.5))):
        second = x[:, 2:].mean(axis=1) > 0.25
        assert abs(second.mean() - 0.5) < 5 * 0.5 / len(x) ** 0.5
        for member, mean, rho in ((~second, 0.0, rhos[0]), (second, 0.5, rhos[1])):
            z = x[member][:, :3] - mean
            assert_mean(z[:, 0], 0.0)
            assert_mean(z[:, 1], 0.0)
            assert_mean(z[:, 0] ** 2, 1.0)
            assert_mean(z[:, 1] ** 2, 1.0)
            assert_mean(z[:, 0] * z[:, 1], rho)
            assert_mean(z[:, 0] * z[:, 2], 0.0)


@pytest.mark.parametrize("d", [2, 10, 50])
def test_rotation_turns_the_same_points(d: int) -> None:
    plain = Hdgm(d=d).draw(400, np.random.default_rng(4))
    turned = Hdgm(d=d, rotated=True).draw(400, np.random.default_rng(4))
    for x, y in zip(plain, turned, strict=True):
        np.testing.assert_allclose(y @ y.T, x @ x.T, atol=1e-10)  # all lengths and angles
        np.testing.assert_allclose(
            np.linalg.eigvalsh(np.cov(y.T)), np.linalg.eigvalsh(np.cov(x.T)), atol=1e-10
        )
    rotation = np.linalg.lstsq(plain[0], turned[0], rcond=None)[0]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(d), atol=1e-10)
    if d >= 10:  # the two directions that matter lie along no coordinate
        assert np.abs(rotation[:2]).max() < 0.9


def test_rotation_is_one_for_each_width() -> None:
    """Fresh draws are turned alike, or two samples would not be comparable."""
    first, second = (
        np.linalg.lstsq(
            Hdgm(d=5).draw(50, np.random.default_rng(seed))[0],
            Hdgm(d=5, rotated=True).draw(50, np.random.default_rng(seed))[0],
            rcond=None,
        )[0]
        for seed in (0, 1)
    )
    np.testing.assert_allclose(first, second, atol=1e-10)


def test_ratio_and_width() -> None:
    p, q = Hdgm(d=7, ratio=3).draw(20, np.random.default_rng(0))
    assert (p.shape, q.shape) == ((20, 7), (60, 7))
    with pytest.raises(ValueError, match="at least 2 columns, got d=1"):
        Hdgm(d=1)


@pytest.mark.parametrize("rotated", [False, True])
def test_the_permutation_level_holds_under_the_null(rotated: bool) -> None:
    source = Hdgm(d=4, rotated=rotated, ratio=1.5)

    def nulls(n: int, rng: np.random.Generator, null: bool) -> tuple[np.ndarray, np.ndarray]:
        return source.draw(n, rng, null=True)

    found = rdiv.power_study(nulls, "energy", sizes=30, trials=300, n_resamples=39)
    assert found.table()["rejections"][0] <= binom.ppf(1 - 5e-5, 300, 0.05)
