"""The page of a monitor: whether there was an alarm, since when, and every look over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdiv.monitoring.pictures import paint_evidence, paint_gap
from rdiv.monitoring.words import NOT_FINDING, methods
from rdiv.report.comparison_view import reproduce_view
from rdiv.report.pages import render
from rdiv.report.provenance import Provenance, versions
from rdiv.report.svg import ACCENT, CURRENT, GRID, SOFT, Chart, draw
from rdiv.report.tables import Head, Table
from rdiv.report.terms import ALARM_WORDS, word_list
from rdiv.report.wording import amount, count, percent, probability, sentence, shorten, signed

if TYPE_CHECKING:
    from rdiv.monitoring.looks import Look
    from rdiv.monitoring.state import MonitorState

__all__ = ["watch_page", "watch_view"]

MOST_LOOKS = 300
"""Looks that a page lists, the newest."""

COLOURS = (CURRENT, SOFT, ACCENT)


def watch_page(state: MonitorState, provenance: Provenance | None = None) -> str:
    """A monitor as one self-contained HTML page; it holds no row of the data.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import rdiv
    >>> losses = pl.DataFrame({"loss": np.random.default_rng(0).exponential(size=300)})
    >>> monitor = rdiv.Monitor(losses, loss="loss", rng=0)
    >>> page = watch_page(monitor.update(monitor.start(), losses.head(150), name="monday"))
    >>> print("No alarm in 1 batch" in page, "monday" in page)
    True True
    """
    given = Provenance(versions=versions()) if provenance is None else provenance
    return render("watch.html", watch_view(state, given), rows=False)


def watch_view(state: MonitorState, provenance: Provenance) -> dict[str, Any]:
    """Everything that the template shows."""
    some = bool(state.history)
    return {
        "badge": "\u25b2 Alarm" if state.alarm else "\u25cb No alarm",
        "tone": "worse" if state.alarm else "none",
        "headline": sentence(state.headline()),
        "warnings": [shorten(text, 300) for text in state.warnings[-5:]],
        "advice": _advice(state),
        "numbers": _numbers(state),
        "terms": word_list(ALARM_WORDS),
        "charts": [_evidence_chart(state), _gap_chart(state)] if some else [],
        "looks": _looks(state) if some else None,
        "methods": methods(state),
        "reproduce": reproduce_view(provenance, state.watched.seed),
    }


def _advice(state: MonitorState) -> str:
    if not state.alarm:
        return NOT_FINDING
    return (
        "Compare the batches from the change point on with the reference (rdiv compare) to see "
        "what carries the change. The alarm stays; after it, start a new monitor."
    )


def _numbers(state: MonitorState) -> list[dict[str, str]]:
    watched, since, interval = state.watched, state.since, state.gap_interval
    span = "no interval yet"
    if interval is not None:
        span = (
            f"{percent(1 - watched.alpha)} at all times: {signed(interval.low, 3)} to "
            f"{signed(interval.high, 3)}"
        )
    batches = len({look.name for look in state.history})
    rows = sum(look.rows for look in state.history if not look.late)
    parts = [
        ("E-value", amount(state.evalue, 3), f"alarm at {amount(1 / watched.alpha, 3)}"),
        ("P-value at any time", probability(state.pvalue), "it may be read at every look"),
        (
            "Expected gap so far" if state.gap_is_expected else "Gap so far",
            "none yet" if state.gap is None else signed(state.gap, 3),
            span,
        ),
        ("Batches", count(batches), f"{count(rows)} rows"),
        ("Reference", f"{count(watched.rows_compared)} rows", shorten(watched.model, 60)),
    ]
    if since is not None:
        hint = f"plausible: {shorten(since.low, 40)} to {shorten(since.high, 40)}"
        parts.insert(0, ("Changed since", shorten(since.name, 40), hint))
        if state.gap_since is not None:
            parts.insert(1, ("Gap since then", signed(state.gap_since, 3), "estimated"))
    return [{"label": label, "value": value, "hint": hint} for label, value, hint in parts]


def _evidence_chart(state: MonitorState) -> Chart:
    def paint(axes: Any) -> None:
        paint_evidence(axes, state, COLOURS)
        axes.grid(axis="y", color=GRID, linewidth=0.6)

    return draw(
        paint,
        key="evidence",
        title="Evidence over time",
        description=f"The e-value after each of {len(state.history)} looks; now "
        f"{amount(state.evalue, 3)}, alarm at {amount(1 / state.watched.alpha, 3)}.",
        caption="E-value after every look, on a log scale, and the alarm line. Shaded: where the "
        "change may have begun, if there was an alarm.",
    )


def _gap_chart(state: MonitorState) -> Chart:
    def paint(axes: Any) -> None:
        paint_gap(axes, state, COLOURS)
        axes.grid(axis="y", color=GRID, linewidth=0.6)

    return draw(
        paint,
        key="gap",
        title="The gap over time",
        description=f"The gap of all rows so far, now {signed(state.gap, 3)}, with its confidence "
        "sequence, and the gap of every batch.",
        caption="Line: gap of all rows so far, current minus reference, with its confidence "
        "sequence. Dots: the gap of every batch alone.",
    )


def _looks(state: MonitorState) -> Table:
    shown = state.history[-MOST_LOOKS:][::-1]
    heads = [
        Head("Batch"),
        *(Head(text, "n") for text in ("Rows", "With labels", "Gap", "P, one look", "E-value")),
        Head("Alarm"),
    ]
    left = len(state.history) - len(shown)
    more = f"{count(left)} earlier looks are in the state." if left else ""
    return Table("Looks, the newest first", heads, [_line(look) for look in shown], more)


def _line(look: Look) -> tuple[str, ...]:
    name = f"{look.name} (labels)" if look.late else look.name
    gap = look.gap if look.gap is not None else look.expected_gap
    mark = "" if look.gap is not None or gap is None else " expected"
    return (
        shorten(name, 60),
        count(look.rows),
        count(look.labelled),
        "" if gap is None else f"{signed(gap, 3)}{mark}",
        "" if look.pvalue is None else probability(look.pvalue),
        amount(look.evalue, 3),
        "yes" if look.alarm else "",
    )
