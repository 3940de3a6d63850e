"""Curvature of the training objective of linear models, for the influence of a row on the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.estimators import aligned, estimator_inputs
from rdiv.models.linear import FittedLinear
from rdiv.models.scaling import fit_scaling
from rdiv.samples.pool import Pool

__all__ = ["curvature"]

Floats = NDArray[np.float64]


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
    estimator: Any = fitted.fitted.estimator
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
    inputs = estimator_inputs(estimator, scaled)
    codes = np.asarray(estimator.classes_, dtype=np.intp)
    chance = aligned(estimator.predict_proba(inputs), codes, pool)
    if chance.shape[1] == 2:
        return (chance[:, 1] * chance[:, 0])[:, None, None]
    whole: Floats = -chance[:, :, None] * chance[:, None, :]
    whole[:, np.arange(chance.shape[1]), np.arange(chance.shape[1])] += chance
    return whole
