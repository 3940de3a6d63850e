"""Derivatives of a Gaussian mixture's loss in its parameters, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["mixture_gradients"]

Floats = NDArray[np.float64]


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
    first, second = np.triu_indices(d)
    full = mixture.covariance_type == "full"
    per_component = d + (len(first) if full else d)
    gradients = np.empty((n, mixture.n_components * (1 + per_component)))
    gradients[:, : mixture.n_components] = mixture.weights_ - belongs
    for k in range(mixture.n_components):
        start = mixture.n_components + k * per_component
        moved = x - mixture.means_[k]
        block = gradients[:, start : start + per_component]
        block[:, :d] = moved
        covariance = mixture.covariances_[k]
        if full:
            block[:, d:] = moved[:, first] * moved[:, second] - covariance[first, second]
        else:
            block[:, d:] = moved**2 - covariance
        block *= -belongs[:, k, None]
    return gradients
