"""A deployed model that is not refitted."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import isclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.models.adapters import (
    ROW_LOSSES,
    TASKS,
    Kind,
    aligned,
    called,
    class_losses,
    estimator_kind,
    estimator_losses,
    estimator_residuals,
    reconstruction_residuals,
)
from rdiv.models.corrections import correction_owners, linear_correction
from rdiv.models.networks.modules import evaluate, is_module
from rdiv.models.networks.objectives import class_probabilities
from rdiv.models.protocol import FittedModel, task_of
from rdiv.names import one_line
from rdiv.samples.pool import Pool

__all__ = ["Frozen"]

_UNSAID = "unsaid"


@dataclass(frozen=True, eq=False, repr=False)
class Frozen:
    """A fitted model, used as it is: the question is then about *this* model.

    Parameters
    ----------
    fitted : estimator, torch.nn.Module or FittedModel
        A fitted scikit-learn estimator or pipeline, a trained torch module, or an object with
        ``losses(pool)``. It gets the rows as given, a frame as a frame; a module gets
        arrays or tensors, and bytes of images as numbers in [0, 1]. The task of a module is that of
        the data: outputs are logits of the classes, one number, or the reconstructed inputs.
    trained_on : {"neither"}
        Must be said: neither sample may have served to train, tune or calibrate the model, or the
        test would compare training rows with fresh ones and raise false alarms.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> print(Frozen(model, trained_on="neither"))
    Frozen(LinearRegression())
    >>> Frozen(model)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: Frozen needs trained_on="neither", which says that ...
    """

    fitted: Any
    trained_on: str = _UNSAID

    held_out = True
    given = True

    def __post_init__(self) -> None:
        if self.trained_on != "neither":
            said = "nothing was said" if self.trained_on == _UNSAID else f"got {self.trained_on!r}"
            raise InputError(
                'Frozen needs trained_on="neither", which says that neither sample was used to '
                f"train, tune or calibrate the model; {said}. If rows of a sample were used, pass "
                "held-out rows instead, or let rdiv fit the model."
            )
        if isinstance(self.fitted, str):
            raise InputTypeError(f"Frozen needs a fitted model, got the name {self.fitted!r}.")
        if isclass(self.fitted):
            raise InputTypeError(
                f"Frozen needs a fitted model, got the class {self.fitted.__name__}."
            )

    def __repr__(self) -> str:
        own = type(self.fitted).__name__ if self._kind is None else repr(self.fitted)
        return f"Frozen({one_line(own)})"

    __str__ = __repr__

    @property
    def task(self) -> str | None:
        """The one task the model does, if it is a scikit-learn estimator."""
        if self._kind is None:
            return task_of(self.fitted)
        return TASKS[self._kind]

    def loss_name(self, pool: Pool) -> str:
        """What its losses are."""
        if self._kind is not None:
            return ROW_LOSSES[self._kind]
        modules = {"classification": "log loss", "regression": "squared error"}
        return modules.get(pool.task, "reconstruction error") if is_module(self.fitted) else "loss"

    @property
    def _kind(self) -> Kind | None:
        inner = (
            getattr(self.fitted, "estimator", self.fitted)
            if _is_frozen(self.fitted)
            else self.fitted
        )
        own = hasattr(inner, "losses") or is_module(inner)
        return None if own else estimator_kind(inner)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """Return the model unchanged."""
        del rng
        if is_module(self.fitted):
            return frozen_module(self.fitted, pool)
        if self._kind is None:
            model: FittedModel = self.fitted
            return model
        _require_fitted(self.fitted)
        kinds = {"score": _FrozenEstimator, "reconstruction": _FrozenReconstruction}
        return kinds.get(self._kind, _FrozenPredictor)(self.fitted, self._kind)


def frozen_module(module: Any, pool: Pool) -> FittedModel:
    """A torch module as it is, for the task of a pool."""
    if pool.is_table:
        raise InputTypeError(
            "a frozen torch module takes arrays or tensors, got a table; turn its columns into the "
            "numbers that the module was trained on."
        )
    width = _Outputs(module).of(pool.take(np.arange(1)).given()).shape[1]
    if pool.task == "classification":
        assert pool.classes is not None
        classes = pool.classes if max(width, 2) == len(pool.classes) else np.arange(max(width, 2))
        return _FrozenPredictor(_Outputs(module, classes), "classifier")
    wanted = 1 if pool.task == "regression" else int(np.prod(pool.x.shape[1:]))
    if width != wanted:
        raise InputError(
            f"a module for {pool.task} must give {wanted} number{'s' * (wanted > 1)} per row, got "
            f"{width}; name the target, say task=, or freeze another module."
        )
    if pool.task == "regression":
        return _FrozenPredictor(_Outputs(module), "regressor")
    return _FrozenReconstruction(_Outputs(module), "reconstruction")


@dataclass(frozen=True, eq=False)
class _Outputs:
    """A torch module with the methods of a fitted estimator."""

    module: Any
    classes_: Any = None

    def of(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """Outputs for some rows, ``(n, m)``."""
        images = x.ndim > 2 and x.dtype == np.uint8
        name = type(self.module).__name__
        with naming(f"evaluating {name}", "check that it takes rows of the samples' shape"):
            outputs = evaluate(self.module, x / 255 if images else x)
            return outputs.reshape(len(x), -1)

    def predict_proba(self, x: NDArray[Any]) -> NDArray[np.float64]:
        return class_probabilities(self.of(x), len(self.classes_))

    def predict(self, x: NDArray[Any]) -> NDArray[np.float64]:
        return self.of(x)[:, 0]

    def transform(self, x: NDArray[Any]) -> NDArray[Any]:
        return x

    def inverse_transform(self, x: NDArray[Any]) -> NDArray[np.float64]:
        return self.of(x).reshape(x.shape)


def _require_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputError(
            f"Frozen needs a fitted model, got {type(estimator).__name__} before its fit; "
            "fit it on other rows, or pass it without Frozen to have it fitted on the pool."
        ) from None
    except TypeError:
        return  # not of scikit-learn's kind: it will say so itself


def _is_frozen(obj: Any) -> bool:
    from sklearn.frozen import FrozenEstimator

    return isinstance(obj, FrozenEstimator)


@dataclass(frozen=True, eq=False)
class _FrozenEstimator:
    estimator: Any
    kind: Kind

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        if self.kind != "classifier":
            return estimator_losses(self.estimator, self.kind, pool, pool.given())
        codes = _codes(self.estimator.classes_, pool)
        return class_losses(called(self.estimator, "predict_proba", pool.given()), codes, pool)


@dataclass(frozen=True, eq=False)
class _FrozenPredictor(_FrozenEstimator):
    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        codes = _codes(self.estimator.classes_, pool)
        return aligned(called(self.estimator, "predict_proba", pool.given()), codes, pool)

    def residuals(self, pool: Pool) -> NDArray[np.float64]:
        classify = self.kind == "classifier"
        codes = _codes(self.estimator.classes_, pool) if classify else None
        return estimator_residuals(self.estimator, codes, pool, pool.given())

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        return linear_correction(self.residuals(pool), pool)

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        return correction_owners(pool)


@dataclass(frozen=True, eq=False)
class _FrozenReconstruction(_FrozenEstimator):
    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        return reconstruction_residuals(self.estimator, pool.given())


def _codes(classes: Any, pool: Pool) -> NDArray[np.intp]:
    """Where the model's classes stand among those of the pool; -1 for those not in it."""
    assert pool.classes is not None
    places = {label: place for place, label in enumerate(pool.classes.tolist())}
    codes = np.array(
        [places.get(label, -1) for label in np.asarray(classes).tolist()], dtype=np.intp
    )
    if (codes < 0).all():
        raise InputError(
            f"the frozen classifier knows the classes {np.asarray(classes).tolist()[:5]}, but the "
            f"target has {pool.classes.tolist()[:5]}; check the target column and its type."
        )
    return codes
