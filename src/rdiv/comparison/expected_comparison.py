"""compare where no current row has a label: the verdict is about the loss to be expected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.asked import Asked, input_test
from rdiv.comparison.expected import all_finite
from rdiv.comparison.label_sentences import NO_RELATION, too_few_labels
from rdiv.comparison.loss_summary import summarise_losses
from rdiv.comparison.models import Models
from rdiv.comparison.questions import Answers, limited_fits
from rdiv.comparison.result import Comparison
from rdiv.comparison.sensitivity import detectable_gap
from rdiv.comparison.sentences import USERS_WORD
from rdiv.comparison.unlabelled import Unlabelled, ask_unlabelled
from rdiv.comparison.verdicts import verdict_of
from rdiv.comparison.warnings import data_warnings
from rdiv.drivers import find_drivers, moved_columns, unusual_rows
from rdiv.drivers.contributions import Contributions, column_contributions
from rdiv.drivers.moved_column import MovedColumn
from rdiv.drivers.moved_predictions import moved_predictions
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.intervals import Interval
from rdiv.models import LoggedLosses, Model, Trained
from rdiv.models.protocol import predictions_of
from rdiv.samples.copies import identical
from rdiv.samples.pooled import LookedAt
from rdiv.samples.pooling import PooledSamples

__all__ = ["check_learnable", "compare_unlabelled", "has_inputs"]

ASYMPTOTIC = "it rests on estimated weights of the reference rows"


def check_learnable(given: Model | None, inputs: bool) -> None:
    """Refuse rows of which nothing is known but a loss that current lacks."""
    if isinstance(given, LoggedLosses) and not inputs:
        raise InputError(
            f"no current row has a loss in column {given.column!r}, and there are no inputs to "
            "expect one from; give the losses, or the columns of inputs beside them."
        )


def has_inputs(current: Any) -> bool:
    """Whether a sample has columns at all."""
    return len(getattr(current, "column_names", getattr(current, "columns", (1,)))) > 0


def compare_unlabelled(
    models: Models, pooled: PooledSamples, asked: Asked, known: NDArray[np.bool_] | None = None
) -> Comparison:
    """Compare a reference with current rows that have no labels."""
    if asked.margins:
        raise InputError(
            "a margin is about the gap of labelled rows, and no current row has a label; leave the "
            "margin out, or wait for labels."
        )
    settings = asked.settings
    looked = pooled.looked_at(asked.sample_rows)
    inputs = input_test(looked.samples, settings)
    found = ask_unlabelled(models, pooled, settings, train_share=asked.train_share)
    seen = found.within(looked)
    judged = replace(_judged(found, seen, models, pooled, looked, settings), input_test=inputs)
    few = 0 if known is None else int(known.sum())
    if few:
        warnings = (too_few_labels(few, len(pooled.is_p) - int(pooled.is_p.sum())),)
        judged = replace(judged, warnings=(*warnings, *judged.warnings))
    return _explained(judged, seen, looked.samples, settings) if asked.drivers else judged


def _judged(
    found: Unlabelled,
    seen: Unlabelled,
    models: Models,
    pooled: PooledSamples,
    looked: LookedAt,
    settings: PermutationSettings,
) -> Comparison:
    """The verdict over all rows, and the gap to be expected by those that are looked at."""
    alpha, answer, result = settings.alpha, found.answer, found.result
    results = {"in-use": result}
    answers = Answers(answer, None, None, results, {}, same_loss=False)
    expected = seen.expected(looked.samples, alpha)
    adjusted = {"in-use": result.pvalue}
    verdict = verdict_of(adjusted, result.pvalue, alpha, "in-use", "none")
    gap = None if expected.gap is None else expected.gap.value
    notes: dict[str, Any] = {"task": pooled.pool.task, "loss": answer.loss, "split": NO_RELATION}
    if gap is not None:
        notes["asymptotic"] = {"gap_interval": ASYMPTOTIC}
    if pooled.pool.classes is not None:
        notes["classes"] = [str(label) for label in pooled.pool.classes.tolist()]
    if identical(pooled):
        notes["identical"] = True
    if models.given is not None and not isinstance(models.given, Trained):
        notes["trained on"] = USERS_WORD
    notes |= limited_fits(models, pooled, answers)
    if not looked.whole:
        notes["sample rows"] = (
            f"the expected gap, inputs and drivers looked at {len(looked.rows)} of {looked.total} "
            "rows; the test is that of all rows"
        )
    judged = Comparison(
        verdict=verdict,
        pvalue=result.pvalue,
        gap=gap,
        gap_interval=None if expected.gap is None else Interval(*expected.gap[1:]),
        shared_gap=None,
        shared_gap_interval=None,
        direction=None,
        smallest_detectable_gap=detectable_gap(answers, "in-use", alpha),
        results=results,
        adjusted_pvalues=adjusted,
        warnings=data_warnings(pooled, answers, models, looked.samples),
        labels="none",
        expected=expected,
        losses=summarise_losses(answer.losses, answer.samples.is_p),
        notes=notes,
    )
    return replace(judged, direction=judged.lean) if judged.shifted else judged


def _explained(
    judged: Comparison, found: Unlabelled, pooled: PooledSamples, settings: PermutationSettings
) -> Comparison:
    """The same with the columns, slices and rows behind it, and the predictions that moved."""
    answer = found.answer
    carriers = find_drivers(
        answer.losses, answer.samples, settings, held_out=True,
        columns=_columns(judged, found, settings.alpha),
    )  # fmt: skip
    unusual, said = unusual_rows(pooled, settings)
    about = {name: text for name, text in carriers.notes.items() if name != "weights"}
    about |= {"rows": f"losses are expected ones; {carriers.notes['rows']}"}
    about |= {} if said is None else {"unusual": said}
    return replace(
        judged,
        drivers=replace(carriers, unusual=unusual, notes=about),
        input_columns=moved_columns(pooled, settings),
        prediction_columns=predictions_that_moved(found, settings),
    )


def predictions_that_moved(
    found: Unlabelled, settings: PermutationSettings
) -> tuple[MovedColumn, ...] | None:
    """What the model in use predicts for reference and current; None where it predicts nothing."""
    tested, g = found.split.tested, found.test.g
    if g.fitted is None:
        return None
    predicted = predictions_of(g.fitted, tested.pool.like(g.part))
    return None if predicted is None else moved_predictions(predicted, tested, settings)


def _columns(judged: Comparison, found: Unlabelled, alpha: float) -> Contributions | None:
    """What columns contribute to the expected gap, where there is one and the inputs allow it."""
    samples, g = found.answer.samples, found.test.g
    inputs = g.inputs(samples.pool)
    usable = inputs.shape[1] and all_finite(inputs)
    if judged.gap is None or not usable or samples.pool.strata is not None:
        return None
    return column_contributions(
        g.of_inputs, inputs, samples.is_p, g.part.owners(), alpha=alpha,
        rng=samples.stream("drivers").spawn(8)[7], groups=samples.pool.groups, total=judged.gap,
    )  # fmt: skip
