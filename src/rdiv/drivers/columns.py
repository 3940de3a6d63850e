"""Columns: how much of the gap in mean loss, and in the gradients, each input column carries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.bins import InputColumn
from rdiv.drivers.result import ColumnDriver
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.intervals import Interval, critical_value, gap_interval
from rdiv.inference.mean_gaps import gaps_and_errors, mean_gaps
from rdiv.inference.prepared import Masks, Prepared
from rdiv.inference.step_down import step_down
from rdiv.row_blocks import cut
from rdiv.samples.pool import Pool

__all__ = ["NULL", "AdditiveLoss", "ColumnFindings", "driving_columns", "fit_additive"]


Floats = NDArray[np.float64]

MOST_COLUMNS = 40
MOST_ROWS = 50_000
FEWEST_IN_BIN = 20
RELATED_LEVEL = (
    0.01  # level, over all columns, of the Wald test that a column is related to the loss
)
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class AdditiveLoss:
    """An additive fit of the loss: a number per bin of each column that is related to it.

    Parameters
    ----------
    columns : tuple of int
        The places of these columns among the inputs.
    heights : tuple of (bins,) arrays
        The loss in each bin, relative to the largest bin of the column.
    bins : tuple of integer arrays
        The bins that have a height.
    covariances : tuple of (free bins, free bins) arrays
        Covariances of the heights, robust to unequal variances (and to groups).
    covariance : (f, f) array
        Covariance of all heights of all these columns.
    """

    columns: tuple[int, ...]
    heights: tuple[Floats, ...]
    bins: tuple[NDArray[np.intp], ...]
    covariances: tuple[Floats, ...]
    covariance: Floats


def fit_additive(
    inputs: list[InputColumn], losses: Floats, groups: NDArray[np.intp] | None = None
) -> AdditiveLoss:
    """Fit the losses by least squares on the bins of all columns together.

    Of more than ``MOST_COLUMNS`` columns only those that best explain the loss on their own are
    used, and of more than ``MOST_ROWS`` rows the first ones (of a shuffled pool).

    Examples
    --------
    >>> from rdiv.drivers.bins import input_columns
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
    return _related_columns(inputs, chosen, bins, beta, covariance)


def _free_bins(codes: NDArray[np.intp], n_bins: int) -> NDArray[np.intp]:
    """Bins with enough rows, except the largest, to which all others are compared."""
    counts = np.bincount(codes, minlength=n_bins)
    free = counts >= FEWEST_IN_BIN
    free[np.argmax(counts)] = False
    return np.flatnonzero(free)


def _promising(codes: list[NDArray[np.intp]], bins: list[NDArray[np.intp]], y: Floats) -> list[int]:
    """The columns with free bins; if there are many, those that best explain the loss."""
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
    """An intercept and a 0/1 column per free bin, made in blocks of rows."""

    codes: list[NDArray[np.intp]]
    bins: list[NDArray[np.intp]]
    n: int

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        for rows in cut(self.n, _BLOCK):
            parts = [
                (c[rows, None] == free).astype(float)
                for c, free in zip(self.codes, self.bins, strict=True)
            ]
            yield rows, np.concatenate([np.ones((rows.stop - rows.start, 1)), *parts], axis=1)


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


def _related_columns(
    inputs: list[InputColumn],
    chosen: list[int],
    bins: list[NDArray[np.intp]],
    beta: Floats,
    covariance: Floats,
) -> AdditiveLoss:
    """Keep the columns whose heights differ significantly from 0."""
    from scipy.special import chdtrc

    columns, heights, kept, places = [], [], [], []
    start = 1
    for j in chosen:
        part = np.arange(start, start + len(bins[j]))
        start += len(bins[j])
        block = covariance[np.ix_(part, part)]
        wald = beta[part] @ np.linalg.pinv(block, rcond=1e-9, hermitian=True) @ beta[part]
        rank = max(int(np.linalg.matrix_rank(block, hermitian=True)), 1)
        if chdtrc(rank, wald) <= RELATED_LEVEL / len(inputs):
            own = np.zeros(inputs[j].n_bins)
            own[bins[j]] = beta[part]
            columns.append(j)
            heights.append(own)
            kept.append(bins[j])
            places.append(part)
    used = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)
    blocks = tuple(covariance[np.ix_(part, part)] for part in places)
    return AdditiveLoss(
        tuple(columns),
        tuple(heights),
        tuple(kept),
        blocks,
        covariance[np.ix_(used, used)],
    )


NULL = (
    "the null of a column is an equal mean contribution in both samples (or equal mean gradients); "
    "step-down studentised max-T over all of them is exact when both samples come from one "
    "distribution, otherwise asymptotic for each column and approximate for the family when sizes "
    "and correlations both differ; a column that carries the gap need not cause it"
)


@dataclass(frozen=True)
class ColumnFindings:
    """The columns, and the part of the gap that belongs to none."""

    columns: tuple[ColumnDriver, ...]
    rest: float
    rest_interval: Interval | None


