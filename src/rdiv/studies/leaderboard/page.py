"""The leaderboard as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rdiv.studies.leaderboard.board import TESTS, Board
from rdiv.studies.leaderboard.counts import Counts
from rdiv.studies.leaderboard.standings import (
    CellLine,
    Rate,
    Regret,
    Standing,
    Standings,
    lead,
)

__all__ = ["as_page"]

MEAN_GOAL, CELL_GOAL = 0.05, 0.15
"""Of omnibus: mean regret at most the first, no lower end of an interval above the second."""

UNSEEN = 0.5
"""A cell in which no test rejects in this share of the draws."""

_RULES = """\
*Regret*: power of the best test of a cell minus that of this one. The best test is named on the odd
trials and measured on the even ones, and the other way round; the two differences are averaged.
Brackets are 95 % intervals, from paired differences of the trials, or Wilson's for rates. *False
alarms*: all true nulls together, and the cells in which a one-sided binomial test finds more than
alpha, adjusted by Holm over the cells. *Seconds*: processor time of one test alone, one draw of
every cell, without the draw. `a + b` rows are a of p and b of q. Every number is in
[leaderboard.csv](leaderboard.csv).
"""


def as_page(
    board: Board,
    counts: Counts,
    found: Standings,
    *,
    note: str = "",
    command: str = "",
    picture: str = "",
) -> str:
    """The leaderboard in Markdown, sorted by mean regret.

    Parameters
    ----------
    note : str
        A comment below the title.
    command : str
        What writes this page again.
    picture : str
        The file of the picture, relative to the page.
    """
    opening = _opening(board, found, note, command)
    return "\n".join([*opening, *_body(board, counts, found, picture)]) + "\n"


def _body(board: Board, counts: Counts, found: Standings, picture: str) -> Iterator[str]:
    if not found.cells and not found.trained:
        yield "No cell has enough trials yet."
        return
    if found.cells:
        yield from ("## Tests", "", *_tests(found.tests), "")
        yield from (f"![Power of every test in every cell]({picture})", "") if picture else ()
        yield from _goal(board, counts, found)
    if found.trained:
        yield from _beside_trained(found)
    yield from _unseen(found)
    if found.cells:
        yield from ("## Every cell", "", "Power.", "", *_cells(found.tests, found.cells), "")
        yield from ("## Every null", "", "False alarms.", "", *_nulls(found.tests, found.cells))


def _beside_trained(found: Standings) -> Iterator[str]:
    yield from ("## Tests that train, beside all others", "")
    yield (
        f"In {found.trained[0].cells} cells, on their first trials alone; a test that trains does "
        "so on one half of the rows and tests on the other."
    )
    yield from ("", *_tests(found.trained), "", "Power:", "")
    yield from (*_cells(found.trained, found.trained_cells), "")


def _opening(board: Board, found: Standings, note: str, command: str) -> Iterator[str]:
    done, asked = sum(line.trials for line in found.cells), board.trials * len(board.cells)
    yield from ("# Leaderboard of two-sample tests", "")
    yield from (f"<!-- {note} -->", "") if note else ()
    yield (
        f"{len(board.labels)} tests on {len(board.cells)} cells, each with its true null beside "
        f"it: level {board.alpha:g}, {board.n_resamples} permutations, seed {board.seed}. "
        "All tests see the same draws."
    )
    yield ""
    if _complete(board, found):
        yield f"The study is complete: {board.trials} trials in every cell, and as many nulls."
    else:
        yield (
            f"**The study is unfinished**: {done} of {asked} trials are done by every test that "
            "does not train; the figures will change. "
            f"Trials per cell so far: {_range(found.cells)}."
        )
    yield from ("", _RULES)
    yield from (f"Command: `{command}`.", "") if command else ()


def _complete(board: Board, found: Standings) -> bool:
    """Whether every test that does not train has done all trials and nulls of every cell."""
    return len(found.cells) == len(board.cells) and all(
        rate.trials == board.trials
        for line in found.cells
        for rate in (*line.power.values(), *line.null.values())
    )


def _range(cells: Sequence[CellLine]) -> str:
    trials = [line.trials for line in cells] or [0]
    return f"{min(trials)}" if min(trials) == max(trials) else f"{min(trials)} to {max(trials)}"


def _tests(tests: Sequence[Standing]) -> Iterator[str]:
    yield (
        "| test | mean regret | largest regret | largest lower bound | false alarms | "
        "cells above alpha | smallest Holm p | seconds |"
    )
    yield "|---" * 8 + "|"
    for one in tests:
        yield (
            f"| {_escaped(one.test)} | {_regret(one.regret, 3)} | {one.largest[1]:+.2f} "
            f"({one.largest[0]}) | {one.largest_low[1]:+.2f} ({one.largest_low[0]}) | "
            f"{_rate(one.null, 3)} | {', '.join(one.above) or 'none'} | {one.smallest:.2g} | "
            f"{one.seconds:.3g} |"
        )


def _goal(board: Board, counts: Counts, found: Standings) -> Iterator[str]:
    """What omnibus set out to reach, and how far ahead of other aggregated tests it is."""
    one = next((one for one in found.tests if one.test == "omnibus"), None)
    if one is None:
        return
    so_far = "" if _complete(board, found) else " so far"
    yield from ("## The goal for omnibus, with one default setting", "")
    yield (
        f"- Mean regret at most {MEAN_GOAL:.2f}: {_regret(one.regret, 3)}, "
        f"{_met(one.regret.value <= MEAN_GOAL)}{so_far}."
    )
    low = one.largest_low
    yield (
        f"- No cell whose lower bound exceeds {CELL_GOAL:.2f}: the largest is {low[1]:+.2f} "
        f"({low[0]}), {_met(low[1] <= CELL_GOAL)}{so_far}."
    )
    for other in board.labels:
        if other not in TESTS:
            ahead = lead(board, counts, "omnibus", other)
            yield (
                f"- Lead over {_escaped(other)}, mean difference of power on the same draws of "
                f"{ahead.cells} cells: {_regret(Regret(ahead.value, ahead.error), 3)}."
            )
    yield ""


def _met(reached: bool) -> str:
    return "met" if reached else "missed"


def _unseen(found: Standings) -> Iterator[str]:
    yield from ("## What no test sees", "")
    best = {line.name: found.best(line) for line in found.cells or found.trained_cells}
    none = {name: one for name, one in best.items() if one[1].value < UNSEEN}
    if not none:
        yield f"In every cell some test rejects in at least {UNSEEN:.0%} of the draws."
    else:
        yield f"Cells in which no test rejects in {UNSEEN:.0%} of the draws, with the best of them:"
        yield ""
        for name, (test, rate) in none.items():
            yield f"- {name}: {_escaped(test)}, {_rate(rate, 2)}"
    yield ""


def _cells(tests: Sequence[Standing], cells: Sequence[CellLine]) -> Iterator[str]:
    names = [one.test for one in tests]
    yield "| cell | rows | trials | " + " | ".join(map(_escaped, names)) + " |"
    yield "|---" * (len(names) + 3) + "|"
    for line in cells:
        rates = " | ".join(f"{line.power[test].value:.2f}" for test in names)
        yield f"| {line.name} | {line.rows} | {line.trials} | {rates} |"


def _nulls(tests: Sequence[Standing], cells: Sequence[CellLine]) -> Iterator[str]:
    names = [one.test for one in tests]
    yield "| cell | trials | " + " | ".join(map(_escaped, names)) + " |"
    yield "|---" * (len(names) + 2) + "|"
    for line in cells:
        rates = " | ".join(f"{line.null[test].value:.2f}" for test in names)
        yield f"| {line.name} | {line.null[names[0]].trials} | {rates} |"


def _rate(rate: Rate, digits: int) -> str:
    low, high = rate.interval
    return f"{rate.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _regret(behind: Regret, digits: int) -> str:
    low, high = behind.interval
    return f"{behind.value:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
