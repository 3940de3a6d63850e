"""Rows of samples as the inputs that an ONNX file asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.samples.frame_rows import as_table
from rdiv.samples.frames import python_values, quoted
from rdiv.samples.kinds import column_floats, column_kind

if TYPE_CHECKING:
    from rdiv.samples.frame_rows import FrameRows
    from rdiv.samples.frames import Column

__all__ = ["Feed", "OnnxInput", "feed_of"]

_FLOATS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
}
_INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
_WHOLE: dict[str, type[np.generic]] = {
    f"tensor({name})": np.dtype(name).type for name in _INTEGERS.split()
}
_WHOLE["tensor(bool)"] = np.bool_
_TEXT = "tensor(string)"


class OnnxInput(NamedTuple):
    """An input of a file: its name, its shape (text or None where it is free), its type."""

    name: str
    shape: tuple[int | str | None, ...]
    type: str

    @property
    def width(self) -> int | None:
        """Numbers per row, where that is fixed; 1 for an input without columns."""
        fixed = [size for size in self.shape[1:] if isinstance(size, int)]
        return int(np.prod(fixed)) if len(fixed) == len(self.shape[1:]) else None


class Feed(NamedTuple):
    """Arrays for all inputs, how many rows they have, and the size of a batch where it is fixed."""

    arrays: dict[str, NDArray[Any]]
    n: int
    batch: int | None


def feed_of(inputs: Sequence[OnnxInput], rows: Any, who: str) -> Feed:
    """What a file gets for some rows.

    Parameters
    ----------
    inputs : sequence of OnnxInput
    rows : array or frame
    who : str
        What messages call the file.

    Examples
    --------
    >>> import polars as pl
    >>> wanted = OnnxInput("x", (None, 2), "tensor(float)")
    >>> frame = pl.DataFrame({"a": [1, 2], "b": [0.5, None]})
    >>> print(feed_of([wanted], frame, "model.onnx").arrays["x"].tolist())
    [[1.0, 0.5], [2.0, nan]]
    """
    odd = [f"{one.name}: {one.type}" for one in inputs if not _known(one.type)]
    if odd or not inputs:
        raise InputError(f"{who} must take tensors of numbers or text, got {quoted(odd)}.")
    if isinstance(rows, np.ndarray):
        arrays = _of_array(inputs, rows, who)
    else:
        arrays = _of_table(inputs, as_table(rows), who)
    sizes = {one.shape[0] for one in inputs if one.shape and isinstance(one.shape[0], int)}
    batch = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return Feed(arrays, len(rows), batch)


def _known(kind: str) -> bool:
    return kind in _FLOATS or kind in _WHOLE or kind == _TEXT


def _of_array(inputs: Sequence[OnnxInput], rows: NDArray[Any], who: str) -> dict[str, NDArray[Any]]:
    one = inputs[0]
    fixed = zip(one.shape[1:], rows.shape[1:], strict=False)
    fits = len(one.shape) == rows.ndim and all(
        size == found for size, found in fixed if isinstance(size, int)
    )
    if len(inputs) > 1 or one.type == _TEXT or (one.shape and not fits):
        raise InputError(
            f"{who} wants {_wanted(inputs)}, and the samples are arrays of {rows.dtype} with rows "
            f"of shape {rows.shape[1:]}; pass what the model was trained on, by name in frames."
        )
    if one.type in _FLOATS:
        images = rows.ndim > 2 and rows.dtype == np.uint8
        return {one.name: (rows / 255 if images else rows).astype(_FLOATS[one.type])}
    return {one.name: _whole(rows.astype(np.float64), one, "the samples", who)}


def _of_table(inputs: Sequence[OnnxInput], table: FrameRows, who: str) -> dict[str, NDArray[Any]]:
    columns = list(table.columns)
    by_name = all(one.name in columns and one.width in (1, None) for one in inputs)
    one = inputs[0]
    if len(inputs) == 1 and len(one.shape) in (0, 2) and not (by_name and one.width == 1):
        if one.width not in (None, len(columns)) and one.shape:
            raise _mismatch(inputs, columns, who)
        parts = [_values(table.get_column(name), one, who) for name in columns]
        return {one.name: np.stack(parts, axis=1)}
    if not by_name:
        raise _mismatch(inputs, columns, who)
    found = {each.name: _values(table.get_column(each.name), each, who) for each in inputs}
    return {
        each.name: found[each.name] if len(each.shape) == 1 else found[each.name][:, None]
        for each in inputs
    }


def _mismatch(inputs: Sequence[OnnxInput], columns: list[str], who: str) -> InputError:
    return InputError(
        f"{who} wants {_wanted(inputs)}, and the samples have {len(columns)} column"
        f"{'s' * (len(columns) != 1)} ({quoted(columns)}); leave out or rename columns, or check "
        "that this is the right model."
    )


def _wanted(inputs: Sequence[OnnxInput]) -> str:
    """The inputs of a file in words."""
    one = inputs[0]
    if len(inputs) > 1:
        return f"{len(inputs)} inputs ({quoted([each.name for each in inputs])})"
    shape = ", ".join(str(size) if isinstance(size, int) else "n" for size in one.shape)
    return f"one input {one.name!r} of shape ({shape}), {one.type}"


def _values(column: Column, one: OnnxInput, who: str) -> NDArray[Any]:
    """One column of a table in the type of an input, ``(n,)``."""
    import narwhals.stable.v2 as nw

    kind = column_kind(column)
    if one.type == _TEXT:
        return _texts(column, one, who)
    if kind == "text" or column.dtype.is_temporal() or column.dtype == nw.Object:
        raise InputError(
            f"{who} wants numbers ({one.type}) in input {one.name!r}, and column {column.name!r} "
            f"holds {'text' if kind == 'text' else column.dtype}; convert or leave out that column."
        )
    if one.type in _WHOLE and column.dtype.is_integer() and not column.null_count():
        return _whole(np.asarray(column.to_numpy()), one, f"column {column.name!r}", who)
    floats = column_floats(column)
    if one.type in _FLOATS:
        return floats.astype(_FLOATS[one.type])
    return _whole(floats, one, f"column {column.name!r}", who)


def _texts(column: Column, one: OnnxInput, who: str) -> NDArray[Any]:
    values = python_values(column)
    odd = next((value for value in values if not isinstance(value, str | int)), "")
    if odd is None:
        raise _missing(values.count(None), one, f"column {column.name!r}", who)
    if odd != "" or (column_kind(column) == "number" and not column.dtype.is_integer()):
        raise InputError(
            f"{who} wants text in input {one.name!r}, and column {column.name!r} holds "
            f"{column.dtype}; convert that column."
        )
    return np.array([str(value) for value in values], dtype=object)


def _whole(values: NDArray[Any], one: OnnxInput, what: str, who: str) -> NDArray[Any]:
    missing = int(np.isnan(values).sum())
    if missing:
        raise _missing(missing, one, what, who)
    broken = values[values != np.rint(values)]
    limits = (0, 1) if one.type == "tensor(bool)" else _limits(_WHOLE[one.type])
    outside = values[(values < limits[0]) | (values > limits[1])]
    if len(broken) or len(outside):
        odd = broken[0] if len(broken) else outside[0]
        raise InputError(
            f"{who} wants whole numbers ({one.type}) in input {one.name!r}, and {what} "
            f"{'have' if what.endswith('s') else 'has'} {odd:g}; convert it."
        )
    return values.astype(_WHOLE[one.type])


def _limits(dtype: Any) -> tuple[float, float]:
    limits = np.iinfo(dtype)
    return float(limits.min), float(limits.max)


def _missing(count: int, one: OnnxInput, what: str, who: str) -> InputError:
    return InputError(
        f"{who} wants a value in every row of input {one.name!r} ({one.type}), and {what} "
        f"{'have' if what.endswith('s') else 'has'} {count} missing; fill them as in production."
    )
