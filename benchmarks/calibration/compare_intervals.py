"""How often the intervals of a comparison cover what they name.

    python benchmarks/calibration/compare_intervals.py --out docs/measured/compare_intervals.md

The truth is that of the very models that were fitted, on many fresh rows of both distributions.
Finished draws are kept in a journal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.intervals import classes, regression

import rdiv
from rdiv.models import Boosting, Logistic, Ridge
from rdiv.samples.pool import Pool
from rdiv.studies.journal import resume_map

SEED, DRAWS, BLOCK, FRESH = 44, 1000, 25, 20_000
JOURNAL = Path(__file__).resolve().parents[1] / "studies/journals/compare_intervals.jsonl"
NAMES = ("gap", "shared_gap", "retraining.current", "retraining.reference")


class Cell(NamedTuple):
    """One line of the table."""

    draw: Any
    shift: str
    sizes: tuple[int, int]
    model: Any


CELLS = {
    "ridge, risk shift": Cell(regression, "risk", (400, 200), Ridge()),
    "ridge, hidden shift": Cell(regression, "hidden", (300, 300), Ridge()),
    "ridge, unequal sizes": Cell(regression, "risk", (600, 100), Ridge()),
    "logistic, risk shift": Cell(classes, "risk", (400, 200), Logistic()),
    "logistic, no shift": Cell(classes, "none", (400, 200), Logistic()),
    "boosting, hidden shift": Cell(classes, "hidden", (400, 200), Boosting(iterations=20)),
}


@dataclass(frozen=True)
class Recorder:
    """A model that keeps what it fitted, so that it can be judged on fresh rows."""

    model: Any
    seen: list[Any] = field(default_factory=list)

    @property
    def task(self) -> str | None:
        """The task of the model inside."""
        task: str | None = getattr(self.model, "task", None)
        return task

    @property
    def row_loss(self) -> str:
        """The loss of the model inside."""
        return str(self.model.row_loss)

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        """Fit, and keep the fit."""
        self.seen.append(self.model.fit(pool, rng))
        return self.seen[-1]


@lru_cache(maxsize=2)
def fresh(name: str) -> tuple[Pool, Pool]:
    """Many rows of the reference and of the current distribution."""
    cell, rng = CELLS[name], np.random.default_rng([SEED, 1])
    pools = []
    for current in (False, True):
        x, y = cell.draw(FRESH, rng, current, cell.shift)
        known = {"task": "classification", "classes": np.array([0, 1])}
        pools.append(Pool(x, y, **(known if cell.draw is classes else {"task": "regression"})))
    return pools[0], pools[1]


def covered(name: str, draw: int) -> list[bool]:
    """Whether each interval of one draw holds the truth."""
    cell, rng = CELLS[name], np.random.default_rng([SEED, 2, draw])
    pair = [
        cell.draw(size, rng, current, cell.shift)
        for current, size in zip((False, True), cell.sizes, strict=True)
    ]
    model = Recorder(cell.model)
    found = rdiv.compare(*pair, model=model, rng=draw, n_resamples=399, drivers=False)
    in_use, *shared = model.seen[:6]  # the fit of part A, then those of five folds
    used = [float(in_use.losses(pool).mean()) for pool in fresh(name)]
    both = [float(np.mean([fit.losses(pool).mean() for fit in shared])) for pool in fresh(name)]
    won = found.retraining
    assert won is not None
    assert found.gap_interval is not None
    assert found.shared_gap_interval is not None
    truth = (used[1] - used[0], both[1] - both[0], used[1] - both[1], used[0] - both[0])
    spans = (found.gap_interval, found.shared_gap_interval, won.current[1:], won.reference[1:])
    return [bool(span[0] <= true <= span[1]) for true, span in zip(truth, spans, strict=True)]


def counted(key: dict[str, Any]) -> dict[str, int]:
    """How many draws of a block each interval covers."""
    first = key["block"] * BLOCK
    runs = [covered(key["cell"], draw) for draw in range(first, first + BLOCK)]
    return dict(zip(NAMES, np.sum(runs, axis=0).tolist(), strict=True))


def collected(journal: Path, jobs: int, draws: int, known: bool) -> dict[str, list[dict[str, int]]]:
    """What every block of each line covers; those in the journal are not made again.

    With `known` blocks that the journal does not hold are left out.
    """
    found = {}
    for name in CELLS:
        keys = [{"cell": name, "block": i, "seed": SEED} for i in range(draws // BLOCK)]
        seconds = 0 if known else None
        found[name] = resume_map(counted, keys, file=journal, n_jobs=jobs, seconds=seconds)
    return found


INTRO = """\
# Coverage of the intervals of a comparison

<!-- Written by benchmarks/calibration/compare_intervals.py; do not edit. -->

How often the 95 % intervals of `rdiv.compare` hold the truth: the mean losses of the very models
that were fitted, on {fresh:,} fresh rows of each distribution. `gap`: the model in use, trained on
half of the reference. `shared_gap`: the models of five folds of both samples. `retraining`: mean
loss of the first minus that of the second. {draws:,} draws a line are planned; in square brackets
the 95 % interval of the coverage. Command:
`python benchmarks/calibration/compare_intervals.py --out docs/measured/compare_intervals.md`.\
"""


def page(found: dict[str, list[dict[str, int]]], draws: int) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(fresh=FRESH, draws=draws).split("\n")
    yield from (
        "",
        f"| what is compared | rows | draws | {' | '.join(NAMES)} |",
        "|---|---|---|---|---|---|---|",
    )
    for name, blocks in found.items():
        cells, made = [], len(blocks) * BLOCK
        for interval in NAMES if blocks else ():
            count = sum(block[interval] for block in blocks)
            span = binomtest(count, made).proportion_ci(method="wilson")
            cells.append(f"{count / made:.3f} [{span.low:.3f}, {span.high:.3f}]")
        sizes = CELLS[name].sizes
        yield f"| {name} | {sizes[0]} + {sizes[1]} | {made} | {' | '.join(cells)} |"


def main() -> None:
    """Make the draws that are missing, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--known", action="store_true", help="only what the journal holds")
    args = parser.parse_args()
    found = collected(args.journal, args.jobs, args.draws, args.known)
    text = "\n".join(page(found, args.draws)) + "\n"
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
