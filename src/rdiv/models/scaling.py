"""Centre and scale columns: what a model that needs scaling does inside its own fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scaling", "fit_scaling"]


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
    centre, spread = unit.mean(axis=0), unit.std(axis=0)
    constant = spread <= 1e-14
    spread[constant] = 1.0
    scale = spread * largest
    return Scaling(centre * largest, scale, float(np.log(scale[~constant]).sum()))
