"""The leaderboard as a picture: mean regret above, power of every test in every cell below."""

from __future__ import annotations

from typing import Any

from rdiv.pictures import svg_text
from rdiv.studies.leaderboard.standings import Standings

__all__ = ["as_picture"]


def as_picture(found: Standings) -> str:
    """SVG text: one column per test, the best first; one row per cell.

    Bars above are 95 % intervals of the mean regret; the number in a field is the power.
    """
    tests = [one.test for one in found.tests]

    def paint(figure: Any) -> None:
        above, below = figure.subplots(
            2, 1, sharex=True, height_ratios=[1, max(len(found.cells) / 6, 1)]
        )
        values = [one.regret.value for one in found.tests]
        above.errorbar(
            range(len(tests)), values, yerr=[1.96 * one.regret.error for one in found.tests],
            fmt="o", color="C0", capsize=2, markersize=4,
        )  # fmt: skip
        above.axhline(0, color="0.6", linewidth=0.8)
        above.set_ylabel("mean regret")
        _fields(below, found, tests)

    return svg_text(paint, (2.2 + 0.75 * len(tests), 2.4 + 0.22 * max(len(found.cells), 3)))


def _fields(axes: Any, found: Standings, tests: list[str]) -> None:
    rates = [[line.power[test].value for test in tests] for line in found.cells]
    axes.imshow(rates, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for row, line in enumerate(rates):
        for column, rate in enumerate(line):
            axes.text(
                column, row, f"{rate:.2f}", ha="center", va="center", fontsize=6,
                color="white" if rate > 0.6 else "black",
            )  # fmt: skip
    axes.set_xticks(range(len(tests)), tests, rotation=40, ha="right", fontsize=7)
    axes.set_yticks(range(len(rates)), [line.name for line in found.cells], fontsize=6)
