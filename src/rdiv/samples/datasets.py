"""Rows of torch datasets, which stay there until somebody asks for their numbers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.progress import counting
from rdiv.row_blocks import cut, rows_at_once
from rdiv.samples.row_keys import Keys, array_keys

__all__ = [
    "DatasetRows",
    "is_torch_dataset",
    "plain_array",
    "read_dataset",
]


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

    datasets: tuple[MapStyle, ...]
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
        return replace(self, source=self.source[rows], place=self.place[rows], keys=self.keys[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InputError("rows of a dataset are read into a new array; a copy is needed.")
        x = np.empty(self.shape, self.dtype)
        for block in cut(len(self), rows_at_once(self.row_shape)):
            x[block] = self[block]._read()
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


@runtime_checkable
class MapStyle(Protocol):
    """A dataset that knows how many items it has and gives each by its number."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Any: ...


@runtime_checkable
class _Batched(Protocol):
    """A dataset that gives several items at once."""

    def __getitems__(self, places: list[int], /) -> Any: ...


def is_torch_dataset(obj: object) -> bool:
    """Whether an object is a torch dataset; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.utils.data.Dataset)


def plain_array(obj: Any) -> Any:
    """A torch tensor as an array; anything else as it is."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(obj, torch.Tensor):
        return obj
    if obj.is_meta:
        raise InputError(
            "a tensor on the device 'meta' has a shape but no values; pass one that holds numbers."
        )
    if obj.layout != torch.strided:
        raise InputTypeError("a tensor must be dense, got a sparse one; pass its to_dense().")
    try:
        return obj.detach().cpu().numpy()
    except TypeError:  # bfloat16 and narrower, which single precision holds exactly
        with naming("reading a tensor", "pass a tensor of floats or integers"):
            return obj.detach().cpu().float().numpy()


def read_dataset(dataset: object, name: str) -> tuple[DatasetRows, NDArray[Any] | None]:
    """Read a map-style dataset once, in batches: the hash of every row, and the targets."""
    if not isinstance(dataset, MapStyle):
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
        for block in cut(n, rows_at_once(shape)):
            at(block.start + 1)
            places = np.arange(block.start, block.stop)
            items = _items(dataset, places)
            rows = _stacked([_row(item) for item in items], shape, places)
            keys.append(array_keys(rows))
            if parts == 2:
                targets += [np.asarray(plain_array(item[1])).item() for item in items]
    unread = DatasetRows(
        (dataset,), np.zeros(n, np.intp), np.arange(n), shape, dtype, np.concatenate(keys)
    )
    return unread, np.array(targets) if parts == 2 else None


def _items(dataset: MapStyle, places: NDArray[np.intp]) -> list[Any]:
    """Items by their numbers, at once where the dataset can."""
    numbers = places.tolist()
    if isinstance(dataset, _Batched):
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
