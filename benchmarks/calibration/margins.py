"""How often a gap at the margin is said to lie within it, and how often a gap of 0 is.

    python benchmarks/calibration/margins.py --out docs/measured/calibration_margins.md

The model is fixed, so the gap is known: the noise of current is such that the mean squared error is
larger (or smaller) by exactly the margin. A level above .065 fails. A broken variant, without the
correction for skewed losses, shows what that correction is for.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.drivers import DEPLOYED, WEIGHTS

from rdiv.comparison.margins import margin_tests
from rdiv.discrepancies import RDivergence
from rdiv.inference import intervals as planning
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples
from rdiv.threads import one_thread

ALPHA = 0.05
MOST = 0.065
BLOCK = 250
MARGIN = 0.25  # a quarter of the mean loss of reference

Rows = Callable[[int, np.random.Generator], Any]


def plain(spread: float) -> Rows:
    """Normal noise of this variance."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        x = rng.normal(size=(n, 5))
        return x, x @ WEIGHTS + spread**0.5 * rng.normal(size=n)

    return draw


def hidden(spread: float) -> Rows:
    """The target also turns with column 2, and the noise leaves room for that: a hidden shift."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        x = rng.normal(size=(n, 5)) + np.array([0, 0, 0, 0, 1.0])
        noise = (spread - 0.36) ** 0.5 * rng.normal(size=n)
        return x, x @ WEIGHTS + 0.6 * x[:, 2] + noise

    return draw


def grouped(spread: float) -> Rows:
    """Groups of one to five rows whose noise is mostly shared."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        sizes = rng.integers(1, 6, size=n)
        group = np.repeat(np.arange(n), sizes)[:n]
        x = rng.normal(size=(n, 5))
        noise = 0.8**0.5 * rng.normal(size=n)[group] + 0.2**0.5 * rng.normal(size=n)
        return x, x @ WEIGHTS + spread**0.5 * noise, group

    return draw


@dataclass(frozen=True)
class Cell:
    """Two kinds of rows, the question, and how often "yes" may be said."""

    name: str
    reference: Rows
    current: Rows
    sizes: tuple[int, int]
    question: str
    at_margin: bool = True


ABOVE, BELOW = 1 + MARGIN, 1 - MARGIN
CELLS = (
    Cell("at the margin", plain(1), plain(ABOVE), (500, 500), "not worse"),
    Cell("at the margin", plain(1), plain(ABOVE), (200, 2000), "not worse"),
    Cell("at the margin", plain(1), plain(ABOVE), (2000, 200), "not worse"),
    Cell("at the margin", plain(1), plain(ABOVE), (2000, 400), "equivalence"),
    Cell("at minus the margin", plain(1), plain(BELOW), (400, 2000), "equivalence"),
    Cell("at the margin, hidden shift", plain(1), hidden(ABOVE), (400, 2000), "not worse"),
    Cell("at the margin, hidden shift", plain(1), hidden(ABOVE), (2000, 400), "equivalence"),
    Cell("at the margin, groups", grouped(1), grouped(ABOVE), (900, 2400), "not worse"),
    Cell("at the margin, groups", grouped(1), grouped(ABOVE), (2400, 900), "equivalence"),
    Cell("no gap", plain(1), plain(1), (500, 500), "equivalence", False),
    Cell("no gap", plain(1), plain(1), (2000, 2000), "equivalence", False),
    Cell("no gap", plain(1), plain(1), (2000, 2000), "not worse", False),
    Cell("no gap, hidden shift", plain(1), hidden(1), (2000, 2000), "equivalence", False),
)

UNCORRECTED = CELLS[1:3]


def shown(cell: Cell, i: int) -> bool:
    """Whether one draw shows the gap to lie within the margin."""
    rng = np.random.default_rng([82, i])
    p, q = cell.reference(cell.sizes[0], rng), cell.current(cell.sizes[1], rng)
    groups = None if len(p) == 2 else np.concatenate([p[2], q[2] + len(p[2])])
    x, y = (np.concatenate([p[k], q[k]]) for k in range(2))
    is_p = np.arange(len(x)) < len(p[0])  # a fixed model and a t-test need no shuffled pool
    pool = Pool(x, y=y, task="regression", groups=groups)
    pooled = PooledSamples(pool, is_p, np.arange(len(x)), i, (i, 0), pool.keys)
    fitted = DEPLOYED.fit(pooled.pool, pooled.stream("fit"))
    prepared = RDivergence(DEPLOYED).from_fit(fitted, pooled.pool)
    equivalent, not_worse = margin_tests(
        prepared, pooled, ALPHA, equivalence_margin=MARGIN, not_worse_than=MARGIN
    )
    assert equivalent is not None
    assert not_worse is not None
    return (equivalent if cell.question == "equivalence" else not_worse).shown


def count(cell: Cell, draws: range, *, corrected: bool = True) -> int:
    """Draws in which the gap is said to lie within the margin."""
    straight = mock.patch.object(planning, "_unskewed", lambda ratio, skewness: ratio)
    with one_thread(), nullcontext() if corrected else straight:
        return sum(shown(cell, i) for i in draws)


def row(cell: Cell, hits: int, draws: int, *, corrected: bool = True) -> str:
    """A line of the table."""
    low, high = binomtest(hits, draws).proportion_ci(method="wilson")
    name = cell.name if corrected else f"*{cell.name}, skewness not corrected*"
    word = "" if not cell.at_margin else "holds" if hits <= MOST * draws else "FAILS"
    return (
        f"| {name} | {cell.sizes[0]} + {cell.sizes[1]} | {cell.question} | {draws} | "
        f"{hits / draws:.4f} | {low:.4f} to {high:.4f} | {word if corrected else ''} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--resume", type=Path, help="counts so far, kept block by block")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    lines = [
        "# Calibration of margins",
        "",
        "<!-- Written by benchmarks/calibration/margins.py (make calibrate); do not edit. -->",
        "",
        f"How often a gap is said to lie within a margin of {MARGIN:g} (the mean loss of reference",
        f"is 1) at level {ALPHA:g}, when it lies exactly at the margin, and when there is none.",
        "Squared error of a linear model with fixed weights; with a hidden shift current has other",
        "inputs and another slope, and the same mean loss. A level of at most",
        f"{MOST:g} holds. The rows in italics do without the correction for skewed losses.",
        "Draw i uses the seed [82, i].",
        "Command:",
        "`python benchmarks/calibration/margins.py --out docs/measured/calibration_margins.md`.",
        "",
        "| truth | rows | question | draws | said yes | 95 % interval | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    known: dict[str, int] = {}
    if asked.resume and asked.resume.exists():
        known = json.loads(asked.resume.read_text())
    for k, cell in enumerate((*CELLS, *UNCORRECTED)):
        corrected = k < len(CELLS)
        draws = asked.draws if cell.at_margin else min(asked.draws, 500)
        hits = 0
        for start in range(0, draws, BLOCK):
            stop = min(start + BLOCK, draws)
            key = f"{k} {start}:{stop}"
            if key not in known:
                known[key] = count(cell, range(start, stop), corrected=corrected)
                if asked.resume:
                    asked.resume.write_text(json.dumps(known) + "\n")
            hits += known[key]
        lines.append(row(cell, hits, draws, corrected=corrected))
    text = "\n".join(lines) + "\n"
    asked.out.write_text(text) if asked.out else print(text)


if __name__ == "__main__":
    main()
