"""Columns: how much of the risk gap, and of the score gap, goes with each input column."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.protocol import Masks, Prepared
from rdiv.discrepancies.statistics import gaps_and_errors, mean_gaps
from rdiv.drivers.additive import AdditiveLoss, fit_additive
from rdiv.drivers.findings import ColumnDriver
from rdiv.drivers.inputs import InputColumn
from rdiv.drivers.step_down import step_down
from rdiv.permutation import permute
from rdiv.planning import Interval, critical_value, gap_interval
from rdiv.samples.pool import Pool

__all__ = ["NULL", "ColumnFindings", "driving_columns"]

Floats = NDArray[np.float64]

NULL = (
    "the null of a column is an equal mean contribution in both samples (or equal mean gradients); "
    "step-down studentised max-T over all of them is exact when both samples come from one "
    "distribution, otherwise asymptotic for each column and approximate for the family when sizes "
    "and correlations both differ; a column carries the gap, it is not said to cause it"
)


@dataclass(frozen=True)
class ColumnFindings:
    """The columns, and the part of the gap that goes with none."""

    columns: tuple[ColumnDriver, ...]
    rest: float
    rest_interval: Interval | None


def driving_columns(
    pool: Pool,
    inputs: list[InputColumn],
    losses: Floats,
    scores: dict[str, Floats],
    is_p: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    honest: bool,
    alpha: float,
    n_resamples: int,
    n_jobs: int | None = None,
) -> ColumnFindings:
    """What every column contributes to the gap, with adjusted p-values.

    Parameters
    ----------
    pool, inputs, losses, is_p
        Of the same rows.
    scores : dict of (n, m) arrays
        Gradients that belong to each column, by its name; empty for a model without such.
    honest : bool
        The losses are out of fold; otherwise there are no intervals.
    """
    additive = fit_additive(inputs, losses, pool.groups)
    risk = _Contributions(additive, inputs, losses, pool.groups, pool.strata)
    score = _Scores(scores, pool.groups, pool.strata)

    def statistic(masks: Masks) -> Floats:
        return np.concatenate([np.abs(_ratios(*risk(masks))), score(masks)], axis=1)

    null = permute(
        Prepared(statistic, combine=lambda parts: parts[:, 0]), is_p, groups=pool.groups,
        strata=pool.strata, n_resamples=n_resamples, rng=rng, n_jobs=n_jobs, alpha=alpha,
    )  # fmt: skip
    gaps, errors = (part[0] for part in risk(is_p[None]))
    rest = len(additive.columns)  # what is left over comes after the columns, and is not tested
    tested = np.delete(null.parts, rest, axis=1)
    pvalues = step_down(tested) if tested.shape[1] else np.zeros(0)
    intervals = [
        gap_interval(float(gap), float(error), critical_value(null.parts[1:, j], alpha))
        for j, (gap, error) in enumerate(zip(gaps, errors, strict=True))
    ]
    whole = float(gaps.sum())
    flat = abs(whole) <= 1e-12 * float(np.abs(losses - losses.mean()).max())
    drivers = []
    for j, column in enumerate(inputs):
        found = ColumnDriver(column.name, 0.0, None, None if flat else 0.0, 1.0)
        if j in additive.columns:
            place = additive.columns.index(j)
            found = replace(
                found,
                contribution=float(gaps[place]),
                interval=intervals[place] if honest else None,
                share=None if flat else float(gaps[place]) / whole,
                pvalue=float(pvalues[place]),
            )
        if column.name in score.names:
            place = rest + score.names.index(column.name)
            found = replace(
                found, score=float(tested[0, place]), score_pvalue=float(pvalues[place])
            )
        drivers.append(found)
    drivers.sort(key=lambda found: (found.smallest_pvalue, -abs(found.contribution)))
    return ColumnFindings(tuple(drivers), float(gaps[rest]), intervals[rest] if honest else None)


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

    A contribution is the gap of the mean heights of the bins. Its variance has two parts: which
    bins the rows happened to fall in, and how well the heights are known; without the second a
    column that moved, but does not matter, would be blamed for the noise of its heights.
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
        self.whole = additive.whole
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
            squares[:, -1] += np.einsum("bi,ij,bj->b", moved, self.whole, moved)
        return 0.0 - gaps, np.sqrt(np.maximum(squares, 0.0))


def _ratios(gaps: Floats, errors: Floats) -> Floats:
    flat = np.where(gaps == 0, 0.0, np.copysign(np.inf, gaps))
    ratios: Floats = np.divide(gaps, errors, out=flat, where=errors > 0)
    return ratios
