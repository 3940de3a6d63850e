"""The overfitting table: whose risks stand in which row, and what can never be smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rdiv.models import GaussianMixture, Training, Vae
from rdiv.samples import PooledSamples, pool_samples
from rdiv.studies.overfitting import METHODS, Risks, climb, overfitting, summarise

pytest.importorskip("torch")

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
P, Q = RNG.random((24, 1, 6, 6)), 0.6 * RNG.random((16, 1, 6, 6))
MODEL = Vae((16,), 2, training=Training(epochs=400, steps=40, batch_size=20, learning_rate=1e-2))


ASCENTS = (
    Training(epochs=1, batch_size=None, learning_rate=1e-12),
    Training(epochs=10, batch_size=None, learning_rate=1e-2),
    Training(epochs=3, batch_size=10, optimizer="sgd", learning_rate=1e-3),
)


def gap(fitted: Any, pooled: PooledSamples) -> float:
    losses = fitted.losses(pooled.pool)
    return abs(losses[pooled.is_p].mean() - losses[~pooled.is_p].mean())


@pytest.mark.parametrize("seed", range(3))
def test_the_supremum_is_never_below_the_gap_of_the_pooled_fit(seed: int) -> None:
    """Whether the ascent does nothing, climbs, or wanders in small batches."""
    pooled = pool_samples(P, Q, rng=seed)
    start = MODEL.fit(pooled.pool, np.random.default_rng(seed))
    found = [
        gap(climb(start, pooled.pool, pooled.is_p, ascent, np.random.default_rng(1)), pooled)
        for ascent in ASCENTS
    ]
    assert min(found) >= gap(start, pooled) > 0
    assert found[1] > 2 * gap(start, pooled)


def test_rows_of_the_table() -> None:
    found = overfitting(P, Q, fresh=(P[:5], Q[:4]), model=MODEL, rng=0)
    assert tuple(found.trained) == tuple(found.fresh) == METHODS
    assert found.trained["l-div, ascent"].gap >= found.trained["r-div"].gap
    pooled = pool_samples(P, Q, rng=0)
    fitted = MODEL.fit(pooled.pool, pooled.stream("fit").spawn(5)[0])
    losses = fitted.losses(pooled.pool)
    expected = Risks(losses[pooled.is_p].mean(), losses[~pooled.is_p].mean())
    assert found.trained["r-div"] == expected
    coin = 36 * np.log(2)  # fresh weights: a coin tossed at every pixel, and a little divergence
    for risk in (
        found.trained["l-div, untrained"].risk_p,
        found.trained["l-div, untrained"].risk_q,
    ):
        assert 0.9 * coin < risk < 1.2 * coin
    own, one = found.trained["h-div"], found.trained["r-div"]
    weights = np.array([24, 16]) / 40
    assert weights @ [own.risk_p, own.risk_q] < weights @ [one.risk_p, one.risk_q]


def test_spread_is_over_draws() -> None:
    table = summarise([{"r-div": Risks(1.0, 4.0)}, {"r-div": Risks(3.0, 2.0)}])
    np.testing.assert_allclose(table["r-div"], [[2, 2**0.5], [3, 2**0.5], [2, 2**0.5]])
    assert summarise([{"r-div": Risks(1.0, 4.0)}])["r-div"][:, 1].tolist() == [0, 0, 0]


def test_other_models_are_refused() -> None:
    with pytest.raises(TypeError, match="needs a network, got GaussianMixture"):
        overfitting(P, Q, model=GaussianMixture(1))
