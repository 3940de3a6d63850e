"""How often the intervals of the gap cover what they name.

    python benchmarks/calibration/intervals.py [--out docs/measured/interval_coverage.md]

The target of "fitted" is the gap of the very models that were fitted, on many fresh rows; that of
"population" the gap of the best model for the pooled population, from very many rows.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv import estimate_gap
from rdiv.models import Boosting, CrossFit, Frozen, Logistic, Ridge
from rdiv.models.protocol import Model
from rdiv.samples.pool import Pool
from rdiv.studies.journal import resume_map

Floats = NDArray[np.float64]
Sample = tuple[Floats, NDArray[Any]]
SEED, TRIALS, RESAMPLES, FRESH, MANY = 23, 2000, 199, 20_000, 200_000
FRESH_CLASSES, TREES, FREEDOM = 5000, 30, 2.5
JOURNAL = Path(__file__).resolve().parents[1] / "studies/journals/interval_coverage.jsonl"
METHODS: tuple[Literal["normal", "bootstrap"], ...] = ("normal", "bootstrap")


def relation(n: int, rng: np.random.Generator, q: bool, shift: str) -> tuple[Floats, Floats]:
    """Inputs, and the target without its noise."""
    x = rng.normal(size=(n, 3))
    slope = np.array([1.0, 0.5, 0.0])
    if q and shift != "none":
        slope = np.array([1.0, 0.0, 0.5])
    if q and shift == "risk":
        x = x + np.array([0.5, 0.0, 0.0])
    return x, x @ slope


def noise_scale(q: bool, shift: str) -> float:
    """How many times as noisy as p a sample is."""
    return {"risk": 1.4, "heavy": 2.0}.get(shift, 1.0) if q else 1.0


def noise_variance(q: bool, shift: str) -> float:
    """What the noise adds to the squared error of any model."""
    return noise_scale(q, shift) ** 2 * (FREEDOM / (FREEDOM - 2) if shift == "heavy" else 1.0)


def regression(n: int, rng: np.random.Generator, q: bool, shift: str) -> Sample:
    """A linear relation; q may differ in slope and noise, in slope alone, or not at all."""
    x, centre = relation(n, rng, q, shift)
    noise = rng.standard_t(FREEDOM, size=n) if shift == "heavy" else rng.normal(size=n)
    return x, centre + noise * noise_scale(q, shift)


def chance(x: Floats, q: bool, shift: str) -> Floats:
    """Probability of class 1; q may have a weaker or another relation to the inputs."""
    slope = np.array([2.0, 1.0, 0.0])
    if q and shift != "none":
        slope = np.array([2.0, 0.0, 1.0]) if shift == "hidden" else np.array([0.8, 0.4, 0.0])
    return np.asarray(1 / (1 + np.exp(-x @ slope)))


def classes(n: int, rng: np.random.Generator, q: bool, shift: str) -> Sample:
    """Two classes; both samples have the same inputs."""
    x = rng.normal(size=(n, 3))
    return x, (rng.random(n) < chance(x, q, shift)).astype(int)


class Cell(NamedTuple):
    """One line of the table."""

    name: str
    draw: Callable[[int, np.random.Generator, bool, str], Sample]
    shift: str
    sizes: tuple[int, int]
    model: str
    estimand: str = "fitted"


CELLS = (
    Cell("frozen ridge, risk shift", regression, "risk", (200, 200), "frozen"),
    Cell("frozen ridge, unequal sizes", regression, "risk", (300, 100), "frozen"),
    Cell("ridge, 5 folds, risk shift", regression, "risk", (200, 200), "ridge"),
    Cell("ridge, 5 folds, hidden shift", regression, "hidden", (200, 200), "ridge"),
    Cell("ridge, 5 folds, unequal sizes", regression, "risk", (300, 100), "ridge"),
    Cell("logistic, 5 folds, risk shift", classes, "risk", (200, 200), "logistic"),
    Cell("logistic, 5 folds, hidden shift", classes, "hidden", (300, 100), "logistic"),
    Cell("boosting, 5 folds, risk shift", classes, "risk", (200, 200), "boosting"),
    Cell("boosting, 5 folds, hidden shift", classes, "hidden", (200, 200), "boosting"),
    Cell("boosting, 5 folds, unequal sizes", classes, "risk", (300, 100), "boosting"),
    Cell("ridge, population", regression, "risk", (200, 200), "ridge", "population"),
    Cell("ridge, population, unequal sizes", regression, "risk", (300, 100), "ridge", "population"),
    Cell("logistic, population", classes, "risk", (200, 200), "logistic", "population"),
    Cell("ridge, 5 folds, heavy tails, noisier", regression, "heavy", (200, 200), "ridge"),
    Cell("boosting, in-sample, risk shift", classes, "risk", (200, 200), "in-sample"),
)
FAILING = ("heavy tails", "in-sample")


@dataclass
class Recorder:
    """A model that keeps what it fitted, so that its gap on fresh rows can be had."""

    model: Any
    seen: list[Any] = field(default_factory=list)
    held_out = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        self.seen.append(self.model.fit(pool, rng))
        return self.seen[-1]


@lru_cache(maxsize=4)
def fresh(cell: Cell) -> tuple[Pool, Pool]:
    """Many rows of both distributions without noise; of classes, with either label."""
    rng = np.random.default_rng([SEED, 1])
    if cell.draw is classes:
        x, known = rng.normal(size=(FRESH_CLASSES, 3)), np.array([0, 1])
        labels = [np.full(len(x), label) for label in known]
        pools = [Pool(x, y, task="classification", classes=known) for y in labels]
    else:
        pairs = [relation(FRESH, rng, q, cell.shift) for q in (False, True)]
        pools = [Pool(x, y, task="regression") for x, y in pairs]
    return pools[0], pools[1]


def gap_on_fresh_rows(cell: Cell, fitted: Any) -> float:
    """The gap of fitted models on many rows; the mean over noise, or labels, is exact."""
    first, second = fresh(cell)
    differences = fitted.losses(second) - fitted.losses(first)
    if cell.draw is classes:  # label 1 against 0, as often as q has it more than p
        x = first.x
        differences = differences * (chance(x, True, cell.shift) - chance(x, False, cell.shift))
        return float(differences.mean())
    added = noise_variance(True, cell.shift) - noise_variance(False, cell.shift)
    return float(differences.mean()) + added


@lru_cache(maxsize=4)
def population_gap(cell: Cell) -> float:
    """The gap of the best model for the pooled population, in the proportions of the samples."""
    rng, whole = np.random.default_rng([SEED, 2]), sum(cell.sizes)
    pair = [
        cell.draw(MANY * size // whole, rng, q, cell.shift)
        for q, size in zip((False, True), cell.sizes, strict=True)
    ]
    return estimate_gap(*pair, model=cell.model, estimand="population", rng=0).gap


def model_of(cell: Cell) -> Any:
    """The model of a cell; a frozen one is fitted to rows of p of its own."""
    named: dict[str, Model] = {
        "ridge": Ridge(),
        "logistic": Logistic(),
        "boosting": Boosting(TREES),
    }
    if cell.model == "in-sample":
        return Boosting(TREES)
    if cell.model != "frozen":
        return CrossFit(named[cell.model], 5)
    from sklearn.linear_model import Ridge as RidgeRegression

    x, y = cell.draw(200, np.random.default_rng([SEED, 3]), False, cell.shift)
    return Frozen(RidgeRegression().fit(x, y), trained_on="neither")


def trial(cell: Cell, i: int) -> list[bool]:
    """Whether each method's interval covered, on one pair of samples."""
    # Draws of their own for the population: a first look at others led to `left_out_losses`.
    rng = np.random.default_rng([SEED, 4 if cell.estimand == "fitted" else 5, i])
    p, q = (
        cell.draw(n, rng, q, cell.shift) for n, q in zip(cell.sizes, (False, True), strict=True)
    )
    settings: dict[str, Any] = {"estimand": cell.estimand, "n_resamples": RESAMPLES, "rng": i}
    covered, truth = [], np.nan
    recorder = Recorder(model_of(cell)) if cell.estimand == "fitted" else None
    for method in METHODS:
        model = cell.model if recorder is None else recorder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = estimate_gap(p, q, model=model, folds=None, method=method, **settings)
        if recorder is None:
            truth = population_gap(cell)
        else:
            fitted = recorder.seen[0]
            if not isinstance(recorder.model, _Again):
                truth = gap_on_fresh_rows(cell, fitted)
            recorder = Recorder(_Again(fitted))
        covered.append(bool(found.interval.low <= truth <= found.interval.high))
    return covered


