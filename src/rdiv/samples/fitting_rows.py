"""Which rows of a large pool a model is fitted to, and which fold a row is in: functions of keys.

Models need fewer rows than tests. Above so many rows a model is fitted to some of them, chosen by a
hash of their content, and its folds are named by the rows' keys. Both are functions of the first
word of every key, so that the rows themselves need not be in memory together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import cut
from rdiv.samples.partitioned import FirstWords, numbered
from rdiv.samples.pool import Pool
from rdiv.samples.row_keys import mixed_words

__all__ = [
    "FIT_ROWS",
    "SAMPLE_ROWS",
    "copy_numbers",
    "folds_by_key",
    "pool_rows_to_fit",
    "prepared_on",
    "rows_to_fit",
    "unit_keys",
]

Words = NDArray[np.uint64]
Copies = tuple[NDArray[np.intp], NDArray[np.intp]]

FIT_ROWS = 1_000_000
"""Most rows that models are fitted to, unless another number is asked for."""

SAMPLE_ROWS = 2_000_000
"""Most rows that are kept in memory and looked at, unless another number is asked for."""

_HASHED = 1 << 20
_SPARE = 1.1  # hashes are as good as uniform: a tenth more than expected is nearly always enough
_COPY = np.uint64(0xA0761D6478BD642F)  # odd: a different word for every copy number


def rows_to_fit(
    keys: Words | FirstWords, most: int, copies: Copies | None = None
) -> NDArray[np.intp]:
    """Places of at most so many rows: those with the smallest hash of key and copy number.

    The copies of a row are numbered, and each of them is chosen by itself. Fewer rows are always
    among more of them.

    Parameters
    ----------
    keys : (n,) array
        First word of the key of every row.
    most : int
    copies : pair of arrays, optional
        Places of the rows with the key of an earlier row, and how many such rows there are before
        each; they are looked for without it.

    Examples
    --------
    >>> keys = np.random.default_rng(0).integers(2**63, size=1000).astype(np.uint64)
    >>> some, more = rows_to_fit(keys, 100), rows_to_fit(keys, 200)
    >>> print(len(some), bool(np.isin(some, more).all()))
    100 True
    """
    n = len(keys)
    if n <= most:
        return np.arange(n)
    again, number = copy_numbers(np.asarray(keys)) if copies is None else copies
    few = not len(number) or number.max() < 255
    numbers: NDArray[Any] = np.ones(n, dtype=np.uint8 if few else np.uint64)
    numbers[again] = number + 1
    share = most / n
    rows, words, hashes = _below(keys, numbers, share * _SPARE)
    if len(rows) < most:
        rows, words, hashes = _below(keys, numbers, 1.0)
    last = np.partition(hashes, most - 1)[most - 1]
    tied = np.flatnonzero(hashes == last)  # of rows with one hash the smaller keys go first
    below = np.flatnonzero(hashes < last)
    chosen = tied[np.argsort(words[tied], kind="stable")[: most - len(below)]]
    return np.sort(rows[np.concatenate([below, chosen])])


def _below(
    keys: Words | FirstWords, numbers: NDArray[Any], share: float
) -> tuple[NDArray[np.intp], Words, Words]:
    """Rows whose hash of key and copy number is among the lowest share, their keys and hashes."""
    bound = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    found = []
    for block in cut(len(keys), _HASHED):
        words = keys[block]
        hashes = mixed_words(words + _COPY * numbers[block].astype(np.uint64))
        low = np.flatnonzero(hashes <= bound)
        found.append((low + block.start, words[low], hashes[low]))
    rows, words, hashes = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, words, hashes


def copy_numbers(keys: Words) -> Copies:
    """Places of the rows with the key of an earlier row, and how many of them are before each.

    Examples
    --------
    >>> print(copy_numbers(np.array([5, 2, 5, 5], dtype=np.uint64)))
    (array([2, 3]), array([1, 2]))
    """
    ordered = np.sort(keys)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(twice):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    found = [
        block.start + np.flatnonzero(np.isin(keys[block], twice))
        for block in cut(len(keys), _HASHED)
    ]
    rows = np.concatenate(found)
    return numbered(rows, np.searchsorted(twice, keys[rows]))


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


def folds_by_key(keys: Words | FirstWords, folds: int) -> NDArray[Any]:
    """The fold that every key names.

    Examples
    --------
    >>> print(folds_by_key(np.array([5, 2, 9], dtype=np.uint64), 3))
    [2 2 0]
    """
    named = np.empty(len(keys), dtype=np.int8 if folds <= 127 else np.int16)
    for block in cut(len(keys), _HASHED):
        named[block] = keys[block] % np.uint64(folds)
    return named


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
    return pool.like(pool.anew(pool_rows_to_fit(pool, most)))


def pool_rows_to_fit(pool: Pool, most: int) -> NDArray[np.intp]:
    """`rows_to_fit` of a pool, whose copies may be known already."""
    return rows_to_fit(pool.first_words(), most, pool.copies_by_word())
