"""The first screen of a page: which files, the numbers, the warnings, and what the words mean."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from rdiv.comparison.sentences import asymptotic_because, asymptotic_words, rows_trained_on
from rdiv.remarks import IN_SAMPLE
from rdiv.report.labels_view import expected_facts, labels_fact
from rdiv.report.provenance import Provenance
from rdiv.report.terms import COMPARISON_WORDS, MISSING_LABEL_WORDS, word_list
from rdiv.report.wording import amount, count, probability, sentence, shorten, signed, visible

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.inference.intervals import Estimate

__all__ = ["MOST_WARNINGS", "Fact", "about", "loss_words", "numbers", "terms", "warned"]

MOST_WARNINGS = 12
"""Most warnings that a page spells out."""

_NAMED_FILES = 3  # current files that are named at the top

Fact = dict[str, str]


def about(found: Comparison, provenance: Provenance) -> list[Fact]:
    """Files, loss and date: the line at the top of the page."""
    facts = [*files(provenance), _fact("Loss", loss_words(found))]
    if found.labels is not None:
        facts.append(_fact("Task", str(found.notes.get("task", ""))))
    return [*facts, *made(provenance)]


def files(provenance: Provenance) -> list[Fact]:
    """The names of the files by their use."""
    names: dict[str, list[str]] = {}
    for file in provenance.inputs:
        names.setdefault(file.role, []).append(shorten(PurePath(file.name).name or file.name, 60))
    return [
        _fact(
            role.capitalize(),
            ", ".join(given) if len(given) <= _NAMED_FILES else f"{count(len(given))} files",
        )
        for role, given in names.items()
    ]


def made(provenance: Provenance) -> list[Fact]:
    """The date, where it is given."""
    return [] if provenance.date is None else [_fact("Date", shorten(provenance.date, 40))]


def loss_words(found: Comparison) -> str:
    """The loss of the model in use, and that of the shared model where it is another one."""
    own, shared = _losses(found)
    if own and shared and own != shared:
        return f"{own} (model in use), {shared} (shared model)"
    return own or shared


def _losses(found: Comparison) -> tuple[str, str]:
    """The names of both losses; empty where the question was not asked."""
    asked = found.gap is not None or found.labels == "none"
    own = str(found.notes.get("loss", "loss")) if asked else ""
    shared = str(found.notes.get("shared loss", "loss")) if found.shared_gap is not None else ""
    return shorten(own, 60), shorten(shared, 60)


def warned(warnings: tuple[str, ...]) -> list[str]:
    """Warnings as a page shows them."""
    shown = [shorten(f"{text.rstrip('.')}.", 400) for text in warnings[:MOST_WARNINGS]]
    left = len(warnings) - len(shown)
    return shown + ([f"{count(left)} more warnings are in the JSON."] if left else [])


def terms(labels: str | None) -> list[Fact]:
    """What the words of the first screen mean; `labels` says how many current rows have one."""
    missing = MISSING_LABEL_WORDS if labels in {"none", "some"} else ()
    return word_list((*COMPARISON_WORDS, *missing))


def numbers(found: Comparison) -> list[Fact]:
    """The numbers behind the verdict; those that were not asked for say why."""
    if found.labels == "none":
        facts = [*expected_facts(found), _pvalue(found), _detectable(found), _rows(found)]
        return [*facts, *_models(found)[:1]]
    return [
        _gap_in_use(found),
        *labels_fact(found),
        _shared_gap(found),
        _retraining(found),
        _pvalue(found),
        _detectable(found),
        _rows(found),
        *_models(found),
    ]


def _fact(label: str, value: str, hint: str = "") -> Fact:
    return {"label": label, "value": value, "hint": hint}


def _gap_in_use(found: Comparison) -> Fact:
    label = "Gap of the model in use"
    if found.gap is None:
        why = str(found.notes.get("in use", "this question was not asked"))
        return _fact(label, "not measured", sentence(why))
    span, losses = _span(found, "in-use"), _from_to(found, "in-use")
    if found.labels == "some":  # the test is that of the labelled rows alone
        before = found.results["in-use"].risk_p or 0.0
        losses = f"{amount(before)} \u2192 {amount(before + found.gap)}"
    return _fact(label, signed(found.gap), f"{_losses(found)[0]} {losses}{span}")


def _shared_gap(found: Comparison) -> Fact:
    label = "Shared gap"
    if found.shared_gap is None:
        return _fact(label, "not asked", "No model was trained on both samples.")
    span, loss = _span(found, "r-div"), _losses(found)[1]
    return _fact(label, signed(found.shared_gap), f"{loss} {_from_to(found, 'r-div')}{span}")


def _from_to(found: Comparison, name: str) -> str:
    test = found.results[name]
    return f"{amount(test.risk_p)} \u2192 {amount(test.risk_q)}"


def _span(found: Comparison, name: str) -> str:
    interval = found.gap_interval if name == "in-use" else found.shared_gap_interval
    if interval is None:
        return f"; {IN_SAMPLE}"
    level = amount(100 * (1 - found.results[name].alpha), 6)
    why = asymptotic_because(found, name)
    flag = "" if why is None else f" (asymptotic: {why})"
    return f"; {level}\u00a0% interval {signed(interval.low)} to {signed(interval.high)}{flag}"


def _retraining(found: Comparison) -> Fact:
    label, won = "Retraining", found.retraining
    if won is None:
        return _fact(label, "not measured", _why_no_retraining(found))
    hint = (
        f"change of the loss on current, {_change(won.current)}; on reference "
        f"{signed(-won.reference.value, 3)}, {_change(won.reference)}"
    )
    return _fact(label, signed(-won.current.value, 3), hint)


def _change(won: Estimate) -> str:
    return f"{signed(-won.high, 3)} to {signed(-won.low, 3)}"


def _why_no_retraining(found: Comparison) -> str:
    own, shared = _losses(found)
    if not own or not shared:
        return "It takes both a model in use and a shared model."
    if found.shared_gap_interval is None:
        return "The losses of the shared model are in-sample; use folds."
    if "retraining" in found.notes:
        return f"{found.notes['retraining'].capitalize()}."
    if own != shared:
        return f"The two models have different losses: {own} and {shared}."
    return "Whether the two models have the same loss is not known."


def _pvalue(found: Comparison) -> Fact:
    draws = found.results[found.leading].n_resamples
    parts = 2 if {"in-use", "r-div"} <= set(found.results) else 1  # twice the smaller one
    asked = len(found.adjusted_pvalues)
    which = {1: "of the one question asked", 2: "of both questions together"}.get(
        asked, f"of all {asked} questions together"
    )
    least = probability(min(1.0, parts / (draws + 1)))
    hint = f"{which}; {count(draws)} permutations, so the smallest possible is {least}"
    return _fact("p-value", probability(found.pvalue), hint)


def _detectable(found: Comparison) -> Fact:
    model = "model in use" if found.leading == "in-use" else "shared model"
    model += ", if inputs alone move" if found.labels == "none" else ""
    hint = (
        f"of the {model}: found with 80\u00a0% probability at these sizes{asymptotic_words(found)}"
    )
    return _fact("Smallest detectable gap", amount(found.smallest_detectable_gap, 3), hint)


def _rows(found: Comparison) -> Fact:
    test = found.results[found.leading]
    trained, hint = test.notes.get("rows trained on"), "reference + current"
    hint += " with a label" if found.labels == "some" else ""
    if (learned := test.notes.get("rows to learn from")) is not None:
        hint += f"; {count(learned)} reference rows taught which loss to expect"
    if trained is not None:
        compared = test.notes.get("rows tested", test.n_p + test.n_q - trained)
        hint += (
            f"; {count(trained)} reference rows trained the model in use, the other "
            f"{count(compared)} rows were compared"
        )
    return _fact("Rows", f"{count(test.n_p)} + {count(test.n_q)}", hint)


def _models(found: Comparison) -> list[Fact]:
    """The names of the models that were measured."""
    own, shared = found.results.get("in-use"), found.results.get("r-div")
    used = _fact("Model in use", "none", "none was measured")
    both = _fact("Shared model", "none", "no model was trained on both samples")
    if own is not None:
        rows = rows_trained_on(own, count)
        how = "trained on neither sample, by your word" if rows is None else f"trained on {rows}"
        used = _fact("Model in use", _short(own.model), how)
    if shared is not None:
        losses = "in-sample" if found.shared_gap_interval is None else "out-of-fold"
        how = f"trained on both samples; {losses} losses"
        both = _fact("Shared model", _short(shared.model), how)
    return [used, both]


def _short(model: str | None) -> str:
    text = str(model)
    return visible(text if len(text) <= 40 else f"{text[:38]}\u2026")
