"""The named networks: published sizes, shapes, what they learn, what they refuse."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from rdiv.models import BY_NAME, AlexNet, ConvNeXt, Mlp, ResNet18, SeNet, Training, Vae, ViT
from rdiv.models.networks.alexnet import alexnet
from rdiv.models.networks.convnext import convnext
from rdiv.models.networks.mlp import mlp
from rdiv.models.networks.modules import evaluate
from rdiv.models.networks.resnet18 import resnet18
from rdiv.models.networks.vae import NegativeElbo, vae
from rdiv.models.networks.vit import vit
from rdiv.samples import Pool

torch = pytest.importorskip("torch")

DIGITS = load_digits()
senet = partial(resnet18, excite=True, who="senet")
TINY = {
    "alexnet": partial(alexnet, width=8),
    "resnet18": partial(resnet18, width=8),
    "senet": partial(senet, width=8),
    "convnext": partial(convnext, width=8, blocks=(1, 1, 1, 1)),
    "vit": partial(vit, width=8, depth=1),
    "mlp": partial(mlp, hidden=(8,)),
}
IMAGES_ONLY = [name for name in TINY if name != "mlp"]


def images(side: int = 8, n: int = 64) -> np.ndarray:
    """Digits as images of one channel, enlarged to a multiple of 8 or padded to 28."""
    times = side // 8
    x = DIGITS.images[:n].repeat(times, axis=1).repeat(times, axis=2) / 16
    rest = (side - 8 * times) // 2
    return np.pad(x, ((0, 0), (rest, rest), (rest, rest)))[:, None]


def digits(side: int = 8, n: int = 64) -> Pool:
    y = DIGITS.target[:n]
    return Pool(images(side, n), y=y, task="classification", classes=np.arange(10))


def parameters(build: Any, shape: tuple[int, ...], n_outputs: int) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in build(shape, n_outputs).parameters())


@pytest.mark.parametrize(
    ("build", "shape", "classes", "count"),
    [
        (alexnet, (3, 224, 224), 1000, 61_100_840),
        (convnext, (3, 224, 224), 1000, 28_589_128),
        (vit, (3, 224, 224), 1000, 86_567_656),
        (resnet18, (3, 32, 32), 10, 11_173_962),
        (resnet18, (3, 224, 224), 1000, 11_689_512),
        (mlp, (784,), 10, 784 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10),
    ],
)
def test_full_size_is_the_published_one(build: Any, shape: Any, classes: int, count: int) -> None:
    assert parameters(build, shape, classes) == count


def test_the_page_counts_as_we_do() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "guide" / "networks.md").read_text(
        "utf-8"
    )
    full = [(alexnet, 224, 1000), (convnext, 224, 1000), (vit, 224, 1000), (resnet18, 32, 10)]
    counts = [parameters(build, (3, side, side), k) for build, side, k in [*full, (senet, 32, 10)]]
    counts += [parameters(vae, (1, 32, 32), 0), parameters(mlp, (784,), 10)]
    for count in counts:
        assert f"| {count:,} (" in page


def test_squeeze_and_excitation_adds_two_small_layers_to_each_block() -> None:
    sizes = [64, 64, 128, 128, 256, 256, 512, 512]
    extra = sum(2 * c * (c // 16) + c // 16 + c for c in sizes)
    assert parameters(senet, (3, 32, 32), 10) == 11_173_962 + extra


def test_the_autoencoder_goes_1024_128_64_8_and_back() -> None:
    widths = [p.shape for p in vae((1, 32, 32), 1024).parameters() if p.ndim == 2]
    expected = [(128, 1024), (64, 128), (16, 64), (64, 8), (128, 64), (1024, 128)]
    assert [tuple(shape) for shape in widths] == expected


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [28, 32, 64, 224])
@pytest.mark.parametrize("name", TINY)
def test_shapes(name: str, side: int, channels: int) -> None:
    with torch.device("meta"):
        module = TINY[name]((channels, side, side), 7)
        x = torch.zeros(2, channels, side, side)
        assert module(x.flatten(1) if name == "mlp" else x).shape == (2, 7)
        rows = vae((channels, side, side), 0, hidden=(8,), latent=2, samples=3).eval()
        assert rows(x).shape == (2, 3 * channels * side**2 + 5)


@pytest.mark.parametrize("name", IMAGES_ONLY)
def test_images_that_are_not_square(name: str) -> None:
    with torch.device("meta"):
        assert TINY[name]((3, 32, 48), 4)(torch.zeros(2, 3, 32, 48)).shape == (2, 4)


@pytest.mark.parametrize("name", IMAGES_ONLY)
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((32, 32, 3), r"got rows of shape \(32, 32, 3\); pass np\.moveaxis\(x, -1, 1\)"),
        ((28, 28, 1), r"got rows of shape \(28, 28, 1\); pass np\.moveaxis\(x, -1, 1\)"),
        ((28, 28), r"got rows of shape \(28, 28\); pass x\[:, None\]"),
        ((5,), r"got rows of shape \(5,\); use mlp or vae"),
        ((3, 4, 40), r"at least \d+ x \d+ pixels, got 4 x 40"),
    ],
)
def test_wrong_shapes_are_refused(name: str, shape: tuple[int, ...], message: str) -> None:
    pool = Pool(np.zeros((4, *shape)), y=np.arange(4) % 2, task="classification", classes=[0, 1])
    with pytest.raises(ValueError, match=f"^{name} needs images .*{message}"):
        BY_NAME[name](epochs=1).fit(pool, np.random.default_rng(0))


def test_patches_must_fit() -> None:
    with pytest.raises(ValueError, match=r"patches of 4 x 4 pixels, got images of 30 x 30; set"):
        vit((1, 30, 30), 2)
    with torch.device("meta"):
        assert vit((1, 30, 30), 2, width=8, depth=1, patch=5)[0].places.shape == (1, 37, 8)


LEARNERS = {
    "mlp": (Mlp(training=Training(learning_rate=1e-2), epochs=15), 8),
    "resnet18": (ResNet18(8, (1, 1), Training(learning_rate=2e-2, batch_size=32), 20), 8),
    "senet": (SeNet(8, (1, 1), Training(learning_rate=2e-2, batch_size=32), 25), 8),
    "convnext": (
        ConvNeXt(16, (1, 1, 1, 1), 0.0, Training(learning_rate=1e-2, batch_size=16), epochs=15), 16
    ),
    "vit": (ViT(32, 2, training=Training(learning_rate=4e-3, batch_size=32), epochs=50), 8),
    "alexnet": (
        AlexNet(8, 0.0, Training(learning_rate=1e-3, batch_size=16, schedule="cosine"), epochs=40),
        28,
    ),
}  # fmt: skip


def learned(model: Any, side: int, wrong: np.ndarray | None = None) -> bool:
    """Whether a network knows three of four images it was trained on, one in ten by chance.

    Its mean loss is below half of that of a guess. The last few images, and the digits after the
    point, depend on how the CPU rounds.
    """
    pool = digits(side)
    fitted = model.fit(pool if wrong is None else replace(pool, y=wrong), np.random.default_rng(0))
    guesses = evaluate(fitted.module, fitted.inputs(pool)).argmax(axis=1)
    return bool((guesses == pool.y).mean() > 0.75 and fitted.losses(pool).mean() < np.log(10) / 2)


@pytest.mark.trains
@pytest.mark.parametrize("name", LEARNERS)
def test_every_network_overfits_64_images(name: str) -> None:
    assert learned(*LEARNERS[name])


@pytest.mark.trains
@pytest.mark.parametrize("name", LEARNERS)
def test_a_network_that_is_not_trained_knows_no_image(name: str) -> None:
    model, side = LEARNERS[name]
    still = replace(model.training, learning_rate=1e-12)
    assert not learned(replace(model, training=still, epochs=1), side)


@pytest.mark.trains
def test_a_network_that_is_trained_on_wrong_labels_knows_no_image() -> None:
    assert not learned(*LEARNERS["mlp"], wrong=np.roll(digits().y, 1))


# --- the autoencoder ------------------------------------------------------------------------------


@pytest.mark.trains
def test_the_autoencoder_learns_its_rows() -> None:
    pool = Pool(images())
    few, many = (
        Vae(epochs=e, training=Training(learning_rate=1e-2, batch_size=32)).fit(
            pool, np.random.default_rng(0)
        )
        for e in (1, 150)
    )
    pixels = images().reshape(64, -1)
    mean = pixels.mean(axis=0).clip(1e-3, 1 - 1e-3)
    independent = -(pixels * np.log(mean) + (1 - pixels) * np.log(1 - mean)).sum(axis=1).mean()
    assert many.losses(pool).mean() < independent < few.losses(pool).mean()


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("samples", [1, 4])
def test_the_bound_against_one_written_out(likelihood: str, samples: int) -> None:
    d, k, rng = 3, 2, np.random.default_rng(0)
    out, x = rng.normal(size=samples * d + 2 * k + 1), rng.random(d)
    mean, log_variance, log_noise = out[-5:-3], out[-3:-1], out[-1]
    expected = 0.0
    for sample in out[:-5].reshape(samples, d):
        if likelihood == "bernoulli":
            chance = 1 / (1 + np.exp(-sample))
            costs = -x * np.log(chance) - (1 - x) * np.log(1 - chance)
        else:
            noise = np.exp(log_noise)
            costs = (x - sample) ** 2 / (2 * noise**2) + np.log(noise * np.sqrt(2 * np.pi))
        expected += costs.sum() / samples
    expected += 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance).sum()
    found = NegativeElbo(likelihood, k)(torch.as_tensor(out[None]), torch.as_tensor(x[None]))
    assert found.item() == pytest.approx(expected)


@pytest.mark.trains
def test_samples_are_fixed_and_average_to_the_expectation() -> None:
    pool = Pool(images(n=20))
    quick = Training(epochs=2)
    fitted = Vae(samples=3, training=quick).fit(pool, np.random.default_rng(0))
    whole = fitted.losses(pool)
    np.testing.assert_allclose(fitted.losses(pool.take(np.arange(5))), whole[:5], rtol=1e-5)
    assert fitted.module.noise.shape == (3, 8)
    at_mean = Vae(training=quick).fit(pool, np.random.default_rng(0)).losses(pool)
    assert not np.allclose(whole, at_mean, rtol=1e-6)


def test_likelihood_by_the_data_and_what_it_refuses() -> None:
    def settled(x: np.ndarray) -> str:
        fitted = Vae((4,), 2, epochs=1).fit(Pool(x), np.random.default_rng(0))
        return fitted.objective.loss.likelihood

    x = images(n=6)
    assert settled(x) == "bernoulli"
    assert settled((255 * x).astype(np.uint8)) == "bernoulli"
    assert settled(16 * x) == settled(x.reshape(6, -1)) == "gaussian"
    with pytest.raises(ValueError, match=r"Bernoulli vae needs numbers in \[0, 1\], got 0 to 16"):
        Vae(likelihood="bernoulli").fit(Pool(16 * x), np.random.default_rng(0))


@pytest.mark.trains
def test_a_gaussian_autoencoder_finds_the_noise() -> None:
    """One direction carries all columns but for noise of one tenth of their spread."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1)) * np.ones(6) + 0.1 * rng.normal(size=(200, 6))
    training = Training(epochs=60, learning_rate=1e-2)
    fitted = Vae((16,), 1, training=training).fit(Pool(x), np.random.default_rng(0))
    assert fitted.module.log_noise.exp().item() < 0.4
    independent = 6 * 0.5 * np.log(2 * np.pi * np.e)
    assert fitted.losses(Pool(x)).mean() < independent - 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ResNet18(12), "width must be a multiple of 8, got 12"),
        (lambda: ViT(0), "width must be a multiple of 8, got 0"),
        (lambda: AlexNet(epochs=0), "epochs must be a whole number"),
        (lambda: Vae(likelihood="poisson"), "likelihood must be 'auto', 'bernoulli' or 'gaussian'"),
        (lambda: Vae(latent=0), "latent must be a whole number of at least 1, got 0"),
        (lambda: Vae(samples=-1), "samples must be a whole number of at least 0, got -1"),
        (lambda: Mlp().fit(Pool(images()), np.random.default_rng(0)), "mlp needs a target"),
    ],
)
def test_bad_settings_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
