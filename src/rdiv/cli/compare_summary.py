"""What rdiv compare prints, and which shifts its exit code counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rdiv.cli.display import Summary
from rdiv.comparison.verdicts import RISK_SHIFTS
from rdiv.errors import InputError
from rdiv.remarks import NOT_EQUALITY

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison

__all__ = [
    "any_shift_matters",
    "comparisons_of",
    "require_interval",
    "shift_matters",
    "summary",
    "summary_of_many",
]

_IN_PYTHON = re.compile(r" \(drop=\[.*?\] in Python\)")
_MARGIN = " as the equivalence margin"


def shift_matters(found: Comparison, min_gap: float | None) -> bool:
    """Whether a comparison found a shift that counts.

    Without ``min_gap`` every shift does. With it, only a risk shift, or expected one, whose
    interval lies entirely
    outside ``-min_gap`` to ``min_gap``.
    """
    if min_gap is None:
        return found.shifted
    if found.verdict not in RISK_SHIFTS or found.leading_interval is None:
        return False
    return found.leading_interval.low > min_gap or found.leading_interval.high < -min_gap


def comparisons_of(found: Comparison | Comparisons) -> list[Comparison]:
    """The comparisons of a result, each with the verdict that holds for all of them together."""
    from rdiv.comparison.result import Comparison

    if isinstance(found, Comparison):
        return [found]
    return [
        replace(level.comparison, verdict=level.verdict)
        for level in found.levels
        if level.comparison is not None and level.verdict is not None
    ]


def any_shift_matters(found: Comparison | Comparisons, min_gap: float | None) -> bool:
    """Whether any shift counts, for the exit code; consecutive levels together count as one."""
    return _run_matters(found, min_gap) or any(
        shift_matters(one, min_gap) for one in comparisons_of(found)
    )


def _run_matters(found: Comparison | Comparisons, min_gap: float | None) -> bool:
    run = getattr(found, "run", None)
    if run is None or not run.shown:
        return False
    if min_gap is None:
        return True
    return run.interval is not None and (run.interval.low > min_gap or run.interval.high < -min_gap)


def require_interval(found: Comparison | Comparisons, min_gap: float | None) -> None:
    """Refuse --min-gap where the gap has no interval to compare it with."""
    if min_gap is None:
        return
    pairs = [one for one in comparisons_of(found) if one.labels != "none"]  # it may not overlap
    if any(one.leading_interval is None for one in pairs):
        raise InputError(
            "--min-gap needs the interval of the gap, which in-sample losses (--folds 0) cannot "
            "give; use folds."
        )


def summary(
    found: Comparison, reference: str, current: str, min_gap: float | None, html: str | None
) -> Summary:
    """One comparison as a headline, lines and remarks."""
    lines = [_for_a_command(line) for line in found.details()]
    lines.append(f"files: {reference} (reference), {current} (current)")
    if min_gap is not None:
        lines.append(f"--min-gap {min_gap:g}: {_min_gap_finding(found, min_gap)}")
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
    found: Comparisons, files: Sequence[str], min_gap: float | None, html: str | None
) -> Summary:
    """Many comparisons: one line each, how they were tested, a warning about further looks."""
    lines = [_for_a_command(line) for line in found.details()]
    named = f", {files[1]} (current)" if len(files) == 2 else ""
    lines.append(f"files: {files[0]} (reference){named}")
    if min_gap is not None:
        verdict = "a risk shift lies" if any_shift_matters(found, min_gap) else "no risk shift lies"
        span = f"{-min_gap:g} to {min_gap:g}"
        lines.append(f"--min-gap {min_gap:g}: {verdict} entirely outside {span}")
    lines += [] if html is None else [f"report: {html}"]
    directions = {level.direction for level in found.levels}
    directions |= set() if found.run is None else {found.run.direction}
    colour = "red" if "worse" in directions else "yellow" if found.shifted else "none"
    remarks = [] if found.unit == "model" else [found.warning()]
    remarks = remarks if found.shifted else [NOT_EQUALITY, *remarks]
    return Summary("rdiv compare", found.headline(), lines, remarks, colour)


def _min_gap_finding(found: Comparison, min_gap: float) -> str:
    if found.verdict not in RISK_SHIFTS:
        return "there is no risk shift that could count"
    span = f"{-min_gap:g} to {min_gap:g}"
    if found.leading_interval is None:
        return "the expected gap has no interval, so this shift does not count"
    if shift_matters(found, min_gap):
        return f"the interval lies entirely outside {span}, so this shift counts"
    return f"the interval overlaps {span}, so this shift does not count"


def _for_a_command(text: str) -> str:
    """A sentence of the library, with the options of the command alone."""
    return _IN_PYTHON.sub("", text).replace(_MARGIN, ": --equivalence-margin G")
