"""Count false alarms of the model in use, and of the questions of compare together.

    python benchmarks/calibration/in_use.py --out docs/measured/calibration_in_use.md

The questions together are asked of `rdiv.compare`, everything else of the test alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import (
    LEVELS,
    Check,
    check_pvalues,
    classes,
    density,
    grouped,
    numbers,
    paired,
    table,
)
from benchmarks.calibration.counting import NOT_YET, Counts, write_page

import rdiv
from rdiv.discrepancies import InUse
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap
from rdiv.models import Boosting, Frozen, KernelDensity, LoggedLosses, Logistic, Model, Ridge
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.two_sample import part_of_reference, run_learned, run_test, split_reference

SIZES = ((120, 30), (100, 90))
RESAMPLES, PART = 19, 250
FEW_TREES = Boosting(iterations=20)

Draw = Callable[[int, int, np.random.Generator], dict[str, Any]]


# --- null draws -----------------------------------------------------------------------------------


def losses_alone(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Heavy-tailed losses of a model that is not here."""
    import polars as pl

    frame = pl.DataFrame({"loss": rng.lognormal(sigma=1.5, size=n_p + n_q)})
    return {"p": frame[:n_p], "q": frame[n_p:], "loss": "loss"}


def discrete(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Few distinct rows, each with many copies."""
    x = rng.integers(3, size=(n_p + n_q, 2)).astype(float)
    y = (x[:, 0] + rng.integers(3, size=len(x)) > 2).astype(int)
    y[:2] = 0, 1
    rows = rng.permutation(len(x))
    x, y = x[rows], y[rows]
    return {"p": (x[:n_p], y[:n_p]), "q": (x[n_p:], y[n_p:])}


def repeated(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Numbers of which a third stand twice, anywhere in the two files."""
    n = n_p + n_q
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + rng.normal(size=n)
    rows = rng.permutation(np.r_[np.arange(n - n // 3), np.arange(n // 3)])
    x, y = x[rows], y[rows]
    return {"p": (x[:n_p], y[:n_p]), "q": (x[n_p:], y[n_p:])}


def many_levels(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """A table with a text column of many levels."""
    import polars as pl

    frame = pl.DataFrame(
        {
            "city": [f"city {k}" for k in rng.integers(60, size=n_p + n_q)],
            "noise": rng.normal(size=n_p + n_q),
        }
    )
    return {"p": frame[:n_p], "q": frame[n_p:]}


def deployed() -> Frozen:
    """A ridge regression that was trained elsewhere."""
    from sklearn.linear_model import Ridge as Estimator

    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 2))
    return Frozen(Estimator().fit(x, x[:, 0] + rng.normal(size=40)), trained_on="neither")


@dataclass(frozen=True)
class UnknownLevels:
    """A model whose loss is the number of cells that are at no level that it knows."""

    def fit(self, pool: Pool, rng: np.random.Generator) -> UnknownLevels:
        """Learn nothing but what the preparation learns."""
        del pool, rng
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Whether the first column is at a rare level, and a little of the second."""
        owners = np.array(pool.owners())
        known = pool.matrix()[:, owners == "city"][:, :-1].sum(axis=1)
        found: NDArray[np.float64] = 1 - known + 0.1 * pool.matrix()[:, owners == "noise"][:, 0]
        return found


@dataclass(frozen=True)
class Cell:
    """One model in use on one kind of null data."""

    draw: Draw
    model: Callable[[], Model]
    draws: int = 5000
    ties: bool = False  # then only the upper bound applies


CELLS: dict[str, Cell] = {
    "kde": Cell(density, KernelDensity),
    "logistic": Cell(classes, Logistic),
    "ridge": Cell(numbers, Ridge),
    "boosting": Cell(classes, lambda: FEW_TREES, 2000),
    "logistic, a table": Cell(table, Logistic, 2000),
    "a given model (Frozen)": Cell(numbers, deployed),
    "a loss column": Cell(losses_alone, lambda: LoggedLosses("loss")),
    "ridge, groups": Cell(grouped, Ridge),
    "ridge, strata": Cell(paired, Ridge),
    "logistic, few distinct rows": Cell(discrete, Logistic, ties=True),
    "ridge, a third of the rows twice": Cell(repeated, Ridge, ties=True),
    "levels known to part A": Cell(many_levels, UnknownLevels),
}


def pooled_draw(draw: Draw, sizes: tuple[int, int], i: int, seed: int) -> PooledSamples:
    """Draw `i` of a kind of null data, as one pool."""
    return pool_samples(**draw(*sizes, np.random.default_rng([40, i])), rng=seed)


def null_pvalues(
    name: str, sizes: tuple[int, int], draws: range, *, fixed_seed: bool
) -> NDArray[np.float64]:
    """p-values of a cell, one for each draw."""
    cell, pvalues = CELLS[name], []
    settings = PermutationSettings(0.1, RESAMPLES)
    with one_thread():
        for i in draws:
            pooled = pooled_draw(cell.draw, sizes, i, 0 if fixed_seed else i)
            pvalues.append(run_test(InUse(cell.model()), pooled, settings)[0].pvalue)
    return np.array(pvalues)


def checked(pvalues: NDArray[np.float64], *, ties: bool) -> Check:
    """The check of all tests; with ties only that there are not too many rejections."""
    if not ties:
        return check_pvalues(pvalues, RESAMPLES)
    from scipy.stats import binomtest

    counts = tuple(int((pvalues <= level + 1e-12).sum()) for level in LEVELS)
    surprises = [
        float(binomtest(count, len(pvalues), level, alternative="greater").pvalue)
        for count, level in zip(counts, LEVELS, strict=True)
    ]
    return Check(len(pvalues), counts, tuple(surprises))


# --- random splits of one pool, at one seed -------------------------------------------------------


def split_pvalues(name: str, pool: int, draws: range) -> NDArray[np.float64]:
    """p-values over random splits of one fixed pool of 150 rows, always with the same seed."""
    cell, pvalues = CELLS[name], []
    given = cell.draw(100, 50, np.random.default_rng([41, pool]))
    parts = [np.concatenate(pair) for pair in zip(given["p"], given["q"], strict=True)]
    settings = PermutationSettings(0.1, RESAMPLES)
    with one_thread():
        for i in draws:
            rows = np.random.default_rng([42, pool, i]).permutation(150)
            sides = [tuple(part[side] for part in parts) for side in (rows[:100], rows[100:])]
            pooled = pool_samples(*sides, rng=7)
            pvalues.append(run_test(InUse(cell.model()), pooled, settings)[0].pvalue)
    return np.array(pvalues)


# --- deliberately broken variants -----------------------------------------------------------------


def chosen_by_key(i: int) -> float:
    """Part A by the hash of the row: all copies of a row at once, so that B is unlike C."""
    pooled = pooled_draw(discrete, (100, 90), i, i)
    order = pooled.reference_order()
    split = split_reference(pooled, 0.5, np.sort(order[: len(order) // 2]))
    settings = PermutationSettings(0.1, RESAMPLES)
    test = InUse(Logistic())
    return run_learned(test, split.learned(test), split, pooled, settings)[0].pvalue


@dataclass(frozen=True, eq=False)
class _SeesAll:
    """A model that is fitted to more rows than part A."""

    model: Model
    rows: Pool

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        """Fit to all rows of the reference."""
        del pool
        return self.model.fit(self.rows, rng)


def fitted_on_b(i: int) -> float:
    """The model has seen the reference rows that are compared."""
    pooled = pooled_draw(numbers, (100, 90), i, i)
    own = pooled.pool.take(np.flatnonzero(pooled.is_p))
    settings = PermutationSettings(0.1, RESAMPLES)
    return run_test(InUse(_SeesAll(FEW_TREES, own)), pooled, settings)[0].pvalue


def prepared_on_b(i: int) -> float:
    """The preparation has seen the reference rows that are compared."""
    pooled = pooled_draw(many_levels, (100, 90), i, i)
    part = part_of_reference(pooled, 0.5)
    split = split_reference(pooled, 0.5, part)
    whole = pooled.pool.anew(np.flatnonzero(pooled.is_p))
    prepared = mean_gap(UnknownLevels().losses(split.tested.pool.like(whole)))
    settings = PermutationSettings(0.1, RESAMPLES)
    rng = split.tested.stream("masks")
    return permute(prepared, split.tested.is_p, settings, rng=rng).pvalue


BROKEN: dict[str, Callable[[int], float]] = {
    "part A chosen by the key of the row, few distinct rows": chosen_by_key,
    "the model fitted on B as well": fitted_on_b,
    "its preparation fitted on B as well": prepared_on_b,
}


def broken_pvalues(name: str, draws: range) -> NDArray[np.float64]:
    """p-values of a broken variant."""
    with one_thread():
        return np.array([BROKEN[name](i) for i in draws])


# --- the questions together -----------------------------------------------------------------------

QUESTIONS = ("in-use", "r-div", "score")
TRUE = {
    "nothing": QUESTIONS,
    "the losses of the model in use": ("r-div", "score"),
    "the noise of the target": ("in-use", "score"),
    "the slope of the target": ("in-use", "r-div"),
}


def true_nulls(what: str, sizes: tuple[int, int]) -> tuple[str, ...]:
    """The questions whose answer is no."""
    leaning = what == "the slope of the target" and sizes[0] != sizes[1]
    return ("in-use",) if leaning else TRUE[what]


def three_nulls(what: str, sizes: tuple[int, int], i: int) -> dict[str, Any]:
    """Two samples that differ in one thing: the logged losses, the noise or the slope."""
    import polars as pl

    rng, n = np.random.default_rng([43, i]), sum(sizes)
    current = np.arange(n) >= sizes[0]
    x, noise = rng.normal(size=n), rng.normal(size=n)
    more = 0.5 if what == "the losses of the model in use" else 0.0
    losses = rng.exponential(size=n) + more * current
    noise *= np.where(current & (what == "the noise of the target"), 1.6, 1.0)
    slope = np.where(current & (what == "the slope of the target"), -1.0, 1.0)
    frame = pl.DataFrame({"x": x, "y": slope * x + noise, "loss": losses})
    return {"reference": frame[: sizes[0]], "current": frame[sizes[0] :]}


def claims(what: str, sizes: tuple[int, int], draws: range) -> NDArray[np.bool_]:
    """For every draw: whether each question, then any true null, was claimed at .05."""
    found = []
    for i in draws:
        given = three_nulls(what, sizes, i)
        result = rdiv.compare(
            **given, target="y", loss="loss", retrain="ridge", drivers=False, n_resamples=199, rng=i
        )
        one = [result.adjusted_pvalues[name] <= 0.05 for name in QUESTIONS]
        wrong = any(result.adjusted_pvalues[name] <= 0.05 for name in true_nulls(what, sizes))
        found.append([*one, wrong])
    return np.array(found)


# --- the page -------------------------------------------------------------------------------------


INTRO = """\
# Calibration of the model in use

<!-- Written by benchmarks/calibration/in_use.py (make calibrate); do not edit. -->

False alarms of `in-use` when reference and current come from one distribution. Half of the
reference trains the model (a given model needs none), the other half is compared with current.
A test is right if its p-values are uniform: rejections at 0.05 and 0.10, and how surprising the
whole distribution is (*p*). With ties (copies of rows, discrete losses) only too many rejections
count, and *p* is that of the rejections at 0.10.
A cell fails when one of these is less likely than 0.001; it is then run again with new draws, four
times as many. Draw `i` comes from `default_rng([40, i])`; the seed is `i` (fresh) or 0 (fixed).
{resamples} permutations. Command:
`python benchmarks/calibration/in_use.py --out docs/measured/calibration_in_use.md`.\
"""
HEAD = "draws | at 0.05 | at 0.10 | p | verdict |"


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(resamples=RESAMPLES).split("\n")
    yield from ("", f"| model in use | rows | seed | {HEAD}", "|---|---|---|---|---|---|---|---|")
    for name, cell in CELLS.items():
        check = partial(checked, ties=cell.ties)
        for sizes in SIZES:
            for fixed in (False, True):
                key = {"cell": name, "sizes": list(sizes), "fixed": fixed}
                told = counts.level(cell_pvalues, key, cell.draws, PART, check)
                seed = "fixed" if fixed else "fresh"
                yield f"| {name} | {sizes[0]} + {sizes[1]} | {seed} | {told} |"
    yield from _fixed_pools(counts)
    yield from _broken(counts)
    yield from _together(counts)


def cell_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a cell that is given by its name."""
    return null_pvalues(cell["cell"], tuple(cell["sizes"]), draws, fixed_seed=cell["fixed"])


def pool_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values over splits of one pool."""
    return split_pvalues(cell["cell"], cell["pool"], draws)


def mistaken_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a test with a mistake."""
    return broken_pvalues(cell["broken"], draws)


def claimed(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """How many draws claim each question, and any whose null is true."""
    found = claims(cell["together"], tuple(cell["sizes"]), draws)
    return dict(zip((*QUESTIONS, "wrong"), found.sum(axis=0).tolist(), strict=True))


def _fixed_pools(counts: Counts) -> Iterator[str]:
    yield from ("", "## Random splits of one fixed pool, at one seed", "")
    yield "Level over random splits of one pool of 150 rows into 100 + 50, always with seed 7."
    yield from ("", f"| model in use | pool | {HEAD}", "|---|---|---|---|---|---|---|")
    for name in ("ridge", "logistic"):
        for pool in range(6):
            key = {"cell": name, "pool": pool}
            told = counts.level(pool_pvalues, key, 2000, PART, partial(checked, ties=False))
            yield f"| {name} | {pool} | {told} |"


def _broken(counts: Counts) -> Iterator[str]:
    yield from ("", "## Broken on purpose", "")
    yield "The same check on tests with one mistake each, 100 + 90 rows; it must reject them."
    yield from ("", f"| mistake | {HEAD}", "|---|---|---|---|---|---|")
    check = partial(checked, ties=True)
    for name in BROKEN:
        told = counts.level(mistaken_pvalues, {"broken": name}, 1000, PART, check, broken=True)
        yield f"| {name} | {told} |"


def _together(counts: Counts) -> Iterator[str]:
    yield from ("", "## The questions together", "")
    yield "Logged losses stand for the model in use, ridge regression in 5 folds is the shared one,"
    yield "199 permutations. How often each question is claimed at .05 after closed testing, and"
    yield "how often any question is whose null is true. With equal distributions the bound is"
    yield "exact; equal means alone (noise, slope) give it approximately. With another slope in"
    yield "samples of unequal size the shared line leans to the larger one, and r-div does differ."
    yield ""
    yield "| what differs | rows | draws | in-use | r-div | score | any true null |"
    yield "|---|---|---|---|---|---|---|"
    for what in TRUE:
        for sizes in ((100, 100), (160, 40)):
            key = {"together": what, "sizes": list(sizes)}
            found = counts.count(claimed, key, range(counts.of(1000)), 50)
            rates = " | ".join(
                f"{found.total(name) / found.draws:.3f}" if found.draws else NOT_YET
                for name in (*QUESTIONS, "wrong")
            )
            yield f"| {what} | {sizes[0]} + {sizes[1]} | {found.shown} | {rates} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_in_use")


if __name__ == "__main__":
    from benchmarks.calibration.in_use import main as start  # where workers find it

    start()
