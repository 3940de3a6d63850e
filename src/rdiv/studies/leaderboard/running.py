"""Running the leaderboard: every test on every cell and on its null, kept in one journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.studies.execution import spread
from rdiv.studies.journal import Journal
from rdiv.studies.leaderboard.board import Board
from rdiv.studies.leaderboard.cells import Cell
from rdiv.studies.leaderboard.counts import belongs, finished
from rdiv.studies.study import Key, Study
from rdiv.studies.trial import drawn_pool, run_draw

__all__ = ["BLOCK", "run_board"]

BLOCK = 10
"""Trials in one row of the journal."""

_PILOT = 2**20  # trials from here on measure the cost, and count for nothing else


@dataclass(frozen=True, eq=False)
class _DrawnOnce:
    """A source that gives the same pair again, so that the time of a test has no draw in it."""

    name: str
    pair: tuple[Any, Any]

    def __str__(self) -> str:
        return self.name

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        del n, rng, null
        return self.pair


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
    announce: Callable[[dict[str, float]], None] | None = None,
    seconds: float | None = None,
    plan: bool = False,
) -> list[dict[str, Any]]:
    """Run what the journal lacks, block by block through all cells, and give its rows.

    Parameters
    ----------
    journal : path
        One row for each block of trials of a cell; the same call continues there.
    announce : callable, optional
        Called with the processor seconds that are still to run, by test, before they run. Each
        test counts as if it ran alone; tests that share a fit take less.
    seconds : float, optional
        Collect no block after so many seconds on the clock; the same call goes on later.
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
        (*_place(row), label) for row in rows if belongs(board, row) for label in row["counts"]
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


def _run(board: Board, task: _Task) -> dict[str, Any]:
    """Run a block of trials; one row with what every test found in each of them."""
    cell = board.cells[task.cell]
    study = board.study(cell)
    if task.alone:
        study = _with_one_draw(study, cell, task)
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


def _with_one_draw(study: Study, cell: Cell, task: _Task) -> Study:
    """The same study with a draw that is made already: only the tests are timed."""
    pair = study.sources[0].draw(cell.n, np.random.default_rng(task.first), task.null)
    return replace(study, sources=(_DrawnOnce(str(cell.drawn), pair),))


def _one_draw(
    board: Board, study: Study, key: Key, task: _Task
) -> Iterator[tuple[str, float, float]]:
    """P-value and processor seconds of every test of a task on one draw.

    Tests share their fits, unless their cost is measured: then each runs alone, twice, and the
    smaller cost counts, because the first run may load what it needs.
    """
    keys = [replace(key, test=i) for i in range(len(board.tests)) if board.labels[i] in task.labels]
    if task.alone:
        yield from (_timed(study, one) for one in keys)
    elif keys:
        yield from ((row["test"], row["pvalue"], 0.0) for row in run_draw(study, keys))
    outside = [label for label in task.labels if label in board.outside]
    if not outside:
        return
    pooled = drawn_pool(study, key)
    x, is_p = pooled.pool.matrix(), pooled.is_p
    seed = int(pooled.stream("masks").integers(2**31))
    for label in outside:
        runs = [
            board.outside[label].pvalue(x[is_p], x[~is_p], board.n_resamples, seed)
            for _ in range(2 if task.alone else 1)
        ]
        yield label, runs[0][0], min(spent for _, spent in runs)


def _timed(study: Study, key: Key) -> tuple[str, float, float]:
    spent = []
    for _ in range(2):
        start = time.process_time()
        row = next(run_draw(study, [key]))
        spent.append(time.process_time() - start)
    return row["test"], row["pvalue"], min(spent)


def _still_to_run(
    board: Board, tasks: Sequence[_Task], rows: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    cost = finished(board, rows).seconds
    left = dict.fromkeys(board.labels, 0.0)
    for task in tasks:
        for label in task.labels:
            left[label] += task.trials * cost.get((board.cells[task.cell].name, label), 0.0)
    return left


def _check(row: dict[str, Any]) -> None:
    """Refuse a row that no board wrote."""
    for name, kind in (("cell", str), ("source", str), ("null", bool), ("counts", dict)):
        if type(row[name]) is not kind:
            raise TypeError(f"{name} is {row[name]!r}")
    for found in row["counts"].values():
        if len(found) != row["trials"] or not all(0 < k <= row["resamples"] + 1 for k in found):
            raise ValueError(f"{found!r} are no counts of {row['trials']} trials")
