"""Some rows of a large pool, chosen so that permutation tests on them stay exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.pooling import PooledSamples

__all__ = ["choose_rows"]

_FEWEST_GROUPS = 50
_MANY_COPIES = 0.6  # copies are drawn together when distinct rows over rows is at most this


def choose_rows(
    pooled: PooledSamples, most: int, rng: np.random.Generator
) -> NDArray[np.intp] | None:
    """Places of at most `most` rows per sample, drawn at random; None when all rows are used.

    Notes
    -----
    Given the chosen rows, every permutation of their labels is equally likely when the samples are
    alike, because the choice depends only on the number of rows per sample. Groups are chosen
    whole, and so are copies of a row where there are many, so that two identical files stay
    identical; the number of rows then holds on average. With strata all rows are used, so that
    matched rows stay together.

    Examples
    --------
    >>> from rdiv.samples.pooling import pool_samples
    >>> pooled = pool_samples(np.arange(50.0)[:, None], np.arange(90.0)[:, None] + 50, rng=0)
    >>> rows = choose_rows(pooled, 20, np.random.default_rng(0))
    >>> print(pooled.is_p[rows].sum(), (~pooled.is_p[rows]).sum())
    20 20
    """
    pool = pooled.pool
    n_p = int(pooled.is_p.sum())
    if max(n_p, len(pool) - n_p) <= most or pool.strata is not None:
        return None
    if pool.groups is None:
        distinct = len(pool) - len(pool.repeats[0])
        if distinct <= _MANY_COPIES * len(pool):
            unit = np.unique(pool.first_copy, return_inverse=True)[1]
            kept = rng.permutation(distinct) < 2 * most * distinct // len(pool)
            return np.flatnonzero(kept[unit])
        first = unit = np.arange(len(pool))
        limit = most
    else:
        first, unit = np.unique(pool.groups, return_index=True, return_inverse=True)[1:]
        limit = max(most * len(first) // len(pool), _FEWEST_GROUPS)
    kept = np.zeros(len(first), dtype=np.bool_)
    for side in (True, False):
        units = np.flatnonzero(pooled.is_p[first] == side)
        kept[rng.permutation(units)[:limit]] = True
    return np.flatnonzero(kept[unit])
