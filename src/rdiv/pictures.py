"""Figures as SVG text: the same figure gives the same text; matplotlib's settings are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from typing import TYPE_CHECKING, Any

from rdiv.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SETTINGS", "new_axes", "svg_text"]

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
    """Axes of a figure of their own, which belongs to no window, in inches.

    Examples
    --------
    >>> print(new_axes(4, 2).figure.get_size_inches())
    [4. 2.]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            'plot() needs matplotlib; install it with pip install "rdiv[cli]".'
        ) from None
    return Figure(figsize=(width, height), layout="constrained").subplots()
