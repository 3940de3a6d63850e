"""Where the parts of one computation run: here, in processes, or on a cluster; in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

from rdiv.errors import InputError
from rdiv.parallel.dask_client import check_scheduler, cluster_client, in_turn
from rdiv.parallel.threads import one_thread
from rdiv.parallel.workers import in_processes, in_threads, useful_jobs

__all__ = ["Spread", "block_by_block", "current_spread", "spread_over", "tile_by_tile"]

Result = TypeVar("Result")


class Spread(Protocol):
    """A way to run a call for every task, which gives what it found in the order of the tasks."""

    def __call__(
        self, call: Callable[[Any, Any], Any], shared: Any, tasks: Iterable[Any]
    ) -> Iterator[Any]: ...


_spread: ContextVar[Spread | None] = ContextVar("spread", default=None)


def current_spread() -> Spread | None:
    """How parts of the work are spread now; None where they run here, one after the other."""
    return _spread.get()


_cluster: ContextVar[Any] = ContextVar("cluster", default=None)
_threads: ContextVar[int] = ContextVar("threads", default=1)


def block_by_block(
    call: Callable[..., Result], tasks: Sequence[tuple[Any, ...]]
) -> Iterator[Result]:
    """``call(*task)`` for every task, in their order, in as many threads as there are jobs.

    Examples
    --------
    >>> print(list(block_by_block(pow, [(2, 3), (2, 4)])))
    [8, 16]
    """
    threads = min(_threads.get(), len(tasks))
    if threads <= 1:
        yield from (call(*task) for task in tasks)
        return
    yield from in_threads(partial(_with_one_thread, call), tasks, threads)


def _with_one_thread(call: Callable[..., Result], *task: Any) -> Result:
    with one_thread():
        return call(*task)


def tile_by_tile(
    call: Callable[[Any], Result],
    pack: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
) -> Iterator[Result]:
    """``call(pack(*task))`` for every task, in their order: on the cluster, or in threads here.

    Parameters
    ----------
    call : callable
        A function of a module, so that workers find it.
    pack : callable
        Puts together what the call needs of a task; it runs here, when the turn of the task comes.
    tasks : sequence of tuples
    n_jobs : int, optional

    Examples
    --------
    >>> print(list(tile_by_tile(abs, lambda low, high: low - high, [(1, 3), (2, 7)], None)))
    [2, 5]
    """
    client = _cluster.get()
    if client is None:
        yield from in_threads(lambda *task: call(pack(*task)), tasks, n_jobs)
        return
    yield from in_turn(client, _with_one_thread, call, (pack(*task) for task in tasks))


@contextmanager
def spread_over(n_jobs: int | None, scheduler: str | None) -> Iterator[None]:
    """Spread what is computed inside the block over processes, or over a Dask cluster.

    Parameters
    ----------
    n_jobs : int, optional
    scheduler : str, optional
        Address of a Dask scheduler, or ``local:N``.

    Examples
    --------
    >>> with spread_over(None, None):
    ...     print(current_spread())
    None
    """
    if scheduler is None:
        jobs = useful_jobs(n_jobs)
        token = _threads.set(jobs)
        try:
            with _set(partial(_processes, jobs) if jobs > 1 else None):
                yield
        finally:
            _threads.reset(token)
        return
    if n_jobs not in (None, 1):
        raise InputError(f"choose n_jobs or scheduler, got n_jobs={n_jobs} and {scheduler!r}.")
    check_scheduler(scheduler)
    with cluster_client(scheduler) as client, _set(partial(in_turn, client)):
        token = _cluster.set(client)
        try:
            yield
        finally:
            _cluster.reset(token)


def _processes(
    jobs: int, call: Callable[[Any, Any], Any], shared: Any, tasks: Iterable[Any]
) -> Iterator[Any]:
    return in_processes(call, shared, iter(tasks), jobs, ordered=True)


@contextmanager
def _set(spread: Spread | None) -> Iterator[None]:
    token = _spread.set(spread)
    try:
        yield
    finally:
        _spread.reset(token)
