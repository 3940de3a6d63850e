"""Rows that are not one array: of torch datasets, read when needed; of frames in another order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.progress import counting
from rdiv.samples.frames import as_frame, gather
from rdiv.samples.row_keys import Keys, array_keys

__all__ = [
    "DatasetRows",
    "FrameRows",
    "as_table",
    "is_torch_dataset",
    "plain_array",
    "read_dataset",
    "rows_at_once",
]


_MOST_ROWS, _NUMBERS, _PIXELS = 4096, 2**22, 2**18


def rows_at_once(shape: Sequence[int]) -> int:
    """Rows of a shape that are held in memory together; fewer of images, which networks widen.

    Examples
    --------
    >>> print(rows_at_once((10,)), rows_at_once((3, 32, 32)))
    4096 85
    """
    numbers = _NUMBERS if len(shape) == 1 else _PIXELS
    return min(_MOST_ROWS, max(numbers // max(prod(shape), 1), 1))


@dataclass(frozen=True, eq=False)
class DatasetRows:
    """Rows of torch datasets, with the shape and type of an array but none of its memory.

    Indexing with numbers of rows gives `DatasetRows` again; `numpy.asarray` reads them.

    Parameters
    ----------
    datasets : tuple of datasets
    source, place : (n,) integers
        Which dataset each row is in, and where.
    row_shape : tuple of int
    dtype : numpy type
        Of all rows once read.
    keys : (n, 2) integers
        Hash of every row, as it was when it was first read.
    """

    datasets: tuple[Any, ...]
    source: NDArray[np.intp]
    place: NDArray[np.intp]
    row_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    keys: Keys

    def __len__(self) -> int:
        return len(self.place)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array: rows, then the shape of one."""
        return (len(self.place), *self.row_shape)

    @property
    def ndim(self) -> int:
        """As of an array."""
        return 1 + len(self.row_shape)

    def __getitem__(self, rows: Any) -> DatasetRows:
        picked = {name: getattr(self, name)[rows] for name in ("source", "place", "keys")}
        return replace(self, **picked)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InputError("rows of a dataset are read into a new array; a copy is needed.")
        x = np.empty(self.shape, self.dtype)
        step = rows_at_once(self.row_shape)
        for start in range(0, len(self), step):
            x[start : start + step] = self[start : start + step]._read()
        return x if dtype is None else x.astype(dtype, copy=False)

    def joined(self, other: DatasetRows) -> DatasetRows:
        """These rows and those of another sample, in one type."""
        return DatasetRows(
            (*self.datasets, *other.datasets),
            np.concatenate([self.source, other.source + len(self.datasets)]),
            np.concatenate([self.place, other.place]),
            self.row_shape,
            np.result_type(self.dtype, other.dtype),
            np.concatenate([self.keys, other.keys]),
        )

    def _read(self) -> NDArray[Any]:
        rows = np.empty(self.shape, self.dtype)
        keys = np.empty_like(self.keys)
        for number in np.unique(self.source):
            here = np.flatnonzero(self.source == number)
            items = _items(self.datasets[number], self.place[here])
            read = _stacked([_row(item) for item in items], self.row_shape, self.place[here])
            rows[here], keys[here] = read, array_keys(read)
        changed = (keys != self.keys).any(axis=1)
        if changed.any():
            raise InputError(
                "a dataset must give the same row whenever it is read, got another one for item "
                f"{self.place[changed][0]}; turn random transforms off."
            )
        return rows


