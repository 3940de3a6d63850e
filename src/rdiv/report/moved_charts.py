"""Small charts of the input columns that moved: the values of both samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rdiv.report.svg import CURRENT, GRID, INK, REFERENCE, Chart, draw
from rdiv.report.wording import percent, shorten, visible

if TYPE_CHECKING:
    from rdiv.drivers.moved_column import Distribution, MovedColumn

__all__ = ["moved_chart"]

WIDTH = 3.4
"""Inches: three of them stand side by side."""

_LETTERS = 16  # longest label beside a bar
_TICKS = 4  # most edges with a number


def moved_chart(column: MovedColumn, key: str, caption: str) -> Chart | None:
    """The shares of both samples in the bins of a column; None where there are none."""
    shown = column.distribution
    if shown is None or not shown.labels:
        return None
    told = "; ".join(
        f"{visible(label[:40])}: {percent(before)} and {percent(after)}"
        for label, before, after in zip(shown.labels, shown.reference, shown.current, strict=True)
    )
    binned = bool(shown.edges)
    return draw(
        (lambda axes: _paint_bins(axes, shown)) if binned else (lambda axes: _paint(axes, shown)),
        key=key,
        title=f"Values of {shorten(column.name, 60)}",
        description=f"Share of the rows of reference and of current. {told}.",
        caption=caption,
        height=1.75 if binned else 0.75 + 0.24 * len(shown.labels),
        width=WIDTH,
    )


def _paint_bins(axes: Any, shown: Distribution) -> None:
    """Numbers: steps over bins of one width, and missing cells apart."""
    bins, texts = len(shown.edges) + 1, _edge_texts(shown.labels, len(shown.edges))
    for name, shares, colour, line in _samples(shown):
        heights = [100 * share for share in shares]
        axes.stairs(heights[:bins], range(bins + 1), fill=True, color=colour, alpha=0.16)
        axes.stairs(heights[:bins], range(bins + 1), color=colour, linewidth=1.5, linestyle=line,
                    label=name)  # fmt: skip
        if len(heights) > bins:
            apart = [bins + 0.7, bins + 1.7]
            axes.stairs(heights[bins:], apart, fill=True, color=colour, alpha=0.16)
            axes.stairs(heights[bins:], apart, color=colour, linewidth=1.5, linestyle=line)
    longest = max(len(text) for text in texts)
    few = _TICKS if longest <= 7 else 3 if longest <= 10 else 2
    step = max(1, -(-len(texts) // few))
    ticks: list[tuple[float, str]] = [
        (place + 1, texts[place]) for place in range(0, len(texts), step)
    ]
    if len(shown.labels) > bins:
        ticks = [tick for tick in ticks if tick[0] <= bins - 2] + [(bins + 1.2, "missing")]
    axes.set_xticks([place for place, _ in ticks], [visible(text) for _, text in ticks])
    axes.set(ylabel="% of rows")
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.locator_params(axis="y", nbins=3)
    _paint_legend(axes)


def _edge_texts(labels: Sequence[str], edges: int) -> list[str]:
    """The edges as the labels of the bins spell them: ``"< 1"``, ``"1 to 2"``, ``">= 2"``."""
    inner = [label.split(" to ")[1] for label in labels[1:edges]]
    return [labels[0].removeprefix("< "), *inner]


def _paint(axes: Any, shown: Distribution) -> None:
    """Levels, or a few numbers: two bars for each."""
    for (name, shares, colour, _), shift in zip(_samples(shown), (-0.19, 0.19), strict=True):
        current = name == "current"
        axes.barh(
            [place + shift for place in range(len(shares))], [100 * share for share in shares],
            height=0.34, color="none" if current else colour, edgecolor=colour, linewidth=1.1,
            hatch="/////" if current else None, label=name,
        )  # fmt: skip
    names = [_label(label) for label in shown.labels]
    axes.set_yticks(range(len(names)), names, color=INK)
    axes.set(ylim=(len(names) - 0.4, -0.6), xlabel="% of rows")
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.locator_params(axis="x", nbins=4)
    _paint_legend(axes)


def _samples(shown: Distribution) -> list[tuple[str, tuple[float, ...], str, Any]]:
    return [
        ("reference", shown.reference, REFERENCE, "-"),
        ("current", shown.current, CURRENT, (0, (4, 1.5))),
    ]


def _paint_legend(axes: Any) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=9, borderpad=0)


def _label(text: str) -> str:
    text = visible(text[: 2 * _LETTERS])
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}\u2026"
