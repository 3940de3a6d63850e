"""The section on why: columns, the relation, slices of the gap, weights and rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import inputs_matter, shown_drivers
from rdiv.drivers.contributions import LEFTOVER
from rdiv.inference.intervals import Interval
from rdiv.report import tables
from rdiv.report.line_charts import column_chart, slice_chart
from rdiv.report.wording import sentence, shorten

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.drivers.contributions import Contributions
    from rdiv.drivers.result import Drivers

__all__ = ["carriers", "driver_parts", "leading_words"]

Part = dict[str, Any]

_NAMED = 3  # most groups of columns that are named at the top

_NOT_SHOWN = (
    "The part of the gap that the inputs explain was not shown to differ from 0, so no column is "
    "named as a finding. These are the numbers behind that part"
)
_CHANGED = (
    "A change at equal inputs is the loss minus the one to be expected from the inputs, learned "
    "from the reference"
)
_WEIGHTS = "Where the p-value is small, a model trained on current would weigh the column otherwise"


def leading_words(found: Comparison) -> str:
    """The model that the verdict, the drivers and the margins are about."""
    if found.labels == "none":
        return "model in use (expected losses)"
    return "model in use" if found.leading == "in-use" else "shared model"


def carriers(found: Comparison) -> list[str]:
    """What was shown to carry the gap, one sentence each; rows have their own table."""
    shown = shown_drivers(found)
    if shown is None:
        return []
    lines = _column_lines(shown.columns)
    lines += replace(shown, columns=None).without_rows().lines()
    return [shorten(sentence(line), 300) for line in lines]


def _column_lines(columns: Contributions | None) -> list[str]:
    """The groups of columns whose intervals exclude 0, and what none of them explains."""
    if columns is None:
        return []
    shown = [
        group
        for group in columns.groups
        if group.interval is not None and not group.interval.low <= 0 <= group.interval.high
    ]
    left = [line for line in columns.lines() if line.endswith(LEFTOVER)]
    return [f"column: {group.line()}" for group in shown[:_NAMED]] + left


def driver_parts(found: Comparison, *, rows: bool, key: str = "drivers") -> list[Part]:
    """Columns, relation, slices, weights and rows: a title, remarks, a chart and a table each."""
    drivers = found.drivers
    if drivers is None:
        return []
    parts = [
        _columns(found, drivers, key),
        _relation(found, drivers, key),
        _slices(drivers, leading_words(found), key),
        _weights(drivers),
        _rows(drivers, rows),
        _unusual(drivers, rows),
    ]
    kept = [part for part in parts if part["notes"] or part["table"]]
    if "sampled" in drivers.notes and kept:
        kept[0]["notes"].append(sentence(drivers.notes["sampled"]))
    return kept


def _part(title: str, notes: list[str], *, term: str, folded: str = "") -> Part:
    """A part of the section; `folded` is what its summary says where it is folded away.

    `term` is the word of `rdiv.report.terms` that the part explains.
    """
    said = [shorten(sentence(note), 500) for note in notes]
    empty: Part = {"chart": None, "table": None}
    return {"title": title, "notes": said, "folded": folded, "term": term, **empty}


def _note(drivers: Drivers, *names: str) -> list[str]:
    return [drivers.notes[name] for name in names if name in drivers.notes]


def _columns(found: Comparison, drivers: Drivers, key: str) -> Part:
    title, shown = "Columns behind the inputs part", inputs_matter(found)
    notes = _note(drivers, "columns")
    if drivers.columns is None:
        return _part(title, notes, term="Contribution, correction")
    part = _part(
        title,
        notes if shown else [_NOT_SHOWN, *notes],
        term="Contribution, correction",
        folded="" if shown else "Columns: the inputs part was not shown",
    )
    whole = found.leading_interval
    if found.split is not None:
        whole = Interval(found.split.inputs.low, found.split.inputs.high)
    part["table"] = tables.columns(drivers.columns, whole)
    part["chart"] = column_chart(drivers.columns, f"{key}-columns", shown=shown)
    return part


def _relation(found: Comparison, drivers: Drivers, key: str) -> Part:
    """Slices at equal inputs; where no inputs are equal there are none to show."""
    title, slices = "Where the relation changed: slices at equal inputs", drivers.relation_slices
    if found.split is None:
        return _part(title, [], term="Slices")
    notes = _note(drivers, "relation")
    if not slices:
        return _part(title, notes, term="Slices")
    for said in _note(drivers, "slices"):  # said once is enough
        notes = [
            note.replace(said, "found and tested as the slices of the gap below") for note in notes
        ]
    confirmed = drivers.confirmed_relation_slices()
    folded = "" if confirmed else "Slices at equal inputs: none was confirmed"
    part = _part(title, [_CHANGED, *notes], term="Slices", folded=folded)
    part["table"] = tables.slices(slices, relation=True)
    part["chart"] = slice_chart(slices, drivers.alpha, f"{key}-relation", relation=True)
    return part


def _slices(drivers: Drivers, whose: str, key: str) -> Part:
    """Open where a slice was confirmed: a search always finds some."""
    title, notes = f"Slices of the gap of the {whose}", _note(drivers, "slices")
    if not drivers.slices:
        return _part(title, notes, term="Slices")
    folded = "" if drivers.confirmed_slices() else "Slices of the gap: none was confirmed"
    part = _part(title, notes, term="Slices", folded=folded)
    part["table"] = tables.slices(drivers.slices)
    part["chart"] = slice_chart(drivers.slices, drivers.alpha, f"{key}-slices")
    return part


def _weights(drivers: Drivers) -> Part:
    """Open where a column was shown to want another weight, folded otherwise."""
    title, notes = "Columns that would get another weight", _note(drivers, "weights")
    if not drivers.weights:
        return _part(title, notes, term="Weights")
    folded = "" if drivers.confirmed_weights() else "Weights: no column was shown to want another"
    part = _part(title, [_WEIGHTS, *notes], term="Weights", folded=folded)
    part["table"] = tables.weights(drivers.weights)
    return part


def _unusual(drivers: Drivers, rows: bool) -> Part:
    """Rows far from the reference; the note alone where there are no more than by chance."""
    part = _part(
        "Rows unlike the reference", _note(drivers, "unusual"), term="Unlike the reference"
    )
    part["table"] = tables.unusual(drivers.unusual) if drivers.unusual and rows else None
    return part


def _rows(drivers: Drivers, rows: bool) -> Part:
    if not rows:
        return _part("Rows", ["rows were left out of this page on purpose"], term="Share of a row")
    part = _part("Rows", _note(drivers, "rows"), term="Share of a row")
    part["table"] = tables.rows(drivers.rows) if drivers.rows else None
    return part
