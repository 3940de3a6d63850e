"""E-processes: wealth of someone who bets against "nothing has changed", and may look at any time.

A fair bet multiplies the wealth by a function of the next row whose mean is at most 1 while
nothing has changed. From 1 on, the wealth then reaches ``1 / alpha`` at any time with a probability
of at most alpha (Ville 1939), however often somebody looks and whenever they stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.parallel.loops import compiled_loops

__all__ = [
    "BETS",
    "MEAN_BETS",
    "Bet",
    "Wealth",
    "bet_on_mean",
    "bet_on_ranks",
    "e_detector",
    "e_process",
]

Floats = NDArray[np.float64]

FROM_START = 0.45
"""Share of the wealth that bets on a change before the first row; the rest waits for later ones."""

PACE = 1000.0
"""Rows after which half of the waiting share, roughly, has begun to bet."""

ENOUGH = 1e100
"""Wealth at which betting ends, so that no number overflows."""

BLOCK = 1 << 16
"""Rows at a time."""

LONG = 2_000
"""From this many rows on, loading compiled loops takes less time than it saves."""


class Bet(NamedTuple):
    """A betting function of p-values, whose mean over (0, 1) is 1.

    Parameters
    ----------
    name : str
        What it bets on.
    weight : float
        Its share of the wealth.
    at : callable
    """

    name: str
    weight: float
    at: Callable[[Floats], Floats]


def _power(kappa: float) -> Callable[[Floats], Floats]:
    return lambda p: kappa * p ** (kappa - 1)


def _line(slope: float) -> Callable[[Floats], Floats]:
    return lambda p: 1 + slope * (1 - 2 * p)


def _step(end: float, gain: float) -> Callable[[Floats], Floats]:
    """For losses of 0 and 1: ranks of errors are drawn at random among all errors."""
    rest = (1 - end * gain) / (1 - end)
    return lambda p: np.where(p <= end, gain, rest)


def _tail(p: Floats) -> Floats:
    return 0.8 + 0.2 * (0.2 * p**-0.8)


def _both_ends(p: Floats) -> Floats:
    return 1 + 0.25 * (3 * (2 * p - 1) ** 2 - 1)


BETS: tuple[Bet, ...] = (
    Bet("larger mean", 0.18, _power(0.9)),
    Bet("larger mean", 0.14, _power(0.75)),
    Bet("larger mean", 0.08, _power(0.55)),
    Bet("larger mean", 0.14, _line(0.35)),
    Bet("more errors", 0.08, _step(0.05, 1.7)),
    Bet("more errors", 0.08, _step(0.1, 1.5)),
    Bet("more errors", 0.06, _step(0.2, 1.35)),
    Bet("heavier tail", 0.08, _tail),
    Bet("any change", 0.08, _line(-0.4)),
    Bet("any change", 0.04, _line(-0.9)),
    Bet("any change", 0.04, _both_ends),
)
"""The mixture that a monitor bets with: mostly on larger losses, a little on everything else.

