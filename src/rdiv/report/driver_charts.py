"""Charts of what carries a gap, and of many gaps side by side: one line of a list, one bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rdiv.report.drawing import ACCENT, GRID, INK, SOFT, Chart, draw
from rdiv.report.wording import signed, visible

__all__ = ["Line", "column_chart", "level_chart", "lines_chart", "slice_chart"]

MOST_BARS = 12
"""Columns that the chart shows."""

_LETTERS = 24  # of a label beside a bar


class Line(NamedTuple):
    """One line of a chart: a label, a value with its interval, whether it stands out."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    marked: bool


def column_chart(columns: Sequence[Mapping[str, Any]], alpha: float, key: str) -> Chart | None:
    """How much of the gap goes with each column; None when none has a part in it."""
    lines = [
        Line(
            column["name"],
            column["contribution"],
            *_ends(column["interval"]),
            column["pvalue"] <= alpha,
        )
        for column in columns
        if column["contribution"]
    ]
    return lines_chart(
        lines[:MOST_BARS],
        key=key,
        title="What goes with each column",
        axis="contribution to the gap",
        caption="What columns contribute to the gap, with an interval for each alone. Filled: "
        "shown at the level of the report, for all columns together.",
    )


def slice_chart(slices: Sequence[Mapping[str, Any]], alpha: float, key: str) -> Chart | None:
    """The gap inside each slice."""
    lines = [
        Line(
            f"{number}. {slice_['condition']}",
            slice_["gap"],
            *_ends(slice_["interval"]),
            slice_["pvalue"] <= alpha,
        )
        for number, slice_ in enumerate(slices, start=1)
    ]
    return lines_chart(
        lines,
        key=key,
        title="The gap inside each slice",
        axis="gap inside the slice",
        caption="The gap inside each slice, with an interval for all of them together. Filled: "
        "differs from the gap outside.",
    )


def level_chart(lines: Sequence[Line], key: str, percent: str) -> Chart | None:
    """The gaps of many comparisons."""
    return lines_chart(
        lines,
        key=key,
        title="The gap of every level",
        axis="gap in mean loss",
        caption=f"The gap of each level to the reference, with intervals that hold for all of them "
        f"together at {percent} %. Filled: a shift was found.",
    )


def lines_chart(
    lines: Sequence[Line], *, key: str, title: str, axis: str, caption: str
) -> Chart | None:
    """One line for each value, from top to bottom; None when none has a finite value."""
    if not any(line.value is not None for line in lines):
        return None

    def paint(axes: Any) -> None:
        axes.axvline(0, color=INK, linewidth=1)
        for place, line in enumerate(lines):
            _paint_line(axes, place, line)
        axes.set(ylim=(len(lines) - 0.4, -0.6), xlabel=axis)
        axes.set_yticks(range(len(lines)), [_label(line.label) for line in lines], color=INK)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)

    said = "; ".join(f"{visible(line.label)[:60]}: {signed(line.value)}" for line in lines[:25])
    more = f"; and {len(lines) - 25} more" if len(lines) > 25 else ""
    return draw(
        paint,
        key=key,
        title=title,
        description=f"{said}{more}. A table with all numbers follows.",
        caption=caption,
        height=0.62 + 0.235 * len(lines),
    )


def _paint_line(axes: Any, place: int, line: Line) -> None:
    colour = ACCENT if line.marked else SOFT
    if line.low is not None and line.high is not None:
        axes.plot([line.low, line.high], [place, place], color=colour, linewidth=3.5, alpha=0.35,
                  solid_capstyle="butt")  # fmt: skip
    if line.value is not None:
        axes.plot([line.value], [place], "o", color=colour, markersize=5.5,
                  fillstyle="full" if line.marked else "none")  # fmt: skip


def _ends(interval: Mapping[str, float | None] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval["low"], interval["high"])


def _label(text: str) -> str:
    text = visible(text[: 2 * _LETTERS])
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}\u2026"
