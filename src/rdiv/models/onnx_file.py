"""A model in an ONNX file, evaluated by onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputFileError, MissingExtraError, MissingFileError, naming
from rdiv.models.onnx_inputs import Feed, OnnxInput, feed_of
from rdiv.names import visible
from rdiv.samples.frames import quoted

__all__ = ["OnnxModel", "OnnxOutput"]

_ROWS = 4096
_NAMES = ("probabilities", "output_probability", "probability")
"""What converters call the output to take when there are several of numbers."""


class OnnxOutput(NamedTuple):
    """What a file gave for some rows.

    Parameters
    ----------
    values : (n,) or (n, K) array
        Values, predicted classes, or probabilities.
    classes : (K,) array or None
        What each column of probabilities stands for, where the file says it.
    """

    values: NDArray[Any]
    classes: NDArray[Any] | None


@dataclass(frozen=True, eq=False, repr=False)
class OnnxModel:
    """A fitted model in an ONNX file, to be put into `Frozen`.

    Parameters
    ----------
    path : str or path
        The file, whose name ends in ``.onnx``. It is read when the model is first used, once per
        process, and evaluated on one thread.

    Notes
    -----
    *Inputs*: one array ``(n, d)``, which gets the columns of the samples in their order, or one
    input per column, found by its name. Columns without an input are then left out. Missing cells
    are NaN for inputs of floats, and refused for those of whole numbers and text. A file for
    batches of a fixed size gets such batches.

    *Outputs*: probabilities ``(n, K)``, also beside predicted classes or as a list of maps from
    class to probability (a "zipmap"); predicted classes alone; or one value per row. Without a
    zipmap, columns of probabilities belong to the sorted classes of the target.

    Examples
    --------
    >>> OnnxModel("model.pkl")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: an ONNX model is a file that ends in .onnx, got 'model.pkl'; ...
    """

    path: str | os.PathLike[str]
    _found: str = field(init=False)

    def __post_init__(self) -> None:
        name = os.fspath(self.path)
        if not name.lower().endswith(".onnx"):
            raise InputError(
                f"an ONNX model is a file that ends in .onnx, got {name!r}; export the model to "
                "ONNX, or give its predictions as a column."
            )
        if not os.path.isfile(name):
            what = "is a folder" if os.path.isdir(name) else "does not exist"
            raise MissingFileError(f"the ONNX file {name!r} {what}; check the path.")
        object.__setattr__(self, "_found", os.path.abspath(name))

    def __str__(self) -> str:
        return visible(os.path.basename(self._found))

    def __repr__(self) -> str:
        return f"OnnxModel({str(self)!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_found": self._found}  # another process reads the file anew

    @property
    def task(self) -> str | None:
        """``"classification"`` where the file gives probabilities; None where it may be either."""
        place, sort = self._output
        several = len(self._session.get_outputs()) > 1
        shape = self._session.get_outputs()[place].shape
        wide = len(shape) == 2 and isinstance(shape[1], int) and shape[1] > 1
        return "classification" if sort == "maps" or several or wide else None

    def run(self, rows: Any) -> OnnxOutput:
        """Outputs for some rows.

        Parameters
        ----------
        rows : array or frame
        """
        feed = feed_of(self._inputs, rows, str(self))
        place, sort = self._output
        name = self._session.get_outputs()[place].name
        with naming(f"evaluating {self}", "check that it takes rows of the samples' columns"):
            parts = [self._session.run([name], block)[0] for block in _batches(feed)]
        if sort == "maps":
            return _from_maps([row for part in parts for row in part][: feed.n])
        values = np.concatenate([_by_row(part, self) for part in parts])[: feed.n]
        if len(values) != feed.n:
            raise InputError(
                f"{self} must give one output per row, got {len(values)} for {feed.n} rows."
            )
        return OnnxOutput(values, None)

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtraError(
                'an ONNX file needs onnxruntime; install it with pip install "rdiv[onnx]".'
            ) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.log_severity_level = 4  # errors come as exceptions
        try:
            return onnxruntime.InferenceSession(
                self._found, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            reason = (str(error).strip().splitlines() or [""])[0].replace(self._found, str(self))
            raise InputFileError(
                f"{os.fspath(self.path)!r} is no ONNX model that onnxruntime can read "
                f"({reason.rstrip('.')}); check the file, or export the model again."
            ) from error

    @cached_property
    def _inputs(self) -> tuple[OnnxInput, ...]:
        return tuple(
            OnnxInput(given.name, tuple(given.shape), given.type)
            for given in self._session.get_inputs()
        )

    @cached_property
    def _output(self) -> tuple[int, str]:
        """Place and sort of the output to take."""
        outputs = self._session.get_outputs()
        sorts = [_sort(output.type) for output in outputs]
        for sort in ("maps", "numbers"):
            places = [place for place, found in enumerate(sorts) if found == sort]
            named = [place for place in places if outputs[place].name.lower() in _NAMES]
            if len(places) == 1 or named:
                return (named or places)[0], sort
        if len(outputs) == 1 and sorts[0] == "labels":
            return 0, "labels"
        raise InputError(
            f"{self} must give probabilities, classes or values in one output, got "
            f"{quoted([f'{output.name}: {output.type}' for output in outputs])}; export it with "
            "one output, or with one called 'probabilities'."
        )


def _sort(kind: str) -> str:
    if kind.startswith("seq(map("):
        return "maps"
    if kind in ("tensor(float)", "tensor(double)", "tensor(float16)"):
        return "numbers"
    return "labels" if kind.startswith("tensor(") else "other"


def _batches(feed: Feed) -> Sequence[dict[str, NDArray[Any]]]:
    """The rows in parts; a last one that is too short for a fixed size is filled with copies."""
    step = feed.batch or _ROWS
    found = []
    for start in range(0, feed.n, step):
        part = {name: values[start : start + step] for name, values in feed.arrays.items()}
        lacking = (feed.batch or 0) - min(step, feed.n - start)
        if lacking > 0:
            part = {
                name: np.concatenate([values, np.repeat(values[-1:], lacking, axis=0)])
                for name, values in part.items()
            }
        found.append(part)
    return found


def _by_row(part: Any, model: OnnxModel) -> NDArray[Any]:
    values = np.asarray(part)
    if values.ndim == 0:
        raise InputError(f"{model} must give one output per row, got a single number.")
    flat = values.reshape(len(values), -1)
    return flat[:, 0] if flat.shape[1] == 1 else flat


def _from_maps(rows: list[dict[Any, float]]) -> OnnxOutput:
    classes = sorted(rows[0])
    values = np.array([[row[label] for label in classes] for row in rows], dtype=np.float64)
    return OnnxOutput(values, np.array(classes))
