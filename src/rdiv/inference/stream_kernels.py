"""Compiled loops over a stream of numbers; importing this needs numba (the `fast` extra)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rdiv.parallel.compiled import compiled

__all__ = ["add_up", "earlier_counts"]


@compiled
def earlier_counts(codes: Any) -> Any:
    """Earlier smaller and earlier equal numbers of every place, by a Fenwick tree of counts."""
    n = len(codes)
    size = 1
    for code in codes:
        size = max(size, code + 1)
    tree, copies = np.zeros(size + 1, np.int64), np.zeros(size, np.int64)
    less, equal = np.empty(n, np.int64), np.empty(n, np.int64)
    for t in range(n):
        code, total = codes[t], 0
        place = code
        while place > 0:
            total += tree[place]
            place -= place & -place
        less[t], equal[t] = total, copies[code]
        copies[code] += 1
        place = code + 1
        while place <= size:
            tree[place] += 1
            place += place & -place
    return less, equal


@compiled
def add_up(
    parts: Any, factors: Any, released: Any, joining: Any, resting: Any, enough: Any, values: Any
) -> Any:
    """Let the parts of a wealth bet row after row; see `rdiv.inference.betting.Wealth`."""
    for t in range(factors.shape[1]):
        total = resting[t]
        for k in range(factors.shape[0]):
            parts[k] = (parts[k] + released[t] * joining[k]) * factors[k, t]
            total += parts[k]
        values[t] = total
        if total >= enough:
            return t + 1
    return factors.shape[1]
