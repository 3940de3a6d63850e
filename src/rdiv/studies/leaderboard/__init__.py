"""The leaderboard: tests side by side on named cells, the level beside the power."""

from __future__ import annotations

from rdiv.studies.leaderboard.board import TESTS, Board, OwnPvalue, as_board
from rdiv.studies.leaderboard.cells import CELLS, Cell, cells_named, with_data
from rdiv.studies.leaderboard.counts import Counts, finished
from rdiv.studies.leaderboard.files import as_document, as_files
from rdiv.studies.leaderboard.running import run_board
from rdiv.studies.leaderboard.standings import Standings, lead, regret, standings

__all__ = [
    "CELLS",
    "TESTS",
    "Board",
    "Cell",
    "Counts",
    "OwnPvalue",
    "Standings",
    "as_board",
    "as_document",
    "as_files",
    "cells_named",
    "finished",
    "lead",
    "regret",
    "run_board",
    "standings",
    "with_data",
]
