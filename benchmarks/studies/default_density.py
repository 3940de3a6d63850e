"""Which density model should stand in when the user names none: R-Div's power by shape of data.

    python benchmarks/studies/default_density.py --out docs/measured/default_density.md

The choice made from this table: kde for up to 10 columns and 20000 rows (its cost grows with the
square of the rows), gmm for up to 100 columns, pca beyond and for images.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits

import rdiv

MODELS = ("kde", "gmm", "pca")
Pair = tuple[np.ndarray, np.ndarray]


def spread(d: int, factor: float) -> Callable[[int, np.random.Generator], Pair]:
    """Normal rows, q wider by a factor."""
    return lambda n, rng: (rng.normal(size=(n, d)), factor * rng.normal(size=(n, d)))


def tails(n: int, rng: np.random.Generator) -> Pair:
    """Five columns of Student t against a normal of the same variance."""
    return rng.standard_t(5, size=(n, 5)), rng.normal(size=(n, 5)) * np.sqrt(5 / 3)


def grid(n: int, rng: np.random.Generator) -> Pair:
    """Nine clusters in the plane; in q each is stretched along a diagonal of its own."""

    def draw(stretched: bool) -> np.ndarray:
        centre = rng.integers(3, size=(n, 2))
        noise = rng.normal(size=(n, 2)) * 0.17
        if stretched:
            slope = (centre[:, 0] * 3 + centre[:, 1] - 4) / 6
            noise[:, 1] = slope * noise[:, 0] + np.sqrt(1 - slope**2) * noise[:, 1]
        return centre + noise

    return draw(False), draw(True)


def digits(n: int, rng: np.random.Generator) -> Pair:
    """Real digits (64 columns), with a little noise in q."""
    x = load_digits().data
    rows = rng.permutation(len(x))[: 2 * n]
    noise = (
        rng.normal(size=(2 * n, x.shape[1])) * np.where(np.arange(2 * n) < n, 0.01, 0.3)[:, None]
    )
    x = x[rows] + noise
    return x[:n], x[n:]


def higgs(n: int, rng: np.random.Generator) -> Pair:
    """Four jet angles of real background and signal events."""
    with np.load(Path(os.environ["RDIV_DATA"]) / "higgs_tst.npz", allow_pickle=False) as data:
        columns = data["phi_columns"]
        p, q = data["background"][:, columns], data["signal"][:, columns]
    return tuple(x[rng.choice(len(x), n, replace=False)].astype(float) for x in (p, q))


CELLS: dict[str, tuple[Callable[[int, np.random.Generator], Pair], int]] = {
    "spread 1.1, d = 3": (spread(3, 1.1), 200),
    "spread 1.05, d = 20": (spread(20, 1.05), 200),
    "heavy tails, d = 5": (tails, 300),
    "grid of clusters, d = 2": (grid, 360),
    "digits with noise, d = 64": (digits, 100),
    "HIGGS jet-phi, d = 4": (higgs, 500),
}


def rejected(cell: str, model: str, trial: int) -> bool:
    """One test with 99 permutations at level 0.05."""
    draw, n = CELLS[cell]
    p, q = draw(n, np.random.default_rng([30, trial]))
    return rdiv.two_sample_test(p, q, model=model, n_resamples=99, rng=trial).rejected


def lines(trials: int, jobs: int) -> Iterator[str]:
    """The page, line by line."""
    yield "# Which density model by default"
    yield ""
    yield "<!-- Written by benchmarks/studies/default_density.py; do not edit. -->"
    yield ""
    yield f"Power of R-divergence with each density model, in sample, at level 0.05: {trials}"
    yield "trials, 99 permutations, trial `i` drawn with `default_rng([30, i])`. The standard error"
    yield f"of a rate is at most {0.5 / trials**0.5:.2f}. Seconds are per test, one thread."
    yield ""
    yield "| data | rows per sample | " + " | ".join(MODELS) + " |"
    yield "|---|---|" + "---|" * len(MODELS)
    for cell, (draw, n) in CELLS.items():
        if draw is higgs and "RDIV_DATA" not in os.environ:
            continue
        shown = []
        for model in MODELS:
            start = time.perf_counter()
            found = Parallel(n_jobs=jobs)(delayed(rejected)(cell, model, i) for i in range(trials))
            seconds = (time.perf_counter() - start) * jobs / trials
            shown.append(f"{np.mean(found):.2f} ({seconds:.2f} s)")
        yield f"| {cell} | {n} | " + " | ".join(shown) + " |"


def main() -> None:
    """Print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    page = []
    for line in lines(args.trials, args.jobs):
        print(line, flush=True)
        page.append(line)
    if args.out:
        args.out.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
