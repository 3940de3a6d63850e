"""One sample as users have it (array, frame, tensor, dataset, pair) as rows and a target."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.frames import as_frame, is_frame, quoted
from rdiv.samples.targets import target_values

__all__ = ["Sample", "as_sample", "has_target", "plain_array"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows (an array, or a frame in narwhals) and the target that came beside them."""

    x: Any
    y: Any = None


def as_sample(obj: Any, name: str) -> Sample:
    if isinstance(obj, tuple):
        if len(obj) != 2:
            raise ValueError(
                f"a sample given as a tuple must be a pair (X, y), got {len(obj)} parts in {name}."
            )
        return Sample(_rows(obj[0], name), target_values(plain_array(obj[1])))
    if is_torch_dataset(obj):
        return _read_dataset(obj, name)
    return Sample(_rows(obj, name))


def has_target(sample: Any, target: str | None) -> bool:
    """Whether a sample comes with a target: by a column's name, as a pair, or in a dataset."""
    if target is not None or isinstance(sample, tuple):
        return True
    if not is_torch_dataset(sample) or not hasattr(sample, "__len__") or not len(sample):
        return False
    item = sample[0]
    return isinstance(item, tuple | list) and len(item) == 2


def _rows(obj: Any, name: str) -> Any:
    obj = plain_array(obj)
    if isinstance(obj, np.ndarray):
        return _array(obj, name)
    columns = list(getattr(obj, "column_names", getattr(obj, "columns", ())))
    twice = [column for column in dict.fromkeys(columns) if columns.count(column) > 1]
    if twice:
        raise ValueError(
            f"column names must be unique, got {quoted(twice)} more than once in {name}; "
            "rename them."
        )
    return as_frame(obj) if is_frame(obj) else _array(obj, name)


def plain_array(obj: Any) -> Any:
    """A torch tensor as an array; anything else as it is."""
    if hasattr(obj, "detach") and hasattr(obj, "cpu"):
        return obj.detach().cpu().numpy()
    return obj


def _array(obj: Any, name: str) -> NDArray[Any]:
    try:
        x = np.asarray(obj)
    except ValueError:
        raise ValueError(
            f"{name} must be a rectangular array, got rows of different lengths."
        ) from None
    if x.dtype.kind not in "biuf":
        raise TypeError(
            f"an array must hold numbers, got {name} of type {x.dtype}; pass a pandas, polars or "
            "pyarrow frame for columns of text, categories or dates."
        )
    if x.dtype.itemsize > 8:  # extended precision has padding, and no model has it
        x = x.astype(np.float64)
    if x.ndim == 0:
        raise ValueError(f"{name} must have rows, got a single number.")
    return x[:, None] if x.ndim == 1 else x


def is_torch_dataset(obj: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.utils.data.Dataset)


def _read_dataset(dataset: Any, name: str) -> Sample:
    """Read a map-style torch dataset into memory: rows, or pairs of row and target."""
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise TypeError(f"{name} must be a map-style dataset, got an iterable one.")
    items = [dataset[i] for i in range(len(dataset))]
    if items and isinstance(items[0], tuple | list):
        if len(items[0]) > 2:
            raise ValueError(
                f"items of a dataset must be rows or pairs (row, target), got {len(items[0])} "
                f"parts in {name}."
            )
        rows = np.stack([np.asarray(plain_array(item[0])) for item in items])
        if len(items[0]) == 1:
            return Sample(_array(rows, name))
        y = np.array([np.asarray(plain_array(item[1])).item() for item in items])
        return Sample(_array(rows, name), target_values(y))
    return Sample(_array(np.stack([np.asarray(plain_array(item)) for item in items]), name))
