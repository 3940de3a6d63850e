"""Westfall and Young's step-down max-T: p-values for many numbers, adjusted on the same masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.engine import permutation_pvalue

__all__ = ["step_down"]


def step_down(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjusted p-values ``(k,)`` of ``k`` statistics, for the probability of any false alarm.

    Parameters
    ----------
    parts : (1 + B, k) array
        Statistics of the observed split (row 0) and of each permutation; large means different.

    Notes
    -----
    The largest observed number is compared with the largest of each permutation, the second largest
    with the largest of the remaining columns, and so on. Adjusted p-values do not decrease from one
    step to the next (Westfall and Young 1993).

    Examples
    --------
    >>> null = np.array([[1.0, 0.0], [2.0, 3.0], [0.0, 1.0]])
    >>> print(step_down(np.concatenate([[[2.5, 9.0]], null])))
    [0.25 0.25]
    """
    order = np.argsort(-parts[0], kind="stable")
    rivals = np.maximum.accumulate(parts[:, order[::-1]], axis=1)[:, ::-1]
    pvalues = [
        permutation_pvalue(parts[0, j], rivals[1:, rank]) for rank, j in enumerate(order.tolist())
    ]
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(pvalues)
    return adjusted
