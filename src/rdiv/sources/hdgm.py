"""HDGM: a high-dimensional Gaussian mixture that differs in one correlation a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.sources.protocol import q_rows

__all__ = ["Hdgm"]

SHIFT = 0.5
CORRELATION = 0.5
ROTATION_SEED = 2020


@dataclass(frozen=True)
class Hdgm:
    """Two Gaussian clusters in d dimensions (Liu et al. 2020, HDGM-D).

    The clusters have unit variances, one at the origin, the other 0.5 away in every coordinate. In
    q the first two coordinates are correlated, by 0.5 in the first cluster and by -0.5 in the
    second; in p and under the null they are not. So only one direction in d differs.

    Parameters
    ----------
    d : int
        Number of columns, at least 2.
    rotated : bool
        Turn the space by one fixed random rotation, so that no coordinate is special.
    ratio : float
        Rows of q per row of p.

    Notes
    -----
    Rows fall into a cluster at random; the published generator draws equally many of each, which
    makes rows of a sample dependent.

    Examples
    --------
    >>> p, q = Hdgm(d=3).draw(20000, np.random.default_rng(0))
    >>> print(p.mean(axis=0).round(2), np.cov(p.T)[0, 1].round(1))
    [0.25 0.25 0.25] 0.1
    """

    about = "two clusters in many dimensions; p and q differ in one correlation in each"
    holds = "10, or `d`"
    under_null = "both like p"

    d: int = 10
    rotated: bool = False
    ratio: float = 1.0

    model = "kde"

    def __post_init__(self) -> None:
        if self.d < 2:
            raise InputError(f"hdgm needs at least 2 columns, got d={self.d}.")

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw a pair of samples, ``(n, d)`` and ``(ratio n, d)``."""
        return self._mixture(n, rng, False), self._mixture(q_rows(n, self.ratio), rng, not null)

    def _mixture(self, n: int, rng: np.random.Generator, correlated: bool) -> NDArray[np.float64]:
        second = rng.integers(2, size=n)
        x = rng.normal(size=(n, self.d))
        if correlated:
            slope = CORRELATION * (1 - 2 * second)
            x[:, 1] = slope * x[:, 0] + np.sqrt(1 - slope**2) * x[:, 1]
        x += SHIFT * second[:, None]
        return x @ _rotation(self.d) if self.rotated else x


def _rotation(d: int) -> NDArray[np.float64]:
    """One orthogonal matrix for each d, uniform among all of them."""
    q, r = np.linalg.qr(np.random.default_rng([ROTATION_SEED, d]).normal(size=(d, d)))
    rotation: NDArray[np.float64] = q * np.sign(np.diag(r))
    return rotation
