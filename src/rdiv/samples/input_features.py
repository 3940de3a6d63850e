"""Input columns as a few numbers per row, made from the pool without a look at the samples."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.columns import (
    MOST_LEVELS,
    InputCells,
    Kind,
    array_columns,
    table_columns,
)
from rdiv.samples.pool import Pool

__all__ = [
    "MOST_LEVELS",
    "Aspect",
    "InputCells",
    "Kind",
    "RowFeatures",
    "column_features",
    "read_columns",
]

Floats = NDArray[np.float64]
Aspect = Literal["location", "spread", "level", "missing"]


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """The numbers of one column.

    Parameters
    ----------
    numbers : (n, k) array
    aspects : tuple of k str
        What a difference of means in each of them would say: another location, another spread,
        another share of a level, or another share of missing cells.
    """

    numbers: Floats
    aspects: tuple[Aspect, ...]


def read_columns(pool: Pool, names: Container[str] | None = None) -> Iterator[InputCells]:
    """The columns of a table or of an array, or those with some names, one at a time.

    Lists of numbers are a column for each place. Infinite numbers of an array count as missing.

    Examples
    --------
    >>> import polars as pl
    >>> pool = Pool(pl.DataFrame({"age": [20, 30, None], "day": ["2024-01-01"] * 3}))
    >>> print([(column.name, column.kind) for column in read_columns(pool)])
    [('age', 'number'), ('day', 'date')]
    """
    if pool.is_table:
        return table_columns(pool.columnwise(), names)
    return array_columns(np.asarray(pool.given()), pool.owners(), names)


def column_features(column: InputCells) -> RowFeatures:
    """What is compared between the samples, as numbers of every row.

    Numbers, booleans and times: normal scores of their ranks in the pool, where equal values have
    the same score, and the centred squares of these; 0 where a value is missing, which a 0/1
    column says. Text: a 0/1 column for each of the ``MOST_LEVELS`` most frequent levels, for all
    others together, and for missing values.

    Examples
    --------
    >>> from rdiv.samples.cells import array_cells
    >>> column = InputCells("x", "number", array_cells(np.array([5.0, 1.0, np.nan, 9.0])))
    >>> found = column_features(column)
    >>> print(found.aspects, found.numbers.round(2).tolist()[:2])
    ('location', 'spread', 'missing') [[0.0, -0.62, 0.0], [-0.97, 0.31, 0.0]]
    """
    codes = column.cells.codes
    if column.kind == "empty":
        return RowFeatures(np.zeros((len(codes), 0)), ())
    features, aspects = _scores(column) if column.ordered else _shares(column)
    missing = codes == 0
    if missing.any():
        features.append(missing)
        aspects.append("missing")
    return RowFeatures(np.stack(features, axis=1).astype(np.float64), tuple(aspects))


def _scores(column: InputCells) -> tuple[list[NDArray[Any]], list[Aspect]]:
    from scipy.special import ndtri

    codes = column.cells.codes
    counts = np.bincount(codes, minlength=1 + len(column.cells.values))[1:]
    middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    scores = ndtri(middle)
    scores -= counts @ scores / counts.sum()
    squares = scores**2
    squares -= counts @ squares / counts.sum()
    features: list[NDArray[Any]] = [np.concatenate([[0.0], scores])[codes]]
    aspects: list[Aspect] = ["location"]
    if len(counts) > 2:  # the square of a column of two values says nothing new
        features.append(np.concatenate([[0.0], squares])[codes])
        aspects.append("spread")
    return features, aspects


def _shares(column: InputCells) -> tuple[list[NDArray[Any]], list[Aspect]]:
    codes, levels = column.cells.codes, column.levels
    features: list[NDArray[Any]] = [codes == level for level in levels]
    rest = (codes > 0) & ~np.isin(codes, levels)
    if rest.any():
        features.append(rest)
    aspects: list[Aspect] = ["level"] * len(features)
    return features, aspects
