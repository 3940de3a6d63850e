"""The level of tests over random splits of one fixed pool at one seed, and of broken variants.

    python benchmarks/calibration/fixed_pool.py --out docs/measured/calibration_fixed_pool.md

Every stream of a run is seeded by the seed and the pool. With new pools, or new seeds, a test may
hold its level on average and still be too lenient on one pool and too strict on another: for those
splits the halves and the masks have been drawn once and for all. So each cell takes several pools,
each with a seed of its own, and counts rejections over random splits of every one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2_contingency

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import NOT_YET, UNFINISHED, Counts, write_page
from benchmarks.calibration.learners import logistic

import rdiv.two_sample as two_sample_stage
from rdiv.discrepancies import (
    AccuracyC2st,
    GaussianMmd,
    LogitC2st,
    MeanEmbedding,
    SmoothCharacteristicFunction,
)
from rdiv.discrepancies.mean_features import ascent
from rdiv.inference import halving
from rdiv.inference.prepared import Prepared
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import two_sample_test

ALPHA, PART = 0.05, 250
STRICTNESS = 1e-3  # a right cell fails one of its checks about this often


# --- the level over random splits of one fixed pool -----------------------------------------------


@dataclass(frozen=True, eq=False)
class FixedPool:
    """Rows that every split shares, as many as it has; `groups` stay whole, `strata` balanced.

    Parameters
    ----------
    x : (n, d) array
    y : (n,) array, optional
    groups, strata : (n,) integer codes, optional
        At most one of them.
    """

    x: NDArray[np.float64]
    y: NDArray[Any] | None = None
    groups: NDArray[np.intp] | None = None
    strata: NDArray[np.intp] | None = None

    def split(self, n_p: int, rng: np.random.Generator) -> dict[str, Any]:
        """Arguments of a test for one random split with `n_p` rows (groups) in p.

        With strata the rows of each are split in two, and `n_p` is not used.
        """
        is_p = self._mask(n_p, rng)
        given: dict[str, Any] = {"p": self._rows(is_p), "q": self._rows(~is_p)}
        for name in ("groups", "strata"):
            codes = getattr(self, name)
            if codes is not None:
                given[name] = codes[is_p], codes[~is_p]
        return given

    def _mask(self, n_p: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        if self.groups is not None:
            chosen = rng.permutation(int(self.groups.max()) + 1)[:n_p]
            return np.isin(self.groups, chosen)
        if self.strata is not None:
            order = np.lexsort((rng.random(len(self.x)), self.strata))
            is_p = np.empty(len(self.x), dtype=bool)
            is_p[order] = np.arange(len(order)) % 2 == 0
            return is_p
        return rng.permutation(len(self.x)) < n_p

    def _rows(self, mask: NDArray[np.bool_]) -> Any:
        return self.x[mask] if self.y is None else (self.x[mask], self.y[mask])


def split_pvalues(
    pvalue: Callable[[dict[str, Any]], float], pool: FixedPool, n_p: int, splits: range
) -> NDArray[np.float64]:
    """p-values of a test over random splits of one pool; whatever else it draws is up to it.

    Parameters
    ----------
    pvalue : callable
        From the arguments p, q (and groups or strata) of a test to its p-value, at one seed.
    pool : FixedPool
    n_p : int
    splits : range
        Split i is the same for every test.
    """
    with one_thread():
        drawn = (pool.split(n_p, np.random.default_rng([91, i])) for i in splits)
        return np.array([pvalue(given) for given in drawn])


Draw = Callable[[int, np.random.Generator], FixedPool]


# --- pools ----------------------------------------------------------------------------------------


def numbers(n: int, rng: np.random.Generator) -> FixedPool:
    """Normal rows, no two alike."""
    return FixedPool(rng.normal(size=(n, 3)))


def copied(n: int, rng: np.random.Generator) -> FixedPool:
    """Every row three times: copies stay in one half."""
    return FixedPool(np.repeat(rng.normal(size=(n // 3, 3)), 3, axis=0))


def coarse(n: int, rng: np.random.Generator) -> FixedPool:
    """Eight distinct rows, so many copies that they are halved row by row."""
    return FixedPool(rng.integers(2, size=(n, 3)).astype(float))


def grouped(n: int, rng: np.random.Generator) -> FixedPool:
    """Groups of one to three rows that share an effect."""
    groups = np.repeat(np.arange(n), rng.integers(1, 4, size=n))
    effect = 2 * rng.normal(size=(n, 2))
    return FixedPool(effect[groups] + rng.normal(size=(len(groups), 2)), groups=groups)


def paired(n: int, rng: np.random.Generator) -> FixedPool:
    """Matched rows, two to a stratum."""
    strata = np.repeat(np.arange(n // 2), 2)
    effect = 3 * rng.normal(size=(n // 2, 2))
    return FixedPool(effect[strata] + rng.normal(size=(n, 2)), strata=strata)


# --- cells ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One test on pools of one kind."""

    name: str
    build: Callable[[FixedPool, int], Any]  # from a pool and a seed to the test
    draw: Draw
    n: int  # rows of a pool; groups, where there are groups
    n_p: int
    ties: bool = False  # then the level may lie below, by pools, and only the upper bound applies
    splits: int = 2000
    resamples: int = 99

    def pvalue_of(self, pool: FixedPool, seed: int) -> Callable[[dict[str, Any]], float]:
        """The p-value of this test at one seed, as a function of its samples."""
        test = self.build(pool, seed)

        def pvalue(given: dict[str, Any]) -> float:
            found = two_sample_test(
                **given, discrepancy=test, n_resamples=self.resamples, alpha=ALPHA, rng=seed
            )
            return float(found.pvalue)

        return pvalue

    def rejections(self, k: int, splits: range) -> int:
        """How many splits of pool k, which has seed k, are rejected."""
        pool = self.draw(self.n, np.random.default_rng([90, k]))
        found = split_pvalues(self.pvalue_of(pool, k), pool, self.n_p, splits)
        return int((found <= ALPHA + 1e-12).sum())


