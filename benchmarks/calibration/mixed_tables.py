"""False alarms of the default without a target on tables of every kind; a docs page.

    python benchmarks/calibration/mixed_tables.py --draws 5000 --out docs/measured/...

Both samples are drawn alike, so a p-value of at most alpha is a false alarm. The test is omnibus
(r-div and score) of the mixed density. The broken variant learns ranks, levels and text from p
alone (or fills missing cells with the mean of their own file), and must be caught by the same
count. Counts are kept in a journal after every 250 draws, and a second run goes on where the first
one stopped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from rdiv.discrepancies import Omnibus
from rdiv.inference.engine import PermutationSettings
from rdiv.models import MixedDensity
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import run_test

ALPHA, RESAMPLES, SIZES = 0.05, 39, (15, 25)
STRICTNESS = 1e-3  # a right cell fails its check about this often
CHUNK = 250
JOURNAL = Path("benchmarks/studies/journals/calibration_mixed_tables.json")
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


def counts(draws: int, broken_draws: int) -> dict[str, list[int]]:
    """False alarms and draws of every cell, from the journal as far as it goes."""
    known: dict[str, list[int]] = json.loads(JOURNAL.read_text()) if JOURNAL.exists() else {}
    for table in TABLES:
        for broken, wanted in ((False, draws), (True, broken_draws)):
            name = f"{table}, broken" if broken else table
            found, done = known.get(name, [0, 0])
            while done < wanted:
                stop = min(done + CHUNK, wanted)
                found += sum(false_alarm(table, i, broken=broken) for i in range(done, stop))
                done = stop
                known[name] = [found, done]
                JOURNAL.write_text(json.dumps(known, indent=1) + "\n")
    return known


def page(known: dict[str, list[int]]) -> str:
    """The page of the docs."""
    lines = [
        "# False alarms on tables of every kind",
        "",
        "<!-- Written by benchmarks/calibration/mixed_tables.py; do not edit. -->",
        "",
        f"Omnibus (r-div and score) of the mixed density at level {ALPHA}, {SIZES[0]} against "
        f"{SIZES[1]} rows drawn alike,",
        f"{RESAMPLES} permutations. A right test has at most {ALPHA:.0%} false alarms on average; "
        "the bound is passed by chance",
        "once in 1000 such cells. The broken variant learns ranks, levels and text from p alone;",
        "on mostly missing cells, where that matters little, it fills them with means of a file.",
        "",
        "| table | draws | false alarms | rate | bound | broken: draws | broken: rate |",
        "|---|---|---|---|---|---|---|",
    ]
    for table in TABLES:
        (found, draws), (wrong, tried) = known[table], known[f"{table}, broken"]
        bound = binom.isf(STRICTNESS, draws, ALPHA) / draws
        lines.append(
            f"| {table} | {draws} | {found} | {found / draws:.3f} | {bound:.3f} | {tried} | "
            f"{wrong / tried:.2f} |"
        )
    quiet = [t for t in TABLES if within(*known[f"{t}, broken"])]
    if quiet:
        lines += ["", f"The count does not catch the broken variant on: {', '.join(quiet)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Count, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=5000)
    parser.add_argument("--broken-draws", type=int, default=250)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with one_thread():
        found = page(counts(given.draws, given.broken_draws))
    print(found)
    if given.out:
        given.out.write_text(found)


if __name__ == "__main__":
    main()
