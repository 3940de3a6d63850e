"""Sums of a symmetric matrix over the pairs of every split: the arithmetic of kernel tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.prepared import Masks
from rdiv.row_blocks import cut

__all__ = [
    "PairSums",
    "check_memory",
    "gaussian_gram",
    "pair_sums",
    "squared_distances",
    "unbiased_mmd",
]

MOST_ROWS = 20_000
PANEL = 256  # rows or columns of a matrix processed at a time

Floats = NDArray[np.float64]
PairSums = tuple[Floats, Floats, Floats, Floats, Floats]


def pair_sums(matrix: NDArray[np.floating[Any]]) -> Callable[[Masks], PairSums]:
    """Sums over ordered pairs of rows: within p, within q and across, for blocks of masks.

    Parameters
    ----------
    matrix : (n, n) symmetric array
        Of float32, products are made in single precision at half the cost; sums are in double.

    Returns
    -------
    callable
        From masks ``(b, m)``, of which the first ``n`` columns count, to five arrays ``(b,)``: the
        sums within p, within q and across (each pair once), and the sizes of p and q.

    Examples
    --------
    >>> sums = pair_sums(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0], [2.0, 4.0, 0.0]]))
    >>> print([float(part[0]) for part in sums(np.array([[True, True, False]]))])
    [2.0, 0.0, 6.0, 2.0, 1.0]
    """
    n = len(matrix)
    per_row = matrix.sum(axis=1, dtype=np.float64)
    total = float(per_row.sum())
    few = max(n // 16, 32)  # masks at a time: as floats they take a sixteenth of the matrix

    def sums(masks: Masks) -> PairSums:
        parts = np.empty((3, len(masks)))
        for block in cut(len(masks), few):
            chosen = masks[block, :n].astype(matrix.dtype)
            part = parts[:, block]
            part[0], part[1] = _within(matrix, chosen), chosen @ per_row
            part[2] = chosen.sum(axis=1)
        within_p, with_all, n_p = parts
        across = with_all - within_p
        return within_p, total - with_all - across, across, n_p, n - n_p

    return sums


def _within(matrix: NDArray[np.floating[Any]], chosen: NDArray[np.floating[Any]]) -> Floats:
    """Sum over pairs of chosen rows, ``(b,)``; by symmetry from the upper triangle alone.

    Every panel of columns meets the rows above it, which count twice, and its own rows.
    """
    within = np.zeros(len(chosen))
    for panel in cut(len(matrix), PANEL):
        own = chosen[:, panel]
        above = chosen[:, : panel.start] @ matrix[: panel.start, panel]
        above *= 2
        above += own @ matrix[panel, panel]
        within += np.einsum("ij,ij->i", above, own)
    return within


def unbiased_mmd(gram: NDArray[np.floating[Any]]) -> Callable[[Masks], Floats]:
    """Unbiased squared maximum mean discrepancy of every split (Gretton et al. 2012, Eq. 3).

    The diagonal of `gram` is set to 0 in place: no row is compared with itself.

    Examples
    --------
    >>> mmd = unbiased_mmd(
    ...     np.array(
    ...         [
    ...             [1.0, 0.5, 0.0, 0.0],
    ...             [0.5, 1.0, 0.0, 0.0],
    ...             [0.0, 0.0, 1.0, 0.5],
    ...             [0.0, 0.0, 0.5, 1.0],
    ...         ]
    ...     )
    ... )
    >>> print(mmd(np.array([[True, True, False, False]])))
    [1.]
    """
    np.fill_diagonal(gram, 0.0)
    sums = pair_sums(gram)

    def statistic(masks: Masks) -> Floats:
        within_p, within_q, across, n_p, n_q = sums(masks)
        pairs_p, pairs_q = np.maximum(n_p * (n_p - 1), 1), np.maximum(n_q * (n_q - 1), 1)
        within = within_p / pairs_p + within_q / pairs_q
        mmd: Floats = within - 2 * across / np.maximum(n_p * n_q, 1)
        return mmd

    return statistic


def gaussian_gram(x: Floats, bandwidth: float) -> Floats:
    """Gaussian kernel ``exp(-|x - y|^2 / (2 bandwidth^2))`` of all pairs, ``(n, n)``."""
    n = len(x)
    scaled = (x - x.mean(axis=0)) / bandwidth
    halves = np.einsum("ij,ij->i", scaled, scaled) / 2
    gram = np.empty((n, n))
    for rows in cut(n, PANEL):  # one pass over memory: a panel stays in the cache
        panel = gram[rows]
        np.matmul(scaled[rows], scaled.T, out=panel)
        panel -= halves[rows, None]
        panel -= halves
        np.minimum(panel, 0.0, out=panel)
        np.exp(panel, out=panel)
    np.fill_diagonal(gram, 1.0)
    return gram


def squared_distances(x: Floats) -> Floats:
    """Squared Euclidean distances of all pairs of rows, never negative, 0 on the diagonal."""
    centred = x - x.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    distances: Floats = centred @ centred.T
    distances *= -2
    distances += squares[:, None]
    distances += squares
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    return distances


def check_memory(n: int, name: str, remedy: str) -> None:
    """Refuse a matrix of all pairs that would not fit into memory, and say how much it needs."""
    if n > MOST_ROWS:
        raise InputError(
            f"{name} compares all pairs of rows, got {n} rows, which needs "
            f"{8 * n**2 / 1e9:.0f} GB; use {remedy} or smaller samples."
        )
