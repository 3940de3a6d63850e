"""Gradients per row: against finite differences, mean zero at the fit, out of fold with folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SkRidge

from rdiv.discrepancies.score import has_gradients
from rdiv.losses import log_loss
from rdiv.models import (
    Boosting,
    CrossFit,
    Frozen,
    GaussianMixture,
    KernelDensity,
    Logistic,
    PrincipalComponents,
    Ridge,
    as_model,
)
from rdiv.models.gaussian_mixture import mixture_gradients
from rdiv.samples import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng
X = RNG(0).normal(size=(40, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 2.0]
STEP = 1e-5


def numbers_pool() -> Pool:
    return Pool(X, y=X[:, 0] + RNG(1).normal(size=40), task="regression")


def classes_pool(k: int) -> Pool:
    y = RNG(2).integers(k, size=40)
    y[:k] = np.arange(k)
    return Pool(X, y=y, task="classification", classes=np.arange(k))


def tilted_density(mixture: Any, x: np.ndarray, k: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log density when component k is tilted by ``exp(a'u + u'Bu)``, u its distance to the mean."""
    d = x.shape[1]
    densities = []
    for j in range(mixture.n_components):
        covariance = mixture.covariances_[j]
        covariance = np.diag(covariance) if covariance.ndim == 1 else covariance
        log = multivariate_normal(mixture.means_[j], covariance).logpdf(x)
        if j == k:
            u = x - mixture.means_[j]
            precision = np.linalg.inv(covariance) - 2 * b
            normaliser = -0.5 * np.linalg.slogdet(np.eye(d) - 2 * covariance @ b)[1]
            normaliser += 0.5 * a @ np.linalg.solve(precision, a)
            log = log + u @ a + np.einsum("ni,ij,nj->n", u, b, u) - normaliser
        densities.append(np.log(mixture.weights_[j]) + log)
    return np.logaddexp.reduce(densities, axis=0)


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_mixture_against_finite_differences(covariance: str) -> None:
    from sklearn.mixture import GaussianMixture as Mixture

    mixture = Mixture(2, covariance_type=covariance, random_state=0).fit(X)
    found = mixture_gradients(mixture, X)
    d = X.shape[1]
    zero_a, zero_b = np.zeros(d), np.zeros((d, d))
    directions = [(np.eye(d)[i], zero_b) for i in range(d)]
    for i in range(d):
        for j in range(i, d):
            if covariance == "full" or i == j:
                b = np.zeros((d, d))
                b[i, j] += 0.5
                b[j, i] += 0.5
                directions.append((zero_a, b))
    column = mixture.n_components
    for k in range(mixture.n_components):
        for a, b in directions:
            up = tilted_density(mixture, X, k, STEP * a, STEP * b)
            down = tilted_density(mixture, X, k, -STEP * a, -STEP * b)
            np.testing.assert_allclose(found[:, column], -(up - down) / (2 * STEP), atol=1e-6)
            column += 1
    assert column == found.shape[1]


def test_mixture_weights_against_finite_differences() -> None:
    from sklearn.mixture import GaussianMixture as Mixture

    mixture = Mixture(3, random_state=0).fit(X)
    log = np.stack(
        [
            multivariate_normal(m, c).logpdf(X)
            for m, c in zip(mixture.means_, mixture.covariances_, strict=True)
        ]
    )

    def loss(odds: np.ndarray) -> np.ndarray:
        logits = np.log(mixture.weights_) + odds
        weights = logits - np.logaddexp.reduce(logits)
        return -np.logaddexp.reduce(weights[:, None] + log, axis=0)

    for k in range(3):
        step = STEP * np.eye(3)[k]
        slope = (loss(step) - loss(-step)) / (2 * STEP)
        np.testing.assert_allclose(mixture_gradients(mixture, X)[:, k], slope, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [Ridge(), as_model(SkRidge()), CrossFit(Ridge(), 4, repeats=1), Boosting(iterations=5)],
    ids=str,
)
def test_regression_is_a_linear_correction(model: Any) -> None:
    pool = numbers_pool()
    fitted = model.fit(pool, RNG(0))
    inputs = np.column_stack([np.ones(40), (X - X.mean(axis=0)) / X.std(axis=0)])
    prediction = pool.y + fitted_residuals(fitted, pool) / 2
    assert fitted.losses(pool) == pytest.approx((pool.y - prediction) ** 2)
    for j in range(4):
        up, down = (prediction + sign * STEP * inputs[:, j] for sign in (1, -1))
        slope = ((pool.y - up) ** 2 - (pool.y - down) ** 2) / (2 * STEP)
        np.testing.assert_allclose(fitted.gradients(pool)[:, j], slope, atol=1e-6)


