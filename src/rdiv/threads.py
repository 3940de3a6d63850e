"""One numerical thread a task, so that sums come out the same on every machine and job count."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS, OpenMP and torch to one thread inside the block.

    The order of a floating sum depends on how many threads share it. Whatever computes numbers
    for a test therefore runs on one thread, and parallelism comes from running several tasks.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    # Thread pools are found by looking at loaded libraries: load those of our core first, or
    # the first call in a process would differ from the second.
    import scipy.linalg  # noqa: F401
    import sklearn  # noqa: F401

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    if torch is not None and before != 1:
        torch.set_num_threads(1)
    try:
        with _controller(len(sys.modules)).limit(limits=1):
            yield
    finally:
        if torch is not None and before != 1:
            torch.set_num_threads(before)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:
    """Scan the loaded libraries; scanning again (5 ms) only when modules were imported since."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
