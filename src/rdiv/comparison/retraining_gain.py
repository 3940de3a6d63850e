"""What a model that has seen both samples would win over the one in use, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import Estimate
from rdiv.inference.widened import skewed_mean
from rdiv.samples.pooling import PooledSamples

__all__ = ["Retraining", "Training", "retraining_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Retraining:
    """What a model that has seen both samples would win over the one in use.

    Parameters
    ----------
    current, reference : Estimate
        Mean loss of the model in use minus that of the shared model, row by row, on the current
        rows and on the reference rows that were compared; positive where the shared model is
        better.
    """

    current: Estimate
    reference: Estimate

    def fields(self) -> dict[str, Any]:
        """Both numbers with their intervals, for JSON."""
        return {"current": self.current._asdict(), "reference": self.reference._asdict()}


@dataclass(frozen=True)
class Training:
    """Which rows trained what.

    Parameters
    ----------
    used : int
        Rows that trained the model in use; 0 for a given one.
    pool : int
        Rows of both samples, which trained the shared model in folds.
    folds, draws : int
        Folds, and how often they were drawn; one fold stands for a model that no row trained.
    """

    used: int
    pool: int
    folds: int
    draws: int

    def inflation(self, judged: int) -> float:
        """By how much rows that train each other's models raise the variance of a mean win.

        Parameters
        ----------
        judged : int
            Rows of the sample whose mean win it is.

        Notes
        -----
        To first order the win of row i is its gradient times the difference of two fits, and each
        fit is a sum over the rows that trained it. So row j adds g_i' H^-1 g_j to the win of row i,
        and the same number to its own win when row i trains the model that judges j. The variance
        over rows takes these two for independent; as they are equal, their part of it counts twice.
        The part is computed for gradients of one size. For a given model it is the largest
        possible one: that of a model as good as the best of its kind.

        Examples
        --------
        >>> print(round(Training(300, 700, 5, 1).inflation(300), 2))
        1.34
        >>> print(Training(0, 400, 5, 1).inflation(200))
        1.5
        """
        if self.folds == 1:
            return 1.0
        kept = 1 - 1 / self.folds
        squared = kept**2 + kept * (1 - kept) / self.draws  # of the share of draws that train
        trained = kept * self.pool
        each = squared / trained**2
        total = (self.pool - self.used) * each
        if self.used:
            total += 1 / self.used - 2 * kept / trained + self.used * each
        return 1 + judged * each / total


def retraining_of(
    won: Floats, samples: PooledSamples, training: Training, alpha: float
) -> Retraining:
    """The mean win on current and on reference.

    Parameters
    ----------
    won : (n,) array
        Loss of the model in use minus that of the shared model.
    samples : PooledSamples
        The rows that it was measured on.
    training : Training
    alpha : float
    """
    groups = samples.pool.groups

    def on(side: NDArray[np.bool_]) -> Estimate:
        units = None if groups is None else groups[side]
        return skewed_mean(won[side], alpha, units, training.inflation(int(side.sum())))

    return Retraining(on(~samples.is_p), on(samples.is_p))
