"""How often the intervals of the split cover its parts, on simulated data with a known truth.

    python benchmarks/calibration/split_coverage.py --out docs/measured/split_coverage.md

Draws that were made are kept in a journal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv.comparison.expected import expected_loss
from rdiv.comparison.models import choose_models
from rdiv.comparison.questions import Answer, ask
from rdiv.comparison.split import split_gap
from rdiv.inference.engine import PermutationSettings
from rdiv.models import Frozen
from rdiv.models.protocol import predictions_of
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.studies.journal import resume_map

Floats = NDArray[np.float64]
ALPHA, SEED, DRAWS, SHIFT, FRESH = 0.05, 41, 1000, 0.7, 40_000
PARTS = ("inputs", "relation")
BOUNDS = (0.92, 0.98)
JOURNAL = Path(__file__).resolve().parents[1] / "studies" / "journals" / "split_coverage.jsonl"

INTRO = """\
# Coverage of the split

<!-- Written by benchmarks/calibration/split_coverage.py; do not edit. -->

Share of draws whose 95 % interval covers the true part of the gap: *inputs* is the mean of the
expected reference loss over the current inputs minus that over the reference inputs, *relation*
what is left of the gap. Three normal inputs; the first one moves by 0.7 standard deviations in
current, so the samples overlap. *Given line*: squared error of a fixed line, noise grows with the
first input, and in current its variance is 0.4 larger where the second input is positive. *Given
logistic*: log loss of fixed probabilities, and another slope in current. *Trained ridge*: as the
given line, but rdiv trains the model on half of the reference, and the truth is that of the model
it trained. Each share must lie between .92 and .98. Draw i uses the seed [{seed}, i].
Command: `python benchmarks/calibration/split_coverage.py --out docs/measured/split_coverage.md`.\
"""


class Line:
    """A line that someone trained long ago."""

    def predict(self, x: Floats) -> Floats:
        """Its values."""
        values: Floats = x @ np.array([1.0, 0.5, 0.0])
        return values


class Odds:
    """Probabilities that someone trained long ago."""

    classes_ = np.array([0, 1])

    def predict(self, x: Floats) -> Floats:
        """The probability of class 1."""
        return np.asarray(expit(1.5 * x[:, 0]))


def inputs(n: int, current: bool, rng: np.random.Generator) -> Floats:
    """Rows of a sample."""
    x: Floats = rng.normal(size=(n, 3))
    x[:, 0] += SHIFT * current
    return x


def variance(x: Floats, current: bool) -> Floats:
    """Of the target, given the inputs."""
    spread: Floats = np.exp(0.5 * x[:, 0]) + 0.4 * current * (x[:, 1] > 0)
    return spread


def chance(x: Floats, current: bool) -> Floats:
    """Of class 1, given the inputs."""
    slopes = np.array([0.3, 0.5, 0.0]) if current else np.array([1.0, 0.5, 0.0])
    return np.asarray(expit(x @ slopes))


def numbers(x: Floats, current: bool, rng: np.random.Generator) -> NDArray[Any]:
    """Targets of a regression."""
    noise: Floats = rng.normal(size=len(x)) * np.sqrt(variance(x, current))
    return Line().predict(x) + noise


def labels(x: Floats, current: bool, rng: np.random.Generator) -> NDArray[Any]:
    """Targets of a classification."""
    return (rng.random(len(x)) < chance(x, current)).astype(int)


def squared(x: Floats, current: bool, predicted: Floats) -> Floats:
    """The expected squared error of predictions."""
    error: Floats = (predicted - Line().predict(x)) ** 2 + variance(x, current)
    return error


def log_loss(x: Floats, current: bool, predicted: Floats) -> Floats:
    """The expected log loss of probabilities of class 1."""
    share = chance(x, current)
    loss: Floats = -share * np.log(predicted) - (1 - share) * np.log1p(-predicted)
    return loss


@dataclass(frozen=True)
class Design:
    """A model, the targets, and the expected loss given the inputs."""

    model: Any
    targets: Callable[[Floats, bool, np.random.Generator], NDArray[Any]]
    loss: Callable[[Floats, bool, Floats], Floats]
    task: str
    rows: int


DESIGNS = {
    "given line": Design(Line(), numbers, squared, "regression", 500),
    "given logistic": Design(Odds(), labels, log_loss, "classification", 500),
    "trained ridge": Design("ridge", numbers, squared, "regression", 1000),
}


def truth(loss: Callable[[Floats, bool], Floats], n: int, rng: np.random.Generator) -> list[float]:
    """Both parts, from many fresh inputs; half of them mirror the others in the moved column."""
    base = rng.normal(size=(n, 3))
    base = np.concatenate([base, base * [-1.0, 1.0, 1.0], base * [1.0, -1.0, 1.0], -base])
    moved = base + np.array([SHIFT, 0.0, 0.0])
    kept = float(loss(moved, False).mean())
    return [kept - float(loss(base, False).mean()), float(loss(moved, True).mean()) - kept]


@lru_cache(maxsize=4)
def fixed_truth(name: str) -> list[float]:
    """Of a model that is given."""
    design, rng = DESIGNS[name], np.random.default_rng(SEED)
    return truth(
        lambda x, current: design.loss(x, current, design.model.predict(x)), 5 * FRESH, rng
    )


def answered(design: Design, draw: int) -> Answer:
    """The model in use of one draw, with its losses."""
    rng = np.random.default_rng([SEED, draw])
    sides = []
    for current in (False, True):
        x = inputs(design.rows, current, rng)
        sides.append((x, design.targets(x, current, rng)))
    given = not isinstance(design.model, str)
    model = Frozen(design.model, trained_on="neither") if given else design.model
    retrain: dict[str, Any] = {"retrain": None} if given else {"retrain": "same"}
    models = choose_models(
        model, prediction=None, loss=None, folds=2, supervised=True, n_jobs=None, **retrain
    )
    pooled = pool_samples(*sides, task=design.task, rng=draw, kind=models.kind)
    answers = ask(models, pooled, PermutationSettings(ALPHA, 19), train_share=0.5)
    assert answers.in_use is not None
    return answers.in_use


def row(key: dict[str, Any]) -> dict[str, Any]:
    """The parts of one draw and the truth."""
    name, draw = key["name"], key["draw"]
    design = DESIGNS[name]
    with one_thread():
        answer = answered(design, draw)
        rng = np.random.default_rng([SEED, draw, 1])
        expected = expected_loss(answer, rng)
        assert expected is not None
        split = split_gap(answer, expected, ALPHA, rng)
    if isinstance(split, str):
        return {"note": split}
    if isinstance(design.model, str):
        true = truth(lambda x, current: design.loss(x, current, said(answer, x)), FRESH // 4, rng)
    else:
        true = fixed_truth(name)
    return {"truth": true, **split.fields()}


def said(answer: Answer, x: Floats) -> Floats:
    """Predictions of the model that was trained, for fresh rows."""
    fitted: Any = answer.fitted
    pool = Pool(x, y=np.zeros(len(x)), task="regression").like(fitted.trained)
    found = predictions_of(fitted.fitted, pool)
    assert found is not None
    return found[:, 0]


def collected(journal: Path, jobs: int, draws: int) -> list[dict[str, Any]]:
    """All rows; those that are in the journal are not made again."""
    keys: list[dict[str, Any]] = [
        {"name": name, "draw": i, "seed": SEED} for i in range(draws) for name in DESIGNS
    ]
    keys.sort(key=lambda key: DESIGNS[key["name"]].rows)  # the expensive ones last
    found = resume_map(row, keys, file=journal, n_jobs=jobs)
    return [{**key, **one} for key, one in zip(keys, found, strict=True)]


def page(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(seed=SEED).split("\n")
    if len(rows) < DRAWS * len(DESIGNS):
        yield from ("", f"Unfinished: {DRAWS} draws of each model are planned.")
    yield from ("", "| model | rows | draws | part | truth | mean | coverage | verdict |")
    yield "|---|---|---|---|---|---|---|---|"
    for name, design in DESIGNS.items():
        own = [one for one in rows if one["name"] == name and "truth" in one]
        for j, part in enumerate(PARTS if own else ()):
            hits = sum(one[part]["low"] <= one["truth"][j] <= one[part]["high"] for one in own)
            means = [np.mean([one["truth"][j] for one in own])]
            means += [np.mean([one[part]["value"] for one in own])]
            low, high = binomtest(hits, len(own)).proportion_ci(method="wilson")
            rate = hits / len(own)
            verdict = "holds" if BOUNDS[0] <= rate <= BOUNDS[1] else "MISSES"
            yield (
                f"| {name} | {design.rows} + {design.rows} | {len(own)} | {part} | "
                f"{means[0]:+.3f} | {means[1]:+.3f} | {rate:.3f} ({low:.3f} to {high:.3f}) | "
                f"{verdict} |"
            )


def main() -> None:
    """Make the draws that are missing, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args()
    text = "\n".join(page(collected(args.journal, args.jobs, args.draws))) + "\n"
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    from benchmarks.calibration.split_coverage import (
        main as run,
    )  # by its name, so that workers find it

    run()
