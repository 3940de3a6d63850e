"""MMD-O against double loops, and its bandwidth rules."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv import two_sample_test
from rdiv.discrepancies import GaussianMmd
from rdiv.discrepancies.gram import gaussian_gram, pair_sums, squared_distances, unbiased_mmd
from rdiv.inference.masks import random_subsets
from rdiv.samples.pool import Pool


def slow_mmd(p: np.ndarray, q: np.ndarray, bandwidth: float) -> float:
    """The definition, pair by pair."""

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-((a - b) ** 2).sum() / (2 * bandwidth**2)))

    within = [
        np.mean([kernel(x[i], x[j]) for i in range(len(x)) for j in range(len(x)) if i != j])
        for x in (p, q)
    ]
    return within[0] + within[1] - 2 * np.mean([kernel(a, b) for a in p for b in q])


def test_agrees_with_the_definition_for_every_mask() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3))
    masks = random_subsets(rng, 8, 12, 5)
    values = unbiased_mmd(gaussian_gram(x, 1.3))(masks)
    slow = [slow_mmd(x[mask], x[~mask], 1.3) for mask in masks]
    np.testing.assert_allclose(values, slow, rtol=1e-10)


def test_pair_sums_count_each_pair() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(9, 9))
    matrix = a + a.T
    mask = rng.random(9) < 0.5
    within_p, within_q, across, n_p, n_q = (part[0] for part in pair_sums(matrix)(mask[None]))
    assert (n_p, n_q) == (mask.sum(), (~mask).sum())
    assert within_p == pytest.approx(matrix[np.ix_(mask, mask)].sum())
    assert within_q == pytest.approx(matrix[np.ix_(~mask, ~mask)].sum())
    assert across == pytest.approx(matrix[np.ix_(mask, ~mask)].sum())


def test_distances_far_from_the_origin_keep_their_digits() -> None:
    x = 1e6 + np.random.default_rng(2).normal(size=(20, 2))
    direct = ((x[:, None] - x) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(x), direct, atol=1e-8)


def test_the_median_is_that_of_the_pool_whatever_the_labels() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 2))
    notes = GaussianMmd().prepare(Pool(x), rng).notes
    distances = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))[np.triu_indices(50, 1)]
    assert notes["bandwidth"] == pytest.approx(np.median(distances))


def test_identical_rows_give_zero_and_no_failure() -> None:
    x = np.ones((20, 2))
    result = two_sample_test(x[:10], x[10:], "mmd-o", rng=0)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_a_learned_bandwidth_finds_what_the_median_does_not() -> None:
    """Clusters far apart that differ in a small scale: the median looks at the wrong one."""
    rng = np.random.default_rng(4)

    def sample(spread: float) -> np.ndarray:
        return 20 * rng.integers(3, size=(300, 2)) + spread * rng.normal(size=(300, 2))

    p, q = sample(0.5), sample(1.5)
    learned = two_sample_test(p, q, GaussianMmd("power"), rng=0)
    assert learned.pvalue <= 0.01
    assert learned.notes["rows tested"] == 300
    assert learned.notes["bandwidth"] < two_sample_test(p, q, "mmd-o", rng=0).notes["bandwidth"] / 3


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, "mean", np.nan])
def test_bad_bandwidths_are_refused(bandwidth: object) -> None:
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        GaussianMmd(bandwidth)  # type: ignore[arg-type]


def test_too_many_rows_name_the_memory_and_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"needs 5 GB; use GaussianMmd\(subsample=10000\)"):
        GaussianMmd().prepare(Pool(np.zeros((25_000, 1))), np.random.default_rng(0))
    prepared = GaussianMmd(subsample=100).prepare(
        Pool(np.zeros((25_000, 1))), np.random.default_rng(0)
    )
    assert prepared.notes["rows compared"] == 100
