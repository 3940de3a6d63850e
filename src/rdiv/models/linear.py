"""Linear models: logistic and ridge regression on scaled columns, and their curvature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.adapters import Estimator, FittedPredictor, aligned
from rdiv.models.corrections import correction_owners
from rdiv.models.row_products import row_products
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.samples.pool import Pool, require_finite

__all__ = ["FittedLinear", "Logistic", "Ridge", "curvature"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression; the loss is the log loss.

    Parameters
    ----------
    penalty : float
        Weight of the squared norm of the coefficients, in units of one row's loss.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> pool = Pool(
    ...     np.arange(6.0)[:, None],
    ...     y=np.array([0, 0, 1, 0, 1, 1]),
    ...     task="classification",
    ...     classes=np.array(["no", "yes"]),
    ... )
    >>> losses = Logistic().fit(pool, np.random.default_rng(0)).losses(pool)
    >>> print(bool(losses[0] < losses[2]))
    True
    """

    about = "logistic regression"
    row_loss = "log loss"
    suits = "a plain, quick baseline"
    keep_in_mind = "linear in the inputs"

    penalty: float = 1.0

    task = "classification"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedLinear:
        """Minimise the penalised log loss."""
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(C=1 / self.penalty, max_iter=1000)
        return _fit(Estimator(estimator, "classifier", _matrix), pool, rng, "logistic")


