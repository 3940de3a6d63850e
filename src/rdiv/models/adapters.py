"""Any scikit-learn estimator as a model, and `as_model`, which decides what an object is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import isclass, signature
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.losses import log_loss, reconstruction_error, squared_error
from rdiv.models.corrections import class_residuals, correction_owners, linear_correction
from rdiv.models.networks.modules import is_module
from rdiv.models.protocol import Model
from rdiv.names import chosen, one_line
from rdiv.samples.pool import Pool, require_finite

__all__ = [
    "Estimator",
    "FittedEstimator",
    "FittedPredictor",
    "FittedReconstruction",
    "as_model",
    "estimator_kind",
    "losses_of_predictions",
    "residuals_of_predictions",
    "tagged",
    "takes_rng",
]

Kind = Literal["classifier", "regressor", "reconstruction", "score"]
InputsOf = Callable[[Any, Pool], Any]

TASKS: dict[Kind, str] = {
    "classifier": "classification",
    "regressor": "regression",
    "reconstruction": "density",
    "score": "density",
}
ROW_LOSSES: dict[Kind, str] = {
    "classifier": "log loss",
    "regressor": "squared error",
    "reconstruction": "reconstruction error",
    "score": "negative score",
}


def as_model(obj: Any) -> Model:
    """Make a `Model` of a name, a model, a torch module or a scikit-learn estimator.

    Parameters
    ----------
    obj : str, Model, torch.nn.Module or estimator
        Looked at in this order: a name in ``rdiv.models.BY_NAME``; an object whose ``fit`` takes
        ``rng`` (a model already); a torch module (see `TorchModel`); a classifier (its loss is the
        log loss, probabilities floored at 1e-12), a regressor (squared error), something with
        ``inverse_transform`` (reconstruction error) or with ``score_samples`` (its negative).

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> print(as_model("gmm"), as_model(LogisticRegression()).task)
    GaussianMixture(components='bic', covariance='auto') classification
    """
    if isinstance(obj, str):
        from rdiv.models import BY_NAME

        model: Model = chosen(obj, BY_NAME, "model")()
        return model
    if isclass(obj):
        raise InputTypeError(f"a model must be an object, got the class {obj.__name__}; add ().")
    if takes_rng(obj):
        accepted: Model = obj
        return accepted
    if is_module(obj):
        from rdiv.models.networks.torch_model import TorchModel

        return TorchModel(obj)
    return Estimator(obj, estimator_kind(obj))


def takes_rng(obj: Any) -> bool:
    """Whether an object has ``fit(pool, rng)``, so that it is a model as it is."""
    fit = getattr(obj, "fit", None)
    try:
        return fit is not None and "rng" in signature(fit).parameters
    except (TypeError, ValueError):
        return False


def estimator_kind(obj: Any) -> Kind:
    """What a scikit-learn estimator predicts, hence which loss it has."""
    from sklearn.base import is_classifier, is_regressor
    from sklearn.frozen import FrozenEstimator

    if isinstance(obj, FrozenEstimator):
        raise InputError(
            "a FrozenEstimator does not say what it was trained on; "
            'wrap the model in rdiv.models.Frozen(model, trained_on="neither").'
        )
    name = type(obj).__name__
    if not callable(getattr(obj, "fit", None)):
        predicts = hasattr(obj, "predict") or hasattr(obj, "predict_proba")
        hint = '; wrap a fitted model in rdiv.models.Frozen(model, trained_on="neither")'
        raise InputTypeError(
            "a model must be a name, a scikit-learn estimator, a torch module or an object with "
            f"fit(pool, rng), got {name}{hint * predicts}."
        )
    if tagged(obj, is_classifier):
        if not hasattr(obj, "predict_proba"):
            raise InputTypeError(
                f"a classifier needs predict_proba for its log loss, got {name} without it; "
                "wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        return "classifier"
    if tagged(obj, is_regressor):
        return "regressor"
    if hasattr(obj, "inverse_transform"):
        return "reconstruction"
    if hasattr(obj, "score_samples"):
        return "score"
    if hasattr(obj, "predict"):
        raise InputTypeError(
            f"scikit-learn cannot tell whether {name} is a classifier or a regressor; derive it "
            "from ClassifierMixin or RegressorMixin, and BaseEstimator."
        )
    raise InputTypeError(
        f"a model must predict, reconstruct or score rows, got {name} without predict_proba, "
        "predict, inverse_transform or score_samples."
    )


def tagged(obj: Any, check: Callable[[Any], bool]) -> bool:
    """Whether scikit-learn says so of an object; of others it says nothing."""
    try:
        return bool(check(obj))
    except Exception:  # a class without scikit-learn's tags
        return False


@dataclass(frozen=True, eq=False, repr=False)
class Estimator:
    """A scikit-learn estimator as a model; it is cloned, never fitted in place.

    Parameters
    ----------
    estimator : estimator
        Every ``random_state`` in it that is None is set from the generator of the run.
    kind : {"classifier", "regressor", "reconstruction", "score"}
        What its loss is made of: probabilities, predictions, reconstructed inputs, or scores.
    inputs : callable, optional
        From the estimator and a pool to what it is fitted on. By default a ``Pipeline`` gets the
        rows as given (a frame stays a frame), and any other estimator ``pool.numbers()``,
        flattened to one vector per row.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> print(as_model(LinearRegression()))
    LinearRegression()
    """

    estimator: Any
    kind: Kind
    inputs: InputsOf | None = None

    @property
    def task(self) -> str:
        """The one task the estimator does."""
        return TASKS[self.kind]

    @property
    def row_loss(self) -> str:
        """What its losses are."""
        return ROW_LOSSES[self.kind]

    def __repr__(self) -> str:
        return one_line(repr(self.estimator))

    __str__ = __repr__

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedEstimator:
        """Clone, seed and fit."""
        estimator = seeded_estimator(self.estimator, rng)
        inputs = (self.inputs or estimator_inputs)(estimator, pool)
        if self.kind == "classifier" and np.ptp(np.asarray(pool.y)) == 0:
            from sklearn.dummy import DummyClassifier

            estimator = DummyClassifier(strategy="prior")  # a fold that saw one class only
        with naming(f"fitting {type(estimator).__name__}", "check the model and its inputs"):
            if self.kind in ("classifier", "regressor"):
                estimator.fit(inputs, pool.y)
            else:
                estimator.fit(inputs)
        return fitted_estimator(estimator, self.kind, self.inputs)


@dataclass(frozen=True, eq=False)
class FittedEstimator:
    """A fitted scikit-learn estimator and the loss that goes with its kind."""

    estimator: Any
    kind: Kind
    inputs: InputsOf | None = None

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        return estimator_losses(self.estimator, self.kind, pool, self._inputs(pool))

    def _inputs(self, pool: Pool) -> Any:
        return (self.inputs or estimator_inputs)(self.estimator, pool)


@dataclass(frozen=True, eq=False)
class FittedPredictor(FittedEstimator):
    """A fitted classifier or regressor, which also has residuals."""

    def standard_predictions(self, pool: Pool) -> NDArray[np.float64]:
        """What losses and residuals follow from: see `losses_of_predictions`."""
        if self.kind == "classifier":
            return self.probabilities(pool)
        return one_number(self.estimator, self._inputs(pool), len(pool))

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        """Predicted probability of every class of the pool, ``(n, n_classes)``."""
        codes = np.asarray(self.estimator.classes_, dtype=np.intp)
        return aligned(called(self.estimator, "predict_proba", self._inputs(pool)), codes, pool)

    def residuals(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in its predictions, ``(n, r)``."""
        codes = None
        if self.kind == "classifier":
            codes = np.asarray(self.estimator.classes_, dtype=np.intp)
        return estimator_residuals(self.estimator, codes, pool, self._inputs(pool))

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in a linear correction of the predictions."""
        return linear_correction(self.residuals(pool), pool)

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        """The input column that each gradient belongs to; None for an offset."""
        return correction_owners(pool)


@dataclass(frozen=True, eq=False)
class FittedReconstruction(FittedEstimator):
    """A fitted estimator that reconstructs rows."""

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in an offset of each reconstructed column."""
        return reconstruction_residuals(self.estimator, self._inputs(pool))


