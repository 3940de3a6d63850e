"""Running the leaderboard: every test on every cell and on its null, kept in one journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.names import one_line
from rdiv.studies.execution import spread
from rdiv.studies.journal import Journal
from rdiv.studies.leaderboard.cells import Cell
from rdiv.studies.study import Key, Study, StudyTest, as_study, as_study_test
from rdiv.studies.trial import drawn_pool, run_draw

__all__ = ["BLOCK", "TESTS", "Board", "Counts", "OwnPvalue", "as_board", "finished", "run_board"]

TESTS = ("omnibus", "r-div", "score", "inputs", "energy", "mmd-o", "ks-loss", "c2st-l", "mmd-d")
"""The tests of rdiv that take part."""

BLOCK = 10
"""Trials in one row of the journal."""

_PILOT = 2**20  # trials from here on measure the cost, and count for nothing else


@runtime_checkable
class OwnPvalue(Protocol):
    """A test of another package, which comes with its own p-value."""

    def pvalue(
        self, p: NDArray[np.float64], q: NDArray[np.float64], n_resamples: int, seed: int
    ) -> tuple[float, float]:
        """The p-value of two samples of numbers, and the processor seconds that it took."""
        ...


@dataclass(frozen=True, eq=False)
class Board:
    """Cells, tests and counts: the study that the leaderboard is.

    Parameters
    ----------
    cells : tuple of Cell
    tests : tuple of StudyTest
        Tests of this package, or objects with `prepare(pool, rng)`.
    outside : mapping of str to OwnPvalue
        Tests that compute their own p-values, by their names.
    trials : int
        Draws per cell and under its null.
    trained_trials : int
        Draws for tests that learn with labels, in the cells that are marked for them.
    n_resamples : int
    alpha : float
    seed : int
    """

    cells: tuple[Cell, ...]
    tests: tuple[StudyTest, ...]
    outside: Mapping[str, OwnPvalue] = field(default_factory=dict)
    trials: int = 200
    trained_trials: int = 50
    n_resamples: int = 199
    alpha: float = 0.05
    seed: int = 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of all tests, in their order."""
        return (*(self._label(test) for test in self.tests), *self.outside)

    @cached_property
    def learners(self) -> frozenset[str]:
        """The tests that learn with labels, and therefore run in some cells only."""
        ours = {self._label(test) for test in self.tests if test.learns(self.cells[0].drawn)}
        theirs = {name for name, test in self.outside.items() if getattr(test, "learns", False)}
        return frozenset(ours | theirs)

    def trials_of(self, cell: Cell, label: str) -> int:
        """How often a test runs in a cell."""
        if label not in self.learners:
            return self.trials
        return min(self.trials, self.trained_trials) if cell.trained else 0

    def study(self, cell: Cell) -> Study:
        """The trials of one cell as a power study: the same draws for every test."""
        return as_study(
            [cell.drawn], list(self.tests), sizes=cell.n, trials=self.trials, repeats=1,
            n_resamples=self.n_resamples, alpha=self.alpha, train="half", null=True,
            seed=self.seed, share_fits=True,
        )  # fmt: skip

    def _label(self, test: StudyTest) -> str:
        return test.label(self.cells[0].drawn)


def as_board(
    cells: Sequence[Cell], methods: Sequence[Any] = (), tests: Sequence[Any] = TESTS, **counts: Any
) -> Board:
    """A board of cells, tests of rdiv and methods of the user.

    Parameters
    ----------
    methods : sequence
        Objects with `prepare(pool, rng)`, or with `pvalue(p, q, n_resamples, seed)`.

    Examples
    --------
    >>> from rdiv.studies.leaderboard import cells_named
    >>> print(as_board(cells_named(["blob*"]), tests=["energy"], trials=20).labels)
    ('energy',)
    """
    if not cells:
        raise InputError("no cell is left to run; give a folder of data or other cells.")
    outside = {_outside_name(one): one for one in methods if isinstance(one, OwnPvalue)}
    own = [one for one in methods if not isinstance(one, OwnPvalue)]
    chosen = tuple(as_study_test(test) for test in [*tests, *own])
    board = Board(tuple(cells), chosen, outside, **counts)
    twice = {label for label in board.labels if board.labels.count(label) > 1}
    if twice or len(outside) + len(own) < len(methods):
        raise InputError(f"the tests of a leaderboard must differ, got {', '.join(twice)} twice.")
    return board


