"""How far the labels can be predicted at all: what tells wrong labels from unpredictable ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.remarks import UNPREDICTABLE_LABELS

__all__ = ["Predictability", "measure_predictability"]

LEAST_SKILL = 0.25  # below this share of avoided mistakes nothing is said about wrong labels


@dataclass(frozen=True)
class Predictability:
    """How often a model that did not see the rows misses the given labels.

    A label that the model cannot predict and a label that is wrong look alike. Where the model is
    hardly better than always guessing the most frequent label, nothing separates the two.

    Parameters
    ----------
    error : float
        Share of rows whose given label is not the likeliest one.
    base_error : float
        The same for always guessing the most frequent label.

    Notes
    -----
    ``LEAST_SKILL`` was chosen on draws and tables that are not in
    `docs/measured/label_certainty.md`, which counts how well the probabilities hold.

    Examples
    --------
    >>> coin = Predictability(error=0.47, base_error=0.49)
    >>> print(round(coin.skill, 2), coin.told_apart)
    0.04 False
    """

    error: float
    base_error: float

    @property
    def skill(self) -> float:
        """Share of the mistakes of the most frequent label that the model avoids."""
        return 1 - self.error / self.base_error if self.base_error > 0 else 0.0

    @property
    def told_apart(self) -> bool:
        """Whether the model is good enough to tell wrong labels from unpredictable ones."""
        return self.skill >= LEAST_SKILL

    def explained(self, rate: float) -> float:
        """Share of the avoidable mistakes that the model avoids, if ``rate`` labels are wrong.

        Examples
        --------
        >>> print(round(Predictability(error=0.25, base_error=0.5).explained(0.2), 3))
        0.833
        """
        avoidable = self.base_error - rate
        if avoidable <= 0:
            return 0.0
        return float(np.clip(1 - (self.error - rate) / avoidable, 0.0, 1.0))

    def sentence(self) -> str:
        """What cannot be said, and the two shares that are the reason."""
        return (
            f"{UNPREDICTABLE_LABELS}: it misses {100 * self.error:.3g} % of the given ones, always "
            f"guessing the most frequent label {100 * self.base_error:.3g} %"
        )


def measure_predictability(
    probabilities: NDArray[np.float64], given: NDArray[np.intp]
) -> Predictability:
    """How often the likeliest label is not the given one, beside the most frequent label.

    Parameters
    ----------
    probabilities : (n, K) array
        Class probabilities by a model that did not see the row.
    given : (n,) codes

    Examples
    --------
    >>> sure = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> print(measure_predictability(sure, np.array([0, 0, 1, 1])))
    Predictability(error=0.25, base_error=0.5)
    """
    error = float((probabilities.argmax(axis=1) != given).mean())
    return Predictability(error, float(1 - np.bincount(given).max() / len(given)))
