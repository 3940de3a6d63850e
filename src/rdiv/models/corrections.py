"""Gradients of a linear correction, for models that only predict.

Any classifier or regressor becomes a parametric model by adding a linear function of the inputs to
its prediction, with coefficients 0. The gradient of a row's loss in those coefficients is the
residual times the inputs: p and q differ there when one linear correction would help on p and
another on q. For a linear model that is the gradient in its own parameters.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.scaling import fit_scaling, fit_scaling_in_blocks
from rdiv.parallel.spreading import block_by_block
from rdiv.row_blocks import cut
from rdiv.samples.pool import Pool
from rdiv.samples.row_passes import BLOCK, as_they_lie

__all__ = ["class_residuals", "correction_owners", "linear_correction"]

Floats = NDArray[np.float64]

MOST_DOUBLE = 1 << 23
"""Gradients of all rows (64 MB) in double precision; of more, each is rounded to single."""


def linear_correction(residuals: Floats, pool: Pool) -> NDArray[Any]:
    """Derivatives of every row's loss in an offset and a slope for each column, ``(n, r (1 + d))``.

    Parameters
    ----------
    residuals : (n, r) array
        Derivatives of the losses in the predictions: one per class, or one.
    pool : Pool
        Its numbers, standardised over the pool, are the inputs; missing ones count as average.
        The result of very many rows is in single precision.

    Examples
    --------
    >>> pool = Pool(np.array([[1.0], [3.0]]))
    >>> print(linear_correction(np.array([[2.0], [5.0]]), pool))
    [[ 2. -2.]
     [ 5.  5.]]
    """
    n, r = residuals.shape
    shape = n, r, 1 + len(pool.owners())
    single = prod(shape) > MOST_DOUBLE
    # Found before there are gradients: it needs room of its own for a moment.
    order = list(as_they_lie(pool, np.arange(n), BLOCK)) if single and not pool.unread else None
    gradients = np.empty(shape, dtype=np.float32 if single else np.float64)
    gradients[:, :, 0] = 1.0
    x = gradients[:, 0, 1:]
    blocks = _write(x, pool) if order is None else _write_roughly(x, pool, order)
    del order
    _fill_unknown(x)
    scaling = fit_scaling_in_blocks(
        lambda: (x[rows].astype(np.float64, copy=False) for rows in blocks)
    )
    for rows in blocks:
        x[rows] = scaling.apply(x[rows].astype(np.float64, copy=False))
        gradients[rows, 1:, 1:] = x[rows, None]
        gradients[rows] *= residuals[rows, :, None]
    return gradients.reshape(n, -1)


def _write(x: NDArray[Any], pool: Pool) -> list[slice]:
    """Write the numbers of all rows where they stay; what was written at a time comes back."""
    blocks: list[slice] = []
    for block in pool.blocks():
        start = blocks[-1].stop if blocks else 0
        blocks.append(slice(start, start + len(block)))
        x[blocks[-1]] = block.matrix()
    return blocks


def _write_roughly(x: NDArray[Any], pool: Pool, order: list[NDArray[Any]]) -> list[slice]:
    """The same in single precision, which loses next to nothing of numbers near 0 and 1."""
    first = np.arange(min(BLOCK, len(pool)))
    rough = fit_scaling(_known(pool.take(first).matrix()))

    def write(rows: NDArray[Any]) -> None:
        x[rows] = rough.apply(pool.take(rows).matrix())

    for _ in block_by_block(write, [(rows,) for rows in order]):
        pass
    return list(cut(len(pool), BLOCK))


def _known(x: Floats) -> Floats:
    """The same with 0 where a number is not finite."""
    return x if np.isfinite(x).all() else np.where(np.isfinite(x), x, 0.0)


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


def _fill_unknown(x: NDArray[Any]) -> None:
    """Put the mean of the finite numbers of a column where a number is not finite."""
    finite = [np.isfinite(x[rows]).all(axis=0) for rows in cut(len(x), BLOCK)]
    for j in np.flatnonzero(~np.logical_and.reduce(finite)):
        known = np.isfinite(x[:, j])
        means = np.where(known, x[:, j], 0.0) / max(int(known.sum()), 1)
        x[~known, j] = means.sum()


def class_residuals(probabilities: Floats, y: NDArray[np.intp]) -> Floats:
    """Derivatives of the log loss in the log odds of every class, ``(n, K)``; one column for two.

    Examples
    --------
    >>> print(class_residuals(np.array([[0.25, 0.75]]), np.array([0])))
    [[0.75]]
    """
    if probabilities.shape[1] == 2:
        found: Floats = probabilities[:, 1:] - (y == 1)[:, None]
        return found
    residuals = probabilities.copy()
    residuals[np.arange(len(y)), y] -= 1
    return residuals
