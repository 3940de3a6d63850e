"""Several p-values at once: Holm's and Benjamini and Hochberg's adjustments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["CORRECTIONS", "Correction", "benjamini_hochberg", "holm"]

Correction = Literal["holm", "bh"]


def holm(pvalues: Sequence[float]) -> NDArray[np.float64]:
    """Holm's adjusted p-values: they bound the probability of any false alarm under any dependence.

    Examples
    --------
    >>> print(holm([0.01, 0.04, 0.03]).round(3).tolist())
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def benjamini_hochberg(pvalues: Sequence[float]) -> NDArray[np.float64]:
    """P-values adjusted to bound the expected share of false alarms among all alarms.

    It holds for independent or positively dependent p-values.

    Examples
    --------
    >>> print(benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist())
    [0.03, 0.04, 0.04]
    """
    given = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(given, kind="stable")[::-1]
    stepped = np.minimum.accumulate(given[order] * len(given) / np.arange(len(given), 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


CORRECTIONS: dict[str, Callable[[Sequence[float]], NDArray[np.float64]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
}
"""Adjustments by their names."""
