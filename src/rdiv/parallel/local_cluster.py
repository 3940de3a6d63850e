"""A Dask cluster of this machine that nobody else can talk to."""

from __future__ import annotations

from typing import Any

from distributed import Nanny, Scheduler, Security, SpecCluster, Worker
from distributed.http.routing import RoutingApplication
from tornado.httpserver import HTTPServer

__all__ = ["local_cluster"]


def local_cluster(workers: int, security: Security | None) -> SpecCluster:
    """Workers that ask for a certificate, or threads of this process where there is none.

    Dask's own LocalCluster opens a page about the scheduler and one about every worker to anybody,
    also without a dashboard. Here they are not opened.

    Parameters
    ----------
    workers : int
    security : Security or None
        The certificate; without one, workers are threads and no socket is opened.
    """
    known = security or Security()
    options: dict[str, Any] = {"protocol": "tls://" if security else "inproc://", "security": known}
    if security is not None:
        options["host"] = "127.0.0.1"
    worker = {**options, "nthreads": 1, "memory_limit": None}
    kind = QuietWorker if security is None else Nanny
    if security is not None:
        worker["worker_class"] = QuietWorker
    return SpecCluster(
        scheduler={"cls": QuietScheduler, "options": {**options, "port": 0, "dashboard": False}},
        workers={number: {"cls": kind, "options": worker} for number in range(workers)},
        worker={"cls": kind, "options": worker},
        security=known,
        silence_logs="warning",
    )


class QuietScheduler(Scheduler):
    """A scheduler without a page about itself."""

    def start_http_server(self, *args: Any, **settings: Any) -> None:
        """Make the page, as other methods ask for it, and open it to nobody."""
        _unopened(self)


class QuietWorker(Worker):
    """A worker without a page about itself."""

    def start_http_server(self, *args: Any, **settings: Any) -> None:
        """Make the page, as other methods ask for it, and open it to nobody."""
        _unopened(self)


def _unopened(node: Any) -> None:
    node.http_application = RoutingApplication([])
    node.http_server = HTTPServer(node.http_application)
