"""Part A of the reference: the units that a model in use is trained on, before anything is tested.

The others, B, are compared with the current rows. A depends on the reference and the seed alone, so
it is the same for every current sample that the reference is compared with.
"""

from __future__ import annotations

from math import floor

import numpy as np
from numpy.typing import NDArray

__all__ = ["reference_part", "rows_to_compare"]

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


def reference_part(
    reference: Rows,
    share: float,
    rng: np.random.Generator,
    *,
    groups: Rows | None = None,
    strata: Rows | None = None,
) -> Rows:
    """Draw the rows of part A, uniformly: a share of the units, in each stratum its own.

    Parameters
    ----------
    reference : (m,) integers
        Places of the reference's rows in the pool, in an order that depends on their content.
    share : float
        Share of the units (rows, or whole groups) that A gets, rounded down.
    rng : Generator
        A stream that is used for nothing else.
    groups, strata : (n,) integer codes of the pool, optional
        Of the strata with one unit only, that share gives it to A.

    Notes
    -----
    Units are chosen at random, never by content or position. A choice by content would take all
    copies of a row at once, and what is left of the reference would not be like the current rows.

    Examples
    --------
    >>> chosen = reference_part(np.arange(10), 0.5, np.random.default_rng(0))
    >>> print(len(chosen), len(set(chosen.tolist())))
    5 5
    """
    if groups is None and strata is None:  # the same by a shorter way, for very many rows
        picked = rng.permutation(len(reference))[: _part_of(share, len(reference))]
        return np.sort(reference[picked])
    codes = reference if groups is None else groups[reference]
    first, unit = _units(codes)
    stratum = np.zeros(len(first), np.intp) if strata is None else strata[reference[first]]
    counts = np.bincount(stratum)
    alone = (counts[stratum] == 1) & (strata is not None)
    order = rng.permutation(len(first))
    place = _place_within(np.where(alone, counts.size, stratum)[order])
    singles = int(alone.sum())
    most = np.where(alone, _part_of(share, singles), _parts_of(share, counts)[stratum])
    chosen = np.zeros(len(first), dtype=bool)
    chosen[order] = place < most[order]
    return np.sort(reference[chosen[unit]])


def rows_to_compare(is_p: Mask, part: Rows, strata: Rows | None = None) -> Rows:
    """Rows that are compared: those not in part A, without strata that A took the reference of.

    Examples
    --------
    >>> is_p = np.array([True, True, False, True, False])
    >>> print(rows_to_compare(is_p, np.array([0]), np.array([0, 1, 0, 1, 1])))
    [1 3 4]
    """
    tested = np.ones(len(is_p), dtype=bool)
    tested[part] = False
    if strata is not None:
        left = np.zeros(int(strata.max()) + 1, dtype=bool)
        left[strata[tested & is_p]] = True
        taken = np.zeros_like(left)
        taken[strata[part]] = True
        tested &= left[strata] | ~taken[strata]
    return np.flatnonzero(tested)


def _units(codes: Rows) -> tuple[Rows, Rows]:
    """First place of every unit, in the order of these places, and the unit of every row."""
    _, first, unit = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[unit]


def _place_within(codes: Rows) -> Rows:
    """How many earlier ones have the same code."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    rank = np.arange(len(codes)) - np.repeat(starts, np.diff([*starts, len(codes)]))
    place = np.empty_like(rank)
    place[order] = rank
    return place


def _part_of(share: float, count: int) -> int:
    return floor(share * count + 1e-9)


def _parts_of(share: float, counts: Rows) -> Rows:
    parts: Rows = np.floor(share * counts + 1e-9).astype(np.intp)
    return parts