def mmd(*_: Any) -> Any:
    """mmd-o with a bandwidth that is learned on one half."""
    return GaussianMmd("power")


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A learner made to find fault: it gives a row the labels of its neighbours in some order.

    When one order of a pool halves all of its splits, of two neighbours of one sample one learns
    and the other is tested; then the labels of the rows to learn on tell those of the others.

    Parameters
    ----------
    places : dict
        The place of each row, by its first number.
    known : pair of arrays, optional
        Places of the rows that it has learned on, and 1 for p, -1 for q.
    """

    places: dict[float, int]
    known: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    learns = True
    task = "density"

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Neighbours:
        """Remember the labels."""
        del rng
        return Neighbours(self.places, (self._of(pool), np.where(is_p, 1, -1)))

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Sum the labels of the neighbours, near ones most."""
        del rng
        assert self.known is not None
        there, signs = self.known
        scores = np.exp(-0.5 * np.abs(self._of(pool)[:, None] - there)) @ signs
        return Prepared(lambda masks: masks @ scores)

    def _of(self, pool: Pool) -> NDArray[np.intp]:
        return np.array([self.places[float(first)] for first in pool.numbers()[:, 0]])


def neighbours(pool: FixedPool, seed: int) -> Neighbours:
    """The learner that knows the order by which the broken variant halves this pool."""
    stored = pool_samples(pool.x[:4], pool.x[4:], rng=seed)
    drawn = stored.stream("halves").integers(2**63, size=2)
    order = np.random.default_rng([*drawn, 0]).permutation(len(pool.x))
    ordered = stored.pool.numbers()[order, 0].tolist()
    return Neighbours({first: place for place, first in enumerate(ordered)})


