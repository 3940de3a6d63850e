"""Logged predictions and losses of a model in use: columns of the samples that are not inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.frames import python_values, quoted
from rdiv.samples.sample import Task

__all__ = ["Logged", "Prediction", "logged_numbers", "read_logged"]

Prediction = str | Mapping[Any, str] | None
"""A column's name, or one column per class."""

_ROUNDED = 0.01  # by how much the logged probabilities of a row may miss 1


@dataclass(frozen=True, eq=False)
class Logged:
    """What the samples say about a model in use, row by row.

    Parameters
    ----------
    predictions : mapping
        Values of each column of predictions, by class; by None where there is one column. Numbers
        of many rows may come as an array.
    losses : (n,) array, optional
    n_p : int
        Rows of p, which come first.
    """

    predictions: Mapping[Any, list[Any] | NDArray[Any]]
    losses: NDArray[np.float64] | None
    n_p: int

    def columns(self) -> list[NDArray[Any]]:
        """The predictions as given, for the keys of the rows."""
        return [_as_array(values) for _, values in sorted(self.predictions.items(), key=_by_text)]

    def prediction(
        self, task: Task, classes: NDArray[Any] | None, name: Prediction
    ) -> NDArray[Any] | None:
        """Predictions that fit the task, or an error that says why they do not.

        Returns
        -------
        array or None
            For regression ``(n,)`` numbers; for classification the probabilities of all classes,
            ``(n, K)``, or the codes of the predicted classes, ``(n,)``, -1 for a class that the
            target does not have.
        """
        if not self.predictions:
            return None
        if task == "density":
            raise InputError(
                "prediction= needs the target that was predicted, got none; name it with target=."
            )
        if task == "regression":
            return self._values(name)
        assert classes is not None
        if isinstance(name, Mapping):
            return self._of_each_class(classes, name)
        return self._of_classes(self.predictions[None], classes, str(name))

    def _values(self, name: Prediction) -> NDArray[np.float64]:
        if isinstance(name, Mapping):
            raise InputError(
                "prediction= for regression is one column of values, got one for each of "
                f"{len(name)} classes; name one column, or say task='classification'."
            )
        return logged_numbers(self.predictions[None], f"the prediction column {name!r}", self.n_p)

    def _of_each_class(self, classes: NDArray[Any], name: Mapping[Any, str]) -> NDArray[np.float64]:
        known = {str(label): column for label, column in self.predictions.items()}
        lacking = [str(label) for label in classes.tolist() if str(label) not in known]
        if lacking:
            raise InputError(
                f"prediction= needs a column for every class of the target, got none for "
                f"{quoted(lacking)}; add {lacking[0]}=COLUMN, or check the target."
            )
        columns = {
            label: _probabilities(values, name_of(name, label), self.n_p)
            for label, values in known.items()
        }
        total = np.sum(list(columns.values()), axis=0)
        off = np.flatnonzero(np.abs(total - 1) > _ROUNDED)
        if len(off):
            raise InputError(
                "predicted probabilities must add up to 1 in every row, got "
                f"{total[off[0]]:.4g} in {_place(off[0], self.n_p)} ({len(off)} such rows); check "
                "that every class has its column."
            )
        return np.stack([columns[str(label)] for label in classes.tolist()], axis=1)

    def _of_classes(
        self, values: list[Any] | NDArray[Any], classes: NDArray[Any], name: str
    ) -> NDArray[Any]:
        found = _codes(values, classes)
        if (found >= 0).all():
            return found
        if isinstance(values, np.ndarray):
            numbers = values.dtype.kind == "f"
        else:
            numbers = all(value is None or isinstance(value, Real) for value in values)
            numbers = numbers and not any(isinstance(value, bool) for value in values)
        if not numbers:
            _refuse_missing(values, f"the prediction column {name!r}", self.n_p)
            if (found < 0).all():
                raise InputError(
                    f"the prediction column {name!r} holds values such as {values[0]!r}, and the "
                    f"target has the classes {quoted(classes.tolist())}; give predicted classes "
                    "or probabilities."
                )
            return found
        if len(classes) > 2:
            raise InputError(
                f"one column of numbers cannot predict {len(classes)} classes, got prediction="
                f"{name!r}; give one column per class ({classes[0]}=COLUMN and so on), or a column "
                "of predicted classes."
            )
        last = _probabilities(values, name, self.n_p)
        return np.stack([1 - last, last], axis=1)


