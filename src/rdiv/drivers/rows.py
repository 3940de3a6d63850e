"""The rows that carry most of the gap, by their place in the files as given."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.result import RowDriver
from rdiv.samples.frames import python_values
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples

__all__ = ["cells_of", "driving_rows", "row_shares"]

Floats = NDArray[np.float64]

MOST_ROWS = 10  # of each sample
MOST_CELLS = 12
MOST_LETTERS = 80


def driving_rows(losses: Floats, pooled: PooledSamples) -> tuple[RowDriver, ...]:
    """The rows of current, then those of reference, with the largest shares of the gap.

    Parameters
    ----------
    losses : (n,) array
        In the order of the pool.
    pooled : PooledSamples

    Examples
    --------
    >>> from rdiv.samples.pooling import pool_samples
    >>> pooled = pool_samples([[0.0], [1.0]], [[1.0], [9.0], [2.0]], rng=0)
    >>> print(driving_rows(pooled.pool.matrix()[:, 0], pooled)[0])
    RowDriver(sample='current', index=1, loss=9.0, ...)
    """
    shares = row_shares(losses, pooled.is_p, pooled.pool.strata)
    found: list[RowDriver] = []
    sides: tuple[tuple[Literal["reference", "current"], NDArray[np.bool_]], ...] = (
        ("current", ~pooled.is_p),
        ("reference", pooled.is_p),
    )
    for sample, side in sides:
        rows = np.flatnonzero(side)
        weight = losses[rows] if shares is None else shares[rows]
        count = min(MOST_ROWS, len(rows))
        rows = rows[np.argpartition(-weight, count - 1)[:count]]
        weight = losses[rows] if shares is None else shares[rows]
        rows = rows[np.lexsort((pooled.places[rows], -weight))]
        cells = cells_of(pooled.pool, rows)
        found += [
            RowDriver(
                sample=sample,
                index=int(pooled.places[row]),
                loss=float(losses[row]),
                share=None if shares is None else float(shares[row]),
                target=_target(pooled.pool, int(row)),
                cells=cells[k],
            )
            for k, row in enumerate(rows)
        ]
    return tuple(found)


def row_shares(
    losses: Floats, is_p: NDArray[np.bool_], strata: NDArray[np.intp] | None = None
) -> Floats | None:
    """The share of the gap that each row adds; each sample sums to 1. None without a gap.

    A row of current adds its loss minus the mean loss of reference, divided by the number of rows
    of current; a row of reference adds the mean loss of current minus its own loss, divided by the
    number of rows of reference. With strata the means are those of the row's stratum, which has the
    weight ``n_p n_q / n``.

    Examples
    --------
    >>> losses, is_p = np.array([1.0, 3.0, 2.0, 6.0]), np.array([True, True, False, False])
    >>> print(row_shares(losses, is_p))
    [0.75 0.25 0.   1.  ]
    """
    codes = np.zeros(len(losses), np.intp) if strata is None else strata
    counts = [np.bincount(codes, side, int(codes.max()) + 1) for side in (is_p, ~is_p)]
    sums = [np.bincount(codes, losses * side, len(counts[0])) for side in (is_p, ~is_p)]
    mean_p, mean_q = (s / np.maximum(c, 1) for s, c in zip(sums, counts, strict=True))
    weight = counts[0] * counts[1] / np.maximum(counts[0] + counts[1], 1)
    gap = float((weight * (mean_q - mean_p)).sum() / weight.sum())
    scale = float(np.abs(losses - losses.mean()).max())
    if not abs(gap) > 1e-12 * scale:
        return None
    own = np.where(is_p, mean_q[codes] - losses, losses - mean_p[codes])
    rows = np.where(is_p, counts[0][codes], counts[1][codes])
    shares: Floats = own * weight[codes] / weight.sum() / rows / gap
    return shares


def _target(pool: Pool, row: int) -> Any:
    if pool.y is None:
        return None
    value = pool.y[row] if pool.classes is None else pool.classes[pool.y[row]]
    return _short(value)


def cells_of(pool: Pool, rows: NDArray[np.intp]) -> list[dict[str, Any]]:
    """The first columns of some rows as plain values; none for images."""
    if pool.is_table:
        part = pool.columnwise()[rows]
        names = part.columns[:MOST_CELLS]
        columns = [python_values(part.get_column(name)) for name in names]
    elif not pool.is_images:
        names = [f"column {j}" for j in range(min(MOST_CELLS, pool.x.shape[1]))]
        shown = np.asarray(pool.x[rows])  # reads these rows alone where they are in a dataset
        columns = [shown[:, j].tolist() for j in range(len(names))]
    else:
        return [{} for _ in rows]
    return [
        {name: _short(column[k]) for name, column in zip(names, columns, strict=True)}
        for k in range(len(rows))
    ]


def _short(value: Any) -> Any:
    """A value of a JSON type, with long text cut."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "..."
