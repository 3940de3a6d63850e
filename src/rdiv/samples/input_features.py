"""Input columns as a few numbers per row, made from the pool without a look at the samples."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.samples.cells import Cells, array_cells, column_cells
from rdiv.samples.frames import as_frame
from rdiv.samples.pool import Pool

if TYPE_CHECKING:
    from rdiv.samples.frames import Column

__all__ = ["Aspect", "InputCells", "Kind", "RowFeatures", "column_features", "read_columns"]

MOST_LEVELS = 30
"""Levels of a text column that are looked at one by one; all others together."""

Floats = NDArray[np.float64]
Kind = Literal["number", "boolean", "date", "time", "duration", "text", "empty"]
Aspect = Literal["location", "spread", "level", "missing"]


@dataclass(frozen=True, eq=False)
class InputCells:
    """One input column: its name, what it holds, and its cells.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "date", "time", "duration", "text", "empty"}
    cells : Cells
        Dates, times and durations are in seconds.
    """

    name: str
    kind: Kind
    cells: Cells

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers or times."""
        return self.kind not in ("text", "empty")

    @cached_property
    def levels(self) -> NDArray[np.intp]:
        """Codes of the most frequent levels of a text column, the most frequent first.

        A level of a single row is never among them.
        """
        counts = np.bincount(self.cells.codes, minlength=1 + len(self.cells.values))
        repeated = 1 + np.flatnonzero(counts[1:] > 1)
        order = sorted(repeated.tolist(), key=lambda code: (-counts[code], self.text(code)))
        return np.array(order[:MOST_LEVELS], dtype=np.intp)

    def text(self, code: int) -> str:
        """The value behind a code."""
        return str(self.cells.values[code - 1])


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

    Columns of lists and the like are left out. Infinite numbers of an array count as missing.

    Examples
    --------
    >>> import polars as pl
    >>> pool = Pool(pl.DataFrame({"age": [20, 30, None], "day": ["2024-01-01"] * 3}))
    >>> print([(column.name, column.kind) for column in read_columns(pool)])
    [('age', 'number'), ('day', 'date')]
    """
    if not pool.is_table:
        matrix = np.asarray(pool.given())
        kind: Kind = "boolean" if matrix.dtype == np.bool_ else "number"
        for name, values in zip(pool.owners(), matrix.T, strict=True):
            if names is None or name in names:
                yield _checked(InputCells(name, kind, array_cells(_finite(values))))
        return
    table = pool.columnwise()
    frame = as_frame(table.frame)  # wrapped once: that takes long for thousands of columns
    for name in frame.columns:
        if names is not None and name not in names:
            continue
        column = frame.get_column(name)
        with suppress(InputError):  # lists, structs and the like: others complain about them
            picked = column if table.order is None else column[table.order]
            yield _checked(_of_series(picked, name))


def _finite(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values
    return np.where(np.isfinite(values), values, np.nan)


def _checked(column: InputCells) -> InputCells:
    return column if len(column.cells.values) else replace(column, kind="empty")


def _of_series(column: Column, name: str) -> InputCells:
    import narwhals.stable.v2 as nw

    cells = column_cells(column)
    if isinstance(cells.values, list):
        times = _parsed(cells.values) if cells.dates == 1 else None
        return InputCells(name, "text", cells) if times is None else _dates(name, cells, times)
    kinds: dict[Any, Kind] = {nw.Boolean: "boolean", nw.Time: "time", nw.Duration: "duration"}
    for dtype, kind in kinds.items():
        if column.dtype == dtype:
            return InputCells(name, kind, cells)
    return InputCells(name, "date" if cells.dates else "number", cells)


def _parsed(texts: list[str]) -> Floats | None:
    """Seconds since 1970 of dates in text; None where one cannot be read."""
    seconds = []
    for text in texts:
        try:
            time = datetime.fromisoformat(text.strip().replace("/", "-"))
        except ValueError:
            return None
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        seconds.append(time.timestamp())
    return np.array(seconds)


def _dates(name: str, cells: Cells, times: Floats) -> InputCells:
    """The same cells in the order of their times; one code for two spellings of a time."""
    values, inverse = np.unique(times, return_inverse=True)
    codes = np.concatenate([[0], 1 + inverse])[cells.codes]
    return InputCells(name, "date", Cells(codes.astype(np.intp), values, 1.0))


def column_features(column: InputCells) -> RowFeatures:
    """What is compared between the samples, as numbers of every row.

    Numbers, booleans and times: normal scores of their ranks in the pool, where equal values have
    the same score, and the centred squares of these; 0 where a value is missing, which a 0/1
    column says. Text: a 0/1 column for each of the ``MOST_LEVELS`` most frequent levels, for all
    others together, and for missing values.

    Examples
    --------
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
