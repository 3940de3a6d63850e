"""The leaderboard as files: a page, a table of numbers, a picture and a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdiv.studies.leaderboard.board import Board
from rdiv.studies.leaderboard.counts import finished
from rdiv.studies.leaderboard.page import as_page
from rdiv.studies.leaderboard.picture import as_picture
from rdiv.studies.leaderboard.standings import CellLine, Standing, Standings, standings
from rdiv.studies.tables import as_csv

__all__ = ["as_document", "as_files", "as_table"]


def as_files(
    board: Board, rows: Sequence[Mapping[str, Any]], *, note: str = "", command: str = ""
) -> dict[str, str]:
    """The page, the numbers and the picture by the names of their files.

    Parameters
    ----------
    rows : sequence
        Those of the journal; whatever is finished is shown.
    note, command : str
        A comment for the head of the page, and what writes it again.
    """
    counts = finished(board, rows)
    found = standings(board, counts)
    files = {"leaderboard.csv": as_table(found)}
    if found.tests:
        files["leaderboard.svg"] = as_picture(found)
    picture = "leaderboard.svg" if found.tests else ""
    page = as_page(board, counts, found, note=note, command=command, picture=picture)
    return {"leaderboard.md": page, **files}


_COLUMNS = (
    "tests", "cell", "rows", "test", "null", "trials", "rejections", "rate", "low", "high",
    "regret", "regret_low", "regret_high", "best",
)  # fmt: skip


def as_table(found: Standings) -> str:
    """Every cell and test as CSV text: rates, intervals, regret.

    The first column says which tests stand side by side: those that train nothing, on all cells, or
    all of them, on the cells and trials of those that train.
    """
    table: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for tests, lines in (("untrained", found.cells), ("all", found.trained_cells)):
        for line in lines:
            for test in line.power:
                for null in (False, True):
                    values = (tests, line.name, line.rows, test, null, *_numbers(line, test, null))
                    for name, value in zip(_COLUMNS, values, strict=True):
                        table[name].append(value)
    return as_csv(table)


def _numbers(line: CellLine, test: str, null: bool) -> tuple[Any, ...]:
    rate, behind = (line.null if null else line.power)[test], line.regret[test]
    shares = (rate.value, *rate.interval)
    ends = (None,) * 3 if null else (behind.value, *behind.interval)
    return (
        rate.trials, rate.rejections, *map(_rounded, shares), *map(_rounded, ends),
        None if null else " or ".join(behind.best),
    )  # fmt: skip


def as_document(board: Board, found: Standings) -> dict[str, Any]:
    """What ``--json`` writes: the study, the tests and the cells; no times."""
    return {
        "study": {
            "cells": [cell.name for cell in board.cells],
            "tests": list(board.labels),
            "trials": board.trials,
            "trained_trials": board.trained_trials,
            "n_resamples": board.n_resamples,
            "alpha": board.alpha,
            "seed": board.seed,
        },
        "tests": [_test_document(one) for one in found.tests],
        "trained": [_test_document(one) for one in found.trained],
        "cells": [_cell_document(line) for line in found.cells],
        "trained_cells": [_cell_document(line) for line in found.trained_cells],
    }


def _cell_document(line: CellLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "rows": line.rows,
        "trials": line.trials,
        "power": {test: rate.value for test, rate in line.power.items()},
        "null": {test: rate.value for test, rate in line.null.items()},
        "regret": {test: behind.value for test, behind in line.regret.items()},
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
