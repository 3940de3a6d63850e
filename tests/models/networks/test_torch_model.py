"""Any torch module as a model: losses, gradients, refits, saved weights, failures."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.discrepancies import HDivergence, Score
from rdiv.models import BY_NAME, CrossFit, Mlp, TorchModel, Training, Vae, as_model
from rdiv.models.networks.modules import evaluate, seeded_torch
from rdiv.models.networks.objectives import MOST_FEATURES
from rdiv.models.networks.training import train
from rdiv.models.networks.updates import rate_factor
from rdiv.samples import Pool

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.trains

RNG = np.random.default_rng
X = RNG(0).normal(size=(30, 3))
QUICK = Training(epochs=3, batch_size=10, learning_rate=1e-2)


def pool_for(task: str, x: np.ndarray = X) -> Pool:
    if task == "classification":
        y = (x.reshape(len(x), -1)[:, 0] > 0).astype(int) + np.arange(len(x)) % 2
        return Pool(x, y=y, task=task, classes=np.arange(3))
    y = 100 + 50 * x.reshape(len(x), -1)[:, 0]
    return Pool(x, y=y, task=task) if task == "regression" else Pool(x)


def network(shape: tuple[int, ...], n_outputs: int) -> Any:
    d = int(np.prod(shape))
    return nn.Sequential(
        nn.Flatten(), nn.Linear(d, 5), nn.Tanh(), nn.Dropout(0.2), nn.Linear(5, n_outputs)
    )


TASKS = ("classification", "regression", "density")


def fitted_to(task: str) -> Any:
    return TorchModel(network, training=QUICK).fit(pool_for(task), RNG(1))


@pytest.mark.parametrize("task", TASKS)
def test_losses_by_hand(task: str) -> None:
    pool, fitted = pool_for(task), fitted_to(task)
    outputs = evaluate(fitted.module, fitted.inputs(pool))
    if task == "classification":
        expected = np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(30), pool.y]
    elif task == "regression":
        expected = (pool.y.mean() + pool.y.std() * outputs[:, 0] - pool.y) ** 2
    else:
        expected = np.square(outputs - fitted.inputs(pool)).sum(axis=1)
    np.testing.assert_allclose(fitted.losses(pool), expected, rtol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_gradients_against_finite_differences(task: str) -> None:
    """Of every row's loss, in bias and weights of the last layer, in double precision."""
    pool, fitted = pool_for(task), fitted_to(task)
    fitted.module.double()
    layer = fitted.module[-1]
    found = fitted.gradients(pool).reshape(30, len(layer.bias), 6)
    step = 1e-5
    for out in range(len(layer.bias)):
        for place in range(6):
            values = layer.bias.data[out : out + 1]
            values = values if place == 0 else layer.weight.data[out, place - 1 : place]
            values += step
            above = fitted.losses(pool)
            values -= 2 * step
            below = fitted.losses(pool)
            values += step
            expected = (above - below) / (2 * step)
            np.testing.assert_allclose(
                found[:, out, place], expected, rtol=1e-4, atol=1e-6 * np.abs(found).max()
            )


def test_gradients_of_an_autoencoder_against_autograd() -> None:
    x = RNG(2).random((6, 5))
    model = Vae((4,), 2, likelihood="bernoulli", samples=3, training=QUICK)
    fitted = model.fit(Pool(x), RNG(0))
    found = fitted.gradients(Pool(x))
    layer = fitted.module.decoder[-1]
    for i in range(6):
        rows = torch.as_tensor(x[i : i + 1]).float()
        loss = fitted.objective.row_losses(fitted.module(rows), rows, None).sum()
        weight, bias = torch.autograd.grad(loss, [layer.weight, layer.bias])
        expected = torch.cat([bias[:, None], weight], dim=1).flatten().numpy()
        np.testing.assert_allclose(found[i], expected, rtol=1e-4, atol=1e-6)


def test_many_features_are_mixed_alike_for_every_row() -> None:
    pool = pool_for("classification")
    fitted = Mlp((200,), QUICK).fit(pool, RNG(0))
    found = fitted.gradients(pool)
    assert found.shape == (30, 3 * MOST_FEATURES)
    np.testing.assert_allclose(
        fitted.gradients(pool.take(np.arange(4))), found[:4], rtol=1e-4, atol=1e-6
    )


