"""Pictures of a comparison, for notebooks and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdiv.comparison import sentences
from rdiv.pictures import Line, draw_spans, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison

__all__ = ["plot_gaps", "plot_levels"]


def plot_gaps(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw both gaps and what retraining would win, each with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(120, 2)), rng.normal(size=(90, 2))
    >>> print(len(rdiv.compare(p, q, model="gmm", rng=0).plot().get_yticklabels()))
    4
    """
    lines = _lines(found)
    ax = new_axes(6.4, 1.2 + 0.5 * len(lines)) if ax is None else ax
    draw_spans(ax, lines)
    ax.set_xlabel(f"difference in {found.notes.get('loss', 'loss')}")
    ax.set_title(sentences.badge(found.verdict, found.direction))
    return ax


def _lines(found: Comparison) -> list[Line]:
    lines: list[Line] = []
    expected = "expected " if found.labels == "none" else ""
    in_use = f"{expected}gap of the model in use"
    for name, gap, span in (
        (in_use, found.gap, found.gap_interval),
        ("gap of the shared model", found.shared_gap, found.shared_gap_interval),
    ):
        if gap is not None:
            lines.append((name, gap, *((None, None) if span is None else span)))
    if found.retraining is not None:
        lines.append(("retraining wins on current", *found.retraining.current))
        lines.append(("retraining wins on reference", *found.retraining.reference))
    return lines


def plot_levels(found: Comparisons, ax: Axes | None = None) -> Axes:
    """Draw the gap of every level that was compared, with intervals that hold for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> days = {f"day {k}": rng.normal(size=(60, 2)) for k in (1, 2)}
    >>> found = rdiv.compare_many(rng.normal(size=(120, 2)), days, rng=0)
    >>> print([label.get_text() for label in found.plot().get_yticklabels()])
    ['day 1', 'day 2']
    """
    ax = new_axes(6.4, 1.2 + 0.3 * len(found.tested)) if ax is None else ax
    for place, level in enumerate(found.tested):
        one = level.comparison
        assert one is not None
        colour = "C3" if level.shifted else "C0"
        if one.leading_interval is not None:
            ax.plot([*one.leading_interval], [place, place], color=colour, linewidth=2)
        if one.leading_gap is not None:
            ax.plot([one.leading_gap], [place], "D" if level.shifted else "o", color=colour)
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set_yticks(range(len(found.tested)), [level.name for level in found.tested])
    ax.invert_yaxis()
    ax.set_xlabel("gap in mean loss; a diamond: a shift was found")
    return ax
