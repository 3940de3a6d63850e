"""The page and the picture of a table of powers, from its lines alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from rdiv.pictures import svg_text
from rdiv.reproduction.protocol import Line

if TYPE_CHECKING:
    from rdiv.reproduction.power_table import PowerTable

__all__ = [
    "NULL",
    "OURS",
    "PAPER",
    "cell_title",
    "dots",
    "model_text",
    "page",
    "rate_text",
    "rows_text",
    "spread",
    "verdict",
]


def page(table: PowerTable, lines: Sequence[Line]) -> str:
    """Cells one after the other, then the paper's table and the remarks."""
    out = [table.where]
    if table.counted:
        out += ["", f"**N and rows a side.** {table.counted}"]
    for scale, seed in dict.fromkeys((line["scale"], line["seed"]) for line in lines):
        out += ["", f"Scale `{scale}`, seed {seed}: {table.scales[scale].about}"]
    for cell in dict.fromkeys(line["cell"] for line in lines):
        out += ["", *_cell(table, [line for line in lines if line["cell"] == cell])]
    notes = dict.fromkeys(f"{x['n_p']} rows a side: {x['note']}." for x in lines if x["note"])
    out += ["", *notes] if notes else []
    if table.remarks:
        out += ["", "**What differs, and why.**", "", *(f"- {text}" for text in table.remarks)]
    if table.paper.cells:
        out += ["", "**As printed in the paper:**", "", *table.paper.markdown()]
        out += ["", *table.paper.misprints()]
    return "\n".join(out).rstrip() + "\n"


def _cell(table: PowerTable, lines: list[Line]) -> Iterator[str]:
    """A title and a table; each row has its model, its rows, its trials and its permutations."""
    first = lines[0]
    models = list(dict.fromkeys(line["model"] for line in lines if line["model"] and _whole(line)))
    facts = [f"level {first['alpha']:g}"] if "level" not in first["cell"] else []
    facts += [model_text(models[0])] if len(models) == 1 else []
    yield f"**{cell_title(first['cell'])}**" + (f" ({', '.join(facts)})" if facts else "")
    yield ""
    told = any(line["paper"] is not None for line in lines)
    mixed = len({line["scale"] for line in lines}) > 1
    names = ["test", *(["model"] if len(models) > 1 else []), "rows tested a side", "permutations"]
    names += [*(["scale"] if mixed else []), *(["paper"] if told else [])]
    names += ["here, 95 % interval", "type-I error", *(["paper is"] if told else [])]
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for line in lines:
        paper = "" if line["paper"] is None else f"{line['paper']:.3f}"
        parts = {
            "test": line["method"],
            "model": model_text(line["model"]) if _whole(line) and line["model"] else "",
            "rows tested a side": rows_text(line),
            "permutations": str(line["resamples"]),
            "scale": line["scale"],
            "paper": paper,
            "here, 95 % interval": rate_text(line),
            "type-I error": rate_text(line, "null_"),
            "paper is": (table.differs or verdict(line)) if paper else "",
        }
        yield f"| {' | '.join(parts[name] for name in names)} |"


def _whole(line: Line) -> bool:
    return bool(line["protocol"] == "whole")


LEAST_TRIALS = 20
BANDWIDTHS = {"loo": "leave-one-out", "scott": "Scott's", "silverman": "Silverman's"}


def model_text(model: str) -> str:
    """A model with the rule that decides it: the bandwidth of a kernel density, the components.

    Examples
    --------
    >>> print(model_text("kde"), model_text("kde(bandwidth='scott')"), sep="; ")
    `kde`, leave-one-out bandwidth; `kde`, Scott's bandwidth
    >>> print(model_text("gmm(components=4)"), model_text("vae(epochs=30)"), sep="; ")
    `gmm`, 4 components; `vae(epochs=30)`
    """
    name, _, rest = model.partition("(")
    value = rest.rstrip(")").partition("=")[2].strip("'")
    if name == "kde" and (value or "loo") in BANDWIDTHS:
        return f"`kde`, {BANDWIDTHS[value or 'loo']} bandwidth"
    if name == "gmm" and value.isdigit():
        return f"`gmm`, {value} components"
    return f"`{model}`"


def rows_text(line: Line) -> str:
    """How many rows a side are tested, and where a test that learns has learned.

    Examples
    --------
    >>> print(rows_text({"protocol": "half", "tested": 500, "repeats": 1}))
    500, learned on 500
    >>> print(rows_text({"protocol": "fresh", "tested": 500, "repeats": 4}))
    500, learned on 500 others (4 trainings)
    """
    tested = line["tested"]
    if line["protocol"] == "half":
        return f"{tested}, learned on {tested}"
    if line["protocol"] == "fresh":
        often = "1 training" if line["repeats"] == 1 else f"{line['repeats']} trainings"
        return f"{tested}, learned on {tested} others ({often})"
    return str(tested)


