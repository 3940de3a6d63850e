"""What the engine permutes: a number for every way to split the pool, and facts for the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Masks", "Prepared", "Statistic"]

Masks = NDArray[np.bool_]
"""``(b, n)``: True where a row counts as p."""

Statistic = Callable[[Masks], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What `prepare` hands to the permutation engine.

    Parameters
    ----------
    statistic : callable
        From masks ``(b, n)`` to what is ranked, ``(b,)`` or ``(b, k)``; large means different. It
        depends on the mask alone. With groups the number of True values varies from mask to mask.
    combine : callable, optional
        From ``(1 + B, k)`` parts, the observed ones in row 0, to ``(1 + B,)`` numbers. Needed when
        ``k > 1``; permuting the rows of its input must permute its output.
    parts : tuple of str
        What the columns are, for a statistic with ``k > 1``; the result then has their p-values.
    value : callable, optional
        From the observed mask to the number reported as ``statistic``; by default the ranked one.
    risks : callable, optional
        From the observed mask to the mean losses of p and of q.
    refits : bool
        The statistic fits models: the engine runs one mask a task and may stop early.
    losses, gradients : arrays, optional
        Numbers per row, in the order of the pool.
    gap : callable, optional
        From the observed mask to the signed gap (mean loss of p minus that of q) and its standard
        error, for intervals and planning.
    notes : mapping
        Facts for the result, ready for JSON.

    Examples
    --------
    >>> losses = np.array([0.0, 0.0, 1.0, 3.0])
    >>> prepared = Prepared(lambda masks: np.abs(masks @ losses / 2 - ~masks @ losses / 2))
    >>> print(prepared.statistic(np.array([[True, True, False, False]])))
    [2.]
    """

    statistic: Statistic
    combine: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    parts: tuple[str, ...] = ()
    value: Callable[[NDArray[np.bool_]], float] | None = None
    risks: Callable[[NDArray[np.bool_]], tuple[float, float]] | None = None
    refits: bool = False
    losses: NDArray[np.float64] | None = None
    gradients: NDArray[np.float64] | None = None
    gap: Callable[[NDArray[np.bool_]], tuple[float, float]] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
