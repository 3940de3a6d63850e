"""Power and type-I error of omnibus beside every other test, on Blob, HDGM and HIGGS.

    python benchmarks/studies/omnibus_study.py --plan
    python benchmarks/studies/omnibus_study.py --rows DIR --out docs/measured/omnibus_power.md

Every cell is a power study of its own in DIR, which continues where it was stopped; tests within a
cell see the same draws and share their fits. Tests that fit once, or compare pairs of rows, run in
every cell; tests that train or refit in five of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from rdiv import power_study
from rdiv.discrepancies import Omnibus
from rdiv.models import KernelDensity
from rdiv.sources import Blob, Hdgm, Higgs

SEED = 40
COMMAND = (
    "python benchmarks/studies/omnibus_study.py --rows DIR --out docs/measured/omnibus_power.md"
)
PAPER = ("r-div", "h-div", "l-div", "me", "scf", "c2st-s", "c2st-l", "mmd-o", "mmd-d")
MMD_FUSE = {
    "blob n=180": 0.40,
    "hdgm d=3, n=1000": 0.30,
    "hdgm d=10, n=1000": 0.23,
    "hdgm d=20, n=1000": 0.10,
    "higgs n=1000": 0.10,
}
NAMED = (*MMD_FUSE, "hdgm d=5, n=1000", "blob n=360")
TRAINED_SECONDS = 9.0  # about what a trial of all tests of `TRAINED` takes
ONCE = ("r-div", "score", "omnibus", "ks-loss", "h-div", "cross-risk", "mmd-o", "energy")
OBJECTS = {"omnibus": Omnibus(KernelDensity(), inputs=False)}  # of r-div and score alone
TRAINED = ("mmd-d", "me", "scf", "c2st-s", "c2st-l", "l-div", "h-div:gmm")


@dataclass(frozen=True)
class NullOf:
    """Pairs of samples from one distribution of a source."""

    source: Any

    @property
    def model(self) -> str:
        """The model of the source."""
        return str(self.source.model)

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        """A pair of the source's null, whatever is asked for."""
        del null
        drawn: tuple[Any, Any] = self.source.draw(n, rng, null=True)
        return drawn


@dataclass(frozen=True)
class Cell:
    """A source at one size."""

    family: str
    name: str
    source: Any
    n: int
    trained: bool = False
    seconds: float = 1.0  # about what a trial of all tests of `ONCE` takes on a quiet core

    @property
    def folder(self) -> str:
        """Where its rows are kept."""
        return self.name.replace(" ", "-").replace("=", "").replace(",", "").replace(":", "to")


def cells() -> Iterator[Cell]:
    """All cells, those with trained tests first in their family."""
    for n in (1000, 2000):
        for d in (3, 5, 10, 20):
            trained, cost = n == 1000 and d in (3, 10), (0.65 + 0.045 * d) * n / 1000
            yield Cell("HDGM", f"hdgm d={d}, n={n}", Hdgm(d), n, trained, cost)
            rotated = Hdgm(d, rotated=True)
            yield Cell("HDGM rotated", f"hdgm rotated d={d}, n={n}", rotated, n, seconds=cost)
    yield Cell("HDGM", "hdgm d=10, n=500:2000", Hdgm(10, ratio=4), 500)
    rotated = Hdgm(10, rotated=True, ratio=4)
    yield Cell("HDGM rotated", "hdgm rotated d=10, n=500:2000", rotated, 500)
    for n in (90, 180, 360, 900):
        yield Cell("Blob", f"blob n={n}", Blob(), n, n in (180, 360), 0.2 + n / 3000)
    yield Cell("Blob", "blob n=90:360", Blob(ratio=4), 90, seconds=0.25)
    yield Cell("HIGGS", "higgs n=1000", Higgs(), 1000, True)
    yield Cell("HIGGS", "higgs n=2000", Higgs(), 2000, seconds=1.8)
    yield Cell("HIGGS", "higgs n=500:2000", Higgs(ratio=4), 500)


def main() -> None:
    """Run or plan the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plan", action="store_true", help="print the cells and their cost, stop")
    parser.add_argument("--rows", type=Path, help="folder that keeps finished trials")
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--trained-trials", type=int, default=40)
    parser.add_argument(
        "--nulls", type=int, default=50, help="trials per cell without a difference"
    )
    parser.add_argument("--cells", default="", help="only cells whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chosen = [cell for cell in cells() if args.cells in cell.name]
    if args.plan:
        print_plan(chosen, args)
        return
    results = {cell: run(cell, args) for cell in chosen}
    lines = [*page(results, args)]
    print("\n".join(lines))
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


def parts(cell: Cell, args: argparse.Namespace) -> Iterator[tuple[str, bool, tuple[str, ...], int]]:
    """The studies of a cell: name, whether under the null, tests and trials."""
    for null in (False, True):
        trials = args.nulls if null else args.trials
        yield f"once{'-null' * null}", null, ONCE, trials
        if cell.trained and args.trained_trials:
            trained = max(args.trained_trials * trials // args.trials, 1)
            yield f"trained{'-null' * null}", null, TRAINED, trained


def print_plan(chosen: list[Cell], args: argparse.Namespace) -> None:
    """Cells, trials, and about how long all of it takes."""
    total = 0.0
    for cell in chosen:
        seconds = sum(
            trials * (cell.seconds if tests is ONCE else TRAINED_SECONDS)
            for _, _, tests, trials in parts(cell, args)
        )
        total += seconds / args.jobs
        print(f"{cell.name:32} {args.trials} trials, about {seconds / args.jobs / 60:.1f} minutes")
    print(f"{len(chosen)} cells, about {total / 60:.0f} minutes with {args.jobs} processes")


def run(cell: Cell, args: argparse.Namespace) -> list[dict[str, Any]]:
    """The lines of a cell's table: power and null of every test."""
    lines = []
    for kind, null, tests, trials in parts(cell, args):
        study = power_study(
            NullOf(cell.source) if null else cell.source,
            [OBJECTS.get(test, test) for test in tests], sizes=cell.n, trials=trials,
            rng=SEED, n_jobs=args.jobs, out=args.rows and args.rows / f"{cell.folder}-{kind}",
            share_fits=True,
        )  # fmt: skip
        table = study.table()
        found = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        lines += [{**line, "test": _test(line), "null": null} for line in found]
        print(cell.name, kind, "done", file=sys.stderr, flush=True)
    return lines


