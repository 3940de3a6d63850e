"""Mixture, components, linear models, boosting: against what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SkRidge
from sklearn.preprocessing import StandardScaler

from rdiv.models import Boosting, GaussianMixture, Logistic, PrincipalComponents, Ridge
from rdiv.models.scaling import fit_scaling
from rdiv.samples import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)) * [1.0, 50.0, 0.01] + [0.0, 1e4, 3.0]
SCALED = StandardScaler().fit_transform(X)
CODES = (SCALED[:, 0] + RNG.normal(size=90) > 0).astype(int)
LABELLED = Pool(X, y=CODES, task="classification", classes=np.array(["no", "yes"]))
NUMBERED = Pool(X, y=SCALED @ [1.0, 2.0, 0.0] + RNG.normal(size=90), task="regression")


def losses_of(model: Any, pool: Pool) -> np.ndarray:
    return model.fit(pool, np.random.default_rng(0)).losses(pool)


class TestScaling:
    def test_centre_and_spread(self) -> None:
        np.testing.assert_allclose(fit_scaling(X).apply(X), SCALED, atol=1e-9)

    @pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-307])
    def test_any_scale(self, scale: float) -> None:
        unit = SCALED[:, 0][:, None]
        found = fit_scaling(unit * scale).apply(unit * scale)
        np.testing.assert_allclose(found, fit_scaling(unit).apply(unit), rtol=1e-9, atol=1e-12)

    def test_constant_columns_become_zero(self) -> None:
        flat = np.full((7, 4), [0.0, 0.1, -3e8, 1e-300])
        assert not fit_scaling(flat).apply(flat).any()

    def test_the_volume_counts_columns_that_vary(self) -> None:
        wide = np.column_stack([X, np.full((90, 2), [7.0, 0.0])])
        expected = np.log(X.std(axis=0)).sum()
        assert fit_scaling(wide).log_volume == pytest.approx(expected)
        assert fit_scaling(wide[:, 3:]).log_volume == 0.0


class TestGaussianMixture:
    def test_one_component_is_the_normal_density(self) -> None:
        """In the units of the data, whatever the scaling inside."""
        covariance = np.cov(X.T, bias=True) + 1e-6 * np.diag(X.var(axis=0))
        expected = -multivariate_normal(X.mean(axis=0), covariance).logpdf(X)
        np.testing.assert_allclose(losses_of(GaussianMixture(1), Pool(X)), expected, atol=1e-6)

    def test_the_criterion_finds_the_clusters(self) -> None:
        centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
        x = np.repeat(centres, 60, axis=0) + 0.5 * RNG.normal(size=(240, 2))
        fitted = GaussianMixture().fit(Pool(x), np.random.default_rng(0))
        assert fitted.mixture.n_components == 4
        pair = GaussianMixture().fit(Pool(x[:120]), np.random.default_rng(0))
        assert pair.mixture.n_components == 2

    def test_few_rows_or_many_columns(self) -> None:
        for shape in ((4, 1), (6, 30), (30, 6)):
            x = np.random.default_rng(1).normal(size=shape)
            fitted = GaussianMixture().fit(Pool(x), np.random.default_rng(0))
            near, far = fitted.losses(Pool(x)), fitted.losses(Pool(x + 50.0))
            assert np.isfinite(near).all()
            assert far.min() > near.max()
        assert np.isfinite(losses_of(GaussianMixture(16), Pool(X[:5]))).all()

    @pytest.mark.parametrize("covariance", ["auto", "full", "diag"])
    def test_units_change_every_loss_alike(self, covariance: Any) -> None:
        model = GaussianMixture(2, covariance)
        first, second = losses_of(model, Pool(X)), losses_of(model, Pool(X * [1e-5, 1.0, 1e9]))
        np.testing.assert_allclose(second - first, np.log(1e-5 * 1e9), atol=1e-6)

    def test_a_constant_column_adds_one_number(self) -> None:
        flat = np.column_stack([X, np.full(90, 1e6)])
        more = losses_of(GaussianMixture(1), Pool(flat)) - losses_of(GaussianMixture(1), Pool(X))
        np.testing.assert_allclose(more, more[0], atol=1e-9)

    @pytest.mark.parametrize("again", ["refit", "fit_anew"])
    @pytest.mark.parametrize("rows", [1, 2, 5, 40])
    def test_a_refit_keeps_scaling_and_shape(self, again: str, rows: int) -> None:
        fitted = GaussianMixture(4).fit(Pool(X), np.random.default_rng(0))
        first, second = (
            getattr(fitted, again)(Pool(X[:rows]), np.random.default_rng(1)) for _ in range(2)
        )
        assert first.scaling is fitted.scaling
        assert first.mixture.n_components == 4
        losses = first.losses(Pool(X))
        assert np.isfinite(losses).all()
        assert losses.tobytes() == second.losses(Pool(X)).tobytes()

    def test_a_warm_refit_leaves_nothing_to_chance(self) -> None:
        fitted = GaussianMixture(3).fit(Pool(X), np.random.default_rng(0))
        side = Pool(X[::2])
        one, two = (fitted.refit(side, np.random.default_rng(i)).losses(side) for i in range(2))
        assert one.tobytes() == two.tobytes()
        assert one.mean() < fitted.losses(side).mean()


class TestPrincipalComponents:
    @pytest.mark.parametrize("components", [1, 2])
    def test_the_loss_is_what_is_left(self, components: int) -> None:
        fitted = PCA(components).fit(SCALED)
        back = fitted.inverse_transform(fitted.transform(SCALED))
        expected = np.square(back - SCALED).sum(axis=1)
        np.testing.assert_allclose(
            losses_of(PrincipalComponents(components), Pool(X)), expected, atol=1e-9
        )

    def test_a_share_of_the_variance(self) -> None:
        x = np.random.default_rng(2).normal(size=(300, 4))
        x[:, 1:] = x[:, :1] + 0.1 * x[:, 1:]
        fitted = PrincipalComponents(0.8).fit(Pool(x), RNG)
        assert len(fitted.basis) == 1
        assert len(PrincipalComponents(0.999).fit(Pool(x), RNG).basis) == 3

    def test_something_always_stays_unexplained(self) -> None:
        for components in (3, 10, 0.999999):
            assert losses_of(PrincipalComponents(components), Pool(X)).mean() > 1e-3
        one = losses_of(PrincipalComponents(), Pool(X[:, :1]))
        np.testing.assert_allclose(one, SCALED[:, 0] ** 2, atol=1e-9)

    @pytest.mark.parametrize("rows", [1, 2, 30])
    def test_a_refit_keeps_scaling_and_number(self, rows: int) -> None:
        fitted = PrincipalComponents(2).fit(Pool(X), RNG)
        again = fitted.refit(Pool(X[:rows]), RNG)
        assert again.scaling is fitted.scaling
        assert len(again.basis) == min(2, rows - 1)
        assert np.isfinite(again.losses(Pool(X))).all()
        expected = PCA(min(2, rows - 1)).fit(SCALED[:rows]) if rows > 1 else None
        if expected is not None:
            back = expected.inverse_transform(expected.transform(SCALED))
            left = np.square(back - SCALED).sum(axis=1)
            np.testing.assert_allclose(again.losses(Pool(X)), left, atol=1e-9)


class TestLinear:
    @pytest.mark.parametrize("penalty", [1.0, 0.1])
    def test_logistic(self, penalty: float) -> None:
        fitted = LogisticRegression(C=1 / penalty, max_iter=1000).fit(SCALED, CODES)
        expected = -fitted.predict_log_proba(SCALED)[np.arange(90), CODES]
        np.testing.assert_allclose(losses_of(Logistic(penalty), LABELLED), expected, atol=1e-4)

    @pytest.mark.parametrize("penalty", [1.0, 50.0])
    def test_ridge(self, penalty: float) -> None:
        fitted = SkRidge(penalty).fit(SCALED, NUMBERED.y)
        expected = np.square(fitted.predict(SCALED) - NUMBERED.y)
        np.testing.assert_allclose(losses_of(Ridge(penalty), NUMBERED), expected, rtol=1e-6)

    def test_three_classes(self) -> None:
        y = CODES + (SCALED[:, 1] > 0)
        pool = Pool(X, y=y, task="classification", classes=np.array(list("abc")))
        assert losses_of(Logistic(), pool).mean() < np.log(3)


class TestBoosting:
    def test_it_does_either_task_and_no_third(self) -> None:
        assert losses_of(Boosting(), LABELLED).mean() < np.log(2)
        assert losses_of(Boosting(), NUMBERED).mean() < NUMBERED.y.var()
        with pytest.raises(ValueError, match="boosting needs a target, got none"):
            losses_of(Boosting(), Pool(X))

    def test_settings_matter(self) -> None:
        few, many = (losses_of(Boosting(iterations=i), NUMBERED).mean() for i in (2, 60))
        assert many < few
        slow = losses_of(Boosting(iterations=5, learning_rate=0.01), NUMBERED).mean()
        assert slow > losses_of(Boosting(iterations=5), NUMBERED).mean()
