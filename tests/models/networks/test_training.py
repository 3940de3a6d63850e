"""The training loop against hand-written updates; what it draws, leaves alone and refuses."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.models.networks.default_networks import NetworkClassifier
from rdiv.models.networks.inputs import fit_inputs
from rdiv.models.networks.modules import (
    evaluate,
    is_module,
    perceptron,
    require_torch,
    seeded_torch,
    tensor,
)
from rdiv.models.networks.training import Training, train
from rdiv.models.networks.updates import MOMENTUM, batchable_rows
from rdiv.samples import Pool

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.trains

X = np.random.default_rng(0).normal(size=(12, 2))
Y = X @ [1.0, -2.0] + 0.5


def squares(module: Any, x: Any, y: Any) -> Any:
    return (module(x)[:, 0] - y).square().mean()


def rows() -> list[Any]:
    return [torch.as_tensor(X), torch.as_tensor(Y)]


def line() -> Any:
    module = nn.Linear(2, 1, bias=False).double()
    nn.init.constant_(module.weight, 0.25)
    return module


def by_hand(training: Training, steps: int) -> np.ndarray:
    """The same updates on the same objective, written out for one weight vector."""
    w = np.full(2, 0.25)
    first, second = np.zeros(2), np.zeros(2)
    for t in range(1, steps + 1):
        gradient = 2 * X.T @ (X @ w - Y) / len(X)
        if training.optimizer == "sgd":
            gradient = gradient + training.weight_decay * w
            first = MOMENTUM * first + gradient
            w = w - training.learning_rate * first
            continue
        w = w - training.learning_rate * training.weight_decay * w
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        scaled = np.sqrt(second / (1 - 0.999**t)) + 1e-8
        w = w - training.learning_rate * first / (1 - 0.9**t) / scaled
    return w


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_updates_are_those_of_the_textbook(optimizer: Any, weight_decay: float) -> None:
    training = Training(
        epochs=7,
        batch_size=None,
        learning_rate=0.05,
        weight_decay=weight_decay,
        optimizer=optimizer,
    )
    found = train(line(), squares, rows(), training, np.random.default_rng(0)).module
    np.testing.assert_allclose(
        found.weight.detach().numpy()[0], by_hand(training, 7), rtol=1e-6, atol=1e-9
    )


def noisy(seed: int = 3) -> Any:
    """A network with dropout: initialisation, order and dropout all draw."""
    rng = np.random.default_rng(seed)
    with seeded_torch(rng):
        module = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 1))
    tensors = [tensor(X, module), tensor(Y, module)]
    return train(module, squares, tensors, Training(epochs=5, batch_size=4), rng).module


def words(module: Any) -> bytes:
    return b"".join(value.numpy().tobytes() for value in module.state_dict().values())


def test_the_same_generator_gives_the_same_bits() -> None:
    assert words(noisy()) == words(noisy())
    assert words(noisy()) != words(noisy(seed=4))


def test_the_state_of_torch_is_left_alone() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first = words(noisy())
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    torch.rand(5)
    assert words(noisy()) == first


def test_one_thread_inside_whatever_outside() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with seeded_torch(np.random.default_rng(0)):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_source_never_seeds_torch_globally() -> None:
    for path in Path(rdiv.__file__).parent.rglob("*.py"):
        assert "torch.manual_seed(" not in path.read_text(encoding="utf-8"), path


def test_the_module_given_is_not_changed() -> None:
    module = line()
    trained = train(module, squares, rows(), Training(epochs=3), np.random.default_rng(0)).module
    assert (module.weight == 0.25).all()
    assert not trained.training
    assert pickle.loads(pickle.dumps(trained)).weight.tolist() == trained.weight.tolist()


def batches_of(n: int, training: Training, strata: Any = None) -> list[list[int]]:
    """The rows of every batch, in the order in which they were used."""
    seen = []

    def spy(module: Any, row: Any) -> Any:
        seen.append(row.long().tolist())
        return module(row[:, None].double()).square().mean()

    module = nn.Linear(1, 1).double()
    train(module, spy, [torch.arange(n)], training, np.random.default_rng(1), strata=strata)
    return seen


@pytest.mark.parametrize(("n", "size"), [(13, 4), (13, 12), (5, 100), (9, None), (8, 1)])
def test_every_epoch_sees_every_row_once(n: int, size: int | None) -> None:
    seen = batches_of(n, Training(epochs=3, batch_size=size))
    count = 1 if size is None else -(-n // size)
    assert len(seen) == 3 * count
    epochs = [
        [row for batch in seen[i : i + count] for row in batch] for i in range(0, len(seen), count)
    ]
    assert all(sorted(epoch) == list(range(n)) for epoch in epochs)
    sizes = {len(batch) for batch in seen}
    assert max(sizes) - min(sizes) <= 1  # no batch of one left over
    if count > 1:
        assert epochs[0] != epochs[1]


def test_strata_are_in_every_batch() -> None:
    strata = np.arange(60) < 12
    seen = batches_of(60, Training(epochs=2, batch_size=10), strata)
    shares = [int(strata[batch].sum()) for batch in seen]
    assert set(shares) == {2}
    few = batches_of(60, Training(epochs=1, batch_size=5), np.arange(60) < 6)
    assert [int((np.array(batch) < 6).sum()) for batch in few] == [2, 2, 2]


@pytest.mark.parametrize(("steps", "ran"), [(1, 1), (4, 4), (6, 6), (100, 9)])
def test_steps_bound_the_epochs(steps: int, ran: int) -> None:
    assert len(batches_of(12, Training(epochs=3, steps=steps, batch_size=4))) == ran


def test_the_best_iterate_is_kept_the_start_included() -> None:
    def score(module: Any, x: Any, y: Any) -> Any:
        assert not module.training
        return -squares(module, x, y)

    good = train(
        line(), squares, rows(), Training(epochs=30, learning_rate=0.5), np.random.default_rng(0),
        score=score,
    )  # fmt: skip
    assert len(good.scores) == 31
    assert -squares(good.module, *rows()).detach().item() == max(good.scores)

    def worse(module: Any, x: Any, y: Any) -> Any:
        return -squares(module, x, y)

    kept = train(line(), worse, rows(), Training(epochs=3), np.random.default_rng(0), score=score)
    assert kept.scores[0] == max(kept.scores)
    assert (kept.module.weight == 0.25).all()


def test_evaluation_in_blocks_equals_one_pass() -> None:
    with seeded_torch(np.random.default_rng(0)):
        module = perceptron([2, 5, 3]).double()
    x = np.random.default_rng(1).normal(size=(9000, 2))
    with torch.no_grad():
        whole = module(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(evaluate(module, x), whole, rtol=1e-12, atol=1e-12)


def test_divergence_is_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"training diverged.*lower the learning rate"):
        train(
            line(), lambda m, x, y: squares(m, x, y) * float("inf"), rows(), Training(epochs=1),
            np.random.default_rng(0),
        )  # fmt: skip


def test_a_module_without_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="Flatten has no parameters"):
        train(nn.Flatten(), squares, rows(), Training(), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"epochs": True}, "epochs must be a whole number"),
        ({"epochs": None}, "epochs must be a whole number"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"batch_size": 2.5}, "batch_size must be a whole number"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or larger"),
        ({"optimizer": "lbfgs"}, "optimizer must be 'adam' or 'sgd'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Training(**settings)


def test_an_unknown_device_is_refused() -> None:
    with (
        pytest.raises(ValueError, match=r"device must be 'auto' or a name for torch, got 'quick'"),
        seeded_torch(np.random.default_rng(0), "quick"),
    ):
        pass


def test_a_missing_torch_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'not installed; run pip install "rdiv\[torch\]"'):
        require_torch()
    assert not is_module(object())


# --- what networks are fed, and the classifier built on the loop ----------------------------------


def test_tables_are_scaled_and_images_keep_their_shape() -> None:
    table = Pool(X * 1e300)
    x = fit_inputs(table, keep_shape=True, who="it")(table)
    np.testing.assert_allclose(x.std(axis=0), 1.0)
    far = Pool(np.array([[1e308, -1e308]]))
    assert np.abs(fit_inputs(Pool(X), keep_shape=False, who="it")(far)).max() == 1e4
    images = Pool(np.full((3, 1, 2, 2), 51, dtype=np.uint8))
    kept = fit_inputs(images, keep_shape=True, who="it")(images)
    assert kept.shape == (3, 1, 2, 2)
    assert np.allclose(kept, 0.2)
    assert fit_inputs(images, keep_shape=False, who="it")(images).shape == (3, 4)
    with pytest.raises(ValueError, match="it needs finite inputs"):
        fit_inputs(Pool(np.array([[np.nan], [0.0]])), keep_shape=False, who="it")


def classes(k: int = 2) -> Pool:
    return Pool(
        X,
        y=np.arange(12) % k,
        task="classification",
        classes=np.arange(k).astype(str),
    )


@pytest.mark.parametrize("k", [2, 3])
def test_losses_of_a_classifier_are_those_of_its_logits(k: int) -> None:
    pool = classes(k)
    model = NetworkClassifier(training=Training(epochs=2))
    fitted = model.fit(pool, np.random.default_rng(0))
    logits = evaluate(fitted.module, fitted.inputs(pool))
    for i in range(12):
        expected = np.log(np.exp(logits[i]).sum()) - logits[i, pool.y[i]]
        assert fitted.losses(pool)[i] == pytest.approx(expected)


def test_one_output_is_the_log_odds_of_the_second_class() -> None:
    pool = classes()
    module = nn.Linear(2, 1)
    fitted = NetworkClassifier(module, Training(epochs=1)).fit(pool, np.random.default_rng(0))
    odds = evaluate(fitted.module, fitted.inputs(pool))[:, 0]
    expected = np.log1p(np.exp(np.where(pool.y == 1, -odds, odds)))
    np.testing.assert_allclose(fitted.losses(pool), expected, rtol=1e-6)


def test_a_module_with_too_many_outputs_is_refused() -> None:
    with pytest.raises(ValueError, match="must give 2 logits per row, got outputs of shape"):
        NetworkClassifier(nn.Linear(2, 5)).fit(classes(), np.random.default_rng(0))


@pytest.mark.parametrize(("n_p", "kept"), [(3, 10), (50, 100), (95, 20)])
def test_a_rare_side_thins_the_other(n_p: int, kept: int) -> None:
    is_p = np.random.default_rng(0).permutation(np.arange(100) < n_p)
    rows = batchable_rows(is_p, Training(batch_size=10), np.random.default_rng(1))
    assert len(rows) == kept
    assert min(is_p[rows].sum(), (~is_p[rows]).sum()) == min(n_p, 100 - n_p)
    whole = batchable_rows(is_p, Training(batch_size=None), np.random.default_rng(1))
    assert whole.tolist() == list(range(100))
