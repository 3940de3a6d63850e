"""Gaussian mixture: a density model with gradients per component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.models.gradient_width import ColumnSums, column_sums, gradient_width
from rdiv.models.mixture_steps import fitted_from
from rdiv.models.row_products import row_products
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.row_blocks import cut, rows_within
from rdiv.samples.pool import Pool, require_finite

__all__ = [
    "FittedGaussianMixture",
    "GaussianMixture",
    "bounded_mixture_gradients",
    "log_density",
    "mixture_gradients",
]


Floats = NDArray[np.float64]

_AT_ONCE = 1 << 22  # gradients in memory at a time

MIXTURE_GRADIENTS = 1000
"""Gradients per row, at most: four components of twenty columns have 924."""


def log_density(mixture: Any, x: Floats) -> Floats:
    """Log density of rows under a fitted mixture, ``(n,)``; a row's bits are its own.

    Parameters
    ----------
    mixture : sklearn.mixture.GaussianMixture
        Fitted, with full or diagonal covariances.
    x : (n, d) array

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> mixture = GaussianMixture(2, random_state=0).fit(x)
    >>> print(np.allclose(log_density(mixture, x), mixture.score_samples(x)))
    True
    """
    (count, d), factors = mixture.means_.shape, mixture.precisions_cholesky_
    full = mixture.covariance_type == "full"
    diagonals = np.diagonal(factors, axis1=1, axis2=2) if full else factors
    heights = np.log(diagonals).sum(axis=1) + np.log(mixture.weights_) - d * np.log(2 * np.pi) / 2
    centres = np.einsum("kd,kde->ke" if full else "kd,kd->kd", mixture.means_, factors)
    beside = np.concatenate(list(factors), axis=1) if full else None
    found = np.empty(len(x))
    for rows in cut(len(x), rows_within(_AT_ONCE, count * d)):
        if beside is None:
            z = x[rows, None, :] * factors
        else:
            z = row_products(x[rows], beside).reshape(-1, count, d)
        logs = heights - np.square(z - centres).sum(axis=2) / 2
        highest = logs.max(axis=1)
        found[rows] = highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1))
    return found


def mixture_gradients(mixture: Any, x: Floats) -> Floats:
    """Gradients of the negative log density of rows in all parameters of a mixture, ``(n, m)``.

    Parameters
    ----------
    mixture : sklearn.mixture.GaussianMixture
        Fitted, with full or diagonal covariances.
    x : (n, d) array

    Notes
    -----
    The parameters are those in which component k has the log density
    ``w_k + log N(x; mu_k, S_k) + a_k'(x - mu_k) + (x - mu_k)' B_k (x - mu_k)`` less a normaliser:
    the log odds of the weights and the natural parameters of the Gaussians, at ``a_k = B_k = 0``.
    With r_k the probability that the row belongs to component k, the derivatives are
    ``-(r_k - weight_k)``, ``-r_k (x - mu_k)`` and ``-r_k ((x - mu_k)(x - mu_k)' - S_k)``: the
    moments that the EM algorithm matches, so their means over the fitted rows are 0.

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> mixture = GaussianMixture(2, random_state=0, tol=1e-9, max_iter=1000).fit(x)
    >>> gradients = mixture_gradients(mixture, x)
    >>> print(gradients.shape, bool(np.abs(gradients.mean(axis=0)).max() < 1e-4))
    (50, 12) True
    """
    n, d = x.shape
    belongs = mixture.predict_proba(x)
    full = mixture.covariance_type == "full"
    pairs = [(i, j) for i in range(d) for j in (range(i, d) if full else (i,))]
    per_component = d + len(pairs)
    # A gradient after the other in memory: each is a product of whole columns of the rows.
    gradients = np.empty((mixture.n_components * (1 + per_component), n))
    gradients[: mixture.n_components] = (mixture.weights_ - belongs).T
    columns = np.ascontiguousarray(x.T)
    for k in range(mixture.n_components):
        start = mixture.n_components + k * per_component
        moved = columns - mixture.means_[k][:, None]
        block = gradients[start : start + per_component]
        block[:d] = moved
        covariance = mixture.covariances_[k]
        for place, (i, j) in enumerate(pairs, d):
            np.multiply(moved[i], moved[j], out=block[place])
            block[place] -= covariance[i, j] if full else covariance[i]
        block *= -belongs[:, k]
    return gradients.T


def bounded_mixture_gradients(mixture: Any, x: Floats) -> Floats:
    """`mixture_gradients`, or where they are too many, as few of them as `gradient_width` allows.

    Then products of two columns come summed over the components and, because components may move
    against each other, once more apart; all that is still too many comes in random groups.

    Parameters
    ----------
    mixture : sklearn.mixture.GaussianMixture
    x : (n, d) array

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> x = np.random.default_rng(0).normal(size=(500, 30))
    >>> mixture = GaussianMixture(4, random_state=0).fit(x)
    >>> print(mixture_gradients(mixture, x).shape, bounded_mixture_gradients(mixture, x).shape)
    (500, 1984) (500, 1000)
    """
    n, d = x.shape
    count = mixture.n_components
    full = mixture.covariance_type == "full"
    per_component = d + (d * (d + 1) // 2 if full else d)
    most = gradient_width(n, MIXTURE_GRADIENTS)
    if count * (1 + per_component) <= most:
        return mixture_gradients(mixture, x)
    groups = _groups(count, d, full, most)
    out = np.empty((n, sum(own.width for own in groups)))
    for rows in cut(n, rows_within(_AT_ONCE, count * per_component)):
        place = 0
        for part, own in zip(_kinds(mixture, x[rows], full), groups, strict=True):
            out[rows, place : place + own.width] = own.apply(part)
            place += own.width
    return out


def _groups(count: int, d: int, full: bool, most: int) -> tuple[ColumnSums, ...]:
    """Room for weights, means, variances, and products of two columns: summed, then apart."""
    pairs = d * (d - 1) // 2 if full else 0
    sizes = count, count * d, count * d, pairs, count * pairs
    weights = min(count, most // 4)
    room = most - weights
    means = min(sizes[1], room // 2 if full else room - room // 4)
    variances = min(sizes[2], room // 4)
    room -= means + variances
    summed = min(pairs, -(-2 * room // 3))
    widths = weights, means, variances, summed, min(sizes[4], room - summed)
    return tuple(
        column_sums(size, width) if size else column_sums(0, 0)
        for size, width in zip(sizes, widths, strict=True)
    )


def _kinds(mixture: Any, x: Floats, full: bool) -> tuple[Floats, ...]:
    """Gradients in weights, means, variances, and products: summed over components, then apart."""
    count, d = mixture.means_.shape
    belongs = mixture.predict_proba(x)
    first, second = np.triu_indices(d if full else 1, 1)
    means, variances = np.empty((len(x), count * d)), np.empty((len(x), count * d))
    products = np.empty((len(x), count, len(first)))
    for k in range(count):
        own = slice(k * d, (k + 1) * d)
        moved, share = x - mixture.means_[k], -belongs[:, k, None]
        covariance = mixture.covariances_[k]
        means[:, own] = share * moved
        variances[:, own] = share * (moved**2 - (np.diag(covariance) if full else covariance))
        if full:
            both = moved[:, first] * moved[:, second]
            products[:, k] = share * (both - covariance[first, second])
    apart = products.reshape(len(x), -1)
    return mixture.weights_ - belongs, means, variances, products.sum(axis=1), apart


COMPONENTS = (2, 4, 8, 16)


@dataclass(frozen=True)
class GaussianMixture:
    """Mixture of Gaussians; the loss of a row is its negative log density.

    Parameters
    ----------
    components : int or "bic"
        Number of components, or the one of 2, 4, 8, 16 with the smallest BIC on the pool (only
        counts with no more parameters than rows are tried; 2 always is).
    covariance : {"auto", "full", "diag"}
        "auto" is full when there are at least five rows per column, diagonal otherwise.

    Notes
    -----
    Columns are centred and scaled inside the fit, so their units do not matter to it. Losses are
    negative log densities in the units of the data: other units change every loss by the same
    constant, and fits to different rows can be compared. A constant column has no density; it adds
    the same number to every loss.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> x = np.concatenate([np.full((30, 1), -1.0), np.full((30, 1), 1.0)])
    >>> x += 0.1 * np.random.default_rng(0).normal(size=(60, 1))
    >>> fitted = GaussianMixture().fit(Pool(x), np.random.default_rng(1))
    >>> print(np.sort(fitted.mixture.means_[:, 0]).round(1))
    [-1.  1.]
    """

    about = "a mixture of Gaussians"
    row_loss = "negative log density"
    suits = "clusters, moderate dimension"
    keep_in_mind = "the number of components is chosen by BIC on the pool"

    components: int | Literal["bic"] = "bic"
    covariance: Literal["auto", "full", "diag"] = "auto"

    task = "density"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedGaussianMixture:
        """Fit by expectation maximisation from a k-means start."""
        x = pool.matrix()
        require_finite(x, who="gmm")
        scaling = fit_scaling(x)
        scaled = scaling.apply(x)
        seed = int(rng.integers(2**31))
        n, d = x.shape
        covariance = self.covariance
        if covariance == "auto":
            covariance = "full" if n >= 5 * d else "diag"
        counts = _candidates(n, d, covariance) if self.components == "bic" else (self.components,)
        fits = [_fit_mixture(scaled, min(count, n), covariance, seed) for count in counts]
        if len(fits) == 1:
            return FittedGaussianMixture(fits[0], scaling)
        criteria = [fit.bic(scaled) for fit in fits]
        return FittedGaussianMixture(fits[int(np.argmin(criteria))], scaling)


@dataclass(frozen=True, eq=False)
class FittedGaussianMixture:
    """A fitted mixture and the scaling in front of it."""

    mixture: Any
    scaling: Scaling

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Negative log density of every row, ``(n,)``, in the units of the data."""
        return self.scaling.log_volume - log_density(self.mixture, self._scaled(pool))

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedGaussianMixture:
        """Fit again to other rows, starting from this mixture; no randomness is left.

        Scaling, number of components and kind of covariance stay, whatever the number of rows.
        """
        del rng
        return FittedGaussianMixture(fitted_from(self.mixture, self._scaled(pool)), self.scaling)

    def fit_anew(self, pool: Pool, rng: np.random.Generator) -> FittedGaussianMixture:
        """As `refit`, but from a k-means start on the new rows."""
        count, kind = self.mixture.n_components, self.mixture.covariance_type
        seed = int(rng.integers(2**31))
        mixture = _fit_mixture(self._scaled(pool), count, kind, seed)
        return FittedGaussianMixture(mixture, self.scaling)

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in weights, means and covariances, ``(n, m)``."""
        return bounded_mixture_gradients(self.mixture, self._scaled(pool))

    def _scaled(self, pool: Pool) -> Floats:
        x = pool.matrix()
        require_finite(x, who="gmm")
        return self.scaling.apply(x)


def _candidates(n: int, d: int, covariance: str) -> tuple[int, ...]:
    per_component = 1 + d + (d * (d + 1) // 2 if covariance == "full" else d)
    return COMPONENTS[:1] + tuple(k for k in COMPONENTS[1:] if k * per_component <= n)


def _fit_mixture(x: Floats, count: int, covariance: str, seed: int) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture as Mixture

    # Whole copies of the rows change no fit, and scikit-learn wants a row for each component.
    copies = -(-max(count, 2) // len(x))
    mixture = Mixture(count, covariance_type=covariance, random_state=seed, reg_covar=1e-6)
    with warnings.catch_warnings():
        # Any stopping rule is valid: the losses are those of the fit when it stops.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(x if copies == 1 else np.tile(x, (copies, 1)))
