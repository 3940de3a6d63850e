"""The tables of many comparisons: one line per level or model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rdiv.comparison.sentences import asymptotic_because
from rdiv.report.first_screen import loss_words
from rdiv.report.tables import Head, Table
from rdiv.report.wording import count, probability, shorten, signed

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons, Level
    from rdiv.comparison.result import Comparison
    from rdiv.inference.intervals import Interval

__all__ = ["level_table", "skipped_table"]


def level_table(
    found: Comparisons, levels: Sequence[Level], *, caption: str, more: str = ""
) -> Table:
    """What was found for each level."""
    models = found.unit == "model"
    heads = [Head(found.unit.capitalize(), "mid"), Head("Verdict", "key")]
    heads += [Head("Loss", "key")] if models else [Head("Rows", "n")]
    heads += [Head("Gap in use", "n"), Head("Shared gap", "n")]
    heads += [Head("Retraining", "n"), Head("adjusted p", "n")]
    lines = [_line(level, level.comparison, models) for level in levels if level.comparison]
    return Table(caption, heads, lines, more)


def _line(level: Level, one: Comparison, models: bool) -> tuple[str, ...]:
    won, second = one.retraining, one.shared_gap_interval if one.gap is None else None
    flag = "" if asymptotic_because(one, one.leading) is None else " *"
    return (
        shorten(level.name, 60),
        f"{level.verdict}, {level.direction}" if level.direction else str(level.verdict),
        loss_words(one) if models else count(level.rows),
        "not measured" if one.gap is None else _estimate(one.gap, one.gap_interval, flag),
        "not asked" if one.shared_gap is None else _estimate(one.shared_gap, second, flag),
        "" if won is None else signed(-won.current.value, 3),
        probability(level.adjusted_pvalues["together"]),
    )


def _estimate(gap: float, interval: Interval | None, flag: str) -> str:
    span = ""
    if interval is not None:
        span = f" ({signed(interval.low, 3)} to {signed(interval.high, 3)}){flag}"
    return f"{signed(gap, 3)}{span}"


def skipped_table(found: Comparisons, levels: Sequence[Level]) -> Table | None:
    """Levels that were not compared, and why."""
    if not levels:
        return None
    lines = [(shorten(level.name, 60), level.skipped) for level in levels]
    heads = [Head(found.unit.capitalize()), Head("Why", "wide")]
    return Table(f"{found.unit.capitalize()}s that were skipped", heads, lines)
