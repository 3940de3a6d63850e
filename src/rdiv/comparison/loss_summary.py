"""The distribution of the losses in both samples, in the same bins."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import cut

__all__ = ["LossSummary", "summarise_losses"]

BINS = 36
"""Bins between the ends of the middle 98 % of all losses."""

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Quantiles that are kept."""

_COUNTED = 1 << 20  # losses that are put into bins at a time
_SKEWED = 100.0  # positive losses are binned on a log scale when the ends differ by this factor


@dataclass(frozen=True)
class LossSummary:
    """The distribution of the losses in two samples.

    Parameters
    ----------
    scale : {"linear", "log"}
        How the edges are spaced.
    edges : tuple of float
        Edges of the bins; the outermost bins also hold all losses beyond them.
    shares_p, shares_q : tuple of float
        Share of each sample's rows in each bin; they sum to 1.
    levels, quantiles_p, quantiles_q : tuple of float
        Quantiles of the losses of each sample, and their levels.

    Examples
    --------
    >>> summary = summarise_losses(np.array([1.0, 2.0, 3.0, 9.0]), np.array([1, 1, 0, 0], bool))
    >>> print(summary.scale, summary.quantiles_p[2], summary.quantiles_q[2])
    linear 1.5 6.0
    """

    scale: Literal["linear", "log"]
    edges: tuple[float, ...]
    shares_p: tuple[float, ...]
    shares_q: tuple[float, ...]
    levels: tuple[float, ...]
    quantiles_p: tuple[float, ...]
    quantiles_q: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)


def summarise_losses(
    losses: NDArray[np.floating] | None, is_p: NDArray[np.bool_]
) -> LossSummary | None:
    """Bin the losses of both samples by the same edges; None where there are no losses.

    Parameters
    ----------
    losses : (n,) array or None
    is_p : (n,) mask

    Examples
    --------
    >>> losses = np.random.default_rng(0).exponential(size=400)
    >>> summary = summarise_losses(losses, np.arange(400) < 100)
    >>> print(len(summary.edges) - len(summary.shares_p), round(sum(summary.shares_q), 6))
    1 1.0
    """
    if losses is None or losses.ndim != 1 or not np.isfinite(losses).all():
        return None
    values: NDArray[np.float64] = losses.astype(np.float64, copy=False)
    scale, edges = _edges(values)
    of_p, of_q = (_of_side(values[side], edges) for side in (is_p, ~is_p))
    return LossSummary(
        scale=scale,
        edges=tuple(edges.tolist()),
        shares_p=of_p[0],
        shares_q=of_q[0],
        levels=LEVELS,
        quantiles_p=of_p[1],
        quantiles_q=of_q[1],
    )


def _edges(losses: NDArray[np.float64]) -> tuple[Literal["linear", "log"], NDArray[np.float64]]:
    low, high = np.quantile(losses, [0.01, 0.99]).tolist()
    if low > 0 and high / low > _SKEWED:
        return "log", np.geomspace(low, high, BINS + 1)
    if not high > low:
        half = max(abs(low), 1.0) / 2
        low, high = low - half, high + half
    return "linear", np.linspace(low, high, BINS + 1)


def _of_side(
    losses: NDArray[np.float64], edges: NDArray[np.float64]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares of the bins, and quantiles."""
    counts = np.zeros(len(edges) - 1, dtype=np.intp)
    for block in cut(len(losses), _COUNTED):
        places = np.searchsorted(edges, losses[block], side="right") - 1
        counts += np.bincount(np.clip(places, 0, len(counts) - 1), minlength=len(counts))
    quantiles = np.quantile(losses, LEVELS, overwrite_input=True)
    return tuple((counts / len(losses)).tolist()), tuple(quantiles.tolist())
