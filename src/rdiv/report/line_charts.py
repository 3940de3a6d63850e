"""Charts of numbers with intervals, one per line: gaps, columns, slices, levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rdiv.report.svg import ACCENT, GRID, INK, SOFT, Chart, draw
from rdiv.report.wording import amount, signed, visible

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.drivers.contributions import ColumnGroup, Contributions
    from rdiv.drivers.result import SliceDriver
    from rdiv.inference.intervals import Interval

__all__ = [
    "Line",
    "column_chart",
    "finite",
    "gap_lines",
    "gaps_chart",
    "group_label",
    "level_chart",
    "lines_chart",
    "slice_chart",
]

MOST_BARS = 12
"""Most groups of columns that the chart shows."""

_LETTERS = 24  # longest label beside a bar


class Line(NamedTuple):
    """One line of a chart: a label, a value with its interval, whether it stands out."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    marked: bool


def gaps_chart(found: Comparison, key: str = "gaps") -> Chart | None:
    """Both gaps and what retraining changes, with intervals and 0; None without a finite number."""
    lines, margins = gap_lines(found), _margins(found)
    retrained = found.retraining is not None
    title = "The gap" if len(lines) == 1 else "The gaps"
    title += " and what retraining changes" if retrained else ""
    level = amount(100 * (1 - found.results[found.leading].alpha), 6)
    caption = "Gap: the mean loss on current minus that on reference. "
    if found.labels == "none":
        title = "The expected gap"
        caption = "Expected gap: the mean loss on current minus that on reference, if the relation "
        caption += "between inputs and target holds. "
    if retrained:
        caption += "Retraining: the loss of the shared model minus that of the model in use. "
    caption += (
        f"Bars: {level} % intervals; a filled dot has one that excludes 0. Right of 0 is worse."
    )
    own, shared = found.notes.get("loss"), found.notes.get("shared loss")
    both = found.gap is not None and found.shared_gap is not None
    if both and own != shared:
        caption += f" The two models have different losses ({visible(own)}, {visible(shared)}): "
        caption += "do not compare the sizes of their gaps."
    if margins:
        caption += " Dashed: the margins."
    return lines_chart(
        lines, key=key, title=title, axis="difference in mean loss", caption=caption, marks=margins,
        arrows=True,
    )  # fmt: skip


def gap_lines(found: Comparison) -> list[Line]:
    """The gaps that were measured and both parts of retraining, as changes of the loss."""
    lines = []
    for name, gap, span in (
        ("model in use", found.gap, found.gap_interval),
        ("shared model", found.shared_gap, found.shared_gap_interval),
    ):
        if gap is not None:
            lines.append(_line(name, gap, *((None, None) if span is None else span)))
    expected = found.expected
    if expected is not None and expected.covered_gap not in (None, expected.gap):
        assert expected.covered_gap is not None
        lines.append(_line("on the covered part", *expected.covered_gap))
    if found.labelled is not None and found.labelled.labelled_gap is not None:
        lines.insert(1, _line("labelled rows alone", *found.labelled.labelled_gap))
    if found.retraining is not None:
        for side in ("current", "reference"):
            won = getattr(found.retraining, side)
            lines.append(_line(f"retraining, on {side}", -won.value, -won.high, -won.low))
    return lines


def _line(label: str, value: float, low: float | None, high: float | None) -> Line:
    """A line of finite numbers, filled when its interval excludes 0."""
    low, high = finite(low), finite(high)
    excluded = low is not None and high is not None and not low <= 0 <= high
    return Line(label, finite(value), low, high, excluded)


def finite(value: float | None) -> float | None:
    """A number that a chart can show, or None."""
    return value if value is not None and math.isfinite(value) else None


def _margins(found: Comparison) -> list[float]:
    """The equivalence and non-inferiority margins, where given."""
    margins = []
    if found.equivalence is not None:
        margins += [-found.equivalence.margin, found.equivalence.margin]
    return margins + ([] if found.not_worse is None else [found.not_worse.margin])


def column_chart(columns: Contributions, key: str, *, shown: bool) -> Chart | None:
    """What each group of columns adds to the inputs part; filled where that part is `shown`."""
    lines = [
        _line(group_label(group), group.contribution, *(group.interval or (None, None)))
        for group in columns.groups[:MOST_BARS]
    ]
    lines.append(Line("correction", finite(columns.correction), None, None, False))
    more = " The correction completes the sum."
    if len(columns.groups) > MOST_BARS:
        more = " The others are in the table; the correction completes the sum."
    filled = " A filled dot has one that excludes 0." if shown else ""
    return lines_chart(
        [line if shown else line._replace(marked=False) for line in lines],
        key=key,
        title="What each column, or group of columns, adds",
        axis="part of the gap; right of 0 is worse",
        caption=f"What the new values of each group of columns add to the mean loss, largest "
        f"first, each with its own interval.{filled}{more}",
    )


