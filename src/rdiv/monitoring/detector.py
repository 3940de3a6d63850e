"""When a change began, from the evidence of every batch; and alarms that start again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.betting import e_detector

__all__ = ["Since", "change_point", "restarted_alarms"]

Floats = NDArray[np.float64]

MASS = 0.95
"""Share of the evidence that the range of a change point holds."""


class Since(NamedTuple):
    """The batch in which a change began, estimated, and the first and last plausible one."""

    name: str
    low: str
    high: str


def change_point(
    evidence: Floats, rows: Sequence[int], names: Sequence[str], weights: Floats
) -> Since:
    """Where a change began, as the bets that started there saw it.

    Parameters
    ----------
    evidence : (b, k) array
        Log of what each bet made of each batch.
    rows : sequence of int
        Units of each batch that were bet on.
    names : sequence of str
    weights : (k,) array
        Shares of the bets.

    Notes
    -----
    What the mixture of bets would have won from the start of each batch on, times the rows of the
    batch, is taken for the posterior weight of a change there. The estimate is the median, and the
    range leaves out at most 2.5 % at each end. It is an estimate, not a confidence interval: no
    rate of coverage is promised.

    Examples
    --------
    >>> evidence = np.array([[-1.0], [-1.0], [3.0], [3.0]])
    >>> days = ["mon", "tue", "wed", "thu"]
    >>> print(change_point(evidence, [50] * 4, days, np.array([1.0])).name)
    wed
    """
    shares = np.asarray(rows, dtype=np.float64)
    after = np.cumsum(evidence[::-1], axis=0)[::-1]
    with np.errstate(divide="ignore"):
        log_weights = np.log(shares)[:, None] + np.log(weights) + after
    top = log_weights.max()
    starts = np.exp(log_weights - top).sum(axis=1)
    mass = np.cumsum(starts) / starts.sum()
    tail = (1 - MASS) / 2
    places = [int(np.searchsorted(mass, share)) for share in (0.5, tail, 1 - tail)]
    return Since(*(names[min(place, len(names) - 1)] for place in places))


def restarted_alarms(
    evidence: Floats, names: Sequence[str], weights: Floats, between: float
) -> list[str]:
    """Batches at which an e-detector that starts again after every alarm sounds one.

    Parameters
    ----------
    evidence, names
        As in `change_point`.
    weights : (k,) array
    between : float
        Batches between false alarms, at least, in the mean.

    Examples
    --------
    >>> evidence = np.array([[0.0], [5.0], [-1.0], [6.0]])
    >>> print(restarted_alarms(evidence, ["a", "b", "c", "d"], np.array([1.0]), 100.0))
    ['b', 'd']
    """
    return [names[place] for place in e_detector(evidence, weights, between)]
