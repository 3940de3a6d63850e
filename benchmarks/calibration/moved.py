"""False alarms and power of the columns that moved, and what a mistake would cost; a docs page.

    python benchmarks/calibration/moved.py --draws 0:5000 --save counts.json
    python benchmarks/calibration/moved.py --merge counts.json --out docs/measured/...

A false alarm is any column with a p-value of at most alpha, or any flag, although both samples are
drawn alike. Broken variants, the same procedure with one mistake, must be caught by the same count.
`--part` and `--draws` run a piece; files of pieces are merged into the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from rdiv.drivers import moved
from rdiv.drivers.moved import moved_columns
from rdiv.drivers.moved_column import MovedColumn
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.mean_gaps import gaps_and_errors, mean_gaps
from rdiv.inference.prepared import Masks
from rdiv.parallel.threads import one_thread
from rdiv.samples.input_features import InputCells, RowFeatures, column_features
from rdiv.samples.pooling import PooledSamples, pool_samples

ALPHA = 0.05
RESAMPLES = 39
POWER_RESAMPLES = 199
JOURNAL = "benchmarks/studies/journals/calibration_moved.json"
PAGE = "docs/measured/calibration_moved.md"
Floats = NDArray[np.float64]
Draw = Callable[[int, int, np.random.Generator], dict[str, Any]]
Run = Callable[[PooledSamples], AbstractContextManager[Any]]


# --- draws ----------------------------------------------------------------------------------------


def heavy(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Eight columns with heavy tails that have much in common, one of them with missing cells."""
    x = rng.standard_t(2, size=(n, 1)) + 0.3 * rng.standard_cauchy(size=(n, 8))
    x[rng.random(n) < 0.1, 0] = np.nan
    return pl.DataFrame(x, schema=[f"x{j}" for j in range(8)], nan_to_null=True)


