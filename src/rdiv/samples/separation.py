"""How well one column alone tells two samples apart, and how likely that is by chance.

Everything here is about counts: how many rows of p and of q hold each value of the column.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

__all__ = ["Separation", "level_distance", "log_chance", "rank_distance", "separation"]

Counts = NDArray[np.int64]

_RULES = 2  # a threshold and a vote


@dataclass(frozen=True)
class Separation:
    """How well a column tells p and q apart.

    Parameters
    ----------
    distance : float
        From 0, not at all, to 1: a rule that sees this column alone is right about that share of
        the rows, less what is right by guessing; both samples count the same.
    chance : float
        Bound on the probability of such a distance, or a larger one, were rows dealt out at random.
    """

    distance: float
    chance: float


def separation(
    p: Counts, q: Counts, missing: tuple[int, int], *, ordered: bool, least: float = 0.95
) -> Separation | None:
    """A rule that tells p and q apart: one threshold, if values have an order, or a vote by value.

    Parameters
    ----------
    p, q : (levels,) integers
        Rows of each sample with each value, in the order of the values.
    missing : pair of int
        Rows of each sample without a value. They count as one more value, below or above all
        others.
    ordered : bool
        Whether the order of the values means something.
    least : float, default 0.95
        The distance at which a column counts as telling the samples apart.

    Returns
    -------
    Separation or None
        The rule that is the least likely to do this by chance; None if neither gets that far.

    Notes
    -----
    A threshold or a vote picks a set of values for p. If rows were dealt out at random, the rows
    of p in a fixed set would be hypergeometric; the bound on the chance adds up these tails
    (`log_chance`) over all sets that the rule could have picked, and is doubled for two rules. It
    holds for values of any distribution, ties included.

    Of L values a threshold can pick 4 (L - 1) sets: below or above it, with missing values at
    either end. A vote can pick 2^L. As it takes two rows of a sample with one value to get any of
    them right, at most h = min(m, n) / 2 values are picked for the smaller sample, so (e L / h)^h
    bounds the number of sets too.

    Examples
    --------
    >>> found = separation(np.array([9, 8, 0]), np.array([0, 0, 12]), (0, 0), ordered=True)
    >>> print(found.distance, found.chance < 1e-5)
    1.0 True
    >>> print(separation(np.array([9, 3]), np.array([2, 10]), (0, 0), ordered=True))
    None
    """
    m, n = int(p.sum() + missing[0]), int(q.sum() + missing[1])
    if min(m, n) < 1:
        return None
    p, q = np.append(p, missing[0]), np.append(q, missing[1])
    levels = int(((p + q) > 0).sum())
    rules: list[tuple[float, float]] = []  # distance and log of the number of sets
    if ordered:
        ends = rank_distance(p, q), rank_distance(np.roll(p, 1), np.roll(q, 1))
        rules.append((max(ends), log(4 * max(levels - 1, 1))))
    p, q = _rare_together(p, q)
    rules.append((level_distance(p, q), _log_votes(len(p), max(min(m, n) // 2, 1))))
    found = [
        Separation(distance, _probability(log_sets + log_chance(distance, m, n)))
        for distance, log_sets in rules
        if distance >= least
    ]
    return min(found, key=lambda rule: rule.chance, default=None)


def _log_votes(levels: int, most: int) -> float:
    """Log of the number of sets of values that a vote can pick."""
    return levels * log(2) if 2 * most >= levels else most * (1 + log(levels / most))


def _probability(log_bound: float) -> float:
    return min(1.0, _RULES * exp(min(log_bound, 0.0)))


def _rare_together(p: Counts, q: Counts) -> tuple[Counts, Counts]:
    """Values that one row has count as one value, as they do where rare values are encoded."""
    once, several = p + q == 1, p + q > 1
    if not once.any():
        return p[several], q[several]
    return np.append(p[several], p[once].sum()), np.append(q[several], q[once].sum())


def rank_distance(p: Counts, q: Counts) -> float:
    """Distance of Kolmogorov and Smirnov: the largest gap between the distribution functions.

    Examples
    --------
    >>> print(rank_distance(np.array([3, 1, 0]), np.array([0, 1, 3])))
    0.75
    """
    gaps = np.cumsum(p) / max(p.sum(), 1) - np.cumsum(q) / max(q.sum(), 1)
    return float(np.abs(gaps).max(initial=0.0))


def level_distance(p: Counts, q: Counts) -> float:
    """How well the *other* rows with the same value say which sample a row is from.

    A row is assigned to the sample in which its value is more frequent when the row itself is left
    out; a tie counts as wrong. Values that all differ therefore say nothing, and neither does a
    constant.

    Returns
    -------
    float
        Share of rows of p that are assigned to p, plus that of q to q, less 1.

    Examples
    --------
    >>> print(level_distance(np.array([4, 0]), np.array([0, 6])))
    1.0
    >>> print(level_distance(np.array([1, 1, 0]), np.array([0, 0, 1])))
    -1.0
    """
    m, n = int(p.sum()), int(q.sum())
    if min(m, n) < 1:
        return 0.0
    right_p = p[(p - 1) * n > q * (m - 1)].sum()
    right_q = q[(q - 1) * m > p * (n - 1)].sum()
    return float(right_p / m + right_q / n - 1)


def log_chance(distance: float, m: int, n: int) -> float:
    """Log of a bound: m of m + n rows drawn at random, a fixed set of rows catches so many more.

    Parameters
    ----------
    distance : float
        Share of the rows of p in the set less that of the rows of q, positive.
    m, n : int
        Rows of p and q.

    Returns
    -------
    float
        Holds for a set of any size; 0 where there is no bound.

    Notes
    -----
    With k rows in the set, X of them in p, the difference of the shares is at least d if and only
    if X is at least m (d n + k) / (m + n), which lies above the mode of X. From there on the
    hypergeometric probabilities fall, so the tail is at most the first of them times the number of
    terms.

    Examples
    --------
    >>> from math import comb
    >>> print(round(np.exp(-log_chance(1.0, 6, 8))), comb(14, 6))
    3003 3003
    """
    from scipy.special import gammaln

    total = m + n
    if distance * m * n < total:  # X may be at its mode
        return 0.0
    k = np.arange(1, total, dtype=np.float64)
    first = np.ceil(m * (distance * n + k) / total - 1e-9)
    possible = first <= np.minimum(k, m)
    k, first = k[possible], first[possible]
    if not len(k):
        return 0.0

    def log_choose(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1))

    ways = log_choose(k, first) + log_choose(total - k, m - first)
    ways -= log_choose(np.array([float(total)]), np.array([float(m)]))
    return float((ways + np.log(np.minimum(k, m) - first + 1)).max())
