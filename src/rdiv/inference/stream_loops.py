"""The compiled loops over a stream, where numba is installed."""

from __future__ import annotations

from functools import cache
from types import ModuleType

__all__ = ["kernels"]


@cache
def kernels() -> ModuleType | None:
    """The module of compiled loops, or None where numba is missing (the `fast` extra)."""
    try:
        from rdiv.inference import stream_kernels
    except ImportError:
        return None
    return stream_kernels
