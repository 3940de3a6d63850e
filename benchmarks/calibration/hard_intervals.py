"""How often the interval of the gap misses where losses are skewed, rare, few or unequal.

    python benchmarks/calibration/hard_intervals.py --out docs/measured/interval_hard_cases.md

Losses are given (`loss=`), so that the true gap is known exactly; for ridge in folds the truth is
that of the very models that were fitted. The broken variant is the permutation quantile alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.compare_intervals import Recorder
from benchmarks.calibration.counting import NOT_YET, Counted, Counts, write_page

import rdiv
from rdiv.inference.intervals import critical_value, gap_interval
from rdiv.models import Ridge

SEED, DRAWS, RESAMPLES = 71, 300, 199
ALPHA, MOST = 0.05, 0.07
NAMES = ("below", "above", "flagged", "unflagged", "before")
SLOPE = np.array([1.0, 0.5, 0.0])

Floats = NDArray[np.float64]
Rng = np.random.Generator


class Losses(NamedTuple):
    """A distribution of losses with a known mean."""

    draw: Callable[[Rng, int], Floats]
    mean: float


def squares(scale: float) -> Losses:
    """Squared normal errors."""
    return Losses(lambda rng, n: scale * rng.normal(size=n) ** 2, scale)


def heavy(scale: float) -> Losses:
    """Squared errors of Student's t with three degrees of freedom: their variance is infinite."""
    return Losses(lambda rng, n: scale * rng.standard_t(3, size=n) ** 2, 3 * scale)


def lognormal(spread: float) -> Losses:
    """Very skewed losses."""
    return Losses(lambda rng, n: np.exp(spread * rng.normal(size=n)), exp(spread**2 / 2))


def errors(rate: float) -> Losses:
    """Losses of 0 and 1."""
    return Losses(lambda rng, n: (rng.random(n) < rate).astype(float), rate)


NEAR = Losses(lambda rng, n: 1 + 0.01 * rng.normal(size=n), 1.0)


class Cell(NamedTuple):
    """One line of the table: given losses, or the noise of current for ridge in folds."""

    sizes: tuple[int, int]
    reference: Losses | None = None
    current: Losses | None = None
    noise: float = 1.0


CELLS = {
    "squared errors, the same": Cell((200, 200), squares(1), squares(1)),
    "squared errors, twice as large": Cell((300, 100), squares(1), squares(2)),
    "squared errors, 4 times as large": Cell((50, 400), squares(1), squares(4)),
    "squared errors, a quarter": Cell((50, 400), squares(4), squares(1)),
    "squared errors, few rows": Cell((20, 20), squares(1), squares(1)),
    "t3, current twice as noisy": Cell((200, 200), heavy(1), heavy(4)),
    "t3, current twice as noisy, many rows": Cell((1000, 1000), heavy(1), heavy(4)),
    "lognormal, the same": Cell((300, 300), lognormal(1), lognormal(1)),
    "lognormal, few current rows": Cell((300, 20), lognormal(1), lognormal(1)),
    "near-constant and squared errors": Cell((100, 50), NEAR, squares(1)),
    "near-constant and lognormal": Cell((100, 100), NEAR, lognormal(1)),
    "near-constant and lognormal, few rows": Cell((100, 25), NEAR, lognormal(1)),
    "near-constant and very skewed": Cell((100, 50), NEAR, lognormal(1.5)),
    "near-constant and 10 % errors": Cell((100, 50), NEAR, errors(0.1)),
    "1 % errors and 10 %": Cell((200, 50), errors(0.01), errors(0.1)),
    "1 % errors and 10 %, few rows": Cell((100, 10), errors(0.01), errors(0.1)),
    "10 % errors and 1 %": Cell((1000, 20), errors(0.1), errors(0.01)),
    "ridge in folds, the same": Cell((25, 25), noise=1.0),
    "ridge in folds, current twice as noisy": Cell((25, 25), noise=2.0),
    "ridge in folds, current twice as noisy, more rows": Cell((60, 60), noise=2.0),
}


def given_losses(cell: Cell, rng: Rng, seed: int) -> tuple[rdiv.Comparison, float]:
    """A comparison of tables that hold nothing but losses, and the true gap."""
    assert cell.reference is not None
    assert cell.current is not None
    tables = [
        pl.DataFrame({"loss": side.draw(rng, n)})
        for side, n in zip((cell.reference, cell.current), cell.sizes, strict=True)
    ]
    found = rdiv.compare(*tables, loss="loss", drivers=False, n_resamples=RESAMPLES, rng=seed)
    return found, cell.current.mean - cell.reference.mean


def folded_ridge(cell: Cell, rng: Rng, seed: int) -> tuple[rdiv.Comparison, float]:
    """A comparison by ridge in five folds, and the gap of its very fits on future rows."""
    pair = []
    for n, noise in zip(cell.sizes, (1.0, cell.noise), strict=True):
        x = rng.normal(size=(n, 3))
        pair.append((x, x @ SLOPE + noise * rng.normal(size=n)))
    model = Recorder(Ridge())
    found = rdiv.compare(*pair, model=model, drivers=False, n_resamples=RESAMPLES, rng=seed)
    # With equal inputs the loss of a fit is what its slope misses plus the noise, on both sides.
    return found, cell.noise**2 - 1


