"""The probability that each row's label is wrong, and of the flips between labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from rdiv.losses import PROBABILITY_FLOOR

__all__ = [
    "Posterior",
    "anchor_counts",
    "clean_probabilities",
    "estimate_transition",
    "fit_posterior",
]


Floats = NDArray[np.float64]

ANCHORS, ANCHOR_SHARE = 50, 0.05
POOLING = 4.0  # nats of evidence (55 to 1) needed to use separate rates: model errors differ too
LARGEST_RATE = 0.9  # as a share of the rate at which the matrix cannot be inverted

_CONCENTRATIONS = 10.0 ** np.arange(-2, 5.1, 0.5)


def anchor_counts(probabilities: Floats, given: NDArray[np.intp]) -> Floats:
    """Counts of given labels (columns) among the surest rows of each class (rows), ``(K, K)``.

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
    """The flip rate of each class, shrunk towards the overall rate."""
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
    """The distribution of the flipped labels of each class, shrunk towards uniform."""
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


POWERS = 2.0 ** np.arange(-1.5, 2.6, 0.5)
POWER_ROWS = 2000  # rows of a shuffled pool that choose the power
FLOOR = 0.01  # least clean probability, times the square root of the model's probability


@dataclass(frozen=True, eq=False)
class Posterior:
    """The probabilities that the given labels are wrong, and how labels flip.

    Parameters
    ----------
    wrong : (n,) array
        Probability that the label of a row is wrong.
    true_labels : (n, K) array
        Probability of every class being the true one, given row and label.
    transition : (K, K) array
        Probability of every given label (column) for every true one (row).
    anchors : int
        Number of rows from which the transition matrix was counted.
    anchor_rate : float
        Share of anchors whose given label is not the predicted one.
    """

    wrong: Floats
    true_labels: Floats
    transition: Floats
    anchors: int
    anchor_rate: float


def fit_posterior(probabilities: Floats, given: NDArray[np.intp]) -> Posterior:
    """Estimate the flips and judge every label.

    Parameters
    ----------
    probabilities : (n, K) array
        Class probabilities by a model that did not see the row.
    given : (n,) codes
        The given labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.integers(3, size=300)
    >>> sure = 0.9 * np.eye(3)[true] + 0.1 / 3
    >>> flipped = rng.random(300) < 0.2
    >>> found = fit_posterior(sure, np.where(flipped, (true + 1) % 3, true))
    >>> print(bool(found.wrong[flipped].min() > 0.9), bool(found.wrong[~flipped].max() < 0.1))
    True True
    """
    counts = anchor_counts(probabilities, given)
    transition = estimate_transition(counts)
    clean = clean_probabilities(probabilities, given, transition)
    joint = clean * transition[:, given].T
    true_labels = joint / joint.sum(axis=1, keepdims=True)
    wrong = 1 - true_labels[np.arange(len(given)), given]
    anchors = counts.sum()
    rate = 1 - np.trace(counts) / anchors
    return Posterior(wrong, true_labels, transition, int(anchors), float(rate))


def clean_probabilities(
    probabilities: Floats, given: NDArray[np.intp], transition: Floats
) -> Floats:
    """Probabilities of the true classes, ``(n, K)``, by the power that suits the labels best.

    Examples
    --------
    >>> flips = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> p = np.array([[0.8, 0.2], [0.5, 0.5]])
    >>> print(clean_probabilities(p, np.array([0, 1]), flips).argmax(axis=1))
    [0 0]
    """
    logs = np.log(np.maximum(probabilities, PROBABILITY_FLOOR))
    logs -= logs.max(axis=1, keepdims=True)
    undo: Floats = np.linalg.inv(transition).astype(np.float64)
    few = slice(None, POWER_ROWS)
    reach = transition[:, given[few]].T
    fits = []
    for power in POWERS:
        seen = (_without_flips(power * logs[few], undo) * reach).sum(axis=1)
        fits.append(np.log(np.maximum(seen, PROBABILITY_FLOOR)).mean())
    return _without_flips(POWERS[int(np.argmax(fits))] * logs, undo)


def _without_flips(logs: Floats, undo: Floats) -> Floats:
    """Probabilities with these logarithms, up to a constant, corrected for flips."""
    raised = np.exp(logs)
    raised /= raised.sum(axis=1, keepdims=True)
    clean: Floats = np.maximum(raised @ undo, FLOOR * np.sqrt(raised))
    clean /= clean.sum(axis=1, keepdims=True)
    return clean
