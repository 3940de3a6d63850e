"""Energy distance: a test of the inputs without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.gram import check_memory
from rdiv.discrepancies.row_distances import energy_of_matrix
from rdiv.inference.masked_sums import mask_counts
from rdiv.inference.prepared import Masks, Observed, Prepared
from rdiv.models.scaling import fit_scaling
from rdiv.samples.pool import Pool, require_finite

__all__ = ["Energy"]


@dataclass(frozen=True)
class Energy:
    """Energy distance between the inputs of two samples (Szekely and Rizzo 2004).

    ``2 E|X - Y| - E|X - X'| - E|Y - Y'|`` over all pairs of rows, Euclidean; 0 when the samples
    are the same. It uses the inputs only, without a target and without a model.

    Parameters
    ----------
    subsample : int, optional
        Use at most this many rows of the pool, chosen without the labels. The matrix of distances
        takes ``8 n^2`` bytes.

    scaled : bool
        Measure every column in units of its spread over the pool, so that the unit of a column
        does not matter. The numbers of a frame are always scaled.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> p, q = [[0.0], [1.0]], [[0.0], [3.0]]
    >>> result = two_sample_test(p, q, Energy(), alpha=0.5, rng=0)
    >>> print(result.statistic)
    1.0
    """

    compares = "distances between rows, within and across samples"
    takes = "none"
    learning = "no"
    cost = "all pairs of rows"
    sees = "any difference in the inputs, given enough rows"
    citation = "Szekely and Rizzo 2004"
    directed = False

    subsample: int | None = None
    scaled: bool = False

    task = "density"

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Compute all distances once."""
        del rng
        x = pool.matrix()[: self.subsample]
        n = len(x)
        check_memory(n, "energy", "Energy(subsample=10000), --subsample 10000")
        require_finite(x, who="energy")
        if self.scaled:
            x = fit_scaling(x).apply(x)
        distances, scale = _scaled_distances(x)
        energy = energy_of_matrix(distances)

        def statistic(masks: Masks) -> NDArray[np.float64]:
            n_p = mask_counts(masks[:, :n])
            weight: NDArray[np.float64] = np.maximum(n_p, 1) * np.maximum(n - n_p, 1) / n
            return energy(masks) * weight

        notes = {"rows compared": n} if n < len(pool) else {}
        return Prepared(
            statistic=statistic,
            observed=lambda is_p: Observed(float(energy(is_p[None])[0]) * scale),
            notes=notes,
        )


def _scaled_distances(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Euclidean distances ``(n, n)`` and their unit, chosen so that squares cannot overflow."""
    from scipy.spatial.distance import pdist, squareform

    scale = float(np.abs(x).max()) or 1.0
    return squareform(pdist(x / scale)), scale
