"""Reference rows turned into current rows, one part of the columns at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import Interval, planned_critical, variance_of_mean
from rdiv.row_blocks import cut, rows_within

__all__ = ["ExpectedLoss", "Matrix", "Paths", "paths_at_once", "used_rows", "walk"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
ExpectedLoss = Callable[[Floats], Floats]


class Matrix(Protocol):
    """Rows as numbers, ``(n, d)``: an array, or an object that makes them when they are wanted."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Rows, /) -> Floats: ...


EVALUATIONS = 200_000  # most rows whose expected loss is asked for along the paths
WIDE = 100  # columns from which on the evaluations get fewer, as each of them costs more
FEWEST_ROUNDS, MOST_ROUNDS = 2, 16  # pairings: how often each row is used

_BLOCK_ROWS, _BLOCK_NUMBERS = 2**16, 2**22


def paths_at_once(rows: int, width: int) -> int:
    """How many paths of so many rows of a width g is asked about together."""
    return max(min(_BLOCK_ROWS // rows, rows_within(_BLOCK_NUMBERS, rows * width)), 1)


def _evaluations(width: int) -> int:
    return EVALUATIONS * WIDE // max(width, WIDE)


def used_rows(
    is_p: NDArray[np.bool_], n_parts: int, rng: np.random.Generator, width: int = 1
) -> tuple[Rows, Rows]:
    """As many rows of both samples as the evaluations of rows of that width allow."""
    sides = np.flatnonzero(is_p), np.flatnonzero(~is_p)
    limit = max(_evaluations(width) // (FEWEST_ROUNDS * _rows_of_pair(n_parts)), 2)
    small, large = sorted(min(len(rows), limit) for rows in sides)
    if _pairs_of_round(small, large) > limit:
        large = large // small * small  # then a round has no more pairs than rows
    n_p, n_q = (small, large) if len(sides[0]) <= len(sides[1]) else (large, small)
    return _drawn(sides[0], n_p, rng), _drawn(sides[1], n_q, rng)


def _drawn(rows: Rows, number: int, rng: np.random.Generator) -> Rows:
    return rows if number == len(rows) else np.sort(rng.choice(rows, number, replace=False))


def _rows_of_pair(n_parts: int) -> int:
    """Rows between a reference and a current row, on the way there in two orders."""
    return max(2 * (n_parts - 1), 1)


def _pairs_of_round(n_p: int, n_q: int) -> int:
    return n_p + n_q - gcd(n_p, n_q)


def _pair(n_p: int, n_q: int, rng: np.random.Generator) -> tuple[Rows, Rows, Floats]:
    """Pairs of rows with weights, such that all rows of a sample weigh the same.

    Both samples are laid along a line of the same length, in random orders; the pairs are those
    that overlap, and the overlaps are the weights.
    """
    units = n_p * n_q  # the line in whole numbers: a row of p is n_q long
    ends = np.union1d(np.arange(1, n_p + 1) * n_q, np.arange(1, n_q + 1) * n_p)
    starts = np.concatenate([[0], ends[:-1]])
    return (
        rng.permutation(n_p)[starts // n_q],
        rng.permutation(n_q)[starts // n_p],
        (ends - starts) / units,
    )


@dataclass(frozen=True, eq=False)
class Paths:
    """The changes of g along the paths of all pairs.

    Parameters
    ----------
    places : pair of (m,) arrays
        For each pair the places of its two rows among the rows used of the samples.
    sizes : pair of int
        Rows used of each sample.
    weights : (m,) array
        They sum to 1, and to the same for all rows of a sample.
    changes : (m, parts) array
    scale : float
        The largest g, of either sign.
    """

    places: tuple[Rows, Rows]
    sizes: tuple[int, int]
    weights: Floats
    changes: Floats
    scale: float

    def interval(
        self, part: int, alpha: float, groups: tuple[Rows, Rows] | None
    ) -> Interval | None:
        """Interval of the contribution of a part.

        With ``change = mean + a[reference row] + b[current row] + rest``, all uncorrelated, a
        reference row's mean over its pairs varies by ``var a + q (var b + var rest)``, where q is
        the sum of the squared weights of a row's pairs, and single pairs vary by the sum of all
        three. These moments give the three variances, and so the variance of the mean. Without the
        correction by q, few rounds would count the partners of a row as its own variance.
        """
        own, weights = self.changes[:, part], self.weights
        mean = float(weights @ own)
        whole = float(weights @ (own - mean) ** 2)
        units: list[int] = []
        of_side: list[float] = []
        rows: list[float] = []
        for side, n in enumerate(self.sizes):
            codes = None if groups is None else groups[side]
            units.append(n if codes is None else len(np.unique(codes)))
            if units[-1] < 2:
                return None
            means: Floats = n * np.bincount(self.places[side], weights * own, n).astype(float)
            q = n * float((weights**2).sum())
            single = max(float(means.var(ddof=1)) - q * whole, 0.0) / (1 - q)
            rows.append(single)
            noise = q * max(whole - single, 0.0)
            of_side.append(max(variance_of_mean(means, codes) - noise, 0.0) / n)
        rest = max(whole - sum(rows), 0.0) * float((weights**2).sum())
        (n_p, n_q), (of_p, of_q) = units, of_side
        critical = planned_critical(n_p, n_q, n_p * of_p, n_q * of_q, alpha)
        half = critical * float(np.sqrt(of_p + of_q + rest))
        return Interval(mean - half, mean + half)


def walk(
    g: ExpectedLoss,
    matrix: Matrix,
    sides: tuple[Rows, Rows],
    part_of: Rows,
    rng: np.random.Generator,
) -> Paths:
    """Turn reference rows into current ones, part by part, in several pairings."""
    n_parts = int(part_of.max()) + 1
    sizes = len(sides[0]), len(sides[1])
    affordable = _evaluations(matrix.shape[1]) // (_rows_of_pair(n_parts) * _pairs_of_round(*sizes))
    rounds = min(max(affordable, FEWEST_ROUNDS), MOST_ROUNDS)
    drawn = [_pair(*sizes, rng) for _ in range(rounds)]
    first, second = (np.concatenate([one[side] for one in drawn]) for side in (0, 1))
    weights = np.concatenate([one[2] for one in drawn]) / rounds
    used = matrix[sides[0]], matrix[sides[1]]
    ends = _evaluated(g, used[0]), _evaluated(g, used[1])
    order = rng.permuted(np.tile(np.arange(n_parts), (len(first), 1)), axis=1)
    changes = np.empty((len(first), n_parts))
    for block in cut(len(first), paths_at_once(_rows_of_pair(n_parts), matrix.shape[1])):
        both = first[block], second[block]
        rows = used[0][both[0]], used[1][both[1]]
        levels = ends[0][both[0]], ends[1][both[1]]
        changes[block] = _changes(g, rows, levels, order[block], part_of)
    scale = float(max(np.abs(level).max() for level in ends))
    return Paths((first, second), sizes, weights, changes, scale)


def _changes(
    g: ExpectedLoss,
    rows: tuple[Floats, Floats],
    ends: tuple[Floats, Floats],
    order: Rows,
    part_of: Rows,
) -> Floats:
    """The change of g at the turn of each part, mean over an order and its reverse."""
    m, n_parts = order.shape
    turns = np.stack([order, n_parts - 1 - order], axis=1)  # (m, 2, parts): when a part's turn is
    steps = np.arange(1, n_parts)[:, None]
    taken = turns[:, :, None, part_of] < steps  # (m, 2, parts - 1, d)
    mixed = np.where(taken, rows[1][:, None, None], rows[0][:, None, None])
    values = np.empty((m, 2, n_parts + 1))
    values[:, :, 0], values[:, :, -1] = ends[0][:, None], ends[1][:, None]
    if n_parts > 1:
        values[:, :, 1:-1] = g(mixed.reshape(-1, len(part_of))).reshape(m, 2, n_parts - 1)
    mean: Floats = np.take_along_axis(np.diff(values, axis=2), turns, axis=2).mean(axis=1)
    return mean


def _evaluated(g: ExpectedLoss, rows: Floats) -> Floats:
    blocks = cut(len(rows), paths_at_once(1, rows.shape[1]))
    return np.concatenate([g(rows[block]) for block in blocks])
