"""Halves for tests that learn: some rows to learn on, the others to test on."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError

__all__ = ["Halves", "halves", "mask_digest"]

FEWEST = 4  # rows or groups per sample
_MOST_COPIES = 4  # copies stay together when a distinct row has at most this many, on average
_TRIES = 100

Halves = tuple[NDArray[np.intp], NDArray[np.intp]]


def halves(
    is_p: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    first_copy: NDArray[np.intp] | None = None,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
) -> Halves:
    """Rows to learn on and rows to test on: a random half of each sample.

    Groups stay whole and each stratum is halved. Copies of a row stay together: otherwise a test
    would be judged on rows that it has learned, even with the other label when a row is in both
    samples. Only data with few distinct rows are halved row by row.

    Parameters
    ----------
    is_p : (n,) mask
    rng : Generator
    first_copy : (n,) integers, optional
        For every row the position of the first row with the same content.
    groups, strata : (n,) integer codes, optional

    Notes
    -----
    Given the rows to learn on with their labels, and the rows to test, every permutation of the
    labels of the rows to test is equally likely under the null. For this every split of the rows
    needs a draw of its own: `rng` is the same for all splits of one pool, and halves by one order
    of its rows would tell labels of the test (of two neighbours of one sample, one learns). So the
    stream that halves the samples is seeded by a draw from `rng` and the split. What is blind to
    the labels, the half of copies and of matched pairs, comes from `rng` itself.

    Examples
    --------
    >>> learn, test = halves(np.arange(12) < 6, np.random.default_rng(0))
    >>> print(len(learn), (learn < 6).sum())
    6 3
    """
    codes = np.arange(len(is_p)) if groups is None else groups
    first, unit = np.unique(codes, return_index=True, return_inverse=True)[1:]
    fewest = min(np.bincount(is_p[first].astype(np.intp), minlength=2))
    if fewest < FEWEST:
        raise InputError(
            f"a test that learns on one half needs at least {FEWEST} "
            f"{'rows' if groups is None else 'groups'} in each sample, got {fewest}."
        )
    if groups is None and strata is None and first_copy is not None:
        distinct = len(np.unique(first_copy))
        if distinct < len(is_p) <= _MOST_COPIES * distinct:
            return _with_copies(first_copy, is_p, rng)
    cell = is_p[first].astype(np.intp)
    if strata is not None:
        cell = cell + 2 * strata[first]
    own = np.random.default_rng([*rng.integers(2**63, size=2), mask_digest(is_p == is_p[0])])
    order = own.permutation(len(first))
    order = order[np.argsort(cell[order], kind="stable")]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    learns = np.empty(len(order), dtype=bool)
    learns[order] = (rank + _offsets(strata, first, rng)[order]) % 2 == 1
    return _sides(learns[unit])


def mask_digest(*masks: NDArray[np.bool_]) -> int:
    """One number for masks over the rows of a pool.

    Examples
    --------
    >>> is_p = np.array([True, False, True])
    >>> print(
    ...     mask_digest(is_p) == mask_digest(is_p.copy()), mask_digest(is_p) == mask_digest(~is_p)
    ... )
    True False
    """
    packed = b"".join(np.packbits(mask).tobytes() for mask in masks)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=16).digest())


def _with_copies(
    first_copy: NDArray[np.intp], is_p: NDArray[np.bool_], rng: np.random.Generator
) -> Halves:
    """A random half of the distinct rows; drawn again if a half has too few rows of a sample."""
    _, unit = np.unique(first_copy, return_inverse=True)
    distinct = int(unit.max()) + 1
    for _ in range(_TRIES):
        learns = (rng.permutation(distinct) < distinct // 2)[unit]
        counts = np.bincount(is_p + 2 * learns, minlength=4)
        if counts.min() >= FEWEST // 2:
            return _sides(learns)
    raise InputError(
        f"a test that learns on one half found no halves of {distinct} distinct rows with both "
        "samples in each; use a test that does not learn, or more rows."
    )


def _sides(learns: NDArray[np.bool_]) -> Halves:
    return np.flatnonzero(learns), np.flatnonzero(~learns)


def _offsets(
    strata: NDArray[np.intp] | None, first: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """The half of the odd unit of each stratum, at random; a matched pair stays together."""
    if strata is None:
        return np.zeros(len(first), dtype=np.intp)
    codes = strata[first]
    return rng.integers(2, size=int(codes.max()) + 1)[codes]
