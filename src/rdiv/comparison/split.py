"""Why the model in use does worse: other inputs, or another relation between inputs and target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.density_ratio import FOLDS, DensityRatio, density_ratio
from rdiv.comparison.expected import ExpectedLoss
from rdiv.comparison.questions import Answer
from rdiv.inference.intervals import Estimate, variance_of_mean
from rdiv.models.cross_fit import fold_of_rows

__all__ = ["FEWEST_EFFECTIVE", "LEAST_COVERED", "Split", "split_gap"]

Floats = NDArray[np.float64]

FEWEST_EFFECTIVE = 50
"""With fewer equally weighted reference rows there is no overlap to speak of."""

LEAST_COVERED = 0.5
"""Least share of the current rows that must be where the reference has rows too."""


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
    """

    inputs: Estimate
    relation: Estimate
    effective_rows: float

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
    Intervals are by influence functions, hence asymptotic.
    """
    samples = answer.samples
    fold = fold_of_rows(samples.pool, FOLDS, rng)
    ratio = density_ratio(expected.features, samples.is_p, fold, rng)
    if ratio.effective_rows < FEWEST_EFFECTIVE or ratio.covered < LEAST_COVERED:
        return _no_overlap(ratio)
    is_p, groups = samples.is_p, samples.pool.groups
    losses, g = answer.losses, expected.values
    corrected = ratio.weights * (losses - g)[is_p]
    sides = (
        None if groups is None else groups[is_p],
        None if groups is None else groups[~is_p],
    )

    def difference(of_reference: Floats, of_current: Floats) -> Estimate:
        """Mean over current minus mean over reference, with a normal interval."""
        from scipy.special import ndtri

        value = float(of_current.mean() - of_reference.mean())
        value = 0.0 if abs(value) <= _ROUNDING * float(np.abs(losses).max()) else value
        variance = variance_of_mean(of_reference, sides[0]) / len(of_reference)
        variance += variance_of_mean(of_current, sides[1]) / len(of_current)
        half = float(ndtri(1 - alpha / 2) * np.sqrt(variance))
        return Estimate(value, value - half, value + half)

    inputs = difference(losses[is_p] - corrected, g[~is_p])
    relation = difference(corrected, (losses - g)[~is_p])
    return Split(inputs, relation, ratio.effective_rows)


def _no_overlap(ratio: DensityRatio) -> str:
    return (
        "no overlap: the inputs of the samples differ so much that no loss at equal inputs can be "
        f"compared ({ratio.effective_rows:.0f} effective reference rows, {100 * ratio.covered:.0f} "
        "% of current where the reference has rows)"
    )
