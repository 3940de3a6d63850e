"""The page and the picture of a table of powers, from its lines alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from rdiv.pictures import svg_text
from rdiv.reproduction.protocol import Line

if TYPE_CHECKING:
    from rdiv.reproduction.power_table import PowerTable

__all__ = ["NULL", "OURS", "PAPER", "cell_title", "dots", "page", "rate_text", "verdict"]


def page(table: PowerTable, lines: Sequence[Line]) -> str:
    """Cells one after the other, then the paper's table and the remarks."""
    first = lines[0]
    setting = table.scales[first["scale"]]
    out = [f"{table.where}", "", f"Scale `{first['scale']}`, seed {first['seed']}: {setting.about}"]
    for cell in dict.fromkeys(line["cell"] for line in lines):
        out += ["", *_cell([line for line in lines if line["cell"] == cell])]
    notes = dict.fromkeys(f"n = {x['n_p']}: {x['note']}." for x in lines if x["note"])
    out += ["", *notes] if notes else []
    if table.remarks:
        out += ["", "**What differs, and why.**", "", *(f"- {text}" for text in table.remarks)]
    if table.paper.cells:
        out += ["", "**As printed in the paper:**", "", *table.paper.markdown()]
        out += ["", *table.paper.misprints()]
    return "\n".join(out).rstrip() + "\n"


def _cell(lines: list[Line]) -> Iterator[str]:
    first = lines[0]
    facts = [f"{first['n_p']} + {first['n_q']} rows", f"level {first['alpha']:g}"]
    models = dict.fromkeys(line["model"] for line in lines if line["protocol"] == "whole")
    facts += [f"`{model}`" for model in models if model]
    yield f"**{cell_title(first['cell'])}** ({', '.join(facts)})"
    yield ""
    yield "| test | protocol | paper | here, 95 % interval | type-I error | paper is |"
    yield "|---|---|---|---|---|---|"
    for line in lines:
        paper = "" if line["paper"] is None else f"{line['paper']:.3f}"
        parts = (line["method"], line["protocol"], paper, rate_text(line))
        yield f"| {' | '.join(parts)} | {rate_text(line, 'null_')} | {verdict(line)} |"
    yield ""
    twice = " (a test that learns at the better of its protocols)"
    note = twice if any(line["protocol"] == "fresh" for line in lines) else ""
    yield f"Order here{note}: {_order(lines, 'rate')}."
    if any(line["paper"] is not None for line in lines):
        yield f"Order in the paper: {_order(lines, 'paper')}."


def cell_title(cell: str) -> str:
    """What a cell is called; the paper has bare numbers for N.

    Examples
    --------
    >>> print(cell_title("1000"), cell_title("A+C"), sep=", ")
    N = 1000, A+C
    """
    return f"N = {cell}" if cell.isdigit() else cell


def rate_text(line: Line, side: str = "") -> str:
    """A rate with its interval and its trials.

    Examples
    --------
    >>> print(rate_text({"rate": 0.05, "low": 0.0215, "high": 0.1118, "trials": 100}))
    0.050 [0.02, 0.11] of 100
    """
    rate, low, high, trials = (line[side + name] for name in ("rate", "low", "high", "trials"))
    return f"{rate:.3f} [{low:.2f}, {high:.2f}] of {trials}"


def verdict(line: Line) -> str:
    """Where the paper's number lies: inside our interval, above or below it.

    Two of the paper's standard errors count for it, where it prints them.
    """
    if line["paper"] is None:
        return ""
    slack = 2 * (line["paper_se"] or 0.0)
    if line["paper"] - slack > line["high"]:
        return "higher"
    return "lower" if line["paper"] + slack < line["low"] else "inside"


def _order(lines: Sequence[Line], column: str) -> str:
    """Methods by a column, the best first, equals in one place; a method at its best protocol.

    The paper does not tell variants such as `H-Div (max)` apart.
    """
    best: dict[str, float] = {}
    for line in lines:
        if line[column] is not None:
            method = line["method"].partition(" (")[0] if column == "paper" else line["method"]
            best[method] = max(best.get(method, -1.0), line[column])
    ranks: dict[float, list[str]] = {}
    for method, value in sorted(best.items(), key=lambda item: -item[1]):
        ranks.setdefault(value, []).append(method)
    return ", ".join(f"{' = '.join(methods)} {value:.2f}" for value, methods in ranks.items())


ACROSS = 3
OURS, PAPER, NULL = "#1f4e9c", "#c2410c", "0.55"
IN_THE_PAPER = "in the paper"


def dots(lines: Sequence[Line]) -> str:
    """One panel per cell: tests down, rejection rates across, as SVG text."""
    cells = list(dict.fromkeys(line["cell"] for line in lines))
    tests = list(dict.fromkeys(_label(line) for line in lines))
    across = min(ACROSS, len(cells))
    down = ceil(len(cells) / across)
    size = (max(6.8, 2.0 + 3.2 * across), down * (0.9 + 0.24 * len(tests)) + 0.5)

    def paint(figure: Any) -> None:
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

    return svg_text(paint, size)


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
