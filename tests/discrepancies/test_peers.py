"""The same statistic from other packages, on the same kernel; each test skips without its peer.

scipy's Kolmogorov-Smirnov and Wasserstein distances are compared in `test_loss_distribution.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import energy_distance

from rdiv import two_sample_test
from rdiv.discrepancies import Energy, GaussianMmd
from rdiv.discrepancies.gram import gaussian_gram, pair_sums
from rdiv.discrepancies.mean_features.features import FeatureMeans
from rdiv.discrepancies.mean_features.mean_embedding import gaussian_kernel
from rdiv.discrepancies.mean_features.smooth_cf import windowed_waves
from rdiv.inference.masks import random_subsets
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs, on import and of deprecations

RNG = np.random.default_rng(0)
P, Q = RNG.normal(size=(30, 3)), 1.2 * RNG.normal(size=(22, 3)) + 0.3


def peer(name: str) -> Any:
    """A peer, or a skip: also when it is installed and its import fails."""
    return pytest.importorskip(name, exc_type=ImportError)


def ours(test: Any, p: np.ndarray = P, q: np.ndarray = Q) -> float:
    return two_sample_test(p, q, test, n_resamples=19, rng=0).statistic


def test_energy_is_scipys_square_in_one_dimension() -> None:
    theirs = energy_distance(P[:, 0], Q[:, 0]) ** 2  # scipy takes the root
    assert ours(Energy(), P[:, :1], Q[:, :1]) == pytest.approx(theirs)


def test_energy_is_dcors() -> None:
    assert ours(Energy()) == pytest.approx(float(peer("dcor").energy_distance(P, Q)))


def test_energy_is_hyppos_biased_one() -> None:
    """Biased: averages over all pairs, the zero distances of a row to itself included.

    hyppo (0.5.2) multiplies the root of its distance covariance by what belongs to the square.
    """
    factor = 52**4 / (2 * 30**2 * 22**2)
    theirs = peer("hyppo.ksample").Energy(bias=True).statistic(P, Q) ** 2 / factor
    assert ours(Energy()) == pytest.approx(theirs)


@pytest.mark.parametrize("bandwidth", [0.5, 2.0])
def test_mmd_is_frouros(bandwidth: float) -> None:
    """Both unbiased, kernel ``exp(-d^2 / (2 bandwidth^2))``."""
    from functools import partial

    mmd = peer("frouros.detectors.data_drift").MMD
    kernel = partial(peer("frouros.utils.kernels").rbf_kernel, sigma=bandwidth)
    detector = mmd(kernel=kernel)
    detector.fit(X=P)
    theirs = detector.compare(X=Q)[0].distance
    assert ours(GaussianMmd(bandwidth)) == pytest.approx(theirs, abs=1e-12)


def hyppo_mmd(masks: np.ndarray, x: np.ndarray, *, bias: bool) -> np.ndarray:
    """Their number is an HSIC: the MMD over a norm that depends on the pool and the sizes alone."""
    test = peer("hyppo.ksample").MMD(bias=bias, gamma=1 / (2 * 1.5**2))
    return np.array([test.statistic(x[mask], x[~mask]) for mask in masks])


def test_mmd_with_the_diagonal_is_proportional_to_hyppos_biased_one() -> None:
    x, masks = np.concatenate([P, Q]), random_subsets(np.random.default_rng(1), 6, 52, 30)
    within_p, within_q, across, n_p, n_q = pair_sums(gaussian_gram(x, 1.5))(masks)
    biased = within_p / n_p**2 + within_q / n_q**2 - 2 * across / (n_p * n_q)
    ratios = hyppo_mmd(masks, x, bias=True) ** 2 / biased  # theirs is the root
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)


def test_unbiased_mmd_of_equal_sizes_ranks_splits_as_hyppos_does() -> None:
    """With as many rows in p as in q one is a linear function of the other: the same p-values."""
    x, masks = np.concatenate([P, Q]), random_subsets(np.random.default_rng(2), 8, 52, 26)
    mmd = GaussianMmd(1.5).prepare(Pool(x), RNG).statistic(masks)
    theirs = hyppo_mmd(masks, x, bias=False)
    slope, level = np.polyfit(mmd, theirs, 1)
    assert slope > 0
    np.testing.assert_allclose(slope * mmd + level, theirs, atol=1e-9 * np.ptp(theirs))


def every_pair() -> tuple[np.ndarray, np.ndarray]:
    """Every row of one sample beside every row of the other.

    hyppo pairs the rows of p and q and takes the covariance of differences, in which products of
    the two samples are left over. Here these cancel exactly, and its definition is ours.
    """
    p, q = P[:8], Q[:9]
    return np.repeat(p, len(q), axis=0), np.tile(q, (len(p), 1))


def mean_features(features: Any, p: np.ndarray, q: np.ndarray) -> float:
    test = FeatureMeans(features, regularization=1e-14)  # hyppo has none
    prepared = test.prepare(Pool(np.concatenate([p, q])), RNG)
    return float(prepared.statistic(np.arange(len(p) + len(q))[None] < len(p))[0])


def test_me_is_hyppos_at_its_locations() -> None:
    p, q = every_pair()
    theirs = peer("hyppo.ksample").MeanEmbeddingTest(num_randfreq=4).statistic(p, q, 7)
    locations = np.random.RandomState(7).randn(4, 3)  # what their seed draws
    assert mean_features(lambda x: gaussian_kernel(x, locations, 1.0)[0], p, q) == pytest.approx(
        theirs, rel=1e-7
    )


def test_scf_is_hyppos_at_its_frequencies() -> None:
    p, q = every_pair()
    theirs = peer("hyppo.ksample").SmoothCFTest(num_randfreq=2).statistic(p, q, 7)
    frequencies = np.random.RandomState(7).randn(3, 2).T  # what their seed draws
    assert mean_features(lambda x: windowed_waves(x, frequencies, 1.0)[0], p, q) == pytest.approx(
        theirs, rel=1e-7
    )
