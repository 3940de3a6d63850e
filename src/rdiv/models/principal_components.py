"""Principal components: the loss is what a low-dimensional summary cannot reconstruct."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.losses import reconstruction_error
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.samples.pool import Pool, require_finite

__all__ = ["FittedPrincipalComponents", "PrincipalComponents"]


@dataclass(frozen=True)
class PrincipalComponents:
    """Principal components of the scaled columns; the loss is the squared reconstruction error.

    Parameters
    ----------
    components : int or float
        Number of components, or the share of the variance they must explain (strictly between 0
        and 1). At least one direction is always left unexplained.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> x = np.outer(np.arange(5.0), [1.0, 2.0]) + [[0, 0], [0, 0], [0, 1], [0, 0], [0, 0]]
    >>> fitted = PrincipalComponents(1).fit(Pool(x), np.random.default_rng(0))
    >>> print(int(fitted.losses(Pool(x)).argmax()))
    2
    """

    components: int | float = 0.8

    task = "density"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedPrincipalComponents:
        """Decompose the pool."""
        from sklearn.decomposition import PCA

        del rng
        x = pool.matrix()
        require_finite(x, who="pca")
        scaling = fit_scaling(x)
        scaled = scaling.apply(x)
        most = min(x.shape)
        if not scaled.any():  # constant inputs: nothing to explain
            return FittedPrincipalComponents(scaled[0], np.zeros((0, x.shape[1])), scaling)
        decomposition = PCA(most, svd_solver="full").fit(scaled)
        count = self.components
        if isinstance(count, float):
            explained = np.cumsum(decomposition.explained_variance_ratio_)
            count = int(np.searchsorted(explained, count)) + 1
        # Something must stay unexplained, or every loss is rounding error.
        kept = decomposition.components_[: min(count, x.shape[1] - 1)]
        return FittedPrincipalComponents(decomposition.mean_, kept, scaling)


@dataclass(frozen=True, eq=False)
class FittedPrincipalComponents:
    """Fitted components and the scaling in front of them."""

    centre: NDArray[np.float64]
    basis: NDArray[np.float64]
    scaling: Scaling

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Squared reconstruction error of every row, ``(n,)``, in scaled units."""
        x = pool.matrix()
        require_finite(x, who="pca")
        centred = self.scaling.apply(x) - self.centre
        return reconstruction_error(centred, centred @ self.basis.T @ self.basis)
