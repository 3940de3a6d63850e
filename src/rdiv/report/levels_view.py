"""The page of many comparisons: all levels (or models) first, then those that shifted, folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import NOTHING_TO_DO, badge, tone
from rdiv.comparison.verdicts import RISK_SHIFTS
from rdiv.report import first_screen
from rdiv.report.charts import loss_chart
from rdiv.report.comparison_view import reproduce_view
from rdiv.report.level_tables import level_table, skipped_table
from rdiv.report.line_charts import Line, finite, gaps_chart, level_chart
from rdiv.report.methods import many_methods
from rdiv.report.moved_view import moved_columns, moved_table
from rdiv.report.provenance import Provenance
from rdiv.report.split_chart import no_split, split_chart
from rdiv.report.svg import Chart
from rdiv.report.why_view import carriers, driver_parts, leading_words
from rdiv.report.wording import amount, count, sentence, shorten, signed, typeset

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons, Level
    from rdiv.comparison.result import Comparison

__all__ = ["many_view"]

MOST_LEVELS = 300
"""Most levels that the tables list; where there are more, those that shifted come first."""

MOST_OPEN = 24
"""Most levels that the chart and the table in sight show; the others are folded away."""

MOST_DETAILS = 8
"""Most shifted levels that get their own section."""

MOST_REMARKS = 12
"""Most levels whose interval and verdict seem to disagree that get a sentence."""

_RUN = (
    "No level alone is enough to show it, but {run} together are: see what these levels have in "
    "common."
)
_ADVICE = {
    "risk shift": "Start with the {unit}s below that shifted: see what carries the gap there, and "
    "whether they have something in common.",
    "expected risk shift": "Start with the {unit}s below whose inputs make a change of the mean "
    "loss expected, and label some of their rows, drawn at random.",
    "hidden shift": "A change of the mean loss of the model in use was not shown for any {unit}, "
    "but some {unit}s differ in another way. See below what they have in common.",
    "shift, kind not established": "Some {unit}s differ, but not enough is known to say how. More "
    "rows would tell.",
    "no shift": f"{NOTHING_TO_DO}: smaller gaps may have been missed; the chart shows how large "
    "they could be.",
}
_MODELS_DIFFER = (
    "The two samples are not the same for every model. Where a model shifted, see below what "
    "carries its gap and what retraining would change. That no shift was found for another one "
    "does not show that there is none."
)


def many_view(found: Comparisons, provenance: Provenance, *, rows: bool) -> dict[str, Any]:
    """Everything that the template of many comparisons shows."""
    unit = found.unit
    listed = _first(found.levels, MOST_LEVELS)
    tested = [level for level in listed if level.comparison is not None]
    open_ = _first(tested, MOST_OPEN)
    shifted = [level for level in found.tested if level.shifted]
    details = [_section(i, level, found, rows) for i, level in enumerate(shifted[:MOST_DETAILS])]
    left = len(shifted) - len(details)
    ways = [level.direction for level in shifted] + _run_direction(found)
    better = bool(ways) and all(way == "better" for way in ways)
    return {
        "unit": unit,
        "about": _about(found, provenance),
        "badge": f"{count(len(shifted))} of {count(len(found.tested))} {unit}s shifted",
        "tone": tone(found.verdict, "better" if better else None),
        "run": _run(found),
        "remarks": [shorten(sentence(text), 300) for text in found.remarks[:MOST_REMARKS]],
        "headline": shorten(found.headline(), 400),
        "warnings": first_screen.warned(found.warnings),
        "advice": _advice(found, len(shifted)),
        "numbers": _numbers(found, len(shifted)),
        "terms": first_screen.terms(_one(found.tested[0]).labels),
        "chart": _chart(found, open_),
        "levels": level_table(found, open_, caption=_caption(found, open_)),
        "others": _others(found, [level for level in tested if level not in open_]),
        "skipped": skipped_table(found, [level for level in listed if level.comparison is None]),
        "further": found.warning(),
        "details": details,
        "unlisted": f"{count(left)} more {unit}s shifted; they are in the table." if left else "",
        "methods": many_methods(found),
        "reproduce": reproduce_view(provenance, found.seed),
    }


def _run_direction(found: Comparisons) -> list[str | None]:
    return [found.run.direction] if found.run is not None and found.run.shown else []


def _run(found: Comparisons) -> str:
    """What consecutive levels show together."""
    return "" if found.run is None else shorten(typeset(f"In a row: {found.run.line()}."), 400)


def _first(levels: Sequence[Level], most: int) -> list[Level]:
    """All levels in order; where there are too many, those that shifted, then the first others."""
    if len(levels) <= most:
        return list(levels)
    order = sorted(range(len(levels)), key=lambda place: not levels[place].shifted)
    return [levels[place] for place in sorted(order[:most])]


def _one(level: Level) -> Comparison:
    assert level.comparison is not None
    return level.comparison


def _about(found: Comparisons, provenance: Provenance) -> list[first_screen.Fact]:
    losses = dict.fromkeys(first_screen.loss_words(_one(level)) for level in found.tested)
    said = ", ".join(losses) if len(losses) <= 3 else f"{count(len(losses))} losses, see the table"
    facts = [*first_screen.files(provenance), {"label": "Loss", "value": said, "hint": ""}]
    if found.by is not None and found.unit == "level":
        facts.append({"label": "Levels by", "value": shorten(found.by, 60), "hint": ""})
    return [*facts, *first_screen.made(provenance)]


def _advice(found: Comparisons, shifted: int) -> str:
    if found.unit == "model" and 0 < shifted < len(found.tested):
        return _MODELS_DIFFER
    if not shifted and found.run is not None and found.run.shown:
        return _RUN.format(run=shorten(found.run.name(), 120))
    if not shifted:
        for level in found.tested:
            drivers = _one(level).drivers
            if drivers is not None and drivers.confirmed_slices():
                where = shorten(drivers.confirmed_slices()[0].condition, 200)
                return (
                    f"No shift of the mean loss was found, but for {shorten(level.name, 60)} the "
                    f"loss did change where {where}. Look at that slice first."
                )
    return _ADVICE[found.verdict].format(unit=found.unit)


def _numbers(found: Comparisons, shifted: int) -> list[first_screen.Fact]:
    unit, skipped = found.unit, len(found.levels) - len(found.tested)
    most = max(found.tested, key=lambda level: abs(_one(level).leading_gap or 0.0))
    test = _one(found.tested[0]).results[_one(found.tested[0]).leading]
    facts = [
        {"label": f"{unit.capitalize()}s", "value": count(len(found.levels)),
         "hint": f"{count(len(found.tested))} compared, {count(skipped)} skipped"},
        {"label": "Shifted", "value": count(shifted),
         "hint": f"at level {amount(found.alpha)} for all {unit}s together"},
        {"label": "Largest gap", "value": signed(_one(most).leading_gap or 0.0, 3),
         "hint": f"in mean loss, of {shorten(most.name, 60)}"},
    ]  # fmt: skip
    if unit == "model":
        rows, hint = f"{count(test.n_p)} + {count(test.n_q)}", "reference + current"
    else:
        rows, hint = count(test.n_p), "in the reference, the same for all levels"
        trained = test.notes.get("rows trained on")
        hint += "" if trained is None else f"; {count(trained)} of them trained the model in use"
    return [*facts, {"label": "Rows", "value": rows, "hint": hint}]


def _chart(found: Comparisons, levels: Sequence[Level]) -> Chart | None:
    lines = []
    for level in levels:
        one = _one(level)
        ends = (None, None) if one.leading_interval is None else one.leading_interval
        low, high = (finite(end) for end in ends)
        lines.append(Line(level.name, finite(one.leading_gap), low, high, level.shifted))
    more = ""
    if len({_one(level).notes.get("loss") for level in found.tested}) > 1:
        more = f"The {found.unit}s have different losses: do not compare the sizes of their gaps."
    return level_chart(lines, found.unit, amount(100 * (1 - found.alpha)), more)


def _caption(found: Comparisons, levels: Sequence[Level]) -> str:
    unit, total = found.unit, len(found.tested)
    which = f"{unit.capitalize()}s"
    if len(levels) < total:
        rest = any(level.shifted for level in found.tested if level not in levels)
        among = f"more {unit}s shifted" if rest else "all that shifted are among them"
        which = f"{count(len(levels))} of {count(total)} {unit}s ({among})"
    return (
        f"{which}. Intervals and p-values are adjusted for all {unit}s; those with * are "
        "asymptotic. Retraining: the change of the loss on current"
    )


def _others(found: Comparisons, levels: Sequence[Level]) -> dict[str, Any] | None:
    """The levels that the table in sight has no room for."""
    if not levels:
        return None
    unit, left = found.unit, len(found.tested) - len(levels) - MOST_OPEN
    more = f"{count(left)} more {unit}s are in the JSON." if left > 0 else ""
    caption = f"More {unit}s; p-values are adjusted for all {unit}s"
    table = level_table(found, levels, caption=caption, more=more)
    return {"summary": f"{count(len(levels))} more {unit}s", "table": table}


def _section(number: int, level: Level, found: Comparisons, rows: bool) -> dict[str, Any]:
    one = _one(level)
    document, whose = one.to_dict(), leading_words(one)
    charts = [gaps_chart(one, f"level-{number}-gaps"), split_chart(one, f"level-{number}-split")]
    if document["losses"] is not None:
        charts.append(loss_chart(document["losses"], whose, f"level-{number}-losses"))
    by = None if found.unit == "model" else found.by
    words, moved = _words(level), moved_columns(one)
    return {
        "name": shorten(level.name if by is None else f"{by} = {level.name}", 120),
        "badge": badge(level.verdict or "", level.direction),
        "headline": shorten(typeset(words.headline()), 400) if words is not None else _plain(one),
        "advice": "" if words is None else shorten(words.advice, 400),
        "charts": [chart for chart in charts if chart is not None],
        "no_split": no_split(one),
        "carriers": carriers(one),
        "drivers": driver_parts(one, rows=rows, key=f"level-{number}"),
        "moved": moved_table(moved, "Inputs that moved, outside the verdict") if moved else None,
    }


def _words(level: Level) -> Comparison | None:
    """The comparison with the verdict of the level, where that decides the sentences.

    Which question made a hidden shift is said by p-values at the level's own share of alpha, so
    those sentences hold only where the verdict is that of the comparison itself.
    """
    one = _one(level)
    if level.verdict == one.verdict or level.verdict in RISK_SHIFTS:
        return replace(one, verdict=level.verdict or one.verdict, direction=level.direction)
    return None


def _plain(one: Comparison) -> str:
    test = one.results[one.leading]
    return f"Mean loss {amount(test.risk_p)} on reference, {amount(test.risk_q)} on current."
