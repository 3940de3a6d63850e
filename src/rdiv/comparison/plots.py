"""Pictures of a comparison, for notebooks and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdiv.comparison import sentences
from rdiv.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdiv.comparison.result import Comparison

__all__ = ["plot_gaps"]

Line = tuple[str, float, float | None, float | None]


def plot_gaps(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw both gaps and what retraining would win, each with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> found = rdiv.compare(rng.normal(size=(120, 2)), rng.normal(size=(90, 2)), rng=0)
    >>> print(len(found.plot().get_yticklabels()))
    4
    """
    lines = _lines(found)
    ax = _axes(len(lines)) if ax is None else ax
    for place, (_, value, low, high) in enumerate(lines):
        if low is not None and high is not None:
            ax.plot([low, high], [place, place], color="C0", linewidth=2)
        ax.plot([value], [place], "o", color="C0")
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set_yticks(range(len(lines)), [name for name, *_ in lines])
    ax.invert_yaxis()
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


def _axes(lines: int) -> Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            'plot() needs matplotlib; install it with pip install "rdiv[cli]".'
        ) from None
    return Figure(figsize=(6.4, 1.2 + 0.5 * lines), layout="constrained").subplots()