def test_a_module_without_a_linear_layer_has_gradients_of_offsets() -> None:
    images = RNG(3).random((7, 1, 4, 4))
    fitted = TorchModel(nn.Conv2d(1, 1, 3, padding=1), training=QUICK).fit(Pool(images), RNG(0))
    residuals = 2 * (evaluate(fitted.module, images) - images).reshape(7, -1)
    np.testing.assert_allclose(fitted.gradients(Pool(images)), residuals, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", [TorchModel(network, training=QUICK), Mlp((8,), QUICK)], ids=str)
def test_the_same_seed_gives_the_same_bits(model: Any) -> None:
    pool = pool_for("classification")
    first, second, third = (model.fit(pool, RNG(s)).losses(pool).tobytes() for s in (1, 1, 2))
    assert first == second != third


def test_a_module_starts_from_its_weights_and_is_left_alone() -> None:
    with seeded_torch(RNG(0)):
        module = network((3,), 3)
    before = [p.clone() for p in module.parameters()]
    still = Training(epochs=1, learning_rate=1e-12)
    fitted = as_model(module)
    assert isinstance(fitted, TorchModel)
    trained = TorchModel(module, training=still).fit(pool_for("classification"), RNG(0)).module
    for own, found, start in zip(module.parameters(), trained.parameters(), before, strict=True):
        assert torch.equal(own, start)
        torch.testing.assert_close(found, start)


def test_refits_warm_and_cold() -> None:
    pool = pool_for("classification")
    still = Training(epochs=1, learning_rate=1e-12)
    fitted = TorchModel(network, training=QUICK).fit(pool, RNG(0))
    frozen = TorchModel(network, training=still).fit(pool, RNG(0))
    half = pool.take(np.arange(15))
    np.testing.assert_allclose(
        frozen.refit(half, RNG(1)).losses(pool), frozen.losses(pool), rtol=1e-5
    )
    assert not np.allclose(frozen.fit_anew(half, RNG(1)).losses(pool), frozen.losses(pool))
    assert fitted.refit(half, RNG(1)).inputs is fitted.inputs
    alone = fitted.refit(pool.take(np.arange(1)), RNG(1)).losses(pool)
    assert np.isfinite(alone).all()


@pytest.mark.parametrize("test", [HDivergence, Score])
def test_discrepancies_that_refit_or_ask_for_gradients(test: Any) -> None:
    model = Mlp((4,), Training(epochs=2, batch_size=None))
    y = (X[:, 0] > 0).astype(int)
    result = rdiv.two_sample_test(
        (X[:15], y[:15]), (X[15:], y[15:]), test(model), n_resamples=19, rng=0
    )
    assert np.isfinite(result.statistic)
    assert {"refits", "parameters"} & result.notes.keys()  # either says what it asked the network


@pytest.mark.parametrize("warm", [True, False])
def test_refits_of_networks_are_the_same_side_by_side(
    warm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warm and cold, in turn and in processes, stopping at the same draw."""
    monkeypatch.setattr("rdiv.inference.engine._WORTH_PROCESSES", 0.0)
    y = (X[:, 0] > 0).astype(int)
    test = HDivergence(Mlp((4,), Training(epochs=2, batch_size=10)), warm=warm)
    one, two = (
        rdiv.two_sample_test(
            (X[:15], y[:15]), (X[15:], y[15:]), test, n_resamples=39, rng=0, n_jobs=n_jobs
        )
        for n_jobs in (None, 2)
    )
    assert one.to_json() == two.to_json()
    assert len(one.null_distribution) < 39  # it cannot reject any more: no need to go on


@pytest.mark.parametrize("name", ["mlp", "resnet18"])
@pytest.mark.parametrize("test", ["c2st-s", "c2st-l"])
def test_networks_tell_samples_apart(name: str, test: str) -> None:
    """A named network as the classifier of p against q, stopping early on rows it holds back."""
    model = BY_NAME[name](training=Training(epochs=30, batch_size=20, patience=5), **SMALL[name])
    images = RNG(4).random((80, 1, 8, 8))
    images[:40] *= 0.3
    found = rdiv.two_sample_test(images[:40], images[40:], test, model=model, n_resamples=99, rng=0)
    assert found.rejected


SMALL: dict[str, dict[str, Any]] = {
    "mlp": {"hidden": (16,)},
    "resnet18": {"width": 8, "blocks": (1,)},
}


def test_out_of_fold_losses_and_whole_gradients() -> None:
    pool = pool_for("classification")
    fitted = CrossFit(Mlp((4,), QUICK), 3).fit(pool, RNG(0))
    assert fitted.losses(pool).shape == (30,)
    assert fitted.gradients(pool).shape == (30, 3 * 5)


def test_a_loss_of_your_own() -> None:
    pool = pool_for("regression")
    model = TorchModel(
        lambda: nn.Linear(3, 1),
        loss=nn.L1Loss(reduction="none"),
        training=QUICK,
    )
    fitted = model.fit(pool, RNG(0))
    outputs = evaluate(fitted.module, fitted.inputs(pool))
    np.testing.assert_allclose(fitted.losses(pool), np.abs(outputs[:, 0] - pool.y), rtol=1e-6)
    with pytest.raises(ValueError, match=r'one number per row, got shape \(\).*reduction="none"'):
        TorchModel(lambda: nn.Linear(3, 1), loss=nn.L1Loss()).fit(
            Pool(X, y=X[:, :1].ravel(), task="regression"), RNG(0)
        )


def test_images_reach_a_module_in_their_shape() -> None:
    images = RNG(3).integers(0, 256, size=(8, 1, 5, 5), dtype=np.uint8)
    pool = pool_for("classification", images)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(18, 3))
    assert TorchModel(net, training=QUICK).fit(pool, RNG(0)).losses(pool).shape == (8,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TorchModel(5), TypeError, "needs a torch module or a function"),
        (lambda: as_model(nn.Linear), TypeError, r"got the class Linear; add \(\)"),
        (
            lambda: TorchModel(lambda: 3).fit(Pool(X), RNG(0)),
            TypeError,
            "must return a torch module, got int",
        ),
        (
            lambda: TorchModel(nn.Linear(3, 2)).fit(Pool(X), RNG(0)),
            ValueError,
            "for density must give 3 numbers per row",
        ),
        (
            lambda: fitted_to("density").losses(Pool(X[:, :2])),
            ValueError,
            r"fitted to rows of shape \(3,\), got \(2,\)|operands could not be broadcast",
        ),
        (
            lambda: fitted_to("classification").losses(pool_for("regression")),
            ValueError,
            "trained for classification, got a pool for regression",
        ),
        (
            lambda: TorchModel(network, task="regression").fit(Pool(X), RNG(0)),
            ValueError,
            "needs a target for regression, got a pool for density",
        ),
    ],
)
def test_failures_are_one_sentence(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- saved weights --------------------------------------------------------------------------------


def saved(monkeypatch: pytest.MonkeyPatch, path: Path, tensors: dict[str, Any]) -> None:
    """Stand in for the package: what it reads is given here."""
    path.write_bytes(b"")
    package, module = ModuleType("safetensors"), ModuleType("safetensors.torch")
    package.SafetensorError = OSError  # type: ignore[attr-defined]
    module.load_file = lambda _: tensors  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "safetensors", package)
    monkeypatch.setitem(sys.modules, "safetensors.torch", module)


def test_weights_are_where_training_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The last layer of a file for 7 classes stays fresh; the others come from the file."""
    path = tmp_path / "start.safetensors"
    with seeded_torch(RNG(9)):
        tensors = network((3,), 7).state_dict()
    saved(monkeypatch, path, tensors)
    still = Training(epochs=1, learning_rate=1e-12)
    fitted = TorchModel(network, training=still, weights=path).fit(
        pool_for("classification"), RNG(0)
    )
    torch.testing.assert_close(fitted.module[1].weight.data, tensors["1.weight"])
    assert fitted.module[-1].weight.shape == (3, 5)
    saved(monkeypatch, path, {"1.weight": torch.zeros(2, 2)})
    with pytest.raises(ValueError, match=r"do not fit the network: 2 tensors.*such as 1\.weight"):
        TorchModel(network, weights=path).fit(pool_for("classification"), RNG(0))


def test_weights_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pool = pool_for("classification")
    with pytest.raises(ValueError, match=r"\.safetensors file, which cannot run code, got 'a\.pt'"):
        TorchModel(network, weights="a.pt").fit(pool, RNG(0))
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match=r'weights= needs safetensors.*"rdiv\[torch\]"'):
        TorchModel(network, weights="a.safetensors").fit(pool, RNG(0))
    saved(monkeypatch, tmp_path / "there.safetensors", {})
    with pytest.raises(FileNotFoundError, match="no file"):
        TorchModel(network, weights=tmp_path / "not.safetensors").fit(pool, RNG(0))


def save(path: Path, tensors: dict[str, Any]) -> Path:
    """A file that the package itself writes."""
    pytest.importorskip("safetensors")
    from safetensors.torch import save_file

    save_file(tensors, path)
    return path


def test_saved_weights_come_back_to_the_bit(tmp_path: Path) -> None:
    """A fitted network, saved and used as a start that is never trained, judges as it did."""
    pool = pool_for("classification")
    first = TorchModel(network, training=QUICK).fit(pool, RNG(0))
    path = save(tmp_path / "fitted.safetensors", first.module.state_dict())
    start = TorchModel(network, training=QUICK, weights=path).fit(pool, RNG(1))
    again = start.recipe.build(start.shape, 3, RNG(2))
    for name, value in first.module.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name
    assert not torch.equal(start.module[1].weight, first.module[1].weight)  # trained on from there


def test_real_files_that_do_not_fit(tmp_path: Path) -> None:
    pool = pool_for("classification")
    with seeded_torch(RNG(9)):
        wider = network((4,), 3).state_dict()
    path = save(tmp_path / "wider.safetensors", wider)
    with pytest.raises(ValueError, match=r"do not fit the network: 1 tensor is absent or of ano"):
        TorchModel(network, weights=path).fit(pool, RNG(0))
    pickled = tmp_path / "pickled.safetensors"
    torch.save(wider, pickled)
    with pytest.raises(ValueError, match=r"pickled\.safetensors is not a safetensors file"):
        TorchModel(network, weights=pickled).fit(pool, RNG(0))


# --- what the trainer learned for networks --------------------------------------------------------


def squares(module: Any, x: Any) -> Any:
    return (module(x) - 3).square().mean()


@pytest.mark.parametrize("schedule", ["step", "cosine"])
def test_schedules_are_those_of_the_text(schedule: Any) -> None:
    """SGD without a gradient's change: constant gradient 1, so each update is the rate itself."""
    training = Training(epochs=8, optimizer="sgd", learning_rate=0.5, schedule=schedule)
    module = nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(module.weight)
    x = torch.ones(4, 1).double()
    found = train(module, lambda m, x: m(x).mean(), [x], training, RNG(0)).module
    speed, place = 0.0, 0.0
    for step in range(8):
        speed = 0.9 * speed + 1
        place -= 0.5 * rate_factor(schedule, step / 8) * speed
    assert found.weight.item() == pytest.approx(place)


def test_clipping_bounds_an_update() -> None:
    training = Training(epochs=1, optimizer="sgd", learning_rate=1.0, clip=0.25)
    module = nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(module.weight)
    found = train(module, squares, [torch.ones(4, 1).double()], training, RNG(0)).module
    assert found.weight.item() == pytest.approx(0.25, rel=1e-4)


def test_patience_stops_on_rows_held_back_and_keeps_the_best() -> None:
    """Rows that are pure noise: training goes on to fall, held-back rows soon stop it."""
    x, seen = torch.as_tensor(RNG(4).normal(size=(40, 12))).float(), []
    y = torch.as_tensor(RNG(5).normal(size=40)).float()

    def loss(module: Any, x: Any, y: Any) -> Any:
        seen.append(len(x))
        return (module(x)[:, 0] - y).square().mean()

    with seeded_torch(RNG(0)):
        module = nn.Sequential(nn.Linear(12, 50), nn.Tanh(), nn.Linear(50, 1))
    training = Training(epochs=300, batch_size=None, learning_rate=1e-2, patience=4)
    trained = train(module, loss, [x, y], training, RNG(0))
    assert set(seen) == {36, 4}
    assert len(trained.scores) < 200
    assert trained.scores.index(max(trained.scores)) == len(trained.scores) - 1 - 4
    whole = train(module, loss, [x[:1], y[:1]], Training(epochs=2, patience=1), RNG(0))
    assert whole.scores == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "linear"}, "schedule must be 'constant', 'step' or 'cosine'"),
        ({"clip": 0.0}, "clip must be a positive number or None"),
        ({"patience": 0}, "patience must be a whole number"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Training(**settings)


def test_running_out_of_memory_is_one_sentence() -> None:
    def loss(module: Any, x: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")

    with pytest.raises(ValueError, match="out of memory on cpu with batches of 128 rows; lower"):
        train(nn.Linear(1, 1), loss, [torch.zeros(3, 1)], Training(device="cpu"), RNG(0))

    def other(module: Any, x: Any) -> Any:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        train(nn.Linear(1, 1), other, [torch.zeros(3, 1)], Training(), RNG(0))
