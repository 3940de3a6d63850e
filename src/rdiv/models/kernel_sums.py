"""Logs of Gaussian kernel sums over many rows, in cache-sized tiles."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAST_RANGE", "TILE", "Precision", "log_kernel_sums", "tiled_sums"]

Floats = NDArray[np.float64]
Precision = Literal["float64", "float32"]

TILE = 512  # 512 x 512 exponents: 2 MB in float64, which stays in cache
# Per precision: the lowest exponent worth an exp, and the largest squared norm of a row (in
# bandwidths) for which |a|^2 - 2ab + |b|^2 has not lost too many digits.
FAST_RANGE: dict[Precision, tuple[float, float]] = {
    "float64": (-700.0, 2.0**24),
    "float32": (-80.0, 2.0**8),
}


def log_kernel_sums(rows: Floats, train: Floats, counts: Floats, dtype: Precision) -> Floats:
    """``log(sum_j counts[j] * exp(-|row - train[j]|^2 / 2))`` for every row.

    The tiles leave out what an easy row cannot see: rows further away than the lowest exponent.
    Rows that are not easy (a sum lost to underflow, a norm too large for the expanded square)
    are done again: float32 rows in float64, float64 rows with a shift.
    """
    lowest, largest = FAST_RANGE[dtype]
    row_squares = np.einsum("ij,ij->i", rows, rows)
    train_squares = np.einsum("ij,ij->i", train, train)
    if dtype == "float32" and (row_squares > largest).mean() > 0.5:
        return log_kernel_sums(rows, train, counts, "float64")
    reach = (np.sqrt(largest) + np.sqrt(-2 * lowest)) ** 2
    near_train = train_squares <= reach
    sums = np.zeros(len(rows))
    if np.array_equal(rows, train):
        sums[near_train] = tiled_sums(train[near_train], None, counts[near_train], dtype)
    else:
        near = row_squares <= reach
        sums[near] = tiled_sums(rows[near], train[near_train], counts[near_train], dtype)
    hard = row_squares > largest
    hard |= sums < counts.sum() * np.exp(lowest) / np.finfo(dtype).eps
    values = np.log(np.where(hard, 1.0, sums))
    if dtype == "float32":
        values[hard] = log_kernel_sums(rows[hard], train, counts, "float64")
    else:
        values[hard] = _shifted_log_sums(rows[hard], train, counts)
    return values


def tiled_sums(rows: Floats, train: Floats | None, counts: Floats, dtype: Precision) -> Floats:
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
