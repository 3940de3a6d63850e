"""Findings as tables of text: heads, rows of cells, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rdiv.report.wording import amount, count, percent, probability, shorten, signed

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison

__all__ = ["Head", "Table", "columns", "inputs", "quantiles", "rows", "slices", "tests"]

MOST_COLUMNS = 20
"""Most columns that a page lists."""

MOST_CELLS = 12
"""Most cells per row that a page lists."""

_ASKS = {
    "in-use": "Did the mean loss of the model in use change?",
    "r-div": "Did the mean loss change even for one model trained on both samples?",
    "score": "Would the two samples train different models?",
}


class Head(NamedTuple):
    """A column's head; ``kind`` is ``n`` for numbers, ``wide``, ``mid`` and ``key`` for text."""

    text: str
    kind: str = ""


class Table(NamedTuple):
    """A table; a cell that is a mapping is shown as pairs."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Any]]
    more: str = ""


def tests(found: Comparison) -> Table:
    """The questions of a comparison, and the test of the inputs, which is not part of it."""
    gaps = {"in-use": found.gap, "r-div": found.shared_gap}
    lines: list[tuple[str, ...]] = [
        (
            name,
            _ASKS[name],
            shorten(found.results[name].model, 80),
            "" if gaps.get(name) is None else signed(gaps[name], 3),
            probability(found.results[name].pvalue),
            probability(pvalue),
        )
        for name, pvalue in found.adjusted_pvalues.items()
    ]
    if "omnibus" in found.results:
        both = probability(found.results["omnibus"].pvalue)
        lines.append(("r-div, score", "Either of these two, as one test?", "", "", both, ""))
    if len(found.adjusted_pvalues) > 1:
        asks = "Does any of the questions show a difference?"
        lines.append(("together", asks, "", "", "", probability(found.pvalue)))
    lines += _input_line(found)
    heads = [Head("Question", "key"), Head("What it asks", "wide"), Head("Model", "mid")]
    heads += [Head("Gap", "n"), Head("p-value", "n"), Head("adjusted p", "n")]
    alpha = amount(found.results[found.leading].alpha)
    asked = "The question" if len(found.adjusted_pvalues) == 1 else "The questions, judged together"
    return Table(f"{asked} at level {alpha}", heads, lines)


def _input_line(found: Comparison) -> list[tuple[str, ...]]:
    beside = found.input_test
    if beside is None:
        return []
    rows = f"{count(beside.n_p)} + {count(beside.n_q)} rows"
    asks = f"Did the inputs alone change? Not part of the verdict; no model, {rows}"
    return [("inputs (energy)", asks, "none", "", probability(beside.pvalue), "outside")]


def quantiles(losses: Mapping[str, Any], whose: str) -> Table:
    """Quantiles of the losses of both samples; `whose` names the model."""
    heads = [Head("Loss per row"), *(Head(percent(level), "n") for level in losses["levels"])]
    lines = [
        (name, *(amount(value, 3) for value in losses[key]))
        for name, key in (("reference", "quantiles_p"), ("current", "quantiles_q"))
    ]
    caption = f"Loss quantiles of the {whose}: this share of rows has at most this loss"
    return Table(caption, heads, lines)


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
