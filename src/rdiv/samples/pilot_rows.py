"""Some rows of large tables as tables in memory, chosen by a hash of their content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rdiv.row_blocks import gathered
from rdiv.samples.fitting_rows import pool_rows_to_fit
from rdiv.samples.frames import gather, is_frame
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.pooled import PooledSamples

__all__ = ["chosen_frames"]


def chosen_frames(pooled: PooledSamples, given: tuple[Any, ...], most: int) -> list[Any] | None:
    """At most so many rows of tables that were pooled, as frames with all of their columns.

    The choice knows nothing of the samples, and is the same for tables in memory and in partitions.
    None where there are no more rows, or where the samples are no tables.

    Parameters
    ----------
    pooled : PooledSamples
    given : tuple of samples
        What was pooled: p, or p and q.
    most : int

    Examples
    --------
    >>> import polars as pl
    >>> from rdiv.samples import pool_samples
    >>> tables = pl.DataFrame({"a": range(30)}), pl.DataFrame({"a": range(90)})
    >>> found = chosen_frames(pool_samples(*tables, rng=0), tables, 40)
    >>> print(sum(len(frame) for frame in found))
    40
    """
    pool = pooled.pool
    if len(pool) <= most:
        return None
    rows = pool_rows_to_fit(pool, most)
    if not isinstance(pool.rows, PartitionedRows):
        if not all(is_frame(sample) for sample in given):
            return None
        sides = [rows[pooled.is_p[rows]], rows[~pooled.is_p[rows]]]
        return [
            gather(frame, np.sort(pooled.places[own]))
            for frame, own in zip(given, sides, strict=False)
        ]
    table = pool.rows.table
    whole = replace(table, source=replace(table.source, taken=()))
    picked = np.sort(gathered(pool.rows.picked, rows))
    of_p = np.searchsorted(picked, sum(table.rows[0]))
    sides = [picked[:of_p], picked[of_p:]][: len(given)]
    return [PartitionedRows(whole, own).columnwise().gathered() for own in sides]
