"""Gaps inside and outside of slices, from sums over the rows or groups of each side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import mask_counts, masked_sums, unit_sums
from rdiv.inference.prepared import Masks

__all__ = ["SliceGaps", "slice_gaps"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SliceGaps:
    """Gaps of ``k`` slices for ``b`` masks, ``(b, k)`` each; current (q) minus reference (p).

    Parameters
    ----------
    gap_inside, gap_outside, error_inside : arrays
        Gaps of mean losses, and the standard error of the first.
    inside, excess : arrays
        The gap inside, and the gap inside minus the gap outside, over their standard errors; 0
        where a sample has fewer than two rows (or groups) inside or outside.
    """

    gap_inside: Floats
    gap_outside: Floats
    error_inside: Floats
    inside: Floats
    excess: Floats


def slice_gaps(
    inside: NDArray[np.bool_], losses: Floats, groups: NDArray[np.intp] | None = None
) -> Callable[[Masks], SliceGaps]:
    """Make the function from masks to the gaps of slices.

    Parameters
    ----------
    inside : (n, k) mask
        Which rows lie in which slice.
    losses : (n,) array
    groups : (n,) integer codes, optional
        Standard errors are then those of group sums (cluster-robust).

    Examples
    --------
    >>> inside = np.array([[True], [True], [True], [True], [False], [False], [False], [False]])
    >>> losses = np.array([1.0, 3.0, 4.0, 8.0, 1.0, 2.0, 1.0, 2.0])
    >>> is_p = np.array([True, True, False, False, True, True, False, False])
    >>> found = slice_gaps(inside, losses)(is_p[None])
    >>> print(found.gap_inside[0], found.gap_outside[0], found.inside[0].round(3))
    [4.] [0.] [1.789]
    """
    centre = losses.mean()
    scale = losses.std() or 1.0
    moments: _OfRows | _OfGroups
    centred = (losses - centre) / scale
    moments = _OfRows(inside, centred) if groups is None else _OfGroups(inside, centred, groups)

    def measure(masks: Masks) -> SliceGaps:
        of_p, of_q = (_side(*side) for side in moments.of_sides(masks))
        inner, outer = of_q[0] - of_p[0], of_q[1] - of_p[1]
        error, excess = np.sqrt(of_p[2] + of_q[2]), np.sqrt(of_p[3] + of_q[3])
        enough = of_p[4] & of_q[4]
        return SliceGaps(
            scale * inner, scale * outer, scale * error,
            _ratio(inner, error, enough), _ratio(inner - outer, excess, enough),
        )  # fmt: skip

    return measure


class _OfRows:
    """Sums over rows of each side, where every row is a unit of its own."""

    def __init__(self, inside: NDArray[np.bool_], losses: Floats) -> None:
        a, c = inside * losses[:, None], ~inside * losses[:, None]
        self.columns = np.concatenate([inside, a, a * a, c, c * c], axis=1)
        self.totals = np.ascontiguousarray(self.columns.T).sum(axis=1)

    def of_sides(self, masks: Masks) -> list[tuple[Floats, ...]]:
        """The numbers that `_side` wants, of p and of q."""
        sums, n_p = masked_sums(masks, self.columns), mask_counts(masks)[:, None]
        sides = (sums, n_p), (self.totals - sums, masks.shape[1] - n_p)
        return [self._moments(*side) for side in sides]

    @staticmethod
    def _moments(sums: Floats, rows: NDArray[np.intp]) -> tuple[Floats, ...]:
        n, a, aa, c, cc = sums.reshape(len(sums), 5, -1).swapaxes(0, 1)
        m, none = rows - n, np.zeros_like(n)
        return n, m, a, c, n, m, aa, a, n, cc, c, m, none, none, none, none


class _OfGroups:
    """Sums over groups of each side."""

    def __init__(self, inside: NDArray[np.bool_], losses: Floats, groups: NDArray[np.intp]) -> None:
        self.first, code = np.unique(groups, return_index=True, return_inverse=True)[1:]
        self.columns = _unit_columns(inside, losses, code, len(self.first))  # (units, 16 k)
        self.totals = np.ascontiguousarray(self.columns.T).sum(axis=1)

    def of_sides(self, masks: Masks) -> list[tuple[Floats, ...]]:
        """The numbers that `_side` wants, of p and of q."""
        sums = masked_sums(masks[:, self.first], self.columns)
        sides = sums, self.totals - sums
        return [tuple(side.reshape(len(masks), 16, -1).swapaxes(0, 1)) for side in sides]


def _unit_columns(
    inside: NDArray[np.bool_], losses: Floats, code: NDArray[np.intp], count: int
) -> Floats:
    """Per unit and slice: rows and sum of losses in and out, whether any, and their products."""
    sums = partial(unit_sums, codes=code, count=count)
    n, m = sums(inside.astype(float)), sums((~inside).astype(float))
    a, c = sums(inside * losses[:, None]), sums(~inside * losses[:, None])
    products = (a * a, a * n, n * n, c * c, c * m, m * m, a * c, a * m, n * c, n * m)
    return np.concatenate([n, m, a, c, n > 0, m > 0, *products], axis=1)


def _side(*moments: Floats) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Means inside and outside, variances of the first and of the difference, whether defined."""
    n, m, a, c, units_in, units_out, aa, an, nn, cc, cm, mm, ac, am, nc, nm = moments
    enough = (np.round(units_in) >= 2) & (np.round(units_out) >= 2)
    n, m = np.maximum(n, 1), np.maximum(m, 1)
    mean_in, mean_out = a / n, c / m
    inner = _positive(aa - 2 * mean_in * an + mean_in**2 * nn, aa) / n**2
    outer = _positive(cc - 2 * mean_out * cm + mean_out**2 * mm, cc) / m**2
    cross = (ac - mean_out * am - mean_in * nc + mean_in * mean_out * nm) / (n * m)
    inner *= units_in / np.maximum(units_in - 1, 1)
    outer *= units_out / np.maximum(units_out - 1, 1)
    return mean_in, mean_out, inner, np.maximum(inner + outer - 2 * cross, 0), enough


def _positive(spread: Floats, squares: Floats) -> Floats:
    """The spread, with rounding errors set to 0."""
    return np.where(spread <= _ROUNDING * np.abs(squares), 0.0, spread)


def _ratio(gap: Floats, error: Floats, enough: NDArray[np.bool_]) -> Floats:
    gap = np.where(np.abs(gap) < _ROUNDING, 0.0, gap)
    flat = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    ratio: Floats = np.where(enough, np.divide(gap, error, out=flat, where=error > 0), 0.0)
    return ratio
