"""Tables to numbers: impute and indicate, count days, encode levels, scale."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.samples.frame_rows import as_table
from rdiv.samples.frames import python_values

if TYPE_CHECKING:
    from rdiv.samples.frame_rows import Table
    from rdiv.samples.frames import Column

__all__ = [
    "MOST_LEVELS",
    "RARE_SHARE",
    "Preparation",
    "column_floats",
    "column_kind",
    "fit_preparation",
]

MOST_LEVELS = 20
"""A text column becomes at most this many columns, one for its rare levels among them (and one
more where values are missing)."""

RARE_SHARE = 0.01
"""A level with fewer than this share of the rows, or with a single row, is rare."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = (Real, Decimal, np.bool_)
_TIMES = (date, time, timedelta)  # a datetime is a date
_NESTED = (list, tuple, dict, set, frozenset, bytes, bytearray, np.ndarray)

_UNKNOWN, _MISSING = -1, -2  # codes of a text value

_Kind = Literal["number", "text", "empty"]


@dataclass(frozen=True, eq=False)
class Preparation:
    """How the columns of one frame become numbers, fixed by the rows it was fitted on.

    Numbers and booleans: missing values become the median and are marked in an extra 0/1 column,
    and the values are scaled to mean 0 and variance 1 (a constant column to zeros). Dates, times
    and durations are counted in seconds and treated as numbers. Text and categories: one 0/1 column
    per level, one for all rare levels together, one for missing values; these are not scaled. A
    column without any value gives zeros. Make one with `fit_preparation`.

    Parameters
    ----------
    names : tuple of str
        What each column of the result means, such as ``"age"``, ``"age (missing)"``,
        ``"region = west"`` or ``"region = other (rare)"``.
    parts : tuple
        The fitted pieces whose columns are set side by side.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [20, None, 40], "region": ["west", "west", "east"]})
    >>> preparation = fit_preparation(frame)
    >>> print(preparation.names)
    ('age', 'age (missing)', 'region = west', 'region = other (rare)')
    >>> print(preparation.apply(frame).round(3).tolist())
    [[-1.225, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.225, 0.0, 0.0, 1.0]]
    """

    names: tuple[str, ...]
    parts: tuple[_Numbers | _Levels | _Empty, ...] = field(repr=False)

    @property
    def owners(self) -> tuple[str, ...]:
        """The column of the frame that each column of the result was made from."""
        return tuple(owner for part in self.parts for owner in part.owners)

    def apply(self, frame: Any) -> NDArray[np.float64]:
        """Turn rows into numbers, ``(n, d)``.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or `FrameRows`
            It has the columns of the frame fitted on, in any order. A level never seen counts as
            rare, or as none of the levels where there are no rare ones.

        Notes
        -----
        Columns are turned one at a time, so the result is all the memory that this takes.
        """
        table = as_table(frame)
        out = np.zeros((len(table), len(self.names)))
        stops = np.cumsum([len(part.names) for part in self.parts])
        for part, own in zip(self.parts, np.split(out, stops[:-1], axis=1), strict=True):
            part.write(table, own)
        return out


def fit_preparation(frame: Any) -> Preparation:
    """Learn from a frame how to turn its columns into numbers.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or `FrameRows`
        The rows to learn from: medians, scales, levels and which of them are rare. A level is
        rare when it has fewer than 1 % of the rows (``RARE_SHARE``), or one row only, or when it
        is beyond the ``MOST_LEVELS`` most frequent ones.

    Returns
    -------
    Preparation

    Raises
    ------
    TypeError
        If a column holds lists, structs, bytes or anything else that is not a value.
    ValueError
        If the frame has no columns.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sold": [True, False], "price": [1e300, 3e300]})
    >>> print(fit_preparation(frame).apply(frame).tolist())
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    table = as_table(frame)
    if not table.columns:
        raise InputError("a frame without columns has no inputs; keep at least one column.")
    kinds = {name: column_kind(table.get_column(name)) for name in table.columns}
    parts: list[_Numbers | _Levels | _Empty] = []
    numbers = tuple(name for name, kind in kinds.items() if kind == "number")
    if numbers:
        parts.append(_Numbers(tuple(_fit_number(table.get_column(name)) for name in numbers)))
    parts += [_fit_levels(table, name) for name, kind in kinds.items() if kind == "text"]
    empty = tuple(name for name, kind in kinds.items() if kind == "empty")
    if empty:
        parts.append(_Empty(empty))
    return Preparation(tuple(name for part in parts for name in part.names), tuple(parts))


@dataclass(frozen=True, eq=False)
class _Empty:
    """Columns in which the rows fitted on had no value."""

    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    owners = names

    def write(self, table: Table, out: NDArray[np.float64]) -> None:
        """Leave zeros."""


@dataclass(frozen=True, eq=False)
class _Number:
    """A column of numbers or times: a power of two, the median, centre and scale."""

    column: str
    exponent: int
    median: float
    centre: float
    scale: float
    indicates: bool

    def apply(self, column: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values in units of their spread, and where there was none."""
        values, missing = _filled(column_floats(column), self.exponent, self.median)
        with np.errstate(under="ignore"):
            values -= self.centre
            values /= self.scale
        return values, missing


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Columns of numbers and times, then a 0/1 column for each that had missing values."""

    columns: tuple[_Number, ...]

    @property
    def owners(self) -> tuple[str, ...]:
        indicated = tuple(number.column for number in self.columns if number.indicates)
        return tuple(number.column for number in self.columns) + indicated

    @property
    def names(self) -> tuple[str, ...]:
        plain = len(self.columns)
        return self.owners[:plain] + tuple(f"{name} (missing)" for name in self.owners[plain:])

    def write(self, table: Table, out: NDArray[np.float64]) -> None:
        place = len(self.columns)
        for j, number in enumerate(self.columns):
            out[:, j], missing = number.apply(table.get_column(number.column))
            if number.indicates:
                out[:, place] = missing
                place += 1


def _fit_number(column: Column) -> _Number:
    values = column_floats(column)
    missing = np.isnan(values)
    exponent = int(np.frexp(np.abs(values).max(initial=0.0, where=~missing))[1])
    with np.errstate(under="ignore"):
        median = float(np.median(_shrunk(values[~missing], exponent)))
        filled, _ = _filled(values, exponent, median)
        centre, scale = float(filled.mean()), float(filled.std())
    return _Number(column.name, exponent, median, centre, scale or 1.0, bool(missing.any()))


def _shrunk(values: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Divide by a power of two, which rounds nothing, so that squares stay finite."""
    with np.errstate(over="ignore", under="ignore"):
        shrunk = np.ldexp(values, -exponent)
    return np.clip(shrunk, -1e100, 1e100, out=shrunk)


