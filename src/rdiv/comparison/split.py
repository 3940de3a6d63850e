"""Why the model in use does worse: other inputs, or another relation between inputs and target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.density_ratio import DensityRatio, density_ratio, ratio_folds
from rdiv.comparison.expected import ExpectedLoss
from rdiv.comparison.questions import Answer
from rdiv.inference.intervals import Estimate
from rdiv.inference.mean_difference import difference_of_means

__all__ = [
    "FEWEST_EFFECTIVE",
    "LEAST_COVERED",
    "Split",
    "no_overlap",
    "residual_variance",
    "split_gap",
]

Floats = NDArray[np.float64]

FEWEST_EFFECTIVE = 50
"""With fewer equally weighted reference rows there is no overlap to speak of."""

LEAST_COVERED = 0.5
"""Least share of the current rows that must be where the reference has rows too."""

LOWEST_LEVEL = 0.2
"""Least expected loss that a variance is modelled by, in mean losses."""

_ROUNDING = 1e-12  # parts below this share of the largest loss are rounding


@dataclass(frozen=True)
class Split:
    """The gap of the model in use in two parts, which sum to it.

    Parameters
    ----------
    inputs : Estimate
        Explained by the inputs that moved: the gap if the relation between inputs and target had
        stayed as it is in the reference.
    relation : Estimate
        The rest: the loss changed at equal inputs.
    effective_rows : float
        How many equally weighted reference rows the comparison at equal inputs rests on.
    weights : (n,) array, optional
        Weights of the rows that were compared: those of reference rows give them the inputs of
        current, those of current rows are 1.
    """

    inputs: Estimate
    relation: Estimate
    effective_rows: float
    weights: Floats | None = field(default=None, repr=False, compare=False)

    def fields(self) -> dict[str, Any]:
        """Both parts with their intervals, for JSON."""
        return {
            "inputs": self.inputs._asdict(),
            "relation": self.relation._asdict(),
            "effective_rows": self.effective_rows,
        }


def split_gap(
    answer: Answer, expected: ExpectedLoss, alpha: float, rng: np.random.Generator
) -> Split | str:
    """Split the gap of an answer; a sentence where that cannot be done.

    Notes
    -----
    With g the expected loss from the reference and w the density ratio of current to reference,
    ``theta = mean over current of g + mean over reference of w (loss - g)`` estimates the loss on
    current under the relation of the reference; it is right if either g or w is (doubly robust).
    Intervals are by influence functions, hence asymptotic. For the inputs part of squared errors
    the variance of the reference's numbers is the larger of their own and a modelled one
    (`residual_variance`).
    """
    samples = answer.samples
    fold = ratio_folds(samples.pool, rng)
    if fold is None:
        return "all rows have the same inputs, so the gap was not split"
    ratio = density_ratio(expected.features, samples.is_p, fold, rng)
    if ratio.effective_rows < FEWEST_EFFECTIVE or ratio.covered < LEAST_COVERED:
        return no_overlap(ratio)
    is_p, losses, g = samples.is_p, answer.losses, expected.values
    rest, weights = losses - g, ratio.weights
    groups = samples.pool.groups
    sides = (None, None) if groups is None else (groups[is_p], groups[~is_p])

    def part(of_reference: Floats, of_current: Floats, modelled: float) -> Estimate:
        found = difference_of_means(of_reference, of_current, alpha, sides, modelled=modelled)
        rounding = abs(found.value) <= _ROUNDING * float(np.abs(losses).max())
        return found._replace(value=0.0) if rounding else found

    spread = 0.0
    if samples.pool.task == "regression" and samples.pool.loss is None:
        noise = residual_variance(losses[is_p], g[is_p])
        spread = float(g[is_p].var() + ((1 - weights) ** 2 * noise).mean())
    inputs = part(g[is_p] + (1 - weights) * rest[is_p], g[~is_p], spread)
    relation = part(weights * rest[is_p], rest[~is_p], 0.0)
    everywhere = np.ones(len(is_p))
    everywhere[is_p] = weights
    return Split(inputs, relation, ratio.effective_rows, everywhere)


def residual_variance(losses: Floats, g: Floats) -> Floats:
    """Variance of each squared error around its expected value: in proportion to its square.

    So it is for normal targets, whose squared errors have twice the square of their mean. The
    squares of a few large losses say less: a sample that happens to have none of them would get a
    short interval around a low estimate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> g = np.repeat([1.0, 4.0], 5000)
    >>> variance = residual_variance(g * rng.normal(size=10_000) ** 2, g)
    >>> print(variance[[0, -1]].round())
    [ 2. 31.]
    """
    level = np.maximum(g, LOWEST_LEVEL * losses.mean())
    if not losses.mean() > 0:
        return np.zeros(len(losses))
    variance: Floats = float(((losses - g) ** 2 / level**2).mean()) * level**2
    return variance


def no_overlap(ratio: DensityRatio) -> str:
    """That samples do not overlap, with the numbers that say so."""
    return (
        "no overlap: the inputs of the samples differ so much that no loss at equal inputs can be "
        f"compared ({ratio.effective_rows:.0f} effective reference rows, {100 * ratio.covered:.0f} "
        "% of current where the reference has rows)"
    )
