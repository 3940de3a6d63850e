"""Gaussian kernel density: the loss of a row is minus its log density."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdiv.errors import InputError
from rdiv.models.gaussian_mixture import FittedGaussianMixture, GaussianMixture
from rdiv.models.row_products import in_full_blocks
from rdiv.models.scaling import Whitening, WhiteningKind
from rdiv.row_blocks import cut, rows_within
from rdiv.samples.pool import Pool, require_finite
from rdiv.samples.row_keys import Keys, array_keys, places_among

__all__ = [
    "FittedKernelDensity",
    "KernelDensity",
    "log_kernel_sums",
    "tiled_sums",
]


Floats = NDArray[np.float64]

TILE = 512  # 512 x 512 exponents: 2 MB in float64, which stays in cache
LOWEST = -700.0  # the lowest exponent worth an exp
LOWEST_FLOAT32 = -80.0
# The largest squared norm of a row (in bandwidths) for which |a|^2 - 2ab + |b|^2 has not lost too
# many digits.
LARGEST_SQUARE = 2.0**24


def log_kernel_sums(rows: Floats, train: Floats, counts: Floats) -> Floats:
    """``log(sum_j counts[j] * exp(-|row - train[j]|^2 / 2))`` for every row; its bits are its own.

    Where the rows are ``train`` itself, half of the kernels are computed, and the last bits are
    others.

    The tiles leave out what an easy row cannot see: rows further away than the lowest exponent.
    Rows that are not easy (a sum lost to underflow, a norm too large for the expanded square)
    are done again, with a shift.
    """
    row_squares = np.einsum("ij,ij->i", rows, rows)
    train_squares = np.einsum("ij,ij->i", train, train)
    reach = (np.sqrt(LARGEST_SQUARE) + np.sqrt(-2 * LOWEST)) ** 2
    near_train = train_squares <= reach
    sums = np.zeros(len(rows))
    if rows is train:
        sums[near_train] = tiled_sums(train[near_train], None, counts[near_train])
    else:
        near = row_squares <= reach
        sums[near] = tiled_sums(rows[near], train[near_train], counts[near_train])
    hard = row_squares > LARGEST_SQUARE
    hard |= sums < counts.sum() * np.exp(LOWEST) / np.finfo(np.float64).eps
    values = np.log(np.where(hard, 1.0, sums))
    values[hard] = _shifted_log_sums(rows[hard], train, counts)
    return values


def tiled_sums(rows: Floats, train: Floats | None, counts: Floats) -> Floats:
    """Kernel sums without a shift; ``train=None`` means the rows themselves, by symmetry."""
    symmetric = train is None
    left, right = _factors(rows, rows if train is None else train)
    if not symmetric:
        left = in_full_blocks(left, TILE)  # a product of fewer rows could round them otherwise
    buffer = np.empty(TILE * TILE)
    sums = np.zeros(len(left))
    tiles = list(cut(len(right), TILE))
    for number, here in enumerate(cut(len(left), TILE)):
        for there in tiles[number:] if symmetric else tiles:
            a, b = left[here], right[there]
            kernel = buffer[: len(a) * len(b)].reshape(len(a), len(b))
            np.matmul(a, b.T, out=kernel)
            np.maximum(kernel, LOWEST, out=kernel)  # exp is slow where it underflows
            np.exp(kernel, out=kernel)
            sums[here] += _row_sums(kernel, counts[there])
            if symmetric and there != here:
                sums[there] += counts[here] @ kernel
    return sums[: len(rows)]


def _row_sums(kernel: Floats, counts: Floats) -> Floats:
    """``kernel @ counts``, a row at a time."""
    sums: Floats = np.einsum("ij,j->i", kernel, counts)
    return sums


def _factors(rows: Floats, train: Floats) -> tuple[Floats, Floats]:
    """Two matrices whose product ``left @ right.T`` is minus half the squared distances."""

    def columns(x: Floats) -> tuple[Floats, Floats]:
        return -0.5 * np.einsum("ij,ij->i", x, x)[:, None], np.ones((len(x), 1))

    (half_a, one_a), (half_b, one_b) = columns(rows), columns(train)
    return np.hstack([rows, half_a, one_a]), np.hstack([train, one_b, half_b])


def _shifted_log_sums(rows: Floats, train: Floats, counts: Floats) -> Floats:
    """Log of the kernel sums of rows that are far from all others or far from the centre."""
    values = np.empty(len(rows))
    for block in cut(len(rows), rows_within(TILE * TILE * 4, len(train))):
        exponents = _exact_exponents(rows[block], train)
        highest = exponents.max(axis=1, keepdims=True)
        exponents -= highest
        np.maximum(exponents, LOWEST, out=exponents)
        sums = _row_sums(np.exp(exponents, out=exponents), counts)
        values[block] = highest[:, 0] + np.log(sums)
    return values


def _exact_exponents(rows: Floats, train: Floats) -> Floats:
    """Minus half the squared distances, from differences: the expanded square is too rough."""
    exponents = np.zeros((len(rows), len(train)))
    for own, other in zip(rows.T, train.T, strict=True):
        exponents += np.square(own[:, None] - other)
    exponents *= -0.5
    return exponents


Bandwidth = float | Literal["loo", "scott", "silverman"]

LOO_ROWS = 2000


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

    Notes
    -----
    ``gradients`` are those of a Gaussian mixture fitted to the same pool: a kernel density has no
    parameters.

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

    about = "a Gaussian kernel around every row of the pool"
    row_loss = "negative log density"
    suits = "few columns, any shape; thousands of rows"
    keep_in_mind = "weak beyond about ten columns"

    bandwidth: Bandwidth = "loo"
    whitening: WhiteningKind = "full"

    task = "density"
    fit_rows = 20_000

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            _require_choice("bandwidth", self.bandwidth, ("loo", "scott", "silverman"))
        elif not 0 < self.bandwidth < np.inf:
            raise InputError(
                f"bandwidth must be a positive number, got {self.bandwidth}; "
                "leave it out to have it chosen from the rows."
            )
        _require_choice("whitening", self.whitening, ("full", "diagonal"))

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedKernelDensity:
        """Whiten the rows of the pool and choose the factor."""
        rows, place, counts = _distinct(_matrix(pool.numbers()))
        whitening = Whitening.of(rows, counts, self.whitening)
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
            pool=pool,
            rng=rng.spawn(1)[0],
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
    pool, rng
        The rows and the stream behind ``gradients``.

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
    whitening: Whitening
    pool: Pool
    rng: np.random.Generator

    def log_density(self, x: ArrayLike) -> Floats:
        """Log density of rows ``(n, ...)``, as ``(n,)``; equal rows get the very same value."""
        rows, place, _ = _distinct(_matrix(np.asarray(x)))
        if rows.shape[1] != len(self.whitening.centre):
            raise InputError(
                f"kde was fitted to {len(self.whitening.centre)} columns, got {rows.shape[1]}; "
                "pass rows with the columns of the pool."
            )
        coordinates, off_support = self.whitening(rows)
        sums = self._log_sums(coordinates / self.factor)
        values: Floats = sums - off_support / (2 * self.factor**2) + self.log_normaliser
        return values[place]

    def _log_sums(self, rows: Floats) -> Floats:
        """Logs of the kernel sums; those of rows that were fitted are computed all at once."""
        at = places_among(array_keys(rows), self._keys)
        known = at >= 0
        sums = np.empty(len(rows))
        if known.any():
            sums[known] = self._own_log_sums[at[known]]
        if not known.all():
            sums[~known] = log_kernel_sums(rows[~known], self.rows, self.counts)
        return sums

    @cached_property
    def _keys(self) -> Keys:
        return array_keys(self.rows)

    @cached_property
    def _own_log_sums(self) -> Floats:
        return log_kernel_sums(self.rows, self.rows, self.counts)

    def losses(self, pool: Pool) -> Floats:
        """Minus the log density of every row of a pool, ``(n,)``."""
        return -self.log_density(pool.numbers())

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedKernelDensity:
        """The density of other rows, with the whitening and the bandwidth of this one."""
        rows, place, counts = _distinct(_matrix(pool.numbers()))
        coordinates, _ = self.whitening(rows)
        return replace(
            self,
            rows=coordinates / self.factor,
            counts=counts,
            log_normaliser=float(self.log_normaliser + np.log(self.counts.sum() / len(place))),
            pool=pool,
            rng=rng,
        )

    fit_anew = refit  # nothing here has a start

    def gradients(self, pool: Pool) -> Floats:
        """Derivatives of the loss of a mixture fitted to the same rows, ``(n, m)``."""
        return self._mixture.gradients(pool)

    @cached_property
    def _mixture(self) -> FittedGaussianMixture:
        return GaussianMixture().fit(self.pool, self.rng)


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
        np.maximum(kernel, np.float32(LOWEST_FLOAT32), out=kernel)
        np.exp(kernel, out=kernel)
        log_sums = np.log((kernel @ weights).astype(np.float64)) - precision * nearest
        return float(n * dimension * log_factor - counts @ log_sums)

    bounds = (np.log(scott / 20), np.log(scott * 3))
    found = minimize_scalar(
        negative_log_likelihood, bounds=bounds, method="bounded", options={"xatol": 5e-3}
    )
    return float(np.exp(found.x))


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
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {given!r}; pick one.")
