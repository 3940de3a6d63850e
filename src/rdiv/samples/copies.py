"""Rows that stand in both samples: how many, and whether the samples are the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.pooling import PooledSamples

FREQUENT = 20
"""A column with no more distinct values than this holds frequent values, not copies."""

__all__ = ["identical", "repeated_rows", "rows_in_both"]


def rows_in_both(pooled: PooledSamples) -> int:
    """How many rows of q have a copy in p.

    A copy agrees in everything that the pool knows of a row: inputs, target, group, stratum,
    prediction and loss.

    Examples
    --------
    >>> from rdiv.samples import pool_samples
    >>> print(rows_in_both(pool_samples([[1], [2], [3]], [[2], [2], [5]], rng=0)))
    2
    """
    rows, unit = _copies(pooled)
    is_p = pooled.is_p[rows]
    in_p = np.zeros(len(rows), dtype=bool)
    in_p[unit[is_p]] = True
    return int(in_p[unit[~is_p]].sum())


def repeated_rows(pooled: PooledSamples, looked: PooledSamples | None = None) -> int:
    """How many rows are further copies of a row of their own sample.

    0 where rows repeat because few values are possible: no input has more than 20 distinct ones,
    among all rows or those that are looked at.

    Examples
    --------
    >>> from rdiv.samples import pool_samples
    >>> p, q = [[float(i)] for i in range(30)], [[0.5], [0.5], [0.5], [7.0]]
    >>> print(repeated_rows(pool_samples(p, q, rng=0)))
    2
    """
    rows, unit = _copies(pooled)
    is_p = pooled.is_p[rows]
    count = sum(int(own.sum()) - len(np.unique(unit[own])) for own in (is_p, ~is_p))
    return count if count and _can_tell_rows(pooled if looked is None else looked) else 0


def _copies(pooled: PooledSamples) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of all rows that are not alone of their content, and a number for each content."""
    later, first = pooled.pool.repeats
    leads, unit = np.unique(first, return_inverse=True)
    return np.concatenate([leads, later]), np.concatenate([np.arange(len(leads)), unit])


def _can_tell_rows(pooled: PooledSamples) -> bool:
    pool = pooled.pool
    if pool.is_images or (not pool.is_table and len(pool.rows.shape) > 2):
        return True
    inputs = pool.matrix()
    return any(len(np.unique(column)) > FREQUENT for column in inputs.T)


def identical(pooled: PooledSamples) -> bool:
    """Whether p and q are the same rows, each as often, in any order.

    Examples
    --------
    >>> from rdiv.samples import pool_samples
    >>> print(identical(pool_samples([[1], [2], [2]], [[2], [1], [2]], rng=0)))
    True
    >>> print(identical(pool_samples([[1], [2], [2]], [[2], [1], [1]], rng=0)))
    False
    """
    rows, unit = _copies(pooled)
    if len(rows) < len(pooled.pool):  # a row that is alone is in one sample only
        return False
    is_p = pooled.is_p[rows]
    p, q = (np.bincount(unit[own], minlength=len(rows)) for own in (is_p, ~is_p))
    return bool((p == q).all())
