"""How heavy the tail of a sample is, and whether its rows rule out an infinite variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_VARIANCE", "TailIndex", "tail_index"]

NO_VARIANCE = 0.5
"""From this tail index on a distribution has no variance."""

TAIL = 50
"""The tail is a quarter of the values, or so many of them where that is more, but at most half."""

FEWEST = 10
"""With fewer values in the tail nothing is said about it."""

Floats = NDArray[np.float64]


class TailIndex(NamedTuple):
    """The tail index and its standard error."""

    value: float
    error: float

    @property
    def may_lack_variance(self) -> bool:
        """Whether an infinite variance lies within one standard error."""
        return self.value + self.error >= NO_VARIANCE


def tail_index(values: Floats) -> TailIndex:
    """The index of the upper tail: 0 for exponential ones, from 1/2 on there is no variance.

    Parameters
    ----------
    values : (n,) array

    Notes
    -----
    A generalised Pareto distribution is fitted to what the largest values exceed
    their start by, by probability-weighted moments (Hosking and Wallis 1987): with the mean m and
    half the mean difference d of two excesses, the index is ``2 - m / d``. Unlike the sample
    skewness, these moments do not hang on the few largest values, so a sample that lacks them by
    luck still shows what kind of tail it comes from.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> light, heavy = rng.normal(size=1000) ** 2, rng.standard_t(3, size=1000) ** 2
    >>> print(tail_index(light).may_lack_variance, tail_index(heavy).may_lack_variance)
    False True
    """
    share = min(max(0.25, TAIL / len(values)), 0.5)
    start = float(np.quantile(values, 1 - share))
    excess = np.sort(values[values > start]) - start
    n = len(excess)
    if n < FEWEST or not excess[-1] > excess[0]:
        return TailIndex(-np.inf, 0.0)
    ranks = np.arange(1, n + 1)
    half_difference = float(((2 * ranks - n - 1) * excess).sum()) / (n * (n - 1))
    index = 2 - float(excess.mean()) / half_difference
    return TailIndex(index, _error(index) / n**0.5)


def _error(index: float) -> float:
    """The standard error times the root of the number of excesses; infinite without variance."""
    if index >= NO_VARIANCE:
        return np.inf
    above = (1 - index) * (2 - index) ** 2 * (1 - index + 2 * index**2)
    return float(np.sqrt(above / ((1 - 2 * index) * (3 - 2 * index))))
