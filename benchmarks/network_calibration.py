"""Null draws for r-div with networks on real images: scikit-learn's digits.

    python benchmarks/network_calibration.py --draws 200

Each draw takes two disjoint random samples of the 8 x 8 digits, trains a small network on both
together for a few epochs and permutes. p and q have one distribution, so p-values must be uniform.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.calibration import check_pvalues
from rdiv.models import Mlp, ResNet18, Training, Vae
from rdiv.two_sample import two_sample_test

SIZES, RESAMPLES = (24, 36), 19
FEW = Training(epochs=3, batch_size=20, learning_rate=1e-2)
NETWORKS: dict[str, Callable[[], Any]] = {
    "vae": lambda: Vae((32,), 4, training=FEW),
    "mlp": lambda: Mlp((32, 32), FEW),
    "resnet18": lambda: ResNet18(8, (1, 1), FEW),
}


@cache
def digits() -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Images in [0, 1] with one channel, and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images[:, None] / 16, data.target


def null_pvalue(name: str, i: int) -> float:
    """p-value of one draw."""
    x, y = digits()
    rows = np.random.default_rng([61, i]).permutation(len(x))[: sum(SIZES)]
    p, q = rows[: SIZES[0]], rows[SIZES[0] :]
    samples = [x[p], x[q]] if name == "vae" else [(x[p], y[p]), (x[q], y[q])]
    model = NETWORKS[name]()
    result = two_sample_test(
        *samples, model=model, task=None if name == "vae" else "classification",
        n_resamples=RESAMPLES, rng=i,
    )  # fmt: skip
    return result.pvalue


def null_pvalues(name: str, draws: range) -> NDArray[np.float64]:
    """p-values of several draws."""
    return np.array([null_pvalue(name, i) for i in draws])


def main() -> None:
    """Print the check of every network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    draws = parser.parse_args().draws
    for name in NETWORKS:
        print(name, check_pvalues(null_pvalues(name, range(draws)), RESAMPLES), flush=True)


if __name__ == "__main__":
    main()
