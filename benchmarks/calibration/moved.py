"""False alarms and power of the columns that moved, and what a mistake would cost; a docs page.

    python benchmarks/calibration/moved.py --out docs/measured/calibration_moved.md

A false alarm is any column with a p-value of at most alpha, or any flag, although both samples are
drawn alike. Broken variants, the same procedure with one mistake, must be caught by the same count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import Counted, Counts, alarm_rate, write_page

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

VARIANTS = (*((name, draw, sizes, as_it_is) for name, draw, sizes in NULLS), *BROKEN)
SCALES = {"error": "standard error", "usual": "permutation deviation"}


def alarms(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """Draws with any column confirmed, and with any flag."""
    _, draw, sizes, variant = VARIANTS[cell["variant"]]
    hits = {"any column": 0, "any flag": 0}
    for i in draws:
        columns = run(draw(*sizes, np.random.default_rng([90, i])), i, RESAMPLES, variant)
        hits["any column"] += bool(confirmed(columns))
        hits["any flag"] += any(column.flag is not None for column in columns)
    return hits


def found_again(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """Draws in which the column that changes is confirmed, by one scale alone if it is named."""
    _, column, draw, sizes = next(one for one in PLANTED if one[0] == cell["planted"])
    how, hits = as_it_is if cell["scale"] is None else one_scale(cell["scale"]), 0
    for i in draws:
        given = draw(*sizes, np.random.default_rng([91, i]))
        hits += column in confirmed(run(given, i, POWER_RESAMPLES, how))
    return {"found": hits}


# --- the page -------------------------------------------------------------------------------------

DRAWS, POWER = {"null": 5000, "broken": 200, "power": 200}, 0.8
INTRO = f"""\
# Calibration of columns that moved

<!-- Written by benchmarks/calibration/moved.py (make calibrate); do not edit. -->

How often any input column is confirmed as moved at level {ALPHA:g}, or flagged
(constant, new levels, missing in one sample only), although both samples are drawn
alike (with strata: alike within each stratum), and how often a planted change is
confirmed. {RESAMPLES} permutations, {POWER_RESAMPLES} for planted changes. In the
cell of groups, groups of one to seven rows are counted, not rows. The level of
confirmed columns is exact up to ties; that of flags is a bound. Each null cell must stay
within the upper 99.5 % bound of a binomial count; each planted change be found in 80 %
of the draws. Broken variants must be caught by the same bound. The last cells divide
gaps by one scale only, where rdiv takes the larger of two. Draw i uses the seed
[90, i] or [91, i]. Command:
`python benchmarks/calibration/moved.py --out docs/measured/calibration_moved.md`.

| data | rows | what | draws | rate | 95 % interval | verdict |
|---|---|---|---|---|---|---|"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.split("\n")
    for place, (name, _, sizes, _) in enumerate(VARIANTS):
        part = "null" if place < len(NULLS) else "broken"
        key = {"variant": place, "name": name}
        found = counts.count(alarms, key, range(counts.of(DRAWS[part])), 250)
        for what in ("any column", "any flag") if part == "null" else ("any column",):
            yield _line(part, name, sizes, what, found)
    for name, _, _, sizes in PLANTED:
        yield _line("power", name, sizes, "found", _found(counts, name, None))
    name, _, _, sizes = PLANTED[-1]
    for scale, told in SCALES.items():
        found = _found(counts, name, scale)
        yield _line("other", f"{name}, {told} alone", sizes, "found", found)


def _found(counts: Counts, name: str, scale: str | None) -> Counted:
    key = {"planted": name, "scale": scale}
    return counts.count(found_again, key, range(counts.of(DRAWS["power"])), 25)


def _line(part: str, name: str, sizes: tuple[int, int], what: str, found: Counted) -> str:
    shown = f"*{name}*" if part in ("broken", "other") else name
    told = alarm_rate(found, what, part, POWER)
    return f"| {shown} | {sizes[0]} + {sizes[1]} | {what} | {told} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_moved")


if __name__ == "__main__":
    from benchmarks.calibration.moved import main as start  # where workers find it

    start()
