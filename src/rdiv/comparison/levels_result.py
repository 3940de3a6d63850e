"""The result of compare_many: one line per level and a joint verdict, as text, JSON and HTML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdiv.comparison.level_runs import FEWEST_LEVELS, LevelRun
from rdiv.comparison.result import Comparison
from rdiv.comparison.sentences import asymptotic_because, further_looks, level_remark, tone
from rdiv.comparison.verdicts import RISK_SHIFTS, VERDICTS, Direction, Verdict
from rdiv.inference.multiplicity import Correction
from rdiv.results import SCHEMA, as_json, plain, short_block
from rdiv.whole_files import write_whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparisons", "Level"]

_LISTED = 40  # most levels that the text lists one by one
_WARNED = 10  # most warnings that the text lists
_NAMED = 3  # levels that the headline names
_METHODS = {"holm": "Holm", "bh": "Benjamini and Hochberg"}


@dataclass(frozen=True, eq=False)
class Level:
    """One comparison among many: of a current sample, or of a model.

    Parameters
    ----------
    name : str
    rows : int
        Rows of the current sample.
    verdict : str, optional
        The verdict as in `Comparison`, adjusted for all levels; None where the level was skipped.
    adjusted_pvalues : mapping of float
        p-values of all questions at once (``"together"``) and of each of them, adjusted for all
        levels.
    comparison : Comparison, optional
        The comparison of this level alone, at its share of alpha.
    skipped : str, optional
        Why the level was not compared.
    """

    name: str
    rows: int
    verdict: Verdict | None = None
    adjusted_pvalues: Mapping[str, float] = field(default_factory=dict)
    comparison: Comparison | None = None
    skipped: str | None = None

    @property
    def shifted(self) -> bool:
        """Whether a shift was found, after adjusting for all levels."""
        return self.verdict not in (None, "no shift")

    @property
    def direction(self) -> Direction | None:
        """Whether the mean loss got worse or better, for a risk shift, or is expected to."""
        if self.verdict not in RISK_SHIFTS or self.comparison is None:
            return None
        return self.comparison.lean

    def line(self) -> str:
        """The level in one line."""
        if self.comparison is None:
            return f"skipped, {self.skipped}"
        one, span = self.comparison, ""
        if one.leading_interval is not None:
            flag = "" if asymptotic_because(one, one.leading) is None else ", asymptotic"
            span = f" ({one.leading_interval.low:+.3g} to {one.leading_interval.high:+.3g}{flag})"
        words = f"{self.verdict}, {self.direction}" if self.direction else str(self.verdict)
        margins = [test for test in (one.equivalence, one.not_worse) if test is not None]
        shown = [f"; {'' if test.shown else 'not '}shown {_claim(test)}" for test in margins]
        kind = "expected gap" if one.labels == "none" else "gap"
        known = f"{one.leading_gap:+.3g}{span}" if one.leading_gap is not None else "unknown"
        p, gap = self.adjusted_pvalues["together"], f"{kind} {known}"
        return f"{words}; {gap}, p = {p:.3g}, {self.rows} rows{''.join(shown)}"

    def remark(self) -> str:
        """Why interval and verdict seem to disagree; empty where they agree."""
        if self.comparison is None:
            return ""
        pvalue = self.adjusted_pvalues[self.comparison.leading]
        text = level_remark(self.comparison.leading_interval, self.verdict or "", pvalue)
        return f"{self.name}: {text}" if text else ""

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        document: dict[str, Any] = plain(
            {
                "name": self.name,
                "rows": self.rows,
                "verdict": self.verdict,
                "direction": self.direction,
                "adjusted_pvalues": self.adjusted_pvalues,
                "skipped": self.skipped,
            }
        )
        one = None if self.comparison is None else self.comparison.to_dict()
        return {**document, "comparison": one}


def _word(level: Level) -> str:
    kinds = {"hidden shift": "hidden", "shift, kind not established": "kind not established"}
    if level.verdict == "expected risk shift":
        return f"expected {level.direction or 'change'}"
    return level.direction or kinds[str(level.verdict)]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _claim(test: Any) -> str:
    within = "within" if test.kind == "equivalence" else "not worse than"
    return f"{within} {test.margin:g}"


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """The result of comparing many current samples with one reference.

    Parameters
    ----------
    levels : tuple of Level
    correction : {"holm", "bh"}
    alpha : float
        Level of all comparisons together.
    n_resamples : int
        Permutations of each comparison.
    seed : int
    by : str, optional
        Column whose values are the levels.
    raised : bool
        Whether there are so many levels that the number of permutations was raised.
    run : LevelRun, optional
        The consecutive levels on one side of the reference that are farthest from it, as one
        sample; None where no neighbours lie on one side, or runs of levels were not tested.
    no_runs : str, optional
        Why runs of levels were not tested.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> days = {"mon": rng.normal(size=(80, 2)), "tue": rng.normal(size=(9, 2))}
    >>> found = rdiv.compare_many(rng.normal(size=(90, 2)), days, model="gmm", rng=0)
    >>> print(found.verdict, found.levels[1].skipped)
    no shift 9 rows, fewer than the 20 that a level needs
    """

    levels: tuple[Level, ...]
    correction: Correction
    alpha: float
    n_resamples: int
    seed: int
    by: str | None = None
    raised: bool = False
    run: LevelRun | None = None
    no_runs: str | None = None

    @property
    def shifted(self) -> bool:
        """Whether any level shifted, or consecutive ones together."""
        return self.run_shown or any(level.shifted for level in self.levels)

    @property
    def run_shown(self) -> bool:
        """Whether consecutive levels together were shown to change the mean loss."""
        return self.run is not None and self.run.shown

    def _run_says_more(self) -> bool:
        """Whether consecutive levels show together what none of them shows alone."""
        if self.run is None or not self.run.shown:
            return False
        alone = {level.name for level in self.levels if level.verdict == "risk shift"}
        return not alone & set(self.run.levels)

    @property
    def remarks(self) -> tuple[str, ...]:
        """A sentence for every level whose interval and verdict seem to disagree."""
        return tuple(text for level in self.tested if (text := level.remark()))

    @property
    def unit(self) -> str:
        """What a level is called."""
        return "model" if self.by == "model" else "level"

    @property
    def tested(self) -> tuple[Level, ...]:
        """Levels that were not skipped."""
        return tuple(level for level in self.levels if level.comparison is not None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all levels; each names its levels, unless it is about all of them."""
        found: dict[str, list[str]] = {}
        for level in self.tested:
            for text in () if level.comparison is None else level.comparison.warnings:
                found.setdefault(text, []).append(level.name)
        return tuple(
            text if len(names) == len(self.tested) else f"{_names(names)}: {text}"
            for text, names in found.items()
        )

    @property
    def verdict(self) -> Verdict:
        """The most serious verdict of any level; consecutive ones together give a risk shift."""
        found = {level.verdict for level in self.levels}
        found |= {"risk shift"} if self.run_shown else set()
        return next(verdict for verdict in VERDICTS if verdict in found)

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.details()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        colour = tone(self.verdict, None)
        label = f"{len(self.tested)} {self.unit}s"
        return short_block(label, self.headline(), self.details(), tone=colour)

    def headline(self) -> str:
        """The finding in one sentence."""
        shifted = [level for level in self.levels if level.shifted]
        total = len(self.tested)
        kind = "levels" if self.by is None else f"levels of {self.by}"
        named = [f"{level.name} ({_word(level)})" for level in shifted[:_NAMED]]
        more = f" and {len(shifted) - _NAMED} more" if len(shifted) > _NAMED else ""
        if self.by == "model":
            if not shifted:
                return f"No shift found for any of {total} models."
            return f"The samples differ for {len(shifted)} of {total} models: " + (
                f"{', '.join(named)}{more}."
            )
        if not shifted and self.run is not None and self.run.shown:
            return (
                f"No shift was shown in any of {total} {kind} alone, but {self.run.name()} "
                f"together changed the loss: {self.run.direction}, gap {self.run.gap:+.3g}."
            )
        if not shifted:
            return f"No shift found in any of {total} {kind}."
        row = ""
        if self.run is not None and self._run_says_more():
            gap = f"gap {self.run.gap:+.3g}"
            row = f" In a row, {self.run.name()} are {self.run.direction} ({gap})."
        return f"{len(shifted)} of {total} {kind} shifted: {', '.join(named)}{more}.{row}"

    def details(self) -> list[str]:
        """One line per level (only those that shifted, of very many), then how it was tested."""
        listed = self.levels
        if len(self.levels) > _LISTED:
            listed = tuple(level for level in self.levels if level.shifted)[:_LISTED]
        left = len(self.levels) - len(listed)
        warnings = self.warnings
        more = len(warnings) - _WARNED
        return [
            *(f"warning: {text}" for text in warnings[:_WARNED]),
            *([f"warning: {more} more are in the JSON"] if more > 0 else []),
            *(f"{level.name}: {level.line()}" for level in listed),
            *([f"not listed: {left} {self.unit}s, all of them in the JSON"] if left else []),
            *self._run_lines(),
            *(f"remark: {text}" for text in self.remarks[:_WARNED]),
            f"together: {_METHODS[self.correction]} over {self._family()} at alpha {self.alpha:g}; "
            "intervals hold for all of them at once",
            f"permutations: {self.n_resamples} per {self.unit}"
            + (f", raised because there are so many {self.unit}s" if self.raised else "")
            + f"; seed {self.seed}",
        ]

    def _family(self) -> str:
        runs = self.no_runs is None and self.unit == "level"
        return f"{len(self.tested)} {self.unit}s" + (" and the runs of them" if runs else "")

    def _run_lines(self) -> list[str]:
        """What consecutive levels show together, or why they were not tested."""
        if self.unit == "model" or len(self.tested) < FEWEST_LEVELS:
            return []
        if self.no_runs is not None:
            return [f"in a row: not tested, because there are {self.no_runs}"]
        return [] if self.run is None else [f"in a row: {self.run.line()}"]

    def warning(self) -> str:
        """A warning about the false alarms that further looks add."""
        return further_looks(self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "correction": self.correction,
            "alpha": self.alpha,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "by": self.by,
            "run": None if self.run is None else self.run.fields(),
            "levels": [level.to_dict() for level in self.levels],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())

    def plot(self, ax: Axes | None = None) -> Axes:
        """The gap of every level with its interval.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        from rdiv.comparison.plots import plot_levels

        return plot_levels(self, ax)

    def to_html(self, path: str | os.PathLike[str], *, rows: bool = True) -> None:
        """Write all levels as one self-contained page; see `Comparison.to_html`."""
        from rdiv.report import many_page

        write_whole_file(path, many_page(self, rows=rows).encode())
