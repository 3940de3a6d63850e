"""Losses of a deployed model, from whatever it gives: probabilities, classes, values, scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.losses import log_loss, squared_error
from rdiv.models.adapters import (
    Kind,
    aligned,
    called,
    estimator_losses,
    reconstruction_residuals,
)
from rdiv.models.corrections import class_residuals, correction_owners, linear_correction
from rdiv.models.onnx_file import OnnxModel
from rdiv.models.protocol import FittedModel
from rdiv.samples.frames import quoted
from rdiv.samples.pool import Pool

__all__ = ["FrozenKind", "Reading", "fitted_as_it_is", "read_predictions"]

FrozenKind = Kind | Literal["classes", "predictor"]
"""As `Kind`; or predicted classes alone; or ``predict`` of which the task decides what it gives."""

Reading = Literal["log loss", "squared error", "0/1 loss"]

_ROUNDING = 1e-6  # by how much a probability may leave [0, 1]
_MISSING_SHARE = 0.01  # by how much the probabilities of a row may miss 1
_LOOK = 50  # rows that show what kind of predictions a model gives


def fitted_as_it_is(model: Any, kind: FrozenKind, pool: Pool) -> FittedModel:
    """A model that is fitted already, with the losses that go with the task of a pool."""
    if kind == "score":
        return _Scores(model, kind)
    if kind == "reconstruction":
        return _Reconstruction(model, kind)
    _require_task(model, kind, pool)
    reading = read_predictions(model, kind, pool)
    if reading == "squared error":
        return _Values(model)
    return _Probabilities(model) if reading == "log loss" else _Classes(model)


def _require_task(model: Any, kind: FrozenKind, pool: Pool) -> None:
    tasks = {"classifier": "classification", "classes": "classification", "regressor": "regression"}
    needed = tasks.get(kind)
    if pool.task == "density":
        raise InputError(
            f"{_name(model)} predicts a target, got samples without one; name the column with "
            "target= or pass each sample as a pair (X, y)."
        )
    if needed is not None and needed != pool.task:
        raise InputError(
            f"{_name(model)} does {needed}, and the target is one of {pool.task}; choose another "
            f"target or model, or say task={needed!r}."
        )


def read_predictions(model: Any, kind: FrozenKind, pool: Pool) -> Reading:
    """Which loss the predictions of a model have on a pool.

    Classes give the 0/1 loss. Numbers are probabilities where there are as many per row as
    classes, or where there are two classes and one number, which is then that of the last class.

    Examples
    --------
    >>> class Rule:
    ...     def predict(self, x):
    ...         return np.where(x[:, 0] > 0, "yes", "no")
    >>> answers = {"y": np.array([0, 1]), "classes": np.array(["no", "yes"])}
    >>> pool = Pool(np.array([[-1.0], [1.0]]), **answers, task="classification")
    >>> print(read_predictions(Rule(), "predictor", pool))
    0/1 loss
    """
    if kind == "classifier":
        return "log loss"
    if pool.task == "regression":
        return "squared error"
    few = _predicted(model, pool.take(np.arange(min(_LOOK, len(pool)))))
    if kind == "predictor" and few.ndim == 2:
        return "log loss"
    if (_places(few, pool) < 0).all() and few.dtype.kind != "f":
        raise _unlike_the_target(model, few, pool)
    if kind == "classes" or few.dtype.kind != "f":
        return "0/1 loss"
    values = _predicted(model, pool)  # numbers that are no classes may come late
    if (_places(values, pool) >= 0).all():
        return "0/1 loss"
    assert pool.classes is not None
    outside = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
    if len(pool.classes) == 2 and not outside.any():
        return "log loss"
    raise _unlike_the_target(model, values[outside] if outside.any() else values, pool)


def _unlike_the_target(model: Any, values: NDArray[Any], pool: Pool) -> InputError:
    assert pool.classes is not None
    return InputError(
        f"{_name(model)} predicts values such as {values[:1].tolist()[0]!r}, and the target has "
        f"the classes {quoted(pool.classes.tolist())}; give predicted classes or the probability "
        "of each, or say task='regression'."
    )


@dataclass(frozen=True, eq=False)
class _Scores:
    """Scores of rows without a target."""

    model: Any
    kind: Kind

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        return estimator_losses(self.model, self.kind, pool, pool.given())


@dataclass(frozen=True, eq=False)
class _Reconstruction(_Scores):
    """Rows that are compressed and restored."""

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        return reconstruction_residuals(self.model, pool.given())


@dataclass(frozen=True, eq=False)
class _Classes:
    """Predicted classes, right or wrong."""

    model: Any

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        wrong: NDArray[np.bool_] = _places(_predicted(self.model, pool), pool) != pool.y
        return wrong.astype(np.float64)

    def predictions(self, pool: Pool) -> NDArray[np.float64]:
        assert pool.classes is not None
        found = _places(_predicted(self.model, pool), pool)
        chosen: NDArray[np.float64] = (found[:, None] == np.arange(len(pool.classes))) * 1.0
        return chosen


@dataclass(frozen=True, eq=False)
class _Values:
    """Predicted numbers, in squares of their errors."""

    model: Any

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        assert pool.y is not None
        return squared_error(pool.y, self._values(pool))

    def residuals(self, pool: Pool) -> NDArray[np.float64]:
        assert pool.y is not None
        residuals: NDArray[np.float64] = 2 * (self._values(pool) - pool.y)
        return residuals[:, None]

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        return linear_correction(self.residuals(pool), pool)

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        return correction_owners(pool)

    def _values(self, pool: Pool) -> NDArray[np.float64]:
        values = _predicted(self.model, pool)
        if values.shape != (len(pool),):
            raise InputError(
                f"{_name(self.model)} must predict one number per row, got shape {values.shape} "
                f"for {len(pool)} rows."
            )
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"{_name(self.model)} must predict numbers for a target of numbers, got "
                f"{values[0]!r}; choose another target, or say task='classification'."
            )
        return values.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Probabilities:
    """Predicted probabilities of the classes, in log losses."""

    model: Any

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        assert pool.y is not None
        return log_loss(pool.y, self.probabilities(pool))

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        raw, classes = _raw_probabilities(self.model, pool)
        assert pool.classes is not None
        known = pool.classes if classes is None else np.asarray(classes)
        if (raw.ndim == 1 or raw.shape[1] == 1) and len(known) == 2:
            raw = np.stack([1 - raw.reshape(-1), raw.reshape(-1)], axis=1)
        _check_probabilities(raw, known, pool, self.model, told=classes is not None)
        return aligned(raw, _codes(known, pool), pool)

    def residuals(self, pool: Pool) -> NDArray[np.float64]:
        assert pool.y is not None
        return class_residuals(self.probabilities(pool), pool.y)

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        return linear_correction(self.residuals(pool), pool)

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        return correction_owners(pool)


def _raw_probabilities(model: Any, pool: Pool) -> tuple[NDArray[Any], Any]:
    """What a model gives for the rows of a pool, and its classes where it says them."""
    if isinstance(model, OnnxModel):
        found = model.run(pool.given())
        return found.values, found.classes
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    return called(model, method, pool.given()), getattr(model, "classes_", None)


def _check_probabilities(
    raw: NDArray[Any], classes: NDArray[Any], pool: Pool, model: Any, *, told: bool
) -> None:
    if raw.ndim != 2 or raw.shape != (len(pool), len(classes)):
        per_row = raw.shape[1] if raw.ndim == 2 else 1
        whose = "it knows" if told else "the target has"
        raise InputError(
            f"{_name(model)} gives {per_row} probabilit{'y' if per_row == 1 else 'ies'} per row "
            f"for {len(raw)} of {len(pool)} rows, and {whose} {len(classes)} classes "
            f"({quoted(classes.tolist())}); give one for each class, or say its classes in "
            "classes_."
        )
    outside = ~((raw >= -_ROUNDING) & (raw <= 1 + _ROUNDING))  # NaN too
    if outside.any():
        raise InputError(
            f"{_name(model)} must give probabilities between 0 and 1, got {raw[outside][0]:g} "
            f"({int(outside.any(axis=1).sum())} such rows of {len(pool)}); turn scores into "
            "probabilities first."
        )
    off = np.abs(raw.sum(axis=1) - 1) > _MISSING_SHARE
    if off.any():
        raise InputError(
            f"probabilities of {_name(model)} must add up to 1 in every row, got "
            f"{raw[off][0].sum():.4g} ({int(off.sum())} such rows of {len(pool)}); check that they "
            "are those of all classes."
        )


def _predicted(model: Any, pool: Pool) -> NDArray[Any]:
    """Predictions for a pool; one per row as ``(n,)``."""
    if isinstance(model, OnnxModel):
        values = model.run(pool.given()).values
    else:
        values = called(model, "predict", pool.given())
    return values.reshape(-1) if values.size == len(pool) else values


def _places(labels: NDArray[Any], pool: Pool) -> NDArray[np.intp]:
    """Where labels stand among the classes of a pool; -1 for those that it does not have."""
    assert pool.classes is not None
    places = {label: place for place, label in enumerate(pool.classes.tolist())}
    return np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def _codes(classes: NDArray[Any], pool: Pool) -> NDArray[np.intp]:
    codes = _places(classes, pool)
    if (codes < 0).all():
        assert pool.classes is not None
        raise InputError(
            f"the frozen classifier knows the classes {classes.tolist()[:5]}, but the "
            f"target has {pool.classes.tolist()[:5]}; check the target column and its type."
        )
    return codes


def _name(model: Any) -> str:
    return str(model) if isinstance(model, OnnxModel) else type(model).__name__
