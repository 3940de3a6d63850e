"""Centre and scale columns: what a model that needs scaling does inside its own fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scaling", "fit_scaling", "fit_scaling_in_blocks"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centre and scale of each column.

    Parameters
    ----------
    centre, scale : (d,) arrays
    log_volume : float
        Sum of the log scales of the columns that vary. Added to the negative log density of
        scaled rows, it gives the one of the rows as they were; a constant column has no density
        and no part in it.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    log_volume: float = 0.0

    def apply(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns in units of their own spread."""
        return x / self.scale - self.centre / self.scale


def fit_scaling(x: NDArray[np.float64]) -> Scaling:
    """Mean and standard deviation of each column, without overflow.

    Constant columns keep their own size as unit.

    Examples
    --------
    >>> scaling = fit_scaling(np.array([[1e300, 5.0], [-1e300, 5.0]]))
    >>> print(scaling.apply(np.array([[1e300, 5.0]])))
    [[1. 0.]]
    """
    largest = np.abs(x).max(axis=0)
    largest[largest == 0] = 1.0
    unit = x / largest
    return _scaling(largest, unit.mean(axis=0), unit.std(axis=0))


def fit_scaling_in_blocks(blocks: Callable[[], Iterator[NDArray[np.float64]]]) -> Scaling:
    """`fit_scaling` for rows that come in parts, twice.

    Parameters
    ----------
    blocks : callable
        Gives the parts, each ``(n, d)``, from the beginning whenever it is called.

    Examples
    --------
    >>> x = np.arange(10.0).reshape(5, 2) ** 2
    >>> parts, whole = fit_scaling_in_blocks(lambda: iter([x[:1], x[1:]])), fit_scaling(x)
    >>> print(np.allclose(parts.centre, whole.centre), np.allclose(parts.scale, whole.scale))
    True True
    """
    largest = np.maximum.reduce([np.abs(x).max(axis=0) for x in blocks()])
    largest[largest == 0] = 1.0
    n, centre, squares = 0, np.zeros(len(largest)), np.zeros(len(largest))
    for x in blocks():  # the update of Chan, Golub and LeVeque (1983)
        unit = x / largest
        step = unit.mean(axis=0) - centre
        squares += np.square(unit - unit.mean(axis=0)).sum(axis=0)
        squares += np.square(step) * (n * len(x) / (n + len(x)))
        centre += step * (len(x) / (n + len(x)))
        n += len(x)
    return _scaling(largest, centre, np.sqrt(squares / n))


def _scaling(
    largest: NDArray[np.float64], centre: NDArray[np.float64], spread: NDArray[np.float64]
) -> Scaling:
    constant = spread <= 1e-14
    spread[constant] = 1.0
    scale = spread * largest
    return Scaling(centre * largest, scale, float(np.log(scale[~constant]).sum()))
