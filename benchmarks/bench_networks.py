"""What training costs: the shared loop against a plain one, and a test against one training.

    python benchmarks/bench_networks.py

One epoch of the 2 x 128 perceptron on 2000 x 784 rows against a plain loop with torch's default
Adam, and against the same epoch in skorch and Lightning Fabric where they are installed; r-div with
the autoencoder, 200 rows a side, 500 epochs, 99 resamples, against fitting it once, and against
fitting it for every relabelling, as the script of the paper does (the time of the single fits that
were run, times 100).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of, best_ratio, report
from rdiv.models import Frozen, Training, Vae
from rdiv.models.networks.mlp import mlp
from rdiv.models.networks.modules import seeded_torch
from rdiv.models.networks.training import train
from rdiv.samples.pooling import pool_samples
from rdiv.threads import one_thread
from rdiv.two_sample import two_sample_test

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


def epoch_ratios(repeats: int) -> Iterator[tuple[str, float]]:
    """Our epoch over that of others, in the same run and one thread each."""
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
    others: dict[str, Callable[..., Any]] = {"plain": plain_epoch}
    others |= {"skorch": skorch_epoch} if find_spec("skorch") else {}
    others |= {"lightning fabric": fabric_epoch} if find_spec("lightning_fabric") else {}
    with one_thread():
        for name, other in others.items():
            other(module, x, y)
            yield name, best_ratio(ours, lambda other=other: other(module, x, y), repeats)


def whole_test_ratio(epochs: int, repeats: int) -> float:
    """The test with 99 resamples over one fit of the same pool, in seconds of the processor."""
    rng = np.random.default_rng(0)
    p, q = (rng.random((200, 1, 32, 32)) for _ in range(2))
    model = Vae(epochs=epochs)
    pooled = pool_samples(p, q, rng=0, kind="density")
    return best_ratio(
        lambda: two_sample_test(p, q, model=model, n_resamples=99, rng=0),
        lambda: model.fit(pooled.pool, pooled.stream("fit")),
        repeats,
        time.process_time,
    )


def rest_ratio(epochs: int) -> float:
    """One fit and all that the test does besides, over the fit: less noise than the whole twice."""
    rng = np.random.default_rng(0)
    p, q = (rng.random((200, 1, 32, 32)) for _ in range(2))
    pooled = pool_samples(p, q, rng=0, kind="density")
    fits: list[Any] = []
    alone = best_of(
        lambda: fits.append(Vae(epochs=epochs).fit(pooled.pool, pooled.stream("fit"))),
        1,
        time.process_time,
    )
    model = Frozen(fits[0], trained_on="neither")
    rest = best_of(
        lambda: two_sample_test(p, q, model=model, n_resamples=99, rng=0), 5, time.process_time
    )
    return 1 + rest / alone


def main() -> None:
    """Print all ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of other people's packages
    seen = []
    for name, ratio in epoch_ratios(8 * options.repeats):
        seen.append(name)
        if name == "plain":
            report(
                "one epoch of the perceptron, over a plain loop", ratio, "<= 0.85", ratio <= 0.85
            )
        else:
            faster = 1 / ratio
            report(f"one epoch of the perceptron, times faster than {name}", faster, ">= 1.3",
                   faster >= 1.3)  # fmt: skip
    for name in {"skorch", "lightning fabric"} - set(seen):
        print(f"{name} is not installed: not compared", flush=True)
    ratio = whole_test_ratio(options.epochs, options.repeats)
    report("r-div with the vae, over its single training", ratio, "<= 1.05", ratio <= 1.05)
    ratio = rest_ratio(options.epochs)
    report("the same, from the fit and the rest timed apart", ratio, "<= 1.05", ratio <= 1.05)
    faster = 100 / ratio
    report("times faster than 100 trainings (from the one timed)", faster, ">= 80", faster >= 80)


if __name__ == "__main__":
    main()