POWER = 'mmd-o, bandwidth "power"'
CELLS = (
    Cell("neighbours in one order", neighbours, numbers, 24, 12, splits=1000),
    Cell("neighbours in one order", neighbours, numbers, 120, 60, splits=1000),
    Cell(POWER, mmd, numbers, 24, 12),
    Cell(POWER, mmd, numbers, 120, 60),
    Cell(POWER, mmd, numbers, 60, 15),
    Cell(POWER, mmd, copied, 120, 60),
    Cell(POWER, mmd, coarse, 120, 60, ties=True),
    Cell(POWER, mmd, grouped, 24, 12),
    Cell(POWER, mmd, paired, 80, 40),
    Cell("c2st-l logistic", lambda *_: LogitC2st(logistic()), numbers, 24, 12, splits=1000),
    Cell("c2st-l logistic", lambda *_: LogitC2st(logistic()), numbers, 120, 60, splits=1000),
    Cell(
        "c2st-s logistic",
        lambda *_: AccuracyC2st(logistic()),
        numbers,
        120,
        60,
        ties=True,
        splits=1000,
    ),
    Cell("me, three steps", lambda *_: MeanEmbedding(2), numbers, 40, 20, splits=1000),
    Cell(
        "scf, three steps", lambda *_: SmoothCharacteristicFunction(2), numbers, 40, 20, splits=1000
    ),
)
POOLS = 8


@contextmanager
def three_steps() -> Iterator[None]:
    """Let the ascents of me and scf stop after three steps, which is a learner all the same."""
    stops = (0, 3)
    with (
        mock.patch.object(ascent, "STOPS", stops),
        mock.patch.object(ascent.climb, "__defaults__", (stops,)),
    ):
        yield


# --- the check ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spread:
    """Rejections over the splits of each of several pools, and how surprising they are."""

    counts: NDArray[np.intp]
    splits: int
    ties: bool = False

    @property
    def rates(self) -> NDArray[np.float64]:
        """The level on each pool."""
        return self.counts / self.splits

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the level over all pools."""
        found = binomtest(int(self.counts.sum()), self.splits * len(self.counts))
        low, high = found.proportion_ci(method="wilson")
        return float(low), float(high)

    @property
    def overall(self) -> float:
        """How surprising it is that so many splits of all pools are rejected, if at most .05 is."""
        total = self.splits * len(self.counts)
        test = binomtest(int(self.counts.sum()), total, ALPHA, alternative="greater")
        return float(test.pvalue)

    @property
    def between(self) -> float:
        """How surprising it is that pools differ so much, if all have one level.

        With ties levels below .05 may differ; then it is the largest one that must not surprise.
        """
        if self.ties:
            most = int(self.counts.max())
            test = binomtest(most, self.splits, ALPHA, alternative="greater")
            return min(1.0, len(self.counts) * float(test.pvalue))
        table = np.stack([self.counts, self.splits - self.counts])
        return float(chi2_contingency(table, correction=False).pvalue)

    @property
    def passed(self) -> bool:
        """Whether nothing is more surprising than `STRICTNESS` allows."""
        return min(self.overall, self.between) > STRICTNESS


def spread(cell: Cell, splits: int, pools: range = range(POOLS)) -> Spread:
    """Rejections of one cell on several pools."""
    with three_steps():
        counts = [cell.rejections(k, range(splits)) for k in pools]
    return Spread(np.array(counts), splits, cell.ties)


# --- deliberately broken variants: each must fail the check ---------------------------------------


def halves_by_the_order_of_the_pool() -> AbstractContextManager[Any]:
    """Every second row of each sample learns, in an order that is the same for all splits."""
    return mock.patch.object(halving, "mask_digest", return_value=0)


def one_set_of_masks() -> AbstractContextManager[Any]:
    """The masks are the same for all splits, as are the rows to test when copies stay together."""
    return mock.patch.object(two_sample_stage, "_learned", return_value=0)


Broken = tuple[Callable[[], AbstractContextManager[Any]], Cell]
BROKEN: dict[str, Broken] = {
    "halves by the order of the pool: neighbours": (halves_by_the_order_of_the_pool, CELLS[0]),
    "halves by the order of the pool: mmd-o": (halves_by_the_order_of_the_pool, CELLS[2]),
    "one set of masks for all splits: mmd-o": (one_set_of_masks, CELLS[5]),
}


# --- the page -------------------------------------------------------------------------------------

INTRO = """\
# Calibration over splits of one pool

<!-- Written by benchmarks/calibration/fixed_pool.py (make calibrate); do not edit. -->

