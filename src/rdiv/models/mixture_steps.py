"""Expectation maximisation of a Gaussian mixture from a given start, for the fits of many splits.

The steps are those of scikit-learn. A log density of a component is linear in the moments of a row
(1, its columns, and products of two of them), so each step is a product with one matrix of moments.
Of a component of width s at distance r from the centre of the rows that loses (r / s)^2 times the
precision of a number: at most 1e-10 r^2, as variances have 1e-6 added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import cut, rows_within

__all__ = ["fitted_from"]

Floats = NDArray[np.float64]

_AT_ONCE = 1 << 20  # moments in memory at a time
_KEPT = 1 << 22  # moments that are kept between the steps


def fitted_from(mixture: Any, x: Floats) -> Any:
    """A mixture fitted to other rows, starting from the parameters of a fitted one.

    Parameters
    ----------
    mixture : sklearn.mixture.GaussianMixture
        Fitted, with full or diagonal covariances. The new one has its settings.
    x : (n, d) array

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> mixture = GaussianMixture(2, random_state=0).fit(x[:100])
    >>> again = fitted_from(mixture, x)
    >>> print(round(again.score(x) - mixture.score(x), 2))
    0.1
    """
    rows = _Moments(x, full=mixture.covariance_type == "full")
    weights, means, factors = mixture.weights_, mixture.means_, mixture.precisions_cholesky_
    likelihood, converged, steps = -np.inf, False, 0
    while not converged and steps < mixture.max_iter:
        before, steps = likelihood, steps + 1
        sums, likelihood = rows.shared_out(weights, means, factors)
        weights, means, covariances, factors = rows.parameters(sums, mixture.reg_covar)
        converged = abs(likelihood - before) < mixture.tol
    again = type(mixture)(**mixture.get_params())
    again.weights_, again.means_, again.covariances_ = weights, means, covariances
    again.precisions_cholesky_ = factors
    again.precisions_ = factors @ factors.swapaxes(1, 2) if rows.full else factors**2
    again.converged_, again.n_iter_, again.lower_bound_ = converged, steps, likelihood
    return again


class _Moments:
    """Rows as the numbers in which log densities of Gaussians are linear."""

    def __init__(self, x: Floats, *, full: bool) -> None:
        self.full = full
        self.columns = np.ascontiguousarray(x.T)
        d, n = self.columns.shape
        self.first, self.second = np.triu_indices(d) if full else (np.arange(d), np.arange(d))
        self.width = 1 + d + len(self.first)
        self.step = rows_within(_AT_ONCE, self.width)
        self.kept = list(self._blocks()) if n * self.width <= _KEPT else None

    def _blocks(self) -> Iterator[Floats]:
        """Moments ``(m, rows)`` of some rows after others."""
        d, n = self.columns.shape
        for rows in cut(n, self.step):
            columns = self.columns[:, rows]
            block = np.empty((self.width, columns.shape[1]))
            block[0], block[1 : 1 + d], place = 1.0, columns, 1 + d
            for i in range(d):
                others = columns[i:] if self.full else columns[i : i + 1]
                np.multiply(columns[i], others, out=block[place : place + len(others)])
                place += len(others)
            yield block

    def shared_out(self, weights: Floats, means: Floats, factors: Floats) -> tuple[Floats, float]:
        """Moments of every component ``(k, m)``, to which rows belong in part; mean log density."""
        natural = self._natural(weights, means, factors)
        sums, total = np.zeros((len(weights), self.width)), 0.0
        for block in self._blocks() if self.kept is None else self.kept:
            shares = natural @ block
            highest = shares.max(axis=0)
            shares -= highest
            np.exp(shares, out=shares)
            together = shares.sum(axis=0)
            shares /= together
            total += float(highest.sum() + np.log(together).sum())
            sums += shares @ block.T
        return sums, total / self.columns.shape[1]

    def _natural(self, weights: Floats, means: Floats, factors: Floats) -> Floats:
        """Coefficients ``(k, m)`` of the log densities, weights included."""
        d = means.shape[1]
        if self.full:
            precisions = factors @ factors.swapaxes(1, 2)
            turned = np.einsum("kde,ke->kd", precisions, means)
            products = -precisions[:, self.first, self.second]
            products[:, self.first == self.second] /= 2
            diagonals = np.diagonal(factors, axis1=1, axis2=2)
        else:
            turned, products, diagonals = factors**2 * means, -(factors**2) / 2, factors
        heights = np.log(weights) + np.log(diagonals).sum(axis=1)
        heights -= (np.einsum("kd,kd->k", turned, means) + d * np.log(2 * np.pi)) / 2
        return np.concatenate([heights[:, None], turned, products], axis=1)

    def parameters(self, sums: Floats, added: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Weights, means, covariances with `added` on the diagonal, and factors of precisions."""
        d = len(self.columns)
        counts, totals, products = sums[:, 0], sums[:, 1 : 1 + d], sums[:, 1 + d :]
        size = (counts + 10 * np.finfo(np.float64).eps)[:, None]
        means = totals / size
        # The sum of (x_i - mu_i)(x_j - mu_j), each row counted by its share.
        i, j = self.first, self.second
        spread = products - means[:, i] * totals[:, j] - totals[:, i] * means[:, j]
        spread += counts[:, None] * means[:, i] * means[:, j]
        spread /= size
        weights = size[:, 0] / size.sum()
        if not self.full:
            spread += added
            return weights, means, spread, 1 / np.sqrt(spread)
        covariances = np.empty((len(sums), d, d))
        covariances[:, i, j] = covariances[:, j, i] = spread
        covariances[:, range(d), range(d)] += added
        lower = np.tril(np.linalg.inv(np.linalg.cholesky(covariances)))
        return weights, means, covariances, lower.swapaxes(1, 2)
