"""How a comparison was done and under which assumptions, true for the data of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdiv.comparison.density_ratio import LARGEST
from rdiv.comparison.sentences import alpha_spent, further_looks
from rdiv.report.labels_view import label_methods
from rdiv.report.wording import amount, count, shorten

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison
    from rdiv.results import TwoSampleResult

__all__ = ["comparison_methods", "many_methods"]


_HOLD = {
    "holm": "P-values of a {unit} are adjusted by Holm's method: the probability that any {unit} "
    "is called shifted by mistake is at most {alpha}, whatever the dependence ({shared}). Its "
    "questions are judged by closed testing at {alpha} over the number of {unit}s",
    "bh": "P-values of a {unit} are adjusted by the method of Benjamini and Hochberg: of the "
    "{unit}s called shifted, at most a share of {alpha} is expected to be false alarms, for "
    "independent or positively dependent tests ({shared}, which makes them positively dependent in "
    "general, but no proof covers two-sided tests). The questions of a {unit} are judged by closed "
    "testing at {alpha} times the share of {unit}s that shifted (Benjamini and Bogomolov)",
}


def comparison_methods(found: Comparison) -> list[str]:
    """The paragraphs on the methods of one comparison."""
    test = found.results[found.leading]
    permuted = (
        f"For each question the rows were permuted between the two samples at random "
        f"{count(test.n_resamples)} times. The p-value is the share of permutations, the observed "
        f"split included, with at least as large a difference. {_pvalues_hold(found)}"
    )
    last = f"{_intervals(found)}{_inputs(found)}{further_looks(test.alpha)}"
    told = [_models_fitted(found), permuted, _combined(found, test.alpha), _split(found)]
    told += label_methods(found)
    parts = (*told, _columns(found), _moved(found), alpha_spent(found), last)
    return [text for text in parts if text]


def _split(found: Comparison) -> str:
    """How the gap was split, where it was."""
    if found.split is None:
        return ""
    trained = "rows trained on" in found.results["in-use"].notes
    learned = (
        "the rows that trained it, each from a fit without that row"
        if trained
        else "reference rows, each judged by a fit without that row"
    )
    return (
        "Inputs or relation: g, the loss to be expected of the model in use from the inputs and "
        f"its prediction, was learned from its losses on {learned}. w, how much more frequent a "
        "reference row is in current, comes from a classifier of the two samples, fitted on other "
        f"rows; weights have mean 1, are cut at {LARGEST:g}, and leave "
        f"{count(round(found.split.effective_rows))} effective reference rows. The loss on current "
        "under the relation of the reference is the mean of g over current plus the mean of w "
        "times (loss minus g) over reference: right if either g or w is (doubly robust). It minus "
        "the mean loss on reference is the inputs part, and the rest of the gap is the relation "
        "part. Their intervals come from influence functions; they are asymptotic, each holds "
        "alone, and no p-value of this page uses w."
    )


def _columns(found: Comparison) -> str:
    if found.drivers is None or found.drivers.columns is None:
        return ""
    return (
        "Columns: reference rows are turned into current rows one group of columns at a time, in "
        "random orders, and each group gets the mean change of the expected loss (Shapley values). "
        "Columns that go together are one group. Intervals take the expected loss as given and "
        "hold for one group each."
    )


def _moved(found: Comparison) -> str:
    if not found.input_columns:
        return ""
    return (
        "Inputs that moved: all columns share their permutations, and step-down max-T adjusts for "
        "all of them, so the probability that any unmoved column is named is at most "
        f"{amount(found.results[found.leading].alpha)}. That is exact when both samples come from "
        "one distribution, whatever the correlations. It is outside the verdict."
    )


def _models_fitted(found: Comparison) -> str:
    """Which model saw which rows; nothing about a model that was not measured."""
    parts = []
    if "in-use" in found.results and found.labels != "none":
        parts.append(_in_use(found.results["in-use"]))
    if "r-div" in found.results:
        parts.append(_shared(found, found.results["r-div"]))
    if "score" in found.results:
        parts.append(
            "Score: the gradients of the loss of that shared model were compared in place of its "
            "losses."
        )
    return " ".join(parts)


def _in_use(test: TwoSampleResult) -> str:
    model, trained = shorten(test.model, 120), test.notes.get("rows trained on")
    if trained is None:
        return (
            f"In-use: the model in use ({model}) was judged by its losses on {count(test.n_p)} "
            f"reference and {count(test.n_q)} current rows. That it was trained on neither sample "
            "is the user's word; otherwise the p-value does not hold."
        )
    tested = test.notes.get("rows tested", test.n_p + test.n_q - trained)
    return (
        f"In-use: {count(trained)} of the {count(test.n_p)} reference rows were drawn at random to "
        f"train a model ({model}). Its losses on the other reference rows were compared with its "
        f"losses on the current rows, {count(tested)} rows in all."
    )


def _shared(found: Comparison, test: TwoSampleResult) -> str:
    held = "out-of-fold losses (no row helped to fit the model that gave its loss)"
    losses = "in-sample losses" if found.shared_gap_interval is None else held
    return (
        f"R-div: one model ({shorten(test.model, 120)}) was fitted on all {count(test.n_p)} "
        f"reference and {count(test.n_q)} current rows together, without knowing which row came "
        f"from which sample, and judged by its {losses}.{_drawn(test)}"
    )


def _drawn(test: TwoSampleResult) -> str:
    drawn = test.notes.get("fold draws")
    if drawn is None:
        return ""
    return (
        f" With so few rows losses depend on how the folds were drawn: they are means over "
        f"{drawn['draws']} draws, none of which knew the samples."
    )


def _pvalues_hold(found: Comparison) -> str:
    """When p-values are exact, and when they are not."""
    text = (
        "Raw p-values are exact at every sample size when both samples come from one distribution "
        "and rows (or the given groups of rows) are independent. When only the mean losses are "
        "equal they are approximate; gaps are divided by their standard errors for that reason."
    )
    if "score" in found.results:
        text += (
            " Score is approximate when only the mean gradients are equal, more so when the sample "
            "sizes differ."
        )
    return text


def _combined(found: Comparison, alpha: float) -> str:
    asked = list(found.adjusted_pvalues)
    if len(asked) == 1:
        return f"Only one question was asked, so its p-value is not adjusted (level {alpha:g})."
    text = (
        f"The verdict combines the {len(asked)} questions by closed testing at level "
        f"{amount(alpha)}: the adjusted p-value of a question is the largest p-value of all sets "
        "of questions that hold it."
    )
    if "in-use" in asked:
        text += (
            " A set with in-use and another question gets twice the smaller p-value (Bonferroni), "
            "because in-use is about other rows."
        )
    if "score" in asked:
        text += " R-div and score share their permutations and are combined by the smaller p-value."
    return text


def _intervals(found: Comparison) -> str:
    if found.labels == "none":
        return "The interval of the expected gap comes from influence functions; it is asymptotic. "
    spans = (found.gap_interval, found.shared_gap_interval)
    text = ""
    if any(span is not None for span in spans):
        text = (
            "Intervals are for the gap of the fitted models on future rows: the gap plus and minus "
            "the permutation quantile times its standard error, wider where Student's quantile or "
            "skewed losses ask for more, never narrower. "
        )
    if found.retraining is not None:
        text += (
            "Retraining compares the two models row by row, with Student's interval, wider where "
            "differences are skewed and because rows train the models that judge each other. "
        )
    return text


def _inputs(found: Comparison) -> str:
    if found.input_test is None:
        return ""
    rows = f"{count(found.input_test.n_p)} + {count(found.input_test.n_q)}"
    return (
        "The test of the inputs needs no model: it looks at distances between rows, at columns and "
        f"at how they go together, in {rows} random rows, and is not part of the verdict. "
    )


def many_methods(found: Comparisons) -> list[str]:
    """The paragraphs on the methods of many comparisons; models are those of the first one."""
    first, unit = found.tested[0].comparison, found.unit
    assert first is not None
    shared = "the models share both samples" if unit == "model" else "the levels share a reference"
    hold = _HOLD[found.correction].format(alpha=amount(found.alpha), unit=unit, shared=shared)
    raised = f" (raised, because so many {unit}s need more than 999)" if found.raised else ""
    members = len(found.tested) + (found.no_runs is None)
    each = amount(100 * (1 - found.alpha / members), 6)
    what = "Each level was compared with the full reference on its own"
    if unit == "model":
        what = "The two samples were compared for each model on its own"
    return [
        f"{what}. For {unit} {shorten(found.tested[0].name, 60)}: {_models_fitted(first)}",
        "For each question the rows were permuted between the two samples at random "
        f"{count(found.n_resamples)} times{raised}. {_pvalues_hold(first)}",
        f"{hold}. Each {unit} has {each} % intervals, so that they hold for all {unit}s at once. "
        f"The adjustment is slightly more powerful, so a {unit} may shift while its interval "
        "contains 0.",
        *_in_a_row(found),
        *([f"In every {unit}: {spent}"] if (spent := alpha_spent(first)) else []),
    ]


def _in_a_row(found: Comparisons) -> list[str]:
    """How consecutive levels were tested together."""
    if found.no_runs is not None:
        return []
    return [
        "In a row: consecutive levels whose mean losses all lie on one side of the reference are "
        "compared with it as one sample, by the model that the verdicts are about. The run that is "
        "farthest from the reference is reported; rows are permuted among the reference and all "
        "levels, and the run is chosen anew in every permutation, so its p-value is exact when no "
        "level differs. It counts as one more level in the adjustment."
    ]
