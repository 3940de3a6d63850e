"""Whether planned rows have the power they were planned for.

    python benchmarks/studies/planned_power.py --out docs/measured/planned_power.md

Pilots at the planned size give the gap and the variance of out-of-fold losses there, the size is
planned anew until it stays, and tests at that size are counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv import estimate_gap, two_sample_test
from rdiv.inference.intervals import rows_needed

SEED, TRIALS, PILOTS, RESAMPLES, POWER, ALPHA = 41, 1000, 100, 199, 0.8, 0.05


def gaussians(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Two densities, the second wider in one column."""
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)) * [1.0, 1.0, 1.45]


def labels(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Two classes, harder to tell in the second sample."""
    sides = []
    for slope in (2.5, 1.0):
        x = rng.normal(size=(n, 3))
        chance = 1 / (1 + np.exp(-slope * x[:, 0]))
        sides.append((x, (rng.random(n) < chance).astype(int)))
    return sides[0], sides[1]


class Cell(NamedTuple):
    """A model and what it is run on."""

    model: str
    draw: Callable[[int, np.random.Generator], tuple[Any, Any]]


CELLS = (Cell("gmm", gaussians), Cell("logistic", labels), Cell("boosting", labels))


def pilot(cell: Cell, n: int, i: int) -> tuple[float, float]:
    """Gap and mean variance of the losses of one pair of samples of n rows."""
    pair = cell.draw(n, np.random.default_rng([SEED, 1, n, i]))
    found = estimate_gap(*pair, model=cell.model, rng=i)
    return found.gap, n * found.standard_error**2 / 2


def planned(cell: Cell, *, pilots: int, jobs: int, start: int = 100) -> tuple[int, float]:
    """Rows a sample at which pilots of that size plan that size, and the gap there."""
    n, run = start, Parallel(n_jobs=jobs)
    for _ in range(4):
        gap, variance = np.mean(
            run(delayed(pilot)(cell, n, i) for i in range(pilots)), axis=0
        ).tolist()
        before, n = n, rows_needed(gap, variance, variance, power=POWER, alpha=ALPHA)[0]
        if abs(n - before) <= 0.03 * before:
            break
    return n, gap


def rejected(cell: Cell, n: int, i: int) -> bool:
    """One test of the planned size."""
    pair = cell.draw(n, np.random.default_rng([SEED, 2, i]))
    settings: dict[str, Any] = {"folds": 5, "n_resamples": RESAMPLES, "alpha": ALPHA, "rng": i}
    return two_sample_test(*pair, model=cell.model, **settings).rejected


def main() -> None:
    """Run the cells and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--pilots", type=int, default=PILOTS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="run the model of this name")
    args = parser.parse_args()
    lines = [
        "# Planned power",
        "",
        "<!-- Written by benchmarks/studies/planned_power.py; do not edit. -->",
        "",
        f"Rows planned for a power of {POWER:g} at level {ALPHA:g}, and the power counted there.",
        f"Seed {SEED}, {args.pilots} pilots for a plan, {RESAMPLES} permutations per test.",
        "",
        "| model | gap | rows per sample | tests | power | standard error |",
        "|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        if args.only and cell.model != args.only:
            continue
        n, gap = planned(cell, pilots=args.pilots, jobs=args.jobs)
        runs = Parallel(n_jobs=args.jobs)(delayed(rejected)(cell, n, i) for i in range(args.trials))
        rate, error = float(np.mean(runs)), 0.4 / args.trials**0.5
        line = f"| {cell.model} | {gap:.3g} | {n} | {args.trials} | {rate:.3f} | {error:.3f} |"
        lines.append(line)
        print(line, flush=True)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
