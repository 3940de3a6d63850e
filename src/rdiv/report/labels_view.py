"""What a page says where current rows lack labels: the expected gap, its support, predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdiv.comparison.density_ratio import LARGEST
from rdiv.comparison.label_sentences import ASSUMPTION
from rdiv.comparison.support import RARE
from rdiv.report.moved_charts import moved_chart
from rdiv.report.moved_view import moved_table
from rdiv.report.wording import amount, count, percent, sentence, shorten, signed

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.inference.intervals import Estimate

__all__ = ["expected_facts", "label_methods", "labels_fact", "predictions_view"]

Fact = dict[str, str]

MOST_CHARTS = 4
"""Most predictions whose values are drawn."""


def _fact(label: str, value: str, hint: str) -> Fact:
    return {"label": label, "value": value, "hint": hint}


def _span(estimate: Estimate, alpha: float) -> str:
    level = amount(100 * (1 - alpha), 6)
    return f"{level}\u00a0% interval {signed(estimate.low)} to {signed(estimate.high)}"


def expected_facts(found: Comparison) -> list[Fact]:
    """The expected gap, that of the covered rows, and how many rows are outside."""
    expected, test = found.expected, found.results["in-use"]
    assert expected is not None
    label = "Expected gap of the model in use"
    if expected.gap is None:
        facts = [_fact(label, "none", sentence(shorten(str(expected.note), 300)))]
    else:
        before = expected.reference_loss
        losses = f"{amount(before)} \u2192 {amount(before + expected.gap.value)}"
        hint = f"{found.notes['loss']} {losses}; {_span(expected.gap, test.alpha)} (asymptotic)"
        facts = [_fact(label, signed(expected.gap.value), hint)]
    if expected.outside is not None and expected.outside_reference is not None:
        own = percent(expected.outside_reference)
        hint = f"of current; of held-out reference rows {own}"
        facts.append(_fact("Outside what the reference covers", percent(expected.outside), hint))
    if expected.covered_gap is not None and expected.outside:
        hint = (
            f"{count(expected.covered_rows or 0)} rows; {_span(expected.covered_gap, test.alpha)}"
        )
        value = signed(expected.covered_gap.value)
        facts.append(_fact("Expected gap on the covered part", value, hint))
    return facts


def labels_fact(found: Comparison) -> list[Fact]:
    """How many current rows have a label, and what the others add."""
    part = found.labelled
    if part is None:
        return []
    rows = part.rows + part.unlabelled_rows
    hint = "current rows; tests are those of the labelled ones"
    if part.weight is not None and part.labelled_gap is not None:
        alone = part.labelled_gap
        hint += (
            f"; their gap alone is {signed(alone.value)} ({signed(alone.low)} to "
            f"{signed(alone.high)})"
        )
    facts = [_fact("Labels", f"{count(part.rows)} of {count(rows)}", hint)]
    for gap, labels in part.more_labels:
        if labels:
            hint = f"until a gap of {amount(gap, 3)} is found with 80\u00a0% probability"
            facts.append(_fact("More labels", count(labels), hint))
    return facts


def predictions_view(found: Comparison) -> dict[str, Any] | None:
    """The section on predictions that moved; None where they were not looked at."""
    columns = found.prediction_columns
    if not columns:
        return None
    alpha = found.results[found.leading].alpha
    moved = [column for column in columns if column.pvalue <= alpha]
    said = (
        f"{count(len(moved))} of {count(len(columns))} moved"
        if len(columns) > 1
        else "They moved"
        if moved
        else "They were not shown to move"
    )
    charts = [
        moved_chart(column, f"prediction-{number}", sentence(column.sentence()))
        for number, column in enumerate(columns[:MOST_CHARTS])
    ]
    return {
        "summary": [
            f"{said} (p-values adjusted for all of them, level {amount(alpha)}). This is not part "
            "of the verdict: predictions may move while the model stays as good as it was."
        ],
        "table": moved_table(columns, "Predictions"),
        "charts": [chart for chart in charts if chart is not None],
    }


def label_methods(found: Comparison) -> list[str]:
    """How the expected gap, or the gap of all current rows, was estimated."""
    if found.labels == "none":
        return [_expected_method(found)]
    if found.labelled is not None and found.labelled.weight is not None:
        return [_powered_method(found)]
    return []


def _expected_method(found: Comparison) -> str:
    expected, test = found.expected, found.results["in-use"]
    assert expected is not None
    trained = "rows trained on" in test.notes
    learned = "each from a fit without that row" if trained else "drawn for that alone"
    text = (
        "No current row has a label. g, the loss to be expected of the model in use from the "
        f"inputs and its prediction, was learned from a part of the reference ({learned}); the "
        "other reference rows and the current rows were compared by g. The p-value is exact when "
        "the inputs of both come from one distribution; no target was read for it. "
    )
    if expected.gap is not None and expected.effective_rows is not None:
        text += (
            "The expected gap is the mean of g over current plus the mean of w times (loss minus "
            "g) over the reference rows that were compared, minus their mean loss, with w the "
            f"estimated density ratio of current to reference (mean 1, cut at {LARGEST:g}, "
            f"{count(round(expected.effective_rows))} effective rows): {ASSUMPTION}. "
        )
    return text + (
        "A row is outside what the reference covers if it is farther from the learning part, as a "
        f"whole or in one column, than all but about {percent(RARE)} of the held-out reference "
        "rows."
    )


def _powered_method(found: Comparison) -> str:
    part = found.labelled
    assert part is not None
    assert part.weight is not None
    return (
        f"{count(part.rows)} current rows have a label and {count(part.unlabelled_rows)} have "
        "none. The tests are those of the labelled rows. The gap of the model in use is that of "
        "all current rows (prediction-powered inference): g, the loss to be expected from inputs "
        "and prediction, was learned from the reference; its mean over the unlabelled rows counts "
        f"with weight {amount(part.weight, 2)}, which makes the variance smallest, and is "
        "corrected on the labelled rows. That holds whatever g is, if labels are missing at random."
    )
