"""Classifier two-sample tests against loops; their level is in tests/calibration."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import rdiv
from rdiv.discrepancies import AccuracyC2st, LogitC2st
from rdiv.discrepancies.c2st import Scored
from rdiv.inference.masks import random_subsets
from rdiv.models import CrossFit, KernelDensity, Logistic
from rdiv.models.networks.default_networks import NetworkClassifier
from rdiv.models.networks.training import Training
from rdiv.samples import Pool, pool_samples
from rdiv.two_sample import halves_of

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
TESTS = [AccuracyC2st, LogitC2st]
QUICK = Training(epochs=5)


def learned(test: Any, n_p: int = 15, n_q: int = 15, shift: float = 1.0, seed: int = 0) -> Scored:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_p + n_q, 2))
    x[:n_p] += shift
    return test.learn(Pool(x), np.arange(len(x)) < n_p, rng)


def slow_odds(classifier: Any, train: np.ndarray, is_p: np.ndarray, x: np.ndarray) -> list[float]:
    """Log odds of q for each row, as if both samples were equally large in training."""
    fitted = classifier.fit(train, is_p)
    prior = np.log(is_p.sum() / (~is_p).sum())
    odds = []
    for row in x:
        q, p = fitted.predict_proba(row[None])[0]
        odds.append(np.log(q / p) + prior)
    return odds


def slow_statistic(odds: list[float], mask: np.ndarray, accuracy: bool) -> float:
    right = {True: [], False: []}
    for value, of_p in zip(odds, mask, strict=True):
        right[bool(of_p)].append(float((value < 0) == of_p) if accuracy else value)
    if accuracy:
        return (np.mean(right[True]) + np.mean(right[False])) / 2
    return np.mean(right[False]) - np.mean(right[True])


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n_p", [15, 8])
def test_equals_the_slow_computation(test: Any, n_p: int) -> None:
    train, x = RNG.normal(size=(30, 2)), RNG.normal(size=(12, 2)) + 0.3
    is_p = np.arange(30) < n_p
    train[is_p] += 0.5
    fitted = test(LogisticRegression()).learn(Pool(train), is_p, np.random.default_rng(0))
    statistic = fitted.prepare(Pool(x), np.random.default_rng(0)).statistic
    odds = slow_odds(LogisticRegression(), train, is_p, x)
    np.testing.assert_allclose(fitted.log_odds(Pool(x)), odds, rtol=1e-9)
    masks = random_subsets(np.random.default_rng(1), 9, 12, 5)
    slow = [slow_statistic(odds, mask, test is AccuracyC2st) for mask in masks]
    np.testing.assert_allclose(statistic(masks), slow, rtol=1e-9, atol=1e-12)


def test_the_accuracy_of_equal_sizes_is_the_plain_one() -> None:
    p, q = RNG.normal(size=(40, 2)) + 1, RNG.normal(size=(40, 2))
    pooled = pool_samples(p, q, rng=3)
    learn, held_out = halves_of(pooled.pool, pooled.is_p, pooled.stream("halves"))
    x, is_p = pooled.pool.x, pooled.is_p
    plain = LogisticRegression().fit(x[learn], is_p[learn]).score(x[held_out], is_p[held_out])
    result = rdiv.two_sample_test(p, q, "c2st-s", model=LogisticRegression(), rng=3)
    assert result.statistic == pytest.approx(plain)


def test_a_row_on_the_fence_counts_half() -> None:
    class Undecided:
        def losses(self, pool: Pool) -> np.ndarray:
            return np.full(len(pool), np.log(2))

    scored = Scored(Undecided(), n_p=5, n_q=5, accuracy=True)
    prepared = scored.prepare(Pool(RNG.normal(size=(6, 1))), np.random.default_rng(0))
    assert prepared.statistic(np.arange(6)[None] < 2) == [0.5]


def test_a_certain_classifier_does_not_give_infinite_odds() -> None:
    forest = RandomForestClassifier(5, random_state=0)
    fitted = learned(LogitC2st(forest), shift=9.0)
    odds = fitted.log_odds(Pool(np.array([[9.0, 9.0], [0.0, 0.0]])))
    np.testing.assert_allclose(odds, [-np.log(31), np.log(31)])


@pytest.mark.parametrize("test", TESTS)
def test_identical_rows_get_identical_scores(test: Any) -> None:
    fitted = learned(test(NetworkClassifier(training=QUICK)))
    x = np.repeat(RNG.normal(size=(1, 2)), 9, axis=0)
    assert len(set(fitted.log_odds(Pool(x)).tolist())) == 1


@pytest.mark.parametrize("test", TESTS)
def test_swapping_p_and_q_changes_little(test: Any) -> None:
    """Learned with the labels the other way round, the odds change sign and nothing else."""
    x = RNG.normal(size=(30, 2))
    is_p = np.arange(30) < 12
    first = test(LogisticRegression()).learn(Pool(x), is_p, np.random.default_rng(0))
    second = test(LogisticRegression()).learn(Pool(x), ~is_p, np.random.default_rng(0))
    pool = Pool(RNG.normal(size=(14, 2)))
    masks = random_subsets(np.random.default_rng(2), 8, 14, 6)
    statistics = [
        fitted.prepare(pool, np.random.default_rng(0)).statistic for fitted in (first, second)
    ]
    np.testing.assert_allclose(statistics[0](masks), statistics[1](~masks), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("test", TESTS)
def test_held_out_labels_change_no_score(test: Any) -> None:
    x = RNG.normal(size=(40, 2))
    x[:20] += 1
    pooled = pool_samples(x[:20], x[20:], rng=5)
    learn, held_out = halves_of(pooled.pool, pooled.is_p, pooled.stream("halves"))
    found = set()
    for _ in range(2):
        fitted = test(NetworkClassifier(training=QUICK)).learn(
            pooled.pool.take(learn), pooled.is_p[learn], pooled.stream("learn")
        )
        found.add(fitted.log_odds(pooled.pool.take(held_out)).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    "model",
    [None, "boosting", LogisticRegression(), CrossFit(Logistic(), 3), "module"],
    ids=["default", "name", "estimator", "model", "module"],
)
def test_a_plain_shift_is_found_with_unequal_sizes(test: Any, model: Any) -> None:
    if model == "module":
        torch = pytest.importorskip("torch")
        model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    p, q = RNG.normal(size=(60, 2)), RNG.normal(size=(200, 2)) + 2
    result = rdiv.two_sample_test(p, q, test(model), n_resamples=99, rng=0)
    assert result.pvalue == 0.01
    assert result.notes["rows tested"] == 130
    if test is AccuracyC2st:
        assert 0.8 < result.statistic <= 1.0


def test_a_rare_sample_is_not_outvoted() -> None:
    """Ten times as many rows of q: a threshold at even odds would call every row q."""
    p, q = RNG.normal(size=(80, 1)) + 1, RNG.normal(size=(800, 1))
    result = rdiv.two_sample_test(p, q, AccuracyC2st(LogisticRegression()), rng=0)
    assert result.statistic == pytest.approx(0.69, abs=0.1)
    assert result.rejected


def test_a_frame_with_a_target_is_judged_by_its_inputs() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"a": rng.normal(size=60) + k, "b": rng.choice(["x", "y"], 60), "y": 0.0})
        for k in (0, 3)
    ]
    result = rdiv.two_sample_test(*frames, "c2st-l", model="logistic", target="y", rng=0)
    assert result.rejected
    assert result.notes["inputs"] == "c2st-l looks at the inputs only, not at the target"
    assert (result.discrepancy, result.model) == ("c2st-l", "logistic")


@pytest.mark.parametrize("test", TESTS)
def test_what_is_learned_pickles(test: Any) -> None:
    fitted = learned(test(NetworkClassifier(training=QUICK)))
    again = pickle.loads(pickle.dumps(fitted))
    pool = Pool(RNG.normal(size=(10, 2)))
    assert again.log_odds(pool).tobytes() == fitted.log_odds(pool).tobytes()


def test_an_estimator_is_cloned_and_seeded() -> None:
    forest = RandomForestClassifier(3)
    p, q = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2))
    documents = {
        rdiv.two_sample_test(p, q, LogitC2st(forest), n_resamples=19, rng=1).to_json()
        for _ in range(2)
    }
    assert len(documents) == 1
    assert not hasattr(forest, "estimators_")


@pytest.mark.parametrize("model", [KernelDensity(), LinearRegression(), "gmm"])
def test_what_is_no_classifier_is_refused(model: Any) -> None:
    with pytest.raises(ValueError, match="c2st needs a classifier to tell p from q, got"):
        AccuracyC2st(model)


def test_folds_are_refused() -> None:
    x = RNG.normal(size=(20, 1))
    with pytest.raises(ValueError, match=r"c2st-s learns on half of the rows, got folds=5"):
        rdiv.two_sample_test(x, x, "c2st-s", folds=5)


def test_too_few_rows_are_refused() -> None:
    x = RNG.normal(size=(3, 1))
    with pytest.raises(ValueError, match="needs at least 4 rows in each sample, got 3"):
        rdiv.two_sample_test(x, x, "c2st-l", model="logistic", rng=0)
