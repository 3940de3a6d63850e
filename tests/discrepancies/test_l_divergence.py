"""L-divergence: suprema over lists against loops, and what the ascent of a network promises."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import rdiv
from rdiv.discrepancies import LDivergence, RDivergence
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.masks import random_subsets
from rdiv.models import GaussianMixture, KernelDensity
from rdiv.models.networks.default_networks import BoundedNetwork
from rdiv.models.networks.modules import evaluate
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.networks.training import Training
from rdiv.samples import Pool, pool_samples
from rdiv.two_sample import run_test

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
FIT, CLIMB = Training(epochs=10), Training(epochs=15, learning_rate=5e-3)
QUICK = LDivergence(BoundedNetwork(training=FIT), ascent=CLIMB)


@dataclass(frozen=True)
class Above:
    """A fixed hypothesis: a row costs 1 above the threshold, 0 below."""

    threshold: float

    def losses(self, pool: Pool) -> np.ndarray:
        return (pool.matrix()[:, 0] > self.threshold).astype(float)


THRESHOLDS = tuple(Above(t) for t in (-1.0, -0.2, 0.3, 1.1))


# --- a finite list --------------------------------------------------------------------------------


def slow_supremum(losses: list[np.ndarray], mask: np.ndarray) -> float:
    gaps = []
    for values in losses:
        p = [value for value, of_p in zip(values, mask, strict=True) if of_p]
        q = [value for value, of_p in zip(values, mask, strict=True) if not of_p]
        gaps.append(abs(sum(p) / len(p) - sum(q) / len(q)))
    return max(gaps)


@pytest.mark.parametrize("n_p", [6, 2])
def test_the_supremum_of_a_list_equals_loops(n_p: int) -> None:
    pool = Pool(RNG.normal(size=(12, 2)))
    prepared = LDivergence(hypotheses=THRESHOLDS).prepare(pool, np.random.default_rng(0))
    masks = random_subsets(np.random.default_rng(1), 20, 12, n_p)
    losses = [hypothesis.losses(pool) for hypothesis in THRESHOLDS]
    slow = [slow_supremum(losses, mask) for mask in masks]
    np.testing.assert_allclose(prepared.statistic(masks), slow, rtol=1e-9, atol=1e-12)
    for mask, expected in zip(masks, slow, strict=True):
        observed = prepared.observe(mask)
        risk_p, risk_q = observed.risk_p, observed.risk_q
        assert abs(risk_p - risk_q) == pytest.approx(expected)


def test_a_list_uses_all_rows() -> None:
    p, q = RNG.normal(size=(30, 1)), RNG.normal(size=(50, 1)) + 1
    result = rdiv.two_sample_test(p, q, LDivergence(hypotheses=THRESHOLDS), rng=0)
    assert not LDivergence(hypotheses=THRESHOLDS).learns
    assert "rows tested" not in result.notes
    gaps = [np.mean(p > h.threshold) - np.mean(q > h.threshold) for h in THRESHOLDS]
    assert result.statistic == pytest.approx(max(np.abs(gaps)))
    assert result.rejected


def test_one_model_in_the_list_is_r_divergence() -> None:
    p, q = RNG.normal(size=(30, 2)), RNG.normal(size=(20, 2)) * 1.5
    listed = rdiv.two_sample_test(p, q, LDivergence(hypotheses=("kde",)), rng=4)
    plain = rdiv.two_sample_test(p, q, RDivergence("kde", studentize=False), rng=4)
    assert listed.statistic == pytest.approx(plain.statistic)
    assert listed.pvalue == plain.pvalue


def test_models_fits_and_functions_may_be_mixed() -> None:
    pool = Pool(RNG.normal(size=(12, 1)))
    fitted = GaussianMixture(2).fit(Pool(RNG.normal(size=(20, 1))), np.random.default_rng(0))
    mixed = LDivergence(hypotheses=[fitted, lambda pool: pool.x[:, 0] ** 2, KernelDensity()])
    kde = KernelDensity().fit(pool, np.random.default_rng(0)).losses(pool)
    losses = [fitted.losses(pool), pool.x[:, 0] ** 2, kde]
    masks = random_subsets(np.random.default_rng(1), 5, 12, 5)
    np.testing.assert_allclose(
        mixed.prepare(pool, np.random.default_rng(0)).statistic(masks),
        [slow_supremum(losses, mask) for mask in masks],
    )


# --- a network ------------------------------------------------------------------------------------


def pool_of(task: str, n: int = 40, seed: int = 0) -> Pool:
    rng = np.random.default_rng(seed)
    if task == "density":  # two directions carry eight columns: the codes have something to learn
        x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(n, 8))
        return Pool(x)
    x = rng.normal(size=(n, 3))
    if task == "regression":
        return Pool(x, y=5 + 3 * x[:, 0] + rng.normal(size=n), task="regression")
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 1)
    return Pool(x, y=y, task="classification", classes=np.array(["a", "b", "c"]))


TASKS = ["density", "regression", "classification"]


def slow_loss(fitted: FittedTorchModel, pool: Pool, i: int) -> float:
    x = fitted.inputs(pool)
    output = evaluate(fitted.module, x)[i]
    if pool.task == "classification":
        return 1 - np.exp(output[pool.y[i]]) / np.exp(output).sum()
    if pool.task == "density":
        return 1 - np.exp(-np.mean((output - x[i]) ** 2))
    return 1 - np.exp(-((output[0] - (pool.y[i] - pool.y.mean()) / pool.y.std()) ** 2))


@pytest.mark.parametrize("task", TASKS)
def test_losses_are_bounded_and_equal_the_slow_ones(task: str) -> None:
    pool = pool_of(task, 12)
    fitted = BoundedNetwork(training=FIT).fit(pool, np.random.default_rng(0))
    losses = fitted.losses(pool)
    assert losses.min() >= 0
    assert losses.max() <= 1
    np.testing.assert_allclose(losses, [slow_loss(fitted, pool, i) for i in range(12)], rtol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_the_pooled_fit_lowers_the_risk(task: str) -> None:
    pool = pool_of(task)
    short, long = (
        BoundedNetwork(training=Training(epochs=k, batch_size=20, learning_rate=5e-3))
        .fit(pool, np.random.default_rng(0))
        .losses(pool)
        .mean()
        for k in (1, 40)
    )
    assert long < 0.5 * short


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("rate", [5e-3, 10.0], ids=["sensible", "wild"])
def test_never_below_r_divergence_on_the_training_rows(task: str, rate: float) -> None:
    test = LDivergence(QUICK.model, ascent=Training(epochs=5, learning_rate=rate))
    for seed in range(3):
        pool, is_p = pool_of(task, seed=seed), np.random.default_rng(seed).random(40) < 0.4
        notes = test.learn(pool, is_p, np.random.default_rng(seed)).notes
        plain = RDivergence(QUICK.model, studentize=False).prepare(
            pool, np.random.default_rng(seed)
        )
        assert notes["r-div on the training rows"] == pytest.approx(plain.observe(is_p).statistic)
        assert notes["l-div on the training rows"] >= notes["r-div on the training rows"]


@pytest.mark.parametrize("task", TASKS)
def test_the_ascent_climbs(task: str) -> None:
    pool, is_p = pool_of(task), np.arange(40) < 18
    learned = QUICK.learn(pool, is_p, np.random.default_rng(0))
    gap = learned.notes["l-div on the training rows"]
    assert gap > learned.notes["r-div on the training rows"] + 0.05
    losses = [slow_loss(learned.fitted, pool, i) for i in range(40)]
    assert gap == pytest.approx(slow_supremum([np.array(losses)], is_p), rel=1e-5)


def test_the_held_out_gap_is_tested() -> None:
    x = RNG.normal(size=(400, 2))
    x[:200] += 2
    pooled = pool_samples(x[:200], x[200:], rng=1)
    result, prepared = run_test(QUICK, pooled, PermutationSettings(n_resamples=99))
    assert result.notes["rows tested"] == 200
    assert prepared.losses.shape == (200,)
    assert result.statistic == pytest.approx(abs(result.risk_p - result.risk_q))
    error = prepared.losses.std() * np.sqrt(2 * (1 / 100 + 1 / 100))  # of two gaps
    assert result.statistic <= result.notes["l-div on the training rows"] + 3 * error
    assert result.pvalue == 0.01


def test_a_change_of_the_target_alone_is_found() -> None:
    x = RNG.normal(size=(200, 1))
    y = np.where(np.arange(200) < 80, x[:, 0], -x[:, 0]) + 0.1 * RNG.normal(size=200)
    result = rdiv.two_sample_test((x[:80], y[:80]), (x[80:], y[80:]), QUICK, n_resamples=99, rng=0)
    assert result.notes["task"] == "regression"
    assert result.pvalue == 0.01
    labels = np.where(y > 0, "yes", "no")
    result = rdiv.two_sample_test(
        (x[:80], labels[:80]), (x[80:], labels[80:]), QUICK, n_resamples=99, rng=0
    )
    assert result.notes["task"] == "classification"
    assert result.pvalue == 0.01


def test_by_name_with_defaults_and_with_a_module() -> None:
    p, q = RNG.normal(size=(40, 2)), RNG.normal(size=(60, 2)) + 2
    module = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 2))
    for model in (None, module):
        result = rdiv.two_sample_test(p, q, "l-div", model=model, n_resamples=99, rng=0)
        assert result.pvalue == 0.01
        assert result.discrepancy == "l-div"


def test_what_is_learned_pickles_and_repeats() -> None:
    pool, is_p = pool_of("regression"), np.arange(40) < 18
    first, second = (QUICK.learn(pool, is_p, np.random.default_rng(0)) for _ in range(2))
    other = pool_of("regression", seed=9)
    again = pickle.loads(pickle.dumps(first))
    found = {fit.fitted.losses(other).tobytes() for fit in (first, second, again)}
    assert len(found) == 1


def test_bad_input_is_refused() -> None:
    x, more = RNG.normal(size=(3, 2)), RNG.normal(size=(8, 2))
    with pytest.raises(ValueError, match="needs at least 4 rows in each sample, got 3"):
        rdiv.two_sample_test(x, x, QUICK, rng=0)
    with pytest.raises(TypeError, match=r"l-div climbs over torch modules, got 'kde'"):
        rdiv.two_sample_test(x, x, "l-div", model="kde", rng=0)
    with pytest.raises(ValueError, match="got both; drop one"):
        LDivergence(nn.Linear(1, 1), hypotheses=THRESHOLDS)
    with pytest.raises(ValueError, match="regression needs a target, got none"):
        rdiv.two_sample_test(x, x, LDivergence(hypotheses=["ridge", "kde"]), rng=0)
    with pytest.raises(ValueError, match="share one task, got models for classification and for"):
        rdiv.two_sample_test(x, x, LDivergence(hypotheses=["ridge", "logistic"]), rng=0)
    for empty in ((), "kde", 3):
        with pytest.raises(ValueError, match="hypotheses must be a list of at least one"):
            LDivergence(hypotheses=empty)
    with pytest.raises(ValueError, match="every hypothesis must give one loss per row"):
        rdiv.two_sample_test(more, more, LDivergence(hypotheses=[lambda pool: np.zeros(2)]), rng=0)
    with pytest.raises(ValueError, match="must learn before it is prepared"):
        QUICK.prepare(Pool(x), np.random.default_rng(0))
    with pytest.raises(ValueError, match="a network for density must give 2 numbers per row"):
        BoundedNetwork(nn.Linear(2, 1)).fit(Pool(x), np.random.default_rng(0))