@dataclass
class _Again:
    """What was fitted already, for the second method on the same rows."""

    fitted: Any

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        del pool, rng
        return self.fitted


def coverage(cell: Cell, *, trials: int, jobs: int = 1) -> Floats:
    """Share of trials in which each method covered."""
    runs = Parallel(n_jobs=jobs)(delayed(trial)(cell, i) for i in range(trials))
    return np.asarray(np.mean(runs, axis=0))


def counted(key: dict[str, Any]) -> dict[str, float]:
    """The coverage of both methods in one cell."""
    cell = next(one for one in CELLS if one.name == key["cell"])
    shares = coverage(cell, trials=key["trials"])
    return dict(zip(METHODS, shares.tolist(), strict=True))


def main() -> None:
    """Run the cells and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--journal", type=Path, default=JOURNAL, help="keeps finished cells")
    parser.add_argument("--known", action="store_true", help="only what the journal holds")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--boosting-trials", type=int)
    parser.add_argument("--only", help="run the cells whose name holds this text")
    args = parser.parse_args()
    lines = [
        "# Coverage of the intervals",
        "",
        "<!-- Written by benchmarks/calibration/intervals.py; do not edit. -->",
        "",
        "Share of pairs of samples whose 95 % interval covers its target; sizes are reference +",
        f"current rows. Boosting has {TREES} trees. The truth is that of the fitted models on many",
        "rows, without noise. In the last two lines intervals are expected to fail: heavy tails",
        f"(Student's t with {FREEDOM:g} degrees of freedom, current twice as noisy: such squared",
        "errors have no variance) and in-sample losses of a model that memorises.",
        f"Seed {SEED}, {RESAMPLES} bootstrap draws.",
        "",
        "| model and shift | rows | pairs | normal | bootstrap | standard error at 0.95 |",
        "|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        if args.only and args.only not in cell.name:
            continue
        slow = "boosting" in cell.name and args.boosting_trials
        trials = args.boosting_trials if slow else args.trials
        if cell.estimand == "population":
            trials *= 5  # one fit a pair: cheap
        rows = " + ".join(map(str, cell.sizes))
        key = {"cell": cell.name, "trials": trials, "seed": SEED}
        found = resume_map(counted, [key], file=args.journal, seconds=0 if args.known else None)
        if not found:
            lines.append(f"| {cell.name} | {rows} | 0 | not counted yet | | |")
            continue
        shares = " | ".join(f"{found[0][method]:.3f}" for method in METHODS)
        error = np.sqrt(0.0475 / trials)
        line = f"| {cell.name} | {rows} | {trials} | {shares} | {error:.3f} |"
        lines.append(line)
        print(line, flush=True)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
