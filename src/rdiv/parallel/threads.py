"""One numerical thread per task, so that sums do not depend on the machine or the job count."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, OpenMP and torch to one thread inside the block.

    The order of a floating-point sum depends on the number of threads. All code that computes
    numbers for a test therefore runs on one thread, and parallelism comes from running several
    tasks. Several Python threads may be inside at a time; the last one to leave lifts the limit.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    # Thread pools are found in the loaded libraries: load our core libraries first, or the first
    # call in a process would differ from the second.
    import scipy.linalg  # noqa: F401
    import sklearn  # noqa: F401

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    if torch is not None and before != 1:
        torch.set_num_threads(1)
    openmp, blas = _libraries(len(sys.modules))
    _blas.enter(blas)
    try:
        with openmp.limit(limits=1):
            yield
    finally:
        _blas.leave()
        if torch is not None and before != 1:
            torch.set_num_threads(before)


class _SharedLimit:
    """One thread for BLAS as long as any Python thread needs it.

    OpenMP and torch limit threads per Python thread, BLAS per process: without this class, the
    first Python thread to leave would lift the limit of all others. threadpoolctl lets only one
    thread change BLAS; if another one leaves last, the limit is lifted when that thread next
    leaves.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.inside = 0
        self.before: dict[str, tuple[Any, int]] = {}

    def enter(self, libraries: list[Any]) -> None:
        with self.lock:
            self.inside += 1
            for library in libraries:
                if library.num_threads != 1:
                    self.before[library.filepath] = library, library.num_threads
                    library.set_num_threads(1)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside:
                return
            for path, (library, threads) in list(self.before.items()):
                library.set_num_threads(threads)
                if library.num_threads == threads:
                    del self.before[path]


_blas = _SharedLimit()


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> tuple[Any, list[Any]]:
    """OpenMP and BLAS, found by a scan (5 ms), which is repeated after new modules are imported."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController()
    return found.select(user_api="openmp"), found.select(user_api="blas").lib_controllers
