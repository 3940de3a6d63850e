"""Class probabilities of a model are those behind its log losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rdiv.losses import log_loss
from rdiv.models import Boosting, CrossFit, Estimator, Frozen, Logistic, Mlp, ResNet18, Training
from rdiv.models.networks.default_networks import NetworkClassifier
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])
TABLE = Pool(X, y=Y, task="classification", classes=np.array(["a", "b", "c"]))
IMAGES = Pool(
    RNG.random((30, 1, 8, 8)), y=Y[:30], task="classification", classes=np.array(["a", "b", "c"])
)
BRIEF = Training(epochs=2)


@pytest.mark.parametrize(
    ("model", "pool"),
    [
        (Logistic(), TABLE),
        (Boosting(iterations=5), TABLE),
        (Estimator(LogisticRegression(), "classifier"), TABLE),
        (CrossFit(Logistic(), 3, repeats=1), TABLE),
        (
            Frozen(LogisticRegression().fit(X, np.array(["a", "b", "c"])[Y]), trained_on="neither"),
            TABLE,
        ),
        (Mlp(hidden=(8,), training=BRIEF), TABLE),
        (NetworkClassifier(training=BRIEF), TABLE),
        (ResNet18(width=8, blocks=(1, 1, 1, 1), training=BRIEF), IMAGES),
    ],
    ids=lambda value: type(value).__name__,
)
def test_losses_are_the_logarithms_of_probabilities(model: Any, pool: Pool) -> None:
    fitted = model.fit(pool, np.random.default_rng(1))
    predicted = fitted.probabilities(pool)
    assert predicted.shape == (len(pool), 3)
    assert np.allclose(predicted.sum(axis=1), 1)
    assert pool.y is not None
    assert np.allclose(log_loss(pool.y, predicted), fitted.losses(pool), rtol=1e-4, atol=1e-6)


def test_a_network_for_numbers_has_no_classes() -> None:
    pool = Pool(X, y=X[:, 0], task="regression")
    fitted = Mlp(hidden=(4,), training=BRIEF).fit(pool, np.random.default_rng(0))
    with pytest.raises(ValueError, match="a network for regression has no classes"):
        fitted.probabilities(pool)


def test_a_class_that_a_fold_never_saw_has_probability_zero() -> None:
    rows = np.flatnonzero(Y < 2)
    fitted = Logistic().fit(TABLE.take(rows), np.random.default_rng(0))
    assert (fitted.probabilities(TABLE)[:, 2] == 0).all()