def _outside_name(test: Any) -> str:
    return one_line(str(getattr(test, "name", type(test).__name__)))


@dataclass(frozen=True)
class _Task:
    """Trials of a cell that run together: those of one block, for tests that have no row yet."""

    cell: int
    null: bool
    first: int
    trials: int
    labels: tuple[str, ...]
    alone: bool = False


def run_board(
    board: Board,
    journal: str | Path,
    *,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    announce: Callable[[float], None] | None = None,
    seconds: float | None = None,
    plan: bool = False,
) -> list[dict[str, Any]]:
    """Run what the journal lacks, block by block through all cells, and give its rows.

    Parameters
    ----------
    journal : path
        One row for each block of trials of a cell; the same call continues there.
    announce : callable, optional
        Called with the processor seconds that are still to run, before they run.
    seconds : float, optional
        Start no block after so many seconds on the clock.
    plan : bool
        Measure the cost of one draw of every cell and announce the total, then stop.
    """
    end = None if seconds is None else time.monotonic() + seconds
    with Journal(journal, check=_check, task="block of trials") as kept:
        costs = [task for task in _tasks(board, kept.rows) if task.alone]
        _collect(board, costs, kept, n_jobs, None, end)
        rest = [task for task in _tasks(board, kept.rows) if not task.alone]
        if announce is not None:
            announce(_still_to_run(board, rest, kept.rows))
        if not plan:
            _collect(board, rest, kept, n_jobs, progress, end)
        return list(kept.rows)


def _collect(
    board: Board,
    tasks: Sequence[_Task],
    kept: Journal,
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
    end: float | None,
) -> None:
    done, total = 0, sum(task.trials for task in tasks)
    with closing(spread(_run, board, tasks, n_jobs=n_jobs)) as finished:
        while end is None or time.monotonic() < end:
            row = next(finished, None)
            if row is None:
                return
            kept.append(row)
            done += row["trials"]
            if progress is not None:
                progress(done, total)


def _tasks(board: Board, rows: Sequence[Mapping[str, Any]]) -> Iterator[_Task]:
    """What is still to run: the cost of every test first, then the blocks of all cells in turn."""
    there = {
        (*_place(row), label) for row in rows if _belongs(board, row) for label in row["counts"]
    }
    plans = [(True, _PILOT, 1), *((False, i, BLOCK) for i in range(0, board.trials, BLOCK))]
    for alone, first, length in plans:
        for number, cell in enumerate(board.cells):
            for null in (False,) if alone else (False, True):
                place = (cell.name, str(cell.drawn), null, first)
                missing = tuple(
                    label
                    for label in board.labels
                    if (*place, label) not in there
                    and (first < board.trials_of(cell, label) or alone)
                    and board.trials_of(cell, label)
                )
                if missing:
                    yield _Task(number, null, first, length, missing, alone)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("cell", "source", "null", "first"))


def _belongs(board: Board, row: Mapping[str, Any]) -> bool:
    """Whether a row of the journal is about draws of this board."""
    return (row["seed"], row["resamples"]) == (board.seed, board.n_resamples)


def _run(board: Board, task: _Task) -> dict[str, Any]:
    """Run a block of trials; one row with what every test found in each of them."""
    cell = board.cells[task.cell]
    study = board.study(cell)
    counts: dict[str, list[int]] = {label: [] for label in task.labels}
    seconds = dict.fromkeys(task.labels, 0.0)
    for trial in range(task.first, task.first + task.trials):
        key = Key(0, 0, cell.n, task.null, 0, trial)
        for label, pvalue, spent in _one_draw(board, study, key, task):
            counts[label].append(max(1, ceil(pvalue * (board.n_resamples + 1) - 1e-6)))
            seconds[label] += spent
    row: dict[str, Any] = {
        "cell": cell.name, "source": str(cell.drawn), "null": task.null, "seed": board.seed,
        "resamples": board.n_resamples, "first": task.first, "trials": task.trials,
        "counts": counts,
    }  # fmt: skip
    return row | (
        {"seconds": {label: round(spent, 4) for label, spent in seconds.items()}}
        if task.alone
        else {}
    )


