"""How much of current lies where the reference has rows: a share, calibrated on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.row_distances import distances_between
from rdiv.drivers.unusual import in_units_of
from rdiv.row_blocks import cut
from rdiv.samples.pooling import PooledSamples

__all__ = ["RARE", "Support", "support_of"]

Floats = NDArray[np.float64]

RARE = 0.01
"""Share of held-out reference rows that count as outside, at most."""

NEIGHBOURS = 3
MOST_ROWS = 1_000
"""Rows of part A that distances are measured to."""

MOST_COLUMNS = 2_000


@dataclass(frozen=True, eq=False)
class Support:
    """Which of the compared rows lie outside what part A covers.

    Parameters
    ----------
    outside : (m,) mask
        Of the rows that were compared.
    current, reference : float
        Share of the current rows, and of the held-out reference rows, that lie outside.
    """

    outside: NDArray[np.bool_]
    current: float
    reference: float


def support_of(
    pooled: PooledSamples,
    part: NDArray[np.intp],
    rows: NDArray[np.intp],
    rng: np.random.Generator,
) -> Support | None:
    """Look for compared rows that part A does not cover; None for rows that are no table.

    Parameters
    ----------
    pooled : PooledSamples
    part : (k,) integers
        Part A of the reference.
    rows : (m,) integers
        The rows that were compared: the rest of the reference, and current.
    rng : Generator
        Chooses the rows of A that distances are measured to.

    Notes
    -----
    Two scores of a row are made from A alone: the distance to its third nearest row of A, and the
    largest distance of one of its cells to the third nearest cell of A in that column; numbers are
    in units of A's spread. A row is outside if one of them is larger than that of all but 0.5 % of
    the held-out reference rows, so at most about 1 % of these are.

    Examples
    --------
    >>> from rdiv.samples.pooling import pool_samples
    >>> rng = np.random.default_rng(0)
    >>> q = rng.normal(size=(100, 2)) + [6.0, 0.0] * (np.arange(100) < 40)[:, None]
    >>> pooled = pool_samples(rng.normal(size=(400, 2)), q, rng=0)
    >>> part, rows = np.flatnonzero(pooled.is_p)[:200], np.flatnonzero(~pooled.is_p)
    >>> rest = np.flatnonzero(pooled.is_p)[200:]
    >>> found = support_of(pooled, part, np.concatenate([rest, rows]), rng)
    >>> print(round(found.current, 1))
    0.4
    """
    pool = pooled.pool
    if pool.is_images or not 0 < pool.rows.shape[1] <= MOST_COLUMNS:
        return None
    of_part = np.zeros(len(pool), dtype=bool)
    of_part[part] = True
    values = in_units_of(pool, of_part).values
    if not values.shape[1] or len(part) <= NEIGHBOURS:
        return None
    known, asked = values[part], values[rows]
    near = known[np.sort(rng.permutation(len(known))[:MOST_ROWS])]
    is_p = pooled.is_p[rows]
    outside = np.zeros(len(rows), dtype=bool)
    for score in (_distances(asked, near), _novelty(asked, known)):
        outside |= score > np.quantile(score[is_p], 1 - RARE / 2)
    return Support(outside, float(outside[~is_p].mean()), float(outside[is_p].mean()))


def _distances(x: Floats, known: Floats) -> Floats:
    """Distance of every row to its third nearest known row."""
    far = np.empty(len(x))
    for rows in cut(len(x), 512):
        between = distances_between(x[rows], known)
        far[rows] = np.partition(between, NEIGHBOURS - 1, axis=1)[:, NEIGHBOURS - 1]
    return np.round(far, 9)


def _novelty(x: Floats, known: Floats) -> Floats:
    """The largest distance of a cell of every row to the third nearest known cell."""
    largest = np.zeros(len(x))
    for column, cells in zip(x.T, known.T, strict=True):
        ordered = np.sort(cells)
        at = np.searchsorted(ordered, column)
        window = at[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS)
        inside = (window >= 0) & (window < len(ordered))
        apart = np.abs(ordered[np.clip(window, 0, len(ordered) - 1)] - column[:, None])
        apart[~inside] = np.inf
        third = np.partition(apart, NEIGHBOURS - 1, axis=1)[:, NEIGHBOURS - 1]
        largest = np.maximum(largest, third)
    return np.round(largest, 9)
