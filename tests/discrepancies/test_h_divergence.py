"""H-divergence and cross-risk against refits written out, and the rules that keep their level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import LinearRegression
from sklearn.mixture import GaussianMixture as Mixture

from rdiv import two_sample_test
from rdiv.discrepancies import CrossRisk, HDivergence
from rdiv.discrepancies.split_fits import RefitSplits, split_fits
from rdiv.inference.masks import random_subsets
from rdiv.models import (
    Boosting,
    CrossFit,
    Frozen,
    GaussianMixture,
    KernelDensity,
    PrincipalComponents,
    Ridge,
)
from rdiv.samples import pool_samples
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.trains

SEED = 7
Risk = Callable[[np.ndarray, np.ndarray], float]


def compare_with(
    risk: Risk, model: Any, pool: Pool, masks: np.ndarray, *, warm: bool = True, rtol: float = 1e-8
) -> None:
    """All three statistics against ``risk(rows, trained_on)``, which knows nothing of rdiv."""
    every = np.arange(len(pool))
    for mask in masks:
        p, q, share = every[mask], every[~mask], mask.mean()
        pooled, own_p, own_q = risk(every, every), risk(p, p), risk(q, q)
        expected = {
            HDivergence(model, "mean", warm): pooled - share * own_p - (1 - share) * own_q,
            HDivergence(model, "max", warm): max(pooled - own_p, pooled - own_q),
            CrossRisk(model, warm): abs(risk(p, q) - pooled) + abs(risk(q, p) - pooled),
        }
        for test, value in expected.items():
            prepared = test.prepare(pool, np.random.default_rng(SEED))
            assert prepared.statistic(mask[None])[0] == pytest.approx(value, rel=rtol, abs=1e-10)


def unequal_masks(n: int) -> np.ndarray:
    return np.concatenate(
        [random_subsets(np.random.default_rng(3), 2, n, k) for k in (n // 3, n - 4)]
    )


class TestDefinition:
    @pytest.mark.parametrize("apart", [0.0, 30.0])
    def test_kernel_density(self, apart: float) -> None:
        """Also for clusters so far apart that one side's density is 1e-80 of the other's."""
        x = np.random.default_rng(0).normal(size=(12, 2))
        x[:5] += apart
        inverse = np.linalg.inv(np.cov(x.T) * 0.3**2)

        def risk(rows: np.ndarray, train: np.ndarray) -> float:
            total = 0.0
            for i in rows:
                density = 0.0
                for j in train:
                    density += np.exp(-0.5 * (x[i] - x[j]) @ inverse @ (x[i] - x[j]))
                total -= np.log(density / len(train))
            return total / len(rows)

        masks = np.concatenate([(np.arange(12) < 5)[None], unequal_masks(12)])
        compare_with(risk, KernelDensity(bandwidth=0.3), Pool(x), masks)

    def test_ridge(self) -> None:
        rng = np.random.default_rng(1)
        x = rng.normal(size=(24, 2)) * [1.0, 30.0]
        y = x[:, 0] + rng.normal(size=24)

        def risk(rows: np.ndarray, train: np.ndarray) -> float:
            centre, scale = x[train].mean(axis=0), x[train].std(axis=0)
            z, target = (x[train] - centre) / scale, y[train] - y[train].mean()
            slope = np.linalg.solve(z.T @ z + 2.0 * np.eye(2), z.T @ target)
            fitted = (x[rows] - centre) / scale @ slope + y[train].mean()
            return float(np.mean((y[rows] - fitted) ** 2))

        pool = Pool(x, y=y, task="regression")
        compare_with(risk, Ridge(penalty=2.0), pool, unequal_masks(24))

    def test_principal_components_in_the_units_of_the_pool(self) -> None:
        x = np.random.default_rng(2).normal(size=(20, 3)) @ np.array(
            [[9.0, 1, 0], [0, 0.1, 0], [0, 1, 2]]
        )
        z = (x - x.mean(axis=0)) / x.std(axis=0)

        def risk(rows: np.ndarray, train: np.ndarray) -> float:
            centre = z[train].mean(axis=0)
            axis = np.linalg.eigh(np.cov(z[train].T))[1][:, -1]
            residuals = []
            for row in rows:
                off = z[row] - centre
                residuals.append(np.sum((off - (off @ axis) * axis) ** 2))
            return float(np.mean(residuals))

        for warm in (True, False):
            compare_with(risk, PrincipalComponents(1), Pool(x), unequal_masks(20), warm=warm)

    def test_mixture_in_the_units_of_the_data(self) -> None:
        """Densities from scipy, of components carried back to the data's own units."""
        rng = np.random.default_rng(4)
        x = rng.normal(size=(36, 2)) + 4 * rng.integers(2, size=(36, 1))
        x = x * [3.0, 0.5] + [5.0, -3.0]
        centre, scale = x.mean(axis=0), x.std(axis=0)
        pooled = GaussianMixture(2).fit(Pool(x), np.random.default_rng(SEED)).mixture

        def risk(rows: np.ndarray, train: np.ndarray) -> float:
            mixture = pooled
            if len(train) < len(x):
                mixture = Mixture(
                    2, weights_init=pooled.weights_, means_init=pooled.means_,
                    precisions_init=pooled.precisions_,
                ).fit((x[train] - centre) / scale)  # fmt: skip
            terms = []
            parts = zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True)
            for weight, mean, covariance in parts:
                spread = covariance * np.outer(scale, scale)
                normal = multivariate_normal(mean * scale + centre, spread)
                terms.append(np.log(weight) + normal.logpdf(x[rows]))
            return float(-np.mean(np.logaddexp(*terms)))

        compare_with(risk, GaussianMixture(2), Pool(x), unequal_masks(36), rtol=1e-6)

    def test_folds(self) -> None:
        """Out of fold everywhere, in the folds of the pool; the other side gets the mean fit."""
        rng = np.random.default_rng(5)
        x = rng.normal(size=(24, 1))
        y = x[:, 0] + rng.normal(size=24)
        pool = Pool(x, y=y, task="regression")
        model = CrossFit(Ridge(penalty=1e-9), 3)
        fold = model.fit(pool, np.random.default_rng(SEED)).fold

        def loss(row: int, train: np.ndarray) -> float:
            fitted = LinearRegression().fit(x[train], y[train])
            return float((fitted.predict(x[[row]])[0] - y[row]) ** 2)

        def risk(rows: np.ndarray, train: np.ndarray) -> float:
            losses = []
            for row in rows:
                left_out = [fold[row]] if row in train else range(3)
                losses.append(np.mean([loss(row, train[fold[train] != k]) for k in left_out]))
            return float(np.mean(losses))

        compare_with(risk, model, pool, unequal_masks(24)[:3], rtol=1e-6)


