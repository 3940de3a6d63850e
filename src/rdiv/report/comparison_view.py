"""The page of one comparison: the verdict, what to do, the evidence, the methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import advice, badge, further_looks, tone, verdict_remarks
from rdiv.remarks import IN_SAMPLE
from rdiv.report import tables
from rdiv.report.charts import column_chart, gap_chart, loss_chart, null_chart, slice_chart
from rdiv.report.provenance import Provenance
from rdiv.report.wording import amount, count, probability, shorten, signed, visible

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison

__all__ = ["carriers", "comparison_view", "driver_parts", "methods", "reproduce_view"]


def comparison_view(
    found: Comparison, provenance: Provenance, *, rows: bool = True
) -> dict[str, Any]:
    """Everything that the template of one comparison shows."""
    document = found.to_dict()
    margins = [test for test in (found.equivalence, found.not_worse) if test is not None]
    charts = [null_chart(document["results"]["r-div"])]
    if document["losses"] is not None:
        charts.append(loss_chart(document["losses"]))
    kept = [found.notes[key] for key in ("target", "folds", "interval") if key in found.notes]
    return {
        "badge": badge(found.verdict, found.direction),
        "tone": tone(found.verdict, found.direction),
        "headline": found.headline(),
        "advice": advice(found),
        "numbers": _numbers(document),
        "statements": [_sentence(test.statement()) for test in margins],
        "effect": gap_chart(document),
        "charts": charts,
        "quantiles": None if document["losses"] is None else tables.quantiles(document["losses"]),
        "tests": tables.tests(document),
        "remarks": [shorten(_sentence(text), 200) for text in (*verdict_remarks(found), *kept)],
        "carriers": carriers(found),
        "drivers": driver_parts(document["drivers"], rows=rows),
        "methods": methods(document),
        "reproduce": reproduce_view(provenance, document["seed"]),
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _numbers(document: Mapping[str, Any]) -> list[dict[str, str]]:
    test, interval = document["results"]["r-div"], document["gap_interval"]
    level = amount(100 * (1 - document["alpha"]))
    span = IN_SAMPLE
    if interval is not None:
        span = f"{level} % interval {signed(interval['low'])} to {signed(interval['high'])}"
    draws = len(test["null_distribution"])
    return [
        _number("Gap in mean loss", signed(document["gap"]), span),
        _number(
            "Mean loss, reference to current",
            f"{amount(test['risk_p'])} \u2192 {amount(test['risk_q'])}",
            "current minus reference is the gap",
        ),
        _number(
            "p-value of the gap",
            probability(test["pvalue"]),
            f"{count(draws)} permutations; the smallest possible is {probability(1 / (draws + 1))}",
        ),
        _number(
            "Smallest detectable gap",
            amount(document["smallest_detectable_gap"], 3),
            "found with 80 % probability at these sizes",
        ),
        _number(
            "Rows", f"{count(document['n_p'])} + {count(document['n_q'])}", "reference + current"
        ),
        _number("Model", _short(document["model"]), f"task: {test['notes'].get('task', '')}"),
    ]


def _number(label: str, value: str, hint: str) -> dict[str, str]:
    return {"label": label, "value": value, "hint": hint}


def _short(model: str) -> str:
    return visible(model if len(model) <= 30 else f"{model[:28]}\u2026")


def carriers(found: Comparison) -> list[str]:
    """What was shown to carry the gap, one sentence each; rows have their own table."""
    lines = [] if found.drivers is None else found.drivers.without_rows().lines()
    return [shorten(_sentence(line), 300) for line in lines]


def driver_parts(
    drivers: Mapping[str, Any] | None, *, rows: bool, key: str = "drivers"
) -> list[dict[str, Any]]:
    """Columns, slices and rows: a title, remarks, a chart and a table each."""
    if drivers is None:
        return []
    notes, alpha = drivers["notes"], drivers["alpha"]
    parts: list[dict[str, Any]] = []
    for name, title in (("slices", "Slices"), ("columns", "Columns"), ("rows", "Rows")):
        if name == "rows" and not rows:
            note = "Rows were left out of this page on purpose."
            parts.append({"title": title, "notes": [note], "chart": None, "table": None})
            continue
        said = [notes[name]] if name in notes else []
        said += [notes["score"]] if name == "columns" and "score" in notes else []
        chart, table = None, None
        if drivers[name]:
            table = getattr(tables, name)(drivers)
        if name == "columns" and drivers[name]:
            chart = column_chart(drivers[name], alpha, f"{key}-columns")
        elif name == "slices" and drivers[name]:
            chart = slice_chart(drivers[name], alpha, f"{key}-slices")
        if said or table:
            sentences = [_sentence(text) for text in said]
            parts.append({"title": title, "notes": sentences, "chart": chart, "table": table})
    if "sampled" in notes and parts:
        parts[0]["notes"].append(_sentence(notes["sampled"]))
    return parts


def methods(document: Mapping[str, Any]) -> str:
    """How it was done and under which assumptions, in one paragraph."""
    test = document["results"]["r-div"]
    inside = document["gap_interval"] is None
    text = (
        f"{_fitted(document)}. Then the rows were permuted between the two samples at random "
        f"{count(test['n_resamples'])} times; the p-value is the share of permutations, the "
        "observed split included, with at least as large a gap. It is exact at every sample size "
        "when both samples come from one distribution and rows (or the given groups of rows) are "
        "independent. When only the mean losses are equal it is approximate: gaps are divided by "
        "their standard error. "
    )
    if "score" in document["results"]:
        text += (
            "Score tests the gradients of the loss in the same way, and the verdict combines both "
            f"by closed testing at level {amount(document['alpha'])}. "
        )
    text += "The interval is for the gap of the fitted models on future rows. " * (not inside)
    if document["input_test"] is not None:
        text += (
            f"The test of the inputs uses {count(document['inputs']['n_p'])} + "
            f"{count(document['inputs']['n_q'])} random rows and is not part of the verdict. "
        )
    return text + further_looks(document["alpha"])


def _fitted(document: Mapping[str, Any]) -> str:
    """Which model saw which rows."""
    model = shorten(document["model"], 120)
    sizes = f"{count(document['n_p'])} reference and {count(document['n_q'])} current rows"
    if model.startswith("Frozen"):
        return f"A model trained on other rows ({model}) was judged by its losses on {sizes}"
    held = "out-of-fold losses (no row helped to fit its model)"
    losses = "in-sample losses" if document["gap_interval"] is None else held
    return (
        f"One model ({model}) was fitted on the {sizes} together, without knowing which row "
        f"came from which sample, and judged by its {losses}"
    )


def reproduce_view(provenance: Provenance, seed: int) -> dict[str, Any]:
    """The command, the files and the versions."""
    packages = ", ".join(f"{name} {number}" for name, number in provenance.versions.items())
    return {
        "command": None if provenance.command is None else shorten(provenance.command, 4000),
        "seed": seed,
        "inputs": tables.inputs(provenance.inputs) if provenance.inputs else None,
        "versions": f"Versions: {packages}." if packages else "",
    }
