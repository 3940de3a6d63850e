"""What a leaderboard has found so far, read off the rows of its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.studies.leaderboard.board import Board

__all__ = ["Counts", "belongs", "finished"]


@dataclass(frozen=True)
class Counts:
    """What a board has found so far.

    Parameters
    ----------
    rejected : dict
        By cell, null and test: whether it rejected, by the number of the trial.
    seconds : dict
        Processor seconds of one test, by cell and test.
    """

    rejected: dict[tuple[str, bool, str], dict[int, bool]]
    seconds: dict[tuple[str, str], float]

    def together(
        self, cell: str, null: bool, labels: Sequence[str]
    ) -> dict[str, NDArray[np.bool_]]:
        """Whether each of these tests rejected, in the trials that all of them have done."""
        found = {label: self.rejected.get((cell, null, label), {}) for label in labels}
        trials = sorted(set.intersection(*(set(done) for done in found.values())))
        return {label: np.array([done[t] for t in trials], bool) for label, done in found.items()}


def finished(board: Board, rows: Sequence[Mapping[str, Any]]) -> Counts:
    """The rejections of every test in the trials that are done."""
    rejected: dict[tuple[str, bool, str], dict[int, bool]] = {}
    seconds: dict[tuple[str, str], float] = {}
    cells = {(cell.name, str(cell.drawn)): cell for cell in board.cells}
    most = board.alpha * (board.n_resamples + 1) + 1e-9
    for row in rows:
        cell = cells.get((row["cell"], row["source"]))
        if cell is None or not belongs(board, row):
            continue
        for label in set(row["counts"]) & set(board.labels):
            if "seconds" in row:
                seconds[row["cell"], label] = row["seconds"][label]
                continue
            place = rejected.setdefault((row["cell"], row["null"], label), {})
            for trial, count in enumerate(row["counts"][label], row["first"]):
                if trial < board.trials_of(cell, label):
                    place[trial] = count <= most
    return Counts(rejected, seconds)


def belongs(board: Board, row: Mapping[str, Any]) -> bool:
    """Whether a row of the journal is about draws of this board."""
    return (row["seed"], row["resamples"]) == (board.seed, board.n_resamples)
