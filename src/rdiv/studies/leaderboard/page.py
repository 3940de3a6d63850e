"""The leaderboard as a page, a table of numbers and a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rdiv.studies.leaderboard.board import Board, Counts
from rdiv.studies.leaderboard.standings import (
    CellLine,
    Rate,
    Regret,
    Standing,
    Standings,
    lead,
)
from rdiv.studies.tables import as_csv

__all__ = ["as_document", "as_page", "as_table"]

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
every cell. `a + b` rows are a of p and b of q.
"""


def as_page(
    board: Board, counts: Counts, found: Standings, *, command: str = "", picture: str = ""
) -> str:
    """The leaderboard in Markdown, sorted by mean regret.

    Parameters
    ----------
    command : str
        What writes this page again.
    picture : str
        The file of the picture, relative to the page.
    """
    return "\n".join(_lines(board, counts, found, command, picture)) + "\n"


def _lines(
    board: Board, counts: Counts, found: Standings, command: str, picture: str
) -> Iterator[str]:
    yield from _opening(board, found, command)
    if not found.cells:
        yield "No cell has enough trials yet."
        return
    yield from ("## Tests", "", *_tests(found.tests, board), "")
    yield from (f"![Power of every test in every cell]({picture})", "") if picture else ()
    yield from _goal(board, counts, found)
    if found.trained:
        yield from (
            "## Tests that train, beside all others",
            "",
            f"In {found.trained[0].cells} cells, on their first trials alone.",
            "",
            *_tests(found.trained, board),
            "",
        )
    yield from _unseen(found.cells)
    yield from ("## Every cell", "", *_cells(found), "")
    yield from ("## Every null", "", *_nulls(found))


def _opening(board: Board, found: Standings, command: str) -> Iterator[str]:
    done = sum(line.trials for line in found.cells)
    asked = board.trials * len(board.cells)
    yield "# Leaderboard of two-sample tests"
    yield ""
    yield (
        f"{len(board.labels)} tests on {len(board.cells)} cells, each with its true null beside "
        f"it: level {board.alpha:g}, {board.n_resamples} permutations, seed {board.seed}. "
        "All tests see the same draws."
    )
    yield ""
    if done < asked or any(line.trials < board.trials for line in found.cells):
        yield (
            f"**The study is unfinished**: {done} of {asked} trials are done in every test, and as "
            "many nulls; the figures will change. "
            f"Trials of a cell so far: {_range(found.cells)}."
        )
    else:
        yield f"The study is complete: {board.trials} trials in every cell, and as many nulls."
    yield from ("", _RULES)
    yield from (f"Command: `{command}`.", "") if command else ()


def _range(cells: Sequence[CellLine]) -> str:
    trials = [line.trials for line in cells] or [0]
    return f"{min(trials)}" if min(trials) == max(trials) else f"{min(trials)} to {max(trials)}"


def _tests(standings: Sequence[Standing], board: Board) -> Iterator[str]:
    yield (
        "| test | mean regret | largest regret | largest lower bound | false alarms | "
        "cells above alpha | smallest Holm p | seconds |"
    )
    yield "|---" * 8 + "|"
    for one in standings:
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
    yield from ("## The goal for omnibus, with one default setting", "")
    yield (
        f"- Mean regret at most {MEAN_GOAL:.2f}: {_regret(one.regret, 3)}, "
        f"{_met(one.regret.value <= MEAN_GOAL)}."
    )
    low = one.largest_low
    yield (
        f"- No cell whose lower bound exceeds {CELL_GOAL:.2f}: the largest is {low[1]:+.2f} "
        f"({low[0]}), {_met(low[1] <= CELL_GOAL)}."
    )
    for other in board.labels:
        if other in ("MmdFuse", "MmdAgg"):
            ahead = lead(board, counts, "omnibus", other)
            yield (
                f"- Lead over {other}, mean difference of power over {ahead.cells} cells: "
                f"{_regret(Regret(ahead.value, ahead.error), 3)}."
            )
    yield ""


def _met(reached: bool) -> str:
    return "met so far" if reached else "missed so far"


