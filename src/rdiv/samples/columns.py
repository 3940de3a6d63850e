"""One column of a table or an array as its kind and its cells."""

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
from rdiv.samples.frame_rows import FrameRows

if TYPE_CHECKING:
    from rdiv.samples.frames import Column

__all__ = ["InputCells", "Kind", "array_columns", "read_column", "seconds_of", "table_columns"]

MOST_LEVELS = 30
"""Levels of a text column that are looked at one by one; all others together."""

Floats = NDArray[np.float64]
Kind = Literal["number", "boolean", "date", "time", "duration", "text", "empty"]


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


def table_columns(table: FrameRows, names: Container[str] | None = None) -> Iterator[InputCells]:
    """The columns of a table, or those with some names, one at a time.

    Examples
    --------
    >>> import polars as pl
    >>> rows = FrameRows(pl.DataFrame({"age": [20, 30, None], "day": ["2024-01-01"] * 3}))
    >>> print([(column.name, column.kind) for column in table_columns(rows)])
    [('age', 'number'), ('day', 'date')]
    """
    for name in table.columns:
        if names is not None and name not in names:
            continue
        with suppress(InputError):  # dates that cannot be read and the like: others complain
            yield read_column(table.get_column(name), name)


def array_columns(
    matrix: NDArray[Any], owners: tuple[str, ...], names: Container[str] | None = None
) -> Iterator[InputCells]:
    """The columns of an array, or those with some names; infinite numbers count as missing.

    Examples
    --------
    >>> (column,) = array_columns(np.array([[1.0], [np.inf]]), ("column 0",))
    >>> print(column.kind, column.cells.codes.tolist())
    number [1, 0]
    """
    kind: Kind = "boolean" if matrix.dtype == np.bool_ else "number"
    for name, values in zip(owners, matrix.T, strict=True):
        if names is None or name in names:
            yield _checked(InputCells(name, kind, array_cells(_finite(values))))


def _finite(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values
    return np.where(np.isfinite(values), values, np.nan)


def _checked(column: InputCells) -> InputCells:
    return column if len(column.cells.values) else replace(column, kind="empty")


def read_column(column: Column, name: str) -> InputCells:
    """A narwhals column as its kind and its cells; text that is all dates is a date."""
    import narwhals.stable.v2 as nw

    cells = column_cells(column)
    if isinstance(cells.values, list):
        times = seconds_of(cells.values) if cells.dates == 1 else None
        if times is None or np.isnan(times).any():
            return _checked(InputCells(name, "text", cells))
        return _dates(name, cells, times)
    kinds: dict[Any, Kind] = {nw.Boolean: "boolean", nw.Time: "time", nw.Duration: "duration"}
    for dtype, kind in kinds.items():
        if column.dtype == dtype:
            return _checked(InputCells(name, kind, cells))
    return _checked(InputCells(name, "date" if cells.dates else "number", cells))


def seconds_of(texts: list[str]) -> Floats:
    """Seconds since 1970 of dates in text; NaN where one cannot be read.

    Examples
    --------
    >>> print(seconds_of(["1970-01-02", "no date"]))
    [86400.    nan]
    """
    seconds = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        with suppress(ValueError):
            time = datetime.fromisoformat(text.strip().replace("/", "-"))
            time = time if time.tzinfo else time.replace(tzinfo=UTC)
            seconds[place] = time.timestamp()
    return seconds


def _dates(name: str, cells: Cells, times: Floats) -> InputCells:
    """The same cells in the order of their times; one code for two spellings of a time."""
    values, inverse = np.unique(times, return_inverse=True)
    codes = np.concatenate([[0], 1 + inverse])[cells.codes]
    return InputCells(name, "date", Cells(codes.astype(np.intp), values, 1.0))
