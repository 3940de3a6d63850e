"""Sentences that several results, the terminal and the pages share.

Those about a comparison alone are in `rdiv.comparison.sentences`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

__all__ = [
    "IN_SAMPLE",
    "NOT_EQUALITY",
    "SUSPECTED_LABELS",
    "UNPREDICTABLE_LABELS",
    "empty_columns",
    "left_out_columns",
    "wrong_with",
]

IN_SAMPLE = "in-sample losses give no valid interval; use folds"
NOT_EQUALITY = "Not finding a difference does not show that there is none."
SUSPECTED_LABELS = (
    "A suspected label may be right: look at the rows before dropping or changing them. Rows that "
    "are hard to predict look like rows with wrong labels. Where labels were flipped on purpose, "
    "the mean probability of the most suspicious 5 % of the rows was off by 0.09 on average."
)
UNPREDICTABLE_LABELS = "wrong labels cannot be told from labels that the model cannot predict"


def wrong_with(probability: float) -> str:
    """The probability that a label is wrong, as text.

    Examples
    --------
    >>> print(wrong_with(0.25), wrong_with(0.999), wrong_with(float("nan")))
    0.25 over 0.99 unknown
    """
    if isnan(probability):
        return "unknown"
    return "over 0.99" if probability > 0.99 else f"{probability:.2f}"


def left_out_columns(names: Sequence[str]) -> str:
    """What is said of columns that could not be read.

    Examples
    --------
    >>> print(left_out_columns(["photo"]))
    Column 'photo' holds bytes or nested values and was left out.
    """
    one, several = "holds bytes or nested values and was", "hold bytes or nested values and were"
    return f"{_columns(names)} {one if len(names) == 1 else several} left out."


def empty_columns(names: Sequence[str]) -> str:
    """What is said of columns without a single value.

    Examples
    --------
    >>> print(empty_columns(["fax", "pager"]))
    Columns 'fax', 'pager' have no value in either sample and say nothing.
    """
    verbs = ("has", "says") if len(names) == 1 else ("have", "say")
    return f"{_columns(names)} {verbs[0]} no value in either sample and {verbs[1]} nothing."


def _columns(names: Sequence[str]) -> str:
    """Some columns by their names, of many the first."""
    shown = ", ".join(repr(name) for name in names[:8])
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"Column{'' if len(names) == 1 else 's'} {shown}{more}"
