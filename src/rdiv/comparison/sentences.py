"""The sentences of a comparison: one place for every sentence that two outputs share.

The terminal, the page, ``str()`` and notebooks all take their sentences from here; `rdiv.remarks`
has those that other results share too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdiv.names import visible
from rdiv.remarks import IN_SAMPLE

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.results import TwoSampleResult

__all__ = [
    "NOTHING_TO_DO",
    "advice",
    "badge",
    "details",
    "further_looks",
    "headline",
    "inputs_finding",
    "tone",
    "verdict_remarks",
]

NOTHING_TO_DO = "There is nothing to act on. That is not equality"

_ADVICE = {
    "worse": "The model does worse on the current rows. See below which columns, slices and rows "
    "carry the gap, check that the data are right, and retrain if they are.",
    "better": "The current rows are easier for the model. Check why before you trust it: an easier "
    "mix of rows does this, and so does a target that leaks into the inputs.",
    "hidden": "A difference in mean loss was not shown, but a model trained on the current rows "
    "would be a different one. Look at the columns below, and plan to retrain.",
    "none": f"{NOTHING_TO_DO}: a smaller gap may have been missed. "
    "To show that the gap is small, give the largest gap that would not matter to you as the "
    "equivalence margin.",
}
_SHOWN = "There is nothing to act on, and the gap was shown to lie within the margin you gave."
_BADGES = {
    "worse": "\u25b2 Risk shift, worse",
    "better": "\u25bc Risk shift, better",
    "hidden": "\u25c6 Hidden shift",
    "none": "\u25cb No shift found",
}


def tone(verdict: str, direction: str | None) -> str:
    """One word for a verdict; it decides the colour.

    Examples
    --------
    >>> print(tone("risk shift", "better"), tone("no shift", None))
    better none
    """
    return {"risk shift": direction or "worse", "hidden shift": "hidden"}.get(verdict, "none")


def badge(verdict: str, direction: str | None) -> str:
    """A verdict in a few words, with a symbol that can be read without colour.

    Examples
    --------
    >>> print(badge("hidden shift", None))
    ◆ Hidden shift
    """
    return _BADGES[tone(verdict, direction)]


def advice(found: Comparison) -> str:
    """What to do about a verdict."""
    word = tone(found.verdict, found.direction)
    shown = found.equivalence is not None and found.equivalence.shown
    return _SHOWN if word == "none" and shown else _ADVICE[word]


def headline(found: Comparison) -> str:
    """The verdict in one sentence."""
    if found.verdict == "no shift":
        return (
            f"No shift found: a gap of {found.smallest_detectable_gap:.3g} in mean loss would "
            "have been found with 80 % probability."
        )
    if found.verdict == "hidden shift":
        return (
            "Hidden shift: the samples would train different models, while a difference in "
            "mean loss was not shown."
        )
    return (
        f"Risk shift: the model does {found.direction} on current, "
        f"by {abs(found.gap):.3g} in mean loss."
    )


def details(found: Comparison) -> list[str]:
    """The numbers behind the verdict, one line each."""
    test = found.results["r-div"]
    interval = IN_SAMPLE
    if found.gap_interval is not None:
        low, high = found.gap_interval
        interval = f"{100 * (1 - test.alpha):g} % interval {low:+.4g} to {high:+.4g}"
    margins = [one.statement() for one in (found.equivalence, found.not_worse) if one is not None]
    lines = [
        f"gap (current - reference): {found.gap:+.4g}, {interval}",
        f"mean loss: {test.risk_p:.4g} on reference, {test.risk_q:.4g} on current",
        f"r-div: p = {test.pvalue:.3g}, {test.n_resamples} permutations",
        *_score(found),
        *(f"remark: {text}" for text in verdict_remarks(found)),
        *margins,
        f"model: {test.model}; task: {test.notes['task']}",
        f"rows: {test.n_p} reference, {test.n_q} current; seed {test.seed}",
        *_inputs(found),
        *_carriers(found),
    ]
    return [visible(line) for line in lines]  # names of columns may hold anything


def verdict_remarks(found: Comparison) -> list[str]:
    """Why the verdict may differ from that of a single test."""
    if "score" not in found.results:
        return ["this model has no gradients, so hidden shifts were not looked for"]
    if found.results["r-div"].rejected and found.verdict != "risk shift":
        together = found.results["omnibus"].pvalue
        return [
            "r-div alone would reject, so the interval excludes 0, but together with score the "
            f"evidence is p = {together:.3g}: no risk shift is claimed"
        ]
    return []


def further_looks(alpha: float) -> str:
    """A warning about testing again and again at the same level.

    Examples
    --------
    >>> print(further_looks(0.05)[:75])
    Every further look adds false alarms: when nothing has changed, up to one i
    """
    return (
        f"Every further look adds false alarms: when nothing has changed, up to one in "
        f"{1 / alpha:.0f} runs at level {alpha:g} raises an alarm. If this runs daily, divide "
        "alpha by the number of looks."
    )


def _score(found: Comparison) -> list[str]:
    if "score" not in found.results:
        return []
    score, omnibus = found.results["score"], found.results["omnibus"]
    return [f"score: p = {score.pvalue:.3g}; with r-div (omnibus) p = {omnibus.pvalue:.3g}"]


def _inputs(found: Comparison) -> list[str]:
    if found.inputs is None:
        return []
    p = f"p = {found.inputs.pvalue:.3g}"
    return [f"inputs alone (energy, not part of the verdict): {inputs_finding(found.inputs)}, {p}"]


def inputs_finding(inputs: TwoSampleResult) -> str:
    """The finding of the test of the inputs, in words."""
    return "shift found" if inputs.rejected else "no shift found"


def _carriers(found: Comparison) -> list[str]:
    if found.drivers is None:
        return []
    if found.direction is None:
        return found.drivers.lines()
    return found.drivers.lines("current" if found.direction == "worse" else "reference")
