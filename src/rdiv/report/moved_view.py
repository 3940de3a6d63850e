"""The section on inputs that moved: every column in words, and the values of those that did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import inputs_finding
from rdiv.report.moved_charts import moved_chart
from rdiv.report.tables import Head, Table
from rdiv.report.wording import (
    amount,
    count,
    percent,
    probability,
    sentence,
    shorten,
    signed,
    typeset,
)

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.drivers.moved_column import MovedColumn

__all__ = ["moved_columns", "moved_table", "moved_view"]

MOST_CHARTS = 6
"""Most columns whose values are drawn."""

MOST_LINES = 20
"""Most columns that a table lists."""

_OUTSIDE = (
    "This is not part of the verdict: inputs may move where the model does not mind, and the "
    "relation may change while they stay."
)


def moved_view(found: Comparison) -> dict[str, Any] | None:
    """What the section shows; None where there are no columns to speak of."""
    columns = found.input_columns
    if not columns:
        return None
    moved, alpha = moved_columns(found), found.results[found.leading].alpha
    others = [column for column in columns if not _has_moved(column, alpha)]
    drawn = [column for column in moved if column.distribution is not None][:MOST_CHARTS]
    charts = [
        moved_chart(column, f"moved-{number}", sentence(_change(column)))
        for number, column in enumerate(drawn)
    ]
    return {
        "summary": _summary(found, moved),
        "table": moved_table(moved, "Columns that moved") if moved else None,
        "charts": [chart for chart in charts if chart is not None],
        "note": "The outermost bars of a chart also hold all values beyond them."
        if any(column.distribution and column.distribution.edges for column in drawn)
        else "",
        "others": moved_table(others, "Columns that were not shown to move") if others else None,
        "folded": _folded(len(others)),
    }


def _folded(number: int) -> str:
    what = "1 column that was" if number == 1 else f"{count(number)} columns that were"
    return f"{what} not shown to move"


def moved_columns(found: Comparison) -> list[MovedColumn]:
    """Columns with a flag, and those whose adjusted p-value is at most alpha."""
    alpha = found.results[found.leading].alpha
    return [column for column in found.input_columns or () if _has_moved(column, alpha)]


def _has_moved(column: MovedColumn, alpha: float) -> bool:
    return column.flag is not None or column.pvalue <= alpha


def _summary(found: Comparison, moved: Sequence[MovedColumn]) -> list[str]:
    """How many columns moved, the test of all inputs together, and what both are not."""
    assert found.input_columns is not None
    total, alpha = len(found.input_columns), found.results[found.leading].alpha
    shown, flagged = sum(c.pvalue <= alpha for c in moved), sum(c.flag is not None for c in moved)
    said = (
        "No column was shown to move."
        if not shown
        else f"{count(shown)} of {count(total)} column{'s' * (total > 1)} moved (p-values adjusted "
        f"for all of them, level {amount(alpha)})."
    )
    if flagged:
        said += f" First: {count(flagged)} with something that one sample lacks altogether."
    lines = [said]
    beside = found.input_test
    if beside is not None:
        lines.append(
            f"All inputs together, without a model: {inputs_finding(beside)}, p = "
            f"{probability(beside.pvalue)} ({count(beside.n_p)} + {count(beside.n_q)} rows)."
        )
    return [*lines, _OUTSIDE]


def moved_table(columns: Sequence[MovedColumn], caption: str) -> Table:
    """One line per column: what changed, in words that a person knows."""
    heads = [Head("Column", "mid"), Head("What changed", "wide"), Head("Means, in sd", "n")]
    heads += [Head("Missing", "n"), Head("adjusted p", "n")]
    lines = [
        (
            shorten(column.name, 80),
            _change(column),
            "" if column.effect is None else signed(column.effect, 2),
            _missing(column),
            probability(column.pvalue),
        )
        for column in columns[:MOST_LINES]
    ]
    left = len(columns) - len(lines)
    looked = f"{count(columns[0].rows_reference)} + {count(columns[0].rows_current)} rows"
    more = f"{count(left)} more columns are in the JSON." if left else ""
    return Table(f"{caption}; {looked} were looked at", heads, lines, more)


def _missing(column: MovedColumn) -> str:
    if column.missing_reference == column.missing_current == 0:
        return "none"
    return f"{percent(column.missing_reference)} \u2192 {percent(column.missing_current)}"


def _change(column: MovedColumn) -> str:
    """The sentence of a column without its name and its p-value, which stand beside it."""
    told = _told(column)
    before, _, after = told.removeprefix("middle half ").partition(" -> ")
    if before == after:  # the quartiles stayed, so the means say more
        told = _told(replace(column, aspect="location"))
    return typeset(shorten(told, 200))


def _told(column: MovedColumn) -> str:
    told = replace(column, name="").sentence()
    return told.removeprefix(": ").removesuffix(f", p = {column.pvalue:.3g}")
