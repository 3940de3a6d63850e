"""One way to go through the rows of a pool for numbers that no other row decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.parallel.spreading import block_by_block
from rdiv.row_blocks import cut, place_type
from rdiv.samples.pool import Pool
from rdiv.samples.rows import TableRows

__all__ = ["as_they_lie", "row_by_row"]

BLOCK = 1 << 16
"""Rows that are gone through at a time: what is made of them is small beside the rows."""

Places = NDArray[Any]


def row_by_row(
    pool: Pool,
    call: Callable[[Places], NDArray[np.float64]],
    rows: Places | None = None,
    *,
    step: int = BLOCK,
    threads: bool = False,
) -> NDArray[np.float64]:
    """Numbers of the rows of a pool in memory, some at a time.

    Parameters
    ----------
    pool : Pool
    call : callable
        From places in the pool to the numbers of these rows, which must not depend on the others.
    rows : (m,) integers, optional
        The rows that are asked for, in whatever order; all of them without it.
    step : int
        How many rows at a time.
    threads : bool
        Call it in several threads where there are jobs; it must be made for that.

    Returns
    -------
    (m, ...) array
        In the order of the rows.

    Examples
    --------
    >>> pool = Pool(np.array([[1.0], [5.0], [3.0]]))
    >>> print(row_by_row(pool, lambda rows: 2 * pool.take(rows).numbers()[:, 0]))
    [ 2. 10.  6.]
    """
    places = np.arange(len(pool)) if rows is None else rows
    if len(places) <= step:
        return call(places)
    blocks = list(as_they_lie(pool, places, step))
    whole: NDArray[np.float64] | None = None
    tasks = [(places[block],) for block in blocks]
    found = block_by_block(call, tasks) if threads else (call(*task) for task in tasks)
    for block, part in zip(blocks, found, strict=True):
        whole = np.empty((len(places), *part.shape[1:])) if whole is None else whole
        whole[block] = part
    assert whole is not None
    return whole


def as_they_lie(pool: Pool, rows: Places, step: int = BLOCK) -> Iterator[Places]:
    """Places among some rows of a pool, a block at a time, in the order in which they lie.

    In the order of the pool, which is random, every cell of a large table would be waited for.

    Examples
    --------
    >>> import polars as pl
    >>> pool = Pool(pl.DataFrame({"a": [1.0, 2.0, 3.0]})).take(np.array([2, 0, 1]))
    >>> print([block.tolist() for block in as_they_lie(pool, np.array([0, 1, 2]), 2)])
    [[1, 2], [0]]
    """
    order = np.arange(len(rows))
    if isinstance(pool.rows, TableRows):
        order = _ascending(pool.rows.places(rows))
    return (order[block] for block in cut(len(order), step))


def _ascending(places: Places) -> Places:
    """The order of places by size: of many different ones without sorting them."""
    narrow = place_type(len(places))
    slots = np.full(int(places.max(initial=-1)) + 1, -1, dtype=narrow)
    slots[places] = np.arange(len(places), dtype=narrow)
    order: Places = slots[slots >= 0]
    return order if len(order) == len(places) else np.argsort(places, kind="stable")
