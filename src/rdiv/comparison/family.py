"""Comparisons that are judged together: p-values and verdicts that hold for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.level_runs import LevelRun
from rdiv.comparison.levels_result import Comparisons, Level
from rdiv.comparison.result import Comparison
from rdiv.comparison.verdicts import verdict_of
from rdiv.errors import InputError
from rdiv.inference.multiplicity import CORRECTIONS, Correction
from rdiv.names import chosen_from

__all__ = ["DEFAULT_RESAMPLES", "Family", "permutations_for"]

DEFAULT_RESAMPLES = 999


@dataclass(frozen=True)
class Family:
    """Comparisons that are judged together.

    Parameters
    ----------
    size : int
        How many there are; the runs of levels count as one more.
    alpha : float
        Level of all of them together.
    correction : {"holm", "bh"}
    asked : int, optional
        Permutations asked for; as many as are needed without it.
    seed : int
    """

    size: int
    alpha: float
    correction: Correction
    asked: int | None
    seed: int

    def __post_init__(self) -> None:
        chosen_from(CORRECTIONS, self.correction, "correction")

    @property
    def n_resamples(self) -> int:
        """Permutations of each comparison."""
        return permutations_for(self.size, self.alpha, self.asked)

    def settings(self) -> dict[str, Any]:
        """What each comparison is run with."""
        share = self.alpha / self.size
        return {"alpha": share, "n_resamples": self.n_resamples, "rng": self.seed}

    def judged(
        self, found: Mapping[str, Comparison], run: LevelRun | None = None
    ) -> dict[str, Level]:
        """A level for each comparison, with p-values and a verdict that hold for all together."""
        lines = self._adjusted(list(found.values()), run)
        return {
            name: _level(name, one, adjusted, self.alpha)
            for (name, one), adjusted in zip(found.items(), lines, strict=True)
        }

    def adjusted_run(
        self, found: Mapping[str, Comparison], run: LevelRun | None
    ) -> LevelRun | None:
        """The run of levels with its p-value adjusted for all levels."""
        if run is None:
            return None
        whole = self._wholes(list(found.values()), run)
        return replace(run, adjusted_pvalue=float(whole[-1]), alpha=self.alpha)

    def _wholes(self, found: Sequence[Comparison], run: LevelRun | None) -> NDArray[np.float64]:
        """Adjusted p-values of all levels, and last that of the runs where these are tested."""
        pvalues = [one.pvalue for one in found]
        if self.size > len(pvalues):
            pvalues.append(1.0 if run is None else run.pvalue)
        return CORRECTIONS[self.correction](pvalues)

    def _adjusted(
        self, found: Sequence[Comparison], run: LevelRun | None
    ) -> list[dict[str, float]]:
        """P-values of every level, adjusted for all levels and questions, by question.

        Whether a level shifted at all is decided by the p-value of all its questions,
        ``"together"``, adjusted over the levels (and the runs of them, as one more member). Its
        questions are then judged by its own closed testing, at alpha over the number of members (so
        that no question of any level is claimed wrongly with more than probability alpha), or, when
        Benjamini and Hochberg select R of L members, at R / L of alpha (Benjamini and Bogomolov
        2014).
        """
        whole = self._wholes(found, run)
        selected = 1 if self.correction == "holm" else max(int((whole <= self.alpha).sum()), 1)
        factor = len(whole) / selected
        return [
            {"together": float(value)}
            | {
                name: float(min(1.0, max(factor * pvalue, value)))
                for name, pvalue in one.adjusted_pvalues.items()
            }
            for one, value in zip(found, whole, strict=False)
        ]

    def together(self, levels: Sequence[Level], by: str | None) -> Comparisons:
        """The result of all levels, those that were skipped included."""
        draws = self.n_resamples
        raised = self.asked is None and draws > DEFAULT_RESAMPLES
        return Comparisons(
            tuple(levels), self.correction, self.alpha, draws, self.seed, by, raised,
            no_runs="one pair of samples",
        )  # fmt: skip


def permutations_for(levels: int, alpha: float, asked: int | None) -> int:
    """Number of permutations with which a shift can be found in each of that many levels.

    Examples
    --------
    >>> print(permutations_for(4, 0.05, None), permutations_for(40, 0.05, None))
    999 3999
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1, got {alpha}.")
    least = ceil(levels / alpha - 1e-9) - 1
    if asked is None:  # five times the minimum, so that a larger p-value can reject too
        return max(DEFAULT_RESAMPLES, 5 * (least + 1) - 1)
    if asked < least:
        raise InputError(
            f"{asked} permutations can never find a shift among {levels} tests at alpha = "
            f"{alpha:g}; use at least {least}, or leave the number out."
        )
    return asked


def _level(name: str, one: Comparison, adjusted: dict[str, float], alpha: float) -> Level:
    questions = {name: pvalue for name, pvalue in adjusted.items() if name != "together"}
    verdict = verdict_of(questions, adjusted["together"], alpha, one.leading, one.labels)
    rows = one.results[one.leading].n_q
    return Level(name, rows, verdict=verdict, adjusted_pvalues=adjusted, comparison=one)
