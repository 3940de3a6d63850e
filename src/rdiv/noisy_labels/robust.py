"""A classifier that finds wrong labels and trains despite them, with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from rdiv.errors import InputError, InputTypeError, naming
from rdiv.models import as_model
from rdiv.models.adapters import (
    Estimator,
    estimator_inputs,
    fitted_estimator,
    seeded_estimator,
)
from rdiv.models.networks.training import Training
from rdiv.models.protocol import FittedModel, fit_model
from rdiv.names import chosen_from, one_line
from rdiv.noisy_labels.detection import LabelNoiseDetector, class_probabilities, detect, first_fit
from rdiv.noisy_labels.labelled import LabelledRows, check_labels, pool_labelled
from rdiv.noisy_labels.result import LabelNoise
from rdiv.noisy_labels.retraining import OBJECTIVES, retrain
from rdiv.parallel.threads import one_thread
from rdiv.samples.frames import as_frame, is_frame
from rdiv.samples.pool import Pool
from rdiv.samples.preparation import Preparation, fit_preparation

__all__ = ["RobustClassifier"]


class RobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Find the rows whose labels are probably wrong, then train without trusting them.

    Parameters
    ----------
    estimator : classifier, str, Model or torch module, optional
        A scikit-learn classifier, or anything that `rdiv.models.as_model` accepts. By default a
        logistic regression on scaled columns.
    noise_rate : float, "auto" or "paper"
        Share of rows not to trust: see `LabelNoiseDetector`.
    action : {"auto", "weight", "drop"}
        What is done with suspected rows: they get the probability that their label is right as
        weight (for scikit-learn classifiers that take weights), or are left out. ``"auto"`` uses
        weights where possible. Networks have an objective instead.
    objective : {"complementary", "weighted", "difference"}
        What a network minimises on every batch, of which the most suspicious share ``noise_rate``
        is noisy. ``"complementary"`` weighs two losses of a noisy row:
        ``-log(1 - prob(label))`` by the probability that its label is wrong, and the log loss by
        the probability that it is right; it is bounded below. ``"weighted"`` is 0.7 times the log
        loss of the clean plus 0.3 times that of the noisy part, as in the published script.
        ``"difference"`` is the log loss of the clean minus that of the noisy part, as in the
        paper; it has no lower bound, and training may fail.
    folds : int or None
        Folds that judge the labels; None judges them by one pretrained model, as in the paper.
    schedule : str or None
        Learning rate of networks, ``"step"`` for a tenth after half of the epochs and a hundredth
        after three quarters; None keeps the schedule of the network.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Folds fitted at a time.

    Attributes
    ----------
    classes_ : (K,) labels
    noise_ : LabelNoise
        The result of the search for wrong labels in the training rows.
    fitted_ : FittedModel
        The model that predicts.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rdiv.noisy_labels import flip_labels
    >>> x, y = load_digits(return_X_y=True)
    >>> x, wrong, test = x / 16, flip_labels(y[:900], "pair", 0.3, rng=0), slice(900, None)
    >>> plain = LogisticRegression(max_iter=300).fit(x[:900], wrong)
    >>> robust = RobustClassifier(LogisticRegression(max_iter=300), random_state=0)
    >>> robust = robust.fit(x[:900], wrong)
    >>> print(round(plain.score(x[test], y[test]), 2), round(robust.score(x[test], y[test]), 2))
    0.68 0.83
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        noise_rate: Any = "auto",
        action: str = "auto",
        objective: str = "complementary",
        folds: int | None = 5,
        schedule: str | None = "step",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.noise_rate = noise_rate
        self.action = action
        self.objective = objective
        self.folds = folds
        self.schedule = schedule
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> RobustClassifier:
        """Judge the labels, then train.

        Parameters
        ----------
        X : (n, ...) array or frame
        y : (n,) labels
        """
        if self.action not in ("auto", "weight", "drop"):
            raise InputError(f"action must be 'auto', 'weight' or 'drop', got {self.action!r}.")
        chosen_from(OBJECTIVES, self.objective, "objective")
        x, labels = self._training_rows(X, y)
        rows = pool_labelled(x, labels, rng=_seed(self.random_state))
        assert rows.pool.classes is not None
        self.classes_ = rows.pool.classes
        with one_thread():
            self._train(rows)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class, ``(n, K)``, in the order of ``classes_``."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        x = self._rows(X, reset=False)
        codes = np.zeros(len(x), dtype=np.intp)
        pool = Pool(x, y=codes, task="classification", classes=self.classes_)
        with one_thread():
            return class_probabilities(self.fitted_, pool)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row, ``(n,)``."""
        codes = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def _train(self, rows: LabelledRows) -> None:
        model = _scheduled(as_model(self._given()), self.schedule)
        network = _training(model) is not None
        detector = LabelNoiseDetector(model, self.noise_rate, self.folds, n_jobs=self.n_jobs)
        judge = detector.settled(rows.pool)
        weigh = self.action != "drop" and _takes_weights(model)
        if self.action == "weight" and not weigh:
            raise InputError(
                "action='weight' needs a scikit-learn classifier that takes sample_weight, got "
                f"{model}; use action='drop'."
            )
        rng = rows.stream()
        fitted = fit_model(judge, rows.pool, rng)
        noise = detect(rows, judge, fitted, detector)
        self.noise_ = noise
        self.fitted_: FittedModel
        if network:
            pretrained: Any = first_fit(fitted)
            ranks, wrong = noise.ranks[rows.places], _doubts(rows, noise)
            self.fitted_ = retrain(
                pretrained.recipe, rows.pool, -ranks, wrong, noise.noise_rate, self.objective, rng
            )
        elif weigh:
            self.fitted_ = _weighted_fit(model, rows, noise, rng)
        else:
            kept = np.flatnonzero(~noise.suspected[rows.places])
            self.fitted_ = fit_model(model, rows.pool.take(kept), rng)

    def _given(self) -> Any:
        return "logistic" if self.estimator is None else self.estimator

    def _training_rows(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        from sklearn.utils.validation import column_or_1d

        if y is None:
            raise InputError(
                "RobustClassifier requires y to be passed, but the target y is None; pass labels."
            )
        if not is_frame(y) and not hasattr(y, "to_list"):
            with _reading("y"):
                y = column_or_1d(y, warn=True)
        return self._rows(X, reset=True), check_labels(y)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Rows for the model inside: a frame for a pipeline, else numbers."""
        from sklearn.pipeline import Pipeline
        from sklearn.utils.validation import validate_data

        if reset:
            self.preparation_ = _preparation(X)
        piped, prepared = isinstance(self.estimator, Pipeline), self.preparation_
        if is_frame(X) and (piped or prepared is not None):
            with _reading("X"):
                validate_data(self, X, reset=reset, skip_check_array=True)
            return X if piped or prepared is None else prepared.apply(X)
        with _reading("X"):
            return validate_data(
                self, X, reset=reset, dtype="numeric", allow_nd=True, ensure_all_finite="allow-nan"
            )


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """What scikit-learn says of rows or labels that it cannot take, as one sentence of ours."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        lines = str(error).splitlines()  # some show the array
        said = [line for line in lines if not line.startswith((" ", "[", "array="))]
        reason = one_line(" ".join(said))
        raise kind(f"{name} cannot be used: {reason.rstrip('.')}.") from error


def _preparation(x: Any) -> Preparation | None:
    """How a table becomes numbers; None for arrays and for tables of numbers."""
    if not is_frame(x):
        return None
    columns = as_frame(x).iter_columns()
    plain = all(column.dtype.is_numeric() and not column.null_count() for column in columns)
    return None if plain else fit_preparation(x)


def _training(model: object) -> Training | None:
    """How a network is trained; None for any other model."""
    found = getattr(model, "training", None)
    return found if isinstance(found, Training) else None


def _scheduled(model: Any, schedule: str | None) -> Any:
    """A network with another schedule; any other model unchanged."""
    training = _training(model)
    if schedule is None or training is None:
        return model
    changed: Any = {"schedule": schedule}
    return replace(model, training=replace(training, **changed))


def _takes_weights(model: Any) -> bool:
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if not isinstance(model, Estimator):
        return False
    estimator = model.estimator
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return bool(has_fit_parameter(last, "sample_weight"))


def _doubts(rows: LabelledRows, noise: LabelNoise) -> NDArray[np.float64]:
    """How far each label is doubted, in the order of the pool; 1 where nothing is known.

    Training was measured with the probabilities of the likeliest flips alone, and uses those.
    """
    if noise._doubts is None or np.isnan(noise.probabilities).all():
        return np.ones(len(rows.places))
    return noise._doubts[rows.places]


def _weighted_fit(
    model: Any, rows: LabelledRows, noise: LabelNoise, rng: np.random.Generator
) -> Any:
    """Fit a scikit-learn classifier with the probability of a right label as weight."""
    from sklearn.pipeline import Pipeline

    weights = np.where(noise.suspected[rows.places], 1 - _doubts(rows, noise), 1.0)
    estimator = seeded_estimator(model.estimator, rng)
    inputs = estimator_inputs(estimator, rows.pool)
    last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    with naming(f"fitting {type(estimator).__name__}", "check the model and its inputs"):
        estimator.fit(inputs, rows.pool.y, **{f"{last}sample_weight": weights})
    return fitted_estimator(estimator, "classifier")


def _seed(random_state: Any) -> int:
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer):
        return int(random_state)
    with _reading("random_state"):
        return int(check_random_state(random_state).randint(2**31 - 1))
