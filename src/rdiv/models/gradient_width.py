"""How many gradients a model of the inputs may have, and sums of random groups of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnSums", "column_sums", "gradient_width"]

Floats = NDArray[np.float64]

MOST_GRADIENTS = 400
"""Gradients per row, at most, unless a model says otherwise."""

MOST_NUMBERS = 1 << 26
"""Gradients of all rows together, at most (half a gigabyte), but never fewer than 64 per row."""

_FEWEST = 64


def gradient_width(n: int, most: int = MOST_GRADIENTS) -> int:
    """How many gradients each of so many rows may have, if a few rows may have `most`.

    Examples
    --------
    >>> print(gradient_width(1000), gradient_width(1_000_000))
    400 67
    """
    return max(_FEWEST, min(most, MOST_NUMBERS // max(n, 1)))


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Every column goes to one group, with a sign, and groups are summed.

    Parameters
    ----------
    width : int
        Number of groups.
    group : (m,) integers
    signs : (m,) array of -1 and 1
    """

    width: int
    group: NDArray[np.intp]
    signs: Floats

    def apply(self, columns: Floats) -> Floats:
        """Sums over the columns of each group, ``(n, m) -> (n, width)``."""
        if self.width == len(self.group):
            return columns
        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group[order], np.arange(self.width))
        sums: Floats = np.add.reduceat(columns[:, order] * self.signs[order], starts, axis=1)
        return sums


def column_sums(count: int, width: int, *, signs: bool = True) -> ColumnSums:
    """So many columns in at most so many groups of about one size, the same ones in every run.

    Parameters
    ----------
    count, width : int
    signs : bool, default True
        Whether each column also gets a random sign. Without it, a change that all columns of a
        group share is not lost.

    Examples
    --------
    >>> print(column_sums(4, 2, signs=False).apply(np.array([[1.0, 2.0, 4.0, 8.0]])).sum())
    15.0
    """
    if count <= width:
        return ColumnSums(count, np.arange(count), np.ones(count))
    rng = np.random.default_rng(count)
    group = rng.permutation(np.arange(count) % width)
    sign = rng.choice([-1.0, 1.0], size=count) if signs else np.ones(count)
    return ColumnSums(width, group, sign)