def fitted_residuals(fitted: Any, pool: Pool) -> np.ndarray:
    return fitted.gradients(pool)[:, 0]  # the derivative in the offset


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("frozen", [False, True])
def test_classification_is_a_linear_correction(k: int, frozen: bool) -> None:
    pool = classes_pool(k)
    estimator = LogisticRegression().fit(X, pool.y)
    model = Frozen(estimator, trained_on="neither") if frozen else as_model(LogisticRegression())
    found = model.fit(pool, RNG(0)).gradients(pool)
    inputs = np.column_stack([np.ones(40), (X - X.mean(axis=0)) / X.std(axis=0)])
    logits = np.log(estimator.predict_proba(X))
    column = 0
    for c in range(1, 2) if k == 2 else range(k):
        for j in range(4):
            step = np.zeros((40, k))
            step[:, c] = STEP * inputs[:, j]
            up, down = (log_loss(pool.y, softmax(logits + s * step)) for s in (1, -1))
            np.testing.assert_allclose(found[:, column], (up - down) / (2 * STEP), atol=1e-6)
            column += 1
    assert column == found.shape[1]


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))


def test_principal_components_against_finite_differences() -> None:
    pool = Pool(X)
    fitted = PrincipalComponents(2).fit(pool, RNG(0))
    found = fitted.gradients(pool)
    scaled = fitted.scaling.apply(X)

    def loss(centre: np.ndarray, basis: np.ndarray) -> np.ndarray:
        u = scaled - centre
        return ((u - u @ basis.T @ basis) ** 2).sum(axis=1)

    column = 0
    for i in range(3):
        step = STEP * np.eye(3)[i]
        slope = loss(fitted.centre + step, fitted.basis) - loss(fitted.centre - step, fitted.basis)
        np.testing.assert_allclose(found[:, column], slope / (2 * STEP), atol=1e-6)
        column += 1
    for row in range(2):
        for i in range(3):
            step = np.zeros((2, 3))
            step[row, i] = STEP
            slope = loss(fitted.centre, fitted.basis + step) - loss(
                fitted.centre, fitted.basis - step
            )
            np.testing.assert_allclose(found[:, column], slope / (2 * STEP), atol=1e-6)
            column += 1
    assert column == found.shape[1]


@pytest.mark.parametrize(
    ("model", "pool"),
    [
        (GaussianMixture(2), Pool(X)),
        (PrincipalComponents(1), Pool(X)),
        (KernelDensity(), Pool(X)),
        (Ridge(penalty=1e-9), numbers_pool()),
        (Logistic(penalty=1e-9), classes_pool(2)),
        (Logistic(penalty=1e-9), classes_pool(3)),
    ],
    ids=str,
)
def test_the_mean_gradient_of_the_pool_is_zero(model: Any, pool: Pool) -> None:
    gradients = model.fit(pool, RNG(0)).gradients(pool)
    error = np.abs(gradients.mean(axis=0)) / gradients.std(axis=0)
    assert error.max() < 0.05  # EM and L-BFGS stop a little before the optimum


def test_folds_give_residuals_of_rows_not_seen() -> None:
    pool = numbers_pool()
    inside, outside = (
        m.fit(pool, RNG(0)) for m in (Boosting(), CrossFit(Boosting(), 4, repeats=1))
    )
    errors = [np.abs(fitted.gradients(pool)[:, 0]).mean() for fitted in (inside, outside)]
    assert errors[1] > 1.2 * errors[0]
    np.testing.assert_allclose(outside.gradients(pool)[:, 0] ** 2 / 4, outside.losses(pool))


def test_folds_of_a_mixture_are_fitted_once_more_to_the_whole_pool() -> None:
    pool = Pool(X)
    folded = CrossFit(GaussianMixture(2), 4).fit(pool, RNG(0))
    gradients = folded.gradients(pool)
    assert gradients.shape == (40, 2 * (1 + 3 + 6))
    assert np.abs(gradients.mean(axis=0) / gradients.std(axis=0)).max() < 0.05
    assert (folded.gradients(pool) == gradients).all()


def test_a_reconstruction_has_the_directions_it_misses() -> None:
    pool = Pool(X)
    fitted = as_model(PCA(1)).fit(pool, RNG(0))
    back = PCA(1).fit(X)
    expected = 2 * (back.inverse_transform(back.transform(X)) - X)
    np.testing.assert_allclose(fitted.gradients(pool), expected, atol=1e-12)


def test_who_has_no_gradients() -> None:
    forest = as_model(IsolationForest(n_estimators=5))
    assert not has_gradients(forest.fit(Pool(X), RNG(0)))
    assert not has_gradients(CrossFit(forest, 4).fit(Pool(X), RNG(0)))


def test_missing_inputs_count_as_average() -> None:
    x = X.copy()
    x[3, 1] = np.nan
    pool = Pool(x, y=X[:, 0], task="regression")
    gradients = Boosting(iterations=3).fit(pool, RNG(0)).gradients(pool)
    assert np.isfinite(gradients).all()
    assert gradients[3, 2] == pytest.approx(0.0, abs=1e-12)
