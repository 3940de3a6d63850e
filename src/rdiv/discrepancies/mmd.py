"""MMD-O: maximum mean discrepancy with one Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.gram import check_memory, gaussian_gram, squared_distances, unbiased_mmd
from rdiv.errors import InputError
from rdiv.inference.prepared import Prepared
from rdiv.samples.pool import Pool, require_finite

__all__ = ["GaussianMmd"]

MEDIAN_ROWS = 500
FACTORS = 2.0 ** np.arange(-4, 5)  # multiples of the median that bandwidth="power" tries


@dataclass(frozen=True)
class GaussianMmd:
    """Unbiased maximum mean discrepancy of the inputs, Gaussian kernel (Gretton et al. 2012).

    Parameters
    ----------
    bandwidth : float or {"median", "power"}
        Standard deviation of the kernel ``exp(-|x - y|^2 / (2 bandwidth^2))``. ``"median"``, the
        default, is the median distance between rows of the pool (of its first 500): blind to the
        labels, so all rows are tested. ``"power"`` learns it on one half of each sample: of nine
        multiples of the median, the one with the largest MMD over its standard deviation.
    subsample : int, optional
        Use at most this many rows of the pool, chosen without the labels.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    >>> print(two_sample_test(p, q, "mmd-o", rng=0).pvalue)
    0.001
    """

    compares = "means of one Gaussian kernel"
    takes = "none"
    learning = 'no; `bandwidth="power"`: the bandwidth, on one half'
    cost = "all pairs of rows"
    sees = "differences at the scale of the bandwidth"
    citation = "Gretton et al. 2012"
    directed = False

    bandwidth: float | Literal["median", "power"] = "median"
    subsample: int | None = None

    task = "density"

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in ("median", "power"):
                raise InputError(
                    "bandwidth must be a positive number, 'median' or 'power', got "
                    f"{self.bandwidth!r}."
                )
        elif not 0 < self.bandwidth < np.inf:
            raise InputError(f"bandwidth must be a positive number, got {self.bandwidth}.")

    @property
    def learns(self) -> bool:
        """Whether the bandwidth is learned with labels on one half."""
        return self.bandwidth == "power"

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> GaussianMmd:
        """Choose the bandwidth with the most power on these rows."""
        del rng
        x = _inputs(pool, self.subsample)
        is_p = is_p[: len(x)]
        distances, median = squared_distances(x), _median_distance(x)
        scores = [_power_proxy(distances, is_p, median * factor) for factor in FACTORS]
        return replace(self, bandwidth=float(median * FACTORS[int(np.argmax(scores))]))

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Compute the kernel of all pairs once."""
        del rng
        x = _inputs(pool, self.subsample)
        bandwidth = _median_distance(x) if self.bandwidth == "median" else float(self.bandwidth)
        notes = {"bandwidth": bandwidth}
        if len(x) < len(pool):
            notes["rows compared"] = len(x)
        return Prepared(unbiased_mmd(gaussian_gram(x, bandwidth)), notes=notes)


def _inputs(pool: Pool, subsample: int | None) -> NDArray[np.float64]:
    x = pool.matrix()[:subsample]
    check_memory(len(x), "mmd-o", "GaussianMmd(subsample=10000), --subsample 10000")
    require_finite(x, who="mmd-o")
    return x


def _median_distance(x: NDArray[np.float64]) -> float:
    """Median distance between different rows; 1 if all rows are the same."""
    from scipy.spatial.distance import pdist

    distances = pdist(x[:MEDIAN_ROWS])
    median = float(np.median(distances, overwrite_input=True))
    return median or float(distances.max(initial=0.0)) or 1.0


def _power_proxy(
    distances: NDArray[np.float64], is_p: NDArray[np.bool_], bandwidth: float
) -> float:
    """MMD over its standard deviation under the alternative (Liu et al. 2020, Eq. 3 and 5).

    Both samples are cut to the smaller size, for which the variance has a simple form.
    """
    n = min(int(is_p.sum()), int((~is_p).sum()))
    p, q = np.flatnonzero(is_p)[:n], np.flatnonzero(~is_p)[:n]
    kernel = np.exp(-0.5 / bandwidth**2 * distances)
    within_p, within_q, across = kernel[np.ix_(p, p)], kernel[np.ix_(q, q)], kernel[np.ix_(p, q)]
    h = within_p + within_q - across - across.T
    np.fill_diagonal(h, 0.0)
    mmd = h.sum() / (n * (n - 1))
    variance = 4 * (np.mean((h.sum(axis=1) / n) ** 2) - (h.sum() / n**2) ** 2)
    return float(mmd / np.sqrt(max(variance, 1e-8)))
