"""Columns in units of their spread over the pool: in memory, or a tile of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "StandardColumns", "squared", "standardized", "tiles"]

Floats = NDArray[np.float64]

MOST_HELD = 1 << 23  # numbers (64 MB) that are standardised once; more are whenever they are read
_TILE_ROWS = 1 << 15


@dataclass(frozen=True, eq=False)
class StandardColumns:
    """Standardised columns of an array that is too large to be copied.

    A slice of rows is an array. Reading it costs little beside the products it is used in.

    Parameters
    ----------
    numbers : (n, m) array
    largest, centre, spread : (m,) arrays
        Largest magnitude of each column; mean and standard deviation in units of it. A column
        without any spread is 0.
    square : bool
        Give the squares.
    """

    numbers: Floats
    largest: Floats
    centre: Floats
    spread: Floats
    square: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.numbers.shape

    def __getitem__(self, rows: slice) -> Floats:
        return self._in_units(self.numbers[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("columns are standardised into a new array; a copy is needed.")
        return np.asarray(self._in_units(self.numbers), dtype)

    def _in_units(self, numbers: Floats) -> Floats:
        scaled = numbers / self.largest
        scaled -= self.centre
        scaled /= np.where(self.spread > 0, self.spread, np.inf)
        return np.square(scaled, out=scaled) if self.square else scaled


Columns = NDArray[np.float64] | StandardColumns


def standardized(numbers: Floats) -> tuple[Columns, Floats]:
    """Columns centred and scaled by the pool without overflow; the scale of constant ones is 0.

    Examples
    --------
    >>> print(*standardized(np.array([[1.0, 7.0], [3.0, 7.0]])))
    [[-1.  0.]
     [ 1.  0.]] [1. 0.]
    """
    largest = np.maximum(numbers.max(axis=0), -numbers.min(axis=0))
    largest[largest == 0] = 1.0
    if numbers.size > MOST_HELD:
        sums = [(tile / largest).sum(axis=0) for tile in tiles(numbers)]
        centre = np.sum(sums, axis=0) / len(numbers)
        squares = [np.square(tile / largest - centre).sum(axis=0) for tile in tiles(numbers)]
        spread = _nonzero(np.sqrt(np.sum(squares, axis=0) / len(numbers)))
        return StandardColumns(numbers, largest, centre, spread), largest * spread
    scaled = numbers / largest
    scaled -= scaled.mean(axis=0)
    spread = _nonzero(np.sqrt(np.einsum("ij,ij->j", scaled, scaled) / len(scaled)))
    scaled /= np.where(spread > 0, spread, np.inf)
    return scaled, largest * spread


def _nonzero(spread: Floats) -> Floats:
    """Spreads, 0 where they are rounding error."""
    return np.where(spread <= 1e-14, 0.0, spread)


def squared(columns: Columns) -> Columns:
    """The squares of columns, in the same form."""
    return columns**2 if isinstance(columns, np.ndarray) else replace(columns, square=True)


def tiles(columns: Columns) -> Iterator[Floats]:
    """Parts of some thousand rows; all of them together where there are few."""
    for start in range(0, columns.shape[0], _TILE_ROWS):
        yield columns[start : start + _TILE_ROWS]
