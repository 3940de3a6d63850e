"""What one column of a table holds: numbers, text or nothing, and its numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputTypeError, naming
from rdiv.samples.frames import python_values

if TYPE_CHECKING:
    from rdiv.samples.frames import Column

__all__ = ["NESTED", "column_floats", "column_kind", "is_empty"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = (Real, Decimal, np.bool_)
_TIMES = (date, time, timedelta)  # a datetime is a date

_FEW = 64

NESTED = (list, tuple, dict, set, frozenset, bytes, bytearray, memoryview, np.ndarray)
"""Python values that are not one value."""


def column_kind(column: Column) -> Literal["number", "text", "empty"]:
    """What a narwhals column is treated as; one of anything but plain values is an error."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if is_empty(column):
        return "empty"
    if dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean:
        return "number"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    found = [value for value in python_values(column) if value is not None]
    if any(all(isinstance(value, kind) for value in found) for kind in (_NUMBERS, _TIMES)):
        return "number"
    odd = [value for value in found if isinstance(value, NESTED)]
    if odd:
        what = f"{type(odd[0]).__name__} objects" if dtype in (nw.Object, nw.Unknown) else dtype
        raise InputTypeError(
            f"column {column.name!r} holds {what}, expected numbers, booleans, dates, times, text "
            "or categories; convert or drop it."
        )
    return "text"


def is_empty(column: Column) -> bool:
    """Whether a narwhals column has no value in any row."""
    if column.null_count() == len(column):
        return True
    if not column.dtype.is_float():
        return False
    few = column[:_FEW]  # nearly every column has a value there
    return all(bool(np.isnan(column_floats(some)).all()) for some in (few, column))


def column_floats(column: Column) -> NDArray[np.float64]:
    """A narwhals column: numbers as they are, times in seconds, NaN where one is missing."""
    import narwhals.stable.v2 as nw

    dtype, unit = column.dtype, 1e-6
    if dtype.is_numeric() or dtype == nw.Boolean:
        unit = 1.0
    elif dtype in (nw.Date, nw.Datetime):
        column = column.dt.timestamp("us")
    elif isinstance(dtype, nw.Duration) and dtype.time_unit == "ns":
        column, unit = column.dt.total_nanoseconds(), 1e-9
    elif dtype == nw.Duration:
        column = column.dt.total_microseconds()
    else:
        values = [np.nan if value is None else _number(value) for value in python_values(column)]
        return np.array(values, dtype=np.float64)
    with naming(f"reading column {column.name!r} as numbers", "convert or drop it"):
        floats = column if isinstance(dtype, nw.Float64) else column.cast(nw.Float64)
        return unit * np.asarray(floats.to_numpy(), dtype=np.float64)


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
