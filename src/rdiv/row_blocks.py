"""The one way to cut rows (or masks, or draws) into blocks that fit in memory together.

How many rows a block holds is the caller's to say, as sums over blocks keep their last digits only
while the blocks stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut", "cut_sizes", "gathered", "place_type", "rows_at_once", "rows_within"]

_MOST_ROWS, _NUMBERS, _PIXELS = 4096, 2**22, 2**18
_GATHERED = 1 << 20


def cut(n: int, step: int) -> Iterator[slice]:
    """Slices of ``step`` rows that cover ``n`` rows in order; the last one may be shorter.

    Examples
    --------
    >>> print([(block.start, block.stop) for block in cut(7, 3)])
    [(0, 3), (3, 6), (6, 7)]
    """
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def cut_sizes(n: int, step: int) -> list[int]:
    """How many rows each slice of `cut` has.

    Examples
    --------
    >>> print(cut_sizes(7, 3))
    [3, 3, 1]
    """
    return [block.stop - block.start for block in cut(n, step)]


def rows_within(numbers: int, width: int) -> int:
    """How many rows of a width hold at most so many numbers together; one at least.

    Examples
    --------
    >>> print(rows_within(100, 30), rows_within(100, 1000), rows_within(100, 0))
    3 1 100
    """
    return max(1, numbers // max(1, width))


def rows_at_once(shape: Sequence[int]) -> int:
    """Rows of a shape that are held in memory together; fewer of images, which networks widen.

    Examples
    --------
    >>> print(rows_at_once((10,)), rows_at_once((3, 32, 32)))
    4096 85
    """
    return min(_MOST_ROWS, rows_within(_NUMBERS if len(shape) == 1 else _PIXELS, prod(shape)))


def place_type(n: int) -> type[np.signedinteger[Any]]:
    """The narrowest type for places of so many rows.

    Examples
    --------
    >>> print(place_type(10**6).__name__, place_type(10**10).__name__)
    int32 int64
    """
    return np.int32 if n < 2**31 else np.int64


def gathered(values: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """``values[places]``, without the 64-bit copy of all places that numpy makes of narrow ones.

    Examples
    --------
    >>> print(gathered(np.array([5.0, 7.0, 9.0]), np.array([2, 0], dtype=np.int32)))
    [9. 5.]
    """
    found = np.empty((len(places), *values.shape[1:]), dtype=values.dtype)
    for block in cut(len(places), _GATHERED):
        found[block] = values[places[block]]
    return found
