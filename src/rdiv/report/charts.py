"""Charts: the gap, its null distribution, the losses; a bar per column, slice or level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rdiv.report.svg import ACCENT, CURRENT, GRID, INK, REFERENCE, SOFT, Chart, draw
from rdiv.report.wording import amount, probability, signed, visible

__all__ = [
    "Line",
    "column_chart",
    "gap_chart",
    "level_chart",
    "lines_chart",
    "loss_chart",
    "null_chart",
    "slice_chart",
]


Document = Mapping[str, Any]


def gap_chart(document: Document, key: str = "gap") -> Chart | None:
    """The gap with its interval, 0 and the margins; None when there is no finite interval."""
    interval = document["gap_interval"]
    if interval is None or None in interval.values():
        return None
    low, high, gap = interval["low"], interval["high"], document["gap"]
    margins = _margins(document)

    def paint(axes: Any) -> None:
        for margin in margins:
            axes.axvline(margin, color=SOFT, linewidth=1, linestyle=(0, (2, 2)))
        axes.axvline(0, color=INK, linewidth=1)
        axes.plot([low, high], [0, 0], color=ACCENT, linewidth=5, solid_capstyle="butt", alpha=0.35)
        axes.plot([gap], [0], "o", color=ACCENT, markersize=8)
        reach = max(abs(low), abs(high), *map(abs, margins), 1e-12)
        left, right = min(low, 0, *margins) - 0.14 * reach, max(high, 0, *margins) + 0.14 * reach
        axes.set(yticks=[], ylim=(-1, 1), xlim=(left, right), xlabel="gap in mean loss")
        axes.text(0, 1, "\u2190 better", transform=axes.transAxes, va="bottom", color=SOFT)
        axes.text(
            1, 1, "worse \u2192", transform=axes.transAxes, va="bottom", ha="right", color=SOFT
        )
        axes.locator_params(axis="x", nbins=6)

    level = amount(100 * (1 - document["alpha"]))
    span = f"{signed(low)} to {signed(high)}"
    beside = "".join(f" The margin {signed(margin)} is marked." for margin in margins)
    return draw(
        paint,
        key=key,
        title="Gap in mean loss and its interval",
        description=f"The gap, current minus reference, is {signed(gap)}; its {level} % interval "
        f"goes from {span}. Zero (no gap) is marked.{beside}",
        caption=f"The gap (dot) and its {level} % interval (bar): {signed(gap)}, from {span}. Right"
        " of 0 the model does worse on current." + " Dashed: the margins." * bool(margins),
        height=1.3,
    )


def _margins(document: Document) -> list[float]:
    """The equivalence and non-inferiority margins, where given."""
    found = []
    for name, sides in (("equivalence", (-1, 1)), ("not_worse", (1,))):
        statement = document.get(name)
        if statement:
            found += [side * float(statement["margin"]) for side in sides]
    return found


def null_chart(result: Document, key: str = "null") -> Chart:
    """The null distribution of the gap, and the observed gap."""
    observed, null = result["ranked"], [x for x in result["null_distribution"] if x is not None]
    bins = 40
    finite = observed is not None and math.isfinite(observed)

    def paint(axes: Any) -> None:
        axes.hist(null, bins=bins, color=SOFT, alpha=0.45)
        top = axes.get_ylim()[1]
        if finite:
            axes.axvline(observed, color=ACCENT, linewidth=2.2)
            left, right = min([*null, 0, observed]), max([*null, observed])
            inside = observed > left + 0.6 * (right - left)
            axes.annotate(
                "observed", (observed, top), ha="right" if inside else "left", va="top",
                color=ACCENT, fontweight="bold",
                xytext=(-4 if inside else 4, 0), textcoords="offset points",
            )  # fmt: skip
        axes.set(yticks=[], xlabel="size of the gap in standard errors", ylim=(0, top))
        axes.locator_params(axis="x", nbins=7)

    highest = max(null, default=float("nan"))
    said = amount(observed) if finite else "infinite"
    return draw(
        paint,
        key=key,
        title="Gap under random permutations",
        description=f"Histogram of the gap in standard errors under {len(null)} random "
        f"permutations of the rows: the largest is {amount(highest)}. Observed: {said}, p = "
        f"{probability(result['pvalue'])}.",
        caption=f"Grey: the gap, in standard errors, under {len(null)} random permutations of the "
        f"rows. Line: the observed gap, {said}; p = "
        f"{probability(result['pvalue'])}.",
    )


def loss_chart(losses: Document, key: str = "losses") -> Chart:
    """The loss distributions of both samples over the same bins."""
    edges, levels = losses["edges"], list(losses["levels"])
    middle = levels.index(0.5)
    medians = losses["quantiles_p"][middle], losses["quantiles_q"][middle]

    def paint(axes: Any) -> None:
        for name, shares, colour, line in (
            ("reference", losses["shares_p"], REFERENCE, "-"),
            ("current", losses["shares_q"], CURRENT, (0, (4, 1.5))),
        ):
            heights = [100 * share for share in shares]
            axes.stairs(heights, edges, fill=True, color=colour, alpha=0.16)
            axes.stairs(heights, edges, color=colour, linewidth=1.6, linestyle=line, label=name)
        if losses["scale"] == "log":
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: amount(value))
            axes.xaxis.set_minor_formatter(lambda value, _: "")
        else:
            axes.locator_params(axis="x", nbins=6)
        axes.set(xlabel="loss per row", ylabel="% of rows")
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.locator_params(axis="y", nbins=4)
        axes.legend(loc="upper right", fontsize=9)

    scale = " on a logarithmic scale" if losses["scale"] == "log" else ""
    return draw(
        paint,
        key=key,
        title="Losses of both samples",
        description=f"Two histograms{scale}. Median loss: {amount(medians[0])} on reference, "
        f"{amount(medians[1])} on current; a table of quantiles follows.",
        caption=f"Share of the rows of each sample by loss{scale}. The outermost bars also hold "
        "all losses beyond them.",
    )


MOST_BARS = 12
"""Most columns that the chart shows."""

_LETTERS = 24  # longest label beside a bar


class Line(NamedTuple):
    """One line of a chart: a label, a value with its interval, whether it stands out."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    marked: bool


def column_chart(columns: Sequence[Mapping[str, Any]], alpha: float, key: str) -> Chart | None:
    """The contribution of each column to the gap; None when no column contributes."""
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
        title="Contribution of each column",
        axis="contribution to the gap",
        caption="The contribution of each column to the gap, each with its own interval. Filled: "
        "significant at the level of the report, adjusted for all columns.",
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
        caption="The gap inside each slice, with intervals that hold for all slices. Filled: "
        "differs from the gap outside.",
    )


def level_chart(lines: Sequence[Line], key: str, percent: str) -> Chart | None:
    """The gaps of many comparisons."""
    return lines_chart(
        lines,
        key=key,
        title="The gap of every level",
        axis="gap in mean loss",
        caption=f"The gap of each level to the reference, with {percent} % intervals that hold for "
        "all levels at once. Filled: a shift was found.",
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
