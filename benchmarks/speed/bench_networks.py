"""What training costs: the shared loop against a plain one, and a test against one training.

    python benchmarks/speed/bench_networks.py

One epoch of the 2 x 128 perceptron on 2000 x 784 rows against a plain loop with torch's default
Adam, and against the same epoch in skorch and Lightning Fabric where they are installed; r-div with
the autoencoder, 200 rows per side, 99 permutations, against fitting it once, at 500 epochs, and
against 100 fits (99 permutations and the observed split), as the script of the paper does. The 100
fits are run, so they and the test beside them have fewer epochs: `--refit-epochs`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import measure, once, ratio, show, take_turns

from rdiv.models import Frozen, Training, Vae
from rdiv.models.networks.alexnet import alexnet
from rdiv.models.networks.mlp import mlp
from rdiv.models.networks.modules import seeded_torch
from rdiv.models.networks.resnet18 import resnet18
from rdiv.models.networks.training import train
from rdiv.parallel.threads import one_thread
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.two_sample import two_sample_test

Rows = NDArray[np.float64]
N, D, BATCH = 2000, 784, 128


def plain_epoch(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """The loop of a tutorial: a data loader and Adam as it comes."""
    rows = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True)
    optimizer = torch.optim.Adam(module.parameters())
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(inputs), labels).backward()
        optimizer.step()


def fabric_epoch(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """The same loop with Fabric around module, optimiser and loader."""
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)
    rows = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True)
    ready = fabric.setup_dataloaders(loader)
    net, optimizer = fabric.setup(module, torch.optim.Adam(module.parameters()))
    for inputs, labels in ready:
        optimizer.zero_grad()
        fabric.backward(nn.functional.cross_entropy(net(inputs), labels))
        optimizer.step()


def skorch_epoch(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """One epoch of a skorch net, without its validation split."""
    from skorch import NeuralNetClassifier

    net = NeuralNetClassifier(
        module, max_epochs=1, batch_size=BATCH, optimizer=torch.optim.Adam, train_split=None,
        criterion=nn.CrossEntropyLoss, iterator_train__shuffle=True, verbose=0,
    )  # fmt: skip
    net.fit(x, y)


def epochs(repeats: int) -> None:
    """Our epoch and those of others, in the same run and one thread each."""
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.random((N, D)), dtype=torch.float32)
    y = torch.as_tensor(rng.integers(10, size=N))
    with seeded_torch(rng, "cpu"):
        module = mlp((D,), 10)

    def loss(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(net(x), y)

    def ours() -> None:
        train(module, loss, [x, y], training, np.random.default_rng(1))

    training = Training(epochs=1, batch_size=BATCH, device="cpu")
    runs: dict[str, Callable[[], object]] = {"rdiv": ours}
    runs["plain loop"] = partial(plain_epoch, module, x, y)
    packages = {"skorch": skorch_epoch, "lightning_fabric": fabric_epoch}
    found = {name: epoch for name, epoch in packages.items() if find_spec(name)}
    runs |= {name: partial(epoch, module, x, y) for name, epoch in found.items()}
    print(f"one epoch of the perceptron, {N} x {D}, best of {repeats}", flush=True)
    with one_thread():
        take_turns(runs, 1)  # load what is loaded once
        times = take_turns(runs, repeats)
    for name, seconds in times.items():
        show(name, seconds)
    ratio("rdiv / plain loop", times["rdiv"], times["plain loop"], "<= 0.85")
    for name in packages:
        if name in times:
            ratio(f"{name} / rdiv", times[name], times["rdiv"], ">= 1.3")
        else:
            print(f"  {name} is not installed: not compared", flush=True)


def orders_of_weights(repeats: int) -> None:
    """Training with the channels of a pixel side by side, and with torch's own order."""
    rng = np.random.default_rng(0)
    training = Training(epochs=1, batch_size=BATCH, device="cpu")

    def loss(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(net(x), y)

    made = {
        "resnet18": (partial(resnet18, width=16), 32),
        "senet": (partial(resnet18, width=16, excite=True), 32),
        "alexnet": (partial(alexnet, width=16), 64),
    }
    for name, (build, side) in made.items():
        x = torch.as_tensor(rng.random((2 * BATCH, 3, side, side)), dtype=torch.float32)
        y = torch.as_tensor(rng.integers(10, size=len(x)))
        with seeded_torch(rng, "cpu"):
            module = build((3, side, side), 10)
        plain = deepcopy(module).to(memory_format=torch.contiguous_format)
        print(f"{name} of width 16, {len(x)} images of {side} x {side} pixels", flush=True)

        def epoch(module: nn.Module, x: torch.Tensor = x, y: torch.Tensor = y) -> None:
            train(module, loss, [x, y], training, np.random.default_rng(1))

        runs = {"as built": partial(epoch, module), "torch's order": partial(epoch, plain)}
        with one_thread():
            take_turns(runs, 1)
            times = take_turns(runs, repeats)
        for what, seconds in times.items():
            show(what, seconds)
        ratio("torch's order / as built", times["torch's order"], times["as built"], ">= 1.1")


def images() -> tuple[Rows, Rows, PooledSamples]:
    """Two samples of noise, 200 images each, and their pool."""
    rng = np.random.default_rng(0)
    p, q = (rng.random((200, 1, 32, 32)) for _ in range(2))
    return p, q, pool_samples(p, q, rng=0, kind="density")


def against_one_fit(epochs: int, repeats: int) -> None:
    """The test over one fit of the same pool, and what it does besides the fit."""
    p, q, pooled = images()
    model = Vae(epochs=epochs)
    frozen = Frozen(Vae(epochs=1).fit(pooled.pool, pooled.stream("fit")), trained_on="neither")
    print(f"r-div with the vae, {epochs} epochs, 200 rows per side, 99 permutations, "
          f"best of {repeats}", flush=True)  # fmt: skip
    times = take_turns(
        {
            "test": lambda: two_sample_test(p, q, model=model, n_resamples=99, rng=0),
            "one fit": lambda: model.fit(pooled.pool, pooled.stream("fit")),
            "the same test of a fitted vae": lambda: two_sample_test(
                p, q, model=frozen, n_resamples=99, rng=0
            ),
        },
        repeats,
    )
    for name, seconds in times.items():
        show(name, seconds)
    rest = times["the same test of a fitted vae"]
    ratio("test / one fit", times["test"], times["one fit"], "<= 1.05")
    ratio("test of a fitted vae / one fit", rest, times["one fit"], "<= 0.05")


def against_refits(epochs: int) -> None:
    """100 fits, all of them run, over the test, all of the same number of epochs."""
    p, q, pooled = images()
    model = Vae(epochs=epochs)

    def refits() -> None:
        for _ in range(100):
            model.fit(pooled.pool, pooled.stream("fit"))

    ours = measure(lambda: two_sample_test(p, q, model=model, n_resamples=99, rng=0), 3)
    theirs = once(refits)
    print(f"100 fits of the vae, {epochs} epochs each, 200 rows per side, against 99 permutations")
    show("100 fits", theirs)
    show("rdiv", ours)
    ratio("100 fits / rdiv", theirs, ours, ">= 80")


def main() -> None:
    """Print all times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--refit-epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of other people's packages
    epochs(8 * options.repeats)
    against_one_fit(options.epochs, options.repeats)
    against_refits(options.refit_epochs)
    orders_of_weights(options.repeats)


if __name__ == "__main__":
    main()
