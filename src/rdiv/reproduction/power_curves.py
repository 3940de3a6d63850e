"""Powers against the number of rows or of dimensions, as the paper draws them, as SVG text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from rdiv.pictures import svg_text
from rdiv.reproduction.power_page import dots, model_text
from rdiv.reproduction.protocol import Line

__all__ = ["curves", "panels_of", "picture"]

LEAST_POINTS = 3
ACROSS = 3
STYLES = {"whole": "-", "half": "--", "fresh": ":"}
COLOURS = [*(f"C{i}" for i in range(10)), "black", "gold", "navy", "lightgreen", "deeppink"]
LEARNED = {"half": "learned on the other half", "fresh": "learned on another draw"}
NARROW = 0.07  # of the axis, for a number under it
SPREAD = 0.008  # of the axis, between the bars of two tests at one place


@dataclass(frozen=True)
class Panel:
    """Tests of one model, or of none, in cells that differ in one number."""

    title: str
    axis: str
    lines: tuple[tuple[float, Line], ...]

    @property
    def places(self) -> list[float]:
        """Where on the axis something was measured."""
        return sorted({x for x, _ in self.lines})


def picture(lines: Sequence[Line]) -> str:
    """Curves where the cells of a table lie on an axis, else dots, cell by cell."""
    found = panels_of(lines)
    return curves(found) if found else dots(lines)


def panels_of(lines: Sequence[Line]) -> list[Panel]:
    """The panels of a table, or none if some of its cells are no points of an axis.

    Examples
    --------
    >>> from rdiv.reproduction.power_curves import panels_of
    >>> line = {"method": "score", "model": "kde", "protocol": "whole", "alpha": 0.05}
    >>> some = [line | {"cell": f"d = {d}, 50 rows a side", "tested": 50} for d in (3, 5, 9)]
    >>> [panel] = panels_of(some)
    >>> print(panel.title, panel.axis, panel.places, sep="; ")
    50 rows a side
    kde, leave-one-out bandwidth; dimensions; [3.0, 5.0, 9.0]
    """
    by_dimension = len({_dimension(line) for line in lines} - {None}) > 1
    groups: dict[tuple[str, str], list[tuple[float, Line]]] = {}
    for line in lines:
        place, rest = _dimension(line) if by_dimension else None, line["cell"]
        if place is None:
            place, rest = line["tested"], re.sub(r"\d+ rows a side( \(N = \d+\))?|^\d+$", "", rest)
        else:
            rest = rest.partition(",")[2].strip()
        groups.setdefault((rest.strip(", "), _family(line)), []).append((float(place), line))
    axis = "dimensions" if by_dimension else "rows a side"
    found = [
        Panel("\n".join(x for x in (rest, family) if x), axis, tuple(some))
        for (rest, family), some in groups.items()
    ]
    rests = {rest for rest, _ in groups}
    wide = {rest for (rest, _), p in zip(groups, found, strict=True) if _long(p)}
    return found if rests == wide else []


def _long(panel: Panel) -> bool:
    return len(panel.places) >= LEAST_POINTS


def _dimension(line: Line) -> int | None:
    found = re.match(r"d = (\d+)\b", line["cell"])
    return int(found[1]) if found else None


def _family(line: Line) -> str:
    """The model of a test of all rows, which its panel is about; other tests share a panel."""
    whole = line["protocol"] == "whole" and line["model"]
    return model_text(line["model"]).replace("`", "") if whole else "other tests"


def curves(panels: Sequence[Panel]) -> str:
    """Powers above, rejections where nothing differs below, a pair of axes for every panel."""
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    tests = list(dict.fromkeys(_test(line) for panel in panels for _, line in panel.lines))
    methods = list(dict.fromkeys(method for method, *_ in tests))
    colours = dict(zip(methods, cycle(COLOURS), strict=False))

    def paint(figure: Any) -> None:
        grid = figure.subplots(
            2 * down, across, squeeze=False, gridspec_kw={"height_ratios": [2.4, 1.0] * down}
        )
        handles: dict[str, Any] = {}
        for place, panel in enumerate(panels):
            row, column = divmod(place, across)
            above, below = grid[2 * row, column], grid[2 * row + 1, column]
            handles |= _draw(above, panel, "", colours)
            _draw(below, panel, "null_", colours)
            highest = max(line["null_high"] for _, line in panel.lines)
            above.set_title(panel.title, fontsize="medium")
            above.set_ylim(-0.03, 1.03)
            below.set(xlabel=panel.axis, ylim=(-0.01, max(0.2, highest)))
            above.set_ylabel("power")
            below.set_ylabel("type-I error")
        for place in range(len(panels), down * across):
            row, column = divmod(place, across)
            grid[2 * row, column].set_visible(False)
            grid[2 * row + 1, column].set_visible(False)
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
        )

    return svg_text(paint, (4.6 * across, 4.4 * down + 0.2 * math.ceil(len(tests) / 4) + 0.3))


def _test(line: Line) -> tuple[str, str, int]:
    return line["method"], line["protocol"], line["resamples"]


def _draw(axes: Any, panel: Panel, side: str, colours: Mapping[str, str]) -> dict[str, Any]:
    """The lines of a panel: rates with their intervals, and the paper's numbers for powers."""
    tests = list(dict.fromkeys(_test(line) for _, line in panel.lines))
    width = max(panel.places) - min(panel.places) or 1.0
    handles: dict[str, Any] = {}
    for rank, test in enumerate(tests):
        method, protocol, _ = test
        at: dict[float, Line] = {}
        for x, line in panel.lines:
            if _test(line) == test:
                at[x] = max(at.get(x, line), line, key=lambda line: line["trials"])
        shift = SPREAD * width * (rank - (len(tests) - 1) / 2)
        found = [at[x] for x in sorted(at)]
        rates = [line[f"{side}rate"] for line in found]
        bars = [
            [max(line[f"{side}rate"] - line[f"{side}low"], 0) for line in found],
            [max(line[f"{side}high"] - line[f"{side}rate"], 0) for line in found],
        ]
        handles[_name(found[0])] = axes.errorbar(
            [x + shift for x in sorted(at)], rates, yerr=bars, color=colours[method],
            linestyle=STYLES[protocol], marker="o", markersize=3, linewidth=1.2, elinewidth=0.8,
        )  # fmt: skip
        told = [(x + shift, at[x]["paper"]) for x in sorted(at) if at[x]["paper"] is not None]
        if told and not side:
            handles["in the paper, in the colour of the test"] = axes.scatter(
                *zip(*told, strict=True), marker="D", s=26, facecolors="none",
                edgecolors=colours[method],
            )  # fmt: skip
    axes.axhline(panel.lines[0][1]["alpha"], color="0.5", linestyle=":", linewidth=1)
    axes.set_xticks(panel.places, _labels(panel.places, NARROW * width), fontsize="small")
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    return handles


def _labels(places: Sequence[float], room: float) -> list[str]:
    """The numbers under an axis, without those too close to the one before."""
    shown, last = [], -math.inf
    for x in places:
        near = x - last < room
        shown.append("" if near else f"{x:g}")
        last = last if near else x
    return shown


def _name(line: Line) -> str:
    """A test with how it learned, and its permutations where they are not the usual ones."""
    marks = [line["method"]]
    marks += [] if line["protocol"] == "whole" else [LEARNED[line["protocol"]]]
    marks += [] if line["resamples"] == 99 else [f"{line['resamples']} permutations"]
    return ", ".join(marks)
