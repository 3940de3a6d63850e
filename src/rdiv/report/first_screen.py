"""The first screen of a page: which files, the numbers, the warnings, and what the words mean."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from rdiv.comparison.sentences import asymptotic_because, asymptotic_words
from rdiv.remarks import IN_SAMPLE
from rdiv.report.labels_view import expected_facts, labels_fact
from rdiv.report.provenance import Provenance
from rdiv.report.wording import amount, count, probability, sentence, shorten, signed, visible

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.inference.intervals import Estimate

__all__ = ["MOST_WARNINGS", "Fact", "about", "loss_words", "numbers", "terms", "warned"]

MOST_WARNINGS = 12
"""Most warnings that a page spells out."""

_NAMED_FILES = 3  # current files that are named at the top

Fact = dict[str, str]

_TERMS = {
    "Model in use": "The model whose quality you want to know about. It was given, or rdiv trained "
    "it on part of the reference; it has not seen the current data. Its gap is its mean loss on "
    "current minus its mean loss on reference, so a positive gap is worse.",
    "Shared gap": "The same difference for one model that was trained on both samples. It is what "
    "remains when the model knows the current data too.",
    "Retraining": "How the loss changes, row by row, when the model in use is replaced by the "
    "shared model. Below 0 the shared model is better.",
    "Risk shift, hidden shift": "A risk shift: the mean loss of the model in use changed. A hidden "
    "shift: that was not shown, but the samples differ for a model trained on both, or would train "
    "different models. Kind not established: all questions together show a difference, none of "
    "them does alone.",
    "Expected risk shift": "No current row has a label, and the loss to be expected from inputs "
    "and predictions differs. The expected gap is the real one if the relation between inputs and "
    "target is still that of the reference.",
    "Inputs or relation": "The gap of the model in use in two parts, which sum to it. Explained by "
    "the inputs that moved: the gap if the relation between inputs and target had stayed as it is "
    "in the reference. The relation changed: the rest, where the loss is another one at equal "
    "inputs. A part whose interval covers 0 was not shown.",
    "No overlap": "Hardly any reference row is like the current rows, so that nothing can be "
    "compared at equal inputs, and the gap is not split.",
    "Contribution, correction": "How much of the inputs part goes with the new values of a column, "
    "or of columns that go together. The correction completes the sum: it could not be assigned to "
    "a single column.",
    "Moved": "A column of the inputs has other values in current than in reference. Whether the "
    "model minds is another question, so this is not part of the verdict.",
    "Smallest detectable gap": "With this many rows, a true gap of this size is found with "
    "80 % probability. Smaller ones are often missed.",
    "Asymptotic interval": "An interval that may miss more often than it says, because a side has "
    "few rows, because a few rows carry most of its losses, or because these have a heavy tail. "
    "The p-value does not need it.",
    "p-value, adjusted p-value": "How often chance alone gives at least such a difference when "
    "nothing has changed. Several questions are asked, and each gives chance another try: the "
    "adjusted p-value accounts for that.",
}


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
    shown = [shorten(sentence(text), 400) for text in warnings[:MOST_WARNINGS]]
    left = len(warnings) - len(shown)
    return shown + ([f"{count(left)} more warnings are in the JSON."] if left else [])


def terms() -> list[Fact]:
    """What the words of the first screen mean."""
    return [{"term": term, "meaning": meaning} for term, meaning in _TERMS.items()]


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
    label, won = "Retraining changes the loss", found.retraining
    if won is None:
        return _fact(label, "not measured", _why_no_retraining(found))
    hint = f"on current, {_change(won.current)}; on reference {signed(-won.reference.value, 3)}"
    return _fact(label, signed(-won.current.value, 3), f"{hint}, {_change(won.reference)}")


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
        rows = own.notes.get("rows trained on")
        how = "trained on neither sample, by your word"
        how = how if rows is None else f"trained on {count(rows)} reference rows"
        used = _fact("Model in use", _short(own.model), how)
    if shared is not None:
        losses = "in-sample" if found.shared_gap_interval is None else "out-of-fold"
        how = f"trained on both samples; {losses} losses"
        both = _fact("Shared model", _short(shared.model), how)
    return [used, both]


def _short(model: str | None) -> str:
    text = str(model)
    return visible(text if len(text) <= 40 else f"{text[:38]}\u2026")