def levels(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Six columns of 30 levels, frequent and rare, that agree in half of the rows."""
    shares = 1 / np.arange(1, 31)
    drawn = rng.choice(30, size=(n, 6), p=shares / shares.sum())
    same = rng.random(n) < 0.5
    drawn[same] = drawn[same, :1]
    return pl.DataFrame(drawn.astype(str), schema=[f"t{j}" for j in range(6)])


def alike(make: Callable[[int, np.random.Generator], pl.DataFrame]) -> Draw:
    return lambda n_p, n_q, rng: {"p": make(n_p, rng), "q": make(n_q, rng)}


def groups(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Groups of one to seven rows that have much in common."""
    codes = np.repeat(np.arange(n_p + n_q), rng.integers(1, 8, size=n_p + n_q))
    x = rng.standard_t(3, size=(n_p + n_q, 4))[codes] + 0.5 * rng.normal(size=(len(codes), 4))
    cut = int(np.searchsorted(codes, n_p))
    return {"p": x[:cut], "q": x[cut:], "groups": (codes[:cut], codes[cut:])}


def strata(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Three strata with other means and other shares in both samples."""
    own = rng.choice(3, n_p, p=[0.6, 0.3, 0.1]), rng.choice(3, n_q, p=[0.2, 0.3, 0.5])
    p, q = (rng.standard_t(3, size=(len(s), 4)) + s[:, None] for s in own)
    return {"p": p, "q": q, "strata": own}


NULLS: tuple[tuple[str, Draw, tuple[int, int]], ...] = (
    ("heavy tails, correlated", alike(heavy), (25, 25)),
    ("heavy tails, correlated", alike(heavy), (15, 60)),
    ("30 levels", alike(levels), (25, 25)),
    ("30 levels", alike(levels), (15, 60)),
    ("groups", groups, (15, 25)),
    ("strata", strata, (30, 40)),
)


def rows(n: int, rng: np.random.Generator) -> pl.DataFrame:
    return heavy(n, rng).with_columns(
        age=rng.normal(40, 12, n), town=rng.choice(["a", "b", "c", "d"], n)
    )


def planted(change: pl.Expr) -> Draw:
    return lambda n_p, n_q, rng: {"p": rows(n_p, rng), "q": rows(n_q, rng).with_columns(change)}


def among_rare(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """A column moves by 0.4 standard deviations, beside ten columns of rare levels."""

    def draw(n: int, mean: float) -> pl.DataFrame:
        texts = rng.choice(20, size=(n, 10), p=[0.9, *[0.1 / 19] * 19]).astype(str)
        return pl.DataFrame(texts).with_columns(age=rng.normal(mean, 1, n))

    return {"p": draw(n_p, 0.0), "q": draw(n_q, 0.4)}


_PLACE = pl.int_range(pl.len())
_MEAN = pl.col("age") + 3.6
_SPREAD = (1.25 * (pl.col("age") - 40) + 40).alias("age")
_SHARE = pl.when(_PLACE % 5 == 0).then(pl.lit("a")).otherwise("town").alias("town")
_MISSING = pl.when(_PLACE % 33 > 0).then("age")
PLANTED: tuple[tuple[str, str, Draw, tuple[int, int]], ...] = (
    ("mean: 0.3 standard deviations", "age", planted(_MEAN), (500, 500)),
    ("spread: 1.25 times", "age", planted(_SPREAD), (500, 500)),
    ("share of a level: .25 to .40", "town", planted(_SHARE), (500, 500)),
    ("missing: 0 to 3 %", "age", planted(_MISSING), (500, 500)),
    ("mean: 0.4, beside ten columns of rare levels", "age", among_rare, (100, 3000)),
)


# --- the procedure, and variants with a mistake ---------------------------------------------------


def as_it_is(pooled: PooledSamples) -> AbstractContextManager[Any]:
    return nullcontext()


def unadjusted(pooled: PooledSamples) -> AbstractContextManager[Any]:
    def each(parts: Floats) -> Floats:
        return np.asarray((parts >= parts[0]).mean(axis=0))

    return mock.patch.object(moved, "step_down", each)


def peeking(pooled: PooledSamples) -> AbstractContextManager[Any]:
    """Of each column only the feature that differs most in the observed split is tested."""

    def features(column: InputCells) -> RowFeatures:
        found = column_features(column)
        gaps = mean_gaps(found.numbers, studentize=True)(pooled.is_p[None])
        best = int(np.abs(gaps[0]).argmax())
        return RowFeatures(found.numbers[:, [best]], (found.aspects[best],))

    return mock.patch.object(moved, "column_features", features)


def one_scale(which: str) -> Run:
    """The ratio of a gap to one of the two scales alone."""

    def make(
        numbers: Floats, is_p: NDArray[np.bool_], strata: NDArray[np.intp] | None
    ) -> Callable[[Masks], Floats]:
        measure = gaps_and_errors(numbers)
        usual = moved._permutation_errors(numbers, is_p, strata)

        def ratios(masks: Masks) -> Floats:
            gaps, errors = measure(masks)
            scale = errors if which == "error" else np.broadcast_to(usual, errors.shape)
            flat = np.where(gaps == 0, 0.0, np.inf)
            return np.divide(np.abs(gaps), scale, out=flat, where=scale > 0)

        return ratios

    return lambda pooled: mock.patch.object(moved, "_ratios", make)


def without(name: str, draw: Draw) -> Draw:
    def drawn(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
        given = draw(n_p, n_q, rng)
        del given[name]
        return given

    return drawn


BROKEN: tuple[tuple[str, Draw, tuple[int, int], Run], ...] = (
    ("p-values not adjusted", alike(heavy), (25, 25), unadjusted),
    ("features chosen with labels", alike(levels), (25, 25), peeking),
    ("groups ignored", without("groups", groups), (15, 25), as_it_is),
    ("strata ignored", without("strata", strata), (30, 40), as_it_is),
)


def run(
    given: dict[str, Any], seed: int, resamples: int, variant: Run = as_it_is
) -> tuple[MovedColumn, ...]:
    with one_thread():
        pooled = pool_samples(**given, rng=seed)
        with variant(pooled):
            return moved_columns(pooled, PermutationSettings(ALPHA, resamples))


def confirmed(columns: tuple[MovedColumn, ...]) -> set[str]:
    return {column.name for column in columns if column.pvalue <= ALPHA + 1e-12}


# --- counting -------------------------------------------------------------------------------------


def count(part: str, draws: range) -> list[dict[str, Any]]:
    """Counts of one part over some draws."""
    cells: list[dict[str, Any]] = []
    if part == "power":
        for name, column, draw, sizes in PLANTED:
            cells.append(_found(part, name, column, draw, sizes, draws, as_it_is))
        name, column, draw, sizes = PLANTED[-1]
        for which, told in (("error", "standard error"), ("usual", "permutation deviation")):
            told = f"{name}, {told} alone"
            cells.append(_found("other", told, column, draw, sizes, draws, one_scale(which)))
        return cells
    variants = BROKEN
    if part == "null":
        variants = tuple((name, draw, sizes, as_it_is) for name, draw, sizes in NULLS)
    for name, draw, sizes, variant in variants:
        alarms, flags = 0, 0
        for i in draws:
            columns = run(draw(*sizes, np.random.default_rng([90, i])), i, RESAMPLES, variant)
            alarms += bool(confirmed(columns))
            flags += any(column.flag is not None for column in columns)
        cells.append(_cell(part, name, sizes, "any column", alarms, draws))
        if part == "null":
            cells.append(_cell(part, name, sizes, "any flag", flags, draws))
    return cells


def _found(
    part: str, name: str, column: str, draw: Draw, sizes: tuple[int, int], draws: range, how: Run
) -> dict[str, Any]:
    hits = 0
    for i in draws:
        given = draw(*sizes, np.random.default_rng([91, i]))
        hits += column in confirmed(run(given, i, POWER_RESAMPLES, how))
    return _cell(part, name, sizes, "found", hits, draws)


def _cell(
    part: str, name: str, sizes: tuple[int, int], what: str, hits: int, draws: range
) -> dict[str, Any]:
    return {"part": part, "name": name, "rows": f"{sizes[0]} + {sizes[1]}", "what": what,
            "hits": hits, "draws": len(draws)}  # fmt: skip


# --- the page -------------------------------------------------------------------------------------


def merged(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counts of the same cell added up."""
    sums: dict[tuple[str, ...], dict[str, Any]] = {}
    for cell in cells:
        key = tuple(cell[k] for k in ("part", "name", "rows", "what"))
        old = sums.setdefault(key, {**cell, "hits": 0, "draws": 0})
        old["hits"] += cell["hits"]
        old["draws"] += cell["draws"]
    return list(sums.values())


def verdict(cell: dict[str, Any]) -> str:
    """Null cells hold when the count is at most the 99.5 % bound of a binomial count."""
    if cell["part"] == "other":
        return "for comparison"
    if cell["part"] == "power":
        return "holds" if cell["hits"] >= 0.8 * cell["draws"] else "MISSES"
    most = int(binom.isf(0.005, cell["draws"], ALPHA))
    if cell["part"] == "broken":
        return "caught" if cell["hits"] > most else "MISSED"
    return "holds" if cell["hits"] <= most else "FAILS"


def page(cells: list[dict[str, Any]]) -> str:
    """The table of the docs."""
    lines = [
        "# Calibration of columns that moved",
        "",
        "<!-- Written by benchmarks/calibration/moved.py; do not edit. -->",
        "",
        f"How often any input column is confirmed as moved at level {ALPHA:g}, or flagged",
        "(constant, new levels, missing in one sample only), although both samples are drawn",
        "alike (with strata: alike within each stratum), and how often a planted change is",
        f"confirmed. {RESAMPLES} permutations, {POWER_RESAMPLES} for planted changes. In the",
        "cell of groups, groups of one to seven rows are counted, not rows. The level of",
        "confirmed columns is exact up to ties; that of flags is a bound. Each null cell must stay",
        "within the upper 99.5 % bound of a binomial count; each planted change be found in 80 %",
        "of the draws. Broken variants must be caught by the same bound. The last cells divide",
        "gaps by one scale only, where rdiv takes the larger of two. Draw i uses the seed",
        "[90, i] or [91, i]. Command (5000 draws of each null unless `--draws` says otherwise):",
        f"`python benchmarks/calibration/moved.py --save {JOURNAL} --out {PAGE}`.",
        "",
        "| data | rows | what | draws | rate | 95 % interval | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        low, high = binomtest(cell["hits"], cell["draws"]).proportion_ci(method="wilson")
        name = f"*{cell['name']}*" if cell["part"] in ("broken", "other") else cell["name"]
        lines.append(
            f"| {name} | {cell['rows']} | {cell['what']} | {cell['draws']} | "
            f"{cell['hits'] / cell['draws']:.3f} | {low:.3f} to {high:.3f} | {verdict(cell)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("null", "broken", "power"), action="append")
    parser.add_argument("--draws", default=None, help="START:STOP")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--merge", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    usual = {"null": "0:5000", "broken": "0:200", "power": "0:200"}
    parts = asked.part or ([] if asked.merge else list(usual))
    cells = [cell for path in asked.merge for cell in json.loads(path.read_text())]
    for part in parts:
        start, stop = map(int, (asked.draws or usual[part]).split(":"))
        cells += count(part, range(start, stop))
    cells = merged(cells)
    if asked.save:
        asked.save.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(f" {json.dumps(cell)}" for cell in cells)
        asked.save.write_text(f"[\n{lines}\n]\n")
    if asked.out:
        asked.out.write_text(page(cells))
    else:
        print(page(cells))


if __name__ == "__main__":
    main()
