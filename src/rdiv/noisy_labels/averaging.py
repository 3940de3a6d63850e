"""How probably each label is wrong, averaged over all that the labels leave open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.losses import PROBABILITY_FLOOR
from rdiv.row_blocks import cut

__all__ = ["averaged_wrong", "in_order"]

Floats = NDArray[np.float64]

RATES = np.r_[0.0, 0.01, 0.02, 0.035, 0.05:0.26:0.025, 0.3:0.46:0.05]
"""Shares of wrong labels that are tried."""

POWERS = 2.0 ** np.arange(-1, 3.6, 0.5)
"""Powers of the model's probabilities that are tried: it may be too sure, or not sure enough."""

SURE_MISTAKES = 0.05
"""Share of the model's mistakes that it makes anywhere, however sure it is."""

WEIGHED_ROWS = 20_000  # rows of a shuffled pool that weigh the settings
LEAST_WEIGHT = 1e-4  # settings below it are left out
LARGEST_RATE = 0.9  # as a share of the rate at which labels say nothing
BLOCK = 1 << 16


def averaged_wrong(
    probabilities: Floats, given: NDArray[np.intp], transition: Floats, error: float
) -> Floats:
    """Probability that each label is wrong, a mean over rates of flips and powers of the model.

    One best rate and one best power claim too much: several of them suit the labels nearly as well,
    and a few per cent of the labels of rows that a model is sure of are right all the same. Every
    pair of a rate and a power judges the labels, and counts as far as it makes the given labels
    likely.

    Parameters
    ----------
    probabilities : (n, K) array
        Class probabilities by a model that did not see the row.
    given : (n,) codes
    transition : (K, K) array
        Which labels turn into which; the overall rate is varied.
    error : float
        Share of rows whose given label is not the likeliest one.

    Notes
    -----
    The prior is proportional to rate + 0.01. It and ``SURE_MISTAKES`` were chosen on draws and
    tables that are not in `docs/measured/label_certainty.md`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.integers(2, size=400)
    >>> sure = 0.9 * np.eye(2)[true] + 0.05
    >>> flipped = rng.random(400) < 0.1
    >>> flips = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> wrong = averaged_wrong(sure, np.where(flipped, 1 - true, true), flips, flipped.mean())
    >>> print(bool(wrong[flipped].min() > 0.5), bool(wrong[~flipped].max() < 0.1))
    True True
    """
    few = slice(None, WEIGHED_ROWS)
    fits = np.array(
        [
            [_judged(tempered, given[few], _flips(transition, rate), _mixed(error, rate))[0]
             for rate in RATES]
            for tempered in (_raised(probabilities[few], power) for power in POWERS)
        ]
    )  # fmt: skip
    weights = np.exp(fits - fits.max()) * np.gradient(RATES) * (RATES + 0.01)
    weights /= weights.sum()
    wrong = np.zeros(len(given))
    for i, j in np.argwhere(weights > LEAST_WEIGHT):
        flips, share = _flips(transition, RATES[j]), _mixed(error, RATES[j])
        for rows in cut(len(given), BLOCK):
            raised = _raised(probabilities[rows], POWERS[i])
            wrong[rows] += weights[i, j] * _judged(raised, given[rows], flips, share)[1]
    mean: Floats = np.minimum(wrong / weights[weights > LEAST_WEIGHT].sum(), 1.0)
    return mean


def in_order(wrong: Floats, order: Floats) -> Floats:
    """The same probabilities, smoothed so that they never fall as the order rises.

    Examples
    --------
    >>> print(in_order(np.array([0.1, 0.5, 0.3]), np.array([0, 1, 2])))
    [0.1 0.4 0.4]
    """
    from sklearn.isotonic import isotonic_regression

    places = np.argsort(order, kind="stable")
    smooth = np.empty(len(wrong))
    smooth[places] = isotonic_regression(wrong[places])
    return smooth


def _raised(probabilities: Floats, power: float) -> Floats:
    logs = power * np.log(np.maximum(probabilities, PROBABILITY_FLOOR))
    raised: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    raised /= raised.sum(axis=1, keepdims=True)
    return raised


def _flips(transition: Floats, rate: float) -> Floats:
    """Flips in the same directions and proportions, with another overall rate."""
    n_classes = len(transition)
    moved = transition * (1 - np.eye(n_classes))
    own = moved.sum(axis=1)
    largest = LARGEST_RATE * (n_classes - 1) / n_classes
    rates = np.minimum(rate * own / max(own.mean(), PROBABILITY_FLOOR), largest)
    flips: Floats = moved / np.maximum(own, PROBABILITY_FLOOR)[:, None] * rates[:, None]
    np.fill_diagonal(flips, 1 - rates)
    return flips


def _mixed(error: float, rate: float) -> float:
    """Share of rows where the model knows nothing, by its mistakes that are no flips."""
    return SURE_MISTAKES * max(error - rate, 0.0)


def _judged(
    clean: Floats, given: NDArray[np.intp], flips: Floats, share: float
) -> tuple[float, Floats]:
    """Log likelihood of the given labels, and how probably each is wrong."""
    n_classes = clean.shape[1]
    share *= n_classes / (n_classes - 1)
    rows = np.arange(len(given))
    known = (1 - share) * clean + share / n_classes
    seen = np.maximum((known @ flips)[rows, given], PROBABILITY_FLOOR)
    right = known[rows, given] * flips[given, given]
    wrong: Floats = 1 - np.minimum(right / seen, 1.0)
    return float(np.log(seen).sum()), wrong
