"""Several statistics as one test: their permutation p-values combined, and ranked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.ties import upper_counts

__all__ = ["Combine", "min_p", "nested", "weighted_p"]

Floats = NDArray[np.float64]
Combine = Callable[[Floats], Floats]


def min_p(parts: Floats) -> Floats:
    """Combine columns of statistics by their smallest p-value, ties broken by the sum of log p.

    Parameters
    ----------
    parts : (1 + B, k) array
        One row per split, the observed one first; large means different.

    Returns
    -------
    (1 + B,) array
        ``-log10`` of the smallest p-value of each row, plus a tie-break smaller than the least step
        between two such numbers, which grows with the evidence of the other p-values. All rows are
        ranked in the same way, so permuting the rows permutes the numbers.

    Notes
    -----
    Without the tie-break, min-p at B = 99 and level .01 could never reject: several splits share
    the smallest p-value. The p-value of a row in a column is its rank among all ``1 + B`` rows.

    Examples
    --------
    >>> parts = np.array([[9.0, 1.0], [1.0, 7.0], [2.0, 9.0], [3.0, 2.0]])
    >>> print(min_p(parts).round(2))
    [0.63 0.32 0.64 0.32]
    """
    n, k = parts.shape
    logs = -np.log10(np.stack([upper_counts(column) for column in parts.T], axis=1) / n)
    largest, evidence = logs.max(axis=1), np.sort(logs, axis=1).sum(axis=1)
    least_step = np.log10(n / (n - 1)) if n > 1 else 0.0
    most = k * np.log10(n) or 1.0
    combined: Floats = largest + 0.5 * least_step * evidence / most
    return combined


def weighted_p(weights: Sequence[float]) -> Combine:
    """Combine columns by their p-values over weights, the smallest counting most.

    Like `min_p` it finds what one column alone sees, the more easily the larger its weight. Where
    several columns see something, each of them adds to the result.

    Parameters
    ----------
    weights : sequence of k float
        Positive, one per column; only their ratios matter. Fixed before any label is looked at.

    Returns
    -------
    callable
        From ``(1 + B, k)`` statistics, the observed split first and large meaning different, to
        ``(1 + B,)`` numbers: half of ``log10(sum((w / p)**2))``, with p the p-value of a row in a
        column, its rank among all rows. All rows are ranked in the same way, so permuting the rows
        permutes the numbers.

    Notes
    -----
    With the power 1 in place of 2 this would be the weighted harmonic mean of p-values (Good 1958;
    Wilson 2019), with a large one the weighted smallest p-value. What is combined is ranked among
    the same permutations again, so the level is exact whatever the dependence of the columns.

    Examples
    --------
    >>> parts = np.array([[9.0, 7.0], [1.0, 9.0], [2.0, 1.0], [3.0, 2.0]])
    >>> print(weighted_p([0.5, 0.5])(parts).round(2))
    [ 0.35  0.31 -0.08  0.08]
    """
    own = np.asarray(weights, dtype=np.float64)

    def combine(parts: Floats) -> Floats:
        shares = np.stack([upper_counts(column) for column in parts.T], axis=1) / len(parts)
        squares = np.sort((own / shares) ** 2, axis=1)  # one order, for ties to stay ties
        combined: Floats = 0.5 * np.log10(squares.sum(axis=1))
        return combined

    return combine


def nested(members: Sequence[tuple[int, Combine | None]], together: Combine = min_p) -> Combine:
    """Combine the columns of every member first, then the members.

    Parameters
    ----------
    members : sequence of pairs
        The number of columns of a member, and how it combines them (None for one column).
    together : callable
        How the members are combined.

    Examples
    --------
    >>> combine = nested([(1, None), (2, min_p)])
    >>> print(combine(np.arange(12.0).reshape(4, 3)).argmax())
    3
    """
    ends = np.cumsum([count for count, _ in members])

    def combine(parts: Floats) -> Floats:
        columns = [
            parts[:, end - count] if within is None else within(parts[:, end - count : end])
            for (count, within), end in zip(members, ends, strict=True)
        ]
        return columns[0] if len(columns) == 1 else together(np.stack(columns, axis=1))

    return combine
