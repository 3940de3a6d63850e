"""The interval of what retraining wins: rows that train each other's models."""

from __future__ import annotations

import numpy as np
import pytest

import rdiv
from rdiv.comparison.retraining_gain import Training
from rdiv.models import Frozen


def spread(training: Training, judged: int, draws: int, seed: int) -> float:
    """The variance of a mean win over what its rows say, by drawing fits of eight parameters.

    Row i has the gradient e_i, a fit is the mean of the gradients that trained it, and the win of
    row i is e_i times the difference of two fits. Part A comes first, the judged rows come last.
    """
    rng = np.random.default_rng(seed)
    means, naive = [], []
    for _ in range(draws):
        errors = rng.normal(size=(training.pool, 8))
        used = errors[: training.used].mean(axis=0) if training.used else np.zeros(8)
        rows = np.arange(training.pool - judged, training.pool)
        fits = np.zeros((judged, 8))
        for _ in range(training.draws):
            fold = rng.permutation(training.pool) % training.folds
            left_out = np.array([errors[fold != k].mean(axis=0) for k in range(training.folds)])
            fits += left_out[fold[rows]] / training.draws
        won = (errors[rows] * (used - fits)).sum(axis=1)
        means.append(won.mean())
        naive.append((won**2).mean() / judged)
    return float(np.var(means) / np.mean(naive))


@pytest.mark.parametrize(
    ("training", "judged"),
    [
        (Training(30, 70, 5, 1), 30),
        (Training(20, 60, 5, 3), 20),
        (Training(0, 40, 5, 1), 20),
        (Training(0, 40, 2, 1), 40),
    ],
    ids=str,
)
def test_against_drawn_fits(training: Training, judged: int) -> None:
    expected = training.inflation(judged)
    assert expected > 1.1  # rows taken for independent would fail
    assert spread(training, judged, 3000, 1) == pytest.approx(expected, rel=0.12)


def test_a_model_that_no_row_trained() -> None:
    assert Training(0, 40, 1, 1).inflation(20) == 1.0
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = x[:, 0] + rng.normal(size=200)
    from sklearn.linear_model import LinearRegression

    fits = [LinearRegression().fit(x[k:50:2], y[k:50:2]) for k in (0, 1)]
    used, other = (Frozen(fit, trained_on="neither") for fit in fits)
    pair = (x[50:130], y[50:130]), (x[130:], y[130:])
    found = rdiv.compare(*pair, model=used, retrain=other, drivers=False, n_resamples=99, rng=0)
    won = (fits[0].predict(x[130:]) - y[130:]) ** 2 - (fits[1].predict(x[130:]) - y[130:]) ** 2
    assert found.retraining.current.value == pytest.approx(won.mean())
    half = 1.99 * won.std(ddof=1) / 70**0.5
    assert found.retraining.current.high - won.mean() == pytest.approx(half, rel=0.3)


def test_more_folds_and_more_rows_of_current() -> None:
    """Rows of the judged sample train a larger part of the shared model where it is larger."""
    shares = [Training(100, 200 + n, 5, 1).inflation(n) for n in (10, 50, 200)]
    assert shares == sorted(shares)
    assert 1 < shares[0] < shares[-1] < 2
