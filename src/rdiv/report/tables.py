"""Findings as tables of text: heads, rows of cells, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rdiv.drivers.contributions import LEFTOVER
from rdiv.report.wording import amount, count, percent, probability, shorten, signed

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.drivers.contributions import ColumnGroup, Contributions
    from rdiv.drivers.result import RowDriver, SliceDriver, UnusualRow, WeightDriver
    from rdiv.inference.intervals import Interval

__all__ = [
    "Head",
    "Table",
    "columns",
    "inputs",
    "quantiles",
    "rows",
    "slices",
    "tests",
    "weights",
]

MOST_COLUMNS = 20
"""Most columns, or groups of them, that a table lists."""

MOST_CELLS = 12
"""Most cells per row that a page lists."""

_ASKS = {
    "in-use": "Did the mean loss of the model in use change?",
    "r-div": "Did the mean loss change even for one model trained on both samples?",
    "score": "Would the two samples train different models?",
}
_EXPECTED = "Is another mean loss of the model in use to be expected, from inputs and predictions?"


class Head(NamedTuple):
    """A column's head; ``kind`` is ``n``, ``span`` (an interval), ``wide``, ``mid`` or ``key``."""

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
            _EXPECTED if found.labels == "none" else _ASKS[name],
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
    return [("inputs", asks, "none", "", probability(beside.pvalue), "outside")]


def quantiles(losses: Mapping[str, Any], whose: str) -> Table:
    """Quantiles of the losses of both samples; `whose` names the model."""
    heads = [Head("Loss per row"), *(Head(percent(level), "n") for level in losses["levels"])]
    lines = [
        (name, *(amount(value, 3) for value in losses[key]))
        for name, key in (("reference", "quantiles_p"), ("current", "quantiles_q"))
    ]
    caption = f"Loss quantiles of the {whose}: this share of rows has at most this loss"
    return Table(caption, heads, lines)


def columns(found: Contributions, whole: Interval | None) -> Table:
    """What each group of columns adds, then what completes the sum, then the sum.

    Parameters
    ----------
    found : Contributions
    whole : Interval, optional
        The interval of the sum.
    """
    heads = [Head("Columns", "wide"), Head("Adds", "n"), Head("Interval", "n")]
    lines = [
        (
            _members(group),
            signed(group.contribution, 3),
            _interval(group.interval),
            percent(group.share),
        )
        for group in found.groups[:MOST_COLUMNS]
    ]
    rest = found.groups[MOST_COLUMNS:]
    if rest:
        added = math.fsum(group.contribution for group in rest)
        number = sum(len(group.members) for group in rest)
        said = f"{count(number)} more column{'s' if number > 1 else ''} together"
        lines.append((said, signed(added, 3), "", _part(added, found.total)))
    short = _part(found.correction, found.total)
    lines.append((f"correction: {LEFTOVER}", signed(found.correction, 3), "", short))
    lines.append(("sum", signed(found.total, 3), _interval(whole), _part(found.total, found.total)))
    caption = "What the new values of the columns add to the mean loss, largest first"
    more = "All columns are in the JSON." if rest else ""
    return Table(caption, [*heads, Head("Share", "n")], lines, more)


def _members(group: ColumnGroup) -> str:
    """The names of a group; those that changed most come first."""
    if group.others:
        return group.name
    named = ", ".join(shorten(name, 80) for name in group.members[:MOST_CELLS])
    left = len(group.members) - MOST_CELLS
    return f"{named} and {count(left)} more" if left > 0 else named


def _part(value: float, total: float) -> str:
    return percent(value / total) if total else ""


def slices(found: Sequence[SliceDriver], *, relation: bool = False) -> Table:
    """The conditions where the gap, or with `relation` the loss at equal inputs, changed."""
    what = "Change" if relation else "Gap"
    heads = [Head("Slice", "wide"), Head(f"{what} inside", "n"), Head("Interval", "span")]
    heads += [Head(f"{what} outside", "n")] + ([Head("Weighted", "span")] if relation else [])
    heads += [Head("of reference", "n"), Head("of current", "n")]
    lines = [
        (
            shorten(f"{number}. {one.condition}", 200),
            signed(one.gap, 3),
            _interval(one.interval),
            signed(one.gap_outside, 3),
            *([_weighted(one)] if relation else []),
            percent(one.share_p),
            percent(one.share_q),
            probability(one.pvalue),
        )
        for number, one in enumerate(found, start=1)
    ]
    of = "of the loss at equal inputs" if relation else "of the gap"
    caption = f"Slices {of}, with p-values adjusted for all that are listed"
    return Table(caption, [*heads, Head("adjusted p", "n")], lines)


def _weighted(found: SliceDriver) -> str:
    """The change inside with the reference weighted to the inputs of current."""
    if found.weighted is None:
        return "-"
    value, low, high = found.weighted
    return f"{signed(value, 3)} ({_interval((low, high))})"


def weights(found: Sequence[WeightDriver]) -> Table:
    """Columns by their gradients, smallest p-value first."""
    heads = [Head("Column", "wide"), Head("Gap of gradients, in standard errors", "n")]
    lines = [
        (shorten(one.name, 80), amount(one.score, 3), probability(one.pvalue))
        for one in found[:MOST_COLUMNS]
    ]
    left = len(found) - len(lines)
    more = f"{count(left)} more columns, none with smaller p-values, are in the JSON."
    caption = "Columns by the gradients of the shared model, with p-values adjusted for all of them"
    return Table(caption, [*heads, Head("adjusted p", "n")], lines, more if left else "")


def rows(found: Sequence[RowDriver]) -> Table:
    """Rows that carry most of the gap, as they are in the files."""
    heads = [Head("Row", "key"), Head("Loss", "n"), Head("Share", "n"), Head("Values", "wide")]
    lines = [
        (
            f"{row.sample} {row.index}",
            amount(row.loss, 3),
            percent(row.share),
            _cells(row.target, row.cells),
        )
        for row in found
    ]
    caption = "Rows, counted from 0 in the sample as given"
    return Table(caption, heads, lines)


def unusual(found: Sequence[UnusualRow]) -> Table:
    """Rows of current that are least like the reference."""
    heads = [Head("Row", "key"), Head("Because of", "mid"), Head("Reference rows as far", "n")]
    heads.append(Head("Values", "wide"))
    lines = [
        (
            f"current {row.index}",
            shorten(row.column, 80),
            percent(row.as_far),
            _cells(None, row.cells),
        )
        for row in found
    ]
    return Table("Rows unlike the reference, counted from 0 in current as given", heads, lines)


def inputs(files: Sequence[Any]) -> Table:
    """Files and their hashes."""
    heads = [Head("Used as"), Head("File", "wide"), Head("Bytes", "n"), Head("SHA-256", "wide")]
    lines = [(file.role, shorten(file.name, 300), count(file.size), file.sha256) for file in files]
    return Table("Inputs", heads, lines)


def _interval(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{signed(interval[0], 3)} to {signed(interval[1], 3)}"


def _cells(target: Any, cells: Mapping[str, Any]) -> dict[str, str]:
    """Names and values of a row, the target first."""
    shown = list(cells.items())[:MOST_CELLS]
    said = {} if target is None else {"(target)": shorten(target, 80)}
    return {**said, **{shorten(name, 40): shorten(value, 80) for name, value in shown}}
