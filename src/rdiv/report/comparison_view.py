"""The page of one comparison: the verdict, the numbers, what to do, the evidence, the methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import badge, fold_luck, tone, verdict_remarks
from rdiv.report import first_screen, tables
from rdiv.report.charts import loss_chart, null_chart
from rdiv.report.labels_view import predictions_view
from rdiv.report.line_charts import gaps_chart
from rdiv.report.methods import comparison_methods
from rdiv.report.moved_view import moved_view
from rdiv.report.provenance import Provenance
from rdiv.report.split_chart import no_split, split_chart
from rdiv.report.why_view import carriers, driver_parts, leading_words
from rdiv.report.wording import sentence, shorten, typeset

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison

__all__ = ["comparison_view", "reproduce_view"]


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
    kept += [luck] if (luck := fold_luck(found)) else []
    return {
        "about": first_screen.about(found, provenance),
        "badge": badge(found.verdict, found.direction),
        "tone": tone(found.verdict, found.direction),
        "headline": shorten(typeset(found.headline()), 400),
        "warnings": first_screen.warned(found.warnings),
        "advice": found.advice,
        "numbers": first_screen.numbers(found),
        "terms": first_screen.terms(found.labels),
        "statements": [sentence(test.statement()) for test in margins],
        "split": split_chart(found),
        "no_split": no_split(found),
        "effect": gaps_chart(found),
        "evidence": f"These charts, and the slices and rows below, are about the {whose}.",
        "charts": charts,
        "quantiles": None if losses is None else tables.quantiles(losses, whose),
        "tests": tables.tests(found),
        "remarks": [shorten(sentence(text), 300) for text in (*verdict_remarks(found), *kept)],
        "carriers": carriers(found),
        "drivers": driver_parts(found, rows=rows),
        "predictions": predictions_view(found),
        "moved": moved_view(found),
        "methods": comparison_methods(found),
        "reproduce": reproduce_view(provenance, document["seed"]),
    }


def reproduce_view(provenance: Provenance, seed: int) -> dict[str, Any]:
    """The command, the files and the versions."""
    packages = ", ".join(f"{name} {number}" for name, number in provenance.versions.items())
    return {
        "command": None if provenance.command is None else shorten(provenance.command, 4000),
        "seed": seed,
        "inputs": tables.inputs(provenance.inputs) if provenance.inputs else None,
        "versions": f"Versions: {packages}." if packages else "",
    }
