"""Where trials run: here, in worker processes, or on a Dask cluster. The rows are the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeVar

from rdiv.errors import InputError
from rdiv.parallel.dask_client import as_finished, check_scheduler, cluster_client
from rdiv.parallel.workers import in_processes, useful_jobs
from rdiv.sources.protocol import in_memory
from rdiv.studies.study import Key, Study
from rdiv.studies.trial import Row, Unit, run_unit, units_of

__all__ = ["check_scheduler", "run_keys", "spread"]

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

CHUNK_SECONDS = 0.2  # long enough that sending a chunk costs little, short enough to lose little
LARGEST_CHUNK = 64


def run_keys(
    study: Study, keys: Iterable[Key], *, n_jobs: int | None = None, scheduler: str | None = None
) -> Iterator[Row]:
    """Run trials and yield their rows as they finish, in any order."""
    check_place(n_jobs, scheduler)
    study, wanted = _loaded(study), list(keys)
    jobs = useful_jobs(n_jobs, len(wanted))
    units = units_of(study, wanted, jobs)
    if scheduler is None and jobs == 1:
        return (row for unit in units for row in run_unit(study, unit))
    return _in_chunks(study, units, jobs, scheduler)


def _in_chunks(
    study: Study, units: Iterator[Unit], most: int, scheduler: str | None
) -> Iterator[Row]:
    pace = _Pace()
    chunks = pace.chunks(units)
    with closing(_spread(run_chunk, study, chunks, most, scheduler)) as finished:
        for rows in finished:
            yield from pace.learn(rows)


def run_chunk(study: Study, units: list[Unit]) -> list[Row]:
    """Several units in one task."""
    return [row for unit in units for row in run_unit(study, unit)]


def spread(
    call: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    seconds: float | None = None,
) -> Generator[Result, None, None]:
    """Yield ``call(shared, task)`` for every task as it finishes, in any order.

    Parameters
    ----------
    call : callable
        A function of a module, so that workers find it.
    shared : object
        What all tasks need; it is sent to each worker once.
    tasks : sequence
    n_jobs : int, optional
        Worker processes; no more are started than there are cores or tasks.
    scheduler : str, optional
        Address of a Dask scheduler, or ``local:N``.
    seconds : float, optional
        Begin no task after so many seconds; those that were begun are finished.

    Examples
    --------
    >>> print([*spread(pow, 2, [3, 4])])
    [8, 16]
    """
    check_place(n_jobs, scheduler)
    jobs = useful_jobs(n_jobs, len(tasks))
    return _spread(call, shared, _in_time(tasks, seconds), jobs, scheduler)


def _in_time(tasks: Sequence[Task], seconds: float | None) -> Iterator[Task]:
    """The tasks that are asked for before the time is over."""
    if seconds is None:
        return iter(tasks)
    end = time.monotonic() + seconds
    return takewhile(lambda task: time.monotonic() < end, tasks)


def _spread(
    call: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterator[Task],
    n_jobs: int,
    scheduler: str | None,
) -> Generator[Result, None, None]:
    if scheduler is not None:
        yield from _on_dask(call, shared, tasks, scheduler)
    elif n_jobs == 1:
        yield from (call(shared, task) for task in tasks)
    else:
        yield from in_processes(call, shared, tasks, n_jobs, kept=True)


def check_place(n_jobs: int | None, scheduler: str | None) -> None:
    """Refuse two places for the same work."""
    if scheduler is not None and n_jobs not in (None, 1):
        raise InputError(f"choose n_jobs or scheduler, got n_jobs={n_jobs} and {scheduler!r}.")


def _loaded(study: Study) -> Study:
    """The study with its data in memory: files are read once, and workers need none."""
    return replace(study, sources=tuple(in_memory(source) for source in study.sources))


@dataclass
class _Pace:
    """How many trials make a chunk, from the time that they took so far."""

    trials: int = 0
    seconds: float = 0.0

    def chunks(self, units: Iterator[Unit]) -> Iterator[list[Unit]]:
        """Units in chunks of about as many trials as the time allows."""
        chunk: list[Unit] = []
        for unit in units:
            chunk.append(unit)
            if sum(map(len, chunk)) >= self._size():
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def learn(self, rows: list[Row]) -> list[Row]:
        self.trials += len(rows)
        self.seconds += sum(row["seconds"] for row in rows)
        return rows

    def _size(self) -> int:
        if not self.trials:
            return 1
        each = max(self.seconds / self.trials, 1e-6)
        return min(max(int(CHUNK_SECONDS / each), 1), LARGEST_CHUNK)


def _on_dask(
    call: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterator[Task], scheduler: str
) -> Iterator[Result]:
    """Run on a cluster; tasks of a worker that died run again on another."""
    with cluster_client(scheduler) as client:
        yield from as_finished(client, call, shared, tasks)
