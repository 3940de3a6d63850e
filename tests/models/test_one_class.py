"""One-class models: the loss of a row is the negative of score_samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import rdiv
from rdiv.models import as_model
from rdiv.samples import Pool, pool_samples

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
MODELS = [
    IsolationForest(n_estimators=20, random_state=1),
    OneClassSVM(nu=0.1),
    LocalOutlierFactor(novelty=True),
    EllipticEnvelope(random_state=1),
    SGDOneClassSVM(random_state=1),
]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@every
def test_the_loss_is_the_negative_score(model: Any) -> None:
    fitted = as_model(model).fit(Pool(X), np.random.default_rng(0))
    expected = -clone(model).fit(X).score_samples(X)
    np.testing.assert_allclose(fitted.losses(Pool(X)), expected, rtol=1e-9)
    assert as_model(model).task == "density"


@pytest.mark.parametrize("model", MODELS[:4], ids=lambda model: type(model).__name__)
def test_a_wider_sample_is_found_and_swapped_rows_change_nothing(model: Any) -> None:
    p, q = X[:60], 3 * X[60:]
    result = rdiv.two_sample_test(p, q, "r-div", model=model, n_resamples=99, rng=0)
    assert result.risk_q > result.risk_p
    assert result.rejected
    losses = []
    for n_p in (60, 90):
        rows = np.concatenate([p, q])[np.random.default_rng(n_p).permutation(120)]
        pooled = pool_samples(rows[:n_p], rows[n_p:], rng=3)
        fitted = as_model(model).fit(pooled.pool, pooled.stream("fit"))
        losses.append(fitted.losses(pooled.pool).tobytes())
    assert losses[0] == losses[1]


def test_compare_asks_of_a_forest_what_it_asks_of_a_density() -> None:
    forest = IsolationForest(n_estimators=20)
    found = rdiv.compare(
        RNG.normal(size=(200, 3)), 2 * RNG.normal(size=(100, 3)), model=forest, n_resamples=99,
        rng=0,
    )  # fmt: skip
    assert found.verdict == "risk shift"
    assert found.direction == "worse"
    assert set(found.results) == {"in-use", "r-div"}


def test_a_local_outlier_factor_without_novelty_cannot_score_other_rows() -> None:
    with pytest.raises(TypeError, match="must predict, reconstruct or score rows"):
        as_model(LocalOutlierFactor())
