"""The lines behind the results page, and the short statements that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rdiv.reproduction.power_page import LEAST_TRIALS
from rdiv.reproduction.protocol import SCALES
from rdiv.reproduction.running import command
from rdiv.reproduction.tables.overfitting import t_interval

Line = dict[str, Any]

KDE, SCOTT = "kde", "kde(bandwidth='scott')"
TEN, FOUR = "gmm(components=10)", "gmm(components=4)"
OWN = "vae"
KEYS = (
    "scale", "seed", "part", "cell", "method", "model", "protocol", "n_p", "n", "resamples",
    "alpha", "share",
)  # fmt: skip
"""What tells lines of a table apart."""


@dataclass(frozen=True)
class Statement:
    """A claim in a few words, what was found, the verdict, and the command that measures it."""

    claim: str
    found: str
    verdict: str
    command: str

    def __str__(self) -> str:
        shown = self.command.removesuffix(" --seed 0")
        return f"- *{self.claim}:* {self.found}. `{shown}`"


@dataclass(frozen=True)
class Book:
    """The lines of every table that was measured."""

    lines: dict[str, list[Line]]

    def pick(
        self, table: str, method: str, cell: str, *, model: str = KDE, resamples: int = 99
    ) -> Line | None:
        """The line of a test of all rows in a cell; of several the one with most trials.

        Lines with too few trials for a verdict do not count.
        """
        wanted = (method, cell, model, resamples, "whole")
        names = ("method", "cell", "model", "resamples", "protocol")
        some = [x for x in self.judged(table) if tuple(x[name] for name in names) == wanted]
        return max(some, key=lambda line: line["trials"], default=None)

    def script(self, method: str) -> dict[str, Line]:
        """Lines of a test of the digits that the MNIST script prepares, by how, at its N = 200."""
        some = [x for x in self.judged("mnist") if (x["part"], x["method"]) == ("script", method)]
        return {x["cell"].partition(", N = ")[0]: x for x in some if x["tested"] == 100}

    def of(self, table: str) -> list[Line]:
        """Lines of a table of powers at level 0.05."""
        return [x for x in self.lines.get(table, []) if x["alpha"] == 0.05]

    def judged(self, table: str) -> list[Line]:
        """Lines of a table at level 0.05 with enough trials for a verdict."""
        return [x for x in self.of(table) if min(x["trials"], x["null_trials"]) >= LEAST_TRIALS]

    def cells(self, table: str) -> list[str]:
        """Cells of a table at level 0.05."""
        return list(dict.fromkeys(line["cell"] for line in self.of(table)))

    def pair(self, table: str, cell: str, model: str, other: str) -> tuple[Line, Line] | None:
        """R-Div and another test at the same rows, permutations and trials, if both are there."""
        keys = ("cell", "model", "resamples", "tested", "trials", "protocol")
        here = [x for x in self.judged(table) if (x["cell"], x["model"]) == (cell, model)]
        found = [
            (r, x)
            for r in here
            for x in here
            if r["method"] == "R-Div" and x["method"] == other
            if all(r[key] == x[key] for key in keys)
        ]
        return max(found, key=lambda both: both[0]["trials"], default=None)


def best_lines(lines: Sequence[Line]) -> list[Line]:
    """Of lines of one test at one place, those of the scale that has most trials there."""
    best: dict[tuple[object, ...], Line] = {}
    for line in lines:
        best[_place(line)] = max(best.get(_place(line), line), line, key=_weight)
    return [x for x in lines if best[_place(x)]["scale"] == x["scale"]]


def _place(line: Line) -> tuple[object, ...]:
    """What is measured, wherever: without the scale and the part of a table of powers."""
    left_out = ("scale", "part") if "cell" in line else () if "share" in line else ("scale",)
    return tuple(line.get(name) for name in KEYS if name not in left_out)


def _weight(line: Line) -> tuple[int, int]:
    trials = line["draws"] if "draws" in line else line["trials"]
    return trials, SCALES.index(line["scale"])


def at(line: Line) -> str:
    """The command that measures a line."""
    return command(line["table"], line["scale"], line["seed"], [line["part"]], [line["n_p"]])


def text(line: Line) -> str:
    """A rate with its interval."""
    return f"{line['rate']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"


def of(line: Line) -> str:
    """Rejections of trials."""
    return f"{line['rejections']} of {line['trials']}"


def versus(r: Line, other: Line) -> str:
    """Rejections by R-Div and by another test of the same draws."""
    return f"{r['rejections']} / {other['rejections']} of {r['trials']}"


def series(pairs: Sequence[tuple[Line, Line]], where: Callable[[Line], object]) -> str:
    """Rejections of several pairs of tests, and where each is; of as many trials at a time.

    Examples
    --------
    >>> r, h = {"rejections": 7, "trials": 40, "n_p": 500}, {"rejections": 38, "trials": 40}
    >>> print(series([(r, h), (r | {"n_p": 900}, h)], lambda line: line["n_p"]))
    7 / 38, 7 / 38 of 40 at 500, 900
    """
    texts = []
    for trials in dict.fromkeys(r["trials"] for r, _ in pairs):
        some = [(r, other) for r, other in pairs if r["trials"] == trials]
        counts = ", ".join(f"{r['rejections']} / {other['rejections']}" for r, other in some)
        texts.append(f"{counts} of {trials} at {', '.join(str(where(r)) for r, _ in some)}")
    return ", ".join(texts)


def mean(line: Line) -> str:
    """A gap in nats with its t interval."""
    low, high = t_interval(line["gap"], line["gap_sd"], line["draws"])
    return f"{line['gap']:.1f} [{low:.1f}, {high:.1f}]"
