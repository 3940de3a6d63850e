"""The input of the engine: a statistic for every split of the pool, and facts for the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rdiv.inference.packed import KeptMasks
    from rdiv.inference.strata_tiles import StratumSums
    from rdiv.inference.tiles import Sums

__all__ = ["Masks", "Observed", "Prepared", "Statistic"]

Masks = NDArray[np.bool_]
"""``(b, n)``: True where a row counts as p."""

Statistic = Callable[[Masks], NDArray[np.float64]]


@dataclass(frozen=True)
class Observed:
    """Numbers of the observed split, besides the one that is ranked.

    Parameters
    ----------
    statistic : float, optional
        The number reported as ``statistic``; by default the ranked one.
    risk_p, risk_q : float, optional
        Mean losses of p and of q.
    gap, error : float, optional
        Mean loss of q minus that of p, and its standard error, for intervals and planning.
    """

    statistic: float | None = None
    risk_p: float | None = None
    risk_q: float | None = None
    gap: float | None = None
    error: float | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """What `prepare` returns for the permutation engine.

    Parameters
    ----------
    statistic : callable
        From masks ``(b, n)`` to what is ranked, ``(b,)`` or ``(b, k)``; large means different. It
        depends on the mask alone. With groups the number of True values varies from mask to mask.
    combine : callable, optional
        From ``(1 + B, k)`` parts, the observed ones in row 0, to ``(1 + B,)`` numbers. Needed when
        ``k > 1``; permuting the rows of its input must permute its output.
    parts : tuple of str
        Names of the columns, for a statistic with ``k > 1``; the result then has their p-values.
    width : int, optional
        The number of columns of the statistic, k; by default the number of parts, or one.
    observed : callable, optional
        From the observed mask to its `Observed` numbers.
    refits : bool
        Whether the statistic fits models: the engine then runs one mask per task and may stop
        early.
    sums : tuple of Sums or StratumSums
        The same statistic from sums over the rows that count as p, its columns in this order; then
        large pools are permuted tile by tile. Empty where it is no function of sums.
    losses, gradients, predictions : arrays, optional
        Numbers per row, in the order of the pool.
    gradient_owners : tuple of str or None, optional
        The input column that each column of the gradients belongs to, None for an intercept. Not
        set when the gradients are in the parameters of the model.
    masks : KeptMasks, optional
        The permutations that it was ranked among, where they were kept for other numbers per row.
    draws : tuple of Prepared
        The same test by every single draw of the folds, where `losses` are means over draws.
    notes : mapping
        Facts for the result, ready for JSON.

    Examples
    --------
    >>> losses = np.array([0.0, 0.0, 1.0, 3.0])
    >>> prepared = Prepared(lambda masks: np.abs(masks @ losses / 2 - ~masks @ losses / 2))
    >>> print(prepared.statistic(np.array([[True, True, False, False]])), prepared.columns)
    [2.] 1
    """

    statistic: Statistic
    combine: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    parts: tuple[str, ...] = ()
    width: int | None = None
    observed: Callable[[NDArray[np.bool_]], Observed] | None = None
    refits: bool = False
    sums: tuple[Sums | StratumSums, ...] = ()
    losses: NDArray[np.float64] | None = None
    gradients: NDArray[np.float64] | None = None
    predictions: NDArray[np.float64] | None = None
    gradient_owners: tuple[str | None, ...] | None = None
    masks: KeptMasks | None = None
    draws: tuple[Prepared, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        """How many columns the statistic has."""
        return self.width or len(self.parts) or 1

    def observe(self, is_p: NDArray[np.bool_]) -> Observed:
        """The numbers of the observed split; empty when there is no `observed` function."""
        return Observed() if self.observed is None else self.observed(is_p)
