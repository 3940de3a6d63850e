"""Findings as tables of text: heads, rows of cells, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rdiv.report.wording import amount, count, percent, probability, shorten, signed

__all__ = ["Head", "Table", "columns", "inputs", "quantiles", "rows", "slices", "tests"]

MOST_COLUMNS = 20
"""Most columns that a page lists."""

MOST_CELLS = 12
"""Most cells per row that a page lists."""

_ASKS = {
    "r-div": "Do the mean losses differ?",
    "score": "Would the samples train different models?",
    "omnibus": "Either of the two?",
}


class Head(NamedTuple):
    """A column's head; ``kind`` is ``n`` for numbers, ``wide`` for long text, ``key`` for short."""

    text: str
    kind: str = ""


class Table(NamedTuple):
    """A table; a cell that is a mapping is shown as pairs."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Any]]
    more: str = ""


def tests(document: Mapping[str, Any]) -> Table:
    """The tests behind a verdict, and the test of the inputs, which is not part of it."""
    lines = [
        (
            name,
            _ASKS.get(name, ""),
            probability(result["pvalue"]),
            probability(document["adjusted_pvalues"].get(name)),
        )
        for name, result in document["results"].items()
    ]
    if document["input_test"] is not None:
        beside = document["input_test"]
        asks = f"Do the inputs differ? Context only, on {count(beside['n_p'])} + "
        asks += f"{count(beside['n_q'])} rows"
        lines.append(("inputs (energy)", asks, probability(beside["pvalue"]), "outside"))
    heads = [Head("Test"), Head("What it asks", "wide"), Head("p-value", "n")]
    heads += [Head("for the verdict", "n")]
    return Table(f"Tests, at level {amount(document['alpha'])}", heads, lines)


def quantiles(losses: Mapping[str, Any]) -> Table:
    """Quantiles of the losses of both samples."""
    heads = [Head("Loss per row"), *(Head(percent(level), "n") for level in losses["levels"])]
    lines = [
        (name, *(amount(value, 3) for value in losses[key]))
        for name, key in (("reference", "quantiles_p"), ("current", "quantiles_q"))
    ]
    return Table("Loss quantiles: this share of rows has at most this loss", heads, lines)


def columns(drivers: Mapping[str, Any]) -> Table:
    """The contribution of each column, smallest p-value first."""
    scored = any(column["score_pvalue"] is not None for column in drivers["columns"])
    heads = [Head("Column"), Head("Contribution", "n"), Head("Interval", "n")]
    heads += [Head("Share of the gap", "n"), Head("p-value", "n")]
    heads += [Head("p-value, score", "n")] if scored else []
    lines = [
        (
            shorten(column["name"], 80),
            signed(column["contribution"], 3),
            _interval(column["interval"]),
            percent(column["share"]),
            probability(column["pvalue"]),
            *([probability(column["score_pvalue"])] if scored else []),
        )
        for column in drivers["columns"][:MOST_COLUMNS]
    ]
    left = len(drivers["columns"]) - len(lines)
    more = (
        f"{count(left)} more columns, none with smaller p-values, are in the JSON." if left else ""
    )
    if drivers["rest"] is not None:
        rest = f"The rest, {signed(drivers['rest'], 3)} {_interval(drivers['rest_interval'], '()')}"
        more = f"{rest.strip()}, belongs to no column: the loss changed at equal inputs. {more}"
    return Table("Columns, p-values adjusted for all of them", heads, lines, more.strip())


def slices(drivers: Mapping[str, Any]) -> Table:
    """The conditions where the gap is concentrated."""
    heads = [Head("Slice", "wide"), Head("Gap inside", "n"), Head("Interval", "n")]
    heads += [Head("Gap outside", "n"), Head("of reference", "n"), Head("of current", "n")]
    lines = [
        (
            shorten(f"{number}. {found['condition']}", 200),
            signed(found["gap"], 3),
            _interval(found["interval"]),
            signed(found["gap_outside"], 3),
            percent(found["share_p"]),
            percent(found["share_q"]),
            probability(found["pvalue"]),
        )
        for number, found in enumerate(drivers["slices"], start=1)
    ]
    caption = "Slices, with p-values adjusted for all that are listed"
    return Table(caption, [*heads, Head("p-value", "n")], lines)


def rows(drivers: Mapping[str, Any]) -> Table:
    """Rows that carry most of the gap, as they are in the files."""
    heads = [Head("Row", "key"), Head("Loss", "n"), Head("Share", "n"), Head("Values", "wide")]
    lines = [
        (
            f"{row['sample']} {row['index']}",
            amount(row["loss"], 3),
            percent(row["share"]),
            _cells(row["target"], row["cells"]),
        )
        for row in drivers["rows"]
    ]
    caption = "Rows, counted from 0 in the sample as given"
    return Table(caption, heads, lines)


def inputs(files: Sequence[Any]) -> Table:
    """Files and their hashes."""
    heads = [Head("Used as"), Head("File", "wide"), Head("Bytes", "n"), Head("SHA-256", "wide")]
    lines = [(file.role, shorten(file.name, 300), count(file.size), file.sha256) for file in files]
    return Table("Inputs", heads, lines)


def _interval(interval: Mapping[str, float | None] | None, around: str = "") -> str:
    if interval is None:
        return ""
    span = f"{signed(interval['low'], 3)} to {signed(interval['high'], 3)}"
    return f"{around[:1]}{span}{around[1:]}"


def _cells(target: Any, cells: Mapping[str, Any]) -> dict[str, str]:
    """Names and values of a row, the target first."""
    shown = list(cells.items())[:MOST_CELLS]
    said = {} if target is None else {"(target)": shorten(target, 80)}
    return {**said, **{shorten(name, 40): shorten(value, 80) for name, value in shown}}
