"""Intervals for the gap: by hand, and covering what they name as often as they say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind
from tests.inference.slow_widened import slow_gap

import rdiv
from rdiv.comparison.gap_estimate import influence_numbers, left_out_losses
from rdiv.inference.bootstrap import bootstrap_interval
from rdiv.models import Frozen, Logistic, Ridge
from rdiv.models.linear import curvature
from rdiv.samples.pool import Pool

Pair = tuple[np.ndarray, np.ndarray]


def drawn(n_p: int, n_q: int, rng: np.random.Generator, *, classes: bool = False) -> Any:
    """A pair whose inputs and whose relation to the target both move."""
    sides = []
    for n, move, slope in ((n_p, 0.0, 1.0), (n_q, 0.7, 0.2)):
        x = rng.normal(size=(n, 2)) + np.array([move, 0.0])
        score = slope * x[:, 0] + move
        y = rng.random(n) < 1 / (1 + np.exp(-2 * score)) if classes else score + rng.normal(size=n)
        sides.append((x, y.astype(float)))
    return tuple((x, y.astype(int)) if classes else (x, y) for x, y in sides)


class Loss:
    """A deployed model whose loss is the input itself."""

    def losses(self, pool: Pool) -> np.ndarray:
        return pool.matrix()[:, 0]


def test_the_normal_interval_is_that_of_welch_or_wider_where_skewed() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(30, 1)), 2 * rng.normal(size=(12, 1)) + 0.4
    found = rdiv.estimate_gap(p, q, model=Frozen(Loss(), trained_on="neither"), alpha=0.1, rng=0)
    welch = ttest_ind(q[:, 0], p[:, 0], equal_var=False).confidence_interval(0.9)
    assert found.interval == pytest.approx(slow_gap(p[:, 0], q[:, 0], 0.1))
    assert found.interval.low <= welch.low + 1e-9
    assert found.interval.high >= welch.high - 1e-9
    assert found.notes["asymptotic"] == "only 12 current rows"
    assert "asymptotic: only 12 current rows" in str(found)
    assert found.gap == pytest.approx(q.mean() - p.mean())


def test_groups_count_as_single_rows() -> None:
    """Rows that are copies within a group add nothing to what is known."""
    rng = np.random.default_rng(7)
    p, q = rng.normal(size=12), 2 * rng.normal(size=9) + 0.4
    groups = np.repeat(np.arange(12), 4), np.repeat(np.arange(20, 29), 4)
    found = rdiv.estimate_gap(
        np.repeat(p, 4)[:, None], np.repeat(q, 4)[:, None], groups=groups, rng=0,
        model=Frozen(Loss(), trained_on="neither"),
    )  # fmt: skip
    assert found.interval == pytest.approx(slow_gap(p, q, 0.05))


def test_the_bootstrap_leans_with_the_skew() -> None:
    """Of a mean with a long right tail, the studentised interval reaches further to the right."""
    rng = np.random.default_rng(1)
    p, q = np.zeros(40) + 1e-9 * rng.normal(size=40), rng.lognormal(sigma=1.2, size=40)
    low, high = bootstrap_interval(p, q, alpha=0.05, n_resamples=1999, rng=rng)
    assert high - q.mean() > 1.3 * (q.mean() - low)
    flat = bootstrap_interval(np.zeros(3), np.ones(4), alpha=0.1, n_resamples=9, rng=rng)
    assert flat == (1.0, 1.0)


@pytest.mark.parametrize("method", ["normal", "bootstrap"])
def test_coverage_of_a_frozen_model(method: Any) -> None:
    rng, trials, covered = np.random.default_rng(2), 100, 0
    model = Frozen(Loss(), trained_on="neither")
    for _ in range(trials):
        p, q = rng.normal(size=(60, 1)), 2 * rng.normal(size=(30, 1)) + 0.5
        low, high = rdiv.estimate_gap(
            p, q, model=model, method=method, n_resamples=199, rng=0
        ).interval
        covered += low <= 0.5 <= high
    assert abs(covered / trials - 0.95) < 4 * np.sqrt(0.0475 / trials)


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_coverage_of_the_population_gap(name: str) -> None:
    classes, rng, trials = name == "logistic", np.random.default_rng(3), 60
    truth = rdiv.estimate_gap(
        *drawn(40_000, 20_000, rng, classes=classes), model=name, estimand="population", rng=0
    ).gap
    found = [
        rdiv.estimate_gap(
            *drawn(200, 100, rng, classes=classes), model=name, estimand="population", rng=0
        )
        for _ in range(trials)
    ]
    covered = sum(one.interval.low <= truth <= one.interval.high for one in found)
    assert abs(covered / trials - 0.95) < 4 * np.sqrt(0.0475 / trials)
    spread = np.std([one.gap for one in found], ddof=1)  # relative error 1 / sqrt(2 trials)
    said = np.mean([one.standard_error for one in found])
    assert abs(said / spread - 1) < 4 / np.sqrt(2 * trials)


@pytest.mark.parametrize("model", [Ridge(2.0), Logistic(0.5)], ids=["ridge", "logistic"])
@pytest.mark.parametrize("labels", [2, 3])
def test_the_curvature_predicts_what_a_row_does_to_the_fit(model: Any, labels: int) -> None:
    """Leaving a row out changes the gap as the influence says, up to the second order."""
    rng, n = np.random.default_rng(4), 400
    x = rng.normal(size=(n, 2)) + (np.arange(n) % 2)[:, None] * 0.8
    is_p = np.arange(n) % 2 == 0
    if isinstance(model, Ridge):
        y: np.ndarray = x[:, 0] * np.where(is_p, 1, 0.2) + rng.normal(size=n)
        pool = Pool(x, y, task="regression")
    else:
        score = x[:, 0] * np.where(is_p, 2, 0.3) + rng.logistic(size=n)
        y = np.digitize(score, [0.0, 1.0][: labels - 1])
        pool = Pool(x, y, task="classification", classes=np.arange(labels))
    fitted = model.fit(pool, rng)
    numbers = influence_numbers(
        fitted.losses(pool), fitted.gradients(pool), curvature(fitted, pool), is_p
    )

    def gap(rows: np.ndarray) -> float:
        part = pool.take(rows)
        losses = model.fit(part, rng).losses(part)
        return float(losses[~is_p[rows]].mean() - losses[is_p[rows]].mean())

    whole, expected, real = gap(np.arange(n)), [], []
    for row in range(0, n, 40):
        side = numbers[is_p == is_p[row]]
        sign = 1 if is_p[row] else -1  # leaving out a large number of p raises the gap
        expected.append(sign * (numbers[row] - side.mean()) / (len(side) - 1))
        real.append(gap(np.delete(np.arange(n), row)) - whole)
    assert np.corrcoef(expected, real)[0, 1] > 0.995
    assert np.polyfit(expected, real, 1)[0] == pytest.approx(1, abs=0.1)


def test_what_an_interval_is_of_is_said() -> None:
    pair = drawn(40, 40, np.random.default_rng(5))
    fitted = rdiv.estimate_gap(*pair, model="ridge", rng=0)
    whole = rdiv.estimate_gap(*pair, model="ridge", estimand="population", rng=0)
    assert "fitted model(s) on future rows" in str(fitted)
    assert "best for the pooled population" in str(whole)
    assert fitted.model == "ridge, 5 folds"
    assert json.loads(whole.to_json()) == whole.to_dict()
    assert "in-sample" in rdiv.estimate_gap(*pair, model="ridge", folds=None, rng=0).notes


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"estimand": "both"}, 'estimand must be "fitted" or "population"'),
        ({"method": "t"}, 'method must be "normal" or "bootstrap"'),
        ({"alpha": 0.0}, "alpha must lie strictly"),
        ({"method": "bootstrap", "n_resamples": 30}, "use at least 39"),
        ({"model": "boosting", "estimand": "population"}, "needs model=.ridge. or .logistic."),
        (
            {"method": "bootstrap", "groups": (np.arange(20), np.arange(20, 40))},
            "the bootstrap resamples single rows",
        ),
    ],
)
def test_impossible_requests_are_refused(settings: dict[str, Any], words: str) -> None:
    pair = drawn(20, 20, np.random.default_rng(6))
    with pytest.raises(ValueError, match=words):
        rdiv.estimate_gap(*pair, **{"model": "ridge", "rng": 0, **settings})


@pytest.mark.parametrize("model", [Ridge(2.0), Logistic(0.5)], ids=["ridge", "logistic"])
def test_left_out_losses_are_those_of_fits_to_all_other_rows(model: Any) -> None:
    rng, n = np.random.default_rng(5), 300
    x = rng.normal(size=(n, 2))
    if isinstance(model, Ridge):
        pool = Pool(x, x[:, 0] + rng.normal(size=n), task="regression")
    else:
        y = (x[:, 0] + rng.logistic(size=n) > 0).astype(int)
        pool = Pool(x, y, task="classification", classes=np.arange(2))
    fitted = model.fit(pool, rng)
    losses = fitted.losses(pool)
    found = left_out_losses(losses, fitted.gradients(pool), curvature(fitted, pool))
    rows = range(0, n, 10)
    slow = []
    for row in rows:
        others = model.fit(pool.take(np.delete(np.arange(n), row)), rng)
        slow.append(others.losses(pool.take(np.array([row])))[0])
    gained, slow_gain = found[rows] - losses[rows], np.array(slow) - losses[rows]
    assert np.corrcoef(gained, slow_gain)[0, 1] > 0.99
    assert gained.sum() == pytest.approx(slow_gain.sum(), rel=0.05)
