"""Blob: nine clusters in the plane that differ only in their correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.sources.protocol import q_rows

__all__ = ["Blob"]

VARIANCE = 0.03
COVARIANCES = (-0.020, -0.022, -0.024, -0.026, 0.0, 0.020, 0.022, 0.024, 0.026)
"""Covariance of the coordinates in each cluster of q, in the order (0, 0), (0, 1), ... (2, 2)."""


@dataclass(frozen=True)
class Blob:
    """Nine Gaussian clusters on a 3 x 3 grid (Liu et al. 2020, Blob-D).

    In p every cluster is round with variance 0.03; in q each has the same variances and a
    covariance of its own. Under the null both are round. Every row falls into a cluster at random.

    Parameters
    ----------
    ratio : float
        Rows of q per row of p.

    Notes
    -----
    The published generator multiplies by the Cholesky factor from the other side, so its clusters
    have the covariance ``L' L`` rather than the one it states, ``L L'``; this one draws what is
    stated.

    Examples
    --------
    >>> p, q = Blob().draw(9000, np.random.default_rng(0))
    >>> corner = q[(q < 0.5).all(axis=1)]
    >>> print(p.shape, np.cov(corner.T).round(2).tolist())
    (9000, 2) [[0.03, -0.02], [-0.02, 0.03]]
    """

    about = "nine clusters in the plane; p and q differ in the correlation inside each"
    holds = "2"
    under_null = "both like p"

    ratio: float = 1.0

    model = "kde"

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw a pair of samples, ``(n, 2)`` and ``(ratio n, 2)``."""
        return _clusters(n, rng, False), _clusters(q_rows(n, self.ratio), rng, not null)


def _clusters(n: int, rng: np.random.Generator, correlated: bool) -> NDArray[np.float64]:
    cluster = rng.integers(9, size=n)
    noise = rng.normal(scale=VARIANCE**0.5, size=(n, 2))
    if correlated:
        slope = np.array(COVARIANCES)[cluster] / VARIANCE
        noise[:, 1] = slope * noise[:, 0] + np.sqrt(1 - slope**2) * noise[:, 1]
    return np.stack([cluster // 3, cluster % 3], axis=1) + noise
