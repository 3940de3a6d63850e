"""Numbers and user text as a page shows them: short, printable, never markup."""

from __future__ import annotations

import math
from typing import Any

from rdiv.names import visible as spelled_out

__all__ = [
    "amount",
    "count",
    "percent",
    "probability",
    "sentence",
    "shorten",
    "signed",
    "typeset",
    "visible",
]

MOST_LETTERS = 160
"""Most letters of a cell or name that are shown."""

_MINUS = "\u2212"


def visible(value: Any) -> str:
    r"""A value as text, with control characters spelled out.

    Examples
    --------
    >>> print(visible("a\x00b"), visible(None), visible(0.1 + 0.2))
    a\x00b missing 0.3
    """
    if value is None:
        return "missing"
    if isinstance(value, float):
        return amount(value, 6)
    return spelled_out(str(value))


def shorten(value: Any, most: int = MOST_LETTERS) -> str:
    """The beginning of a long text, and how long it is.

    Examples
    --------
    >>> print(shorten("x" * 5000, 10))
    xxxxxxxxxx... (5000 characters)
    >>> print(shorten("short"))
    short
    """
    if value is None or isinstance(value, float) or len(str(value)) <= most:
        return visible(value)
    text = str(value)
    return f"{visible(text[:most])}... ({len(text)} characters)"


def sentence(text: str) -> str:
    """A text with a capital at its start and a full stop at its end.

    Examples
    --------
    >>> print(sentence("no model was measured"))
    No model was measured.
    """
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def typeset(text: str) -> str:
    """A sentence of the terminal with a true arrow, which no line breaks.

    Examples
    --------
    >>> print(typeset("log loss 0.25 -> 0.42"))
    log loss 0.25 → 0.42
    """
    return text.replace("->", "\u2192")


def amount(value: float | None, digits: int = 4) -> str:
    """A number with a few digits and a true minus sign.

    Examples
    --------
    >>> print(amount(0.012345), amount(12345678.0), amount(None))
    0.01235 1.235e+07 not finite
    """
    if value is None or math.isnan(value):
        return "not finite"
    if math.isinf(value):
        return "\u221e" if value > 0 else f"{_MINUS}\u221e"
    return f"{value:.{digits}g}".replace("-", _MINUS)


def signed(value: float | None, digits: int = 4) -> str:
    """As `amount`, with a sign unless it is 0.

    Examples
    --------
    >>> print(signed(0.25))
    +0.25
    """
    text = amount(value, digits)
    return f"+{text}" if value is not None and value > 0 else text


def count(value: int) -> str:
    """A whole number with narrow spaces between thousands, where no line breaks.

    Examples
    --------
    >>> print(count(1234567).split())
    ['1', '234', '567']
    """
    return f"{value:,}".replace(",", "\u202f")


def percent(share: float | None) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> print(percent(0.1234).split(), percent(1.234).split())
    ['12', '%'] ['123', '%']
    """
    if share is None:
        return ""
    digits = 2 if abs(share) < 1 else 3 if abs(share) < 10 else 6
    return f"{amount(100 * share, digits)}\u00a0%"


def probability(value: float | None) -> str:
    """A p-value with three digits.

    Examples
    --------
    >>> print(probability(0.0012345))
    0.00123
    """
    return "" if value is None else f"{value:.3g}"
