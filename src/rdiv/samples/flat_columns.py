"""Columns of lists and structs as columns of plain values."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.samples.frames import python_values
from rdiv.samples.kinds import NESTED

if TYPE_CHECKING:
    from rdiv.samples.frames import Column, Frame

__all__ = ["flat_columns"]

Floats = NDArray[np.float64]

_ANCHOR = "\0"
_SUMMARY = ("length", "mean", "spread", "smallest", "largest")


def flat_columns(frame: Frame) -> tuple[Frame, dict[str, str], tuple[str, ...]]:
    """A frame in which every column holds one value per row.

    Lists of numbers that are all as long become one column for each place, called ``"name[0]"``
    and so on; lists of different lengths become their length, mean, spread, smallest and largest
    number; lists of text one text; a struct one column for each field. Bytes and other nested
    values are left out.

    Returns
    -------
    frame : Frame
    owners : dict
        From the name of each new column to that of the column it was made from.
    left_out : tuple of str
        Columns that could not be read.

    Examples
    --------
    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"a": [1, 2], "place": [[1.0, 2.0], [3.0, 4.0]]}))
    >>> flat, owners, left_out = flat_columns(frame)
    >>> print(flat.columns, owners["place[1]"], left_out)
    ['a', 'place[0]', 'place[1]'] place ()
    """
    import narwhals.stable.v2 as nw

    simple = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
    nested = [
        name
        for name, dtype in frame.schema.items()
        if not (dtype.is_numeric() or dtype.is_temporal() or dtype in simple)
    ]
    added: dict[str, Column] = {}
    owners: dict[str, str] = {}
    gone, left_out = set(), []
    for name in nested:
        column = frame.get_column(name)
        if not _is_nested(column):
            continue
        parts = list(_parts(column))
        gone.add(name)
        left_out += [] if parts else [name]
        for part in parts:
            new = part.name
            while new in added or (new in frame.columns and new != name):
                new += "'"
            added[new], owners[new] = part.alias(new), name
    if not gone:
        return frame, {}, ()
    kept = [name for name in frame.columns if name not in gone]
    # A frame without columns forgets how many rows it has, so one column stays until the end.
    flat = (
        frame.rename({frame.columns[0]: _ANCHOR})
        .select(_ANCHOR)
        .with_columns(*(frame.get_column(name) for name in kept), *added.values())
    )
    return flat.select([*kept, *added]), owners, tuple(left_out)


def _is_nested(column: Column) -> bool:
    import narwhals.stable.v2 as nw

    if column.dtype in (nw.List, nw.Array, nw.Struct, nw.Binary):
        return True
    if column.dtype not in (nw.Object, nw.Unknown):
        return False
    return any(isinstance(value, NESTED) for value in python_values(column))


def _parts(column: Column) -> Iterator[Column]:
    """The columns that one nested column becomes; none if it cannot be read."""
    import narwhals.stable.v2 as nw

    if isinstance(column.dtype, nw.Struct) and not column.implementation.is_pandas_like():
        for field in column.dtype.fields:
            part = column.struct.field(field.name).alias(f"{column.name}.{field.name}")
            yield from _parts(part) if _is_nested(part) else (part,)
        return
    matrix = _matrix(column)
    if matrix is not None:
        for j in range(matrix.shape[1]):
            yield _series(column, f"{column.name}[{j}]", matrix[:, j], nw.Float64)
        return
    values = [_plain(value) for value in python_values(column)]
    items = [item for value in values if isinstance(value, list) for item in value]
    lists = all(value is None or isinstance(value, list) for value in values)
    if lists and items and all(isinstance(item, Real) or item is None for item in items):
        for word, numbers in zip(_SUMMARY, _summary(values).T, strict=True):
            yield _series(column, f"{column.name} ({word})", numbers, nw.Float64)
    elif lists and all(isinstance(item, str) or item is None for item in items):
        texts = [None if value is None else " ".join(map(str, value)) for value in values]
        yield _series(column, column.name, texts, nw.String)


def _series(like: Column, name: str, values: Any, dtype: Any) -> Column:
    import narwhals.stable.v2 as nw

    series = nw.new_series(name, values, dtype, backend=like.implementation)
    if like.implementation.is_pandas_like():
        return nw.maybe_set_index(series, index=like.to_native().index)
    return series


def _matrix(column: Column) -> Floats | None:
    """Lists of numbers that are all as long, ``(n, k)``, NaN where one is missing; else None."""
    present = column.drop_nulls()
    flat = _rectangle(present)
    if flat is None or flat.ndim < 2 or flat.dtype.kind not in "biuf" or not flat.size:
        return None
    if np.isinf(flat).any():
        raise InputError(
            f"columns must be finite or missing, got infinite values in lists of {column.name!r}; "
            "replace them or leave those cells empty."
        )
    rows = np.full((len(column), flat[0].size), np.nan)
    rows[~column.is_null().to_numpy().astype(bool)] = flat.reshape(len(flat), -1)
    return rows


def _rectangle(present: Column) -> NDArray[Any] | None:
    """Values of lists without missing ones as an array; None where they differ in length."""
    native: Any = present.to_native()
    if not len(present):
        return None
    if present.implementation.is_polars() and present.dtype.is_nested():
        lists = native.arr.to_list() if hasattr(native.dtype, "size") else native
        lengths = lists.list.len()
        if lengths.n_unique() != 1 or lists.dtype.inner.is_nested():
            return _stacked(native.to_list())
        return np.asarray(lists.explode().to_numpy()).reshape(len(lists), -1)
    return _stacked(present.to_list())


def _stacked(values: list[Any]) -> NDArray[Any] | None:
    try:
        return np.array([_plain(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Arrays and tuples as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _summary(values: list[Any]) -> Floats:
    """Length, mean, spread, smallest and largest number of every list, ``(n, 5)``."""
    rows = np.full((len(values), len(_SUMMARY)), np.nan)
    for row, value in zip(rows, values, strict=True):
        if value is None:
            continue
        numbers = np.array([np.nan if item is None else item for item in value], dtype=np.float64)
        known = numbers[np.isfinite(numbers)]
        row[0] = len(numbers)
        if len(known):
            row[1:] = known.mean(), known.std(), known.min(), known.max()
    return rows
