"""How often a gap at the margin is said to lie within it, and how often a gap of 0 is.

    python benchmarks/calibration/margins.py --out docs/measured/calibration_margins.md

The model is fixed, so the gap is known: the noise of current is such that the mean squared error is
larger (or smaller) by exactly the margin. A level above .06 fails. Two broken variants show what
the parts of the test are for: without the boundary, a sample without errors is trusted; without the
correction, skewed losses are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import UNFINISHED, Counted, Counts, rate, write_page
from benchmarks.calibration.drivers import WEIGHTS

from rdiv.comparison.margins import one_sided_tests
from rdiv.inference import intervals as planning
from rdiv.inference.mean_gaps import mean_gap
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples

ALPHA = 0.05
MOST = 0.06
PART = 125
DRAWS, DRAWS_WITHOUT_GAP = 2000, 500
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


def exactly(losses: Callable[[int, np.random.Generator], Any]) -> Rows:
    """Rows whose squared errors are these losses."""

    def draw(n: int, rng: np.random.Generator) -> Any:
        x = rng.normal(size=(n, 5))
        return x, x @ WEIGHTS + losses(n, rng) ** 0.5

    return draw


def errors(rate: float) -> Rows:
    """Losses of 0 or 1, with so many errors."""
    return exactly(lambda n, rng: (rng.random(n) < rate).astype(float))


def exponential(mean: float) -> Rows:
    """Losses with an exponential distribution."""
    return exactly(lambda n, rng: mean * rng.exponential(size=n))


def lognormal(mean: float) -> Rows:
    """Losses whose logarithm is normal with variance 1."""
    return exactly(lambda n, rng: mean * np.exp(rng.normal(size=n) - 0.5))


def confident(rate: float) -> Rows:
    """Small losses, and rare ones near 1: those of a classifier that is sure of itself."""
    return exactly(lambda n, rng: 0.05 * rng.random(n) + (rng.random(n) < rate))


@dataclass(frozen=True)
class Cell:
    """Two kinds of rows, the question, and how often "yes" may be said."""

    name: str
    reference: Rows
    current: Rows
    sizes: tuple[int, int]
    question: str
    at_margin: bool = True
    margin: float = MARGIN


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

RARE, COMMON = errors(0.01), errors(0.1)
SMALL = (
    *(Cell("rare errors, 1 % and 10 %", RARE, COMMON, (300, n), "not worse", margin=0.09)
      for n in (5, 10, 20, 100)),
    Cell("rare errors, 1 % and 10 %", RARE, COMMON, (20, 20), "not worse", margin=0.09),
    Cell("rare large losses", confident(0.01), confident(0.1), (300, 5), "not worse", margin=0.09),
    Cell("rare large losses", confident(0.01), confident(0.1), (300, 20), "not worse", margin=0.09),
    Cell("chi-square", plain(1), plain(2), (5, 5), "not worse", margin=1.0),
    Cell("chi-square", plain(1), plain(2), (20, 20), "not worse", margin=1.0),
    Cell("chi-square", plain(1), plain(2), (300, 5), "not worse", margin=1.0),
    Cell("chi-square", plain(1), plain(ABOVE), (300, 20), "not worse"),
    Cell("exponential", exponential(1), exponential(ABOVE), (300, 5), "not worse"),
    Cell("exponential, equivalence", exponential(1), exponential(0.5), (20, 40), "equivalence",
         margin=0.5),
    Cell("lognormal", lognormal(1), lognormal(2), (300, 5), "not worse", margin=1.0),
    Cell("lognormal", lognormal(1), lognormal(2), (300, 20), "not worse", margin=1.0),
    Cell("lognormal", lognormal(1), lognormal(ABOVE), (20, 300), "not worse"),
    Cell("no gap, rare errors", RARE, RARE, (300, 50), "not worse", False, 0.09),
    Cell("no gap, rare errors", RARE, RARE, (300, 200), "not worse", False, 0.09),
    Cell("no gap, chi-square", plain(1), plain(1), (300, 20), "not worse", False, 1.0),
    Cell("no gap, chi-square", plain(1), plain(1), (100, 100), "not worse", False, 0.5),
    Cell("no gap, exponential", exponential(1), exponential(1), (100, 100), "not worse", False,
         0.5),
    Cell("no gap, lognormal", lognormal(1), lognormal(1), (300, 100), "not worse", False, 0.5),
)  # fmt: skip

ALL = (*SMALL, *CELLS)
LINES = (*ALL, *CELLS[1:3])  # the last ones without the correction for skewed losses


def shown(cell: Cell, i: int) -> tuple[bool, bool]:
    """Whether one draw shows the gap to lie within the margin, and without the boundary."""
    rng = np.random.default_rng([82, i])
    p, q = cell.reference(cell.sizes[0], rng), cell.current(cell.sizes[1], rng)
    groups = None if len(p) == 2 else np.concatenate([p[2], q[2] + len(p[2])])
    x, y = (np.concatenate([p[k], q[k]]) for k in range(2))
    is_p = np.arange(len(x)) < len(p[0])  # a fixed model needs no shuffled pool
    pool = Pool(x, y=y, task="regression", groups=groups)
    keys = np.zeros((len(x), 2), dtype=np.uint64)
    pooled = PooledSamples(pool, is_p, np.arange(len(x)), i, (i, 0), keys)
    whole = one_sided_tests(mean_gap((y - x @ WEIGHTS) ** 2, groups=groups), pooled)

    def said(tests: Any) -> bool:
        pvalue = tests.below(cell.margin)
        if cell.question == "equivalence":
            pvalue = max(pvalue, tests.above(cell.margin))
        return bool(pvalue <= ALPHA)

    trusting = said(replace(whole, boundary=None))
    return trusting and said(whole), trusting  # the boundary never says yes where Welch says no


def count(cell: Cell, draws: range, *, corrected: bool = True) -> tuple[int, int]:
    """Draws in which the gap is said to lie within the margin, and without the boundary."""
    straight = mock.patch.object(planning, "_unskewed", lambda ratio, skewness: ratio)
    with one_thread(), nullcontext() if corrected else straight:
        found = [shown(cell, i) for i in draws]
    return sum(one for one, _ in found), sum(two for _, two in found)


def said(key: dict[str, Any], draws: range) -> dict[str, Any]:
    """The count of a line, which is given by its place."""
    hits = count(LINES[key["line"]], draws, corrected=key["line"] < len(ALL))
    return dict(zip(("yes", "without"), hits, strict=True))


INTRO = f"""\
# Calibration of margins

