"""The page of one comparison: the verdict, the numbers, what to do, the evidence, the methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import badge, tone, verdict_remarks
from rdiv.report import first_screen, tables
from rdiv.report.charts import loss_chart, null_chart
from rdiv.report.line_charts import column_chart, gaps_chart, slice_chart
from rdiv.report.methods import comparison_methods
from rdiv.report.provenance import Provenance
from rdiv.report.wording import sentence, shorten, typeset

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison

__all__ = ["carriers", "comparison_view", "driver_parts", "leading_words", "reproduce_view"]


def comparison_view(
    found: Comparison, provenance: Provenance, *, rows: bool = True
) -> dict[str, Any]:
    """Everything that the template of one comparison shows."""
    document, whose = found.to_dict(), leading_words(found)
    margins = [test for test in (found.equivalence, found.not_worse) if test is not None]
    charts, losses = [null_chart(document["results"][found.leading], whose)], document["losses"]
    if losses is not None:
        charts.append(loss_chart(losses, whose))
    kept = [found.notes[key] for key in ("target", "folds") if key in found.notes]
    return {
        "about": first_screen.about(found, provenance),
        "badge": badge(found.verdict, found.direction),
        "tone": tone(found.verdict, found.direction),
        "headline": shorten(typeset(found.headline()), 400),
        "warnings": first_screen.warned(found.warnings),
        "advice": found.advice,
        "numbers": first_screen.numbers(found),
        "terms": first_screen.terms(),
        "statements": [sentence(test.statement()) for test in margins],
        "effect": gaps_chart(found),
        "evidence": f"These charts, and what carries the gap, are about the {whose}.",
        "charts": charts,
        "quantiles": None if losses is None else tables.quantiles(losses, whose),
        "tests": tables.tests(found),
        "remarks": [shorten(sentence(text), 300) for text in (*verdict_remarks(found), *kept)],
        "carriers": carriers(found),
        "drivers": driver_parts(document["drivers"], rows=rows),
        "methods": comparison_methods(found),
        "reproduce": reproduce_view(provenance, document["seed"]),
    }


def leading_words(found: Comparison) -> str:
    """The model that the verdict, the drivers and the margins are about."""
    return "model in use" if found.leading == "in-use" else "shared model"


def carriers(found: Comparison) -> list[str]:
    """What was shown to carry the gap, one sentence each; rows have their own table."""
    lines = [] if found.drivers is None else found.drivers.without_rows().lines()
    return [shorten(sentence(line), 300) for line in lines]


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
            remarks = [sentence(text) for text in said]
            parts.append({"title": title, "notes": remarks, "chart": chart, "table": table})
    if "sampled" in notes and parts:
        parts[0]["notes"].append(sentence(notes["sampled"]))
    return parts


def reproduce_view(provenance: Provenance, seed: int) -> dict[str, Any]:
    """The command, the files and the versions."""
    packages = ", ".join(f"{name} {number}" for name, number in provenance.versions.items())
    return {
        "command": None if provenance.command is None else shorten(provenance.command, 4000),
        "seed": seed,
        "inputs": tables.inputs(provenance.inputs) if provenance.inputs else None,
        "versions": f"Versions: {packages}." if packages else "",
    }
