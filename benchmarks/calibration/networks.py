"""Null draws for r-div with networks on real images.

    python benchmarks/calibration/networks.py --out docs/measured/calibration_networks.md

Each draw takes two disjoint random samples of one set of images, trains a small network on both
together for a few epochs and permutes. p and q have one distribution, so p-values must be uniform.
scikit-learn's digits are always there; MNIST and CIFAR10 come from the folder that RDIV_DATA names,
and are left out where it is not set.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import Check, check_pvalues
from benchmarks.calibration.counting import Counts, write_page

from rdiv.discrepancies import HDivergence, RDivergence
from rdiv.models import Mlp, ResNet18, Training, Vae
from rdiv.sources.data_files import data_dir
from rdiv.two_sample import two_sample_test

SIZES, RESAMPLES, SEED = (24, 36), 19, 61
DRAWS, PART = 200, 10
FEW = Training(epochs=3, batch_size=20, learning_rate=1e-2)


@dataclass(frozen=True)
class NetworkCell:
    """A network on one set of images."""

    name: str
    images: str
    build: Callable[[], Any]
    test: Callable[[Any], Any] = RDivergence

    @property
    def labelled(self) -> bool:
        """Whether the network predicts the class."""
        return self.name != "vae"


def cells(images: str) -> dict[str, NetworkCell]:
    """The three networks on one set of images."""
    kinds: dict[str, Callable[[], Any]] = {
        "vae": lambda: Vae((32,), 4, training=FEW),
        "mlp": lambda: Mlp((32, 32), FEW),
        "resnet18": lambda: ResNet18(8, (1, 1), FEW),
    }
    return {name: NetworkCell(name, images, build) for name, build in kinds.items()}


NETWORKS = cells("digits")
REFITS = {
    "h-div, warm starts": NetworkCell("mlp", "digits", NETWORKS["mlp"].build, HDivergence),
    "h-div, cold starts": NetworkCell(
        "mlp", "digits", NETWORKS["mlp"].build, lambda model: HDivergence(model, warm=False)
    ),
}
FILES = {"mnist": "mnist.npz", "cifar10": "cifar10.npz"}
MODELS = {"digits": tuple(NETWORKS), "mnist": ("vae", "mlp"), "cifar10": ("resnet18",)}


@cache
def images(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Images with the channels first, bytes or in [0, 1], and their labels."""
    if name == "digits":
        from sklearn.datasets import load_digits

        data = load_digits()
        return data.images[:, None] / 16, data.target
    with np.load(data_dir() / FILES[name]) as arrays:
        x, y = arrays["x_train"], arrays["y_train"]
    x = x[:, None] if x.ndim == 3 else np.ascontiguousarray(np.moveaxis(x, -1, 1))
    return x, y.astype(np.int64)


def null_pvalue(cell: NetworkCell, i: int) -> float:
    """p-value of one draw."""
    x, y = images(cell.images)
    rows = np.random.default_rng([SEED, i]).permutation(len(x))[: sum(SIZES)]
    p, q = rows[: SIZES[0]], rows[SIZES[0] :]
    first, second = ((x[side], y[side]) if cell.labelled else x[side] for side in (p, q))
    task = "classification" if cell.labelled else None
    test = cell.test(cell.build())
    return two_sample_test(first, second, test, task=task, n_resamples=RESAMPLES, rng=i).pvalue


def null_pvalues(cell: NetworkCell, draws: range) -> NDArray[np.float64]:
    """p-values of several draws."""
    return np.array([null_pvalue(cell, i) for i in draws])


def cell_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a network, given by its name, on one set of images."""
    named = cells(cell["images"])[cell["network"]] if cell["test"] == "r-div" else None
    return null_pvalues(named or REFITS[cell["test"]], draws)


def stopped_check(pvalues: NDArray[np.float64]) -> Check:
    """The check of a test that stops early: only rejections at the level it stops for count."""
    from scipy.stats import binomtest

    count = int((pvalues <= 0.05 + 1e-12).sum())
    return Check(len(pvalues), (count,), (float(binomtest(count, len(pvalues), 0.05).pvalue),))


# --- the page -------------------------------------------------------------------------------------

INTRO = """\
# Calibration of tests with networks

<!-- Written by benchmarks/calibration/networks.py (make calibrate); do not edit. -->

Two disjoint random samples of one set of images, {n_p} and {n_q} of them, so that p and q have one
distribution; a small network, trained on both together for {epochs} epochs; {resamples}
permutations. The last column but one tests all p-values together against the uniform distribution
on 1/20, ..., 1. `h-div` stops once it cannot reject any more, so only its level counts. A cell that
fails is run once more with new draws, four times as many. The seed is {seed}. Command:
`python benchmarks/calibration/networks.py --out docs/measured/calibration_networks.md`.

| images | test | network | draws | at 0.05 | at 0.10 | whole distribution p | verdict |
|---|---|---|---|---|---|---|---|\
"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    settings = {"epochs": FEW.epochs, "resamples": RESAMPLES, "seed": SEED}
    yield INTRO.format(n_p=SIZES[0], n_q=SIZES[1], **settings)
    for name in ("digits", *FILES):
        if name == "digits" or (data_dir() / FILES[name]).is_file():
            for network in MODELS[name]:
                check = partial(check_pvalues, n_resamples=RESAMPLES)
                yield _line(counts, name, "r-div", network, check)
    for how, cell in REFITS.items():
        yield _line(counts, cell.images, how, cell.name, stopped_check)


def _line(
    counts: Counts,
    name: str,
    test: str,
    network: str,
    check: Callable[[NDArray[np.float64]], Check],
) -> str:
    key = {"images": name, "test": test, "network": network}
    told = counts.level(cell_pvalues, key, DRAWS, PART, check)
    return f"| {name} | {test} | `{network}` | {told} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_networks")


if __name__ == "__main__":
    from benchmarks.calibration.networks import main as start  # where workers find it

    start()