def _codes(values: list[Any] | NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The class of every value, -1 for what is none."""
    codes = {label: code for code, label in enumerate(classes.tolist())}
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return np.array([codes.get(value, -1) for value in list(values)], dtype=np.intp)
    if classes.dtype.kind not in "biuf":
        return np.full(len(values), -1, dtype=np.intp)
    numbers = classes.astype(np.float64)
    at = np.minimum(np.searchsorted(numbers, values), len(numbers) - 1)
    return np.where(numbers[at] == values, at, -1)


def name_of(columns: Mapping[Any, str], label: str) -> str:
    """The column of a class, whose label may be given as text."""
    return next(column for key, column in columns.items() if str(key) == label)


def read_logged(
    x: Any, prediction: Prediction, loss: str | None, n_p: int
) -> tuple[Any, Logged | None]:
    """Take the columns of predictions and losses out of the stacked rows.

    Parameters
    ----------
    x : Frame or array
    prediction : str, mapping of class to column, or None
    loss : str or None
    n_p : int
        Rows of p, which come first.
    """
    if prediction is None and loss is None:
        return x, None
    role = "prediction" if loss is None else "loss"
    if isinstance(x, np.ndarray | DatasetRows):
        raise InputError(
            f"{role}= names a column of a frame, got arrays; pass frames, or wrap the fitted model "
            "in rdiv.models.Frozen."
        )
    columns = dict(prediction) if isinstance(prediction, Mapping) else {None: prediction}
    columns = {} if prediction is None else columns
    predictions = {label: python_values(x[name]) for label, name in columns.items()}
    losses = None
    if loss is not None:
        losses = logged_numbers(python_values(x[loss]), f"the loss column {loss!r}", n_p)
    taken = [*columns.values(), *([] if loss is None else [loss])]
    return x.drop(taken), Logged(predictions, losses, n_p)


def _by_text(item: tuple[Any, Any]) -> str:
    return str(item[0])


def _as_array(values: list[Any] | NDArray[Any]) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(value, Real) for value in values):
        return np.array(values, dtype=np.float64)
    return np.array([str(value) for value in values])


def logged_numbers(values: list[Any] | NDArray[Any], what: str, n_p: int) -> NDArray[np.float64]:
    """Logged values as numbers, none of them missing."""
    _refuse_missing(values, what, n_p)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values
    if not all(isinstance(value, Real) for value in values):
        odd = next(value for value in values if not isinstance(value, Real))
        raise InputError(f"{what} must hold numbers, got {odd!r}; check the name of the column.")
    return np.array(values, dtype=np.float64)


def _refuse_missing(values: list[Any] | NDArray[Any], what: str, n_p: int) -> None:
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values)).tolist()
    else:
        bad = [row for row, value in enumerate(values) if not _is_finite(value)]
    if bad:
        raise InputError(
            f"{what} must have a value in every row, got {len(bad)} missing or infinite, the first "
            f"in {_place(bad[0], n_p)}; fill them or drop those rows."
        )


def _is_finite(value: Any) -> bool:
    return value is not None and (not isinstance(value, Real) or bool(np.isfinite(float(value))))


def _probabilities(values: list[Any] | NDArray[Any], name: str, n_p: int) -> NDArray[np.float64]:
    numbers = logged_numbers(values, f"the prediction column {name!r}", n_p)
    off = np.flatnonzero((numbers < 0) | (numbers > 1))
    if len(off):
        raise InputError(
            f"the prediction column {name!r} must hold probabilities between 0 and 1, got "
            f"{numbers[off[0]]:g} in {_place(off[0], n_p)} ({len(off)} such rows); give "
            "probabilities, or a column of predicted classes."
        )
    return numbers


def _place(row: int, n_p: int) -> str:
    """A row of the stacked samples, by its sample and its place there."""
    return f"row {row} of p" if row < n_p else f"row {row - n_p} of q"
