"""A picture of a table of powers: ours, the paper's and the nulls on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from math import ceil
from typing import Any

from rdiv.reproduction.power_page import cell_title
from rdiv.reproduction.protocol import Line

__all__ = ["PICTURE", "as_svg", "dots"]

ACROSS = 3
PICTURE: Any = {"svg.hashsalt": "rdiv", "svg.fonttype": "none", "text.parse_math": False}
OURS, PAPER, NULL = "#1f4e9c", "#c2410c", "0.55"
IN_THE_PAPER = "in the paper"


def dots(lines: Sequence[Line]) -> str:
    """One panel a cell: tests down, rejection rates across, as SVG text."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    cells = list(dict.fromkeys(line["cell"] for line in lines))
    tests = list(dict.fromkeys(_label(line) for line in lines))
    across = min(ACROSS, len(cells))
    down = ceil(len(cells) / across)
    with rc_context(PICTURE):
        size = (max(6.8, 2.0 + 3.2 * across), down * (0.9 + 0.24 * len(tests)) + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(cells) :]:
            axes.set_visible(False)
        for axes, cell in zip(grid.flat, cells, strict=False):
            some = [line for line in lines if line["cell"] == cell]
            _panel(axes, some, tests)
            axes.set_title(_title(some[0]), fontsize="medium")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        if all(line["paper"] is None for line in lines):
            where = labels.index(IN_THE_PAPER)
            del handles[where], labels[where]
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return as_svg(figure)


def as_svg(figure: Any) -> str:
    """A figure as text; the same figure gives the same text."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _label(line: Line) -> str:
    protocol = "" if line["protocol"] == "whole" else f", {line['protocol']}"
    return f"{line['method']}{protocol}"


def _title(line: Line) -> str:
    """What a cell is called, and how many rows of p it has."""
    name = cell_title(line["cell"])
    return name if "N =" in name else f"{name}, N = {line['n_p']}"


def _panel(axes: Any, lines: Sequence[Line], tests: list[str]) -> None:
    places = [tests.index(_label(line)) for line in lines]
    for side, colour, shift, name in (
        ("", OURS, 0.0, "here, 95 % interval"),
        ("null_", NULL, 0.25, "here, under the null"),
    ):
        rates = [line[f"{side}rate"] for line in lines]
        bars = [
            [max(line[f"{side}rate"] - line[f"{side}low"], 0) for line in lines],
            [max(line[f"{side}high"] - line[f"{side}rate"], 0) for line in lines],
        ]
        axes.errorbar(
            rates, [place + shift for place in places], xerr=bars, fmt="o", markersize=4,
            color=colour, capsize=2, linewidth=1, label=name,
        )  # fmt: skip
    told = [(line["paper"], place) for line, place in zip(lines, places, strict=True)]
    told = [(rate, place) for rate, place in told if rate is not None]
    axes.scatter(
        [rate for rate, _ in told], [place - 0.25 for _, place in told], marker="D", s=22,
        facecolors="none", edgecolors=PAPER, label=IN_THE_PAPER,
    )  # fmt: skip
    axes.axvline(lines[0]["alpha"], color="0.5", linestyle=":", linewidth=1)
    axes.set(xlim=(-0.03, 1.03), ylim=(len(tests) - 0.4, -0.6))
    axes.set_yticks(range(len(tests)), tests)
    axes.set_xlabel("rejection rate")
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
