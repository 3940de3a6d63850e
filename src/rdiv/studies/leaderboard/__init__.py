"""The leaderboard: tests side by side on named cells, the level beside the power."""

from __future__ import annotations

from rdiv.studies.leaderboard.board import TESTS, Board, OwnPvalue, as_board, finished, run_board
from rdiv.studies.leaderboard.cells import CELLS, Cell, cells_named, with_data
from rdiv.studies.leaderboard.page import as_document, as_page, as_table
from rdiv.studies.leaderboard.picture import as_picture
from rdiv.studies.leaderboard.standings import Standings, lead, regret, standings

__all__ = [
    "CELLS",
    "TESTS",
    "Board",
    "Cell",
    "OwnPvalue",
    "Standings",
    "as_board",
    "as_document",
    "as_page",
    "as_picture",
    "as_table",
    "cells_named",
    "finished",
    "lead",
    "regret",
    "run_board",
    "standings",
    "with_data",
]
