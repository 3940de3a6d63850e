"""Gradients of a linear correction: what a model that only predicts can say about training.

Any classifier or regressor becomes a parametric model by adding a linear function of the inputs to
its prediction, with coefficients 0. The gradient of a row's loss in those coefficients is the
residual times the inputs: p and q differ there when one linear correction would help on p and
another on q. For a linear model that is the gradient in its own parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.models.scaling import fit_scaling
from rdiv.samples.pool import Pool

__all__ = ["class_residuals", "linear_correction"]

Floats = NDArray[np.float64]


def linear_correction(residuals: Floats, pool: Pool) -> Floats:
    """Derivatives of every row's loss in an offset and a slope for each column, ``(n, r (1 + d))``.

    Parameters
    ----------
    residuals : (n, r) array
        Derivatives of the losses in the predictions: one a class, or one.
    pool : Pool
        Its numbers, standardised over the pool, are the inputs; missing ones count as average.

    Examples
    --------
    >>> pool = Pool(np.array([[1.0], [3.0]]))
    >>> print(linear_correction(np.array([[2.0], [5.0]]), pool))
    [[ 2. -2.]
     [ 5.  5.]]
    """
    x = pool.matrix()
    known = np.isfinite(x)
    if not known.all():
        counts = np.maximum(known.sum(axis=0), 1)
        x = np.where(known, x, (np.where(known, x, 0.0) / counts).sum(axis=0))
    inputs = np.ones((len(x), 1 + x.shape[1]))
    inputs[:, 1:] = fit_scaling(x).apply(x)
    if residuals.shape[1] == 1:
        inputs *= residuals  # in place: there may be millions of rows
        return inputs
    gradients: Floats = (residuals[:, :, None] * inputs[:, None, :]).reshape(len(x), -1)
    return gradients


def class_residuals(probabilities: Floats, y: NDArray[np.intp]) -> Floats:
    """Derivatives of the log loss in the log odds of every class, ``(n, K)``; one column for two.

    Examples
    --------
    >>> print(class_residuals(np.array([[0.25, 0.75]]), np.array([0])))
    [[0.75]]
    """
    residuals = probabilities.copy()
    residuals[np.arange(len(y)), y] -= 1
    return residuals[:, 1:] if residuals.shape[1] == 2 else residuals