Chosen by the delays on draws other than those of `benchmarks/studies/watching_delay.py`.
"""

MEAN_BETS = (0.02, 0.05, 0.1, 0.25, 0.5)
"""Shares of the wealth that are staked on a mean above a limit, in equal parts."""


def bet_on_ranks(pvalues: Floats) -> Floats:
    """What each betting function makes of each p-value, ``(k, t)``.

    Examples
    --------
    >>> print(bet_on_ranks(np.array([0.01, 0.99]))[3].round(3))
    [1.343 0.657]
    """
    return np.stack([bet.at(pvalues) for bet in BETS])


def bet_on_mean(losses: Floats, limit: float) -> Floats:
    """Bets on a mean above a limit, of losses that are never negative, ``(k, t)``.

    Parameters
    ----------
    losses : (t,) array, 0 or more
    limit : float
        More than 0.

    Notes
    -----
    The factors are ``1 + lambda (loss - limit)`` with lambda at most ``1 / limit``: never negative,
    and of mean at most 1 as long as no row's mean, given the rows before it, is above the limit
    (Waudby-Smith and Ramdas 2024, section 4; nothing is assumed about the shape of the losses).

    Examples
    --------
    >>> print(bet_on_mean(np.array([0.0, 3.0]), 1.0)[-1])
    [0.5 2. ]
    """
    shares = np.array(MEAN_BETS)[:, None]
    found: Floats = 1 + shares * (losses / limit - 1)
    return found


@dataclass(frozen=True, eq=False)
class Wealth:
    """A wealth that has been bet on a stream so far: an e-process.

    A share bets from the first row on, and is staked less and less, as rows that may be changed
    themselves join the numbers that later ones are ranked among. The rest waits, and joins the bets
    bit by bit, so that a change after a long quiet time is found too.

    Parameters
    ----------
    parts : (2 k,) array
        What each bet has made of the share of the start, and of that which joined later.
    weights : (k,) array
        Share of each bet; they add up to 1.
    rows : int
        Rows so far.
    value, largest : float
        The wealth now, and the largest so far.
    pace : float
        See `PACE`.
    reference : float
        Numbers in the reference; infinite where rows are not ranked.

    Notes
    -----
    A mixture of test martingales over betting functions and over the time of the change; each is
    one if the p-values are independent and uniform (conformal test martingales: Vovk, Nouretdinov
    and Gammerman 2003). It stays one across calls: all rows must come through `after`, each once,
    in the order of their arrival.

    Examples
    --------
    >>> quiet = np.random.default_rng(0).random(500)
    >>> wealth, values = Wealth.at_start(1000).after(bet_on_ranks(quiet))
    >>> print(wealth.rows, wealth.largest < 20, wealth.value == values[-1])
    500 True True
    """

    parts: Floats
    weights: Floats
    rows: int = 0
    value: float = 1.0
    largest: float = 1.0
    pace: float = PACE
    reference: float = float("inf")

    @classmethod
    def at_start(
        cls, reference: float, weights: Sequence[float] | Floats | None = None, pace: float = PACE
    ) -> Wealth:
        """A wealth of 1, before the first row."""
        shares = np.array([bet.weight for bet in BETS] if weights is None else weights)
        shares = shares / shares.sum()
        parts = np.concatenate([FROM_START * shares, np.zeros_like(shares)])
        return cls(parts, shares, pace=pace, reference=float(reference))

    def after(self, bets: Floats, *, compiled: bool | None = None) -> tuple[Wealth, Floats]:
        """The wealth after more rows, and its values row by row.

        Parameters
        ----------
        bets : (k, t) array
            What each bet makes of each row.
        compiled : bool, optional
            Use numba; by default where it is installed and there are many rows.
        """
        wealth, values = self, np.empty(bets.shape[1])
        for first in range(0, bets.shape[1], BLOCK):
            block = slice(first, first + BLOCK)
            wealth, values[block] = wealth._after_block(bets[:, block], compiled)
        return wealth, values

    def _after_block(self, bets: Floats, compiled: bool | None) -> tuple[Wealth, Floats]:
        count = bets.shape[1]
        if self.value >= ENOUGH:
            return replace(self, rows=self.rows + count), np.full(count, self.value)
        row = self.rows + np.arange(count + 1)
        waiting = (1 - FROM_START) / (1 + np.log1p(row / self.pace))
        joining = np.concatenate([np.zeros_like(self.weights), self.weights])
        staked = 1 / (1 + row[:-1] / self.reference)
        factors = np.concatenate([1 + staked * (bets - 1), bets])
        parts, values = self.parts.copy(), np.empty(count)
        settled = _bet(
            parts, factors, waiting[:-1] - waiting[1:], joining, waiting[1:], values, compiled
        )
        values[settled:] = values[settled - 1]
        value, largest = float(values[-1]), max(self.largest, float(values.max()))
        new = replace(self, parts=parts, rows=self.rows + count, value=value, largest=largest)
        return new, values


def _bet(
    parts: Floats,
    factors: Floats,
    released: Floats,
    joining: Floats,
    resting: Floats,
    values: Floats,
    compiled: bool | None,
) -> int:
    """Change `parts` and `values` row after row; return after how many rows betting ended."""
    wanted = len(values) >= LONG if compiled is None else compiled
    loops = compiled_loops("rdiv.inference.stream_kernels") if wanted else None
    if loops is not None:
        return int(loops.add_up(parts, factors, released, joining, resting, ENOUGH, values))
    history = np.empty_like(factors)
    now = parts
    with np.errstate(over="ignore", invalid="ignore"):  # after the end of betting
        for t in range(len(values)):
            now = (now + released[t] * joining) * factors[:, t]
            history[:, t] = now
        values[:] = resting
        for part in history:  # one after the other, as in the compiled loop: the same bits
            values += part
    over = np.flatnonzero(values >= ENOUGH)
    settled = len(values) if not len(over) else int(over[0]) + 1
    parts[:] = history[:, settled - 1]
    return settled


def e_process(pvalues: Floats, reference: float) -> Floats:
    """The e-process of a whole stream of conformal p-values, row by row.

    Parameters
    ----------
    pvalues : (t,) array
        See `rdiv.inference.conformal.conformal_pvalues`.
    reference : float
        Numbers in the reference.

    Examples
    --------
    >>> from rdiv.inference.conformal import conformal_pvalues
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.exponential(size=1500)
    >>> losses[1000:] *= 1.6
    >>> p = conformal_pvalues(losses[:1000], losses[1000:], 1 - rng.random(500))
    >>> print(bool((e_process(p, 1000) >= 20).any()))
    True
    """
    wealth, values = Wealth.at_start(reference), np.empty(len(pvalues))
    for first in range(0, len(pvalues), BLOCK):
        block = slice(first, first + BLOCK)
        wealth, values[block] = wealth.after(bet_on_ranks(pvalues[block]))
    return values


def e_detector(evidence: Floats, weights: Floats, between: float) -> NDArray[np.intp]:
    """Units at which an e-detector that starts again after every alarm sounds one.

    Parameters
    ----------
    evidence : (t, k) array
        Log of what each bet makes of each unit (a row, or a batch of them).
    weights : (k,) array
        Shares of the bets.
    between : float
        Units between false alarms, at least, in the mean.

    Notes
    -----
    Shin, Ramdas and Rinaldo (2024), theorem 2.4, in the Shiryaev-Roberts form: the sum of the
    e-processes that start at each unit, ``M = (M + 1) e``, minus the number of units is a
    martingale while nothing changes, so the mean time until it reaches `between` is at least that
    many units; after a restart the same holds again. This assumes what the bets assume, across all
    calls: p-values that stay independent and uniform.

    Examples
    --------
    >>> evidence = np.array([[0.0], [2.0], [2.0], [0.0], [4.0]])
    >>> print(e_detector(evidence, np.array([1.0]), 40.0))
    [2 4]
    """
    alarms, sums = [], np.zeros(len(weights))
    with np.errstate(over="ignore"):
        for unit, gains in enumerate(np.exp(evidence)):
            sums = (sums + 1) * gains
            if float(weights @ sums) >= between:
                alarms.append(unit)
                sums = np.zeros(len(weights))
    return np.array(alarms, dtype=np.intp)
