"""ME against double loops in every design, its settings, and what learning buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rdiv import two_sample_test
from rdiv.discrepancies import MeanEmbedding
from rdiv.discrepancies.mean_features.features import FeatureMeans
from rdiv.discrepancies.mean_features.mean_embedding import gaussian_kernel
from rdiv.inference.masks import mask_sampler, random_subsets
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.trains

N, D, J, WIDTH, RIDGE = 12, 2, 3, 0.8, 1e-3
RNG = np.random.default_rng(0)
X, LOCATIONS = RNG.normal(size=(N, D)), RNG.normal(size=(J, D))


def kernel_values(x: np.ndarray) -> np.ndarray:
    """Row by row, location by location."""
    return np.array(
        [
            [np.exp(-sum((a - v) ** 2) / (2 * WIDTH**2)) for v in LOCATIONS]
            for a in x
        ]
    )  # fmt: skip


def slow_statistic(values: np.ndarray, mask: np.ndarray, units: np.ndarray | None = None) -> float:
    """Hotelling's statistic from the definition: units are rows, or the groups of rows."""
    units = np.arange(len(values)) if units is None else units
    gap, covariance = np.zeros(values.shape[1]), np.zeros((values.shape[1],) * 2)
    for rows, sign in ((mask, 1), (~mask, -1)):
        n, mean = rows.sum(), values[rows].mean(axis=0)
        gap += sign * mean
        sums = [
            sum(values[i] - mean for i in range(len(values)) if rows[i] and units[i] == unit)
            for unit in set(units[rows])
        ]
        count = len(sums)
        covariance += sum(np.outer(s, s) for s in sums) * count / (count - 1) / n**2
        covariance += RIDGE / n * np.eye(values.shape[1])
    return float(gap @ np.linalg.inv(covariance) @ gap)


def settled(**settings: Any) -> FeatureMeans:
    return FeatureMeans(
        lambda x: gaussian_kernel(x, LOCATIONS, WIDTH)[0], regularization=RIDGE, **settings
    )


def statistic(test: FeatureMeans, masks: np.ndarray, **design: Any) -> np.ndarray:
    return test.prepare(Pool(X, **design), RNG).statistic(masks)


@pytest.mark.parametrize("n_p", [2, 5, 6])
def test_agrees_with_the_definition_for_every_mask(n_p: int) -> None:
    masks = random_subsets(np.random.default_rng(1), 8, N, n_p)
    slow = [slow_statistic(kernel_values(X), mask) for mask in masks]
    np.testing.assert_allclose(statistic(settled(), masks), slow, rtol=1e-8)


def test_equal_sizes_are_the_papers_formula_without_its_pairing() -> None:
    mask = np.arange(N) < N // 2
    p, q = kernel_values(X[mask]), kernel_values(X[~mask])
    pooled = np.cov(p.T) + np.cov(q.T)  # the covariance of k(x, v) - k(y, v) for independent x, y
    gap = p.mean(axis=0) - q.mean(axis=0)
    paper = N / 2 * gap @ np.linalg.inv(pooled + 2 * RIDGE * np.eye(J)) @ gap
    assert statistic(settled(), mask[None])[0] == pytest.approx(paper)


def test_the_plain_statistic_is_the_size_of_the_gaps() -> None:
    masks = random_subsets(np.random.default_rng(2), 5, N, 4)
    values = kernel_values(X)
    slow = [
        np.sqrt(sum((values[m][:, j].mean() - values[~m][:, j].mean()) ** 2 for j in range(J)) / J)
        for m in masks
    ]
    np.testing.assert_allclose(statistic(settled(normalized=False), masks), slow, rtol=1e-9)


def test_groups_have_the_covariance_of_their_sums() -> None:
    groups = np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 5])
    masks = mask_sampler(groups < 3, groups)(np.random.default_rng(3), 6)
    slow = [slow_statistic(kernel_values(X), mask, groups) for mask in masks]
    np.testing.assert_allclose(statistic(settled(), masks, groups=groups), slow, rtol=1e-8)


