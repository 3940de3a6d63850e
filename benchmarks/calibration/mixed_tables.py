"""False alarms of the default without a target on tables of every kind; a docs page.

    python benchmarks/calibration/mixed_tables.py --out docs/measured/calibration_mixed_tables.md

Both samples are drawn alike, so a p-value of at most alpha is a false alarm. The test is omnibus
(r-div and score) of the mixed density. The broken variant learns ranks, levels and text from p
alone (or fills missing cells with the mean of their own file), and must be caught by the same
count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import NOT_YET, UNFINISHED, Counted, Counts, write_page

from rdiv.discrepancies import Omnibus
from rdiv.inference.engine import PermutationSettings
from rdiv.models import MixedDensity
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import run_test

ALPHA, RESAMPLES, SIZES = 0.05, 39, (15, 25)
STRICTNESS = 1e-3  # a right cell fails its check about this often
DRAWS, BROKEN_DRAWS, PART = 5000, 250, 250
WORDS = ("late", "early", "broken", "fine", "again", "never")


def mixed(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Numbers with heavy tails and missing cells, counts, levels and a constant."""
    x = rng.standard_t(2, size=(n, 3))
    x[rng.random(n) < 0.2, 0] = np.nan
    frame = pl.DataFrame(x, schema=["a", "b", "c"], nan_to_null=True)
    return frame.with_columns(
        count=rng.poisson(2, n), one=pl.lit("x"), level=rng.choice(list("abcdefgh"), n)
    )


def missing(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Nine of ten cells are missing."""
    x = np.where(rng.random((n, 5)) < 0.9, np.nan, rng.normal(size=(n, 5)))
    town = [None if rng.random() < 0.9 else str(v) for v in rng.choice(list("ab"), n)]
    return pl.DataFrame(x, schema=list("abcde"), nan_to_null=True).with_columns(
        town=pl.Series(town, dtype=pl.String)
    )


def text(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Nothing but free text."""
    notes = [" ".join(rng.choice(WORDS, 4)) + f" {rng.integers(1000)}" for _ in range(n)]
    names = [f"{rng.choice(list('ABC'))}-{rng.integers(10**6)}" for _ in range(n)]
    return pl.DataFrame({"note": notes, "name": names})


def embedding(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """A list of 30 numbers in every row, and a date."""
    common = rng.normal(size=(n, 1))
    days = [f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}" for _ in range(n)]
    return pl.DataFrame({"e": (common + rng.normal(size=(n, 30))).tolist(), "day": days})


TABLES: dict[str, Callable[[int, np.random.Generator], pl.DataFrame]] = {
    "mixed columns": mixed,
    "90 % missing": missing,
    "free text": text,
    "lists of 30 numbers and a date": embedding,
}


@dataclass(frozen=True, eq=False)
class LearnedFromP:
    """Deliberately broken: ranks, levels and text are learned from the rows of p alone."""

    is_p: NDArray[np.bool_]
    task = "density"

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        own = pool.anew(np.flatnonzero(self.is_p))
        fitted = MixedDensity().fit(own, rng)

        class Fitted:
            def losses(self, rows: Pool) -> NDArray[np.float64]:
                return fitted.losses(rows.like(own))

            def gradients(self, rows: Pool) -> NDArray[np.float64]:
                return fitted.gradients(rows.like(own))

        return Fitted()


def false_alarm(table: str, draw: int, *, broken: bool = False) -> bool:
    """Whether one draw of two samples alike is rejected."""
    rng = np.random.default_rng([22, list(TABLES).index(table), draw])
    p, q = (TABLES[table](n, rng) for n in SIZES)
    if broken and table == "90 % missing":
        p, q = filled(p), filled(q)
        broken = False  # the rest is as it should be
    pooled = pool_samples(p, q, rng=draw)
    model: Any = LearnedFromP(pooled.is_p) if broken else MixedDensity()
    settings = PermutationSettings(alpha=ALPHA, n_resamples=RESAMPLES)
    return run_test(Omnibus(model, inputs=False), pooled, settings)[0].rejected


def filled(table: pl.DataFrame) -> pl.DataFrame:
    """Deliberately broken: missing cells become the mean or the first level of their own file."""
    means = [pl.col(name).fill_null(pl.col(name).mean().fill_null(0.0)) for name in "abcde"]
    return table.with_columns(*means, pl.col("town").fill_null(pl.col("town").max()))


def within(count: int, draws: int) -> bool:
    """Whether a count of false alarms may come from a test of level alpha with ties."""
    return bool(binom.sf(count - 1, draws, ALPHA) >= STRICTNESS)


def alarms(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """False alarms in some draws."""
    found = sum(false_alarm(cell["table"], i, broken=cell["broken"]) for i in draws)
    return {"alarms": found}


INTRO = f"""\
# False alarms on tables of every kind

<!-- Written by benchmarks/calibration/mixed_tables.py (make calibrate); do not edit. -->

Omnibus (r-div and score) of the mixed density at level {ALPHA}, {SIZES[0]} against {SIZES[1]} rows
drawn alike, {RESAMPLES} permutations. A right test has at most 5 % false alarms on average; the
bound is passed by chance once in 1000 such cells. The broken variant learns ranks, levels and text
from p alone; on mostly missing cells, where that matters little, it fills them with means of a
file. Command:
`python benchmarks/calibration/mixed_tables.py --out docs/measured/calibration_mixed_tables.md`.

| table | draws | false alarms | rate | bound | verdict | broken: draws | broken: rate | verdict |
|---|---|---|---|---|---|---|---|---|"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.split("\n")
    for table in TABLES:
        draws = {False: counts.of(DRAWS), True: counts.of(BROKEN_DRAWS)}
        right, wrong = (
            counts.count(alarms, {"table": table, "broken": broken}, range(made), PART)
            for broken, made in draws.items()
        )
        false, bound = right.total("alarms"), ""
        if right.draws:
            bound = f"{binom.isf(STRICTNESS, right.draws, ALPHA) / right.draws:.3f}"
        rate, verdict = _told(right, "holds", "FAILS")
        broken = " | ".join((wrong.shown, *_told(wrong, "NOT CAUGHT", "caught")))
        yield f"| {table} | {right.shown} | {false} | {rate} | {bound} | {verdict} | {broken} |"


def _told(found: Counted, right: str, wrong: str) -> tuple[str, str]:
    """The rate of alarms, and the verdict once all draws are counted."""
    if not found.draws:
        return "", NOT_YET
    alarms = found.total("alarms")
    word = right if within(alarms, found.draws) else wrong
    return f"{alarms / found.draws:.3f}", word if found.complete else UNFINISHED


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_mixed_tables")


if __name__ == "__main__":
    from benchmarks.calibration.mixed_tables import main as start  # where workers find it

    start()
