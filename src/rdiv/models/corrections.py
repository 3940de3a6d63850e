"""Gradients of a linear correction, for models that only predict.

Any classifier or regressor becomes a parametric model by adding a linear function of the inputs to
its prediction, with coefficients 0. The gradient of a row's loss in those coefficients is the
residual times the inputs: p and q differ there when one linear correction would help on p and
another on q. For a linear model that is the gradient in its own parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rdiv.models.scaling import fit_scaling_in_blocks
from rdiv.samples.pool import Pool

__all__ = ["class_residuals", "correction_owners", "linear_correction"]

Floats = NDArray[np.float64]


def linear_correction(residuals: Floats, pool: Pool) -> Floats:
    """Derivatives of every row's loss in an offset and a slope for each column, ``(n, r (1 + d))``.

    Parameters
    ----------
    residuals : (n, r) array
        Derivatives of the losses in the predictions: one per class, or one.
    pool : Pool
        Its numbers, standardised over the pool, are the inputs; missing ones count as average.

    Examples
    --------
    >>> pool = Pool(np.array([[1.0], [3.0]]))
    >>> print(linear_correction(np.array([[2.0], [5.0]]), pool))
    [[ 2. -2.]
     [ 5.  5.]]
    """
    fill = _means_of_known(pool)

    def blocks() -> Iterator[Floats]:
        for block in pool.blocks():
            x = block.matrix()
            yield x if fill is None else np.where(np.isfinite(x), x, fill)

    scaling = fit_scaling_in_blocks(blocks)
    n, r = residuals.shape
    gradients = np.ones((n, r, 1 + len(scaling.scale)))
    start = 0
    for x in blocks():  # there may be millions of rows: they are written where they stay
        gradients[start : start + len(x), :, 1:] = scaling.apply(x)[:, None]
        start += len(x)
    gradients *= residuals[:, :, None]
    return gradients.reshape(n, -1)


def correction_owners(pool: Pool) -> tuple[str | None, ...]:
    """The input column that each gradient of a linear correction belongs to, None for an offset.

    Examples
    --------
    >>> pool = Pool(np.zeros((2, 2)), y=np.array([0.0, 1.0]), task="regression")
    >>> print(correction_owners(pool))
    (None, 'column 0', 'column 1')
    """
    classes = 0 if pool.classes is None else len(pool.classes)
    return (None, *pool.owners()) * (classes if classes > 2 else 1)


def _means_of_known(pool: Pool) -> Floats | None:
    """Mean of the finite numbers of each column; None when all are finite."""
    finite = [np.isfinite(block.matrix()) for block in pool.blocks()]
    if all(known.all() for known in finite):
        return None
    counts = np.maximum(np.sum([known.sum(axis=0) for known in finite], axis=0), 1)
    parts = [
        (np.where(known, block.matrix(), 0.0) / counts).sum(axis=0)
        for known, block in zip(finite, pool.blocks(), strict=True)
    ]
    means: Floats = np.sum(parts, axis=0)
    return means


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