def fitted_estimator(estimator: Any, kind: Kind, inputs: InputsOf | None = None) -> FittedEstimator:
    """A fitted estimator with all that its kind can say."""
    if kind == "score":
        return FittedEstimator(estimator, kind, inputs)
    if kind == "reconstruction":
        return FittedReconstruction(estimator, kind, inputs)
    return FittedPredictor(estimator, kind, inputs)


def estimator_residuals(
    estimator: Any, codes: NDArray[np.intp] | None, pool: Pool, inputs: Any
) -> NDArray[np.float64]:
    """Derivatives of the losses of a classifier (with the codes of its classes) or regressor."""
    assert pool.y is not None
    if codes is None:
        residuals: NDArray[np.float64] = 2 * (called(estimator, "predict", inputs) - pool.y)
        return residuals[:, None]
    return class_residuals(aligned(called(estimator, "predict_proba", inputs), codes, pool), pool.y)


def reconstruction_residuals(estimator: Any, inputs: Any) -> NDArray[np.float64]:
    """Derivatives of the reconstruction error in what is reconstructed, ``(n, d)``."""
    back = _reconstructed(estimator, inputs)
    return 2 * (back - np.asarray(inputs, dtype=np.float64))


def estimator_losses(estimator: Any, kind: Kind, pool: Pool, inputs: Any) -> NDArray[np.float64]:
    """Losses of a fitted estimator, given the inputs in the form that it wants."""
    if kind == "classifier":
        codes = np.asarray(estimator.classes_, dtype=np.intp)
        return class_losses(called(estimator, "predict_proba", inputs), codes, pool)
    if kind == "regressor":
        return losses_of_predictions(one_number(estimator, inputs, len(pool)), pool)
    if kind == "reconstruction":
        return reconstruction_error(np.asarray(inputs), _reconstructed(estimator, inputs))
    return -called(estimator, "score_samples", inputs).astype(np.float64)


