"""Matplotlib figures as inline SVG: text stays text, the page sets colours, ids are unique."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from rdiv.pictures import svg_text
from rdiv.report.wording import shorten

__all__ = [
    "ACCENT",
    "BETTER",
    "CURRENT",
    "GRID",
    "INK",
    "INPUTS",
    "REFERENCE",
    "RELATION",
    "SOFT",
    "WORSE",
    "Chart",
    "draw",
]

# Placeholder colours, replaced by CSS variables of the page, which light and dark mode set.
INK, SOFT, GRID = "#010101", "#020202", "#030303"
REFERENCE, CURRENT, ACCENT = "#040404", "#050505", "#060606"
INPUTS, RELATION = "#070707", "#080808"
WORSE, BETTER = "#090909", "#0a0a0a"
_VARIABLES = {
    INK: "ink",
    SOFT: "soft",
    GRID: "line",
    REFERENCE: "reference",
    CURRENT: "current",
    ACCENT: "accent",
    INPUTS: "inputs",
    RELATION: "relation",
    WORSE: "worse",
    BETTER: "better",
}

WIDTH = 4.9
"""Inches of a chart: narrow enough that its text can be read on a phone."""

_STYLE: Any = {
    "axes.edgecolor": GRID,
    "axes.grid": False,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 9.5,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 9.5,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
}


class Chart(NamedTuple):
    """A picture and its words.

    Parameters
    ----------
    key : str
        Part of every id in the picture; unique on a page.
    title, description : str
        What a screen reader reads out.
    caption : str
        The text below the picture.
    svg : str
        Markup that holds escaped text only.
    term : str
        The word of `rdiv.report.terms` that is explained below it, if any.
    """

    key: str
    title: str
    description: str
    caption: str
    svg: str
    term: str = ""


def draw(
    paint: Callable[[Any], None],
    *,
    key: str,
    title: str,
    description: str,
    caption: str,
    height: float = 2.2,
    width: float = WIDTH,
    term: str = "",
) -> Chart:
    """Let a function paint one pair of axes and return the picture as inline SVG.

    Parameters
    ----------
    paint : callable
        Gets the axes.
    key, title, description, caption, term : str
        See `Chart`.
    height, width : float
        In inches.

    Examples
    --------
    >>> chart = draw(
    ...     lambda axes: axes.plot([0, 1]),
    ...     key="line",
    ...     title="A line",
    ...     description="It rises.",
    ...     caption="",
    ... )
    >>> print(chart.svg.startswith("<svg"), 'role="img"' in chart.svg, "http:" in chart.svg)
    True True False
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that matplotlib's own font lacks
        text = svg_text(
            lambda figure: paint(figure.add_subplot()),
            (width, height),
            style=_STYLE,
            metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")),
        )
    return Chart(key, title, description, caption, _inline(text, key, title, description), term)


def _inline(svg: str, key: str, title: str, description: str) -> str:
    """The ``svg`` element alone, named for screen readers, without styles that affect the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]+)"', svg)
    assert box is not None
    named = (
        f'<svg class="chart" viewBox="{box.group(1)}" role="img" '
        f'aria-labelledby="{key}-title {key}-description">'
        f'<title id="{key}-title">{escape(shorten(title, 300))}</title>'
        f'<desc id="{key}-description">{escape(shorten(description, 2000))}</desc>'
    )
    svg = named + svg[svg.index(">") + 1 :]
    head, body = svg[: len(named)], svg[len(named) :]
    body = re.sub(r'(<[^>]*?\s)id="', rf'\1id="{key}-', body)
    body = re.sub(r'(<[^>]*?\s)(?:xlink:)?href="#', rf'\1href="#{key}-', body)
    body = re.sub(r"<[^>]*>", lambda tag: tag[0].replace("url(#", f"url(#{key}-"), body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(f": {colour}", f": var(--{variable})")
    return head + re.sub(r"\n\s*", "\n", body)
