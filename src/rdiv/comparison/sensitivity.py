"""The smallest gap that a verdict finds with 80 % probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.questions import Answer, Answers
from rdiv.inference.detectable import pilot_of
from rdiv.inference.engine import allowed_exceedances
from rdiv.inference.intervals import critical_value
from rdiv.inference.reach import smallest_pvalue
from rdiv.inference.tilting import Units, units_of
from rdiv.results import TwoSampleResult
from rdiv.samples.pooling import PooledSamples

__all__ = ["detectable_gap", "units_by_sample", "verdict_level"]

Floats = NDArray[np.float64]


def verdict_level(questions: int, alpha: float) -> float:
    """The level at which the leading question must reject for a verdict, when it does so alone.

    With one question it is alpha. With more, closed testing takes twice its p-value in every set
    that holds a question which sees nothing.

    Examples
    --------
    >>> print(verdict_level(1, 0.05), verdict_level(3, 0.05))
    0.05 0.025
    """
    return alpha if questions == 1 else alpha / 2


def detectable_gap(answers: Answers, name: str, alpha: float) -> float:
    """The gap of the leading question that the verdict finds with 80 % probability.

    Infinite where no p-value can be small enough, for so few permutations, rows or groups.
    """
    answer, result = answers.leading, answers.results[name]
    asked = sum(question != "omnibus" for question in answers.results)
    level = verdict_level(asked, alpha)
    if not _within_reach(answer, result, level):
        return float("inf")
    critical = np.array(critical_value(result.null_distribution, level))
    if not np.isfinite(critical):
        return float("inf")
    sides = units_by_sample(answer.losses, answer.samples, answer.gap()[1])
    pilot = pilot_of(sides[0], sides[1], answer.samples.stream("planning"))
    return pilot.smallest_gap(sides[0].number, sides[1].number, lambda *_: critical)


def _within_reach(answer: Answer, result: TwoSampleResult, level: float) -> bool:
    samples, draws = answer.samples, len(result.null_distribution)
    least = smallest_pvalue(samples.is_p, samples.pool.groups, samples.pool.strata)
    return allowed_exceedances(level, draws) >= 1 and least <= level * (1 + 1e-12)


def units_by_sample(
    losses: Floats, samples: PooledSamples, error: float | None = None
) -> tuple[Units, ...]:
    """The rows or groups of reference and current; a sample that is not there has none.

    Parameters
    ----------
    losses : (n,) array
    samples : PooledSamples
    error : float, optional
        Standard error of the observed gap. With strata the losses are those around the mean of
        their stratum, scaled such that the gap of rows without strata would have this error.
    """
    pool = samples.pool
    if pool.strata is None:
        return _units(losses, samples)
    means = np.bincount(pool.strata, losses) / np.maximum(np.bincount(pool.strata), 1)
    within = losses - means[pool.strata]
    sides = _units(within, samples)
    plain = sum(_variance(side) / side.number for side in sides) ** 0.5
    scale = error / plain if error and plain > 0 else 1.0
    return _units(losses.mean() + scale * within, samples)


def _units(losses: Floats, samples: PooledSamples) -> tuple[Units, ...]:
    groups = samples.pool.groups
    return tuple(
        units_of(losses[side], None if groups is None else groups[side])
        for side in (samples.is_p, ~samples.is_p)
        if side.any()
    )


def _variance(side: Units) -> float:
    spread = float(side.masses @ (side.means - side.mean) ** 2)
    return spread * side.number / max(side.number - 1, 1)
