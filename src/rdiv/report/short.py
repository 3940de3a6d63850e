"""The short form for a notebook: the verdict and its numbers, without any other package."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from rdiv.report.comparison_view import badge

if TYPE_CHECKING:
    from rdiv.comparison_result import Comparison

__all__ = ["short_block", "short_form"]


def short_form(found: Comparison) -> str:
    """A comparison as a small block of HTML: the verdict, then one line a number.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> found = rdiv.compare(rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), rng=0)
    >>> print("No shift found" in short_form(found))
    True
    """
    return short_block(badge(found.verdict, found.direction), found.headline(), found.details())


def short_block(label: str, headline: str, lines: Iterable[str]) -> str:
    """A label, a sentence and lines ``label: value`` as HTML that takes the notebook's colours."""
    cell = 'style="text-align:left;vertical-align:top;padding:.15em 1em .15em 0;border:0"'
    body = "".join(
        f"<tr><th scope='row' {cell}>{escape(name)}</th><td {cell}>{escape(value)}</td></tr>"
        for name, _, value in (line.partition(": ") for line in lines)
    )
    return (
        '<div style="border-left:.3em solid currentColor;padding:.2em 0 .2em 1em;max-width:48em">'
        f'<p style="margin:0;font-size:.9em">{escape(label)}</p>'
        f'<p style="margin:.2em 0 .6em;font-size:1.15em;font-weight:600">{escape(headline)}</p>'
        f'<table style="border-collapse:collapse">{body}</table></div>'
    )
