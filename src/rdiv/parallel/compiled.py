"""Loops that numba compiles and that several threads run side by side; importing needs numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled on first use and kept for later processes, where there is a place to keep it."""
    try:
        kernel: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder that numba may write to
        kernel = numba.njit(nogil=True)(function)
    return kernel
