"""SCF against loops from the definition, its settings, and what it sees."""

from __future__ import annotations

from math import cos, exp, sin
from typing import Any

import numpy as np
import pytest

from rdiv import two_sample_test
from rdiv.discrepancies import SmoothCharacteristicFunction
from rdiv.discrepancies.mean_features.features import FeatureMeans
from rdiv.discrepancies.mean_features.smooth_cf import windowed_waves
from rdiv.inference.masks import random_subsets
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.trains

N, WIDTH, RIDGE = 12, 1.7, 1e-3
RNG = np.random.default_rng(0)
X, FREQUENCIES = RNG.normal(size=(N, 2)), RNG.normal(size=(3, 2))


def slow_features(x: np.ndarray) -> np.ndarray:
    """Window times sine, then window times cosine, one number at a time."""
    rows = []
    for a in x:
        window = exp(-(a[0] ** 2 + a[1] ** 2) / (2 * WIDTH**2))
        phases = [a[0] * f[0] + a[1] * f[1] for f in FREQUENCIES]
        rows.append([window * wave(phase) for wave in (sin, cos) for phase in phases])
    return np.array(rows)


def slow_statistic(mask: np.ndarray) -> float:
    p, q = slow_features(X[mask]), slow_features(X[~mask])
    gap = p.mean(axis=0) - q.mean(axis=0)
    ridge = RIDGE * (1 / len(p) + 1 / len(q)) * np.eye(6)
    return float(gap @ np.linalg.inv(np.cov(p.T) / len(p) + np.cov(q.T) / len(q) + ridge) @ gap)


def settled(**settings: Any) -> FeatureMeans:
    return FeatureMeans(
        lambda x: windowed_waves(x, FREQUENCIES, WIDTH)[0], regularization=RIDGE, **settings
    )


def test_agrees_with_the_definition_for_every_mask() -> None:
    masks = random_subsets(np.random.default_rng(1), 8, N, 5)
    values = settled().prepare(Pool(X), RNG).statistic(masks)
    np.testing.assert_allclose(values, [slow_statistic(mask) for mask in masks], rtol=1e-8)


def test_the_plain_statistic_is_the_size_of_the_gaps() -> None:
    masks = random_subsets(np.random.default_rng(2), 5, N, 4)
    gaps = [slow_features(X[m]).mean(axis=0) - slow_features(X[~m]).mean(axis=0) for m in masks]
    values = settled(normalized=False).prepare(Pool(X), RNG).statistic(masks)
    np.testing.assert_allclose(values, [np.sqrt(np.mean(g**2)) for g in gaps], rtol=1e-9)


def test_the_window_is_the_literatures_after_dividing_by_the_width() -> None:
    """Chwialkowski et al. divide inputs by the width and use exp(-|x|^2 / 2): the same family."""
    theirs = windowed_waves(X / WIDTH, WIDTH * FREQUENCIES, 1.0)[0]
    np.testing.assert_allclose(windowed_waves(X, FREQUENCIES, WIDTH)[0], theirs, rtol=1e-12)


def test_learning_finds_a_difference_that_repeats() -> None:
    """A ripple on a wide density: every place differs a little."""
    rng = np.random.default_rng(3)
    p, q = rng.uniform(-5, 5, size=(400, 1)), rng.uniform(-5, 5, size=(1600, 1))
    q = q[rng.random(1600) < (1 + np.sin(4 * q[:, 0])) / 2][:400]
    result = two_sample_test(p, q, "scf", rng=0)
    assert result.pvalue <= 0.01
    before, after = result.notes["objective"]
    assert after >= before > 0
    blind = SmoothCharacteristicFunction(optimize=False)
    assert not blind.learns
    assert "rows tested" not in two_sample_test(p, q, blind, n_resamples=19, rng=0).notes


def test_groups_and_strata_of_a_whole_test() -> None:
    rng = np.random.default_rng(4)
    p, q = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 1.5
    codes, test = np.arange(80) // 2, SmoothCharacteristicFunction(2)
    grouped = two_sample_test(p, q, test, groups=(codes, codes + 40), rng=0)
    stratified = two_sample_test(p, q, test, strata=(codes % 4, codes % 4), rng=0)
    assert (grouped.rejected, stratified.rejected) == (True, True)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_frequencies": 0}, "n_frequencies must be a whole number from 1 on, got 0"),
        ({"regularization": -1.0}, "regularization must be a positive number, got -1.0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SmoothCharacteristicFunction(**settings)


def test_too_few_rows_to_halve_are_refused_with_the_number_needed() -> None:
    with pytest.raises(ValueError, match=r"needs at least \d+ rows in each sample, got 3"):
        two_sample_test(np.eye(3), np.eye(3) + 1, "scf", rng=0)


def test_identical_rows_give_zero_and_no_failure() -> None:
    x = np.ones((40, 2))
    result = two_sample_test(x[:20], x[20:], "scf", rng=0)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)
