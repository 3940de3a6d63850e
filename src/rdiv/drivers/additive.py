"""The loss as a sum of one function a column: fitted to the pool, blind to the samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.inputs import InputColumn

__all__ = ["AdditiveLoss", "fit_additive"]

Floats = NDArray[np.float64]

MOST_COLUMNS = 40
MOST_ROWS = 50_000
FEWEST_IN_BIN = 20
SEEN = 0.01  # a column goes with the loss when a Wald test says so at this level over all columns
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class AdditiveLoss:
    """A function of the bin for each column that was seen to go with the loss.

    Parameters
    ----------
    columns : tuple of int
        Which inputs those are.
    heights : tuple of (bins,) arrays
        The part of the loss that goes with each bin, against the largest bin of the column.
    bins : tuple of integer arrays
        The bins with a height of their own.
    covariances : tuple of (free bins, free bins) arrays
        Of the heights, robust to unequal variances (and to groups).
    whole : (f, f) array
        Covariance of all heights of all these columns.
    """

    columns: tuple[int, ...]
    heights: tuple[Floats, ...]
    bins: tuple[NDArray[np.intp], ...]
    covariances: tuple[Floats, ...]
    whole: Floats


def fit_additive(
    inputs: list[InputColumn], losses: Floats, groups: NDArray[np.intp] | None = None
) -> AdditiveLoss:
    """Fit the losses by least squares on the bins of all columns together.

    Of more than ``MOST_COLUMNS`` columns only those that go best with the loss by themselves are
    used, and of more than ``MOST_ROWS`` rows the first ones (of a shuffled pool).

    Examples
    --------
    >>> from rdiv.drivers.inputs import input_columns
    >>> from rdiv.samples import Pool
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(3, size=(600, 2)).astype(float)
    >>> found = fit_additive(input_columns(Pool(x)), x[:, 1] + 0.1 * rng.normal(size=600))
    >>> print(found.columns, np.ptp(found.heights[0]).round(1))
    (1,) 2.0
    """
    rows = slice(0, MOST_ROWS)
    y = losses[rows] - losses[rows].mean()
    codes = [column.codes[rows] for column in inputs]
    bins = [_free_bins(c, column.n_bins) for c, column in zip(codes, inputs, strict=True)]
    chosen = _promising(codes, bins, y)
    if not chosen or not y.any():
        return AdditiveLoss((), (), (), (), np.zeros((0, 0)))
    design = _Design([codes[j] for j in chosen], [bins[j] for j in chosen], len(y))
    beta, covariance = _least_squares(design, y, None if groups is None else groups[rows])
    return _seen(inputs, chosen, bins, beta, covariance)


def _free_bins(codes: NDArray[np.intp], n_bins: int) -> NDArray[np.intp]:
    """Bins with enough rows, but for the largest, to which all others are compared."""
    counts = np.bincount(codes, minlength=n_bins)
    free = counts >= FEWEST_IN_BIN
    free[np.argmax(counts)] = False
    return np.flatnonzero(free)


def _promising(codes: list[NDArray[np.intp]], bins: list[NDArray[np.intp]], y: Floats) -> list[int]:
    """The columns with free bins, or the ones that go best with the loss if there are many."""
    from scipy.special import chdtrc

    able = [j for j, free in enumerate(bins) if len(free)]
    if len(able) <= MOST_COLUMNS:
        return able
    spread = y.var()
    chance = []
    for j in able:
        counts = np.maximum(np.bincount(codes[j]), 1)
        between = (np.bincount(codes[j], y) ** 2 / counts).sum()
        chance.append(float(chdtrc(len(bins[j]), between / spread if spread > 0 else 0.0)))
    order = np.argsort(chance, kind="stable")[:MOST_COLUMNS]
    return sorted(able[i] for i in order)


@dataclass(frozen=True, eq=False)
class _Design:
    """A one and a 0/1 column for each free bin, made a block of rows at a time."""

    codes: list[NDArray[np.intp]]
    bins: list[NDArray[np.intp]]
    n: int

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        for start in range(0, self.n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, self.n))
            parts = [
                (c[rows, None] == free).astype(float)
                for c, free in zip(self.codes, self.bins, strict=True)
            ]
            yield rows, np.concatenate([np.ones((rows.stop - start, 1)), *parts], axis=1)


def _least_squares(
    design: _Design, y: Floats, groups: NDArray[np.intp] | None
) -> tuple[Floats, Floats]:
    """Coefficients and their sandwich covariance."""
    width = 1 + sum(len(free) for free in design.bins)
    gram, moment = np.zeros((width, width)), np.zeros(width)
    for rows, z in design.blocks():
        gram += z.T @ z
        moment += z.T @ y[rows]
    inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)
    beta = inverse @ moment
    if groups is None:
        meat = np.zeros_like(gram)
        for rows, z in design.blocks():
            scores = z * (y[rows] - z @ beta)[:, None]
            meat += scores.T @ scores
    else:
        codes = np.unique(groups, return_inverse=True)[1]
        sums = np.zeros((int(codes.max()) + 1, width))
        for rows, z in design.blocks():
            np.add.at(sums, codes[rows], z * (y[rows] - z @ beta)[:, None])
        meat = sums.T @ sums
    return beta, inverse @ meat @ inverse


def _seen(
    inputs: list[InputColumn],
    chosen: list[int],
    bins: list[NDArray[np.intp]],
    beta: Floats,
    covariance: Floats,
) -> AdditiveLoss:
    """Keep the columns whose heights differ from 0 beyond doubt."""
    from scipy.special import chdtrc

    columns, heights, kept, places = [], [], [], []
    start = 1
    for j in chosen:
        part = np.arange(start, start + len(bins[j]))
        start += len(bins[j])
        block = covariance[np.ix_(part, part)]
        wald = beta[part] @ np.linalg.pinv(block, rcond=1e-9, hermitian=True) @ beta[part]
        rank = max(int(np.linalg.matrix_rank(block, hermitian=True)), 1)
        if chdtrc(rank, wald) <= SEEN / len(inputs):
            own = np.zeros(inputs[j].n_bins)
            own[bins[j]] = beta[part]
            columns.append(j)
            heights.append(own)
            kept.append(bins[j])
            places.append(part)
    whole = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)
    blocks = tuple(covariance[np.ix_(part, part)] for part in places)
    return AdditiveLoss(
        tuple(columns), tuple(heights), tuple(kept), blocks, covariance[np.ix_(whole, whole)]
    )
