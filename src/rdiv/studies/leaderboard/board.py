"""The study that the leaderboard is: cells, tests and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.protocol import is_discrepancy
from rdiv.errors import InputError
from rdiv.names import one_line
from rdiv.sources.protocol import Source, in_memory
from rdiv.studies.leaderboard.cells import Cell
from rdiv.studies.study import Study, StudyTest, as_study, as_study_test

__all__ = ["TESTS", "Board", "OwnPvalue", "as_board"]

TESTS = (
    "omnibus", "r-div", "score", "inputs", "energy", "mmd-o", "ks-loss",
    "c2st-l", "c2st-l:boosting", "mmd-d",
)  # fmt: skip
"""The tests of rdiv that take part."""


@runtime_checkable
class OwnPvalue(Protocol):
    """A test of another package, which comes with its own p-value."""

    def pvalue(
        self, p: NDArray[np.float64], q: NDArray[np.float64], n_resamples: int, seed: int
    ) -> tuple[float, float]:
        """The p-value of two samples of numbers, and the processor seconds that it took."""
        ...


@dataclass(frozen=True, eq=False)
class Board:
    """Cells, tests and counts: the study that the leaderboard is.

    Parameters
    ----------
    cells : tuple of Cell
    tests : tuple of StudyTest
        Tests of this package, or objects with `prepare(pool, rng)`.
    outside : mapping of str to OwnPvalue
        Tests that compute their own p-values, by their names.
    trials : int
        Draws per cell and under its null.
    trained_trials : int
        Draws for tests that learn with labels, in the cells that are marked for them.
    n_resamples : int
    alpha : float
    seed : int
    """

    cells: tuple[Cell, ...]
    tests: tuple[StudyTest, ...]
    outside: Mapping[str, OwnPvalue] = field(default_factory=dict)
    trials: int = 200
    trained_trials: int = 50
    n_resamples: int = 199
    alpha: float = 0.05
    seed: int = 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of all tests, in their order."""
        return (*(self._label(test) for test in self.tests), *self.outside)

    @cached_property
    def learners(self) -> frozenset[str]:
        """The tests that learn with labels, and therefore run in some cells only."""
        ours = {self._label(test) for test in self.tests if test.learns(self.cells[0].drawn)}
        theirs = {name for name, test in self.outside.items() if getattr(test, "learns", False)}
        return frozenset(ours | theirs)

    def trials_of(self, cell: Cell, label: str) -> int:
        """How often a test runs in a cell."""
        if label not in self.learners:
            return self.trials
        return min(self.trials, self.trained_trials) if cell.trained else 0

    def study(self, cell: Cell) -> Study:
        """The trials of one cell as a power study: the same draws for every test."""
        return as_study(
            [_loaded(cell)], list(self.tests), sizes=cell.n, trials=self.trials, repeats=1,
            n_resamples=self.n_resamples, alpha=self.alpha, train="half", null=True,
            seed=self.seed, share_fits=True,
        )  # fmt: skip

    def _label(self, test: StudyTest) -> str:
        return test.label(self.cells[0].drawn)


@lru_cache(maxsize=64)
def _loaded(cell: Cell) -> Source:
    """The source of a cell with its data in memory: files are read once in a process."""
    return in_memory(cell.drawn)


def as_board(
    cells: Sequence[Cell], methods: Sequence[Any] = (), tests: Sequence[Any] = TESTS, **counts: Any
) -> Board:
    """A board of cells, tests of rdiv and methods of the user.

    Parameters
    ----------
    methods : sequence
        Objects with `prepare(pool, rng)`, or with `pvalue(p, q, n_resamples, seed)`, or names of
        installed tests.
    tests : sequence
        Names of tests of rdiv, such as ``r-div:gmm``, or objects.

    Examples
    --------
    >>> from rdiv.studies.leaderboard import cells_named
    >>> print(as_board(cells_named(["blob*"]), tests=["energy"], trials=20).labels)
    ('energy',)
    """
    if not cells:
        raise InputError("no cell is left to run; give a folder of data or other cells.")
    outside = [one for one in methods if _has_pvalue(one)]
    own = [one for one in methods if not _has_pvalue(one)]
    chosen = tuple(as_study_test(test) for test in [*tests, *own])
    names = [_outside_name(one) for one in outside]
    board = Board(tuple(cells), chosen, dict(zip(names, outside, strict=True)), **counts)
    labels = [*board.labels[: len(chosen)], *names]
    if not labels:
        raise InputError("no test is left to run; name at least one.")
    if len({*labels}) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"the tests of a leaderboard must differ, got {twice} twice.")
    return board


def _has_pvalue(test: Any) -> bool:
    return isinstance(test, OwnPvalue) and not is_discrepancy(test)


def _outside_name(test: Any) -> str:
    return one_line(str(getattr(test, "name", type(test).__name__)))