Each pool of rows was split at random into p and q again and again, and tested at one seed and
alpha = .05. A run draws everything from its seed and its pool, so this shows whether what it draws
fits every split of that pool, where new pools or seeds would show it on average only. The tests
learn on one half of each sample. {pools} pools per line, each with a seed of its own; *splits* are
those of one pool; lowest and highest are the levels on single pools. *Between pools* is the p-value
of a chi-square test that all have one level; where ties make a test conservative, that of the
highest level being at most .05. With groups, *rows* are groups.
Command:
`python benchmarks/calibration/fixed_pool.py --out docs/measured/calibration_fixed_pool.md`.

| test | pool | rows | splits | level | 95 % interval | lowest | highest | between pools | verdict |
|---|---|---|---|---|---|---|---|---|---|"""
KINDS: dict[Draw, str] = {
    numbers: "normal",
    copied: "every row three times",
    coarse: "eight distinct rows",
    grouped: "groups",
    paired: "matched pairs",
}


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page: the cells, then the broken variants."""
    yield from INTRO.format(pools=POOLS).split("\n")
    for cell in CELLS:
        splits, pools = counts.of(cell.splits), range(POOLS)
        found, right = counted(counts, cell, splits, pools), "holds"
        if len(found.counts) == POOLS and not found.passed:
            # once more, with new pools and twice as many splits
            found = counted(counts, cell, 2 * splits, range(POOLS, 2 * POOLS))
            right = "holds (second run)"
        yield line(cell.name, cell, found, right, "FAILS")
    for name, (_, cell) in BROKEN.items():
        found = counted(counts, cell, counts.of(cell.splits), range(POOLS), mistake=name)
        yield line(f"*{name}*", cell, found, "NOT CAUGHT", "caught")
    yield from ("", OTHERS)


def counted(
    counts: Counts, cell: Cell, splits: int, pools: range, mistake: str | None = None
) -> Spread:
    """Rejections of one cell on those of several pools whose splits are all counted."""
    found = []
    for k in pools:
        key = {"cell": CELLS.index(cell), "test": cell.name, "mistake": mistake, "pool": k}
        one = counts.count(pool_rejections, key, range(splits), PART)
        if one.complete:
            found.append(one.total("rejected"))
    return Spread(np.array(found, dtype=np.intp), splits, cell.ties)


def pool_rejections(key: dict[str, Any], splits: range) -> dict[str, Any]:
    """Rejections over some splits of one pool, of the test as it is or with a mistake."""
    mistake = nullcontext() if key["mistake"] is None else BROKEN[key["mistake"]][0]()
    with mistake, three_steps():
        return {"rejected": CELLS[key["cell"]].rejections(key["pool"], splits)}


def line(name: str, cell: Cell, found: Spread, right: str, wrong: str) -> str:
    """One line of the table; a verdict needs all pools."""
    begin = f"| {name} | {KINDS[cell.draw]} | {cell.n_p} + {cell.n - cell.n_p} | {found.splits} | "
    pools = len(found.counts)
    if not pools:
        return f"{begin} | | | | | {NOT_YET} |"
    low, high = found.interval
    cells = (
        f"{found.rates.mean():.4f}", f"{low:.4f} to {high:.4f}",
        f"{found.rates.min():.4f}", f"{found.rates.max():.4f}", f"{found.between:.2g}",
        (right if found.passed else wrong) if pools == POOLS else f"{UNFINISHED}: {pools} pools",
    )  # fmt: skip
    return begin + " | ".join(cells) + " |"


OTHERS = """\
Lines in italics are deliberately broken; the check must catch them. Every test has 99 permutations.
*Neighbours* is a learner made for the first broken variant: it knows in which order that one halves
a pool, and gives a row the labels of its neighbours in this order.

A test that does not learn has one set of masks for all splits of a pool at one seed, so its level
on that pool is that of these masks: a draw from a beta distribution with mean .05 and standard
deviation .007 at 999 permutations, .022 at 99. It is exact over seeds and over pools."""


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_fixed_pool")


if __name__ == "__main__":
    from benchmarks.calibration.fixed_pool import main as start  # where workers find it

    start()
