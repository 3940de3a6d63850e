"""What a source is: pairs of samples on demand, with a true null beside the alternative."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

__all__ = ["Source", "q_rows"]


@runtime_checkable
class Source(Protocol):
    """Something that draws pairs of samples; usually a frozen dataclass of its settings.

    Four attributes are optional: ``model``, the model that the paper used on this source;
    ``caveat(n)``, a sentence about draws of that size or None; ``loaded()``, the same source with
    its data in memory; ``fingerprint()``, a text that changes when its data do. A study knows a
    source by its name and settings, and by its fingerprint.
    """

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        """Draw ``n`` rows of p, and of q as many as the source's ratio says.

        With ``null`` both samples come from one distribution, on fresh and disjoint rows.
        """
        ...


def q_rows(n: int, ratio: float) -> int:
    """Rows of q for ``n`` rows of p.

    Examples
    --------
    >>> print(q_rows(100, 4), q_rows(100, 0.5))
    400 50
    """
    if not ratio > 0:
        raise ValueError(f"ratio must be positive, got {ratio}; it is rows of q per row of p.")
    return max(1, round(n * ratio))
