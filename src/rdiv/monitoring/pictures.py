"""Pictures of a monitor over time, for notebooks, scripts and the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rdiv.pictures import new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdiv.monitoring.state import MonitorState

__all__ = ["Colours", "paint_evidence", "paint_gap", "plot_state", "thinned"]

MOST_POINTS = 600
"""Points of a curve, at most about; a longer history is thinned, its largest values kept."""

Colours = tuple[str, str, str]
"""Of the curve, of lines beside it, and of the alarm."""

PLAIN: Colours = ("C0", "0.6", "C3")


def plot_state(state: MonitorState, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw the e-value with the alarm line, and the gap with its confidence sequence.

    Examples
    --------
    >>> import polars as pl
    >>> import rdiv
    >>> losses = pl.DataFrame({"loss": np.random.default_rng(0).exponential(size=300)})
    >>> monitor = rdiv.Monitor(losses, loss="loss", rng=0)
    >>> print(len(monitor.update(monitor.start(), losses.head(150)).plot()))
    2
    """
    above, below = new_panels(7, 5, rows=2, sharex=True) if axes is None else axes
    paint_evidence(above, state, PLAIN)
    paint_gap(below, state, PLAIN)
    above.set_title(state.headline(), fontsize=10)
    return above, below


def paint_evidence(axes: Axes, state: MonitorState, colours: Colours) -> None:
    """The e-value after every look on a log scale, the alarm line and the change point."""
    values = np.array([look.evalue for look in state.history] or [1.0])
    values = np.clip(values, 1e-6, 1e30)
    at = thinned(values)
    axes.plot(at + 1, values[at], color=colours[0], linewidth=1.4)
    alarm = 1 / state.watched.alpha
    axes.axhline(alarm, color=colours[2], linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low, high = min(values.min(), 0.1), max(values.max(), alarm)
    axes.set_ylim(low / 2, high * 4)
    axes.annotate(f"alarm at {alarm:.3g}", (1, alarm), xytext=(0, 3), textcoords="offset points",
                  color=colours[2], fontsize=8)  # fmt: skip
    _mark_change(axes, state, colours)
    axes.set_ylabel("e-value")
    axes.set_xlabel("looks, in order of arrival")
    axes.locator_params(axis="x", integer=True)


def paint_gap(axes: Axes, state: MonitorState, colours: Colours) -> None:
    """The gap so far with its confidence sequence, and the gap of every batch as a dot."""
    looks = state.history
    own, so_far, low, high = (
        _numbers([getattr(look, name) for look in looks])
        for name in ("gap", "gap_so_far", "low", "high")
    )
    axes.axhline(0, color=colours[1], linewidth=1)
    at = thinned(np.nan_to_num(own))
    axes.plot(at + 1, own[at], ".", color=colours[1], markersize=3)
    steps = thinned(np.nan_to_num(so_far))
    axes.plot(steps + 1, so_far[steps], color=colours[0], linewidth=1.4)
    axes.fill_between(steps + 1, low[steps], high[steps], color=colours[0], alpha=0.2, linewidth=0)
    _mark_change(axes, state, colours)
    axes.set_ylabel(f"gap in {state.watched.loss}"[:40])
    axes.set_xlabel("looks, in order of arrival")
    axes.locator_params(axis="x", integer=True)


def thinned(values: NDArray[np.float64], most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Places to draw: all, or of each stretch the first, the smallest and the largest value.

    Examples
    --------
    >>> print(thinned(np.array([3.0, 1.0, 2.0])), len(thinned(np.zeros(10_000))) <= 600)
    [0 1 2] True
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    found = {0, n - 1}
    for part in np.array_split(np.arange(n), most // 3 - 1):
        found |= {int(part[0]), int(part[values[part].argmin()]), int(part[values[part].argmax()])}
    return np.array(sorted(found))


def _mark_change(axes: Axes, state: MonitorState, colours: Colours) -> None:
    since = state.since
    if since is None:
        return
    place = {look.name: number for number, look in reversed(list(enumerate(state.history, 1)))}
    low, here, high = (place[name] for name in (since.low, since.name, since.high))
    axes.axvspan(low - 0.5, high + 0.5, color=colours[2], alpha=0.12, linewidth=0)
    axes.axvline(here - 0.5, color=colours[2], linewidth=1)


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
