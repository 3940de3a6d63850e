"""New axes for plot(), and figures as SVG text; matplotlib's settings are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from rdiv.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SETTINGS", "Line", "draw_spans", "new_axes", "new_panels", "svg_text"]

SETTINGS: Mapping[str, Any] = {
    "svg.hashsalt": "rdiv",
    "svg.fonttype": "none",
    "text.parse_math": False,
}
"""The same ids in every run, text kept as text, dollar signs kept as dollar signs."""

NOTHING: Mapping[str, Any] = {"Date": None}


def svg_text(
    paint: Callable[[Any], object],
    size: tuple[float, float],
    *,
    style: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] = NOTHING,
) -> str:
    """Let a function paint a figure and return it as SVG text.

    Parameters
    ----------
    paint : callable
        Gets the figure.
    size : pair of float
        Width and height in inches.
    style : mapping, optional
        More settings of matplotlib, for this figure alone.
    metadata : mapping
        Metadata of the SVG file; by default without the date.

    Examples
    --------
    >>> text = svg_text(lambda figure: figure.subplots().plot([0, 1]), (2, 2))
    >>> print(text == svg_text(lambda figure: figure.subplots().plot([0, 1]), (2, 2)))
    True
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            'pictures need matplotlib; install it with pip install "rdiv[cli]".'
        ) from None
    settings: Any = {**SETTINGS, **(style or {})}
    with rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        text = StringIO()
        figure.savefig(text, format="svg", metadata=dict(metadata))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def new_axes(width: float, height: float) -> Axes:
    """Axes of a new figure of pyplot, which notebooks and ``pyplot.show()`` display; in inches.

    Examples
    --------
    >>> print(new_axes(4, 2).figure.get_size_inches())
    [4. 2.]
    """
    return new_panels(width, height)[0]


def new_panels(
    width: float, height: float, *, rows: int = 1, columns: int = 1, sharex: bool = False
) -> tuple[Axes, ...]:
    """All axes of a new figure of pyplot, from the upper left, line by line.

    Examples
    --------
    >>> print(len(new_panels(4, 2, rows=2)))
    2
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            'plot() needs matplotlib; install it with pip install "rdiv[cli]".'
        ) from None
    _, axes = pyplot.subplots(
        rows, columns, squeeze=False, sharex=sharex, figsize=(width, height), layout="constrained"
    )
    return tuple(axes.flat)


Line = tuple[str, float, float | None, float | None]
"""A name, a value and the ends of its interval, if it has one."""


def draw_spans(ax: Axes, lines: Sequence[Line]) -> None:
    """One line per value, the first on top: a dot, its interval as a bar, and where 0 is."""
    for place, (_, value, low, high) in enumerate(lines):
        if low is not None and high is not None:
            ax.plot([low, high], [place, place], color="C0", linewidth=2)
        ax.plot([value], [place], "o", color="C0")
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set_yticks(range(len(lines)), [name for name, *_ in lines])
    ax.set_ylim(len(lines) - 0.5, -0.5)
