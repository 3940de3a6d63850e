"""Modules of compiled loops, where numba is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

__all__ = ["compiled_loops"]


@cache
def compiled_loops(module: str) -> ModuleType | None:
    """A module whose loops numba compiles, or None where it is missing (the `fast` extra)."""
    try:
        return import_module(module)
    except ImportError:
        return None
