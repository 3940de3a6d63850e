"""The studentised bootstrap of a difference of two means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.intervals import Interval
from rdiv.row_blocks import cut_sizes, rows_within

__all__ = ["bootstrap_interval"]

Floats = NDArray[np.float64]

_BLOCK = 2**20  # numbers resampled at a time


def bootstrap_interval(
    of_p: Floats,
    of_q: Floats,
    *,
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Interval:
    """Studentised bootstrap interval of ``mean(of_q) - mean(of_p)``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=50), rng.normal(size=50) + 1
    >>> low, high = bootstrap_interval(p, q, alpha=0.05, n_resamples=499, rng=rng)
    >>> print(round(low, 1), round(high, 1))
    0.5 1.4
    """
    gap, error = of_q.mean() - of_p.mean(), _error(of_p, of_q)
    if not error > 0:
        return Interval(float(gap), float(gap))
    sizes = cut_sizes(n_resamples, rows_within(_BLOCK, len(of_p) + len(of_q)))
    ratios = np.concatenate([_ratios(of_p, of_q, float(gap), size, rng) for size in sizes])
    low, high = np.quantile(ratios, [alpha / 2, 1 - alpha / 2], method="weibull")
    return Interval(float(gap - high * error), float(gap - low * error))


def _ratios(of_p: Floats, of_q: Floats, gap: float, draws: int, rng: np.random.Generator) -> Floats:
    """Studentised gaps of resampled rows, ``(draws,)``."""
    sides = [side[rng.integers(len(side), size=(draws, len(side)))] for side in (of_p, of_q)]
    moved = sides[1].mean(axis=1) - sides[0].mean(axis=1) - gap
    spread = np.sqrt(sum(side.var(axis=1, ddof=1) / side.shape[1] for side in sides))
    flat = np.where(moved == 0, 0.0, np.copysign(np.inf, moved))
    ratios: Floats = np.divide(moved, spread, out=flat, where=spread > 0)
    return ratios


def _error(of_p: Floats, of_q: Floats) -> float:
    return float(np.sqrt(of_p.var(ddof=1) / len(of_p) + of_q.var(ddof=1) / len(of_q)))
