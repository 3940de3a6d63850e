"""Score divergence: the definition written out, its dual form, what it sees and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks.calibration.checks import GivenGradients as Given

import rdiv
from rdiv.discrepancies import Score
from rdiv.discrepancies.score import ridge_squares
from rdiv.inference.masks import random_subsets
from rdiv.models import GaussianMixture, Ridge
from rdiv.samples import Pool

RNG = np.random.default_rng


def slow_parts(x: np.ndarray, mask: np.ndarray, ridge: float) -> tuple[float, float]:
    """Both parts of one split, column by column from the definition."""
    m = x.shape[1]
    t = np.empty(m)
    for j in range(m):
        p, q = x[mask, j], x[~mask, j]
        t[j] = (p.mean() - q.mean()) / np.sqrt(p.var(ddof=1) / len(p) + q.var(ddof=1) / len(q))
    whitened = np.linalg.inv(np.corrcoef(x.T) + ridge * np.eye(m))
    return float(t @ whitened @ t), float((t**4).sum())


@pytest.mark.parametrize("m", [2, 5, 30])
@pytest.mark.parametrize("n_p", [6, 4])
def test_both_parts_against_the_definition(m: int, n_p: int) -> None:
    x = RNG(m).normal(size=(12, m)) * np.arange(1, m + 1)
    masks = random_subsets(RNG(0), 20, 12, n_p)
    found = Score(Given(), ridge=0.2).prepare(Pool(x), RNG(0)).statistic(masks)
    expected = [slow_parts(x, mask, 0.2) for mask in masks]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_each_part_alone() -> None:
    x, masks = RNG(1).normal(size=(20, 3)), random_subsets(RNG(0), 9, 20, 8)
    both = Score(Given()).prepare(Pool(x), RNG(0)).statistic(masks)
    for place, part in enumerate(("ridge", "l4")):
        prepared = Score(Given(), part=part).prepare(Pool(x), RNG(0))
        assert prepared.combine is None
        np.testing.assert_allclose(prepared.statistic(masks)[:, 0], both[:, place])


def test_the_dual_form_is_the_same_number() -> None:
    scaled = RNG(2).normal(size=(10, 40))
    scaled = (scaled - scaled.mean(axis=0)) / scaled.std(axis=0)
    gaps = RNG(3).normal(size=(7, 40))
    inverse = np.linalg.inv(scaled.T @ scaled / 10 + 0.3 * np.eye(40))
    expected = np.einsum("bi,ij,bj->b", gaps, inverse, gaps)
    np.testing.assert_allclose(ridge_squares(scaled, 0.3)(gaps), expected, rtol=1e-9)


def test_the_reported_number_does_not_grow_with_the_rows() -> None:
    lengths = []
    for n in (300, 3000):
        x = RNG(4).normal(size=(2 * n, 2))
        x[:n, 0] += 1.0
        result = rdiv.two_sample_test(x[:n], x[n:], Score(Given()), n_resamples=19, rng=0)
        lengths.append(result.statistic)
    assert lengths[0] == pytest.approx(lengths[1], rel=0.2)
    assert result.notes["parameters"] == 2
    assert set(result.notes["pvalues"]) == {"ridge", "l4"}


def test_more_columns_than_rows_still_has_power() -> None:
    """A constant statistic would be perfectly calibrated: it must also find something."""
    found = 0
    for i in range(20):
        x = RNG([5, i]).normal(size=(60, 200))
        x[:30, :40] += 0.6
        found += rdiv.two_sample_test(
            x[:30], x[30:], Score(Given()), n_resamples=99, rng=i
        ).rejected
    assert found >= 18


def test_sparse_and_spread_signals_have_their_own_part() -> None:
    found = {"ridge": [0, 0], "l4": [0, 0]}
    for i in range(40):
        x = RNG([6, i]).normal(size=(400, 50))
        sparse, spread = x.copy(), x + 3 * RNG([7, i]).normal(size=(400, 1))
        sparse[:200, 3] += 0.36
        spread[:200] += 0.1 * (-1.0) ** np.arange(50)  # across what all columns share
        for place, data in enumerate((sparse, spread)):
            result = rdiv.two_sample_test(
                data[:200], data[200:], Score(Given()), n_resamples=99, rng=i
            )
            for part in found:
                found[part][place] += result.notes["pvalues"][part] <= 0.05
    assert found["l4"][0] > found["ridge"][0] + 8
    assert found["ridge"][1] > found["l4"][1] + 8


def test_it_sees_a_slope_that_turns_where_the_mean_loss_does_not_move() -> None:
    x = RNG(7).normal(size=(200, 2))
    y = np.where(np.arange(200) < 100, 1.0, -1.0) * x[:, 0] + RNG(8).normal(size=200)
    p, q = (x[:100], y[:100]), (x[100:], y[100:])
    assert rdiv.two_sample_test(p, q, "score", model="ridge", rng=0).pvalue == 0.001
    assert rdiv.two_sample_test(p, q, "r-div", model="ridge", rng=0).pvalue > 0.05


def test_it_sees_a_correlation_that_a_mixture_would_learn() -> None:
    rng = RNG(9)
    p, q = rng.normal(size=(300, 4)), rng.normal(size=(300, 4))
    q[:, 1] = 0.5 * q[:, 0] + np.sqrt(0.75) * q[:, 1]
    assert rdiv.two_sample_test(p, q, Score(GaussianMixture(2)), rng=0).pvalue <= 0.005


def test_bad_settings_and_models_without_gradients() -> None:
    for settings in ({"part": "l2"}, {"ridge": 0.0}, {"ridge": np.inf}):
        with pytest.raises(ValueError, match="must be"):
            Score(Ridge(), **settings)

    class NoGradients:
        def fit(self, pool: Pool, rng: np.random.Generator) -> NoGradients:
            return self

        def losses(self, pool: Pool) -> np.ndarray:
            return np.zeros(len(pool))

    with pytest.raises(TypeError, match="score needs a model with gradients"):
        rdiv.two_sample_test(np.eye(4), np.eye(4), "score", model=NoGradients(), rng=0)


@pytest.mark.parametrize("what", ["shape", "nan"])
def test_bad_gradients_are_refused(what: str) -> None:
    @dataclass(frozen=True, eq=False)
    class Bad(Given):
        def gradients(self, pool: Pool) -> np.ndarray:
            x = pool.matrix()
            return x[:, 0] if what == "shape" else np.where(x > 0, np.nan, x)

    with pytest.raises(ValueError, match="gradients"):
        rdiv.two_sample_test(RNG(0).normal(size=(9, 2)), RNG(1).normal(size=(9, 2)), Score(Bad()))
