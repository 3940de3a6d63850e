"""Energy distances of every split: from all pairs of rows, or from distances to a few of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.gram import pair_sums, squared_distances
from rdiv.inference.masked_sums import mask_counts, masked_sums
from rdiv.inference.prepared import Masks
from rdiv.row_blocks import cut

__all__ = [
    "PAIRS_UP_TO",
    "Energies",
    "distances_between",
    "energies",
    "energy_of_landmarks",
    "energy_of_pairs",
]

Floats = NDArray[np.float64]
Energies = Callable[[Masks], Floats]
"""From masks to the energy distance of each split, ``(b,)``, never negative."""

PAIRS_UP_TO = 3_000
"""Rows up to which all pairs are compared."""

LANDMARKS = 500
MOST_NUMBERS = 25_000_000  # rows times landmarks
_FEWEST_LANDMARKS = 25
_SAME = 1e-12  # squares below this part of the largest one are rounding
_ROUNDING = 1e-12
_NEGLIGIBLE = 1e-9  # eigenvalues below this part of the largest one


def energies(x: Floats) -> Energies:
    """The energy distance of any split of some rows, ``(n, d)``.

    Up to `PAIRS_UP_TO` rows all pairs are compared. With more rows, every row is described by its
    distances to `LANDMARKS` rows, the first ones: the order of a pool is random.

    Examples
    --------
    >>> found = energies(np.array([[0.0], [1.0], [0.0], [3.0]]))
    >>> print(found(np.array([[True, True, False, False]])).round(6))
    [1.]
    """
    return energy_of_pairs(x) if len(x) <= PAIRS_UP_TO else energy_of_landmarks(x)


def energy_of_pairs(x: Floats) -> Energies:
    """``2 E|X - Y| - E|X - X'| - E|Y - Y'|`` over all pairs of rows."""
    squares = squared_distances(x)
    squares[squares <= _SAME * squares.max(initial=0.0)] = 0.0  # equal rows
    distances = np.sqrt(squares, out=squares)
    return energy_of_matrix(distances)


def energy_of_matrix(distances: Floats) -> Energies:
    """The same from a matrix of all distances, ``(n, n)``."""
    sums, n = pair_sums(distances), len(distances)
    rounding = _ROUNDING * float(distances.sum()) / n**2

    def energy(masks: Masks) -> Floats:
        within_p, within_q, across, n_p, n_q = sums(masks)
        n_p, n_q = np.maximum(n_p, 1), np.maximum(n_q, 1)
        found = 2 * across / (n_p * n_q) - within_p / n_p**2 - within_q / n_q**2
        return np.where(found > rounding, found, 0.0)

    return energy


def energy_of_landmarks(x: Floats, count: int | None = None) -> Energies:
    """Energy distances as far as the distances to a few rows tell (Nystrom).

    Notes
    -----
    The energy distance is ``2 |mean of f over p - mean of f over q|^2`` for features f of the
    kernel ``(|x - o| + |y - o| - |x - y|) / 2`` (Sejdinovic et al. 2013). Here f is the part of
    them in the span of the landmarks, so that the cost grows with the rows and not with their
    square. The work per row is blind to the labels, and the test stays exact.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> masks = np.arange(60)[None] < 30
    >>> few, all_pairs = energy_of_landmarks(x, 59), energy_of_pairs(x)
    >>> print(np.allclose(few(masks), all_pairs(masks), rtol=0.05))
    True
    """
    features = landmark_features(x, count or most_landmarks(len(x)))
    total, n = features.sum(axis=0), len(features)

    def energy(masks: Masks) -> Floats:
        n_p = mask_counts(masks)[:, None].astype(np.float64)
        sums = masked_sums(masks, features)
        gaps = sums / np.maximum(n_p, 1) - (total - sums) / np.maximum(n - n_p, 1)
        gaps[np.abs(gaps) < _ROUNDING] = 0.0
        found: Floats = 2 * np.einsum("ij,ij->i", gaps, gaps)
        return found

    return energy


def most_landmarks(n: int) -> int:
    """How many landmarks rows are compared with, so that the numbers fit in memory."""
    return min(LANDMARKS, max(_FEWEST_LANDMARKS, MOST_NUMBERS // n))


def landmark_features(x: Floats, count: int) -> Floats:
    """Features of all rows, ``(n, m)``, with m at most `count`; in units of the largest value."""
    from scipy.linalg import eigh

    marks, origin = x[:count], x.mean(axis=0)
    values, vectors = eigh(_kernel(marks, marks, origin))
    kept = values > _NEGLIGIBLE * max(float(values[-1]), 0.0)
    projector = vectors[:, kept] / np.sqrt(values[kept])
    features = np.empty((len(x), int(kept.sum())))
    for rows in cut(len(x), 4096):
        np.matmul(_kernel(x[rows], marks, origin), projector, out=features[rows])
    return features


def distances_between(x: Floats, others: Floats) -> Floats:
    """Euclidean distances of rows to other rows, ``(n, m)``, by a matrix product.

    Distances below a millionth of the usual ones are 0: the product rounds.

    Examples
    --------
    >>> print(distances_between(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0], [0.0, 3.0]])))
    [[5. 0.]]
    """
    squares = [np.einsum("ij,ij->i", z, z) for z in (x, others)]
    found: Floats = x @ others.T
    found *= -2
    found += squares[0][:, None]
    found += squares[1]
    found[found <= _SAME * (1 + squares[0][:, None] + squares[1])] = 0.0
    return np.sqrt(found, out=found)


def _kernel(x: Floats, marks: Floats, origin: Floats) -> Floats:
    x, marks = x - origin, marks - origin
    norms = [np.sqrt(np.einsum("ij,ij->i", z, z)) for z in (x, marks)]
    kernel: Floats = (norms[0][:, None] + norms[1] - distances_between(x, marks)) / 2
    return kernel
