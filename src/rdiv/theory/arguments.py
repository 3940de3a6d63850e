"""Arguments of the bounds: what cannot be is refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from rdiv.errors import InputError

__all__ = ["check_norms", "check_number", "check_probability", "check_setting", "check_size"]


def check_size(n: int) -> None:
    """Rows of a sample: a whole number of at least 1.

    Examples
    --------
    >>> check_size(0)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: n must be a whole number of at least 1, got 0; it is ...
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(
            f"n must be a whole number of at least 1, got {n!r}; it is the rows of one sample."
        )


def check_probability(delta: float) -> None:
    """The probability with which a bound may fail."""
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 < float(delta) < 1:
        raise InputError(
            f"delta must lie strictly between 0 and 1, got {delta!r}; it is the probability with "
            "which the bound may fail."
        )


def check_number(name: str, value: float, *, most: float = math.inf, why: str = "") -> None:
    """A finite number of at least 0 and at most ``most``."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0 <= float(value) < math.inf:
        raise InputError(f"{name} must be a finite number of at least 0, got {value!r}.")
    if float(value) > most * (1 + 1e-12):
        raise InputError(f"{name} must be at most {most:g}, got {value:g}; {why}.")


def check_setting(
    n: int, c: float, l_divergence: float = 0.0, complexities: Sequence[tuple[str, float]] = ()
) -> None:
    """Rows, the bound of the loss, and what cannot be larger than that bound allows."""
    check_size(n)
    check_number("c", c)
    if c == 0:
        raise InputError("c must be larger than 0, got 0; it bounds the absolute loss of any row.")
    check_number(
        "l_divergence", l_divergence, most=2 * c, why="risks between -c and c differ by 2 c at most"
    )
    for name, value in complexities:
        check_number(name, value, most=c, why="losses between -c and c have no larger complexity")


def check_norms(norms: Sequence[float]) -> None:
    """Frobenius norms, one a layer."""
    if isinstance(norms, str | bytes) or not np.iterable(norms) or len(norms) == 0:
        raise InputError(f"norms must hold one Frobenius norm a layer, got {norms!r}.")
    for norm in norms:
        check_number("each of norms", norm)
