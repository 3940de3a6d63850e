"""Dask clusters: a client for an address or for workers started here, and tasks that survive."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from rdiv.errors import InputError, MissingExtraError, SchedulerError, WorkerError

__all__ = ["as_finished", "check_scheduler", "cluster_client", "in_turn"]

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

IN_FLIGHT = 3  # tasks waiting for each worker
RETRIES = 3
CONNECT = 10  # seconds for a scheduler to answer
PATIENCE = 60  # seconds for a cluster to bring up a first worker, or a new one

_DIED = (
    "the same task ended several Dask workers, perhaps for want of memory; give the workers more "
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
def cluster_client(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of ``local:N`` started here."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            'a scheduler needs Dask; install it with pip install "rdiv[dask]".'
        ) from None
    check_scheduler(scheduler)
    kind, _, count = scheduler.partition(":")
    with _local(int(count)) if kind == "local" else _at(scheduler) as client:
        yield client


@contextmanager
def _local(workers: int) -> Iterator[Any]:
    """Workers of this machine that nobody else can send tasks to.

    Their sockets ask for a certificate that only this process and its workers have. Where none can
    be made, workers are threads of this process, and nothing listens.
    """
    from distributed import Client

    from rdiv.parallel.local_cluster import local_cluster

    seal = _own_certificate()
    with (
        local_cluster(workers, seal) as cluster,
        Client(cluster, set_as_default=False, security=seal) as client,
    ):
        yield client


def _own_certificate() -> Any:
    """A certificate for this run, from the cryptography package or openssl; None without both."""
    from distributed import Security

    if find_spec("cryptography") is not None:
        return Security.temporary()
    openssl = which("openssl")
    if openssl is None:
        return None
    with TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        asked = [
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=rdiv",
        ]
        made = subprocess.run(
            [openssl, *asked, "-keyout", str(key), "-out", str(certificate)],
            capture_output=True, check=False,
        )  # fmt: skip
        if made.returncode:
            return None
        known, secret = certificate.read_text(), key.read_text()
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=known,
        **{f"tls_{role}_cert": known for role in roles},
        **{f"tls_{role}_key": secret for role in roles},
    )


@contextmanager
def _at(scheduler: str) -> Iterator[Any]:
    from distributed import Client

    client = None
    if _answers(scheduler):
        with suppress(OSError, TimeoutError, ValueError):
            client = Client(scheduler, timeout=CONNECT, set_as_default=False)
    if client is None:  # raised here, where the half-made client is no longer held by its error
        raise InputError(
            f"no Dask scheduler answers at {scheduler!r}; check the address, or use local:N."
        )
    with client:
        yield client


def _answers(scheduler: str) -> bool:
    """Whether somebody listens at an address; of what is none, a client could not let go."""
    from distributed.comm.addressing import get_address_host_port

    try:
        host, port = get_address_host_port(scheduler)
    except ValueError:
        return False
    if not scheduler.startswith(("tcp://", "tls://")) and "://" in scheduler:
        return True
    try:
        socket.create_connection((host, port), timeout=CONNECT).close()
    except OSError:
        return False
    return True


def as_finished(
    client: Any, call: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
) -> Iterator[Result]:
    """``call(shared, task)`` for every task as it finishes; tasks of a lost worker run again."""
    waiting, running = iter(tasks), _Tasks(client, call, shared)
    for task in islice(waiting, running.width):
        running.submit(task)
    for result in running:
        yield result
        for task in islice(waiting, 1):
            running.submit(task)


def in_turn(
    client: Any, call: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
) -> Iterator[Result]:
    """As `as_finished`, in the order of the tasks."""
    early: dict[int, Result] = {}
    due = 0
    for number, result in as_finished(client, _numbered, (call, shared), enumerate(tasks)):
        early[number] = result
        while due in early:
            yield early.pop(due)
            due += 1


def _numbered(work: tuple[Callable[[Any, Any], Any], Any], task: tuple[int, Any]) -> Any:
    call, shared = work
    return task[0], call(shared, task[1])


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
