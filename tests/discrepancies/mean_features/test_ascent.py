"""The ascent: its gradient against finite differences, where it stops and what it learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rdiv.discrepancies import MeanEmbedding
from rdiv.discrepancies.mean_features import ascent as feature_ascent
from rdiv.discrepancies.mean_features.ascent import Training, climb, hotelling
from rdiv.discrepancies.mean_features.features import fit_scaling
from rdiv.discrepancies.mean_features.mean_embedding import gaussian_kernel
from rdiv.discrepancies.mean_features.smooth_cf import windowed_waves
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
Z, N_P, STEP = RNG.normal(size=(20, 3)), 8, 1e-6


def differences(function: Any, at: np.ndarray) -> np.ndarray:
    """Central differences, one coordinate at a time."""
    slopes = np.empty(at.size)
    for k in range(at.size):
        up, down = at.copy().reshape(-1), at.copy().reshape(-1)
        up[k] += STEP
        down[k] -= STEP
        slopes[k] = function(up.reshape(at.shape)) - function(down.reshape(at.shape))
    return (slopes / (2 * STEP)).reshape(at.shape)


def test_the_gradient_in_the_features_has_rank_one() -> None:
    features = RNG.normal(size=(20, 4))
    _, per_row, per_feature = hotelling(features, N_P, 1e-2)
    slopes = differences(lambda f: hotelling(f, N_P, 1e-2)[0], features)
    np.testing.assert_allclose(np.outer(per_row, per_feature), slopes, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("evaluate", [gaussian_kernel, windowed_waves])
@pytest.mark.parametrize("width", [0.6, 2.0])
def test_the_gradient_in_places_and_width(evaluate: Any, width: float) -> None:
    training = Training(Z, N_P, evaluate, 1e-3)
    at = np.append(RNG.normal(size=6), np.log(width))
    value, gradient = training.objective(at)
    assert value == pytest.approx(training.value(at))
    np.testing.assert_allclose(gradient, differences(training.value, at), rtol=1e-4, atol=1e-6)


def test_an_ascent_never_goes_down_and_keeps_the_width_in_its_bounds() -> None:
    training = Training(Z, N_P, gaussian_kernel, 1e-5)
    way = climb(training.objective, np.append(Z[[0, 9]], 0.0))
    values = [training.value(there) for there in way]
    assert values == sorted(values)
    assert len(way) == len(feature_ascent.STOPS)
    assert values[-1] > 1.5 * values[0]
    assert abs(way[-1][-1]) <= np.log(64) + 1e-9


def test_fewer_stops_are_the_beginning_of_the_same_way() -> None:
    training = Training(Z, N_P, gaussian_kernel, 1e-5)
    start = np.append(Z[[0, 9]], 0.0)
    whole, short = climb(training.objective, start), climb(training.objective, start, (0, 3))
    np.testing.assert_allclose(short, whole[:2])
    assert climb(training.objective, start, (0,))[0] is start


def test_taking_rows_keeps_the_sides() -> None:
    part = Training(Z, N_P, gaussian_kernel, 1e-5).take(np.array([1, 3, 7, 8, 15]))
    assert part.n_p == 3
    np.testing.assert_array_equal(part.z, Z[[1, 3, 7, 8, 15]])


def test_folds_hold_both_samples_and_whole_groups() -> None:
    groups = np.repeat(np.arange(15), 2)
    folds = feature_ascent._folds(groups, 12, np.random.default_rng(1))
    assert all(len(set(folds[groups == g])) == 1 for g in range(15))
    assert set(folds[:12]) == set(folds[12:]) == {0, 1, 2, 3}


def test_a_sample_of_one_group_still_learns() -> None:
    """One group a sample leaves nothing to choose by; the places climb all the same."""
    groups = np.array([0] * 10 + [1] * 10)
    apart = Z + 4.0 * groups[:, None]
    test = MeanEmbedding(2).learn(Pool(apart, groups=groups), groups == 0, np.random.default_rng(2))
    means = [test.features(apart)[groups == side].mean(axis=0) for side in (0, 1)]
    assert np.abs(means[0] - means[1]).max() > 0.2


def test_very_many_rows_are_learned_from_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_ascent, "MOST_ROWS", 500)
    monkeypatch.setattr(feature_ascent, "CHOICE_ROWS", 100)
    x, is_p = RNG.normal(size=(1500, 2)), np.arange(1500) < 900
    test = MeanEmbedding(2).learn(Pool(x), is_p, np.random.default_rng(3))
    assert test.notes["rows learned on"] == 1000
    few = MeanEmbedding(2).learn(Pool(x[:800]), is_p[:800] & (x[:800, 0] > 0), RNG)
    assert "rows learned on" not in few.notes


def test_the_unit_is_the_median_distance() -> None:
    x = RNG.normal(size=(300, 2))
    distances = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))[np.triu_indices(300, 1)]
    scaling = fit_scaling(x, np.random.default_rng(4))
    assert scaling.scale == pytest.approx(np.median(distances), rel=0.1)
    assert np.abs(scaling(np.array([[1e300, -1e300]]))).max() == 1e6
