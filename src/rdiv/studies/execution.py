"""Where trials run: here, in worker processes, or on a Dask cluster. The rows are the same."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from rdiv.errors import InputError, MissingExtraError, SchedulerError, WorkerError
from rdiv.sources.protocol import in_memory
from rdiv.studies.study import Key, Study
from rdiv.studies.trial import Row, Unit, run_unit, units_of
from rdiv.workers import in_processes, useful_jobs

__all__ = ["check_scheduler", "run_keys", "spread"]

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

CHUNK_SECONDS = 0.2  # long enough that sending a chunk costs little, short enough to lose little
LARGEST_CHUNK = 64
IN_FLIGHT = 3  # chunks waiting for each worker
RETRIES = 3
CONNECT = 10  # seconds for a scheduler to answer
PATIENCE = 60  # seconds for a cluster to bring up a first worker, or a new one


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

    Examples
    --------
    >>> print([*spread(pow, 2, [3, 4])])
    [8, 16]
    """
    check_place(n_jobs, scheduler)
    return _spread(call, shared, iter(tasks), useful_jobs(n_jobs, len(tasks)), scheduler)


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
    with _client(scheduler) as client:
        running = _Tasks(client, call, shared)
        for task in islice(tasks, running.width):
            running.submit(task)
        for result in running:
            yield result
            for task in islice(tasks, 1):
                running.submit(task)


class _Tasks(Generic[Shared, Task, Result]):
    """Tasks on their way through a cluster.

    A task that a dying worker held is run again by the scheduler. What is shared lies on all
    workers; when the last copy is lost the scheduler drops what needs it, so it is sent anew.
    """

    def __init__(self, client: Any, call: Callable[[Shared, Task], Result], shared: Shared) -> None:
        from distributed import as_completed

        self._client, self._call, self._own = client, call, shared
        self._shared = self._send()
        self._running = as_completed(loop=client.loop)
        self._sent: dict[str, tuple[Task, Any, int]] = {}
        self.width = max(sum(client.nthreads().values()), 1) * IN_FLIGHT

    def submit(self, task: Task, losses: int = 0) -> None:
        future = self._client.submit(self._call, self._shared, task, retries=RETRIES, pure=False)
        self._sent[future.key] = task, self._shared, losses
        self._running.add(future)

    def __iter__(self) -> Iterator[Result]:
        from distributed import KilledWorker

        for future in self._running:
            task, shared, losses = self._sent.pop(future.key)
            try:
                result = future.result()
            except CancelledError:
                self._again(task, shared, losses + 1)
            except KilledWorker as error:
                raise WorkerError(_DIED) from error
            else:
                yield result

    def _again(self, task: Task, shared: Any, losses: int) -> None:
        if losses > RETRIES:
            raise WorkerError(_DIED)
        if shared is self._shared:
            self._shared = self._send()
        self.submit(task, losses)

    def _send(self) -> Any:
        try:
            return self._client.scatter(self._own, broadcast=True, hash=False, timeout=PATIENCE)
        except (OSError, TimeoutError) as error:
            raise SchedulerError(
                "the Dask scheduler is gone or has no workers; start them and run the same command "
                "again, finished rows in out= are kept."
            ) from error


_DIED = (
    "the same trials ended several Dask workers, perhaps for want of memory; give the workers more "
    "of it and run the same command again, finished rows in out= are kept."
)


def check_scheduler(scheduler: str | None) -> None:
    """Refuse a local scheduler without a number of workers, before any work.

    Examples
    --------
    >>> check_scheduler("local:none")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: a local scheduler is local:N with N workers, got 'local:none'.
    """
    kind, _, count = (scheduler or "").partition(":")
    if kind == "local" and not (count.isdigit() and int(count) >= 1):
        raise InputError(f"a local scheduler is local:N with N workers, got {scheduler!r}.")


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of ``local:N`` started here."""
    try:
        from distributed import Client, LocalCluster
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise MissingExtraError(
            'a scheduler needs Dask; install it with pip install "rdiv[dask]".'
        ) from None
    check_scheduler(scheduler)
    kind, _, count = scheduler.partition(":")
    if kind == "local":
        with (
            LocalCluster(
                n_workers=int(count),
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # any free port; None would ask for 8787
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    client = None
    with suppress(OSError, TimeoutError, ValueError):
        get_address_host_port(scheduler)  # of what is no address, a client could not let go
        client = Client(scheduler, timeout=CONNECT, set_as_default=False)
    if client is None:  # raised here, where the half-made client is no longer held by its error
        raise InputError(
            f"no Dask scheduler answers at {scheduler!r}; check the address, or use local:N."
        )
    with client:
        yield client
