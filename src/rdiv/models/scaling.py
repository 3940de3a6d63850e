"""Columns on one scale: centred and scaled, or whitened; what a model does inside its own fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.models.row_products import row_products

__all__ = ["Scaling", "Whitening", "WhiteningKind", "fit_scaling", "fit_scaling_in_blocks"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centre and scale of each column.

    Parameters
    ----------
    centre, scale : (d,) arrays
    log_volume : float
        Sum of the log scales of the columns that vary. Added to the negative log density of
        scaled rows, it gives the one of the rows as they were; a constant column has no density
        and no part in it.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    log_volume: float = 0.0

    def apply(
        self, x: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Columns in units of their own spread; written to `out` where it is given."""
        scaled = np.divide(x, self.scale, out=out)
        scaled -= self.centre / self.scale
        return scaled


def fit_scaling(x: NDArray[np.float64]) -> Scaling:
    """Mean and standard deviation of each column, without overflow.

    Constant columns keep their own size as unit.

    Examples
    --------
    >>> scaling = fit_scaling(np.array([[1e300, 5.0], [-1e300, 5.0]]))
    >>> print(scaling.apply(np.array([[1e300, 5.0]])))
    [[1. 0.]]
    """
    largest = np.maximum(x.max(axis=0), -x.min(axis=0))
    largest[largest == 0] = 1.0
    unit = x / largest
    centre = unit.mean(axis=0)
    unit -= centre  # the standard deviation in the place of the numbers, not in a copy of them
    return _scaling(largest, centre, np.sqrt(np.square(unit, out=unit).mean(axis=0)))


def fit_scaling_in_blocks(blocks: Callable[[], Iterator[NDArray[np.float64]]]) -> Scaling:
    """`fit_scaling` for rows that come in parts, twice.

    Parameters
    ----------
    blocks : callable
        Gives the parts, each ``(n, d)``, from the beginning whenever it is called.

    Examples
    --------
    >>> x = np.arange(10.0).reshape(5, 2) ** 2
    >>> parts, whole = fit_scaling_in_blocks(lambda: iter([x[:1], x[1:]])), fit_scaling(x)
    >>> print(np.allclose(parts.centre, whole.centre), np.allclose(parts.scale, whole.scale))
    True True
    """
    largest = np.maximum.reduce([np.maximum(x.max(axis=0), -x.min(axis=0)) for x in blocks()])
    largest[largest == 0] = 1.0
    n, centre, squares = 0, np.zeros(len(largest)), np.zeros(len(largest))
    for x in blocks():  # the update of Chan, Golub and LeVeque (1983)
        unit = x / largest
        mean = unit.mean(axis=0)
        step = mean - centre
        unit -= mean
        squares += np.square(unit, out=unit).sum(axis=0)
        squares += np.square(step) * (n * len(x) / (n + len(x)))
        centre += step * (len(x) / (n + len(x)))
        n += len(x)
    return _scaling(largest, centre, np.sqrt(squares / n))


def _scaling(
    largest: NDArray[np.float64], centre: NDArray[np.float64], spread: NDArray[np.float64]
) -> Scaling:
    constant = spread <= 1e-14
    spread[constant] = 1.0
    scale = spread * largest
    return Scaling(centre * largest, scale, float(np.log(scale[~constant]).sum()))


Floats = NDArray[np.float64]
WhiteningKind = Literal["full", "diagonal"]

EIGENVALUE_FLOOR = 1e-6  # of the largest eigenvalue of the correlation matrix
LARGEST_COORDINATE = 1e100  # its square is still finite


@dataclass(frozen=True, eq=False)
class Whitening:
    """Affine map under which the pool has unit covariance, safe for any scale of the columns.

    A column is scaled by a power of two (exact), centred and divided by its standard deviation,
    then the correlations are taken out. A row's deviation in directions that the pool leaves empty
    (constant columns; the complement of few rows in many columns) is equal for all rows of the
    pool, so it is one number per row, apart from the coordinates.
    """

    binary_exponent: NDArray[np.int32]
    centre: Floats
    deviation: Floats
    varies: NDArray[np.bool_]
    basis: Floats | None  # (varying columns, k) orthonormal; None for the diagonal kind
    spread: Floats  # (k,) standard deviations along the basis, floored
    floor: float  # variance given to the directions that the basis leaves out
    dimension: int
    log_scale: float

    @classmethod
    def of(cls, rows: Floats, counts: Floats, kind: WhiteningKind) -> Whitening:
        """Fit to distinct rows that occur `counts` times each."""
        n = counts.sum()
        varies = (rows != rows[0]).any(axis=0)
        exponent = np.where(varies, np.frexp(np.abs(rows).max(axis=0))[1], 0).astype(np.int32)
        z = np.ldexp(rows[:, varies], -exponent[varies])
        mean = counts @ z / n
        mean += counts @ (z - mean) / n  # columns that hardly vary need the second pass
        z = (z - mean) * np.sqrt(counts / max(n - 1, 1))[:, None]
        spread_of_columns = np.sqrt((z**2).sum(axis=0))
        centre, deviation = rows[0].copy(), np.ones(rows.shape[1])
        centre[varies], deviation[varies] = mean, spread_of_columns
        basis, variances = None, np.ones(z.shape[1])
        if kind == "full" and z.shape[1]:
            basis, variances = _principal_axes(z / spread_of_columns)
        floor = EIGENVALUE_FLOOR * variances.max(initial=0.0)
        spread = np.sqrt(np.maximum(variances, floor))
        left_out = z.shape[1] - len(spread)
        log_scale = (exponent * np.log(2.0) + np.log(deviation)).sum() + np.log(spread).sum()
        if left_out:
            log_scale += left_out * np.log(floor) / 2
        dimension = max(1, int((variances > floor).sum()))
        return cls(
            exponent, centre, deviation, varies, basis, spread, floor, dimension, float(log_scale)
        )

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Whitened coordinates ``(n, k)`` and squared distance off the pool's support ``(n,)``."""
        with np.errstate(over="ignore"):  # a far row may overflow: clipped, it is still far
            z = (np.ldexp(x, -self.binary_exponent) - self.centre) / self.deviation
        z = np.clip(z, -LARGEST_COORDINATE, LARGEST_COORDINATE)
        off_support: Floats = (z[:, ~self.varies] ** 2).sum(axis=1)
        z = z[:, self.varies]
        if self.basis is None:
            return z, off_support
        along = row_products(z, self.basis)
        if self.basis.shape[1] < self.basis.shape[0]:
            rest = z - row_products(along, self.basis.T)
            off_support = off_support + (rest**2).sum(axis=1) / self.floor
        return along / self.spread, off_support


def _principal_axes(z: Floats) -> tuple[Floats, Floats]:
    """Eigenvectors ``(d, k)`` and eigenvalues ``(k,)`` of ``z.T @ z``, k = min(m, d)."""
    if z.shape[1] <= z.shape[0]:
        variances, basis = np.linalg.eigh(z.T @ z)
        return basis, variances
    _, singular, axes = np.linalg.svd(z, full_matrices=False)
    return axes.T, singular**2
