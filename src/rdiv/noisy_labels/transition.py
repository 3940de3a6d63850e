"""Which labels turn into which: a matrix estimated from the rows that a model is surest of.

Probabilities out of fold do not know a row's own label. Where labels flip by chance, the rows that
the model is surest of are therefore flipped as often as any others, but hardly ever mistaken by
the model: the labels they carry show the flipping. Counts of few rows are shrunk: towards one
rate for all classes, and towards flips that go everywhere alike, each as far as the counts
themselves allow (by the marginal likelihood of a beta and a Dirichlet prior). Classes get rates of
their own on strong evidence only, because the model is not equally often mistaken in each either.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

__all__ = ["anchor_counts", "estimate_transition"]

Floats = NDArray[np.float64]

ANCHORS, ANCHOR_SHARE = 50, 0.05
POOLING = 4.0  # nats of evidence, 55 to 1, that rates differ: mistakes of a model differ as well
LARGEST_RATE = 0.9  # of what would make a matrix that cannot be inverted

_CONCENTRATIONS = 10.0 ** np.arange(-2, 5.1, 0.5)


def anchor_counts(probabilities: Floats, given: NDArray[np.intp]) -> Floats:
    """Given labels (columns) of the rows that are surest to be of a class (rows), ``(K, K)``.

    Of the rows predicted to be in a class, the 50 surest are taken, or 5 % if these are more.

    Examples
    --------
    >>> sure = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> print(anchor_counts(sure, np.array([0, 1, 1])))
    [[1. 1.]
     [0. 1.]]
    """
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    counts = np.zeros((n_classes, n_classes))
    for code in range(n_classes):
        rows = np.flatnonzero(predicted == code)
        most = max(ANCHORS, ceil(ANCHOR_SHARE * len(rows)))
        surest = rows[np.argsort(-probabilities[rows, code], kind="stable")[:most]]
        counts[code] = np.bincount(given[surest], minlength=n_classes)
    return counts


def estimate_transition(counts: Floats) -> Floats:
    """Probability of every given label (column) for every true one (row), from counted anchors.

    Examples
    --------
    >>> pair = np.array([[40, 10, 0], [0, 40, 10], [10, 0, 40.0]])
    >>> print(estimate_transition(pair).round(2))
    [[0.8 0.2 0. ]
     [0.  0.8 0.2]
     [0.2 0.  0.8]]
    """
    n_classes = len(counts)
    flipped = counts.copy()
    np.fill_diagonal(flipped, 0)
    rates = np.minimum(_class_rates(flipped, counts.sum(axis=1)), _largest(n_classes))
    where = _directions(flipped)
    matrix: Floats = where * rates[:, None]
    np.fill_diagonal(matrix, 1 - rates)
    return matrix


def _largest(n_classes: int) -> float:
    return LARGEST_RATE * (n_classes - 1) / n_classes


def _class_rates(flipped: Floats, sizes: Floats) -> Floats:
    """How often labels of each class flip, shrunk towards how often any does."""
    from scipy.special import betaln

    flips = flipped.sum(axis=1)
    overall = (flips.sum() + 0.5) / (sizes.sum() + 1)
    a = _CONCENTRATIONS[:, None] * overall
    b = _CONCENTRATIONS[:, None] * (1 - overall)
    evidence = (betaln(a + flips, b + sizes - flips) - betaln(a, b)).sum(axis=1)
    evidence[-1] += POOLING
    strength = _CONCENTRATIONS[int(evidence.argmax())]
    rates: Floats = (flips + strength * overall) / (sizes + strength)
    return rates


def _directions(flipped: Floats) -> Floats:
    """Where the flipped labels of each class go, shrunk towards everywhere alike."""
    from scipy.special import gammaln

    n_classes = len(flipped)
    others = flipped[~np.eye(n_classes, dtype=bool)].reshape(n_classes, n_classes - 1)
    total = _CONCENTRATIONS[:, None]
    each = total[:, :, None] / (n_classes - 1)
    evidence = (gammaln(total) - gammaln(total + others.sum(axis=1))).sum(axis=1)
    evidence += (gammaln(each + others) - gammaln(each)).sum(axis=(1, 2))
    where = flipped + _CONCENTRATIONS[int(evidence.argmax())] / (n_classes - 1)
    np.fill_diagonal(where, 0)
    shares: Floats = where / where.sum(axis=1, keepdims=True)
    return shares