class TestRefits:
    @pytest.mark.parametrize("model", [GaussianMixture(2), CrossFit(GaussianMixture(2), 3)])
    def test_they_depend_on_the_split_alone(self, model: Any) -> None:
        """Not on which side is called p, not on the order or number of masks asked for."""
        rng = np.random.default_rng(2)
        pool = Pool(rng.normal(size=(40, 2)))
        splits = split_fits(model, model.fit(pool, rng), pool, 0, warm=False)
        assert isinstance(splits, RefitSplits)
        masks = random_subsets(rng, 3, 40, 15)
        for risks in (splits.own_risks, splits.crossed_risks):
            together = risks(masks)
            assert np.array_equal(risks(masks[2:])[0], together[2])
            assert np.array_equal(risks(~masks)[:, ::-1], together)

    def test_a_cold_start_draws_for_each_split(self) -> None:
        """Two sides of one split get different streams, other splits others again."""
        rng = np.random.default_rng(0)
        pool = Pool(np.zeros((9, 1)), y=np.arange(9.0), task="regression")
        splits = split_fits(Ridge(), Ridge().fit(pool, rng), pool, 0, warm=False)
        assert isinstance(splits, RefitSplits)
        masks = random_subsets(np.random.default_rng(1), 20, 9, 4)
        masks = np.unique(masks, axis=0)
        draws = [stream.random() for mask in masks for stream in splits._streams(mask)]
        assert len(set(draws)) == 2 * len(masks)

    def test_warm_starts_end_near_cold_ones(self) -> None:
        rng = np.random.default_rng(3)
        x = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 6])
        fitted = GaussianMixture(2).fit(Pool(x), rng)
        side = Pool(x[::2])
        warm, anew, alone = (
            fit.losses(side).mean()
            for fit in (
                fitted.refit(side, rng),
                fitted.fit_anew(side, rng),
                GaussianMixture(2).fit(side, rng),
            )
        )
        assert warm == pytest.approx(anew, abs=0.01)
        assert warm == pytest.approx(alone, abs=0.01)

    @pytest.mark.parametrize("warm", [True, False])
    def test_moving_rows_between_samples_changes_no_bit(self, warm: bool) -> None:
        x = np.random.default_rng(4).normal(size=(30, 2))
        masks = random_subsets(np.random.default_rng(5), 4, 30, 12)
        found = set()
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(30)
            pooled = pool_samples(x[order[:12]], x[order[12:]], rng=0)
            test = HDivergence(GaussianMixture(2), warm=warm)
            prepared = test.prepare(pooled.pool, pooled.stream("fit"))
            found.add(prepared.statistic(masks).tobytes())
        assert len(found) == 1

    @pytest.mark.parametrize("model", [GaussianMixture(2), CrossFit(PrincipalComponents(1), 3)])
    @pytest.mark.parametrize("test", [HDivergence, CrossRisk])
    def test_jobs_change_no_byte(
        self, test: Any, model: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rdiv.inference.engine._WORTH_PROCESSES", 0.0)
        x = np.random.default_rng(6).normal(size=(50, 2))
        one, two = (
            two_sample_test(x[:20], x[20:], test(model), n_resamples=39, rng=0, n_jobs=jobs)
            for jobs in (1, 2)
        )
        assert one.to_json() == two.to_json()

    @pytest.mark.parametrize("n_p", [1, 2, 39])
    @pytest.mark.parametrize("test", [HDivergence, CrossRisk])
    def test_sides_of_very_few_rows(self, test: Any, n_p: int) -> None:
        rng = np.random.default_rng(7)
        x = rng.normal(size=(40, 3))
        x[:, 2] = x[:, 2] > 1  # constant in most small sides
        masks = random_subsets(rng, 2, 40, n_p)
        models = (GaussianMixture(4), PrincipalComponents(2))
        for model in (*models, *(CrossFit(model, 3) for model in models)):
            for warm in (True, False):
                prepared = test(model, warm=warm).prepare(Pool(x), np.random.default_rng(0))
                found = prepared.statistic(masks)
                assert np.isfinite(found).all()
                # Which side is called p changes nothing, however few rows it has.
                np.testing.assert_allclose(prepared.statistic(~masks), found, rtol=1e-6, atol=1e-9)

    def test_a_fold_without_training_rows_keeps_the_pooled_model(self) -> None:
        pool = Pool(np.random.default_rng(8).normal(size=(12, 2)))
        fitted = CrossFit(PrincipalComponents(1), 3, repeats=1).fit(pool, np.random.default_rng(0))
        row = pool.take(np.array([4]))
        again = fitted.refit(row, np.random.default_rng(0))
        assert again.losses(row)[0] == fitted.losses(pool)[4]

    def test_other_rows_than_the_pools_are_refused(self) -> None:
        x = np.random.default_rng(9).normal(size=(12, 2))
        fitted = CrossFit(PrincipalComponents(1), 3, repeats=1).fit(
            Pool(x), np.random.default_rng(0)
        )
        with pytest.raises(ValueError, match="rows of its own pool, got 5 that are not in it"):
            fitted.refit(Pool(x[:5] + 1), np.random.default_rng(0))


class TestAnswers:
    def test_they_find_what_the_mean_loss_hides(self) -> None:
        """Two crossed ellipses: one model cannot have both, and its mean losses are equal."""
        rng = np.random.default_rng(5)
        p, q = (rng.normal(size=(150, 2)) * scale for scale in ([1.0, 0.2], [0.2, 1.0]))
        for test in ("h-div", "cross-risk"):
            for model, resamples in (("kde", 999), (GaussianMixture(1), 99), ("pca", 99)):
                result = two_sample_test(p, q, test, model=model, n_resamples=resamples, rng=0)
                assert result.pvalue == 1 / (1 + resamples), (test, model)
        assert two_sample_test(p, q, "r-div", model="kde", rng=0).pvalue > 0.05

    def test_a_scale_of_one_sample_is_no_unit(self) -> None:
        """Each side scaled by itself would make a change of scale invisible."""
        rng = np.random.default_rng(6)
        p, q = rng.normal(size=(80, 2)), 5 * rng.normal(size=(60, 2))
        for warm in (True, False):
            test = HDivergence(GaussianMixture(1), warm=warm)
            assert two_sample_test(p, q, test, n_resamples=99, rng=0).pvalue == 0.01

    def test_the_default_with_a_target(self) -> None:
        """Boosting in 5 folds: ten trainings a split, said in the notes."""
        rng = np.random.default_rng(7)
        x = rng.normal(size=(120, 2))
        sides = ((x[:60], x[:60, 0]), (x[60:], -x[60:, 0]))
        result = two_sample_test(*sides, "h-div", n_resamples=19, rng=0)
        assert result.pvalue == 0.05
        assert result.model == "boosting, 5 folds"
        assert result.notes["refits"] == "10 models for each split"

    def test_notes_and_risks(self) -> None:
        x = np.random.default_rng(8).normal(size=(40, 1))
        x[:15] *= 3
        pool = pool_samples(x[:15], x[15:], rng=0)
        result = two_sample_test(
            x[:15], x[15:], HDivergence(GaussianMixture(1)), n_resamples=39, rng=0
        )
        assert result.notes["refits"] == "2 models for each split"
        assert len(result.null_distribution) <= result.n_resamples
        pooled = GaussianMixture(1).fit(pool.pool, pool.stream("fit")).losses(pool.pool).mean()
        gain = pooled - 15 / 40 * result.risk_p - 25 / 40 * result.risk_q
        assert result.statistic == pytest.approx(gain, abs=1e-6)
        kernel = two_sample_test(x[:15], x[15:], HDivergence("kde"), n_resamples=19, rng=0)
        assert kernel.notes["refits"] == "none: one kernel matrix serves every split"

    @pytest.mark.parametrize("model", ["kde", GaussianMixture(2)])
    def test_groups_and_strata(self, model: Any) -> None:
        """Groups of unequal size: every mask has its own number of rows in p."""
        rng = np.random.default_rng(9)
        group = np.repeat(np.arange(24), rng.integers(1, 5, size=24))
        x = rng.normal(size=(len(group), 2)) * np.where(group < 12, 1.0, 6.0)[:, None]
        p, q = x[group < 12], x[group >= 12]
        groups = (group[group < 12], group[group >= 12])
        for test in (HDivergence(model), CrossRisk(model)):
            found = two_sample_test(p, q, test, groups=groups, n_resamples=19, rng=0)
            assert found.pvalue == 0.05
            strata = (np.arange(len(p)) % 2, np.arange(len(q)) % 2)
            found = two_sample_test(p, q, test, strata=strata, n_resamples=19, rng=0)
            assert found.pvalue == 0.05


class TestSettings:
    def test_phi_is_one_of_two(self) -> None:
        with pytest.raises(ValueError, match="phi must be 'mean' or 'max', got 'min'"):
            HDivergence("kde", phi="min")  # type: ignore[arg-type]

    @pytest.mark.parametrize(("test", "name"), [(HDivergence, "h-div"), (CrossRisk, "cross-risk")])
    def test_a_frozen_model_has_no_sides(self, test: Any, name: str) -> None:
        model = Frozen(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]), trained_on="neither")
        with pytest.raises(ValueError, match=f"{name} fits a model to each sample, got Frozen"):
            test(model)

    def test_a_kernel_matrix_that_would_not_fit(self) -> None:
        x = np.random.default_rng(0).normal(size=(20_002, 1))
        with pytest.raises(ValueError, match="GB"):
            HDivergence(KernelDensity(bandwidth=0.5)).prepare(Pool(x), np.random.default_rng(0))

    def test_a_target_that_the_model_needs(self) -> None:
        x = np.random.default_rng(1).normal(size=(20, 1))
        with pytest.raises(ValueError, match="boosting needs a target"):
            two_sample_test(x[:10], x[10:], HDivergence(Boosting()), rng=0)