def test_strata_are_compared_within_themselves() -> None:
    strata = np.arange(N) % 3
    masks = mask_sampler(np.arange(N) < 6, strata=strata)(np.random.default_rng(4), 6)
    values = kernel_values(X)
    for s in range(3):
        values[strata == s] -= values[strata == s].mean(axis=0)
    slow = [slow_statistic(values, mask) for mask in masks]
    np.testing.assert_allclose(statistic(settled(), masks, strata=strata), slow, rtol=1e-8)
    shifted = X + 100.0 * strata[:, None]  # a shift of a whole stratum is no difference
    far = FeatureMeans(lambda x: x, normalized=False).prepare(Pool(shifted, strata=strata), RNG)
    near = FeatureMeans(lambda x: x, normalized=False).prepare(Pool(X, strata=strata), RNG)
    np.testing.assert_allclose(far.statistic(masks), near.statistic(masks), rtol=1e-9)


def test_learning_finds_a_local_difference_and_says_how_far_it_climbed() -> None:
    rng = np.random.default_rng(5)
    p, q = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    q[:45] = 1.5 + 0.1 * rng.normal(size=(45, 2))
    result = two_sample_test(p, q, "me", rng=0)
    assert result.pvalue <= 0.01
    assert result.notes["rows tested"] == 300
    before, after = result.notes["objective"]
    assert after >= before > 0


def test_random_locations_need_no_labels_and_test_all_rows() -> None:
    rng = np.random.default_rng(6)
    p, q = rng.normal(size=(80, 2)), rng.normal(size=(60, 2)) + 1
    result = two_sample_test(p, q, MeanEmbedding(optimize=False), rng=0)
    assert result.pvalue == 0.001
    assert "rows tested" not in result.notes
    assert not MeanEmbedding(optimize=False).learns


def test_what_is_learned_does_not_depend_on_the_unit_of_the_inputs() -> None:
    rng = np.random.default_rng(7)
    x, is_p = rng.normal(size=(60, 2)), np.arange(60) < 25
    x[is_p] *= 2
    small, large = (
        MeanEmbedding(3).learn(Pool(x * unit), is_p, np.random.default_rng(8))
        for unit in (1.0, 1024.0)  # a power of two: not one bit changes
    )
    np.testing.assert_array_equal(small.features(x), large.features(1024.0 * x))
    assert large.notes["bandwidth"] == 1024.0 * small.notes["bandwidth"]


def test_groups_and_strata_of_a_whole_test() -> None:
    rng = np.random.default_rng(9)
    p, q = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 1.5
    codes = np.arange(80) // 2
    grouped = two_sample_test(p, q, MeanEmbedding(3), groups=(codes, codes + 40), rng=0)
    stratified = two_sample_test(p, q, MeanEmbedding(3), strata=(codes % 4, codes % 4), rng=0)
    assert (grouped.rejected, stratified.rejected) == (True, True)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_locations": 0}, "n_locations must be a whole number from 1 on, got 0"),
        ({"n_locations": 2.5}, "n_locations must be a whole number from 1 on, got 2.5"),
        ({"n_locations": True}, "n_locations must be a whole number from 1 on, got True"),
        ({"regularization": 0.0}, "regularization must be a positive number, got 0.0"),
        ({"regularization": np.nan}, "regularization must be a positive number, got nan"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        MeanEmbedding(**settings)


@pytest.mark.parametrize("optimize", [True, False])
def test_missing_values_are_named(optimize: bool) -> None:
    p, q = np.ones((40, 2)), np.ones((40, 2))
    q[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"me needs finite inputs, got .* in column 1"):
        two_sample_test(p, q, MeanEmbedding(optimize=optimize), rng=0)


def test_too_few_rows_to_halve_are_refused_with_the_number_needed() -> None:
    with pytest.raises(ValueError, match=r"needs at least \d+ rows in each sample, got 3"):
        two_sample_test(np.eye(3), np.eye(3) + 1, "me", rng=0)


def test_identical_rows_give_zero_and_no_failure() -> None:
    x = np.ones((40, 2))
    result = two_sample_test(x[:20], x[20:], "me", rng=0)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_enormous_inputs_stay_finite() -> None:
    rng = np.random.default_rng(12)
    p, q = 1e200 * rng.normal(size=(40, 2)), 1e200 * rng.normal(size=(40, 2))
    p[0, 0] = 1e300
    found = two_sample_test(p, q, MeanEmbedding(3), n_resamples=19, rng=0)
    assert np.isfinite(found.statistic)
    halved = two_sample_test(p / 2, q / 2, MeanEmbedding(3), n_resamples=19, rng=0)
    assert (found.pvalue > 0.05) == (halved.pvalue > 0.05)