<!-- Written by benchmarks/calibration/margins.py (make calibrate); do not edit. -->

How often a gap is said to lie within a margin at level {ALPHA:g}, when it lies exactly
at the margin, and when there is none. The losses are squared errors of a linear model
with fixed weights; their mean on reference is 1, or the rate of errors. With a hidden
shift current has other inputs and another slope, and the same mean loss. A level of at
most {MOST:g} holds. The last column is the same test without the boundary, which trusts
the spread of a small sample: a broken variant where it is above the level, and the power
that the boundary costs where there is no gap. The rows in italics do without the
correction for skewed losses as well. Draw i uses the seed [82, i]. Command:
`python benchmarks/calibration/margins.py --out docs/measured/calibration_margins.md`.

| truth | rows | question | margin | draws | said yes | 95 % interval | verdict | \
without the boundary |
|---|---|---|---|---|---|---|---|---|"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.split("\n")
    for place, cell in enumerate(LINES):
        draws = counts.of(DRAWS if cell.at_margin else DRAWS_WITHOUT_GAP)
        key = {"line": place, "name": cell.name, "sizes": list(cell.sizes)}
        yield _line(place, cell, counts.count(said, key, range(draws), PART))


def _line(place: int, cell: Cell, found: Counted) -> str:
    """A line of the table; without the correction it is that of the test without the boundary."""
    corrected = place < len(ALL)
    yes, without = found.total("yes" if corrected else "without"), found.total("without")
    name = cell.name if corrected else f"*{cell.name}, neither boundary nor skewness*"
    word = "holds" if yes <= MOST * found.draws else "FAILS"
    word = "" if not (cell.at_margin and corrected) else word if found.complete else UNFINISHED
    rows = f"{cell.sizes[0]} + {cell.sizes[1]}"
    begin = f"| {name} | {rows} | {cell.question} | {cell.margin:g} | {found.shown}"
    trusting = f"{without / found.draws:.4f}" if found.draws else ""
    return f"{begin} | {rate(yes, found.draws, 4)} | {word} | {trusting} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_margins")


if __name__ == "__main__":
    from benchmarks.calibration.margins import main as start  # where workers find it

    start()
