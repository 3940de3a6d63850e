"""Steps of a mixture from a given start, against those of scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Mixture

from rdiv.models import mixture_steps
from rdiv.models.mixture_steps import fitted_from

PARAMETERS = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")


def clusters(n: int, d: int, seed: int) -> np.ndarray:
    """Rows of three clusters with correlated columns, one cluster tight, and a far row."""
    rng = np.random.default_rng(seed)
    own = rng.integers(3, size=n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * np.array([1.0, 0.01, 2.0])[own, None]
    x += 4.0 * own[:, None]
    x[0] += 50.0
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))


def start(x: np.ndarray, count: int, kind: Any, **settings: Any) -> Any:
    mixture = Mixture(count, covariance_type=kind, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(x)


def by_scikit_learn(mixture: Any, x: np.ndarray) -> Any:
    settings = {name: getattr(mixture, name) for name in ("tol", "max_iter", "reg_covar")}
    return start(
        x, mixture.n_components, mixture.covariance_type, weights_init=mixture.weights_,
        means_init=mixture.means_, precisions_init=mixture.precisions_, **settings,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["full", "diag"])
@pytest.mark.parametrize(
    ("n", "d", "count"), [(40, 1, 2), (300, 3, 4), (120, 12, 3), (800, 2, 16), (24, 2, 1)]
)
def test_as_many_steps_to_the_same_parameters(n: int, d: int, count: int, kind: str) -> None:
    """Up to digits lost where one far row is a component: its square times 1e-16 over 1e-6."""
    x = clusters(n, d, seed=n)
    for mixture in (start(x, count, kind), start(x, count, kind, max_iter=2, reg_covar=1e-3)):
        for rows in (slice(None, None, 2), slice(0, n // 3)):
            if len(x[rows]) < count:
                continue  # scikit-learn wants a row for each component
            wanted, found = by_scikit_learn(mixture, x[rows]), fitted_from(mixture, x[rows])
            assert (found.n_iter_, found.converged_) == (wanted.n_iter_, wanted.converged_)
            assert found.lower_bound_ == pytest.approx(wanted.lower_bound_, rel=1e-6, abs=1e-6)
            for name in PARAMETERS:
                size = np.abs(getattr(wanted, name)).max()
                np.testing.assert_allclose(
                    getattr(found, name), getattr(wanted, name), rtol=1e-6, atol=1e-6 * size
                )
            np.testing.assert_allclose(found.score_samples(x), wanted.score_samples(x), rtol=1e-5)


@pytest.mark.parametrize("kept", [0, 1 << 22])
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_rows_in_blocks(kind: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = clusters(200, 3, seed=1)
    mixture = start(x[:100], 3, kind)
    whole = fitted_from(mixture, x)
    monkeypatch.setattr(mixture_steps, "_AT_ONCE", 300)
    monkeypatch.setattr(mixture_steps, "_KEPT", kept)
    in_blocks = fitted_from(mixture, x)
    for name in PARAMETERS:
        size = np.abs(getattr(whole, name)).max()
        np.testing.assert_allclose(
            getattr(in_blocks, name), getattr(whole, name), rtol=1e-6, atol=1e-9 * size
        )


def test_fewer_rows_than_components_and_a_constant_column() -> None:
    x = clusters(50, 2, seed=2)
    x[:, 1] = 0.0
    mixture = start(x, 4, "full")
    again = fitted_from(mixture, x[:1])
    assert np.isfinite(again.score_samples(x)).all()
    assert again.weights_.sum() == pytest.approx(1.0)


def test_the_start_is_left_alone() -> None:
    x = clusters(80, 2, seed=3)
    mixture = start(x, 2, "full")
    before = [getattr(mixture, name).copy() for name in PARAMETERS]
    fitted_from(mixture, x[:40])
    for name, value in zip(PARAMETERS, before, strict=True):
        np.testing.assert_array_equal(getattr(mixture, name), value)
