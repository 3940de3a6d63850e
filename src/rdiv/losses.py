"""Losses per row: pure functions of target and prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PROBABILITY_FLOOR", "log_loss", "reconstruction_error", "squared_error"]

PROBABILITY_FLOOR = 1e-12
"""Lower bound of probabilities: a row of probability 0 has a loss of 27.6 nats, not infinity."""


def log_loss(y: NDArray[np.integer], probabilities: ArrayLike) -> NDArray[np.float64]:
    """Negative log probability of each row's own class, floored at ``PROBABILITY_FLOOR``.

    Parameters
    ----------
    y : (n,) integer array
        The class of each row, as a column of ``probabilities``.
    probabilities : (n, n_classes) array
        Predicted probabilities.

    Examples
    --------
    >>> print(log_loss(np.array([0, 1]), [[0.5, 0.5], [1.0, 0.0]]).round(3))
    [ 0.693 27.631]
    """
    chosen = np.asarray(probabilities, dtype=np.float64)[np.arange(len(y)), y]
    losses: NDArray[np.float64] = -np.log(np.maximum(chosen, PROBABILITY_FLOOR))
    return losses


def squared_error(y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
    """Squared difference per row, summed over outputs if there are several.

    Examples
    --------
    >>> print(squared_error([1.0, 2.0], [1.0, 5.0]))
    [0. 9.]
    """
    difference = np.asarray(prediction, dtype=np.float64) - np.asarray(y, dtype=np.float64)
    losses: NDArray[np.float64] = np.square(difference.reshape(len(difference), -1)).sum(axis=1)
    return losses


def reconstruction_error(x: ArrayLike, reconstruction: ArrayLike) -> NDArray[np.float64]:
    """Squared distance between each row and its reconstruction.

    Examples
    --------
    >>> print(reconstruction_error([[3.0, 4.0]], [[0.0, 0.0]]))
    [25.]
    """
    return squared_error(x, reconstruction)