def group_label(group: ColumnGroup) -> str:
    """A group by its first member and the number of the others."""
    if group.others:
        return group.name
    more = f" +{len(group.members) - 1} more" if len(group.members) > 1 else ""
    first = visible(group.members[0][: 2 * _LETTERS])
    room = _LETTERS - len(more)
    return (first if len(first) <= room else f"{first[: room - 1]}\u2026") + more


def slice_chart(
    slices: Sequence[SliceDriver], alpha: float, key: str, *, relation: bool = False
) -> Chart | None:
    """The gap inside each slice, or with `relation` the change of the loss at equal inputs."""
    what = "change at equal inputs" if relation else "gap"
    lines = [
        Line(
            f"{number}. {found.condition}",
            finite(found.gap),
            *_finite_ends(found.interval),
            found.pvalue <= alpha and found.holds_weighted,
        )
        for number, found in enumerate(slices, start=1)
    ]
    return lines_chart(
        lines,
        key=key,
        title=f"The {what} inside each slice",
        axis=f"{'change' if relation else 'gap'} inside the slice; right of 0 is worse",
        caption=f"The {what} inside each slice, with intervals that hold for all slices. Filled: "
        f"differs from the {what} outside.",
    )


def _finite_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (finite(interval.low), finite(interval.high))


def level_chart(lines: Sequence[Line], unit: str, percent: str, more: str = "") -> Chart | None:
    """The gaps of many comparisons; `unit` is what one of them is called."""
    return lines_chart(
        lines,
        key="levels",
        title=f"The gap of every {unit}",
        axis="gap in mean loss",
        caption=f"The gap of each {unit}, current minus reference, with {percent} % intervals that "
        f"hold for all {unit}s at once. Filled: a shift was found. {more}".strip(),
        arrows=True,
    )


def lines_chart(
    lines: Sequence[Line],
    *,
    key: str,
    title: str,
    axis: str,
    caption: str,
    marks: Sequence[float] = (),
    arrows: bool = False,
) -> Chart | None:
    """One line for each value, from top to bottom; None when none has a finite value.

    Parameters
    ----------
    lines : sequence of Line
    key, title, caption : str
        See `rdiv.report.svg.Chart`.
    axis : str
        Label of the axis.
    marks : sequence of float
        Where dashed lines go.
    arrows : bool
        Whether to write on which side of 0 current is worse.
    """
    if not any(line.value is not None for line in lines):
        return None

    def paint(axes: Any) -> None:
        for mark in marks:
            axes.axvline(mark, color=SOFT, linewidth=1, linestyle=(0, (2, 2)))
        axes.axvline(0, color=INK, linewidth=1)
        for place, line in enumerate(lines):
            _paint_line(axes, place, line)
        axes.set(ylim=(len(lines) - 0.4, -0.6), xlabel=axis)
        axes.set_yticks(range(len(lines)), [_label(line.label) for line in lines], color=INK)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        if arrows:
            _paint_arrows(axes)

    said = "; ".join(_said(line) for line in lines[:25])
    more = f"; and {len(lines) - 25} more" if len(lines) > 25 else ""
    marked = "".join(f" The margin {signed(mark)} is marked." for mark in marks)
    return draw(
        paint,
        key=key,
        title=title,
        description=f"{said}{more}. Zero is marked.{marked}",
        caption=caption,
        height=0.62 + 0.235 * len(lines) + 0.2 * arrows,
    )


def _said(line: Line) -> str:
    span = ""
    if line.low is not None and line.high is not None:
        span = f" ({signed(line.low)} to {signed(line.high)})"
    return f"{visible(line.label)[:60]}: {signed(line.value)}{span}"


def _paint_arrows(axes: Any) -> None:
    """On which side of 0 current is worse."""
    for place, text, side in ((0, "\u2190 better", "left"), (1, "worse \u2192", "right")):
        axes.text(place, 1, text, transform=axes.transAxes, va="bottom", ha=side, color=SOFT)


def _paint_line(axes: Any, place: int, line: Line) -> None:
    colour = ACCENT if line.marked else SOFT
    if line.low is not None and line.high is not None:
        axes.plot([line.low, line.high], [place, place], color=colour, linewidth=3.5, alpha=0.35,
                  solid_capstyle="butt")  # fmt: skip
    if line.value is not None:
        axes.plot([line.value], [place], "o", color=colour, markersize=5.5,
                  fillstyle="full" if line.marked else "none")  # fmt: skip


def _label(text: str) -> str:
    text = visible(text[: 2 * _LETTERS])
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}\u2026"
