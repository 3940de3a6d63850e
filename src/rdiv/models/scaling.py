"""Centre and scale columns: what a model that needs scaling does inside its own fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scaling", "fit_scaling"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centre and scale of each column."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

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
    spread[spread <= 1e-14] = 1.0
    return Scaling(centre * largest, spread * largest)
