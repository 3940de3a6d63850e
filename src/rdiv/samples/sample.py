"""One sample as users have it (array, frame, tensor, dataset, pair) as rows and a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.datasets import is_torch_dataset, plain_array, read_dataset
from rdiv.samples.frames import as_frame, is_frame, quoted
from rdiv.samples.targets import target_values

__all__ = ["Sample", "as_sample", "has_target", "plain_array"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows (an array, `DatasetRows`, or a frame in narwhals) and the target beside them."""

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
        return _dataset(obj, name)
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


def _dataset(dataset: Any, name: str) -> Sample:
    """A map-style torch dataset: rows, or pairs of row and target, read when they are needed."""
    tensors = getattr(dataset, "tensors", None)
    if type(dataset).__name__ == "TensorDataset" and tensors is not None and len(tensors) < 3:
        rows, *targets = tensors  # in memory already
        y = target_values(plain_array(targets[0])) if targets else None
        return Sample(_array(plain_array(rows), name), y)
    read, y = read_dataset(dataset, name)
    return Sample(read, None if y is None else target_values(y))
