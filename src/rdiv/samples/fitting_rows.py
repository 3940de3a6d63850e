"""Which rows of a large pool a model is fitted to, and which fold a row is in: functions of keys.

Models need fewer rows than tests. Above so many rows a model is fitted to some of them, chosen by a
hash of their content, and its folds are named by the rows' keys. Both are functions of the first
word of every key, so that the rows themselves need not be in memory together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.pool import Pool
from rdiv.samples.row_keys import mixed_words

__all__ = ["FIT_ROWS", "SAMPLE_ROWS", "folds_by_key", "prepared_on", "rows_to_fit", "unit_keys"]

Words = NDArray[np.uint64]

FIT_ROWS = 1_000_000
"""Most rows that models are fitted to, unless another number is asked for."""

SAMPLE_ROWS = 2_000_000
"""Most rows whose gradients, inputs and drivers are looked at."""

_COPY = np.uint64(0xA0761D6478BD642F)  # odd: a different word for every copy number


def rows_to_fit(keys: Words, most: int) -> NDArray[np.intp]:
    """Places of at most so many rows: those with the smallest hash of key and copy number.

    The copies of a row are numbered, and each of them is chosen by itself. Fewer rows are always
    among more of them.

    Parameters
    ----------
    keys : (n,) array
        First word of the key of every row.
    most : int

    Examples
    --------
    >>> keys = np.random.default_rng(0).integers(2**63, size=1000).astype(np.uint64)
    >>> some, more = rows_to_fit(keys, 100), rows_to_fit(keys, 200)
    >>> print(len(some), bool(np.isin(some, more).all()))
    100 True
    """
    if len(keys) <= most:
        return np.arange(len(keys))
    hashes = _copy_hashes(keys)
    bound = np.partition(hashes, most - 1)[most - 1]
    rows = np.flatnonzero(hashes <= bound)
    if len(rows) > most:  # two rows with one hash: the smaller key goes first
        rows = np.sort(rows[np.lexsort((keys[rows], hashes[rows]))[:most]])
    return rows


def _copy_hashes(keys: Words) -> Words:
    """A hash of the key of every row and of its number among the rows with that key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    leads = np.ones(len(order), dtype=bool)
    leads[1:] = ordered[1:] != ordered[:-1]
    places = np.arange(len(order))
    number = places - np.maximum.accumulate(np.where(leads, places, 0))
    hashes = np.empty(len(order), dtype=np.uint64)
    hashes[order] = mixed_words(ordered + _COPY * (number + 1).astype(np.uint64))
    return hashes


def unit_keys(keys: Words, groups: NDArray[np.intp] | None) -> Words:
    """What names the fold of every row: its key, or the smallest one of its group.

    Examples
    --------
    >>> print(unit_keys(np.array([5, 2, 9], dtype=np.uint64), np.array([0, 0, 1])))
    [2 2 9]
    """
    if groups is None:
        return keys
    smallest = np.full(int(groups.max(initial=-1)) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, groups, keys)
    return smallest[groups]


def folds_by_key(keys: Words, folds: int) -> NDArray[np.intp]:
    """The fold that every key names.

    Examples
    --------
    >>> print(folds_by_key(np.array([5, 2, 9], dtype=np.uint64), 3))
    [2 2 0]
    """
    return (keys % np.uint64(folds)).astype(np.intp)


def prepared_on(pool: Pool, most: int | None) -> Pool:
    """The same pool, with a preparation learned from at most so many of its rows.

    Examples
    --------
    >>> import polars as pl
    >>> pool = Pool(pl.DataFrame({"a": [0.0, 2.0, 9.0]}))
    >>> print(len(prepared_on(pool, 2)), prepared_on(pool, 3) is pool)
    3 True
    """
    if most is None or len(pool) <= most or not pool.is_table:
        return pool
    return pool.like(pool.anew(rows_to_fit(pool.keys[:, 0], most)))
