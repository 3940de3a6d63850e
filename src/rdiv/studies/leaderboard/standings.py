"""From rejections to a leaderboard: power, regret, level and cost of every test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.multiplicity import holm
from rdiv.studies.leaderboard.board import Board
from rdiv.studies.leaderboard.cells import Cell
from rdiv.studies.leaderboard.counts import Counts

__all__ = ["CellLine", "Lead", "Rate", "Regret", "Standing", "Standings", "lead", "regret",
           "standings"]  # fmt: skip

FEWEST = 4
"""Trials from which on a cell counts: two to name the best test, two to measure it."""

Rejections = dict[str, NDArray[np.bool_]]


@dataclass(frozen=True)
class Rate:
    """A share of trials with its 95 % Wilson interval."""

    rejections: int
    trials: int

    @property
    def value(self) -> float:
        """The share."""
        return self.rejections / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % Wilson interval."""
        from scipy.stats import binomtest

        found = binomtest(self.rejections, self.trials).proportion_ci(method="wilson")
        return float(found.low), float(found.high)


@dataclass(frozen=True)
class Regret:
    """How far a test is behind the best one of a cell; `best` names that."""

    value: float
    error: float
    best: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, from paired differences of the trials."""
        return self.value - 1.96 * self.error, self.value + 1.96 * self.error


def regret(rejected: Rejections, test: str) -> Regret:
    """Rate of the best test minus that of `test`, each measured where the best was not named.

    The best test is named on the odd trials and measured on the even ones, and the other way
    round; the two differences are averaged. Ties go to `test` itself, then to the first.

    Examples
    --------
    >>> strong, weak = np.ones(8, bool), np.arange(8) < 4
    >>> found = regret({"strong": strong, "weak": weak}, "weak")
    >>> print(found.value, found.best)
    0.5 ('strong',)
    """
    places = np.arange(len(rejected[test]))
    halves = [places % 2 == 0, places % 2 == 1]
    order = [test, *(name for name in rejected if name != test)]
    gaps, errors, names = [], [], []
    for naming, measuring in (halves, halves[::-1]):
        best = max(order, key=lambda name: rejected[name][naming].mean())
        behind = rejected[best][measuring].astype(float) - rejected[test][measuring]
        gaps.append(behind.mean())
        errors.append(behind.std(ddof=1) / len(behind) ** 0.5)
        names.append(best)
    return Regret(float(np.mean(gaps)), float(np.hypot(*errors)) / 2, tuple(dict.fromkeys(names)))


@dataclass(frozen=True)
class Lead:
    """Mean difference of power of one test over another, over the cells that both ran in."""

    over: str
    cells: int
    value: float
    error: float


def lead(board: Board, counts: Counts, test: str, over: str) -> Lead:
    """How much more often one test rejects than another, on the same draws."""
    values, errors = [], []
    for cell in board.cells:
        found = counts.together(cell.name, False, (test, over))
        gaps = found[test].astype(float) - found[over]
        if len(gaps) >= FEWEST:
            values.append(gaps.mean())
            errors.append(gaps.std(ddof=1) / len(gaps) ** 0.5)
    if not values:
        return Lead(over, 0, float("nan"), float("nan"))
    spread = float(np.sqrt(np.square(errors).sum())) / len(errors)
    return Lead(over, len(values), float(np.mean(values)), spread)


@dataclass(frozen=True)
class CellLine:
    """One cell: the rate of every test, on draws that differ and under the null."""

    name: str
    rows: str
    trials: int
    power: dict[str, Rate]
    null: dict[str, Rate]
    regret: dict[str, Regret]

    @property
    def best(self) -> tuple[str, Rate]:
        """The test with the largest rate, and that rate."""
        return max(self.power.items(), key=lambda item: item[1].value)


@dataclass(frozen=True)
class Standing:
    """One test over all cells.

    Parameters
    ----------
    test : str
    cells, trials : int
        Cells that it ran in, and trials in all of them together (without the nulls).
    regret : Regret
        The mean over these cells.
    largest, largest_low : tuple of (str, float)
        The cell with the largest regret, and the largest lower end of a 95 % interval.
    null : Rate
        All true nulls together.
    above : tuple of str
        Cells whose nulls are rejected too often, by Holm over the cells at 5 %.
    smallest : float
        The smallest adjusted p-value of these one-sided binomial tests.
    seconds : float
        Mean processor seconds of one test.
    """

    test: str
    cells: int
    trials: int
    regret: Regret
    largest: tuple[str, float]
    largest_low: tuple[str, float]
    null: Rate
    above: tuple[str, ...]
    smallest: float
    seconds: float


@dataclass(frozen=True)
class Standings:
    """All tests, the best first, and all cells.

    Parameters
    ----------
    tests, cells : tuple
        The tests that learn nothing with labels, on all cells.
    trained, trained_cells : tuple
        All tests, those that learn included, on the cells and trials that these ran in.
    """

    tests: tuple[Standing, ...]
    trained: tuple[Standing, ...]
    cells: tuple[CellLine, ...]
    trained_cells: tuple[CellLine, ...] = ()

    def best(self, cell: CellLine) -> tuple[str, Rate]:
        """The test with the largest rate in a cell, those that learn included."""
        also = [line.best for line in self.trained_cells if line.name == cell.name]
        return max([cell.best, *also], key=lambda item: item[1].value)


def standings(board: Board, counts: Counts) -> Standings:
    """Sort the tests by mean regret; those that learn are compared with all on their own cells."""
    always = [label for label in board.labels if label not in board.learners]
    lines = _lines(counts, always, board.cells) if always else ()
    few: tuple[CellLine, ...] = ()
    if board.learners:
        marked = [cell for cell in board.cells if cell.trained]
        few = _lines(counts, board.labels, marked)
    return Standings(
        _sorted(board, counts, lines, always), _sorted(board, counts, few, board.labels), lines, few
    )


def _lines(counts: Counts, labels: Sequence[str], cells: Sequence[Cell]) -> tuple[CellLine, ...]:
    found = []
    for cell in cells:
        power = counts.together(cell.name, False, labels)
        null = counts.together(cell.name, True, labels)
        trials = len(next(iter(power.values())))
        if trials < FEWEST or len(next(iter(null.values()))) < FEWEST:
            continue
        found.append(
            CellLine(
                cell.name, cell.rows, trials,
                {label: _rate(power[label]) for label in labels},
                {label: _rate(null[label]) for label in labels},
                {label: regret(power, label) for label in labels},
            )
        )  # fmt: skip
    return tuple(found)


def _rate(rejected: NDArray[np.bool_]) -> Rate:
    return Rate(int(rejected.sum()), len(rejected))


def _sorted(
    board: Board, counts: Counts, lines: Sequence[CellLine], labels: Sequence[str]
) -> tuple[Standing, ...]:
    if not lines:
        return ()
    found = [_standing(board, counts, lines, label) for label in labels]
    return tuple(sorted(found, key=lambda one: one.regret.value))


def _standing(board: Board, counts: Counts, lines: Sequence[CellLine], label: str) -> Standing:
    regrets = {line.name: line.regret[label] for line in lines}
    errors = np.array([one.error for one in regrets.values()])
    mean = Regret(
        float(np.mean([one.value for one in regrets.values()])),
        float(np.sqrt(np.square(errors).sum())) / len(errors),
    )
    adjusted = holm([_too_many(line.null[label], board.alpha) for line in lines])
    seconds = [counts.seconds.get((line.name, label), np.nan) for line in lines]
    return Standing(
        label, len(lines), sum(line.trials for line in lines), mean,
        _largest({name: one.value for name, one in regrets.items()}),
        _largest({name: one.interval[0] for name, one in regrets.items()}),
        Rate(
            sum(line.null[label].rejections for line in lines),
            sum(line.null[label].trials for line in lines),
        ),
        tuple(line.name for line, p in zip(lines, adjusted, strict=True) if p <= 0.05),
        float(adjusted.min()),
        float(np.nanmean(seconds)) if np.isfinite(seconds).any() else float("nan"),
    )  # fmt: skip


def _largest(values: dict[str, Any]) -> tuple[str, float]:
    name = max(values, key=lambda one: values[one])
    return name, float(values[name])


def _too_many(null: Rate, alpha: float) -> float:
    """P-value of a one-sided binomial test for more false alarms than alpha allows."""
    from scipy.stats import binomtest

    return float(binomtest(null.rejections, null.trials, alpha, alternative="greater").pvalue)
