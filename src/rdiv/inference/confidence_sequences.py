"""Confidence sequences: intervals for a mean that hold at all times at once.

An interval at level alpha may be read once. A confidence sequence may be read after every row: the
chance that it ever misses the mean is at most alpha. The mean is that of the rows so far: the
average of what each row's loss was expected to be, given the rows before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import Interval

__all__ = [
    "FIRST_ASYMPTOTIC",
    "RunningMean",
    "asymptotic_width",
    "bounded_log_wealth",
    "bounded_sequence",
    "mean_bounds",
]

Floats = NDArray[np.float64]

FIRST_ASYMPTOTIC = 100
"""Rows from which the asymptotic sequence is given."""

_RATES = np.geomspace(0.002, 4.0, 24)
_STEPS = 60  # halvings of the unit interval: more than the digits of a float


@dataclass(frozen=True)
class RunningMean:
    """The mean of a stream so far, from sums.

    Parameters
    ----------
    centre : float
        A number near the mean, which is taken off before adding up.
    count : int
    total, squares : float
        Sums of the differences from the centre, and of their squares.

    Examples
    --------
    >>> mean = RunningMean(1.0).after(np.array([0.0, 1.0, 5.0]))
    >>> print(mean.count, mean.value, round(mean.deviation, 3))
    3 2.0 2.646
    """

    centre: float = 0.0
    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def after(self, values: Floats) -> RunningMean:
        """The same after more values."""
        off = values - self.centre
        return replace(
            self,
            count=self.count + len(values),
            total=self.total + float(off.sum()),
            squares=self.squares + float(off @ off),
        )

    @property
    def value(self) -> float:
        """The mean."""
        return self.centre + self.total / self.count

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        if self.count < 2:
            return 0.0
        return sqrt(max(self.squares - self.total**2 / self.count, 0.0) / (self.count - 1))

    def sequence(self, alpha: float, *, bounded: bool, pace: float) -> Interval | None:
        """The confidence sequence at this time; None while there are too few rows for one.

        Parameters
        ----------
        alpha : float
            The chance of ever missing the mean.
        bounded : bool
            Whether the values lie between 0 and 1; the sequence then holds at every size,
            otherwise from `FIRST_ASYMPTOTIC` rows on, and approximately.
        pace : float
            Rows at which the asymptotic sequence is narrowest for its level.

        Examples
        --------
        >>> mean = RunningMean().after(np.repeat([0.0, 1.0], [900, 100]))
        >>> low, high = mean.sequence(0.05, bounded=True, pace=1000)
        >>> print(round(low, 3), round(high, 3))
        0.07 0.136
        """
        if bounded:
            total = self.centre * self.count + self.total
            ends = bounded_sequence(np.array(total), np.array(self.count), alpha)
            return Interval(*map(float, ends)) if self.count else Interval(0.0, 1.0)
        if self.count < FIRST_ASYMPTOTIC:
            return None
        width = self.deviation * float(asymptotic_width(np.array(self.count), alpha, pace))
        return Interval(self.value - width, self.value + width)


def asymptotic_width(counts: NDArray[np.number], alpha: float, pace: float) -> Floats:
    """Half the width of the asymptotic confidence sequence, in standard deviations.

    Notes
    -----
    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), theorem 2.2: a Gaussian mixture of
    Robbins. Its coverage is asymptotic in the time of the first look, for rows that are independent
    with two moments and a little more; their means may change.

    Examples
    --------
    >>> print(asymptotic_width(np.array([100, 1000]), 0.05, 1000).round(3))
    [0.386 0.096]
    """
    rate = (-2 * log(alpha) + log(1 - 2 * log(alpha))) / pace
    t = np.asarray(counts, dtype=np.float64)
    width: Floats = np.sqrt(
        2 * (t * rate + 1) / (t**2 * rate) * (np.log(t * rate + 1) / 2 - log(alpha))
    )
    return width


def bounded_log_wealth(totals: Floats, counts: Floats, means: Floats, sign: int) -> Floats:
    """Log wealth of bets that the mean of values in [0, 1] is above (or below) a given one.

    Parameters
    ----------
    totals, counts : arrays
        Sum and number of the values so far.
    means : array
        The mean that is bet against.
    sign : {1, -1}
        1 bets on a larger mean, -1 on a smaller one.

    Notes
    -----
    The mixture over rates h of ``exp(h total) / (1 + m (exp(h) - 1))^count``. For values in [0, 1]
    the mean of exp(h x) is at most ``1 + E[x] (exp(h) - 1)``, and its log is concave in the mean,
    so this stays below a test martingale when m is the average of the means so far (Howard, Ramdas,
    McAuliffe and Sekhon 2021, section 3; for 0/1 values these are the bets of Waudby-Smith and
    Ramdas 2024 with a fixed stake).

    Examples
    --------
    >>> print(bounded_log_wealth(np.array([30.0]), np.array([100]), np.array([0.1]), 1).round(1))
    [12.5]
    """
    rates = sign * _RATES
    gains = (
        rates * totals[..., None]
        - np.log1p(means[..., None] * np.expm1(rates)) * np.asarray(counts)[..., None]
    )
    top = gains.max(axis=-1)
    found: Floats = top + np.log(np.exp(gains - top[..., None]).mean(axis=-1))
    return found


def bounded_sequence(totals: Floats, counts: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Both ends of the confidence sequence of means of values in [0, 1], at each time.

    Parameters
    ----------
    totals, counts : arrays of one shape
        Sum and number of the values so far; see `bounded_log_wealth`.
    alpha : float

    Examples
    --------
    >>> low, high = bounded_sequence(np.array([0.0, 30.0]), np.array([1.0, 100.0]), 0.05)
    >>> print(low.round(3), high.round(3))
    [0.    0.161] [1.    0.469]
    """
    most, means = log(2 / alpha), totals / np.maximum(counts, 1)
    ends = []
    for sign, outer in ((1, 0.0), (-1, 1.0)):
        refuted, kept = np.full(means.shape, outer), means.copy()
        for _ in range(_STEPS):
            middle = (refuted + kept) / 2
            over = bounded_log_wealth(totals, counts, middle, sign) >= most
            refuted, kept = np.where(over, middle, refuted), np.where(over, kept, middle)
        ends.append(np.where(kept == outer, outer, refuted))
    return ends[0], ends[1]


def mean_bounds(values: Floats, alpha: float, *, bounded: bool) -> Interval:
    """Both bounds of the mean that a sample was drawn from, for one look, each at ``alpha / 2``.

    Parameters
    ----------
    values : (n,) array
    alpha : float
    bounded : bool
        Whether the values are 0 or 1; the bounds are then those of Clopper and Pearson and hold
        at every size, otherwise Student's, which are asymptotic.

    Examples
    --------
    >>> low, high = mean_bounds(np.repeat([0.0, 1.0], [90, 10]), 0.05, bounded=True)
    >>> print(round(low, 3), round(high, 3))
    0.049 0.176
    """
    from scipy.special import betaincinv, stdtrit

    n = len(values)
    if bounded:
        k = float(values.sum())
        low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha / 2))
        return Interval(low, 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha / 2)))
    mean, error = float(values.mean()), float(values.std(ddof=1)) / sqrt(n)
    width = float(stdtrit(n - 1, 1 - alpha / 2)) * error
    return Interval(mean - width, mean + width)
