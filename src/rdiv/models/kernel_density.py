"""Gaussian kernel density: the loss of a row is minus its log density.

Rows are whitened, copies of a row are merged into one row with a count, and the kernel sums run
over square tiles: one matrix product per tile gives the exponents, so memory stays linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdiv.samples.pool import Pool, require_finite

__all__ = ["FittedKernelDensity", "KernelDensity"]

Floats = NDArray[np.float64]
Bandwidth = float | Literal["loo", "scott", "silverman"]
WhiteningKind = Literal["full", "diagonal"]
Precision = Literal["float64", "float32"]

TILE = 512  # 512 x 512 exponents: 2 MB in float64, which stays in cache
LOO_ROWS = 2000
EIGENVALUE_FLOOR = 1e-6  # of the largest eigenvalue of the correlation matrix
LARGEST_COORDINATE = 1e100  # its square is still finite
# Per precision: the lowest exponent worth an exp, and the largest squared norm of a row (in
# bandwidths) for which |a|^2 - 2ab + |b|^2 has not lost too many digits.
FAST_RANGE: dict[Precision, tuple[float, float]] = {
    "float64": (-700.0, 2.0**24),
    "float32": (-80.0, 2.0**8),
}


@dataclass(frozen=True)
class KernelDensity:
    """Gaussian kernel density with the covariance of the pool times a squared factor.

    Parameters
    ----------
    bandwidth : float or {"loo", "scott", "silverman"}
        The factor, as ``bw_method`` of `scipy.stats.gaussian_kde`. ``"loo"`` maximises the
        leave-one-out likelihood (on the first 2000 rows of a larger pool, then rescaled).
    whitening : {"full", "diagonal"}
        Kernel covariance: that of the pool, or its diagonal only. Prefer ``"diagonal"`` when
        there are about as many columns as rows: full whitening then puts all rows equally far
        from each other.
    dtype : {"float64", "float32"}
        Precision of the kernel sums; ``"float32"`` is about three times faster, with an error of
        at most about 1e-4 in the log density.

    Notes
    -----
    A row counts in its own density (the in-sample loss of the paper). Leaving one out leaves its
    copies out too, or duplicates would drive the factor to zero. Directions in which the pool
    does not vary do not count in the dimension behind the factor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool = Pool(rng.normal(size=(200, 2)))
    >>> fitted = KernelDensity(bandwidth="scott").fit(pool, rng)
    >>> print(fitted.losses(pool).shape, round(fitted.factor, 3))
    (200,) 0.414
    >>> print(fitted.log_density([[0.0, 0.0], [9.0, 9.0]]).round(1))
    [  -2.1 -290.5]
    """

    bandwidth: Bandwidth = "loo"
    whitening: WhiteningKind = "full"
    dtype: Precision = "float64"

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            _require_choice("bandwidth", self.bandwidth, ("loo", "scott", "silverman"))
        elif not 0 < self.bandwidth < np.inf:
            raise ValueError(
                f"bandwidth must be a positive number, got {self.bandwidth}; "
                "leave it out to have it chosen from the rows."
            )
        _require_choice("whitening", self.whitening, ("full", "diagonal"))
        _require_choice("dtype", self.dtype, ("float64", "float32"))

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedKernelDensity:
        """Whiten the rows of the pool and choose the factor."""
        del rng
        rows, place, counts = _distinct(_matrix(pool.numbers()))
        whitening = _Whitening.of(rows, counts, self.whitening)
        coordinates, _ = whitening(rows)
        factor = self._factor(coordinates, place, whitening.dimension)
        columns, n = rows.shape[1], len(place)
        log_kernel_volume = columns * (np.log(2 * np.pi) / 2 + np.log(factor)) + whitening.log_scale
        return FittedKernelDensity(
            rows=coordinates / factor,
            counts=counts,
            factor=factor,
            log_normaliser=float(-np.log(n) - log_kernel_volume),
            whitening=whitening,
            dtype=self.dtype,
        )

    def _factor(self, coordinates: Floats, place: NDArray[np.intp], dimension: int) -> float:
        n = len(place)
        if self.bandwidth == "scott":
            return _scott(n, dimension)
        if self.bandwidth == "silverman":
            return float((n * (dimension + 2) / 4) ** (-1 / (dimension + 4)))
        if self.bandwidth == "loo":
            kept, counts = np.unique(place[:LOO_ROWS], return_counts=True)
            factor = _leave_one_out_factor(coordinates[kept], counts.astype(float), dimension)
            return float(factor * (min(n, LOO_ROWS) / n) ** (1 / (dimension + 4)))
        return float(self.bandwidth)


@dataclass(frozen=True, eq=False)
class FittedKernelDensity:
    """A kernel density fitted to a pool.

    Parameters
    ----------
    rows : (m, k) array
        The distinct rows of the pool, whitened, in units of the bandwidth.
    counts : (m,) array
        How often each of them occurs.
    factor : float
        The bandwidth: the kernel's covariance is its square times that of the pool.
    log_normaliser : float
        Added to the log of the kernel sum, it gives the log density.
    whitening : callable
        From rows as given to whitened rows.
    dtype : {"float64", "float32"}

    Examples
    --------
    >>> pool = Pool(np.array([[0.0], [1.0], [2.0]]))
    >>> fitted = KernelDensity(bandwidth=1.0).fit(pool, np.random.default_rng(0))
    >>> print(fitted.losses(pool).round(3))
    [1.463 1.223 1.463]
    """

    rows: Floats
    counts: Floats
    factor: float
    log_normaliser: float
    whitening: _Whitening
    dtype: Precision = "float64"

    def log_density(self, x: ArrayLike) -> Floats:
        """Log density of rows ``(n, ...)``, as ``(n,)``; equal rows get the very same value."""
        rows, place, _ = _distinct(_matrix(np.asarray(x)))
        if rows.shape[1] != len(self.whitening.centre):
            raise ValueError(
                f"kde was fitted to {len(self.whitening.centre)} columns, got {rows.shape[1]}; "
                "pass rows with the columns of the pool."
            )
        coordinates, off_support = self.whitening(rows)
        sums = _log_kernel_sums(coordinates / self.factor, self.rows, self.counts, self.dtype)
        values: Floats = sums - off_support / (2 * self.factor**2) + self.log_normaliser
        return values[place]

    def losses(self, pool: Pool) -> Floats:
        """Minus the log density of every row of a pool, ``(n,)``."""
        return -self.log_density(pool.numbers())


@dataclass(frozen=True, eq=False)
class _Whitening:
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
    def of(cls, rows: Floats, counts: Floats, kind: WhiteningKind) -> _Whitening:
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
        along = z @ self.basis
        if self.basis.shape[1] < self.basis.shape[0]:
            rest = z - along @ self.basis.T
            off_support = off_support + (rest**2).sum(axis=1) / self.floor
        return along / self.spread, off_support


def _principal_axes(z: Floats) -> tuple[Floats, Floats]:
    """Eigenvectors ``(d, k)`` and eigenvalues ``(k,)`` of ``z.T @ z``, k = min(m, d)."""
    if z.shape[1] <= z.shape[0]:
        variances, basis = np.linalg.eigh(z.T @ z)
        return basis, variances
    _, singular, axes = np.linalg.svd(z, full_matrices=False)
    return axes.T, singular**2


def _leave_one_out_factor(rows: Floats, counts: Floats, dimension: int) -> float:
    """The factor with the largest leave-one-out likelihood; Scott's for fewer than three rows.

    Every exponent is taken relative to the row's nearest neighbour, so nothing underflows and
    float32 is enough for the one matrix that all evaluations share.
    """
    from scipy.optimize import minimize_scalar

    n = counts.sum()
    scott = _scott(int(n), dimension)
    squares = np.einsum("ij,ij->i", rows, rows)
    distances = rows @ rows.T
    distances *= -2
    distances += squares[:, None]
    distances += squares
    distances[distances <= 1e-13 * (squares[:, None] + squares)] = np.inf  # itself and its copies
    nearest = distances.min(axis=1)
    if len(rows) < 3 or np.isinf(nearest).any():
        return scott
    distances -= nearest[:, None]
    beyond_nearest = distances.astype(np.float32)
    kernel, weights = np.empty_like(beyond_nearest), counts.astype(np.float32)

    def negative_log_likelihood(log_factor: float) -> float:
        precision = np.exp(-2 * log_factor) / 2
        np.multiply(beyond_nearest, np.float32(-precision), out=kernel)
        np.maximum(kernel, np.float32(FAST_RANGE["float32"][0]), out=kernel)
        np.exp(kernel, out=kernel)
        log_sums = np.log((kernel @ weights).astype(np.float64)) - precision * nearest
        return float(n * dimension * log_factor - counts @ log_sums)

    bounds = (np.log(scott / 20), np.log(scott * 3))
    found = minimize_scalar(
        negative_log_likelihood, bounds=bounds, method="bounded", options={"xatol": 5e-3}
    )
    return float(np.exp(found.x))


def _log_kernel_sums(rows: Floats, train: Floats, counts: Floats, dtype: Precision) -> Floats:
    """``log(sum_j counts[j] * exp(-|row - train[j]|^2 / 2))`` for every row.

    The tiles leave out what an easy row cannot see: rows further away than the lowest exponent.
    Rows that are not easy (a sum lost to underflow, a norm too large for the expanded square)
    are done again: float32 rows in float64, float64 rows with a shift.
    """
    lowest, largest = FAST_RANGE[dtype]
    row_squares = np.einsum("ij,ij->i", rows, rows)
    train_squares = np.einsum("ij,ij->i", train, train)
    if dtype == "float32" and (row_squares > largest).mean() > 0.5:
        return _log_kernel_sums(rows, train, counts, "float64")
    reach = (np.sqrt(largest) + np.sqrt(-2 * lowest)) ** 2
    near_train = train_squares <= reach
    sums = np.zeros(len(rows))
    if np.array_equal(rows, train):
        sums[near_train] = _tiled_sums(train[near_train], None, counts[near_train], dtype)
    else:
        near = row_squares <= reach
        sums[near] = _tiled_sums(rows[near], train[near_train], counts[near_train], dtype)
    hard = row_squares > largest
    hard |= sums < counts.sum() * np.exp(lowest) / np.finfo(dtype).eps
    values = np.log(np.where(hard, 1.0, sums))
    if dtype == "float32":
        values[hard] = _log_kernel_sums(rows[hard], train, counts, "float64")
    else:
        values[hard] = _shifted_log_sums(rows[hard], train, counts)
    return values


def _tiled_sums(rows: Floats, train: Floats | None, counts: Floats, dtype: Precision) -> Floats:
    """Kernel sums without a shift; ``train=None`` means the rows themselves, by symmetry."""
    symmetric = train is None
    left, right = _factors(rows, rows if train is None else train, dtype)
    weights = counts.astype(dtype)
    lowest = weights.dtype.type(FAST_RANGE[dtype][0])
    buffer = np.empty(TILE * TILE, dtype=dtype)
    sums = np.zeros(len(rows))
    for start in range(0, len(left), TILE):
        here = slice(start, start + TILE)
        for other in range(start if symmetric else 0, len(right), TILE):
            there = slice(other, other + TILE)
            a, b = left[here], right[there]
            kernel = buffer[: len(a) * len(b)].reshape(len(a), len(b))
            np.matmul(a, b.T, out=kernel)
            np.maximum(kernel, lowest, out=kernel)  # exp is slow where it underflows
            np.exp(kernel, out=kernel)
            sums[here] += kernel @ weights[there]
            if symmetric and other > start:
                sums[there] += weights[here] @ kernel
    return sums


def _factors(rows: Floats, train: Floats, dtype: str) -> tuple[NDArray[np.floating], ...]:
    """Two matrices whose product ``left @ right.T`` is minus half the squared distances."""

    def columns(x: Floats) -> tuple[Floats, Floats, Floats]:
        x = x.astype(dtype).astype(np.float64)  # the norm is that of the rounded row
        return x, -0.5 * np.einsum("ij,ij->i", x, x)[:, None], np.ones((len(x), 1))

    (a, half_a, one_a), (b, half_b, one_b) = columns(rows), columns(train)
    return (
        np.hstack([a, half_a, one_a]).astype(dtype),
        np.hstack([b, one_b, half_b]).astype(dtype),
    )


def _shifted_log_sums(rows: Floats, train: Floats, counts: Floats) -> Floats:
    """Log of the kernel sums of rows that are far from all others or far from the centre."""
    values = np.empty(len(rows))
    step = max(1, TILE * TILE * 4 // len(train))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        exponents = _exact_exponents(block, train)
        highest = exponents.max(axis=1, keepdims=True)
        exponents -= highest
        np.maximum(exponents, FAST_RANGE["float64"][0], out=exponents)
        sums = np.exp(exponents, out=exponents) @ counts
        values[start : start + step] = highest[:, 0] + np.log(sums)
    return values


def _exact_exponents(rows: Floats, train: Floats) -> Floats:
    """Minus half the squared distances, from differences where the expanded square is too rough."""
    if (rows**2).sum(axis=1).max() <= FAST_RANGE["float64"][1]:
        left, right = _factors(rows, train, "float64")
        product: Floats = left @ right.T
        return product
    from scipy.spatial.distance import cdist

    exponents: Floats = -0.5 * cdist(rows, train, "sqeuclidean")
    return exponents


def _distinct(x: Floats) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Distinct rows ``(m, d)``, the place of each row among them ``(n,)``, counts ``(m,)``."""
    bytes_of_rows = np.ascontiguousarray(x + 0.0).view(np.dtype((np.void, 8 * x.shape[1]))).ravel()
    _, first, place, counts = np.unique(
        bytes_of_rows, return_index=True, return_inverse=True, return_counts=True
    )
    return x[first], place, counts.astype(np.float64)


def _matrix(x: NDArray[np.floating]) -> Floats:
    require_finite(x, who="kde")
    return x.reshape(len(x), -1).astype(np.float64, copy=False)


def _scott(n: int, dimension: int) -> float:
    return float(n ** (-1 / (dimension + 4)))


def _require_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {given!r}; pick one.")
