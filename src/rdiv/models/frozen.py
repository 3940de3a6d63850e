"""A deployed model that is not refitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.models.adapters import (
    Kind,
    aligned,
    class_losses,
    estimator_kind,
    estimator_losses,
    estimator_residuals,
    reconstruction_residuals,
)
from rdiv.models.corrections import correction_owners, linear_correction
from rdiv.models.protocol import FittedModel
from rdiv.names import one_line
from rdiv.samples.pool import Pool

__all__ = ["Frozen"]

_UNSAID = "unsaid"


@dataclass(frozen=True, eq=False, repr=False)
class Frozen:
    """A fitted model, used as it is: the question is then about *this* model.

    Parameters
    ----------
    fitted : estimator or FittedModel
        A fitted scikit-learn estimator or pipeline, or an object with ``losses(pool)``. It gets
        the rows as they were given, a frame as a frame.
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

    def __repr__(self) -> str:
        own = type(self.fitted).__name__ if self._kind is None else repr(self.fitted)
        return f"Frozen({one_line(own)})"

    __str__ = __repr__

    @property
    def task(self) -> str | None:
        """The one task the model does, if it is a scikit-learn estimator."""
        if self._kind is None:
            return getattr(self.fitted, "task", None)
        return {"classifier": "classification", "regressor": "regression"}.get(
            self._kind, "density"
        )

    @property
    def _kind(self) -> Kind | None:
        inner = (
            getattr(self.fitted, "estimator", self.fitted)
            if _is_frozen(self.fitted)
            else self.fitted
        )
        return None if hasattr(inner, "losses") else estimator_kind(inner)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """Return the model as it is."""
        del pool, rng
        if self._kind is None:
            model: FittedModel = self.fitted
            return model
        _require_fitted(self.fitted)
        kinds = {"score": _FrozenEstimator, "reconstruction": _FrozenReconstruction}
        return kinds.get(self._kind, _FrozenPredictor)(self.fitted, self._kind)


def _require_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputError(
            f"Frozen needs a fitted model, got {type(estimator).__name__} before its fit; "
            "fit it on other rows, or pass it bare to have it fitted on the pool."
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
        return class_losses(self.estimator.predict_proba(pool.given()), codes, pool)


@dataclass(frozen=True, eq=False)
class _FrozenPredictor(_FrozenEstimator):
    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        codes = _codes(self.estimator.classes_, pool)
        return aligned(self.estimator.predict_proba(pool.given()), codes, pool)

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