def _test(line: dict[str, Any]) -> str:
    """The test's name, with its model where that is not the one of the source."""
    name = str(line["discrepancy"]).partition("(")[0]
    return f"{name}:gmm" if line["model"] == "gmm" else name


def page(results: dict[Cell, list[dict[str, Any]]], args: argparse.Namespace) -> Iterator[str]:
    """The page: power by cell and test, nulls, and the regret of omnibus."""
    errors = [0.5 / max(trials, 1) ** 0.5 for trials in (args.trials, args.trained_trials)]
    yield from (
        "# Omnibus against the others",
        "",
        "<!-- Written by benchmarks/studies/omnibus_study.py; do not edit. -->",
        "",
        f"Rejections at 0.05, 99 permutations, seed {SEED}: {args.trials} trials for tests that",
        f"fit once or compare pairs, {args.trained_trials} for those that train (on one half) or",
        f"refit; the standard error of a rate is at most {errors[0]:.3f} and {errors[1]:.2f}.",
        f"After a stroke: the test on {args.nulls} true nulls (in proportion where it trains).",
        "One setting in all cells: `kde`, and its score with the gradients of a mixture; omnibus",
        "is that of r-div and score alone (`inputs=False`); with inputs: `omnibus_tables.md`.",
        f"`n=a:b` has a rows of p and b of q. Command: `{COMMAND} --nulls {args.nulls}`.",
        "",
    )
    yield from regrets(results)
    yield from against_others(results)
    for title, tests in (("Every cell", ONCE), ("Tests that train or refit", TRAINED)):
        ran = {cell: lines for cell, lines in results.items()
               if any(line["test"] == tests[0] for line in lines)}  # fmt: skip
        if ran:
            yield from ("", f"## {title}", "", *rates_table(ran, tests))


def rates_table(results: dict[Cell, list[dict[str, Any]]], tests: tuple[str, ...]) -> Iterator[str]:
    """Power and type-I error by cell and test."""
    yield "| cell | " + " | ".join(f"`{name}`" for name in tests) + " |"
    yield "|---" * (len(tests) + 1) + "|"
    for cell, lines in results.items():
        rates = {(line["test"], line["null"]): line["rate"] for line in lines}
        texts = [f"{rates[name, False]:.2f} / {rates[name, True]:.2f}" for name in tests]
        yield f"| {cell.name} | " + " | ".join(texts) + " |"


def regrets(results: dict[Cell, list[dict[str, Any]]]) -> Iterator[str]:
    """How far omnibus stays behind the best single test."""
    found: dict[str, list[float]] = {}
    for cell, lines in results.items():
        power = {line["test"]: line["rate"] for line in lines if not line["null"]}
        best = max(rate for name, rate in power.items() if name != "omnibus")
        found.setdefault(cell.family, []).append(best - power["omnibus"])
    everywhere = [value for values in found.values() for value in values]
    yield from (
        "## Regret",
        "",
        "The best single test of a cell minus omnibus; a choice that cannot be made in advance.",
        "The best of many rates is high by chance too, so an omnibus as good as it has a regret.",
        "",
        "| source | mean | largest |",
        "|---|---|---|",
    )
    for family, values in [*found.items(), ("all", everywhere)]:
        yield f"| {family} | {sum(values) / len(values):+.3f} | {max(values):+.3f} |"


def against_others(results: dict[Cell, list[dict[str, Any]]]) -> Iterator[str]:
    """What omnibus gains on the paper's methods, and on the strongest test since."""
    yield from (
        "",
        "## Gain",
        "",
        "Omnibus minus the best of the paper's methods that ran in the cell (R-Div and H-Div with",
        "the density estimate that the paper fits here, L-Div, ME, SCF, C2ST-S, C2ST-L, MMD-O,",
        "MMD-D); minus H-Div of a Gaussian mixture, which the paper does not try, and which fits",
        "two mixtures for every permutation; and minus MMD-FUSE (Biggs, Schrab and Gretton 2023),",
        "whose rates are from 30 trials of its authors' package on the same sources.",
        "",
        "| cell | omnibus | best of the paper | gain | `h-div:gmm` | gain | MMD-FUSE | gain |",
        "|---|---|---|---|---|---|---|---|",
    )
    for cell, lines in results.items():
        rates = {line["test"]: line["rate"] for line in lines if not line["null"]}
        paper = {name: rate for name, rate in rates.items() if name in PAPER}
        if cell.name not in NAMED or not paper:
            continue
        own, best = rates["omnibus"], max(paper, key=lambda name: paper[name])
        beside = [rates.get("h-div:gmm"), MMD_FUSE.get(cell.name)]
        gains = [" | " if rate is None else f"{rate:.2f} | {own - rate:+.2f}" for rate in beside]
        first = f"{paper[best]:.2f} (`{best}`) | {own - paper[best]:+.2f}"
        yield f"| {cell.name} | {own:.2f} | {' | '.join([first, *gains])} |"


if __name__ == "__main__":
    main()
