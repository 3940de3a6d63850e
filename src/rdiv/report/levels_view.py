"""The page of many comparisons: all levels first, then those that shifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import NOTHING_TO_DO, badge, tone
from rdiv.report.charts import Line, gap_chart, level_chart, loss_chart
from rdiv.report.comparison_view import carriers, driver_parts, reproduce_view
from rdiv.report.provenance import Provenance
from rdiv.report.tables import Head, Table
from rdiv.report.wording import amount, count, probability, shorten, signed

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons, Level

__all__ = ["many_view"]

MOST_LEVELS = 300
"""Most levels that the table lists; where there are more, those that shifted come first."""

MOST_BARS = 60
"""Most levels that the chart shows."""

MOST_DETAILS = 8
"""Most shifted levels that get their own section."""

_ADVICE = {
    "risk shift": "Start with the levels below that shifted: see what carries the gap there, and "
    "whether they have something in common.",
    "hidden shift": "A difference in mean loss was not shown for any level, but some levels would "
    "train a different model. Plan to retrain, and see below what they have in common.",
    "no shift": f"{NOTHING_TO_DO}: smaller gaps may have been missed; the chart shows how large "
    "they could be.",
}
_HOLD = {
    "holm": "p-values are adjusted by Holm's method: the probability of any false alarm among the "
    "levels, for shifts of any kind and for risk shifts, is at most {alpha}, whatever the "
    "dependence (the levels share the reference)",
    "bh": "p-values are adjusted by the method of Benjamini and Hochberg: of the levels called "
    "shifted, at most {alpha} are expected to be false alarms, for independent or positively "
    "dependent tests; sharing one reference makes them positively dependent in general, which no "
    "proof covers for two-sided tests",
}


def many_view(found: Comparisons, provenance: Provenance, *, rows: bool) -> dict[str, Any]:
    """Everything that the template of many comparisons shows."""
    listed = _first(found.levels, MOST_LEVELS)
    shifted = [level for level in found.tested if level.shifted]
    details = [_section(i, level, found.by, rows) for i, level in enumerate(shifted[:MOST_DETAILS])]
    left = len(shifted) - len(details)
    better = bool(shifted) and all(level.direction == "better" for level in shifted)
    return {
        "badge": f"{count(len(shifted))} of {count(len(found.tested))} levels shifted",
        "tone": tone(found.verdict, "better" if better else None),
        "headline": shorten(found.headline(), 400),
        "advice": _ADVICE[found.verdict],
        "numbers": _numbers(found, len(shifted)),
        "chart": _chart(found),
        "levels": _table(found, [level for level in listed if level.comparison is not None]),
        "skipped": _skipped([level for level in listed if level.comparison is None]),
        "warning": found.warning(),
        "details": details,
        "unlisted": f"{count(left)} more levels shifted; they are in the table." if left else "",
        "methods": _methods(found),
        "reproduce": reproduce_view(provenance, found.seed),
    }


def _first(levels: Sequence[Level], most: int) -> list[Level]:
    """All levels in order; where there are too many, those that shifted, then the first others."""
    if len(levels) <= most:
        return list(levels)
    order = sorted(range(len(levels)), key=lambda place: not levels[place].shifted)
    return [levels[place] for place in sorted(order[:most])]


def _numbers(found: Comparisons, shifted: int) -> list[dict[str, str]]:
    skipped = len(found.levels) - len(found.tested)
    gaps = [level.comparison.leading_gap for level in found.tested if level.comparison is not None]
    most = max(gaps, key=abs)
    return [
        {"label": "Levels", "value": count(len(found.levels)),
         "hint": f"{count(len(found.tested))} compared, {count(skipped)} skipped"},
        {"label": "Shifted", "value": count(shifted),
         "hint": f"at level {amount(found.alpha)} for all levels together"},
        {"label": "Largest gap", "value": signed(most, 3), "hint": "in mean loss, of any level"},
    ]  # fmt: skip


def _chart(found: Comparisons) -> Any:
    lines = []
    for level in _first(found.tested, MOST_BARS):
        one = level.comparison
        assert one is not None
        ends = (None, None) if one.leading_interval is None else one.leading_interval
        low, high = (None if end is None or abs(end) == float("inf") else end for end in ends)
        lines.append(Line(level.name, one.leading_gap, low, high, level.shifted))
    return level_chart(lines, "levels", amount(100 * (1 - found.alpha)))


def _table(found: Comparisons, levels: Sequence[Level]) -> Table:
    heads = [Head("Level"), Head("Verdict", "key"), Head("Rows", "n"), Head("Gap", "n")]
    heads += [Head("Interval", "n"), Head("p-value", "n"), Head("p-value of the gap", "n")]
    lines = [
        (
            shorten(level.name, 60),
            f"{level.verdict}, {level.direction}" if level.direction else level.verdict,
            count(level.rows),
            signed(level.comparison.leading_gap, 3),
            ""
            if level.comparison.leading_interval is None
            else f"{signed(level.comparison.leading_interval.low, 3)} to "
            f"{signed(level.comparison.leading_interval.high, 3)}",
            probability(level.adjusted_pvalues["together"]),
            probability(level.adjusted_pvalues.get("r-div")),
        )
        for level in levels
        if level.comparison is not None
    ]
    left = len(found.tested) - len(lines)
    more = f"{count(left)} more levels, none of which shifted, are in the JSON." if left else ""
    return Table("Levels, with p-values adjusted for all of them", heads, lines, more)


def _skipped(levels: Sequence[Level]) -> Table | None:
    if not levels:
        return None
    lines = [(shorten(level.name, 60), level.skipped) for level in levels]
    return Table("Levels that were skipped", [Head("Level"), Head("Why", "wide")], lines)


def _section(number: int, level: Level, by: str | None, rows: bool) -> dict[str, Any]:
    assert level.comparison is not None
    document = level.comparison.to_dict()
    charts = [gap_chart(document, f"level-{number}-gap")]
    if document["losses"] is not None:
        charts.append(loss_chart(document["losses"], f"level-{number}-losses"))
    risks = document["results"]["r-div"]
    return {
        "name": shorten(level.name if by is None else f"{by} = {level.name}", 120),
        "badge": badge(level.verdict or "", level.direction),
        "headline": f"Mean loss {amount(risks['risk_p'])} on reference, {amount(risks['risk_q'])} "
        f"on this level.",
        "charts": [chart for chart in charts if chart is not None],
        "carriers": carriers(level.comparison),
        "drivers": driver_parts(document["drivers"], rows=rows, key=f"level-{number}"),
    }


def _methods(found: Comparisons) -> str:
    first = found.tested[0].comparison
    assert first is not None
    model = shorten(first.results["r-div"].model, 120)
    hold = _HOLD[found.correction].format(alpha=amount(found.alpha))
    raised = " (raised, because so many levels need more than 999)" if found.raised else ""
    each = amount(100 * (1 - found.alpha / len(found.tested)), 6)
    return (
        f"Each level was compared with the full reference on its own: one model ({model}) was "
        "fitted on both together, without knowing which row came from which sample, its losses "
        "were compared, and the rows were permuted between the two samples at random "
        f"{count(found.n_resamples)} times{raised}. Then {hold}. Each level has a {each} % "
        "interval, so that the intervals hold for all levels at once; Holm's method is slightly "
        "more powerful, so a level may shift while its interval contains 0. P-values are exact "
        "when rows (or groups) are independent and both samples come from one distribution, and "
        "approximate when only the mean losses are equal."
    )
