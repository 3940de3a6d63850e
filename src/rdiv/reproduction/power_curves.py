"""Powers against the number of rows or of dimensions, as the paper draws them, as SVG text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rdiv.pictures import svg_text
from rdiv.reproduction.power_page import dots, model_text
from rdiv.reproduction.protocol import Line

__all__ = ["curves", "panels_of", "picture"]

Test = tuple[str, str, int]
"""A method, how it learned and its permutations."""

LEAST_POINTS = 3
ACROSS = 3
STYLES = {"whole": "-", "half": "--", "fresh": ":"}
COLOURS = {
    "R-Div": "C0", "score": "C1", "omnibus": "C2", "H-Div": "C3", "H-Div (max)": "C4",
    "cross-risk": "C5", "MMD-O (median)": "C6", "ME": "C7", "SCF": "C8", "C2ST-S": "C9",
    "C2ST-L": "black", "MMD-O": "gold", "MMD-D": "navy",
}  # fmt: skip
OTHER = "deeppink"
PAPER = "in the paper, in the colour of the test"
LEARNED = {"half": "learned on the other half", "fresh": "learned on another draw"}
FAR = 8  # times the first place, from which on an axis shows ratios
NARROW = 0.085  # of the axis, for a number under it
SPREAD = 0.008  # of the axis, between the bars of two tests at one place
PANEL = 4.6, 4.4  # inches
LETTER, HANDLE, ENTRY = 0.075, 0.6, 0.2  # inches of a letter, a line and a row of the legend
ENDS = "rate", "low", "high"
MOST_LETTERS = 44  # letters over a panel


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

    @property
    def logarithmic(self) -> bool:
        """Whether places lie so far apart that the first ones would lie on each other."""
        return 0 < FAR * self.places[0] <= self.places[-1]

    def shifted(self, x: float, share: float) -> float:
        """A place moved by a share of the axis."""
        first, last = self.places[0], self.places[-1]
        if self.logarithmic:
            return float(x * (last / first) ** share)
        return x + share * (last - first or 1.0)

    def points(self, test: Test) -> dict[float, Line]:
        """The lines of one test by their places; of two at one place the one of more trials."""
        found: dict[float, Line] = {}
        for x, line in self.lines:
            if _test(line) == test and line["trials"] > found.get(x, {"trials": -1})["trials"]:
                found[x] = line
        return found


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
        Panel(_title(rest, family), axis, tuple(some)) for (rest, family), some in groups.items()
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
    if line["protocol"] != "whole" or not line["model"]:
        return "other tests"
    return model_text(line["model"]).replace("`", "")


def _title(rest: str, family: str) -> str:
    """What a panel is about; of settings that do not fit over it the first ones."""
    if len(family) > MOST_LETTERS:
        family = f"{family[:MOST_LETTERS].rpartition(', ')[0]}, …)"
    return "\n".join(text for text in (rest, family) if text)


def curves(panels: Sequence[Panel]) -> str:
    """Powers above, rejections where nothing differs below, a pair of axes for every panel."""
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    names = {_name(line) for panel in panels for _, line in panel.lines}
    width = PANEL[0] * across
    columns = max(1, int(width / (HANDLE + LETTER * max(map(len, names)))))

    def paint(figure: Any) -> None:
        grid = figure.subplots(
            2 * down, across, squeeze=False, gridspec_kw={"height_ratios": [2.4, 1.0] * down}
        )
        handles: dict[Test, Any] = {}
        for place in range(down * across):
            row, column = divmod(place, across)
            above, below = grid[2 * row, column], grid[2 * row + 1, column]
            if place < len(panels):
                handles |= _panel(above, below, panels[place])
            else:
                above.set_visible(False)
                below.set_visible(False)
        tests = sorted(handles, key=_rank)
        shown = [handles[test] for test in tests]
        shown += _diamond(above) if any(_told(panel) for panel in panels) else []
        figure.legend(handles=shown, loc="outside lower center", ncols=columns, frameon=False)

    rows = math.ceil((len(names) + 1) / columns)
    return svg_text(paint, (width, PANEL[1] * down + ENTRY * rows + 0.3))


def _test(line: Line) -> Test:
    return line["method"], line["protocol"], line["resamples"]


def _rank(test: Test) -> tuple[Any, ...]:
    """The same order of tests in every legend."""
    method, protocol, resamples = test
    known = list(COLOURS)
    place = known.index(method) if method in known else len(known)
    return list(STYLES).index(protocol), place, method, resamples


def _told(panel: Panel) -> bool:
    return any(line["paper"] is not None for _, line in panel.lines)


def _diamond(axes: Any) -> list[Any]:
    """What stands in the legend for the paper's numbers."""
    return axes.plot([], [], "D", fillstyle="none", color="0.3", markersize=5, label=PAPER)  # type: ignore[no-any-return]


def _panel(above: Any, below: Any, panel: Panel) -> dict[Test, Any]:
    """Draw both axes of a panel."""
    handles = _draw(above, panel, "")
    _draw(below, panel, "null_")
    highest = max(line["null_high"] for _, line in panel.lines)
    above.set_title(panel.title, fontsize="medium")
    above.set(ylabel="power", ylim=(-0.03, 1.03))
    below.set(xlabel=panel.axis, ylabel="type-I error", ylim=(-0.01, max(0.2, highest)))
    return handles


def _draw(axes: Any, panel: Panel, side: str) -> dict[Test, Any]:
    """The lines of a panel: rates with their intervals, and the paper's numbers for powers."""
    tests = sorted({_test(line) for _, line in panel.lines}, key=_rank)
    handles: dict[Test, Any] = {}
    for rank, test in enumerate(tests):
        method, protocol, _ = test
        colour, at = COLOURS.get(method, OTHER), panel.points(test)
        shift = SPREAD * (rank - (len(tests) - 1) / 2)
        found = [at[x] for x in sorted(at)]
        rates, lows, highs = ([line[side + name] for line in found] for name in ENDS)
        bars = [
            [max(rate - low, 0) for rate, low in zip(rates, lows, strict=True)],
            [max(high - rate, 0) for rate, high in zip(rates, highs, strict=True)],
        ]
        handles[test] = axes.errorbar(
            [panel.shifted(x, shift) for x in sorted(at)], rates, yerr=bars, color=colour,
            linestyle=STYLES[protocol], marker="o", markersize=3, linewidth=1.2, elinewidth=0.8,
            label=_name(found[0]),
        )  # fmt: skip
        told = [x for x in sorted(at) if at[x]["paper"] is not None]
        if told and not side:
            places = [panel.shifted(x, shift) for x in told]
            powers = [at[x]["paper"] for x in told]
            axes.scatter(places, powers, marker="D", s=26, facecolors="none", edgecolors=colour)
    axes.axhline(panel.lines[0][1]["alpha"], color="0.5", linestyle=":", linewidth=1)
    if panel.logarithmic:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(panel.places, _labels(panel), fontsize="small")
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    return handles


def _labels(panel: Panel) -> list[str]:
    """The numbers under an axis, without those too close to the one before."""
    shown, free = [], -math.inf
    for x in panel.places:
        shown.append("" if x < free else f"{x:g}")
        free = free if x < free else panel.shifted(x, NARROW)
    return shown


def _name(line: Line) -> str:
    """A test with how it learned, and its permutations where they are not the usual ones."""
    marks = [line["method"]]
    marks += [] if line["protocol"] == "whole" else [LEARNED[line["protocol"]]]
    marks += [] if line["resamples"] == 99 else [f"{line['resamples']} permutations"]
    return ", ".join(marks)
