"""The deep kernel against double loops, and its training; levels are in tests/calibration."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.discrepancies import DeepMmd, gram
from rdiv.discrepancies.deep_mmd import DeepKernelMmd, power_objective
from rdiv.inference.masks import random_subsets
from rdiv.models.networks.training import Training
from rdiv.samples import Pool, pool_samples
from rdiv.two_sample import halves_of

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
QUICK = DeepMmd(training=Training(epochs=30, batch_size=None, learning_rate=5e-3))


def learned(test: DeepMmd = QUICK, n_p: int = 20, n_q: int = 20, d: int = 2) -> DeepKernelMmd:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_p + n_q, d))
    x[:n_p] *= 2
    return test.learn(Pool(x), np.arange(len(x)) < n_p, rng)


def forward(module: Any, row: np.ndarray) -> np.ndarray:
    """The perceptron, one row at a time."""
    for layer in module:
        if isinstance(layer, nn.Linear):
            weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
            row = weight.astype(float) @ row + bias.astype(float)
        else:
            row = np.maximum(row, 0.0)
    return row


def slow_kernel(fitted: DeepKernelMmd, a: np.ndarray, b: np.ndarray) -> float:
    def gaussian(u: np.ndarray, v: np.ndarray, bandwidth: float) -> float:
        return np.exp(-sum((u - v) ** 2) / (2 * bandwidth**2))

    deep = gaussian(
        forward(fitted.features, a), forward(fitted.features, b), fitted.feature_bandwidth
    )
    return ((1 - fitted.share) * deep + fitted.share) * gaussian(a, b, fitted.bandwidth)


def slow_mmd(kernel: np.ndarray, mask: np.ndarray) -> float:
    p, q = np.flatnonzero(mask), np.flatnonzero(~mask)
    within_p = np.mean([kernel[i, j] for i in p for j in p if i != j])
    within_q = np.mean([kernel[i, j] for i in q for j in q if i != j])
    return within_p + within_q - 2 * np.mean([kernel[i, j] for i in p for j in q])


def test_kernel_and_statistic_equal_double_loops() -> None:
    fitted = learned()
    pool = Pool(RNG.normal(size=(12, 2)) * 1.5)
    scaled = fitted.inputs(pool)
    slow = np.array([[slow_kernel(fitted, a, b) for b in scaled] for a in scaled])
    np.testing.assert_allclose(fitted.gram(pool), slow, rtol=1e-4)
    masks = random_subsets(np.random.default_rng(1), 8, 12, 5)
    found = fitted.prepare(pool, np.random.default_rng(0)).statistic(masks)
    exact = fitted.gram(pool)
    np.testing.assert_allclose(found, [slow_mmd(exact, mask) for mask in masks], rtol=1e-9)


def slow_objective(kernel: np.ndarray, is_p: np.ndarray) -> float:
    p, q = np.flatnonzero(is_p), np.flatnonzero(~is_p)
    witness = [
        np.mean([kernel[i, j] for j in p if j != i]) - np.mean([kernel[i, j] for j in q if j != i])
        for i in range(len(kernel))
    ]
    n_p, n_q = len(p), len(q)
    variance = 8 * (n_q * np.var([witness[i] for i in p]) + n_p * np.var([witness[i] for i in q]))
    return slow_mmd(kernel, is_p) / np.sqrt(variance / (n_p + n_q) + 1e-8)


def gaussian_kernel(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * ((x[:, None] - x) ** 2).sum(axis=2))


@pytest.mark.parametrize("n_p", [6, 3])
def test_the_objective_equals_double_loops(n_p: int) -> None:
    x = RNG.normal(size=(12, 2))
    x[:n_p] += 0.7
    kernel, is_p = gaussian_kernel(x), RNG.permutation(np.arange(12) < n_p)
    found = float(power_objective(torch.as_tensor(kernel), torch.as_tensor(is_p)))
    assert found == pytest.approx(slow_objective(kernel, is_p), rel=1e-9)


def test_the_objective_is_that_of_the_paper_but_for_its_pairs() -> None:
    """Liu et al. 2020, Eq. 3 and 5, pair the i-th row of p with the i-th of q."""
    n = 400
    x = RNG.normal(size=(2 * n, 1)) + 0.8 * (np.arange(2 * n) < n)[:, None]
    kernel = gaussian_kernel(x)
    h = kernel[:n, :n] + kernel[n:, n:] - kernel[:n, n:] - kernel[n:, :n]
    np.fill_diagonal(h, 0.0)
    variance = 4 * (np.mean((h.sum(axis=1) / n) ** 2) - (h.sum() / n**2) ** 2)
    paired = h.sum() / (n * (n - 1)) / np.sqrt(variance)
    found = float(power_objective(torch.as_tensor(kernel), torch.arange(2 * n) < n))
    assert found == pytest.approx(paired, rel=0.1)


def test_training_raises_the_objective() -> None:
    p, q = RNG.normal(size=(60, 2)), 2 * RNG.normal(size=(60, 2))
    notes = rdiv.two_sample_test(p, q, QUICK, n_resamples=19, rng=0).notes
    assert notes["objective after training"] > notes["objective before training"] + 0.1
    fitted = learned()
    pool_x = np.random.default_rng(1).normal(size=(40, 2))
    pool_x[:20] *= 2
    again = slow_objective(fitted.gram(Pool(pool_x)), np.arange(40) < 20)
    assert fitted.objective[1] == pytest.approx(again, rel=1e-3)


def test_the_same_generator_gives_the_same_kernel() -> None:
    pool = Pool(RNG.normal(size=(15, 2)))
    assert learned().gram(pool).tobytes() == learned().gram(pool).tobytes()


def test_what_is_learned_pickles() -> None:
    fitted, pool = learned(), Pool(RNG.normal(size=(10, 2)))
    again = pickle.loads(pickle.dumps(fitted))
    assert again.gram(pool).tobytes() == fitted.gram(pool).tobytes()
    assert again.objective == fitted.objective


def test_held_out_labels_change_no_number() -> None:
    x = RNG.normal(size=(40, 2))
    pooled = pool_samples(x[:16], x[16:], rng=2)
    learn, held_out = halves_of(pooled.pool, pooled.is_p, pooled.stream("halves"))
    found = set()
    for _ in range(2):
        fitted = QUICK.learn(pooled.pool.take(learn), pooled.is_p[learn], pooled.stream("learn"))
        prepared = fitted.prepare(pooled.pool.take(held_out), pooled.stream("fit"))
        masks = random_subsets(np.random.default_rng(3), 5, len(held_out), 8)
        found.add(prepared.statistic(masks).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(("n_p", "n_q", "d"), [(40, 40, 1), (40, 150, 3), (60, 60, 200)])
def test_a_plain_shift_is_found(n_p: int, n_q: int, d: int) -> None:
    p, q = RNG.normal(size=(n_p, d)), RNG.normal(size=(n_q, d)) + 2 / d**0.25
    result = rdiv.two_sample_test(p, q, QUICK, n_resamples=99, rng=0)
    assert result.pvalue == 0.01
    assert result.notes["rows tested"] == (n_p + n_q) // 2


def test_a_module_of_ones_own_sees_images_in_their_shape() -> None:
    images = RNG.random((80, 1, 4, 4))
    images[:40] *= 0.5
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    test = DeepMmd(module, training=Training(epochs=5))
    result = rdiv.two_sample_test(images[:40], images[40:], test, n_resamples=99, rng=0)
    assert result.pvalue <= 0.05
    named = rdiv.two_sample_test(
        images[:40], images[40:], "mmd-d", model=module, n_resamples=19, rng=0
    )
    assert named.rejected
    assert named.model.startswith("Sequential(")


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_any_scale(scale: float) -> None:
    p, q = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 3
    result = rdiv.two_sample_test(p * scale, q * scale, QUICK, n_resamples=19, rng=0)
    assert result.pvalue == (1.0 if scale == 0 else 0.05)


def test_a_subsample_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram, "MOST_ROWS", 30)
    p, q = RNG.normal(size=(40, 1)), RNG.normal(size=(40, 1)) + 3
    with pytest.raises(ValueError, match=r"all pairs of rows, got 40.*DeepMmd\(subsample=10000\)"):
        rdiv.two_sample_test(p, q, QUICK, n_resamples=19, rng=0)
    with pytest.raises(ValueError, match="which needs 0 GB"):  # before any training
        QUICK.learn(Pool(p), np.arange(40) < 20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="subsample must be at least 4 rows, got 2"):
        DeepMmd(subsample=2)
    smaller = DeepMmd(training=QUICK.training, subsample=30)
    result = rdiv.two_sample_test(p, q, smaller, n_resamples=19, rng=0)
    assert result.notes["rows compared"] == 30
    assert result.rejected


def test_bad_input_is_refused() -> None:
    x = RNG.normal(size=(3, 1))
    with pytest.raises(TypeError, match=r"needs a torch module as its feature network, got str"):
        rdiv.two_sample_test(x, x, "mmd-d", model="kde", rng=0)
    with pytest.raises(ValueError, match="needs at least 4 rows in each sample, got 3"):
        rdiv.two_sample_test(x, x, QUICK, rng=0)
    missing = np.tile([[np.nan], [1.0], [2.0], [3.0]], (3, 1))
    with pytest.raises(ValueError, match="mmd-d needs finite inputs"):
        rdiv.two_sample_test(missing, missing, QUICK, rng=0)


def test_four_rows_a_side_are_enough() -> None:
    p, q = RNG.normal(size=(4, 1)), RNG.normal(size=(4, 1))
    result = rdiv.two_sample_test(p, q, QUICK, alpha=0.5, n_resamples=19, rng=0)
    assert result.notes["rows tested"] == 4
    assert len(np.unique(result.null_distribution)) > 1
