"""A deployed model that is not refitted."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import isclass, isroutine
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.models.adapters import ROW_LOSSES, TASKS, Kind, as_model, estimator_kind, tagged
from rdiv.models.frozen_outputs import FrozenKind, fitted_as_it_is, read_predictions
from rdiv.models.networks.modules import evaluate, is_module
from rdiv.models.networks.objectives import class_probabilities
from rdiv.models.onnx_file import OnnxModel
from rdiv.models.protocol import FittedModel, Model, task_of
from rdiv.names import one_line
from rdiv.samples.pool import Pool

__all__ = ["Frozen", "frozen_kind", "is_fitted", "same_model"]

_UNSAID = "unsaid"


@dataclass(frozen=True, eq=False, repr=False)
class Frozen:
    """A fitted model, used as it is: the question is then about *this* model.

    Parameters
    ----------
    fitted : estimator, torch.nn.Module, OnnxModel, FittedModel or any object that predicts
        A fitted scikit-learn estimator or pipeline, a trained torch module, an `OnnxModel`, an
        object with ``losses(pool)``, or one with ``predict_proba(x)`` or ``predict(x)``. It gets
        the rows as given, a frame as a frame; a module gets arrays or tensors, and bytes of images
        as numbers in [0, 1]. The task of a module is that of the data: outputs are logits of the
        classes, one number, or the reconstructed inputs.
    trained_on : {"neither"}
        Must be said: neither sample may have served to train, tune or calibrate the model, or the
        test would compare training rows with fresh ones and raise false alarms.

    Notes
    -----
    Probabilities of classes give the log loss, values the squared error. Of an object that has
    only ``predict`` the task decides: for a target of numbers it gives values; for classes it gives
    predicted classes (0/1 loss), the probabilities of all classes, or for two classes that of the
    last. Columns of probabilities belong to ``classes_``, or without it to the classes of the
    target, sorted.

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
        _refuse_no_model(self.fitted)
        _ = self._kind  # an object that is no model is refused here, not later

    def __repr__(self) -> str:
        return f"Frozen({one_line(_text_of(self.fitted))})"

    __str__ = __repr__

    @property
    def task(self) -> str | None:
        """The one task the model does; None leaves it to the data."""
        kind = self._kind
        if kind is None:
            return task_of(self.fitted)
        if kind == "predictor":
            return None
        return "classification" if kind == "classes" else TASKS[kind]

    def loss_name(self, pool: Pool) -> str:
        """What its losses are."""
        kind = self._kind
        if kind == "classes" or kind == "predictor":
            return read_predictions(self.fitted, kind, pool)
        if kind is not None:
            return ROW_LOSSES[kind]
        modules = {"classification": "log loss", "regression": "squared error"}
        return modules.get(pool.task, "reconstruction error") if is_module(self.fitted) else "loss"

    @property
    def _kind(self) -> FrozenKind | None:
        inner = _unwrapped(self.fitted)
        own = hasattr(inner, "losses") or is_module(inner)
        return None if own else frozen_kind(inner)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """Return the model unchanged."""
        del rng
        if is_module(self.fitted):
            return frozen_module(self.fitted, pool)
        if self._kind is None:
            model: FittedModel = self.fitted
            return model
        if not is_fitted(self.fitted):
            raise InputError(
                f"Frozen needs a fitted model, got {type(self.fitted).__name__} before its fit; "
                "fit it on other rows, or pass it without Frozen to have it fitted on the pool."
            )
        return fitted_as_it_is(self.fitted, self._kind, pool)


def _refuse_no_model(fitted: Any) -> None:
    what = None
    if isinstance(fitted, str):
        what = f"the name {fitted!r}"
    elif isclass(fitted):
        what = f"the class {fitted.__name__}"
    elif isroutine(fitted):
        what = f"the function {fitted.__name__}; give an object whose predict(x) calls it"
    if what is not None:
        raise InputTypeError(f"Frozen needs a fitted model, got {what}.")


