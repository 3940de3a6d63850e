"""Worker processes of this machine: as many as are of use, and none that outlives its parent."""

from __future__ import annotations

import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from inspect import signature
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, WorkerError

__all__ = ["in_order", "in_processes", "in_threads", "useful_jobs"]

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

LOOK = 0.5  # seconds between two looks at whether the parent is alive


def useful_jobs(n_jobs: int | None, n_tasks: int | None = None) -> int:
    """How many processes to use: at most as many as given, as cores and, if known, as tasks.

    Negative numbers count from all cores down, as in joblib: -1 is all of them.

    Examples
    --------
    >>> print(useful_jobs(40, 1), useful_jobs(None, 100))
    1 1
    """
    from joblib import cpu_count, effective_n_jobs

    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores, got 0.")
    asked = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    most = min(int(asked), int(cpu_count()))
    return max(1, most if n_tasks is None else min(most, n_tasks))


def in_processes(
    call: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterator[Task],
    n_jobs: int,
    *,
    ordered: bool = False,
    kept: bool = False,
) -> Iterator[Result]:
    """Yield ``call(shared, task)`` for every task as it finishes, from worker processes.

    What is shared is packed once, and every worker unpacks it once.

    Parameters
    ----------
    n_jobs : int
        How many processes, from `useful_jobs`.
    ordered : bool
        Whether results come in the order of the tasks.
    kept : bool
        Whether results are kept in a folder, for the message when a worker dies.
    """
    from joblib import Parallel, delayed, wrap_non_picklable_objects

    whole = wrap_non_picklable_objects(shared, keep_wrapper=False)  # functions of a script, too
    packed = np.frombuffer(pickle.dumps(whole), dtype=np.uint8)  # large: joblib shares one file
    token, parent = uuid4().hex, os.getpid()
    parallel = Parallel(
        n_jobs=n_jobs, pre_dispatch="2*n_jobs", batch_size=1,
        return_as="generator" if ordered else "generator_unordered", **_tied(),
    )  # fmt: skip
    finished = parallel(delayed(_run)(call, token, packed, parent, task) for task in tasks)
    try:
        # "yield from" would close it where its warning is not silenced
        for result in finished:  # noqa: UP028
            yield result
    except BrokenProcessPool as error:
        raise WorkerError(_DIED_KEPT if kept else _DIED) from error
    finally:
        with warnings.catch_warnings():  # joblib warns of the tasks that stopping early drops
            warnings.simplefilter("ignore", UserWarning)
            finished.close()


_DIED = "a worker process died, killed or out of memory; use fewer n_jobs."
_DIED_KEPT = (
    "a worker process died, killed or out of memory; finished rows in out= are kept, and the same "
    "command continues, perhaps with fewer n_jobs."
)


def in_order(
    call: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], n_jobs: int
) -> list[Result]:
    """``call(*task)`` for every task, in the order of the tasks; from worker processes, if several.

    Parameters
    ----------
    n_jobs : int
        How many processes, from `useful_jobs`.

    Examples
    --------
    >>> print(in_order(pow, [(2, 3), (2, 4)], 1))
    [8, 16]
    """
    from joblib import Parallel, delayed

    if n_jobs == 1:
        return [call(*task) for task in tasks]
    parent = os.getpid()
    try:
        found: list[Result] = Parallel(n_jobs=n_jobs, **_tied())(
            delayed(_call)(call, parent, task) for task in tasks
        )
    except BrokenProcessPool as error:
        raise WorkerError(_DIED) from error
    return found


def in_threads(
    call: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """``call(*task)`` for every task, in the order of the tasks, each when it is asked for.

    For work that releases Python's lock: products of matrices, compiled loops.

    Examples
    --------
    >>> print(list(in_threads(pow, [(2, 3), (2, 4)], 2)))
    [8, 16]
    """
    from joblib import Parallel, delayed

    jobs = useful_jobs(n_jobs, len(tasks))
    if jobs == 1:
        yield from (call(*task) for task in tasks)
        return
    parallel = Parallel(n_jobs=jobs, backend="threading", return_as="generator")
    yield from parallel(delayed(call)(*task) for task in tasks)


def _call(call: Callable[..., Result], parent: int, task: tuple[Any, ...]) -> Result:
    end_with_parent(parent)
    return call(*task)


def _tied() -> dict[str, Any]:
    """Settings of joblib by which a worker ends with its parent from its first moment on."""
    from joblib import Parallel

    if "backend_kwargs" in signature(Parallel).parameters:  # else its first task ties a worker
        return {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    return {}


_unpacked: dict[str, Any] = {}


def _run(
    call: Callable[[Any, Task], Result],
    token: str,
    packed: NDArray[np.uint8],
    parent: int,
    task: Task,
) -> Result:
    """One task in a worker, which keeps what it unpacked for the next."""
    end_with_parent(parent)
    if token not in _unpacked:
        _unpacked.clear()
        _unpacked[token] = pickle.loads(packed.data)
    return call(_unpacked[token], task)


@lru_cache(maxsize=1)
def end_with_parent(parent: int) -> None:
    """End this worker soon after its parent, however that one ends.

    Looking at the parent's number works on every Unix. Linux could send a signal instead
    (PR_SET_PDEATHSIG), but it sends it when the *thread* ends that started the worker.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="rdiv-end-with-parent").start()
