"""The lines behind the results page, and the short statements that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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


def at(first: Line, *others: Line) -> str:
    """The command that measures a line, and others of its table and scale."""
    lines = [first, *(x for x in others if x["scale"] == first["scale"])]
    parts, sizes = (dict.fromkeys(x[name] for x in lines) for name in ("part", "n_p"))
    return command(first["table"], first["scale"], first["seed"], list(parts), sorted(sizes))


def text(line: Line) -> str:
    """A rate with its interval."""
    return f"{line['rate']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"


def of(line: Line) -> str:
    """Rejections of trials."""
    return f"{line['rejections']} of {line['trials']}"


def versus(r: Line, other: Line) -> str:
    """Rejections by R-Div and by another test of the same draws."""
    return f"{counts([(r, other)])} of {r['trials']}"


def series(
    found: Mapping[str, Sequence[tuple[Line, Line]]],
    where: Callable[[Line], object],
    spoken: str = "{}",
) -> str:
    """Rejections of pairs of tests by the name of what they have in common, and where each is.

    What all have in common, trials and places, is said once, at the end, with places as `spoken`.

    Examples
    --------
    >>> r = {"method": "R-Div", "rejections": 7, "trials": 40, "n_p": 500}
    >>> h = {"method": "H-Div", "rejections": 38, "trials": 40}
    >>> pairs = [(r, h), (r | {"n_p": 900}, h)]
    >>> rows = lambda line: line["n_p"]
    >>> print(series({"a mixture": pairs}, rows))
    R-Div 7 each, H-Div 38 each of 40 at 500, 900 with a mixture
    >>> print(series({"one": pairs[:1], "two": pairs[:1]}, rows, "{} rows"))
    R-Div 7, H-Div 38 with one; R-Div 7, H-Div 38 with two; all of 40 at 500 rows
    """
    parts = [
        (counts(some), f"of {trials} at {spoken.format(_places(some, where))}", name)
        for name, pairs in found.items()
        for trials in dict.fromkeys(r["trials"] for r, _ in pairs)
        if (some := [pair for pair in pairs if pair[0]["trials"] == trials])
    ]
    if len(parts) > 1 and len({place for _, place, _ in parts}) == 1:
        alike = [f"{said} with {name}" for said, _, name in parts]
        return f"{'; '.join(alike)}; all {parts[0][1]}"
    return "; ".join(f"{said} {place} with {name}" for said, place, name in parts)


def _places(pairs: Sequence[tuple[Line, Line]], where: Callable[[Line], object]) -> str:
    return ", ".join(str(where(r)) for r, _ in pairs)


def counts(pairs: Sequence[tuple[Line, Line]]) -> str:
    """Rejections of each of two tests, one after the other.

    Examples
    --------
    >>> r, h = {"method": "R-Div", "rejections": 7}, {"method": "H-Div", "rejections": 8}
    >>> print(counts([(r, h), (r | {"rejections": 9}, h)]))
    R-Div 7, 9, H-Div 8 each
    """
    return ", ".join(
        f"{side[0]['method']} {each(str(x['rejections']) for x in side)}"
        for side in zip(*pairs, strict=True)
    )


def each(texts: Iterable[str]) -> str:
    """Texts in their order; one that is all of several once.

    Examples
    --------
    >>> print(each("aab"), "or", each("aa"), "or", each("a"))
    a, a, b or a each or a
    """
    said = list(texts)
    return f"{said[0]} each" if len(said) > 1 == len(set(said)) else ", ".join(said)


def mean(line: Line) -> str:
    """A gap in nats with its t interval."""
    low, high = t_interval(line["gap"], line["gap_sd"], line["draws"])
    return f"{line['gap']:.1f} [{low:.1f}, {high:.1f}]"
