"""The page of a table of powers, from its lines alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rdiv.reproduction.protocol import Line

if TYPE_CHECKING:
    from rdiv.reproduction.power_table import PowerTable

__all__ = ["cell_title", "page", "rate_text", "verdict"]

PROTOCOLS = {
    "whole": "all rows are tested",
    "half": "learns on half of each sample, tests the other",
    "fresh": "learns on another draw of n, tests all rows (Liu et al. 2020)",
}


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
