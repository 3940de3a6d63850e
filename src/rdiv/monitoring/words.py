"""What a monitor says: each sentence once, for the terminal, the page and Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdiv.inference.confidence_sequences import FIRST_ASYMPTOTIC

if TYPE_CHECKING:
    from rdiv.monitoring.state import MonitorState

__all__ = [
    "ABOUT_ALARM",
    "ABOUT_SEQUENCE",
    "NOT_FINDING",
    "details",
    "headline",
    "methods",
    "warnings_of",
]

NOT_FINDING = "No alarm does not show that nothing has changed."
ABOUT_ALARM = (
    "On an unchanged stream the chance of ever raising the alarm, at whatever look, is at most "
    "{alpha:.3g}."
)
ABOUT_SEQUENCE = "The interval of the gap may be read after every batch."
ASYMPTOTIC = (
    "The interval of the gap is asymptotic: it is given from row 100 on and holds approximately."
)
FINITE = "Losses are 0 or 1: the interval of the gap holds at every size."


def headline(state: MonitorState) -> str:
    """The finding in one sentence."""
    if not state.history:
        return "Nothing has been added yet"
    looks, since = len({look.name for look in state.history}), state.since
    batches = f"{looks} batch{'es' if looks != 1 else ''}"
    if since is None:
        return f"No alarm in {batches}"
    gap = state.gap_since
    way = "" if gap is None else (", worse" if gap > 0 else ", better")
    what = "expected losses" if state.alarmed_by == "expected" else "losses"
    return f"Alarm: {what} have changed since {since.name}{way}"


def details(state: MonitorState) -> list[str]:
    """Lines ``label: value``: the change point, e-value, p-value, gap, what is watched."""
    watched = state.watched
    since = state.since
    lines = []
    if since is not None:
        lines.append(f"since: {since.name} (plausible: {since.low} to {since.high})")
        gap = state.gap_since
        lines += [] if gap is None else [f"gap since then: {gap:+.3g}"]
    lines += [
        f"e-value: {state.evalue:.3g} (largest {state.largest_evalue:.3g}; alarm at "
        f"{1 / watched.alpha:.3g})",
        f"p-value at any time: {state.pvalue:.3g}",
        f"gap so far: {_gap(state)}",
        f"model: {watched.model} ({watched.loss})",
        f"reference: {_reference(state)}",
    ]
    if watched.min_gap is not None:
        lines.append(f"smallest gap: {watched.min_gap:g}")
    waiting = _waiting(state)
    return [*lines, waiting] if waiting else lines


def methods(state: MonitorState) -> list[str]:
    """How the numbers came about, and what they assume."""
    watched, process = state.watched, state.processes["labelled"]
    unit = "batch mean" if watched.unit == "batch" else "loss"
    if watched.min_gap is None:
        text = (
            f"Every {unit} is ranked among the reference and all that came before it. While the "
            "stream is exchangeable with the reference, these ranks are independent and uniform "
            "(conformal p-values), and a mixture of bets on them is a test martingale: bets on "
            "larger losses, on a heavier tail, and on any other change."
        )
    else:
        text = (
            f"Bets on a mean {unit} more than {watched.min_gap:g} above an upper bound of the "
            "reference's mean; a fifth of the level is spent on that bound, which is "
            f"{'exact' if process.bounded else 'asymptotic'}."
        )
    assumption = (
        "Batches must be exchangeable with those of the reference."
        if watched.unit == "batch"
        else "Rows must be exchangeable across batches: with effects of single days on all their "
        "rows, watch with unit batch."
    )
    found = [text, ABOUT_ALARM.format(alpha=watched.alpha), assumption]
    if state.labels_late:
        found.append(
            "Labels come late: expected losses of all rows, and losses of rows whose labels have "
            "come, are two processes with half of the level each. The first is about the inputs; "
            "the second assumes that when a label comes does not depend on its value."
        )
    found += [FINITE if state.leading.bounded else ASYMPTOTIC, ABOUT_SEQUENCE]
    return found


def warnings_of(state: MonitorState) -> tuple[str, ...]:
    """Sentences about batches that want a look."""
    return tuple(
        f"{look.name} has the same content as {look.same_as}; both were counted."
        for look in state.history
        if look.same_as is not None
    )


def _gap(state: MonitorState) -> str:
    gap, interval = state.gap, state.gap_interval
    if gap is None:
        return "no losses yet"
    percent = f"{100 * (1 - state.watched.alpha):g}"
    expected = "expected, " if state.gap_is_expected else ""
    if interval is None:
        return f"{gap:+.3g} ({expected}no interval before {FIRST_ASYMPTOTIC} units)"
    span = f"{interval.low:+.3g} to {interval.high:+.3g}"
    return f"{gap:+.3g} ({expected}{percent} % at all times: {span})"


def _reference(state: MonitorState) -> str:
    watched = state.watched
    trained = f", {watched.rows_trained_on} more trained the model"
    return f"{watched.rows_compared} rows{trained if watched.rows_trained_on else ''}"


def _waiting(state: MonitorState) -> str | None:
    last = {look.name: look for look in state.history}
    names = [name for name, look in last.items() if look.waiting is not None]
    if not names:
        return None
    shown = ", ".join(names[-3:])
    return f"waiting for labels: {len(names)} batch{'es' if len(names) > 1 else ''} ({shown})"
