"""One sample as users have it (array, frame, tensor, dataset, pair): rows, target and task."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.samples.arguments import described
from rdiv.samples.datasets import MapStyle, is_torch_dataset, plain_array, read_dataset
from rdiv.samples.frames import as_frame, is_frame, quoted, within_64_bits
from rdiv.samples.partitions import as_partitions

__all__ = [
    "TASKS",
    "Sample",
    "Task",
    "as_sample",
    "check_classes",
    "encode_labels",
    "finite_target",
    "guess_task",
    "has_target",
    "missing_values",
    "plain_array",
    "resolve_task",
    "target_values",
]


Task = Literal["density", "classification", "regression"]
TASKS: tuple[Task, ...] = ("density", "classification", "regression")

MOST_TARGET = 1e150  # the square of a larger number may be none
MOST_CLASSES = 20  # integers with more distinct values than this are taken for quantities


def target_values(y: Any) -> NDArray[Any]:
    """A target as one array of numbers or labels, refusing missing values."""
    values = _one_value_per_row(y)
    missing = missing_values(values)
    if values.dtype.kind == "O" and not missing.any():
        values = _plain(values)
    if missing.any():
        raise InputError(
            f"the target must have no missing values, got {int(missing.sum())} of {len(values)}; "
            "drop those rows first."
        )
    return values


def missing_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values of a target are missing, ``(n,)``.

    Examples
    --------
    >>> print(missing_values(np.array(["a", None], dtype=object)))
    [False  True]
    """
    if values.dtype.kind == "O":
        cells = values.tolist()
        if _all_text(cells):
            return np.zeros(len(cells), dtype=bool)
        return np.array([_is_missing(value) for value in cells], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def _one_value_per_row(y: Any) -> NDArray[Any]:
    """A target as one array, missing values among them."""
    values = _one_column(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"the target must be one value per row, got shape {values.shape}; "
            "pass one column, labels not one-hot."
        )
    return values


def _one_column(y: Any) -> NDArray[Any]:
    """An array, a series of any library, a frame of one column or a list as an array."""
    if isinstance(y, np.ndarray):
        return y
    if isinstance(y, str | bytes | Mapping) or not isinstance(y, Iterable):
        raise InputTypeError(
            f"the target must be one value per row, got {described(y)}; pass an array of them."
        )
    if is_frame(y) and len(as_frame(y).columns) == 1:
        y = as_frame(y)[as_frame(y).columns[0]]
    reader = next((name for name in ("to_pylist", "to_list") if hasattr(y, name)), None)
    with naming("reading the target", "give one number or label per row"):
        cells = list(y) if reader is None else list(getattr(y, reader)())
    # numpy would spell a missing label "nan"
    mixed = not _all_text(cells) and any(_is_missing(cell) for cell in cells)
    with naming("reading the target", "give one number or label per row"):
        return np.asarray(cells, dtype=object) if mixed else np.asarray(cells)


def _all_text(cells: list[Any]) -> bool:
    """Whether no cell can be missing because all are text; far faster than a look at each."""
    return set(map(type, cells)) == {str}


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA has no truth value
        return True
    except ValueError:  # an array, not a cell
        return False


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Objects to text or numbers where they are all of one kind; mixed ones become text."""
    kinds = {type(value) for value in values.tolist()}
    if kinds <= {bool, np.bool_}:
        return values.astype(bool)
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return values.astype(np.int64)
    if all(issubclass(kind, int | float | np.number) for kind in kinds):
        return values.astype(np.float64)
    return np.array([str(value) for value in values.tolist()])


def guess_task(values: NDArray[Any]) -> Task:
    """Classification for text, booleans and few distinct integers; regression otherwise.

    Examples
    --------
    >>> print(guess_task(np.array(["a", "b"])), guess_task(np.array([0.5, 1.5])))
    classification regression
    """
    if values.dtype.kind in "fc":
        return "regression"
    if values.dtype.kind in "iu" and len(np.unique(values)) > MOST_CLASSES:
        return "regression"
    return "classification"


def resolve_task(values: NDArray[Any] | None, asked: str | None, kind: str | None) -> Task:
    """Choose the task from the target, the task that was given and what the model can do."""
    if asked is not None and asked not in TASKS:
        raise InputError(f"task must be one of {', '.join(TASKS)}, got {asked!r}.")
    if asked is not None and kind is not None and asked != kind:
        raise InputError(
            f"the model does {kind}, got task={asked!r}; drop task= or choose another model."
        )
    wanted = kind or asked or (guess_task(values) if values is not None else "density")
    if wanted != "density" and values is None:
        raise InputError(
            f"{wanted} needs a target, got none; name the column with target= "
            "or pass each sample as a pair (X, y)."
        )
    if wanted == "regression" and values is not None and values.dtype.kind not in "biuf":
        raise InputError(
            f"regression needs a target of numbers, got text such as {str(values[0])!r}; "
            "use a classifier or another target column."
        )
    return "density" if wanted == "density" else _known(wanted)


def _known(task: str) -> Task:
    return "classification" if task == "classification" else "regression"


def encode_labels(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes ``(n,)`` and sorted classes, refusing a pool with one class only."""
    classes, codes = np.unique(values, return_inverse=True)
    check_classes(classes)
    return codes.astype(np.intp), classes


def check_classes(classes: NDArray[Any]) -> None:
    """Refuse a pool with one class only."""
    if len(classes) < 2:
        raise InputError(
            f"classification needs at least two classes in the pool, got only "
            f"{classes[0]!s}; choose another target column."
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows (an array, `DatasetRows`, or a frame in narwhals) and the target beside them."""

    x: Any
    y: Any = None


def as_sample(obj: Any, name: str, *, missing: bool = False) -> Sample:
    """Rows and target of a sample, checked; with `missing` its target may have missing values."""
    values = _one_value_per_row if missing else target_values
    if isinstance(obj, tuple):
        if len(obj) != 2:
            raise InputError(
                f"a sample given as a tuple must be a pair (X, y), got {len(obj)} parts in {name}."
            )
        if obj[1] is None:
            raise InputError(
                f"{name} is a pair (X, y) whose y is None; pass X alone, or give its target."
            )
        return Sample(_rows(obj[0], name), values(plain_array(obj[1])))
    if is_torch_dataset(obj):
        return _dataset(obj, name, values)
    table = as_partitions(obj, name)
    return Sample(_rows(obj if table is None else table.whole(), name))


def has_target(sample: object, target: str | None) -> bool:
    """Whether a sample comes with a target: by a column's name, as a pair, or in a dataset."""
    if target is not None or isinstance(sample, tuple):
        return True
    if not is_torch_dataset(sample) or not isinstance(sample, MapStyle) or not len(sample):
        return False
    item = sample[0]
    return isinstance(item, tuple | list) and len(item) == 2


def _rows(obj: Any, name: str) -> Any:
    obj = plain_array(obj)
    if isinstance(obj, np.ndarray):
        return _array(obj, name)
    _refuse_other_things(obj, name)
    columns = list(getattr(obj, "column_names", getattr(obj, "columns", ())))
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise InputError(
            f"column names must be unique, got {quoted(twice)} more than once in {name}; "
            "rename them."
        )
    return within_64_bits(as_frame(obj)) if is_frame(obj) else _array(obj, name)


def _refuse_other_things(obj: Any, name: str) -> None:
    """Things that are no rows but could become some: say how."""
    hint = None
    if isinstance(obj, str | os.PathLike):
        hint = (
            f"read the file first, with rdiv.read({os.fspath(obj)!r}), or in partitions with "
            "rdiv.scan"
        )
    elif isinstance(obj, Mapping):
        hint = "make a frame of it, such as pandas.DataFrame(...)"
    elif hasattr(obj, "toarray") and hasattr(obj, "nnz"):
        hint = "sparse rows must be made dense, with .toarray()"
    elif obj is None or isinstance(obj, bytes | set | frozenset) or callable(obj):
        hint = "pass the rows themselves"
    if hint is not None:
        raise InputTypeError(
            f"{name} must be an array, a frame, a tensor or a dataset, got {described(obj)}; "
            f"{hint}."
        )


def _array(obj: Any, name: str) -> NDArray[Any]:
    try:
        x = np.asarray(obj)
    except (ValueError, TypeError) as error:
        ragged = "inhomogeneous" in str(error)
        reason = "rows of different lengths" if ragged else f"{described(obj)} ({error})"
        raise InputError(f"{name} must be a rectangular array, got {reason}.") from None
    if x.dtype.kind not in "biuf":
        raise InputTypeError(
            f"an array must hold numbers, got {name} of type {x.dtype}; pass a pandas, polars or "
            "pyarrow frame for columns of text, categories or dates."
        )
    if x.dtype.itemsize > 8:  # extended precision has padding, and no model has it
        x = x.astype(np.float64)
    if x.ndim == 0:
        raise InputError(f"{name} must have rows, got a single number.")
    return x[:, None] if x.ndim == 1 else x


def _dataset(dataset: Any, name: str, values: Callable[[Any], NDArray[Any]]) -> Sample:
    """A map-style torch dataset: rows, or pairs of row and target, read when they are needed."""
    tensors = getattr(dataset, "tensors", None)
    if type(dataset).__name__ == "TensorDataset" and tensors is not None and len(tensors) < 3:
        rows, *targets = tensors  # in memory already
        y = values(plain_array(targets[0])) if targets else None
        return Sample(_array(plain_array(rows), name), y)
    read, y = read_dataset(dataset, name)
    return Sample(read, None if y is None else values(y))


def finite_target(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """A target of numbers; infinite and very large ones are refused."""
    if not np.isfinite(y).all():
        raise InputError(
            f"the target must be finite, got {int((~np.isfinite(y)).sum())} infinite values; "
            "drop those rows first."
        )
    largest = np.abs(y).max(initial=0.0)
    if largest > MOST_TARGET:
        raise InputError(
            f"the target must lie within {MOST_TARGET:g} of 0, or its square is not a number any "
            f"more, got {largest:g}; give it in larger units."
        )
    return y
