"""ME: mean embeddings of the two samples, compared at a few optimised locations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.mean_features.ascent import place
from rdiv.discrepancies.mean_features.features import (
    FeatureMeans,
    PlacedFeatures,
    Pullback,
    check_settings,
    fit_scaling,
)
from rdiv.inference.prepared import Prepared
from rdiv.samples.pool import Pool, require_finite

__all__ = ["MeanEmbedding", "gaussian_kernel"]

Floats = NDArray[np.float64]

WIDTHS = 2.0 ** np.arange(-3, 2)  # where the bandwidth starts, in median distances
TRIES = 10  # random sets of locations, of which the best one starts the ascent


@dataclass(frozen=True)
class MeanEmbedding:
    """Mean embeddings at a few locations (Chwialkowski et al. 2015; Jitkrittum et al. 2016).

    The mean of a Gaussian kernel around each location is compared between p and q: where do the
    densities, smoothed by the kernel, differ? Locations and bandwidth are chosen to separate the
    samples on one half of each; the other half is tested.

    Parameters
    ----------
    n_locations : int
        More of them see finer differences; fewer have more power in small samples.
    optimize : bool, default True
        False draws the locations from a Gaussian fitted to the pool and takes the median distance
        as bandwidth. This uses no labels, so all rows are tested, but it is far less powerful.
    normalized : bool, default True
        Rank Hotelling's statistic of the gaps between the means. False ranks the root mean square
        of the gaps; the locations are the same.
    regularization : float
        Added to the variance of every kernel value; kernel values lie between 0 and 1.

    Notes
    -----
    The statistic is ``z' (S_p / n_p + S_q / n_q + r (1 / n_p + 1 / n_q) I)^-1 z``, with z the gaps
    of the kernel means, S the covariances and r the regularisation: the normalised statistic of
    Jitkrittum et al. (2016), who pair the rows of equal samples in some order and take the
    covariance of differences, for samples of any sizes and without pairs. Columns of an array are
    not rescaled.

    The ascent starts from rows of the half, at five bandwidths; cross-validation within the half
    decides when it stops, because more steps would fit noise. With more than 5000 rows per half,
    the locations are learned on a random part, and the notes say so; all rows of the other half are
    tested.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(300, 2)), rng.normal(size=(200, 2)) * [1.0, 2.0]
    >>> print(two_sample_test(p, q, "me", rng=1).rejected)
    True
    """

    compares = "mean kernel values at a few locations, by Hotelling's statistic"
    takes = "none"
    learning = "locations and width, on one half; `optimize=False`: no"
    cost = "an ascent over few parameters; then linear in rows"
    sees = "local differences"
    citation = "Chwialkowski et al. 2015; Jitkrittum et al. 2016"
    directed = False

    n_locations: int = 10
    optimize: bool = True
    normalized: bool = True
    regularization: float = 1e-5

    task = "density"

    def __post_init__(self) -> None:
        check_settings(self, count="n_locations")

    @property
    def learns(self) -> bool:
        """Whether the locations are learned with labels on one half."""
        return self.optimize

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> FeatureMeans:
        """Move locations and bandwidth to where the samples of this half differ most."""
        features, notes = place(
            pool,
            is_p,
            rng,
            evaluate=gaussian_kernel,
            starts=self._starts,
            regularization=self.regularization,
            who="me",
        )
        return self._settled(features, notes)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Test at random locations, blind to the labels."""
        x = pool.matrix()
        require_finite(x, who="me")
        scaling = fit_scaling(x, rng)
        locations = _gaussian_draws(scaling(x), self.n_locations, rng)
        features = PlacedFeatures(gaussian_kernel, scaling, locations, 1.0)
        return self._settled(features, {}).prepare(pool, rng)

    def _starts(self, z: Floats, rng: np.random.Generator) -> Iterator[list[tuple[Floats, float]]]:
        """Random rows, with a range of bandwidths."""
        few = len(z) < self.n_locations
        sets = [rng.choice(z, self.n_locations, replace=few) for _ in range(TRIES)]
        for width in WIDTHS:
            yield [(rows, float(width)) for rows in sets]

    def _settled(self, features: PlacedFeatures, notes: dict[str, Any]) -> FeatureMeans:
        return FeatureMeans(
            features,
            normalized=self.normalized,
            regularization=self.regularization,
            who="me",
            notes={**notes, "bandwidth": features.width * features.scaling.scale},
        )


def gaussian_kernel(z: Floats, locations: Floats, width: float) -> tuple[Floats, Pullback]:
    """Gaussian kernel between rows and locations, ``(n, J)``, and its pullback.

    Examples
    --------
    >>> print(gaussian_kernel(np.zeros((1, 1)), np.array([[0.0], [2.0]]), 1.0)[0].round(3))
    [[1.    0.135]]
    """
    distances = np.einsum("ij,ij->i", z, z)[:, None] - 2 * z @ locations.T
    distances += np.einsum("ij,ij->i", locations, locations)
    distances = np.maximum(distances, 0.0) / width**2
    kernel = np.exp(-distances / 2)

    def pullback(per_row: Floats, per_feature: Floats) -> tuple[Floats, float]:
        pull = per_row[:, None] * kernel * per_feature
        moved = (pull.T @ z - pull.sum(axis=0)[:, None] * locations) / width**2
        return moved, float(np.sum(pull * distances))

    return kernel, pullback


def _gaussian_draws(z: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Draws from a Gaussian with the mean and covariance of the rows: random sums of them."""
    mean = z.mean(axis=0)
    weights = rng.normal(scale=max(len(z) - 1, 1) ** -0.5, size=(count, len(z)))
    draws: Floats = mean + weights @ (z - mean)
    return draws
