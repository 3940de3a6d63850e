"""Where trials run: here, in worker processes, or on a Dask cluster. The rows are the same."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, MissingExtraError, SchedulerError, WorkerError
from rdiv.studies.study import Key, Study
from rdiv.studies.trial import Row, run_trial

__all__ = ["run_keys"]

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
    if scheduler is not None and n_jobs not in (None, 1):
        raise InputError(f"choose n_jobs or scheduler, got n_jobs={n_jobs} and {scheduler!r}.")
    study = _loaded(study)
    if scheduler is not None:
        return _on_dask(study, iter(keys), scheduler)
    if n_jobs not in (None, 1):
        return _in_processes(study, iter(keys), n_jobs)
    return (run_trial(study, key) for key in keys)


def run_chunk(study: Study, keys: list[Key]) -> list[Row]:
    """Several trials in one task."""
    return [run_trial(study, key) for key in keys]


def _loaded(study: Study) -> Study:
    """The study with its data in memory: files are read once, and workers need none."""
    sources = tuple(s.loaded() if hasattr(s, "loaded") else s for s in study.sources)
    return replace(study, sources=sources)


@dataclass
class _Pace:
    """How many trials make a chunk, from the time that they took so far."""

    trials: int = 0
    seconds: float = 0.0

    def chunks(self, keys: Iterator[Key], *, whole_draws: bool) -> Iterator[list[Key]]:
        """Keys in chunks; the tests of a draw stay together where they share fits."""
        units: Iterator[list[Key]] = ([key] for key in keys)
        if whole_draws:
            units = (list(draw) for _, draw in groupby(keys, lambda key: replace(key, contender=0)))
        chunk: list[Key] = []
        for unit in units:
            chunk += unit
            if len(chunk) >= self._size():
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


def _in_processes(study: Study, keys: Iterator[Key], n_jobs: int | None) -> Iterator[Row]:
    from joblib import Parallel, delayed, wrap_non_picklable_objects

    pace = _Pace()
    wrapped = wrap_non_picklable_objects(study, keep_wrapper=False)  # functions of a script, too
    packed = np.frombuffer(pickle.dumps(wrapped), dtype=np.uint8)  # large: joblib shares one file
    parallel = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1
    )
    chunks = pace.chunks(keys, whole_draws=study.share_fits)
    finished = parallel(delayed(_run_packed)(study.token, packed, chunk) for chunk in chunks)
    try:
        for rows in finished:
            yield from pace.learn(rows)
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died, killed or out of memory; finished rows in out= are kept, and "
            "the same command continues, perhaps with fewer n_jobs."
        ) from error
    finally:
        with warnings.catch_warnings():  # joblib warns of the tasks that stopping early drops
            warnings.simplefilter("ignore", UserWarning)
            finished.close()


_unpacked: dict[str, Study] = {}


def _run_packed(token: str, packed: NDArray[np.uint8], keys: list[Key]) -> list[Row]:
    """Several trials in a worker process, which unpacks a study once and keeps it."""
    _keep_freed_memory()
    if token not in _unpacked:
        _unpacked.clear()
        _unpacked[token] = pickle.loads(packed.data)
    return run_chunk(_unpacked[token], keys)


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Tell the allocator of a worker (glibc) to keep what is freed.

    Trials ask for matrices of the same size again and again, and giving their pages back only to
    fetch them anew takes time that no profile of Python shows.
    """
    import ctypes

    no_mapping, never_trim, more_at_once = (-4, 0), (-1, 2**31 - 1), (-2, 1 << 26)
    with suppress(AttributeError, OSError, TypeError):  # another C library
        allocator = ctypes.CDLL(None)
        for option, value in (no_mapping, never_trim, more_at_once):
            allocator.mallopt(option, value)


def _on_dask(study: Study, keys: Iterator[Key], scheduler: str) -> Iterator[Row]:
    """Run on a cluster; tasks of a worker that died run again on another."""
    pace = _Pace()
    chunks = pace.chunks(keys, whole_draws=study.share_fits)
    with _client(scheduler) as client:
        tasks = _Tasks(client, study)
        for chunk in islice(chunks, tasks.width):
            tasks.submit(chunk)
        for rows in tasks:
            yield from pace.learn(rows)
            for chunk in islice(chunks, 1):
                tasks.submit(chunk)


class _Tasks:
    """Chunks on their way through a cluster.

    A task that a dying worker held is run again by the scheduler. The study itself lies on all
    workers; when the last copy is lost the scheduler drops what needs it, so it is sent anew.
    """

    def __init__(self, client: Any, study: Study) -> None:
        from distributed import as_completed

        self._client, self._study = client, study
        self._shared = self._send()
        self._running = as_completed(loop=client.loop)
        self._sent: dict[str, tuple[list[Key], Any, int]] = {}
        self.width = max(sum(client.nthreads().values()), 1) * IN_FLIGHT

    def submit(self, chunk: list[Key], losses: int = 0) -> None:
        future = self._client.submit(run_chunk, self._shared, chunk, retries=RETRIES, pure=False)
        self._sent[future.key] = chunk, self._shared, losses
        self._running.add(future)

    def __iter__(self) -> Iterator[list[Row]]:
        from distributed import KilledWorker

        for future in self._running:
            chunk, shared, losses = self._sent.pop(future.key)
            try:
                rows = future.result()
            except CancelledError:
                self._again(chunk, shared, losses + 1)
            except KilledWorker as error:
                raise WorkerError(_DIED) from error
            else:
                yield rows

    def _again(self, chunk: list[Key], shared: Any, losses: int) -> None:
        if losses > RETRIES:
            raise WorkerError(_DIED)
        if shared is self._shared:
            self._shared = self._send()
        self.submit(chunk, losses)

    def _send(self) -> Any:
        try:
            return self._client.scatter(self._study, broadcast=True, hash=False, timeout=PATIENCE)
        except (OSError, TimeoutError) as error:
            raise SchedulerError(
                "the Dask scheduler is gone or has no workers; start them and run the same command "
                "again, finished rows in out= are kept."
            ) from error


_DIED = (
    "the same trials ended several Dask workers, perhaps for want of memory; give the workers more "
    "of it and run the same command again, finished rows in out= are kept."
)


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of ``local:N`` started here."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtraError(
            'a scheduler needs Dask; install it with pip install "rdiv[dask]".'
        ) from None
    kind, _, count = scheduler.partition(":")
    if kind == "local":
        if not count.isdigit() or int(count) < 1:
            raise InputError(f"a local scheduler is local:N with N workers, got {scheduler!r}.")
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
        client = Client(scheduler, timeout=CONNECT, set_as_default=False)
    if client is None:  # raised here, where the half-made client is no longer held by its error
        raise InputError(
            f"no Dask scheduler answers at {scheduler!r}; check the address, or use local:N."
        )
    with client:
        yield client
