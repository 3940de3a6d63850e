"""Arrays as text in a state file, exact to the bit."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed_bits", "packed_floats", "packed_whole", "unpacked"]


def packed_floats(values: NDArray[np.float64]) -> str:
    """Floats as base64 text.

    Examples
    --------
    >>> print(unpacked(packed_floats(np.array([0.1, 2.0])), "<f8"))
    [0.1 2. ]
    """
    return b64encode(values.astype("<f8").tobytes()).decode()


def packed_whole(values: NDArray[np.int64] | None) -> str | None:
    """Whole numbers as base64 text."""
    return None if values is None else b64encode(values.astype("<i8").tobytes()).decode()


def packed_bits(mask: NDArray[np.bool_] | None) -> str | None:
    """A mask as base64 text."""
    return None if mask is None else b64encode(np.packbits(mask).tobytes()).decode()


def unpacked(text: str, kind: str) -> NDArray[Any]:
    """The array behind a text."""
    return np.frombuffer(b64decode(text, validate=True), dtype=kind).copy()
