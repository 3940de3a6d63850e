"""What rdiv compare says to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rdiv.cli.display import Summary

if TYPE_CHECKING:
    from rdiv.comparison_result import Comparison
    from rdiv.many_result import Comparisons

__all__ = ["NOT_EQUALITY", "counts", "summary", "summary_of_many"]

NOT_EQUALITY = "Not finding a difference does not show that there is none."


def counts(found: Comparison, min_gap: float | None) -> bool:
    """Whether a comparison found a shift that matters: any, or one beyond ``min_gap``."""
    if min_gap is None or found.verdict != "risk shift" or found.gap_interval is None:
        return found.shifted
    return found.gap_interval.low > min_gap or found.gap_interval.high < -min_gap


def summary(
    found: Comparison, reference: str, current: str, min_gap: float | None, html: str | None
) -> Summary:
    """One comparison as a headline, lines and remarks."""
    lines = [*found.details(), f"files: {reference} (reference), {current} (current)"]
    if min_gap is not None:
        lines.append(f"--min-gap {min_gap:g}: {_weighed(found, min_gap)}")
    lines += [] if html is None else [f"report: {html}"]
    remarks = [str(found.notes[key]) for key in ("target", "folds") if key in found.notes]
    colours = {"worse": "red", "better": "yellow"}
    shown = found.equivalence is not None and found.equivalence.shown
    return Summary(
        "rdiv compare",
        found.headline(),
        lines,
        remarks if found.shifted or shown else [*remarks, NOT_EQUALITY],
        colours.get(found.direction or "", "yellow" if found.shifted else "none"),
    )


def summary_of_many(
    found: Comparisons, files: Sequence[str], counted: bool, min_gap: float | None, html: str | None
) -> Summary:
    """Many comparisons: one line a level, how they were judged, what looking again costs."""
    lines = [*found.details(), f"reference: {files[0]}"]
    if min_gap is not None:
        verdict = "a shift lies" if counted else "no shift lies"
        lines.append(f"--min-gap {min_gap:g}: {verdict} wholly outside {-min_gap:g} to {min_gap:g}")
    lines += [] if html is None else [f"report: {html}"]
    directions = {level.direction for level in found.levels}
    colour = "red" if "worse" in directions else "yellow" if found.shifted else "none"
    remarks = [found.warning()] if found.shifted else [NOT_EQUALITY, found.warning()]
    return Summary("rdiv compare", found.headline(), lines, remarks, colour)


def _weighed(found: Comparison, min_gap: float) -> str:
    if found.verdict != "risk shift":
        return "no risk shift to weigh"
    span = f"{-min_gap:g} to {min_gap:g}"
    if counts(found, min_gap):
        return f"the interval lies wholly outside {span}, so this shift counts"
    return f"the interval reaches into {span}, so this shift does not count"