def is_torch_dataset(obj: Any) -> bool:
    """Whether an object is a torch dataset; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.utils.data.Dataset)


def plain_array(obj: Any) -> Any:
    """A torch tensor as an array; anything else as it is."""
    if not hasattr(obj, "detach") or not hasattr(obj, "cpu"):
        return obj
    if getattr(obj, "is_meta", False):
        raise InputError(
            "a tensor on the device 'meta' has a shape but no values; pass one that holds numbers."
        )
    if str(getattr(obj, "layout", "torch.strided")) != "torch.strided":
        raise InputTypeError("a tensor must be dense, got a sparse one; pass its to_dense().")
    try:
        return obj.detach().cpu().numpy()
    except TypeError:  # bfloat16 and narrower, which single precision holds exactly
        with naming("reading a tensor", "pass a tensor of floats or integers"):
            return obj.detach().cpu().float().numpy()


def read_dataset(dataset: Any, name: str) -> tuple[DatasetRows, NDArray[Any] | None]:
    """Read a map-style dataset once, in batches: the hash of every row, and the targets."""
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise InputTypeError(f"{name} must be a map-style dataset, got an iterable one.")
    n = len(dataset)
    if n == 0:
        raise InputError(f"{name} must have rows, got an empty dataset.")
    parts = _parts(dataset[0], name)
    first = _row(dataset[0])
    _check_numbers(first, name)
    dtype = np.dtype(np.float64) if first.dtype.itemsize > 8 else first.dtype
    shape = first.shape or (1,)
    keys, targets = [], []
    with counting("row", n) as at:
        for places in _blocks(n, rows_at_once(shape)):
            at(int(places[0]) + 1)
            items = _items(dataset, places)
            rows = _stacked([_row(item) for item in items], shape, places)
            keys.append(array_keys(rows))
            if parts == 2:
                targets += [np.asarray(plain_array(item[1])).item() for item in items]
    unread = DatasetRows(
        (dataset,), np.zeros(n, np.intp), np.arange(n), shape, dtype, np.concatenate(keys)
    )
    return unread, np.array(targets) if parts == 2 else None


def _blocks(n: int, step: int) -> Iterator[NDArray[np.intp]]:
    for start in range(0, n, step):
        yield np.arange(start, min(start + step, n))


def _items(dataset: Any, places: NDArray[np.intp]) -> list[Any]:
    """Items by their numbers, at once where the dataset can."""
    numbers = places.tolist()
    if hasattr(dataset, "__getitems__"):
        return list(dataset.__getitems__(numbers))
    return [dataset[i] for i in numbers]


def _parts(item: Any, name: str) -> int:
    parts = len(item) if isinstance(item, tuple | list) else 1
    if parts > 2:
        raise InputError(
            f"items of a dataset must be rows or pairs (row, target), got {parts} parts in {name}."
        )
    return parts


def _row(item: Any) -> NDArray[Any]:
    return np.asarray(plain_array(item[0] if isinstance(item, tuple | list) else item))


def _check_numbers(row: NDArray[Any], name: str) -> None:
    if row.dtype.kind not in "biuf":
        raise InputTypeError(
            f"rows of a dataset must be numbers, got {name} with rows of type {row.dtype}; "
            "turn them into arrays or tensors in the dataset."
        )


def _stacked(
    rows: list[NDArray[Any]], shape: tuple[int, ...], places: NDArray[np.intp]
) -> NDArray[Any]:
    wanted = rows[0].dtype
    for row, place in zip(rows, places, strict=True):
        if (row.shape or (1,)) != shape or row.dtype != wanted:
            raise InputError(
                f"rows of a dataset must have one shape and type, got {row.shape} of {row.dtype} "
                f"for item {place} beside {shape} of {wanted}; resize or convert them."
            )
    return np.stack(rows).reshape(len(rows), *shape)


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Some rows of a native frame; columns are gathered one at a time, on use.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame
    order : (n,) integers, optional
        Which rows, in which order; all of them without it.

    Examples
    --------
    >>> import polars as pl
    >>> rows = FrameRows(pl.DataFrame({"a": [1, 2, 3]}), np.array([2, 0]))
    >>> print(len(rows), rows[np.array([1])].gathered()["a"].to_list())
    2 [1]
    """

    frame: Any
    order: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.frame) if self.order is None else len(self.order)

    def __getitem__(self, rows: NDArray[np.intp]) -> FrameRows:
        return FrameRows(self.frame, rows if self.order is None else self.order[rows])

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = as_frame(self.frame).columns
        return names

    def get_column(self, name: str) -> Any:
        """One column of these rows, wrapped in narwhals."""
        column = as_frame(self.frame).get_column(name)
        return column if self.order is None else column[self.order]

    def gathered(self) -> Any:
        """These rows as a native frame of their own."""
        return self.frame if self.order is None else gather(self.frame, self.order)


def as_table(obj: Any) -> Any:
    """Something with ``len``, ``columns`` and ``get_column``: `FrameRows`, or a wrapped frame."""
    return obj if isinstance(obj, FrameRows) else as_frame(obj)
