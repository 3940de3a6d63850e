"""False alarms of inputs and omnibus on small tables of every kind, and of a broken variant.

python benchmarks/calibration/inputs.py --out docs/measured/calibration_inputs.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import NOT_YET, UNFINISHED, Counted, Counts, write_page

from rdiv.discrepancies import Inputs, Omnibus
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.prepared import Prepared
from rdiv.models import MixedDensity
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import prepare

SEED, DRAWS, BROKEN_DRAWS, PART = 78, 5000, 500, 250
RESAMPLES, SIZES = 99, (10, 20)
LEVELS = (0.05, 0.10)
RNG = np.random.Generator

INTRO = """\
# Calibration of inputs and omnibus

<!-- Written by benchmarks/calibration/inputs.py (make calibrate); do not edit. -->

False alarms when both samples come from one distribution: {n_p} + {n_q} rows, {resamples}
permutations. A test holds unless so many rejections are less likely than one in a thousand. On
tables with many ties (few levels, mostly missing) fewer are expected. *omnibus*: with the default
density. *Broken*: numbers are centred within each sample before they are ranked, or missing cells
are filled with the mean of their own sample, as if labels could be used.
Draw `i` comes from `default_rng([{seed}, i])`; *seed*: that of the test, `i` or one for all draws.
Command: `python benchmarks/calibration/inputs.py --out docs/measured/calibration_inputs.md`.

| test | table | seed | draws | at {levels[0]} | at {levels[1]} | verdict |
|---|---|---|---|---|---|---|\
"""


def mixed(rng: RNG, n: int) -> pl.DataFrame:
    """Numbers, missing cells, text, dates and a column of one level."""
    x = rng.normal(size=(n, 2))
    holes = pl.Series(np.where(rng.random(n) < 0.3, np.nan, x[:, 1])).fill_nan(None)
    days = rng.choice(["2024-01-01", "2024-02-01", "2024-03-01"], n)
    kinds = rng.choice(["red", "green", "blue"], n)
    columns = {"a": x[:, 0], "b": x[:, 0] + 0.3 * x[:, 1], "holes": holes, "kind": kinds}
    return pl.DataFrame({**columns, "day": days, "same": ["only"] * n})


def mostly_missing(rng: RNG, n: int) -> pl.DataFrame:
    """Four numbers, nine in ten of them missing."""
    x = np.where(rng.random((4, n)) < 0.9, np.nan, rng.normal(size=(4, n)))
    return pl.DataFrame({f"x{j}": pl.Series(own).fill_nan(None) for j, own in enumerate(x)})


def one_level(rng: RNG, n: int) -> pl.DataFrame:
    """Two columns that never vary, and one of two levels."""
    return pl.DataFrame({"a": ["x"] * n, "b": [1.0] * n, "c": rng.choice(["u", "v"], n)})


def all_text(rng: RNG, n: int) -> pl.DataFrame:
    """Eight levels, and text that never repeats."""
    notes = [f"note {value}" for value in rng.integers(10**9, size=n)]
    return pl.DataFrame({"a": rng.choice(list("abcdefgh"), n), "note": notes})


TABLES: dict[str, Callable[[RNG, int], pl.DataFrame]] = {
    "mixed": mixed, "90 % missing": mostly_missing, "one level": one_level, "all text": all_text
}  # fmt: skip
TESTS: dict[str, Any] = {"inputs": Inputs(), "omnibus": Omnibus(MixedDensity())}
CELLS = [(test, table, "i") for test in TESTS for table in TABLES]
CELLS += [(test, table, "0") for test in TESTS for table in ("mixed", "90 % missing")]
CELLS += [("broken", "mixed", "i"), ("broken", "90 % missing", "i")]


def broken(pool: Pool, is_p: np.ndarray, table: str) -> Prepared:
    """The broken variant of a table."""
    return (filled_by_sample if "missing" in table else centred_by_sample)(pool, is_p)


def filled_by_sample(pool: Pool, is_p: np.ndarray) -> Prepared:
    """Missing cells become the mean of their column in their own sample, 0 where there is none."""
    frame = pool.columnwise().frame[pool.columnwise().order]
    values = frame.to_numpy().astype(float)
    for side in (is_p, ~is_p):
        there = ~np.isnan(values[side])
        means = np.where(there, values[side], 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
        values[side] = np.where(there, values[side], means)
    return Inputs().prepare(Pool(values), np.random.default_rng(0))


def centred_by_sample(pool: Pool, is_p: np.ndarray) -> Prepared:
    """Numbers are standardised within their own sample."""
    values = pool.columnwise().frame["a"].to_numpy()[pool.columnwise().order]
    for side in (is_p, ~is_p):
        values[side] = (values[side] - values[side].mean()) / values[side].std()
    return Inputs().prepare(Pool(values[:, None]), np.random.default_rng(0))


def rejections(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """Rejections at every level in some draws."""
    rejected = np.zeros(len(LEVELS), int)
    for draw in draws:
        rows = TABLES[cell["table"]](np.random.default_rng([SEED, draw]), sum(SIZES))
        seed = draw if cell["seed"] == "i" else int(cell["seed"])
        pooled = pool_samples(rows[: SIZES[0]], rows[SIZES[0] :], rng=seed)
        if cell["test"] == "broken":
            prepared = broken(pooled.pool, pooled.is_p, cell["table"])
        else:
            prepared = prepare(TESTS[cell["test"]], pooled.pool, pooled.stream("fit"))
        settings = PermutationSettings(n_resamples=RESAMPLES)
        null = permute(prepared, pooled.is_p, settings, rng=pooled.stream("masks"))
        rejected += null.pvalue <= np.array(LEVELS)
    return {f"at {level}": count for level, count in zip(LEVELS, rejected.tolist(), strict=True)}


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield INTRO.format(levels=LEVELS, n_p=SIZES[0], n_q=SIZES[1], resamples=RESAMPLES, seed=SEED)
    for test, table, seed in CELLS:
        draws = counts.of(DRAWS if test != "broken" else BROKEN_DRAWS)
        key = {"test": test, "table": table, "seed": seed}
        found = counts.count(rejections, key, range(draws), PART)
        rejected = [found.total(f"at {level}") for level in LEVELS]
        shares = " | ".join(f"{own / found.draws:.4f}" if found.draws else "" for own in rejected)
        word = verdict(rejected, found, is_broken=test == "broken")
        yield f"| {test} | {table} | {seed} | {found.shown} | {shares} | {word} |"


def verdict(rejected: list[int], found: Counted, *, is_broken: bool) -> str:
    """Whether there are too many rejections; a broken variant may also have far too few."""
    if not found.complete:
        return UNFINISHED if found.draws else NOT_YET
    surprise = min(
        float(binom.sf(own - 1, found.draws, level))
        for own, level in zip(rejected, LEVELS, strict=True)
    )
    if not is_broken:
        return "holds" if surprise > 0.001 else "FAILS"
    if surprise <= 0.001:
        return "caught"
    fewer = float(binom.cdf(rejected[0], found.draws, LEVELS[0]))
    return "caught (far too few)" if fewer < 0.001 else "NOT CAUGHT"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_inputs")


if __name__ == "__main__":
    from benchmarks.calibration.inputs import main as start  # where workers find it

    start()