def misses(cell: Cell, place: int, draw: int, seed: int = SEED) -> tuple[int, int, int, int, int]:
    """Whether the interval misses below, above, is flagged, misses unflagged; the broken one."""
    rng = np.random.default_rng([seed, place, draw])
    run = folded_ridge if cell.reference is None else given_losses
    found, truth = run(cell, rng, draw)
    span, test = found.leading_interval, found.results[found.leading]
    assert span is not None
    assert found.leading_gap is not None
    name = "gap_interval" if found.gap is not None else "shared_gap_interval"
    flagged = name in found.notes.get("asymptotic", {})
    low, high = truth < span.low, truth > span.high
    error = abs(found.leading_gap) / test.ranked if test.ranked > 0 else 0.0
    before = gap_interval(found.leading_gap, error, critical_value(test.null_distribution, ALPHA))
    missed = not before.low <= truth <= before.high
    return int(low), int(high), int(flagged), int((low or high) and not flagged), int(missed)


def counted(key: dict[str, Any], draws: range) -> dict[str, Any]:
    """How many intervals of a line miss, are flagged, or both."""
    place = list(CELLS).index(key["cell"])
    runs = [misses(CELLS[key["cell"]], place, draw) for draw in draws]
    return dict(zip(NAMES, np.sum(runs, axis=0).tolist(), strict=True))


INTRO = """\
# Intervals in hard cases

<!-- Written by benchmarks/calibration/hard_intervals.py (make calibrate); do not edit. -->

How often the 95 % interval of the gap in `rdiv.compare` misses the truth, below or above, over
{draws:,} draws a line, half as many with folds ({resamples} permutations). Losses are given, and
their true gap is known; the lines of ridge in folds are about the models that were fitted.

`q*` alone is the interval that takes the permutation quantile and nothing else: `gap +- q* se`.
*Flagged*: the share of draws whose interval the panel, the page and the JSON mark as asymptotic,
because a side is small (fewer than 30 rows), very skewed, constant or may have no variance (a heavy
tail). Lines that are flagged in at least half of the draws promise nothing; in all others misses
are to be at most {most}, also among the draws without a flag, which the last column counts. Where
most draws are flagged, those without a flag are the ones that lack large losses, and they miss more
often than the rest: a flag cannot know of losses that were not seen. The draws that chose the rule
had other seeds. Command:
`python benchmarks/calibration/hard_intervals.py --out docs/measured/interval_hard_cases.md`.

| losses | rows | misses (95 % interval) | below | above | `q*` alone | flagged | without a flag | \
verdict |
|---|---|---|---|---|---|---|---|---|\
"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(draws=counts.of(DRAWS), resamples=RESAMPLES, most=MOST).split("\n")
    kept = []
    for name, cell in CELLS.items():
        draws = counts.of(DRAWS if cell.reference is not None else DRAWS // 2)
        found = counts.count(counted, {"cell": name}, range(draws), DRAWS)
        kept.append(found)
        rows = f"{cell.sizes[0]} + {cell.sizes[1]}"
        yield f"| {name} | {rows} | {_told(found)} |"
    if all(found.complete for found in kept) and not any(_caught(found) for found in kept):
        yield from ("", "`q*` alone is NOT CAUGHT in any line.")


def _told(found: Counted) -> str:
    """The misses of a line, its flags and the verdict."""
    made = found.draws
    if not made:
        return f"{NOT_YET} | | | | | | "
    low, high, flagged, hidden, before = (found.total(name) for name in NAMES)
    span = binomtest(low + high, made).proportion_ci(method="wilson")
    return " | ".join(
        (
            f"{(low + high) / made:.3f} ({span.low:.3f} to {span.high:.3f})",
            *(f"{count / made:.3f}" for count in (low, high, before)),
            f"{flagged / made:.2f}",
            "no draw"
            if made == flagged
            else f"{hidden} of {made - flagged}: {hidden / (made - flagged):.3f}",
            _verdict(found),
        )
    )


def _promised(found: Counted) -> bool:
    """Whether a line is flagged in fewer than half of its draws, and so promises something."""
    return found.total("flagged") < found.draws / 2


def _verdict(found: Counted) -> str:
    if not _promised(found):
        return "flagged"
    bad = _missed_too_often(found)
    bad |= _too_many(found.total("unflagged"), found.draws - found.total("flagged"))
    return "FAILS" if bad else "holds"


def _missed_too_often(found: Counted) -> bool:
    return _too_many(found.total("below") + found.total("above"), found.draws)


def _caught(found: Counted) -> bool:
    """Whether `q*` alone misses too often where the interval of rdiv does not."""
    return _too_many(found.total("before"), found.draws) and not _missed_too_often(found)


def _too_many(count: int, draws: int) -> bool:
    return bool(binomtest(count, draws, MOST, alternative="greater").pvalue < 0.01)


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "hard_intervals")


if __name__ == "__main__":
    from benchmarks.calibration.hard_intervals import main as start  # where workers find it

    start()
