"""Rows that stand in both samples: how many, and whether the samples are the same rows."""

from __future__ import annotations

from rdiv.samples.pooling import PooledSamples
from rdiv.samples.row_keys import places_among, sorted_digest

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
    keys = pooled.pool.keys
    return int((places_among(keys[~pooled.is_p], keys[pooled.is_p]) >= 0).sum())


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
    keys, is_p = pooled.pool.keys, pooled.is_p
    same_size = 2 * int(is_p.sum()) == len(is_p)
    return same_size and sorted_digest(keys[is_p]) == sorted_digest(keys[~is_p])
