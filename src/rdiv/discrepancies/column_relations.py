"""What every row says of how columns go together: of pairs, and of each column given all others.

Made from the pool alone, from numbers of mean 0 and variance 1. All of it is bounded in influence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["pair_scores", "surprises"]

Floats = NDArray[np.float64]

MOST_PAIRS = 100
"""Pairs of columns that are looked at: those that go together most in the pool."""

RIDGE = 0.02
"""Added to the variance of every number before one is predicted from the others."""

LARGEST = 9.0
"""No surprise is larger: three standard deviations, squared."""

_MEDIAN_SQUARE = 0.4549364231195724  # of a standard normal number
_STRONGEST = 0.9999  # correlation that a pair can have
_TINY = 1e-6  # a median below this part of the mean is no scale
_ROUNDING = 1e-9  # squares of this size, where 1 is usual, are those of equal columns


def pair_scores(numbers: Floats, owners: NDArray[np.intp]) -> Floats:
    """For pairs of numbers of different columns, how far each row speaks for their correlation.

    Parameters
    ----------
    numbers : (n, m) array
        With mean 0 and variance 1, or 0.
    owners : (m,) integers
        The column that each number was made from.

    Returns
    -------
    (n, pairs) array
        Of the `MOST_PAIRS` pairs with the largest correlation in the pool.

    Notes
    -----
    The score of a pair of normal numbers with correlation r > 0 is, up to constants,
    ``(1 - r) u**2 - (1 + r) v**2``, where u is their sum and v their difference, each over its
    standard deviation. Without correlation that is their product. The nearer r is to 1, the more
    the difference decides, in which a broken pair stands out, and the less the sum, which says
    nothing of it. Squares count by their logarithm.

    Examples
    --------
    >>> x = np.array([-1.5, -0.5, 0.5, 1.5]) / np.sqrt(1.25)
    >>> print(pair_scores(np.stack([x, x[[0, 2, 1, 3]]], axis=1), np.arange(2)).round(1).ravel())
    [ 0.1 -0.7 -0.7  0.1]
    """
    correlations = numbers.T @ numbers / len(numbers)
    together = np.triu(np.abs(correlations))
    together[owners[:, None] == owners] = 0.0
    order = np.argsort(-together, axis=None, kind="stable")[:MOST_PAIRS]
    order = order[together.ravel()[order] > 0]
    scores = np.empty((len(numbers), len(order)))
    for place, (j, k) in enumerate(zip(*np.unravel_index(order, together.shape), strict=True)):
        r = min(float(together[j, k]), _STRONGEST)
        sign = np.sign(correlations[j, k])
        first, second = numbers[:, j], sign * numbers[:, k]
        along, across = (first + second) ** 2 / (1 + r), (first - second) ** 2 / (1 - r)
        along, across = np.log1p(_in_units(along) / 2), np.log1p(_in_units(across) / 2)
        scores[:, place] = (1 - r) * along - (1 + r) * across
    return scores


def surprises(numbers: Floats, owners: NDArray[np.intp]) -> Floats:
    """How badly every column fits to what all others say of it, ``(n, columns)``.

    Parameters
    ----------
    numbers : (n, m) array
        With mean 0 and variance 1, or 0.
    owners : (m,) integers
        The column that each number was made from, in order.

    Returns
    -------
    (n, columns) array
        The squared distance between the numbers of a column and their linear prediction from those
        of all other columns, in units of its usual size, at most `LARGEST`. None where there is
        only one column.

    Notes
    -----
    With P the inverse of the covariance plus `RIDGE`, and z a row, the squared distance of the
    numbers b is ``(P z)_b' (P_bb)^-1 (P z)_b``: that of a normal distribution of b given the rest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200))
    >>> x = np.stack([a, b, a + b], axis=1)
    >>> x[0, 2] += 3
    >>> found = surprises((x - x.mean(axis=0)) / x.std(axis=0), np.arange(3))
    >>> print(found[0], bool(np.median(found) < 1))
    [9. 9. 9.] True
    """
    names, starts = np.unique(owners, return_index=True)
    n, m = numbers.shape
    if len(names) < 2:
        return np.zeros((n, 0))
    precision = np.linalg.inv(numbers.T @ numbers / n + RIDGE * np.eye(m))
    weighted = numbers @ precision
    found = np.empty((n, len(names)))
    for place, (start, stop) in enumerate(zip(starts, [*starts[1:], m], strict=True)):
        own, within = weighted[:, start:stop], precision[start:stop, start:stop]
        distances = np.einsum("ij,ij->i", own @ np.linalg.inv(within), own)
        found[:, place] = np.minimum(_in_units(distances), LARGEST)
    return found


def _in_units(squares: Floats) -> Floats:
    """Squares in units of their usual size, that of normal numbers with this median."""
    mean, usual = float(squares.mean()), float(np.median(squares)) / _MEDIAN_SQUARE
    if mean < _ROUNDING:
        return np.zeros(len(squares))
    return squares / (usual if usual > _TINY * mean else mean)