@dataclass(frozen=True)
class Ridge:
    """Ridge regression; the loss is the squared error.

    Parameters
    ----------
    penalty : float
        Weight of the squared norm of the coefficients.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> pool = Pool(np.arange(4.0)[:, None], y=np.array([0.0, 1.0, 2.0, 9.0]), task="regression")
    >>> print(Ridge().fit(pool, np.random.default_rng(0)).losses(pool).round(1))
    [0.1 0.8 4.5 7. ]
    """

    about = "ridge regression"
    row_loss = "squared error"
    suits = "a plain, quick baseline"
    keep_in_mind = "linear in the inputs; squares reward few, large errors"

    penalty: float = 1.0

    task = "regression"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedLinear:
        """Minimise the penalised squared error."""
        from sklearn.linear_model import Ridge as RidgeRegression

        estimator = Estimator(RidgeRegression(self.penalty), "regressor", _matrix)
        return _fit(estimator, pool, rng, "ridge")


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """A fitted linear model and the scaling in front of it."""

    fitted: FittedPredictor
    scaling: Scaling
    name: str

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        return self.fitted.losses(_scaled(pool, self.scaling, self.name))

    def standard_predictions(self, pool: Pool) -> NDArray[np.float64]:
        """What losses and residuals follow from."""
        return self.fitted.standard_predictions(_scaled(pool, self.scaling, self.name))

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        """Predicted probability of every class of the pool, ``(n, n_classes)``."""
        return self.fitted.probabilities(_scaled(pool, self.scaling, self.name))

    def residuals(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in its predictions, ``(n, r)``."""
        return self.fitted.residuals(_scaled(pool, self.scaling, self.name))

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in intercepts and coefficients, ``(n, m)``."""
        scaled = _scaled(pool, self.scaling, self.name)
        residuals, x = self.fitted.residuals(scaled).T, scaled.matrix().T
        # A gradient after the other in memory: what follows goes through them one by one.
        gradients = np.empty((len(residuals), 1 + len(x), x.shape[1]))
        gradients[:, 0] = residuals
        np.multiply(residuals[:, None], x, out=gradients[:, 1:])
        return gradients.reshape(-1, x.shape[1]).T

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        """The input column that each gradient belongs to; None for an offset."""
        return correction_owners(pool)


@dataclass(frozen=True, eq=False)
class RowByRow:
    """A fitted linear estimator whose predictions for a row do not depend on the other rows.

    Parameters
    ----------
    estimator : sklearn.linear_model.LogisticRegression or Ridge
    """

    estimator: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of a classifier, in order."""
        classes: NDArray[Any] = self.estimator.classes_
        return classes

    def predict(self, x: Floats) -> Floats:
        """Predicted values of a regressor, ``(n,)``."""
        return self._decisions(x)[:, 0]

    def predict_proba(self, x: Floats) -> Floats:
        """Predicted probabilities of a classifier, ``(n, n_classes)``."""
        from scipy.special import expit, softmax

        decisions = self._decisions(x)
        if decisions.shape[1] > 1:
            probabilities: Floats = softmax(decisions, axis=1)
            return probabilities
        return np.concatenate([expit(-decisions), expit(decisions)], axis=1)

    def _decisions(self, x: Floats) -> Floats:
        coefficients = np.atleast_2d(self.estimator.coef_)
        decisions: Floats = row_products(x, coefficients.T) + self.estimator.intercept_
        return decisions


def _fit(model: Estimator, pool: Pool, rng: np.random.Generator, name: str) -> FittedLinear:
    scaling = fit_scaling(_finite(pool, name))
    fitted = model.fit(_scaled(pool, scaling, name), rng)
    assert isinstance(fitted, FittedPredictor)
    if isinstance(fitted.estimator, type(model.estimator)):  # not where there is one class only
        fitted = replace(fitted, estimator=RowByRow(fitted.estimator))
    return FittedLinear(fitted, scaling, name)


def _matrix(estimator: Any, pool: Pool) -> Floats:
    """Rows as they were scaled, which are finite."""
    del estimator
    return pool.matrix()


def _scaled(pool: Pool, scaling: Scaling, name: str) -> Pool:
    x = scaling.apply(_finite(pool, name))
    return Pool(x, y=pool.y, task=pool.task, classes=pool.classes)


def _finite(pool: Pool, name: str) -> Floats:
    x = pool.matrix()
    require_finite(x, who=name)
    return x


def curvature(fitted: FittedLinear, pool: Pool) -> Floats:
    """Mean second derivatives of the penalised loss in the parameters of `gradients`, ``(m, m)``.

    Parameters
    ----------
    fitted : FittedLinear
        Ridge or logistic regression, fitted to this pool.
    pool : Pool

    Examples
    --------
    >>> from rdiv.models import Ridge
    >>> pool = Pool(np.array([[-1.0], [1.0]]), y=np.array([0.0, 1.0]), task="regression")
    >>> print(curvature(Ridge(3.0).fit(pool, np.random.default_rng(0)), pool))
    [[2. 0.]
     [0. 5.]]
    """
    x = pool.matrix()
    inputs = np.concatenate([np.ones((len(x), 1)), fit_scaling(x).apply(x)], axis=1)
    estimator: Any = fitted.fitted.estimator.estimator
    if fitted.fitted.kind == "regressor":
        weights = np.full((len(x), 1, 1), 2.0)
        penalty = 2 * float(estimator.alpha)
    else:
        weights = _class_weights(fitted, pool)
        penalty = 1 / float(estimator.C)
    outputs, columns = weights.shape[1], inputs.shape[1]
    whole = np.einsum("nrs,ni,nj->risj", weights, inputs, inputs, optimize=True) / len(x)
    hessian: Floats = whole.reshape(outputs * columns, outputs * columns)
    free = np.arange(len(hessian)) % columns == 0  # intercepts are not penalised
    hessian[np.diag_indices(len(hessian))] += np.where(free, 0.0, penalty / len(x))
    return hessian


def _class_weights(fitted: FittedLinear, pool: Pool) -> Floats:
    """Second derivatives of the log loss in the log odds, ``(n, r, r)``; r = 1 for two classes."""
    estimator: Any = fitted.fitted.estimator
    scaled = Pool(fitted.scaling.apply(pool.matrix()), pool.y, pool.task, classes=pool.classes)
    codes = np.asarray(estimator.classes_, dtype=np.intp)
    chance = aligned(estimator.predict_proba(scaled.matrix()), codes, pool)
    if chance.shape[1] == 2:
        return (chance[:, 1] * chance[:, 0])[:, None, None]
    whole: Floats = -chance[:, :, None] * chance[:, None, :]
    whole[:, np.arange(chance.shape[1]), np.arange(chance.shape[1])] += chance
    return whole
