"""How many labels are wrong: an estimate and what it may miss."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from rdiv.noisy_labels.posterior import Posterior

__all__ = ["NoiseRate", "estimate_rate"]

_NORMAL = 1.96  # 95 % of a normal distribution


class NoiseRate(NamedTuple):
    """A share of wrong labels and an interval for it.

    Parameters
    ----------
    rate, low, high : float
    """

    rate: float
    low: float
    high: float


def estimate_rate(posterior: Posterior) -> NoiseRate:
    """The share of wrong labels: the mean probability of being wrong.

    The share of anchors whose label is not the predicted one is a second estimate, which counts
    mistakes of the model as wrong labels. The interval reaches from the smaller to the larger one,
    widened by the 95 % sampling error of a share among the anchors. It speaks of flips that do not
    depend on the row beyond its true class.

    Examples
    --------
    >>> import numpy as np
    >>> wrong = np.repeat([0.9, 0.02], [20, 80])
    >>> found = estimate_rate(Posterior(wrong, np.eye(2), np.eye(2), 100, 0.24))
    >>> print([round(number, 3) for number in found])
    [0.196, 0.118, 0.318]
    """
    rate, share = float(posterior.wrong.mean()), posterior.anchor_rate
    spread = max(rate * (1 - rate), 0.25 / posterior.anchors)
    error = _NORMAL * sqrt(spread / posterior.anchors)
    low, high = min(rate, share) - error, max(rate, share) + error
    return NoiseRate(rate, max(low, 0.0), min(high, 1.0))
