"""Linear models: logistic regression and ridge regression on scaled columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.corrections import linear_correction
from rdiv.models.estimators import Estimator, FittedPredictor
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.samples.pool import Pool, require_finite

__all__ = ["FittedLinear", "Logistic", "Ridge"]


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

    penalty: float = 1.0

    task = "classification"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedLinear:
        """Minimise the penalised log loss."""
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(C=1 / self.penalty, max_iter=1000)
        return _fit(Estimator(estimator, "classifier"), pool, rng, "logistic")


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

    penalty: float = 1.0

    task = "regression"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedLinear:
        """Minimise the penalised squared error."""
        from sklearn.linear_model import Ridge as RidgeRegression

        return _fit(Estimator(RidgeRegression(self.penalty), "regressor"), pool, rng, "ridge")


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """A fitted linear model and the scaling in front of it."""

    fitted: FittedPredictor
    scaling: Scaling
    name: str

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        return self.fitted.losses(_scaled(pool, self.scaling, self.name))

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        """Predicted probability of every class of the pool, ``(n, n_classes)``."""
        return self.fitted.probabilities(_scaled(pool, self.scaling, self.name))

    def residuals(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in its predictions, ``(n, r)``."""
        return self.fitted.residuals(_scaled(pool, self.scaling, self.name))

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in intercepts and coefficients, ``(n, m)``."""
        return linear_correction(self.residuals(pool), pool)


def _fit(estimator: Any, pool: Pool, rng: np.random.Generator, name: str) -> FittedLinear:
    x = pool.matrix()
    require_finite(x, who=name)
    scaling = fit_scaling(x)
    return FittedLinear(estimator.fit(_scaled(pool, scaling, name), rng), scaling, name)


def _scaled(pool: Pool, scaling: Scaling, name: str) -> Pool:
    x = pool.matrix()
    require_finite(x, who=name)
    return Pool(scaling.apply(x), y=pool.y, task=pool.task, classes=pool.classes)
