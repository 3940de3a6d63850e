"""Conformal p-values: the rank of each new number among all that came before it.

A stream that is exchangeable with its reference gives independent uniform p-values, whatever the
distribution of the numbers and whatever the size of the reference. Each number joins the others
once it has its rank: with a reference that stays fixed, p-values would depend on one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rdiv.parallel.loops import compiled_loops

__all__ = ["RankedNumbers", "conformal_pvalues", "earlier_counts"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LONG = 20_000
"""From this many numbers on, loading compiled loops takes less time than it saves."""


def conformal_pvalues(reference: Floats, stream: Floats, draws: Floats) -> Floats:
    """P-value of every number of a stream among the reference and the stream so far.

    Parameters
    ----------
    reference : (n,) array
    stream : (t,) array
        In order of arrival.
    draws : (t,) array
        Uniform numbers in (0, 1] that break ties.

    Returns
    -------
    (t,) array
        Small where a number is larger than most before it.

    Notes
    -----
    Smoothed conformal p-values (Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random
    World*, 2nd ed. 2022, theorem 11.1): if reference and stream are exchangeable, the p-values of
    all rows are independent and uniform on (0, 1). The assumption is one about all rows together,
    across calls: the order of the rows must not say anything about their numbers.

    Examples
    --------
    >>> reference, stream = np.array([1.0, 2.0, 3.0]), np.array([2.5, 0.5])
    >>> print(conformal_pvalues(reference, stream, np.array([1.0, 0.5])))
    [0.5 0.9]
    """
    return RankedNumbers(np.sort(reference)).pvalues(stream, draws)


@dataclass(frozen=True, eq=False)
class RankedNumbers:
    """A multiset of numbers in which new ones find their rank.

    Parameters
    ----------
    values : (m,) array, increasing
    counts : (m,) integers, optional
        How many numbers each value stands for; None where each stands for itself.
    spread : (m,) mask, optional
        Which values stand for all numbers above the value before them, up to themselves.

    Notes
    -----
    New numbers fall into gaps between the known ones, each with the same probability. A value that
    stands for c numbers of its own interval stands for c of these gaps, so ranks drawn at random
    inside the interval have the same law as exact ranks (a Polya urn): p-values stay independent
    and uniform when the numbers have no ties. A number that equals the end of such an interval is
    counted inside it, which can only raise its p-value.

    Examples
    --------
    >>> known = RankedNumbers(np.array([1.0, 2.0, 2.0, 5.0]))
    >>> print(known.pvalues(np.array([2.0, 9.0]), np.array([1.0, 0.5])))
    [0.8        0.08333333]
    >>> print(known.joined(np.array([9.0])).compacted(6).counts)
    [1 2 1 1]
    """

    values: Floats
    counts: Whole | None = None
    spread: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values) if self.counts is None else int(self.counts.sum())

    @cached_property
    def above(self) -> Whole:
        """How many numbers stand at or after each place, ``(m + 1,)``."""
        assert self.counts is not None
        return np.concatenate([np.cumsum(self.counts[::-1])[::-1], [0]])

    def pvalues(self, new: Floats, draws: Floats) -> Floats:
        """P-values of numbers that arrive one after the other; see `conformal_pvalues`."""
        above, own, seen = self._places(new)
        codes = np.unique(seen, return_inverse=True)[1].astype(np.int64)
        less, equal = earlier_counts(codes)
        earlier = np.arange(len(new))
        greater = above + (earlier - less - equal)
        found: Floats = (greater + draws * (own + equal)) / (len(self) + earlier + 1)
        return found

    def _places(self, new: Floats) -> tuple[Whole, Whole, Floats]:
        """Known numbers above each new one, gaps that it may stand in, and what it counts as."""
        low = np.searchsorted(self.values, new, side="left")
        high = np.searchsorted(self.values, new, side="right")
        if self.counts is None:
            return len(self.values) - high, 1 + high - low, new
        above, own = self.above[high], 1 + self.above[low] - self.above[high]
        if self.spread is None:
            return above, own, new
        last = np.minimum(low, len(self.values) - 1)
        inside = self.spread[last] & (low < len(self.values))
        above = np.where(inside, self.above[last + 1] + 1, above)
        own = np.where(inside, self.counts[last], own)
        return above, own, np.where(inside, self.values[last], new)

    def joined(self, new: Floats) -> RankedNumbers:
        """The same with more numbers."""
        seen = np.sort(self._places(new)[2])
        if self.counts is None:
            return RankedNumbers(np.insert(self.values, np.searchsorted(self.values, seen), seen))
        fresh, more = np.unique(seen, return_counts=True)
        at = np.searchsorted(self.values, fresh)
        last = np.minimum(at, len(self.values) - 1)
        known = (self.values[last] == fresh) & (at < len(self.values))
        counts = self.counts.copy()
        counts[at[known]] += more[known]
        places = at[~known]
        spread = np.zeros(len(counts), bool) if self.spread is None else self.spread
        return RankedNumbers(
            np.insert(self.values, places, fresh[~known]),
            np.insert(counts, places, more[~known]),
            np.insert(spread, places, False),
        )

    def compacted(self, most: int) -> RankedNumbers:
        """The same in about `most` values, if there are more.

        Values that are frequent by themselves are kept apart; the others are put together in
        intervals of about equal counts.
        """
        values, counts, spread = self._distinct()
        if len(values) <= most:
            return RankedNumbers(values, counts, spread)
        share = max(2 * counts.sum() / most, 1)
        frequent = (counts >= share) & ~spread
        block = np.floor((np.cumsum(counts) - 1) / share)
        ends = np.append(block[1:] != block[:-1], True)
        ends |= frequent | np.append(frequent[1:], False)  # an interval may not hold a frequent one
        last = np.flatnonzero(ends)
        first = np.concatenate([[0], last[:-1] + 1])
        together = np.add.reduceat(counts, first)
        return RankedNumbers(values[last], together, (first < last) | spread[last])

    def _distinct(self) -> tuple[Floats, Whole, NDArray[np.bool_]]:
        if self.counts is None:
            values, counts = np.unique(self.values, return_counts=True)
            return values, counts.astype(np.int64), np.zeros(len(values), bool)
        spread = np.zeros(len(self.values), bool) if self.spread is None else self.spread
        return self.values, self.counts, spread


def earlier_counts(codes: Whole, *, compiled: bool | None = None) -> tuple[Whole, Whole]:
    """For every place, how many earlier places hold a smaller and how many an equal number.

    Parameters
    ----------
    codes : (n,) whole numbers from 0
    compiled : bool, optional
        Use numba; by default where it is installed and there are many numbers.

    Notes
    -----
    Without numba: one pass per binary digit, from the highest on. Places with the same leading
    digits are kept together in their order, and those with a digit 1 count the 0 digits before
    them. This takes n log n operations on whole arrays.

    Examples
    --------
    >>> print(*earlier_counts(np.array([1, 0, 1, 2])))
    [0 0 1 3] [0 0 1 0]
    """
    wanted = len(codes) >= LONG if compiled is None else compiled
    loops = compiled_loops("rdiv.inference.stream_kernels") if wanted else None
    if loops is not None:
        less, equal = loops.earlier_counts(codes)
        return less, equal
    n = len(codes)
    place, order = np.arange(n), np.arange(n)
    start, end = np.zeros(n, np.int64), np.full(n, n, np.int64)
    less = np.zeros(n, np.int64)
    for digit in range(int(codes.max(initial=0)).bit_length() - 1, -1, -1):
        one = (codes[order] >> digit) & 1
        zeros = np.concatenate([[0], np.cumsum(1 - one)])
        before, all_zeros = zeros[:-1] - zeros[start], zeros[end] - zeros[start]
        less[order] += one * before
        cut = start + all_zeros
        to = np.where(one == 0, start + before, cut + (place - start - before))
        order, start, end = _moved(
            to, order, np.where(one == 0, start, cut), np.where(one == 0, cut, end)
        )
    equal = np.empty(n, np.int64)
    equal[order] = place - start
    return less, equal


def _moved(to: Whole, *arrays: Whole) -> tuple[Whole, ...]:
    moved = tuple(np.empty_like(array) for array in arrays)
    for new, old in zip(moved, arrays, strict=True):
        new[to] = old
    return moved
