"""How probably each row's label is wrong, from class probabilities and a transition matrix.

With clean probabilities ``q`` of a row and flips ``T``, the given label ``k`` has probability
``sum_j q_j T_jk``, of which ``q_k T_kk`` is a right label and the rest are flipped ones. A model
trained on the given labels predicts ``q T``, too sure or not sure enough: its probabilities are
raised to a power that makes the given labels most likely, and the flips are then taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.losses import PROBABILITY_FLOOR
from rdiv.noisy_labels.transition import anchor_counts, estimate_transition

__all__ = ["Posterior", "clean_probabilities", "fit_posterior"]

Floats = NDArray[np.float64]

POWERS = 2.0 ** np.arange(-1.5, 2.6, 0.5)
POWER_ROWS = 2000  # rows of a shuffled pool that choose the power
FLOOR = 0.01  # least clean probability, times the root of what the model says


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the given labels are worth.

    Parameters
    ----------
    wrong : (n,) array
        Probability that the label of a row is wrong.
    true_labels : (n, K) array
        Probability of every class being the true one, given row and label.
    transition : (K, K) array
        Probability of every given label (column) for every true one (row).
    anchors : int
        Rows that the transition matrix was counted from.
    anchor_rate : float
        Share of anchors whose label is not the one predicted.
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
        The labels that the rows came with.

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
    """Probabilities with these logarithms, up to a constant, with the flips taken out."""
    raised = np.exp(logs)
    raised /= raised.sum(axis=1, keepdims=True)
    clean: Floats = np.maximum(raised @ undo, FLOOR * np.sqrt(raised))
    clean /= clean.sum(axis=1, keepdims=True)
    return clean
