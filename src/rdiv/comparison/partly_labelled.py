"""Current rows of which some have labels: the gap of all of them, and how many labels are lacking.

The tests are those of the labelled rows. The gap uses the others too, by prediction-powered
inference, and whether labels are missing at random is tested by the inputs of both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.asked import input_test
from rdiv.comparison.expected import LossRegression, learn_from_part, learn_from_rows
from rdiv.comparison.label_sentences import not_at_random
from rdiv.comparison.questions import Answer, Answers
from rdiv.comparison.result import Comparison
from rdiv.comparison.sensitivity import units_by_sample, verdict_level
from rdiv.discrepancies.in_use import TrainedOnReference
from rdiv.drivers.moved_column import MovedColumn
from rdiv.drivers.moved_predictions import moved_predictions
from rdiv.inference.detectable import Pilot, pilot_of
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.intervals import Estimate, Interval, critical_value
from rdiv.inference.prediction_powered import PoweredGap, powered_gap
from rdiv.models.protocol import predictions_of
from rdiv.results import TwoSampleResult
from rdiv.samples.pooling import PooledSamples

__all__ = ["LabelsNeeded", "PartlyLabelled", "with_unlabelled_rows"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_ROWS = 2**40
"""Most labelled rows that are considered."""

NO_POWER = "no model in use was measured, so the rows without labels were not used"
STRATA = "with strata= rows are compared within strata, so the rows without labels were not used"
TOO_FEW = "too few reference rows to learn the loss from, so the rows without labels were not used"


@dataclass(frozen=True, eq=False)
class LabelsNeeded:
    """How many labelled current rows find a gap, at the reference rows that there are.

    Parameters
    ----------
    pilot : Pilot
        Losses of the labelled rows, tilted to every gap.
    reference : float
        Units of the reference.
    rows : int
        Labelled rows that there are.
    size : float
        Rows per unit.
    critical : float
        Ratio of gap and error that the verdict needs.
    """

    pilot: Pilot
    reference: float
    rows: int
    size: float
    critical: float

    def labels(self, gap: float) -> int | None:
        """Labelled rows that find a gap with 80 % probability; None where no number does."""
        limit = np.array(self.critical)

        def found(rows: float) -> bool:
            units = rows / self.size
            return self.pilot.smallest_gap(self.reference, units, lambda *_: limit) <= gap

        low, high = 1.0, float(MOST_ROWS)
        if not gap > 0 or not np.isfinite(self.critical) or not found(high):
            return None
        while high / low > 1.005:
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if found(middle) else (middle, high)
        return int(np.ceil(high))

    def more(self, gap: float) -> int | None:
        """How many labels are lacking until a gap is found with 80 % probability."""
        wanted = self.labels(gap)
        return None if wanted is None else max(wanted - self.rows, 0)


@dataclass(frozen=True, eq=False)
class PartlyLabelled:
    """What labelled and unlabelled current rows say.

    Parameters
    ----------
    rows, unlabelled_rows : int
        Current rows with and without a label.
    labelled_gap : Estimate, optional
        The gap of the labelled rows alone.
    weight : float, optional
        How far the expected losses of the unlabelled rows were relied on, between 0 and 1; None
        where they were not used.
    more_labels : tuple of (float, int or None)
        Gaps, and how many more labels would find each with 80 % probability; None where no number
        of labels would, with these reference rows.
    input_test : TwoSampleResult, optional
        A test of the inputs of labelled against unlabelled rows; p are the labelled ones.
    note : str, optional
        Why the unlabelled rows were not used.
    needed : LabelsNeeded, optional
        To ask for other gaps.
    """

    rows: int
    unlabelled_rows: int
    labelled_gap: Estimate | None
    weight: float | None
    more_labels: tuple[tuple[float, int | None], ...]
    input_test: TwoSampleResult | None
    note: str | None = None
    needed: LabelsNeeded | None = field(default=None, repr=False)

    def fields(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        gap, test = self.labelled_gap, self.input_test
        return {
            "rows": self.rows,
            "unlabelled_rows": self.unlabelled_rows,
            "labelled_gap": None if gap is None else gap._asdict(),
            "weight": self.weight,
            "more_labels": [{"gap": gap, "labels": labels} for gap, labels in self.more_labels],
            "input_test": None if test is None else test.fields(),
            "note": self.note,
        }


def with_unlabelled_rows(
    found: Comparison,
    answers: Answers,
    everything: PooledSamples,
    known: Mask,
    settings: PermutationSettings,
    *,
    moved: int | None,
) -> Comparison:
    """The comparison of labelled rows, with what the other current rows add to it.

    Parameters
    ----------
    found : Comparison
    answers : Answers
    everything : PooledSamples
        Reference and all current rows, blind to labels.
    known : (n_q,) mask
        Which current rows have a label.
    settings : PermutationSettings
    moved : int, optional
        Most rows to look at for predictions that moved; they are not looked for without it.
    """
    labelled = np.zeros(len(everything.is_p), dtype=bool)
    current = np.flatnonzero(~everything.is_p)
    labelled[current] = known[np.asarray(everything.places[current])]
    missing = ~everything.is_p & ~labelled
    own = None
    if found.gap is not None and found.gap_interval is not None:
        own = Estimate(found.gap, *found.gap_interval)
    test = _missing_at_random(everything, labelled, missing, settings)
    powered, note, g = _powered(answers.in_use, everything, missing, settings.alpha)
    needed = _needed(answers, settings.alpha)
    sizes = _gaps_of_interest(found, powered)
    part = PartlyLabelled(
        int(labelled.sum()), int(missing.sum()), own, None if powered is None else powered.weight,
        () if needed is None else tuple((gap, needed.more(gap)) for gap in sizes), test, note,
        needed,
    )  # fmt: skip
    if test is not None and test.rejected:
        found = replace(found, warnings=(not_at_random(test.pvalue), *found.warnings))
    if powered is not None:
        gap = powered.gap
        found = replace(found, gap=gap.value, gap_interval=Interval(gap.low, gap.high))
    if moved is not None and g is not None and answers.in_use is not None:
        columns = _moved(g, answers.in_use.samples, everything.looked_at(moved).samples, settings)
        found = replace(found, prediction_columns=columns)
    return replace(found, labelled=part)


def _moved(
    g: LossRegression,
    compared: PooledSamples,
    everything: PooledSamples,
    settings: PermutationSettings,
) -> tuple[MovedColumn, ...] | None:
    """How predictions moved from the reference rows that were compared to all current rows."""
    of_p = np.flatnonzero(compared.is_p)
    own = np.isin(everything.places, np.asarray(compared.places[of_p]))
    part = everything.part(np.flatnonzero(~everything.is_p | own))
    predicted = None if g.fitted is None else predictions_of(g.fitted, part.pool.like(g.part))
    return None if predicted is None else moved_predictions(predicted, part, settings)


def _missing_at_random(
    everything: PooledSamples, labelled: Mask, missing: Mask, settings: PermutationSettings
) -> TwoSampleResult | None:
    """Test the inputs of labelled against unlabelled rows; not where rows come in groups."""
    pool = everything.pool
    if pool.groups is not None or pool.strata is not None or missing.sum() < 2:
        return None
    rows = np.flatnonzero(labelled | missing)
    return input_test(replace(everything.part(rows), is_p=labelled[rows], apart=None), settings)


def _powered(
    answer: Answer | None, everything: PooledSamples, missing: Mask, alpha: float
) -> tuple[PoweredGap | None, str | None, LossRegression | None]:
    """The gap of all current rows, or why only the labelled ones were used; and g."""
    if answer is None:
        return None, NO_POWER, None
    pool, is_p = answer.samples.pool, answer.samples.is_p
    if pool.strata is not None:
        return None, STRATA, None
    rng = answer.samples.stream("drivers").spawn(9)[8]
    if isinstance(answer.fitted, TrainedOnReference):
        g = learn_from_part(answer.fitted, rng)
    else:
        assert answer.fitted is not None
        g = learn_from_rows(answer.fitted, pool.take(np.flatnonzero(is_p)), rng)
    if g is None:
        return None, TOO_FEW, None
    current = pool.take(np.flatnonzero(~is_p))
    rest = everything.pool.take(np.flatnonzero(missing))
    groups = (None if pool.groups is None else pool.groups[is_p], current.groups, rest.groups)
    found = powered_gap(
        answer.losses[is_p], answer.losses[~is_p], g.of(current), g.of(rest), alpha, groups,
        unseen=answer.shape(alpha).q.unseen,
    )  # fmt: skip
    return found, None, g


def _needed(answers: Answers, alpha: float) -> LabelsNeeded | None:
    """What finds gaps with more labels, from the losses that there are."""
    answer = answers.leading
    if answer.samples.pool.strata is not None or not answer.held_out:
        return None
    name = "r-div" if answers.in_use is None else "in-use"
    asked = sum(question != "omnibus" for question in answers.results)
    null = answers.results[name].null_distribution
    critical = critical_value(null, verdict_level(asked, alpha))
    sides = units_by_sample(answer.losses, answer.samples)
    pilot = pilot_of(sides[0], sides[1], answer.samples.stream("planning"))
    rows = int((~answer.samples.is_p).sum())
    return LabelsNeeded(pilot, sides[0].number, rows, rows / sides[1].number, critical)


def _gaps_of_interest(found: Comparison, powered: PoweredGap | None) -> list[float]:
    """The gap that was estimated, and half of the one that these labels would find."""
    gaps = [found.smallest_detectable_gap / 2]
    gaps += [] if powered is None else [abs(powered.gap.value)]
    return [float(gap) for gap in gaps if np.isfinite(gap) and gap > 0]