def _filled(
    values: NDArray[np.float64], exponent: int, median: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values less their median (so that a constant column is exactly 0), 0 where there is none."""
    missing = np.isnan(values)
    shrunk = _shrunk(values, exponent)
    shrunk -= median
    shrunk[missing] = 0.0
    return shrunk, missing


@dataclass(frozen=True, eq=False)
class _Levels:
    """One column of text: scikit-learn's encoder, and a column that says where text is missing."""

    column: str
    codes: dict[str, int]
    encoder: Any
    indicates: bool

    @property
    def names(self) -> tuple[str, ...]:
        rare = self.encoder.infrequent_categories_[0]
        grouped = set() if rare is None else set(rare.tolist())
        levels = [level for level, code in self.codes.items() if code not in grouped]
        ends = [f" = {level}" for level in levels + ["other (rare)"] * bool(grouped)]
        return tuple(self.column + end for end in ends + [" (missing)"] * self.indicates)

    @property
    def owners(self) -> tuple[str, ...]:
        return (self.column,) * len(self.names)

    def write(self, table: Table, out: NDArray[np.float64]) -> None:
        codes = _encode(table.get_column(self.column), self.codes)
        present = codes != _MISSING
        if present.any():
            encoded = np.asarray(self.encoder.transform(codes[present, None]))
            out[present, : encoded.shape[1]] = encoded
        if self.indicates:
            out[:, -1] = ~present


def _fit_levels(table: Table, name: str) -> _Levels:
    from sklearn.preprocessing import OneHotEncoder

    column = table.get_column(name)
    levels = sorted({str(value) for value in python_values(column) if value is not None})
    codes = {level: code for code, level in enumerate(levels)}
    rows = _encode(column, codes)
    present = rows != _MISSING
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=max(2, ceil(RARE_SHARE * len(rows))),
        max_categories=MOST_LEVELS,
        sparse_output=False,
    )
    return _Levels(name, codes, encoder.fit(rows[present, None]), bool(not present.all()))


def _encode(column: Column, codes: dict[str, int]) -> NDArray[np.int64]:
    """Code of every value; levels without a code and missing values have their own."""
    values = python_values(column)
    found = [_MISSING if value is None else codes.get(str(value), _UNKNOWN) for value in values]
    return np.array(found, dtype=np.int64)


def column_kind(column: Column) -> _Kind:
    """What a narwhals column is treated as; one of anything but plain values is an error."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if column.null_count() == len(column):
        return "empty"
    if dtype.is_float():
        return "empty" if np.isnan(column_floats(column)).all() else "number"
    if dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean:
        return "number"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    found = [value for value in python_values(column) if value is not None]
    if any(all(isinstance(value, kind) for value in found) for kind in (_NUMBERS, _TIMES)):
        return "number"
    odd = [value for value in found if dtype != nw.Object or isinstance(value, _NESTED)]
    if odd:
        what = f"{type(odd[0]).__name__} objects" if dtype in (nw.Object, nw.Unknown) else dtype
        raise InputTypeError(
            f"column {column.name!r} holds {what}, expected numbers, booleans, dates, times, text "
            "or categories; convert or drop it."
        )
    return "text"


def column_floats(column: Column) -> NDArray[np.float64]:
    """A narwhals column: numbers as they are, times in seconds, NaN where one is missing."""
    import narwhals.stable.v2 as nw

    dtype, unit = column.dtype, 1e-6
    if dtype in (nw.Date, nw.Datetime):
        column = column.dt.timestamp("us")
    elif isinstance(dtype, nw.Duration) and dtype.time_unit == "ns":
        column, unit = column.dt.total_nanoseconds(), 1e-9
    elif dtype == nw.Duration:
        column = column.dt.total_microseconds()
    elif dtype.is_numeric() or dtype == nw.Boolean:
        unit = 1.0
    else:
        values = [np.nan if value is None else _number(value) for value in python_values(column)]
        return np.array(values, dtype=np.float64)
    with naming(f"reading column {column.name!r} as numbers", "convert or drop it"):
        return unit * np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _number(value: Any) -> float:
    """A Python number, or the seconds of a Python date, time or duration."""
    if isinstance(value, time):
        hours = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
        return (hours + timedelta(microseconds=value.microsecond)).total_seconds()
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return float(value.total_seconds() if isinstance(value, timedelta) else value)