def one_number(estimator: Any, inputs: Any, n: int) -> NDArray[np.float64]:
    """The predictions of a regressor, ``(n, 1)``, refused unless they are one number per row."""
    predicted = called(estimator, "predict", inputs)
    if predicted.size != n:
        raise InputError(
            f"{type(estimator).__name__} must predict one number per row, got shape "
            f"{predicted.shape} for {n} rows."
        )
    return predicted.reshape(n, 1).astype(np.float64, copy=False)


def losses_of_predictions(predictions: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
    """Losses of a classifier or regressor: log losses of probabilities, or squared errors.

    Parameters
    ----------
    predictions : (n, n_classes) or (n, 1) array
        Probabilities of the classes of the pool, or values.
    pool : Pool
    """
    assert pool.y is not None
    if pool.task == "classification":
        return log_loss(pool.y, predictions)
    return squared_error(pool.y, predictions[:, 0])


def residuals_of_predictions(predictions: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
    """Derivatives of these losses in log odds or values, ``(n, r)``."""
    assert pool.y is not None
    if pool.task == "classification":
        return class_residuals(predictions, pool.y)
    residuals: NDArray[np.float64] = 2 * (predictions - pool.y[:, None])
    return residuals


def called(estimator: Any, method: str, inputs: Any) -> NDArray[Any]:
    """The result of a method of an estimator; an error names the method."""
    step = f"{method} of {type(estimator).__name__}"
    with naming(step, "check that the model fits the columns of the samples"):
        try:
            return np.asarray(getattr(estimator, method)(inputs))
        except SystemExit as error:  # of a user's own model: it must not end the program
            raise InputError(f"{step} ended the program (SystemExit: {error}).") from error


def _reconstructed(estimator: Any, inputs: Any) -> NDArray[Any]:
    return called(estimator, "inverse_transform", called(estimator, "transform", inputs))


def class_losses(probabilities: Any, codes: NDArray[np.intp], pool: Pool) -> NDArray[np.float64]:
    """Log loss when column j of the probabilities is class ``codes[j]`` of the pool (-1: none)."""
    assert pool.y is not None
    return log_loss(pool.y, aligned(probabilities, codes, pool))


def aligned(probabilities: Any, codes: NDArray[np.intp], pool: Pool) -> NDArray[np.float64]:
    """Probabilities of the classes of the pool; a class that the model never saw has 0."""
    assert pool.classes is not None
    placed = np.zeros((len(pool), len(pool.classes)))
    known = codes >= 0
    placed[:, codes[known]] = np.asarray(probabilities)[:, known]
    return placed


def estimator_inputs(estimator: Any, pool: Pool) -> Any:
    """Rows in their shape for a pipeline (a table as given), a matrix for a bare estimator."""
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline):
        return pool.x if pool.is_table else pool.numbers()
    matrix = pool.matrix()
    if not _takes_nan(estimator):
        require_finite(matrix, who=type(estimator).__name__)
    return matrix


def _takes_nan(estimator: Any) -> bool:
    from sklearn.utils import get_tags

    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except Exception:  # a library without tags: let it judge its own inputs
        return True


def seeded_estimator(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy whose random states are set from the generator."""
    from sklearn.base import clone

    with naming(f"copying {type(estimator).__name__}", "pass an estimator that clone() copies"):
        return _seeded(clone(estimator), rng)


def _seeded(estimator: Any, rng: np.random.Generator) -> Any:
    params = estimator.get_params(deep=True)
    open_states = sorted(
        name
        for name, value in params.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    seeds = {name: int(rng.integers(2**31)) for name in open_states}
    for name in sorted(params):  # splitters of a search are no estimators, but draw too
        value = params[name]
        draws = getattr(value, "shuffle", True) and not hasattr(value, "get_params")
        if draws and getattr(value, "random_state", 0) is None:
            value.random_state = int(rng.integers(2**31))
    return estimator.set_params(**seeds) if seeds else estimator
