"""The sentences of a comparison: one place for every sentence that two outputs share.

The terminal, the page, ``str()`` and notebooks all take their sentences from here; `rdiv.remarks`
has those that other results share too. Every sentence names the model and the loss that it is
about, and speaks of no model that was not measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import isinf
from typing import TYPE_CHECKING

from rdiv.comparison.label_sentences import (
    expected_advice,
    expected_carriers,
    expected_finding,
    expected_gap_lines,
    label_remarks,
    labelled_lines,
    no_expected_finding,
    prediction_words,
)
from rdiv.comparison.verdicts import RISK_SHIFTS
from rdiv.names import visible
from rdiv.remarks import IN_SAMPLE

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.drivers.result import Drivers
    from rdiv.inference.intervals import Estimate, Interval
    from rdiv.results import TwoSampleResult

__all__ = [
    "INPUTS",
    "NOTHING_TO_DO",
    "RELATION",
    "SHARED_MODEL",
    "USERS_WORD",
    "advice",
    "alpha_spent",
    "asymptotic_because",
    "asymptotic_words",
    "badge",
    "details",
    "fold_luck",
    "further_looks",
    "headline",
    "inputs_finding",
    "inputs_matter",
    "interval_words",
    "leading_model",
    "level_remark",
    "moved_words",
    "repeated_words",
    "retraining_words",
    "rows_trained_on",
    "short_label",
    "shown_drivers",
    "split_words",
    "tone",
    "too_good_words",
    "verdict_remarks",
]

USERS_WORD = (
    "that the model in use was trained on neither sample is your word; otherwise the p-value does "
    "not hold"
)
NOTHING_TO_DO = "Nothing was found to act on. That is not equality"
IDENTICAL = "The two samples hold the same rows."

_BADGES = {
    "worse": "\u25b2 Risk shift, worse",
    "expected worse": "\u25b3 Expected risk shift, worse",
    "expected better": "\u25bd Expected risk shift, better",
    "expected": "\u25b3 Expected risk shift",
    "better": "\u25bc Risk shift, better",
    "hidden": "\u25c6 Hidden shift",
    "unclear": "\u25c7 Shift, kind not established",
    "none": "\u25cb No shift found",
}
_TONES = {"hidden shift": "hidden", "shift, kind not established": "unclear"}
SHARED_MODEL = "a model that has seen both samples"
INPUTS = "explained by the inputs that moved"
RELATION = "the relation between inputs and target changed"

_LONGEST = 60  # letters of a model's text that fit into a sentence
_FOLDS = re.compile(r", \d+ folds( drawn \d+ times)?$")
_CALLED = re.compile(r"(\w+)\(")


def tone(verdict: str, direction: str | None) -> str:
    """One word for a verdict; it decides the colour.

    Examples
    --------
    >>> print(tone("risk shift", "better"), tone("no shift", None))
    better none
    """
    if verdict == "expected risk shift":
        return f"expected {direction}" if direction else "expected"
    return (direction or "worse") if verdict == "risk shift" else _TONES.get(verdict, "none")


def badge(verdict: str, direction: str | None) -> str:
    """A verdict in a few words, with a symbol that can be read without colour.

    Examples
    --------
    >>> print(badge("hidden shift", None))
    ◆ Hidden shift
    """
    return _BADGES[tone(verdict, direction)]


def leading_model(found: Comparison) -> str:
    """The model that the verdict is about, in words.

    It is the one in use, or else the one that was trained on both samples.
    """
    test = found.results[found.leading]
    label = _FOLDS.sub("", short_label(str(test.model)))
    rows = rows_trained_on(test)
    if found.leading == "r-div":
        return f"{_shared_model(found)} trained on both samples"
    if rows is not None:
        return f"{_article(label)} {label} model trained on {rows}"
    return f"the model in use ({label})"


def rows_trained_on(test: TwoSampleResult, spell: Callable[[int], str] = str) -> str | None:
    """The reference rows that the model in use was fitted to, in words; None for a given model.

    Parameters
    ----------
    test : TwoSampleResult
    spell : callable
        How a number is written.
    """
    rows, fitted = (test.notes.get(name) for name in ("rows trained on", "rows fitted to"))
    if rows is None:
        return None
    return f"{'' if fitted is None else f'{spell(fitted)} of '}{spell(rows)} reference rows"


def short_label(label: str) -> str:
    """A model as text that fits into a sentence; the document has it in full.

    The wrapper that says that a model is given is left out, and so are the settings of a long one.

    Examples
    --------
    >>> print(short_label("Frozen(model.onnx)"), short_label("boosting, 5 folds"))
    model.onnx boosting, 5 folds
    >>> steps = "[('scale', StandardScaler()), ('classify', SVC(C=20.0))]"
    >>> print(short_label(f"Pipeline(steps={steps}), 5 folds"))
    Pipeline(... SVC), 5 folds
    """
    folds = _FOLDS.search(label)
    ending = "" if folds is None else folds[0]
    text = label.removesuffix(ending)
    if text.startswith("Frozen(") and text.endswith(")"):
        text = text[len("Frozen(") : -1]
    called = _CALLED.findall(text)
    if len(text) <= _LONGEST or not called:
        return text + ending
    last = f" {called[-1]}" if called[0] == "Pipeline" else ""
    return f"{called[0]}(...{last}){ending}"


def _article(label: str) -> str:
    return "an" if label[:1].lower() in "aeiou" or label.startswith("mlp") else "a"


def _shared_model(found: Comparison) -> str:
    """The shared model by its name; how many folds it was fitted in stands with the numbers."""
    label = _FOLDS.sub("", short_label(str(found.results["r-div"].model)))
    return f"{_article(label)} {label} model"


def headline(found: Comparison) -> str:
    """The verdict in one sentence."""
    says = {
        "no shift": _no_shift,
        "hidden shift": _hidden_shift,
        "shift, kind not established": _unclear_shift,
        "risk shift": _risk_shift,
        "expected risk shift": _expected_shift,
    }
    return visible(says[found.verdict](found))


def _no_shift(found: Comparison) -> str:
    if found.notes.get("identical"):
        return "No shift found: the two samples hold the same rows."
    model, gap = leading_model(found), found.smallest_detectable_gap
    if found.labels == "none":
        return no_expected_finding(found, model, _loss(found))
    if isinf(gap):
        return (
            f"No shift found for {model}; no gap in {_loss(found)} can be named that would have "
            "been found with 80 % probability."
        )
    return (
        f"No shift found for {model}: a gap of {gap:.3g} in {_loss(found)} would have been found "
        f"with 80 % probability{asymptotic_words(found)}."
    )


def _risk_shift(found: Comparison) -> str:
    test = found.results[found.leading]
    model, losses = leading_model(found), _from_to(test)
    if test.notes["task"] == "density" and not _is_logged(test):
        more = "more" if found.direction == "worse" else "less"
        return f"Risk shift: current rows surprise {model} {more}: {_loss(found)} {losses}."
    return f"Risk shift: {model} does {found.direction} on current: {_loss(found)} {losses}."


def _expected_shift(found: Comparison) -> str:
    return expected_finding(found, leading_model(found), _loss(found))


def _hidden_shift(found: Comparison) -> str:
    """What was found, and of which model nothing was shown."""
    alpha = found.results[found.leading].alpha
    unshown = f"a change of the mean {_loss(found)} of {leading_model(found)} was not shown"
    if found.leading == "in-use" and found.adjusted_pvalues["r-div"] <= alpha:
        test = found.results["r-div"]
        word = "worse" if (found.shared_gap or 0) > 0 else "better"
        return (
            f"Hidden shift: {_shared_model(found)} that has seen both samples does {word} on "
            f"current ({_shared_loss(found)} {_from_to(test)}), while {unshown}."
        )
    return f"Hidden shift: the two samples would train different models, while {unshown}."


def _unclear_shift(found: Comparison) -> str:
    return (
        f"Shift, kind not established: the questions together show a difference (p = "
        f"{found.pvalue:.3g}), none of them does alone; a change of the mean {_loss(found)} of "
        f"{leading_model(found)} was not shown."
    )


def _is_logged(test: TwoSampleResult) -> bool:
    """Whether the model is known by its losses alone: then there is no task to speak of."""
    return str(test.model).startswith("losses in column ")


def _from_to(test: TwoSampleResult) -> str:
    return f"{test.risk_p:.4g} -> {test.risk_q:.4g}"


def _loss(found: Comparison) -> str:
    return str(found.notes.get("loss", "loss"))


def _shared_loss(found: Comparison) -> str:
    return str(found.notes.get("shared loss", "loss"))


def advice(found: Comparison) -> str:
    """What to do about it, from the questions and what retraining would win."""
    expected = found.labels == "none" or found.verdict == "expected risk shift"
    if expected and not found.notes.get("identical"):
        return expected_advice(found)
    if found.verdict == "risk shift" and found.direction == "better":
        return (
            "The current rows are easier for this model. Check why before you trust it: an easier "
            "mix of rows does this, and so does a target that leaks into the inputs."
        )
    if found.verdict == "risk shift":
        return f"Check that the current data are right. {_retrain(found)}"
    if found.verdict == "hidden shift":
        return f"Look at the columns that changed. {_retrain(found)}"
    if found.verdict == "shift, kind not established":
        return (
            "Something differs, but not enough is known to say what. More rows would tell; until "
            "then, look at the columns and slices below."
        )
    return _nothing(found)


def _nothing(found: Comparison) -> str:
    if found.notes.get("identical"):
        return "There is nothing to compare. Check that the right files were given."
    if found.drivers is not None and found.drivers.confirmed_slices():
        where = found.drivers.confirmed_slices()[0].condition
        return visible(
            f"No shift of the mean loss was found, but the loss did change where {where}. Look at "
            "that slice first."
        )
    if found.equivalence is not None and found.equivalence.shown:
        return "Nothing was found to act on, and the gap was shown to lie within your margin."
    return (
        f"{NOTHING_TO_DO}: a smaller gap may have been missed. To show that the gap is small, give "
        "the largest gap that would not matter to you as the equivalence margin."
    )


def _retrain(found: Comparison) -> str:
    """What a model that has seen both samples would change."""
    won = found.retraining
    if won is None:
        why = found.notes.get("retraining")
        return f"What retraining would bring was not measured{f': {why}' if why else ''}."
    loss = _loss(found)
    if won.current.low > 0:
        text = (
            f"Retraining on both samples helps: it lowers the {loss} on current by "
            f"{won.current.value:.3g} ({won.current.low:.3g} to {won.current.high:.3g})"
        )
        if won.reference.high < 0:
            return f"{text}, and raises it on reference by {-won.reference.value:.3g}."
        if won.reference.low > 0:
            return (
                f"{text}. On reference it lowers it by {won.reference.value:.3g} too, so part of "
                "that comes from training on more rows."
            )
        return f"{text}."
    if won.current.high < 0:
        return (
            f"Retraining on both samples would not help: the {loss} on current is higher by "
            f"{-won.current.value:.3g} for {SHARED_MODEL}."
        )
    return (
        f"That retraining on both samples helps was not shown: the {loss} on current changes by "
        f"{-won.current.value:+.3g} ({-won.current.high:+.3g} to {-won.current.low:+.3g})."
    )


def retraining_words(found: Comparison) -> str | None:
    """Both numbers of `retraining` in one line; None where they were not measured."""
    if found.retraining is None:
        return None
    return "; ".join(
        f"{_change(estimate)} on {name}"
        for name, estimate in (
            ("current", found.retraining.current),
            ("reference", found.retraining.reference),
        )
    )


def _change(won: Estimate) -> str:
    """A gain as a change of the loss."""
    return f"{-won.value:+.3g} ({-won.high:+.3g} to {-won.low:+.3g})"


def split_words(found: Comparison) -> str | None:
    """Both parts of the gap in one line, or why there are none; None where nobody asked."""
    if found.split is None:
        return str(found.notes["split"]) if "split" in found.notes else None
    parts = [
        (part, f"{part.value:+.3g} ({part.low:+.3g} to {part.high:+.3g})")
        for part in (found.split.inputs, found.split.relation)
    ]
    if found.verdict != "risk shift":
        return (
            f"{parts[0][1]} from inputs that moved, {parts[1][1]} from the relation; the gap as a "
            "whole was not shown"
        )
    return "; ".join(
        f"{text} {words}" + (" (not shown)" if part.low <= 0 <= part.high else "")
        for (part, text), words in zip(parts, (INPUTS, RELATION), strict=True)
    )


def interval_words(interval: Interval | None, alpha: float, why: str | None = None) -> str:
    """An interval in words, with the reason if it is asymptotic; or why there is none.

    Examples
    --------
    >>> from rdiv.inference.intervals import Interval
    >>> print(interval_words(Interval(-1.0, 2.0), 0.05, "only 12 current rows"))
    95 % interval -1 to +2 (asymptotic: only 12 current rows)
    """
    if interval is None:
        return IN_SAMPLE
    text = f"{100 * (1 - alpha):g} % interval {interval.low:+.4g} to {interval.high:+.4g}"
    return text if why is None else f"{text} (asymptotic: {why})"


def asymptotic_words(found: Comparison) -> str:
    """Why what is said about the leading gap is asymptotic, in brackets; nothing if it is not."""
    why = asymptotic_because(found, found.leading)
    return "" if why is None else f" (asymptotic: {why})"


def asymptotic_because(found: Comparison, question: str) -> str | None:
    """Why the interval of a question is asymptotic: a small or very skewed side; None if not."""
    name = {"in-use": "gap_interval", "r-div": "shared_gap_interval"}[question]
    why = found.notes.get("asymptotic", {}).get(name)
    return None if why is None else str(why)


def details(found: Comparison) -> list[str]:
    """The numbers behind the verdict, one line each."""
    test = found.results[found.leading]
    margins = [one.statement() for one in (found.equivalence, found.not_worse) if one is not None]
    retrained, split = retraining_words(found), split_words(found)
    lines = [
        *(f"warning: {text}" for text in found.warnings),
        f"advice: {found.advice}",
        *_gap_lines(found),
        *labelled_lines(found),
        *([] if split is None else [f"why: {split}"]),
        *([] if retrained is None else [f"retraining: {_loss(found)} {retrained}"]),
        *_pvalue_lines(found),
        *([f"folds: {luck}"] if (luck := fold_luck(found)) else []),
        *(f"remark: {text}" for text in verdict_remarks(found)),
        *margins,
        f"rows: {test.n_p} reference{_trained(test)}, {test.n_q} current; "
        f"{'' if _is_logged(test) else 'task: ' + test.notes['task'] + '; '}seed {test.seed}",
        *_inputs(found),
        *(f"predictions moved: {text}" for text in prediction_words(found)),
        *(f"moved: {text}" for text in moved_words(found)),
        *_carriers(found),
    ]
    return [visible(line) for line in lines]  # names of columns may hold anything


def _trained(test: TwoSampleResult) -> str:
    rows = test.notes.get("rows trained on")
    return "" if rows is None else f" ({rows} to train, {test.n_p - rows} to compare)"


def _gap_lines(found: Comparison) -> list[str]:
    lines = []
    if found.labels == "none":
        return expected_gap_lines(found, _loss(found), _in_use(found.results["in-use"]))
    if found.gap is not None:
        test = found.results["in-use"]
        losses = _from_to(test)
        if found.labels == "some":  # the test is that of the labelled rows alone
            losses = f"{test.risk_p:.4g} -> {(test.risk_p or 0.0) + found.gap:.4g}"
        lines.append(
            f"gap in use: {found.gap:+.4g} ({_loss(found)} {losses}), {_interval(found, 'in-use')}"
        )
        lines.append(f"model in use: {_in_use(test)}")
    if found.shared_gap is not None:
        test = found.results["r-div"]
        lines.append(
            f"shared gap: {found.shared_gap:+.4g} ({_shared_loss(found)} {_from_to(test)}), "
            f"{_interval(found, 'r-div')}"
        )
        lines.append(f"shared model: {short_label(str(test.model))}, trained on both samples")
    return lines


def _interval(found: Comparison, question: str) -> str:
    interval = found.gap_interval if question == "in-use" else found.shared_gap_interval
    alpha = found.results[question].alpha
    return interval_words(interval, alpha, asymptotic_because(found, question))


def _in_use(test: TwoSampleResult) -> str:
    label, rows = short_label(str(test.model)), rows_trained_on(test)
    return label if rows is None else f"{label}, trained on {rows}"


def _pvalue_lines(found: Comparison) -> list[str]:
    draws = found.results[found.leading].n_resamples
    if len(found.adjusted_pvalues) == 1:
        return [f"p-value: {found.leading} {found.pvalue:.3g}; {draws} permutations"]
    raw = ", ".join(
        f"{name} {found.results[name].pvalue:.3g} (adjusted {pvalue:.3g})"
        for name, pvalue in found.adjusted_pvalues.items()
    )
    return [f"p-values: {raw}; together {found.pvalue:.3g}; {draws} permutations"]


def verdict_remarks(found: Comparison) -> list[str]:
    """Why the verdict may differ from that of a single test, and what was not asked."""
    test, remarks = found.results[found.leading], []
    if "in use" in found.notes:
        remarks.append(str(found.notes["in use"]))
    if "trained on" in found.notes:
        remarks.append(str(found.notes["trained on"]))
    remarks += [
        str(found.notes[name]) for name in ("fit rows", "sample rows") if name in found.notes
    ]
    remarks += label_remarks(found)
    if found.labels == "none":
        return remarks
    if "r-div" not in found.results:
        remarks.append(f"what {SHARED_MODEL} would do was not asked")
    elif "score" not in found.results:
        remarks.append("the shared model has no gradients, so score was not asked")
    covers = found.leading_interval is not None and _covers_0(found.leading_interval)
    if test.rejected and found.verdict != "risk shift":
        excluding = (
            ""
            if covers or found.leading_interval is None or found.labels == "some"
            else ", so its interval excludes 0"
        )
        remarks.append(
            f"{found.leading} alone would reject{excluding}, but over all questions the evidence "
            f"is p = {found.adjusted_pvalues[found.leading]:.3g}: no risk shift is claimed"
        )
    remarks += [text for name in ("in-use", "r-div") if (text := _covering(found, name))]
    return remarks


def _covers_0(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high


def _covering(found: Comparison, question: str) -> str:
    """That a test rejects while its interval, which is wider than the test, covers 0."""
    interval = found.gap_interval if question == "in-use" else found.shared_gap_interval
    test = found.results.get(question)
    if test is None or interval is None or not test.rejected or not _covers_0(interval):
        return ""
    return (
        f"{question} rejects (p = {test.pvalue:.3g}), but its interval covers 0: it is wider than "
        "the test alone asks for, because losses are skewed, few or unequal in spread. That the "
        "samples differ for this model was shown; how large the gap is remains uncertain"
    )


def level_remark(interval: Interval | None, verdict: str, pvalue: float) -> str:
    """Why the interval of one level among many and its verdict seem to disagree, or nothing.

    Parameters
    ----------
    interval : Interval, optional
    verdict : str
        Of the level, adjusted for all levels.
    pvalue : float
        Of the question that a risk shift is about, adjusted for all levels and questions.

    Examples
    --------
    >>> from rdiv.inference.intervals import Interval
    >>> print(level_remark(Interval(0.1, 0.9), "no shift", 0.08)[:48])
    its interval excludes 0, but over all levels and
    """
    if interval is None or _covers_0(interval) == (verdict not in RISK_SHIFTS):
        return ""
    if verdict in RISK_SHIFTS:
        return (
            f"{'an' if verdict[0] == 'e' else 'a'} {verdict} was shown (p = {pvalue:.3g}), but its "
            "interval covers 0: the interval holds for all levels at once and is wider where "
            "losses are skewed or few. How large the gap is remains uncertain"
        )
    return (
        f"its interval excludes 0, but over all levels and questions the evidence is p = "
        f"{pvalue:.3g}: no risk shift is claimed"
    )


def alpha_spent(found: Comparison) -> str:
    """Which findings of a comparison are each held to alpha, and what that adds up to."""
    alpha = found.results[found.leading].alpha
    spends = ["the verdict"]
    if found.drivers is not None:
        spends.append("the slices")
    if found.input_columns:
        spends.append("the columns that moved")
    if found.input_test is not None:
        spends.append("the test of the inputs")
    if len(spends) == 1:
        return ""
    named = f"{', '.join(spends[:-1])} and {spends[-1]}"
    return (
        f"{named[0].upper()}{named[1:]} each spend alpha: each family is held to {alpha:g} by "
        f"itself, so when nothing has changed up to {100 * min(1.0, alpha * len(spends)):.3g} % of "
        "runs may report something in one of them."
    )


def fold_luck(found: Comparison) -> str:
    """How much the p-value of r-div depends on the draw of the folds; empty if drawn once."""
    test = found.results.get("r-div")
    drawn = None if test is None else test.notes.get("fold draws")
    if drawn is None:
        return ""
    low, high = min(drawn["pvalues"]), max(drawn["pvalues"])
    return (
        f"losses in folds are means over {drawn['draws']} draws of the folds; with a single draw "
        f"the p-value of r-div would lie between {low:.3g} and {high:.3g}"
    )


def repeated_words(count: int, rows: int) -> str:
    """That rows are repeated within a sample, and what to do.

    Examples
    --------
    >>> print(repeated_words(30, 200)[:52])
    15 % of the rows (30 of 200) repeat a row of their o
    """
    return (
        f"{100 * count / rows:.3g} % of the rows ({count} of {rows}) repeat a row of their own "
        "sample. P-values assume independent rows: if rows of one customer, device or day belong "
        "together, give that column as groups."
    )


def too_good_words(own: float, copy: float) -> str:
    """That a frozen model does better on the reference than a copy which has not seen the row."""
    return (
        f"The model in use has a mean loss of {own:.4g} on the reference, lower by more than "
        f"chance than the {copy:.4g} of a copy that was trained on other reference rows. A model "
        "that was trained on the reference gives itself away like this; the p-value would not hold "
        "then. A model trained on far more rows elsewhere does it too."
    )


def further_looks(alpha: float) -> str:
    """A warning about testing again and again at the same level.

    Examples
    --------
    >>> print(further_looks(0.05)[:75])
    Every further look adds false alarms: when nothing has changed, up to one i
    """
    return (
        f"Every further look adds false alarms: when nothing has changed, up to one in "
        f"{1 / alpha:.0f} runs at level {alpha:g} raises an alarm. To look daily, use "
        "rdiv watch, which bounds the false alarms of all looks together."
    )


def _inputs(found: Comparison) -> list[str]:
    if found.input_test is None:
        return []
    p = f"p = {found.input_test.pvalue:.3g}"
    finding = inputs_finding(found.input_test)
    return [f"inputs alone: {finding} (no model, {p}); not part of the verdict"]


def inputs_finding(inputs: TwoSampleResult) -> str:
    """The finding of the test of the inputs, in words."""
    return "shift found" if inputs.rejected else "no shift found"


def moved_words(found: Comparison, most: int = 3) -> list[str]:
    """The input columns that were shown to move, one sentence each."""
    if found.input_columns is None:
        return []
    alpha = found.results[found.leading].alpha
    moved = [column for column in found.input_columns if column.pvalue <= alpha]
    rest = len(moved) - most
    left = [f"{rest} more column{'s' if rest > 1 else ''}"] if rest > 0 else []
    return [*(column.sentence() for column in moved[:most]), *left]


def inputs_matter(found: Comparison) -> bool:
    """Whether the inputs that moved were shown to change the loss, so that columns can be named."""
    if found.labels == "none":
        return found.gap_interval is not None and not _covers_0(found.gap_interval)
    if found.split is None:
        density = found.results[found.leading].notes["task"] == "density"
        return density and found.verdict == "risk shift"
    return not found.split.inputs.low <= 0 <= found.split.inputs.high


def shown_drivers(found: Comparison) -> Drivers | None:
    """The drivers without those that were not shown.

    Columns are named where the inputs were shown to matter, and slices of the relation where the
    inputs overlap: otherwise there are no equal inputs to speak of.
    """
    shown = found.drivers
    if shown is not None and not inputs_matter(found):
        shown = replace(shown, columns=None)
    if shown is not None and found.split is None:
        shown = replace(shown, relation_slices=())
    return shown


def _carriers(found: Comparison) -> list[str]:
    carriers = shown_drivers(found)
    if carriers is None:
        return []
    if found.direction is None:
        lines = carriers.lines()
    else:
        lines = carriers.lines("current" if found.direction == "worse" else "reference")
    return expected_carriers(lines) if found.labels == "none" else lines
