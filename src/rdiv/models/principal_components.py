"""Principal components: the loss is what a low-dimensional summary cannot reconstruct."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.losses import reconstruction_error
from rdiv.models.gradient_width import ColumnSums, column_sums, gradient_width
from rdiv.models.row_products import row_products
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.row_blocks import cut, rows_within
from rdiv.samples.pool import Pool, require_finite

__all__ = ["FittedPrincipalComponents", "PrincipalComponents"]

Floats = NDArray[np.float64]

_AT_ONCE = 1 << 21  # numbers in memory at a time


@dataclass(frozen=True)
class PrincipalComponents:
    """Principal components of the scaled columns; the loss is the squared reconstruction error.

    Parameters
    ----------
    components : int or float
        Number of components, or the share of the variance they must explain (strictly between 0
        and 1). At least one direction is always left unexplained.

    Notes
    -----
    Losses are in units of the scaled columns. A refit to other rows (`h-div`, `cross-risk`) keeps
    the scaling and the number of components of the pool, or its losses could not be compared.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> x = np.outer(np.arange(5.0), [1.0, 2.0]) + [[0, 0], [0, 0], [0, 1], [0, 0], [0, 0]]
    >>> fitted = PrincipalComponents(1).fit(Pool(x), np.random.default_rng(0))
    >>> print(int(fitted.losses(Pool(x)).argmax()))
    2
    """

    about = "the plane in which the rows vary most"
    row_loss = "squared reconstruction error of the scaled columns"
    suits = "many correlated columns, more columns than rows"
    keep_in_mind = "blind to shifts inside the retained plane"

    components: int | float = 0.8

    task = "density"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedPrincipalComponents:
        """Decompose the pool."""
        del rng
        x = pool.matrix()
        require_finite(x, who="pca")
        scaling = fit_scaling(x)
        centre, directions, variances = _decompose(scaling.apply(x))
        count = self.components
        if isinstance(count, float) and len(variances):
            explained = np.cumsum(variances) / variances.sum()
            count = int(np.searchsorted(explained, count)) + 1
        # Something must stay unexplained, or every loss is rounding error.
        kept = directions[: min(int(count), x.shape[1] - 1)]
        return FittedPrincipalComponents(centre, kept, scaling)


@dataclass(frozen=True, eq=False)
class FittedPrincipalComponents:
    """Fitted components and the scaling in front of them."""

    centre: Floats
    basis: Floats
    scaling: Scaling

    def losses(self, pool: Pool) -> Floats:
        """Squared reconstruction error of every row, ``(n,)``, in scaled units."""
        x = pool.matrix()
        require_finite(x, who="pca")
        centred = self.scaling.apply(x) - self.centre
        scores = row_products(centred, self.basis.T)
        return reconstruction_error(centred, row_products(scores, self.basis))

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in the centre and the basis, ``(n, r)``.

        Both are multiples of what is left unexplained: it, and it times each component's score.
        Where these are more than `gradient_width` allows, columns are summed in random groups, with
        random signs.
        """
        x = pool.matrix()
        require_finite(x, who="pca")
        centre, basis, kept = self._groups(len(x))
        out = np.empty((len(x), centre.width + kept * basis.width))
        for rows in cut(len(x), rows_within(_AT_ONCE, x.shape[1])):
            centred = self.scaling.apply(x[rows]) - self.centre
            scores = centred @ self.basis.T
            left = centred - scores @ self.basis
            moved = scores[:, :kept, None] * basis.apply(left)[:, None, :]
            out[rows, : centre.width] = centre.apply(left)
            out[rows, centre.width :] = moved.reshape(len(left), -1)
        out *= -2
        return out

    def _groups(self, n: int) -> tuple[ColumnSums, ColumnSums, int]:
        """Sums for the centre and for each component, and how many components have them."""
        k, d = self.basis.shape
        most = gradient_width(n)
        if d * (1 + k) <= most:
            return column_sums(d, d), column_sums(d, d), k
        centre = min(d, most // 2)
        kept = min(k, most - centre)
        return column_sums(d, centre), column_sums(d, (most - centre) // max(kept, 1)), kept

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedPrincipalComponents:
        """Decompose other rows, with the scaling and number of components of this fit."""
        del rng
        x = pool.matrix()
        require_finite(x, who="pca")
        centre, directions, _ = _decompose(self.scaling.apply(x))
        return FittedPrincipalComponents(centre, directions[: len(self.basis)], self.scaling)

    fit_anew = refit  # nothing here has a start


def _decompose(scaled: Floats) -> tuple[Floats, Floats, Floats]:
    """Centre, principal directions ``(k, d)`` and their variances; rows may span less than d."""
    centre = scaled.mean(axis=0)
    _, spread, directions = np.linalg.svd(scaled - centre, full_matrices=False)
    spans = spread > 1e-12 * max(1.0, spread[0])
    return centre, directions[spans], spread[spans] ** 2