def _one_draw(
    board: Board, study: Study, key: Key, task: _Task
) -> Iterator[tuple[str, float, float]]:
    """P-value and processor seconds of every test of a task on one draw.

    Tests share their fits, unless their cost is measured: then each runs alone.
    """
    keys = [replace(key, test=i) for i in range(len(board.tests)) if board.labels[i] in task.labels]
    if task.alone:
        for one in keys:
            [*run_draw(study, [one])]  # imports, caches: does not count
            start = time.process_time()
            row = next(run_draw(study, [one]))
            yield row["test"], row["pvalue"], time.process_time() - start
    elif keys:
        yield from ((row["test"], row["pvalue"], 0.0) for row in run_draw(study, keys))
    outside = [label for label in task.labels if label in board.outside]
    if not outside:
        return
    pooled = drawn_pool(study, key)
    x, is_p = pooled.pool.matrix(), pooled.is_p
    seed = int(pooled.stream("masks").integers(2**31))
    for label in outside:
        for _ in range(2 if task.alone else 1):
            found = board.outside[label].pvalue(x[is_p], x[~is_p], board.n_resamples, seed)
        yield label, *found


def _still_to_run(board: Board, tasks: Sequence[_Task], rows: Sequence[Mapping[str, Any]]) -> float:
    cost: dict[tuple[str, str], float] = {
        (row["cell"], label): s for row in rows for label, s in row.get("seconds", {}).items()
    }
    return sum(
        task.trials * cost.get((board.cells[task.cell].name, label), 0.0)
        for task in tasks
        for label in task.labels
    )


def _check(row: dict[str, Any]) -> None:
    """Refuse a row that no board wrote."""
    for name, kind in (("cell", str), ("source", str), ("null", bool), ("counts", dict)):
        if type(row[name]) is not kind:
            raise TypeError(f"{name} is {row[name]!r}")
    for found in row["counts"].values():
        if len(found) != row["trials"] or not all(0 < k <= row["resamples"] + 1 for k in found):
            raise ValueError(f"{found!r} are no counts of {row['trials']} trials")


@dataclass(frozen=True)
class Counts:
    """What a board has found so far.

    Parameters
    ----------
    rejected : dict
        By cell, null and test: whether it rejected, by the number of the trial.
    seconds : dict
        Processor seconds of one test, by cell and test.
    """

    rejected: dict[tuple[str, bool, str], dict[int, bool]]
    seconds: dict[tuple[str, str], float]

    def together(
        self, cell: str, null: bool, labels: Sequence[str]
    ) -> dict[str, NDArray[np.bool_]]:
        """Whether each of these tests rejected, in the trials that all of them have done."""
        found = {label: self.rejected.get((cell, null, label), {}) for label in labels}
        trials = sorted(set.intersection(*(set(done) for done in found.values())))
        return {label: np.array([done[t] for t in trials], bool) for label, done in found.items()}


def finished(board: Board, rows: Sequence[Mapping[str, Any]]) -> Counts:
    """The rejections of every test in the trials that are done."""
    rejected: dict[tuple[str, bool, str], dict[int, bool]] = {}
    seconds: dict[tuple[str, str], float] = {}
    names = {(cell.name, str(cell.drawn)) for cell in board.cells}
    most = board.alpha * (board.n_resamples + 1) + 1e-9
    for row in rows:
        if not _belongs(board, row) or (row["cell"], row["source"]) not in names:
            continue
        for label in set(row["counts"]) & set(board.labels):
            if "seconds" in row:
                seconds[row["cell"], label] = row["seconds"][label]
                continue
            place = rejected.setdefault((row["cell"], row["null"], label), {})
            for trial, count in enumerate(row["counts"][label], row["first"]):
                if trial < board.trials:
                    place[trial] = count <= most
    return Counts(rejected, seconds)
