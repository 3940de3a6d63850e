"""Null draws for r-div with networks on real images.

    python benchmarks/calibration/networks.py --out docs/measured/calibration_networks.md

Each draw takes two disjoint random samples of one set of images, trains a small network on both
together for a few epochs and permutes. p and q have one distribution, so p-values must be uniform.
scikit-learn's digits are always there; MNIST and CIFAR10 come from the folder that RDIV_DATA names,
and are left out where it is not set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import Check, check_pvalues

from rdiv.discrepancies import HDivergence, RDivergence
from rdiv.models import Mlp, ResNet18, Training, Vae
from rdiv.sources.data_files import data_dir
from rdiv.studies.journal import resume_map
from rdiv.two_sample import two_sample_test

SIZES, RESAMPLES, SEED = (24, 36), 19, 61
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


def kept_pvalues(cell: NetworkCell, how: str, draws: int, rows: Path | None) -> NDArray[np.float64]:
    """p-values of the first draws; those that the file has are not computed again."""
    keys = [
        {"images": cell.images, "test": how, "network": cell.name, "draw": i} for i in range(draws)
    ]
    found = resume_map(lambda key: {"pvalue": null_pvalue(cell, key["draw"])}, keys, file=rows)
    return np.array([row["pvalue"] for row in found])


def stopped_check(pvalues: NDArray[np.float64]) -> Check:
    """The check of a test that stops early: only rejections at the level it stops for count."""
    from scipy.stats import binomtest

    count = int((pvalues <= 0.05 + 1e-12).sum())
    return Check(len(pvalues), (count,), (float(binomtest(count, len(pvalues), 0.05).pvalue),))


# --- the page -------------------------------------------------------------------------------------

INTRO = """\
# Calibration of tests with networks

<!-- Written by benchmarks/calibration/networks.py; do not edit. -->

Two disjoint random samples of one set of images, {n_p} and {n_q} of them, so that p and q have one
distribution; a small network, trained on both together for {epochs} epochs; {resamples}
permutations. The last column but one tests all p-values together against the uniform distribution
on 1/20, ..., 1. `h-div` stops once it cannot reject any more, so only its level counts. The seed is
{seed}. Command:
`python benchmarks/calibration/networks.py --out docs/measured/calibration_networks.md`.

| images | test | network | draws | at 0.05 | at 0.10 | whole distribution p | verdict |
|---|---|---|---|---|---|---|---|\
"""


def page(draws: int, rows: Path | None) -> Iterator[str]:
    """Lines of markdown, as they are found."""
    settings = {"epochs": FEW.epochs, "resamples": RESAMPLES, "seed": SEED}
    yield INTRO.format(n_p=SIZES[0], n_q=SIZES[1], **settings)
    for name in ("digits", *FILES):
        if name == "digits" or (data_dir() / FILES[name]).is_file():
            for cell in (cells(name)[network] for network in MODELS[name]):
                pvalues = kept_pvalues(cell, "r-div", draws, rows)
                yield _line(cell, "r-div", check_pvalues(pvalues, RESAMPLES))
    for how, cell in REFITS.items():
        yield _line(cell, how, stopped_check(kept_pvalues(cell, how, draws, rows)))


def _line(cell: NetworkCell, test: str, found: Check) -> str:
    rates = [f"{count / found.draws:.3f}" for count in found.rejections]
    if len(rates) == 1:
        rates.append("")
    whole = f"{found.surprises[-1]:.3f}" if len(found.rejections) > 1 else ""
    verdict = "holds" if found.passed else "FAILS"
    parts = [cell.images, test, f"`{cell.name}`", str(found.draws), *rates, whole, verdict]
    return "| " + " | ".join(parts) + " |"


def main() -> None:
    """Print the check of every network, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rows", type=Path, help="file that keeps p-values, to go on from")
    parser.add_argument("--out", type=Path, help="markdown page to write")
    args = parser.parse_args()
    lines = []
    for line in page(args.draws, args.rows):
        print(line, flush=True)
        lines.append(line)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