def _unseen(cells: Sequence[CellLine]) -> Iterator[str]:
    yield from ("## What no test sees", "")
    none = [line for line in cells if line.best[1].value < UNSEEN]
    if not none:
        yield f"In every cell some test rejects in at least {UNSEEN:.0%} of the draws."
    else:
        yield f"Cells in which no test rejects in {UNSEEN:.0%} of the draws, with the best of them:"
        yield ""
        for line in none:
            yield f"- {line.name}: {line.best[0]}, {_rate(line.best[1], 2)}"
    yield ""


def _cells(found: Standings) -> Iterator[str]:
    tests = [one.test for one in found.tests]
    yield "| cell | rows | trials | " + " | ".join(map(_escaped, tests)) + " |"
    yield "|---" * (len(tests) + 3) + "|"
    for line in found.cells:
        rates = " | ".join(f"{line.power[test].value:.2f}" for test in tests)
        yield f"| {line.name} | {line.rows} | {line.trials} | {rates} |"


def _nulls(found: Standings) -> Iterator[str]:
    tests = [one.test for one in found.tests]
    yield "| cell | trials | " + " | ".join(map(_escaped, tests)) + " |"
    yield "|---" * (len(tests) + 2) + "|"
    for line in found.cells:
        rates = " | ".join(f"{line.null[test].value:.2f}" for test in tests)
        yield f"| {line.name} | {line.null[tests[0]].trials} | {rates} |"


def as_table(found: Standings) -> str:
    """Every cell and test as CSV text: rates, intervals, regret."""
    names = ("cell", "rows", "test", "null", "trials", "rejections", "rate", "low", "high",
             "regret", "regret_low", "regret_high", "best")  # fmt: skip
    table: dict[str, list[Any]] = {name: [] for name in names}
    for line in found.cells:
        for test in line.power:
            for null, rate in ((False, line.power[test]), (True, line.null[test])):
                behind = line.regret[test]
                low, high = rate.interval
                ends = (None, None) if null else behind.interval
                values = (
                    line.name, line.rows, test, null, rate.trials, rate.rejections,
                    round(rate.value, 4), round(low, 4), round(high, 4),
                    None if null else round(behind.value, 4), *(_rounded(end) for end in ends),
                    None if null else " or ".join(behind.best),
                )  # fmt: skip
                for name, value in zip(names, values, strict=True):
                    table[name].append(value)
    return as_csv(table)


def as_document(board: Board, found: Standings) -> dict[str, Any]:
    """What ``--json`` writes: the study, the tests and the cells; no times."""
    return {
        "study": {
            "cells": [cell.name for cell in board.cells],
            "tests": list(board.labels),
            "trials": board.trials,
            "n_resamples": board.n_resamples,
            "alpha": board.alpha,
            "seed": board.seed,
        },
        "tests": [_test_document(one) for one in found.tests],
        "trained": [_test_document(one) for one in found.trained],
        "cells": [
            {
                "name": line.name,
                "trials": line.trials,
                "power": {test: rate.value for test, rate in line.power.items()},
                "null": {test: rate.value for test, rate in line.null.items()},
                "regret": {test: behind.value for test, behind in line.regret.items()},
            }
            for line in found.cells
        ],
    }


def _test_document(one: Standing) -> dict[str, Any]:
    low, high = one.regret.interval
    return {
        "test": one.test,
        "cells": one.cells,
        "trials": one.trials,
        "regret": {"value": one.regret.value, "low": low, "high": high},
        "largest_regret": {"cell": one.largest[0], "value": one.largest[1]},
        "largest_lower_bound": {"cell": one.largest_low[0], "value": one.largest_low[1]},
        "false_alarms": one.null.value,
        "cells_above_alpha": list(one.above),
        "smallest_adjusted_pvalue": one.smallest,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _rate(rate: Rate, digits: int) -> str:
    low, high = rate.interval
    return f"{rate.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _regret(behind: Regret, digits: int) -> str:
    low, high = behind.interval
    return f"{behind.value:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