def frozen_kind(obj: Any) -> FrozenKind:
    """What a fitted model gives: what scikit-learn says of it, or else which methods it has.

    Examples
    --------
    >>> class Rule:
    ...     def predict(self, x):
    ...         return x[:, 0] > 0
    >>> print(frozen_kind(Rule()))
    predictor
    """
    from sklearn.base import is_classifier, is_clusterer, is_regressor

    if isinstance(obj, OnnxModel):
        return "classifier" if obj.task == "classification" else "predictor"
    if tagged(obj, is_classifier):
        return "classifier" if hasattr(obj, "predict_proba") else "classes"
    if tagged(obj, is_regressor):
        return "regressor"
    found = next((kind for method, kind in _METHODS.items() if hasattr(obj, method)), None)
    if found is None or (found == "predictor" and tagged(obj, is_clusterer)):
        raise InputTypeError(
            "Frozen needs a fitted model that predicts, reconstructs or scores rows, got "
            f"{type(obj).__name__}, which {'has no such method' if found is None else 'clusters'}; "
            "give an object with predict_proba, predict, inverse_transform, score_samples or "
            "losses."
        )
    return found


_METHODS: dict[str, FrozenKind] = {
    "inverse_transform": "reconstruction",
    "score_samples": "score",
    "predict_proba": "classifier",
    "predict": "predictor",
}


def is_fitted(model: Any) -> bool:
    """Whether a model was fitted, as far as scikit-learn can tell; other objects count as fitted.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> print(is_fitted(Ridge()), is_fitted(Ridge().fit([[0.0], [1.0]], [0.0, 1.0])))
    False True
    """
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, BaseEstimator):
        return True  # it will say so itself
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # it has no fit
        return True
    return True


def same_model(given: object) -> Model | None:
    """The model to train that a given model was once, where that is known.

    Parameters
    ----------
    given : Model
        A model that comes as it is in use.

    Returns
    -------
    Model or None
        A copy of a scikit-learn estimator before its fit, or the model inside `Trained`. None where
        only the result of the training is known: a torch module, an ONNX file, logged predictions
        and losses, an object that only predicts.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> fitted = Ridge(alpha=2.0).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> print(same_model(Frozen(fitted, trained_on="neither")))
    Ridge(alpha=2.0)
    """
    from rdiv.models.trained import Trained

    if isinstance(given, Trained):
        model: Model = given.model
        return model
    if not isinstance(given, Frozen):
        return None
    from sklearn.base import BaseEstimator, clone

    inner = _unwrapped(given.fitted)
    if not isinstance(inner, BaseEstimator) or is_module(inner) or hasattr(inner, "losses"):
        return None
    try:
        estimator_kind(inner)
        return as_model(clone(inner))
    except Exception:  # it cannot be copied, or trained by us
        return None


def _unwrapped(fitted: Any) -> Any:
    """The estimator inside scikit-learn's own FrozenEstimator."""
    from sklearn.frozen import FrozenEstimator

    return fitted.estimator if isinstance(fitted, FrozenEstimator) else fitted


def _text_of(fitted: Any) -> str:
    """A short text that holds no rows: that of an estimator or a file, or the name of the class."""
    from sklearn.base import BaseEstimator

    if isinstance(fitted, OnnxModel):
        return str(fitted)
    return repr(fitted) if isinstance(fitted, BaseEstimator) else type(fitted).__name__


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
        return fitted_as_it_is(_Outputs(module, classes), "classifier", pool)
    wanted = 1 if pool.task == "regression" else int(np.prod(pool.x.shape[1:]))
    if width != wanted:
        raise InputError(
            f"a module for {pool.task} must give {wanted} number{'s' * (wanted > 1)} per row, got "
            f"{width}; name the target, say task=, or freeze another module."
        )
    kind: Kind = "regressor" if pool.task == "regression" else "reconstruction"
    return fitted_as_it_is(_Outputs(module), kind, pool)


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