def driving_columns(
    pool: Pool,
    inputs: list[InputColumn],
    losses: Floats,
    scores: dict[str, Floats],
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
    held_out: bool,
) -> ColumnFindings:
    """The contribution of every column to the gap, with adjusted p-values.

    Parameters
    ----------
    pool, inputs, losses, is_p
        All of the same rows.
    scores : dict of (n, m) arrays
        Gradients of each column, by its name; empty for a model without such gradients.
    held_out : bool
        The losses are out of fold; otherwise there are no intervals.
    """
    additive = fit_additive(inputs, losses, pool.groups)
    risk = _Contributions(additive, inputs, losses, pool.groups, pool.strata)
    score = _Scores(scores, pool.groups, pool.strata)

    def statistic(masks: Masks) -> Floats:
        return np.concatenate([np.abs(_ratios(*risk(masks))), score(masks)], axis=1)

    width = len(additive.columns) + 1 + len(score.names)
    prepared = Prepared(statistic, combine=lambda parts: parts[:, 0], width=width)
    null = permute(prepared, is_p, settings, rng=rng, groups=pool.groups, strata=pool.strata)
    gaps, errors = (part[0] for part in risk(is_p[None]))
    rest = len(additive.columns)  # the rest comes after the columns and is not tested
    tested = np.delete(null.parts, rest, axis=1)
    pvalues = step_down(tested) if tested.shape[1] else np.zeros(0)
    intervals = [
        gap_interval(float(gap), float(error), critical_value(null.parts[1:, j], settings.alpha))
        for j, (gap, error) in enumerate(zip(gaps, errors, strict=True))
    ]
    gap = float(gaps.sum())
    flat = abs(gap) <= 1e-12 * float(np.abs(losses - losses.mean()).max())
    drivers = []
    for j, column in enumerate(inputs):
        found = ColumnDriver(column.name, 0.0, None, None if flat else 0.0, 1.0)
        if j in additive.columns:
            place = additive.columns.index(j)
            found = replace(
                found,
                contribution=float(gaps[place]),
                interval=intervals[place] if held_out else None,
                share=None if flat else float(gaps[place]) / gap,
                pvalue=float(pvalues[place]),
            )
        if column.name in score.names:
            place = rest + score.names.index(column.name)
            found = replace(
                found, score=float(tested[0, place]), score_pvalue=float(pvalues[place])
            )
        drivers.append(found)
    drivers.sort(key=lambda found: (found.smallest_pvalue, -abs(found.contribution)))
    return ColumnFindings(tuple(drivers), float(gaps[rest]), intervals[rest] if held_out else None)


class _Scores:
    """From masks to the largest studentised gap of the gradients of each column, ``(b, k)``."""

    def __init__(
        self,
        gradients: dict[str, Floats],
        groups: NDArray[np.intp] | None,
        strata: NDArray[np.intp] | None,
    ) -> None:
        self.names = [name for name, own in gradients.items() if own.shape[1]]
        widths = [gradients[name].shape[1] for name in self.names]
        self.starts = np.cumsum([0, *widths[:-1]], dtype=np.intp)
        if self.names:
            stacked = np.concatenate([gradients[name] for name in self.names], axis=1)
            self.ratios = mean_gaps(stacked, studentize=True, groups=groups, strata=strata)

    def __call__(self, masks: Masks) -> Floats:
        if not self.names:
            return np.zeros((len(masks), 0))
        largest: Floats = np.maximum.reduceat(np.abs(self.ratios(masks)), self.starts, axis=1)
        return largest


class _Contributions:
    """From masks to the contribution of each column and of the rest, and their standard errors.

    A contribution is the gap of the mean heights of the bins. Its variance has two parts: that of
    the bins of the rows, and that of the estimated heights. Without the second part, a column that
    shifted but is unrelated to the loss would look significant by the noise of its heights.
    """

    def __init__(
        self,
        additive: AdditiveLoss,
        inputs: list[InputColumn],
        losses: Floats,
        groups: NDArray[np.intp] | None,
        strata: NDArray[np.intp] | None,
    ) -> None:
        codes = [inputs[j].codes for j in additive.columns]
        heights = [h[c] for h, c in zip(additive.heights, codes, strict=True)]
        rest = losses - np.sum(heights, axis=0) if heights else losses
        self.measure = gaps_and_errors(np.stack([*heights, rest], axis=1), groups, strata)
        self.covariances = additive.covariances
        self.covariance = additive.covariance
        self.bins = None
        if heights:
            shown = [
                (c[:, None] == free).astype(float)
                for c, free in zip(codes, additive.bins, strict=True)
            ]
            self.bins = mean_gaps(
                np.concatenate(shown, axis=1), studentize=False, groups=groups, strata=strata
            )

    def __call__(self, masks: Masks) -> tuple[Floats, Floats]:
        """Contributions, current minus reference, and standard errors, ``(b, columns + 1)``."""
        gaps, errors = self.measure(masks)
        squares = errors**2
        if self.bins is not None:
            moved = self.bins(masks)
            start = 0
            for j, covariance in enumerate(self.covariances):
                part = moved[:, start : start + len(covariance)]
                start += len(covariance)
                squares[:, j] += np.einsum("bi,ij,bj->b", part, covariance, part)
            squares[:, -1] += np.einsum("bi,ij,bj->b", moved, self.covariance, moved)
        return gaps, np.sqrt(np.maximum(squares, 0.0))


def _ratios(gaps: Floats, errors: Floats) -> Floats:
    flat = np.where(gaps == 0, 0.0, np.copysign(np.inf, gaps))
    ratios: Floats = np.divide(gaps, errors, out=flat, where=errors > 0)
    return ratios