def cell_title(cell: str) -> str:
    """What a cell is called; the paper has bare numbers for N, half of which is tested a side.

    Examples
    --------
    >>> print(cell_title("1000"), cell_title("A+C"), sep="; ")
    N = 1000, which is 500 rows a side; A+C
    >>> print(cell_title("ViT, N = 400"))
    ViT, N = 400, which is 200 rows a side
    """
    name = f"N = {cell}" if cell.isdigit() else cell
    front, _, number = name.rpartition("N = ")
    sized = number.isdigit() and (not front or front.endswith(", "))
    return f"{name}, which is {int(number) // 2} rows a side" if sized else name


def rate_text(line: Line, side: str = "") -> str:
    """A rate with its interval and its trials.

    Examples
    --------
    >>> print(rate_text({"rate": 0.05, "low": 0.0215, "high": 0.1118, "trials": 100}))
    0.050 [0.02, 0.11] of 100
    """
    rate, low, high, trials = (line[side + name] for name in ("rate", "low", "high", "trials"))
    text = f"{rate:.3f} [{low:.2f}, {high:.2f}] of {trials}"
    if not side and line.get("repeats", 1) > 1 and _whole(line):
        text += f" ({line['repeats']} repeats, SD {spread(line):.3f})"
    return text


def spread(line: Line) -> float:
    """The standard deviation of the powers of several repeats, from the error of their mean.

    Examples
    --------
    >>> print(spread({"se": 0.01, "repeats": 9}))
    0.03
    """
    return float(line["se"] * line["repeats"] ** 0.5)


def verdict(line: Line) -> str:
    """Where the paper's number lies: inside our interval, above or below it.

    Two of the paper's standard errors count for it, where it prints them. Fewer than 20 trials say
    nothing about it.

    Examples
    --------
    >>> line = {"paper": 1.0, "paper_se": None, "low": 0.49, "high": 0.68, "trials": 100}
    >>> print(verdict(line), verdict(line | {"trials": 3}), sep=", ")
    higher, too few trials
    """
    if line["paper"] is None:
        return ""
    if line["trials"] < LEAST_TRIALS:
        return "too few trials"
    slack = 2 * (line["paper_se"] or 0.0)
    if line["paper"] - slack > line["high"]:
        return "higher"
    return "lower" if line["paper"] + slack < line["low"] else "inside"


ACROSS = 3
OURS, PAPER, NULL = "#1f4e9c", "#c2410c", "0.55"
IN_THE_PAPER = "in the paper"


def dots(lines: Sequence[Line]) -> str:
    """One panel per cell: tests down, rejection rates across, as SVG text."""
    cells = list(dict.fromkeys(line["cell"] for line in lines))
    panels = [[line for line in lines if line["cell"] == cell] for cell in cells]
    across = min(ACROSS, len(cells))
    down = ceil(len(cells) / across)
    counts = [len({_label(line) for line in panel}) for panel in panels]
    heights = [max(counts[row * across : (row + 1) * across]) for row in range(down)]
    size = (2.0 + 4.6 * across, down * 0.9 + 0.24 * sum(heights) + 0.5)

    def paint(figure: Any) -> None:
        grid = figure.subplots(
            down, across, squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights}
        )
        for axes in grid.flat[len(cells) :]:
            axes.set_visible(False)
        for place, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            _panel(axes, panel, heights[place // across])
            axes.set_title(_title(panel[0]), fontsize="medium")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        if all(line["paper"] is None for line in lines):
            where = labels.index(IN_THE_PAPER)
            del handles[where], labels[where]
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)

    return svg_text(paint, size)


def _label(line: Line) -> str:
    """A test with what tells it from others of its name: how it learned, its model, the rest."""
    marks = [line["method"]]
    marks += [] if _whole(line) else [line["protocol"]]
    if line["model"] not in (None, "kde") and "(" in line["model"] and _whole(line):
        name, _, rest = line["model"].partition("(")
        value = re.sub(r"[')]", "", rest.partition("=")[2])
        marks += [f"{name} {value}"] if name in ("kde", "gmm") else []
    marks += [] if line["resamples"] == 99 else [f"{line['resamples']} permutations"]
    marks += [f"{line['trials']} trials"] if line["repeats"] > 1 and _whole(line) else []
    return ", ".join(marks)


def _title(line: Line) -> str:
    """What a cell is called, and how many rows a side it has."""
    name = line["cell"]
    if name.isdigit():
        return f"N = {name} ({int(name) // 2} a side)"
    return name if "a side" in name else f"{name}, {line['n_p']} a side"


def _panel(axes: Any, lines: Sequence[Line], room: int) -> None:
    """The tests of one cell, with room for as many as any panel beside it has."""
    tests = list(dict.fromkeys(_label(line) for line in lines))
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
    axes.set(xlim=(-0.03, 1.03), ylim=(room - 0.4, -0.6))
    axes.set_yticks(range(len(tests)), tests)
    axes.tick_params(labelbottom=True)
    axes.set_xlabel("rejection rate")
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
