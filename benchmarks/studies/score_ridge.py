"""Power of score for a range of ridges, on shapes that no table of ours reports.

    python benchmarks/studies/score_ridge.py --out docs/measured/score_ridge.md

The ridge must be chosen blind to the labels, so it is one number for all data. This is why it is
what it is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv.discrepancies import Score
from rdiv.discrepancies.score import RIDGE
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.models import GaussianMixture
from rdiv.parallel.threads import one_thread
from rdiv.samples.pooling import pool_samples

Floats = NDArray[np.float64]
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SEED, TRIALS, RESAMPLES = 31, 100, 99


def clusters(d: int, rotated: bool) -> Callable[[int, np.random.Generator], tuple[Floats, Floats]]:
    """Two clusters; in q two inner columns correlate, with one sign in each cluster."""
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(d, d)))[0] if rotated else np.eye(d)

    def sample(n: int, rng: np.random.Generator, correlation: float) -> Floats:
        cluster, x = rng.integers(2, size=n), rng.normal(size=(n, d))
        signed = np.where(cluster == 0, correlation, -correlation)
        x[:, 5] = signed * x[:, 2] + np.sqrt(1 - correlation**2) * x[:, 5]
        return (x + 0.7 * cluster[:, None]) @ turn

    return lambda n, rng: (sample(n, rng, 0.0), sample(n, rng, 0.42))


def stretched(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """One Gaussian whose covariance changes a little in every entry."""
    change = np.random.default_rng(4).normal(size=(6, 6))
    change = (change + change.T) / 2
    root = np.linalg.cholesky(np.eye(6) + 0.45 * change / np.linalg.norm(change))
    return rng.normal(size=(n, 6)), rng.normal(size=(n, 6)) @ root.T


def heavy_tails(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Heavy tails and one column that moves."""
    p, q = rng.standard_t(5, size=(n, 5)), rng.standard_t(5, size=(n, 5))
    q[:, 3] += 0.25
    return p, q


SHAPES = {
    "clusters, d = 8, n = 800": (clusters(8, False), 800),
    "clusters rotated, d = 8, n = 800": (clusters(8, True), 800),
    "clusters, d = 15, n = 800": (clusters(15, False), 800),
    "clusters rotated, d = 15, n = 800": (clusters(15, True), 800),
    "covariance, d = 6, n = 300": (stretched, 300),
    "heavy tails, d = 5, n = 300": (heavy_tails, 300),
}


def trial(shape: str, i: int) -> list[list[bool]]:
    """Rejections at .05 by ridge: of the whitened part and of both parts, from one fit."""
    draw, n = SHAPES[shape]
    p, q = draw(n, np.random.default_rng([SEED, i]))
    with one_thread():
        pooled = pool_samples(p, q, rng=i)
        fitted = GaussianMixture().fit(pooled.pool, pooled.stream("fit"))

        def rejected(part: str, ridge: float) -> bool:
            prepared = Score(GaussianMixture(), part, ridge).from_fit(fitted, pooled.pool)  # type: ignore[arg-type]
            masks = pooled.stream("masks")
            return (
                permute(
                    prepared, pooled.is_p, PermutationSettings(n_resamples=RESAMPLES), rng=masks
                ).pvalue
                <= 0.05
            )

        return [[rejected(part, ridge) for ridge in RIDGES] for part in ("ridge", "both")]


def main() -> None:
    """Run all shapes and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    lines = [
        "# The ridge of score",
        "",
        "<!-- Written by benchmarks/studies/score_ridge.py; do not edit. -->",
        "",
        f"Power of `score` with a Gaussian mixture at level 0.05: {args.trials} trials per row,",
        f"{RESAMPLES} permutations, trial `i` drawn with `default_rng([{SEED}, i])`. The first",
        "number is the whitened part alone, the second both parts. The standard error of a rate",
        f"is at most {0.5 / args.trials**0.5:.2f}. The default is {RIDGE:g}.",
        "",
        "| data | " + " | ".join(f"{ridge:g}" for ridge in RIDGES) + " |",
        "|---" * (len(RIDGES) + 1) + "|",
    ]
    for shape in SHAPES:
        runs = Parallel(n_jobs=args.jobs)(delayed(trial)(shape, i) for i in range(args.trials))
        rates = np.mean(runs, axis=0)
        cells = [f"{alone:.2f}, {both:.2f}" for alone, both in rates.T]
        lines.append(f"| {shape} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
