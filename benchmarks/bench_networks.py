"""What training costs: the shared loop against a plain one, and a test against one training.

    python benchmarks/bench_networks.py

One epoch of the 2 x 128 perceptron on 2000 x 784 rows against a plain loop with torch's default
Adam; r-div with the autoencoder, 200 rows a side, 99 resamples, against fitting it once.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_ratio, report
from rdiv.models import Training, Vae
from rdiv.models.networks.mlp import mlp
from rdiv.models.torch_modules import seeded_torch
from rdiv.models.torch_training import train
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


def epoch_ratio(repeats: int) -> float:
    """Our epoch over the plain one, one thread each."""
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.random((N, D)), dtype=torch.float32)
    y = torch.as_tensor(rng.integers(10, size=N))
    with seeded_torch(rng, "cpu"):
        module = mlp((D,), 10)

    def loss(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(net(x), y)

    training = Training(epochs=1, batch_size=BATCH, device="cpu")
    with one_thread():
        return best_ratio(
            lambda: train(module, loss, [x, y], training, np.random.default_rng(1)),
            lambda: plain_epoch(module, x, y),
            repeats,
        )


def whole_test_ratio(epochs: int, repeats: int) -> float:
    """The test with 99 resamples over one fit of the same pool."""
    rng = np.random.default_rng(0)
    p, q = (rng.random((200, 1, 32, 32)) for _ in range(2))
    model = Vae(epochs=epochs)
    pooled = pool_samples(p, q, rng=0, kind="density")
    return best_ratio(
        lambda: two_sample_test(p, q, model=model, n_resamples=99, rng=0),
        lambda: model.fit(pooled.pool, pooled.stream("fit")),
        repeats,
    )


def main() -> None:
    """Print both ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    ratio = epoch_ratio(4 * options.repeats)
    report("one epoch of the perceptron, over a plain loop", ratio, "<= 0.85", ratio <= 0.85)
    ratio = whole_test_ratio(options.epochs, options.repeats)
    report("r-div with the vae, over its single training", ratio, "<= 1.05", ratio <= 1.05)


if __name__ == "__main__":
    main()
