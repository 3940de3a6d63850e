"""Splitting rows by their losses: the two parts with the largest R-divergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, naming
from rdiv.noisy_labels.corruption import check_rate

__all__ = ["SHARES", "paper_share", "part_gap", "split_by_loss", "top_rows"]

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""The shares that the paper sweeps."""


def split_by_loss(losses: Any, noise_rate: float) -> NDArray[np.bool_]:
    """Rows predicted to be noisy: the share with the highest losses.

    Of all ways to call ``round(noise_rate * n)`` rows noisy, this one has the largest mean loss of
    the noisy rows minus that of the others: the R-divergence between the parts, under one pooled
    model. Of tied rows the first ones are taken.

    Parameters
    ----------
    losses : (n,) array
        Losses of one model that was fitted to all rows.
    noise_rate : float
        Share of rows to call noisy, at least 0 and below 1.

    Returns
    -------
    (n,) mask

    Examples
    --------
    >>> print(split_by_loss([0.1, 2.3, 0.4, 0.2, 1.9], 0.4))
    [False  True False False  True]
    """
    check_rate(noise_rate, "noise_rate")
    with naming("reading the losses", "give one number per row"):
        values = np.asarray(losses, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(
            f"losses must be finite numbers, one per row, got shape {values.shape} with "
            f"{int((~np.isfinite(values)).sum())} that are not finite."
        )
    return top_rows(values, noise_rate)


def top_rows(values: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """A mask of the largest ``round(share * n)`` values; of equal values the first are taken.

    Examples
    --------
    >>> print(top_rows(np.array([1.0, 1.0, 0.0]), 1 / 3))
    [ True False False]
    """
    mask = np.zeros(len(values), dtype=bool)
    mask[np.argsort(-values, kind="stable")[: round(share * len(values))]] = True
    return mask


def part_gap(losses: NDArray[np.float64], noisy: NDArray[np.bool_]) -> float:
    """Mean loss of the noisy part minus that of the rest; NaN if a part is empty.

    Examples
    --------
    >>> print(part_gap(np.array([0.0, 1.0, 4.0]), np.array([False, False, True])))
    3.5
    """
    if noisy.all() or not noisy.any():
        return float("nan")
    return float(losses[noisy].mean() - losses[~noisy].mean())


def paper_share(losses: NDArray[np.float64], shares: Sequence[float] = SHARES) -> float:
    """The share by the paper's rule: the one whose discrepancy is nearest to the mean discrepancy.

    Examples
    --------
    >>> print(paper_share(np.repeat([0.0, 1.0], [80, 20])))
    0.4
    """
    gaps = np.array([part_gap(losses, top_rows(losses, share)) for share in shares])
    gaps = np.nan_to_num(gaps, nan=np.inf)
    known = gaps[np.isfinite(gaps)]
    if not len(known):
        raise InputError(f"{len(losses)} rows are too few to split in two; pass more rows.")
    return float(shares[int(np.abs(gaps - known.mean()).argmin())])
