"""Rows that stand in both samples: how many, and whether the samples are the same rows."""

from __future__ import annotations

import numpy as np

from rdiv.samples.pooling import PooledSamples

__all__ = ["identical", "rows_in_both"]


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
    copy_of, is_p = pooled.pool.first_copy, pooled.is_p
    in_p = np.zeros(len(is_p), dtype=bool)
    in_p[copy_of[is_p]] = True
    return int(in_p[copy_of[~is_p]].sum())


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
    copy_of, is_p = pooled.pool.first_copy, pooled.is_p
    p, q = (np.bincount(copy_of[own], minlength=len(is_p)) for own in (is_p, ~is_p))
    return bool((p == q).all())
