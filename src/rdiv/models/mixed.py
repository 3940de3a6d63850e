"""A density for tables of any kind of column: the default model without a target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.encoding import Encoding, fit_encoding
from rdiv.models.gaussian_mixture import GaussianMixture
from rdiv.models.gradient_width import ColumnSums, column_sums, gradient_width
from rdiv.models.kernel_density import KernelDensity
from rdiv.models.row_products import row_products
from rdiv.samples.by_kind import ColumnsByKind
from rdiv.samples.pool import Pool

__all__ = ["FittedMixedDensity", "MixedDensity", "few_and_continuous"]

Floats = NDArray[np.float64]

FEW_COLUMNS = 10
"""So many columns, all of continuous numbers, have a density that sees clusters."""

KERNEL_ROWS = 20_000
"""Up to so many rows that density is a kernel density, whose cost grows with their square."""

_CONTINUOUS = 0.1  # distinct values per row of a continuous column, at least
_MOST_FACTORS = 100  # directions with a variance of their own
_SMALLEST = 0.01  # least variance of a direction
_FAR = 4.0  # spreads beyond which values are drawn in
_NORMAL_MEDIAN = 0.6744897501960817  # median distance of a standard normal from 0


@dataclass(frozen=True)
class MixedDensity:
    """Density of a table whose columns may be numbers, categories, dates and text.

    Every column is turned into bounded numbers without a look at the samples: normal scores of the
    ranks in the pool, shrunken levels, and missing cells as a fact of their own. The loss of a row
    is the sum of what each column says (half the squared score, minus the log frequency of the
    level) and of what their correlations say: the logarithm of a Gaussian density with a shrunken
    covariance, over that of independent columns. Large values of the latter grow by their logarithm
    only, so that no single row decides.

    Where there are at most ten columns, all of continuous numbers, the density is a kernel density
    instead (with more than 20 000 rows, a mixture of Gaussians), which sees clusters: columns are
    in units of their spread, values far out are drawn in, and large losses grow by their logarithm.

    Notes
    -----
    The covariance is shrunk by the rule of Ledoit and Wolf (2004). Gradients are those in the means
    of all encoded numbers, in the scales of the scores, and in one factor per input column that
    says how strongly it goes with all others; of few continuous columns, those of a mixture of
    Gaussians. Where they would be more than 400 per row (fewer for more than 167 772 rows) they are
    summed in random groups that depend on nothing but their number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 12))
    >>> x[0] = 1e9
    >>> losses = MixedDensity().fit(Pool(x), rng).losses(Pool(x))
    >>> print(int(losses.argmax()), bool(losses.max() < 100))
    0 True
    """

    about = "normal scores, levels and missing cells of all columns, and how they go together"
    row_loss = "surprise"
    suits = "tables: numbers, categories, dates, text, missing cells"
    keep_in_mind = "beyond ten columns it sees clusters only by their correlations"

    task = "density"
    own_scale = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedMixedDensity | FittedFewColumns:
        """Rank, count and correlate the columns of the pool."""
        found = pool.by_kind()
        if few_and_continuous(found):
            return _fit_few(found, rng)
        encoding = fit_encoding(found)
        return FittedMixedDensity(encoding, *_gaussian(encoding.apply(found)))


@dataclass(frozen=True, eq=False)
class FittedMixedDensity:
    """A fitted density of encoded columns.

    Parameters
    ----------
    encoding : Encoding
    basis : (m, k) array
        Directions whose variance is not that of the others.
    variances : (k,) array
    rest : float
        The variance in all other directions.
    """

    encoding: Encoding = field(repr=False)
    basis: Floats
    variances: Floats
    rest: float

    def losses(self, pool: Pool) -> Floats:
        """Surprise of every row, ``(n,)``."""
        parts = [self._losses(block.by_kind()) for block in pool.blocks()]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _losses(self, found: ColumnsByKind) -> Floats:
        encoded = self.encoding.apply(found)
        scores = encoded[:, : self.encoding.n_scores]
        alone = self.encoding.level_losses(found) + 0.5 * np.einsum("ij,ij->i", scores, scores)
        losses: Floats = alone + self._together(encoded)
        return losses

    def _together(self, encoded: Floats) -> Floats:
        """What the correlations say of a row beyond its columns, large values by their log."""
        m, k = self.basis.shape
        squares = (1 / self.rest - 1) * np.einsum("ij,ij->i", encoded, encoded)
        along = row_products(encoded, self.basis)
        squares += np.einsum("ij,ij,j->i", along, along, 1 / self.variances - 1 / self.rest)
        volume = np.log(self.variances).sum() + (m - k) * np.log(self.rest)
        bound = 5 * np.sqrt(m + 1)
        together: Floats = bound * np.arcsinh((squares + volume) / (2 * bound))
        return together

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedMixedDensity:
        """Fit the correlations again to other rows, with the encoding of this fit."""
        del rng
        return FittedMixedDensity(self.encoding, *_gaussian(self.encoding.apply(pool.by_kind())))

    fit_anew = refit  # nothing here has a start

    def gradients(self, pool: Pool) -> Floats:
        """Derivatives of every row's loss, up to constants, ``(n, r)``."""
        groups = self._groups(len(pool))
        width = sum(own.width for own in groups)
        if not width:  # nothing varies
            return np.zeros((len(pool), 1))
        out, start = np.empty((len(pool), width)), 0
        for block in pool.blocks():
            encoded = self.encoding.apply(block.by_kind())
            scores = encoded[:, : self.encoding.n_scores]
            parts = encoded, scores**2, self._couplings(encoded)
            stop, place = start + len(encoded), 0
            for part, own in zip(parts, groups, strict=True):
                out[start:stop, place : place + own.width] = own.apply(part)
                place += own.width
            start = stop
        return out

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        """The input column of every gradient; None where several were summed."""
        owners, columns = self.encoding.owners, tuple(self._columns)
        names = owners, owners[: self.encoding.n_scores], columns
        return tuple(
            name
            for own, given in zip(self._groups(len(pool)), names, strict=True)
            for name in (given if own.width == len(given) else [None] * own.width)
        )

    def _groups(self, n: int) -> tuple[ColumnSums, ColumnSums, ColumnSums]:
        """How the gradients in means, scales and couplings are summed where they are too many."""
        m, scores, columns = len(self.encoding.owners), self.encoding.n_scores, len(self._columns)
        most = gradient_width(n)
        if m + scores + columns <= most:
            return column_sums(m, m), column_sums(scores, scores), column_sums(columns, columns)
        half, quarter = most // 2, most // 4
        return (
            column_sums(m, half),
            column_sums(scores, quarter, signs=False),
            column_sums(columns, quarter, signs=False),
        )

    @cached_property
    def _columns(self) -> dict[str, int]:
        """The input columns, in order, and their places."""
        return {name: j for j, name in enumerate(dict.fromkeys(self.encoding.owners))}

    def _couplings(self, encoded: Floats) -> Floats:
        """For every input column its encoded numbers times what all others say of them."""
        factors = 1 / self.variances - 1 / self.rest
        others = (encoded @ self.basis * factors) @ self.basis.T
        others -= np.einsum("jk,jk,k->j", self.basis, self.basis, factors) * encoded
        others *= encoded
        place = np.array([self._columns[name] for name in self.encoding.owners], dtype=np.intp)
        if len(self._columns) == len(place):
            return others
        sums = np.zeros((len(encoded), len(self._columns)))
        for j, column in enumerate(place.tolist()):
            sums[:, column] += others[:, j]
        return sums


@dataclass(frozen=True, eq=False)
class FittedFewColumns:
    """A density of a few continuous columns.

    Parameters
    ----------
    centre, scale : (d,) arrays
        Median and spread of every column.
    density : FittedKernelDensity or FittedGaussianMixture
    usual, bound : float
        The median loss of the rows fitted on; how far above it losses grow by their logarithm only.
    """

    centre: Floats
    scale: Floats
    density: Any
    usual: float
    bound: float

    def losses(self, pool: Pool) -> Floats:
        """Surprise of every row, ``(n,)``."""
        return _bounded(self.density.losses(self._drawn_in(pool)), self.usual, self.bound)

    def gradients(self, pool: Pool) -> Floats:
        """Derivatives of every row's loss in the parameters of a mixture, ``(n, r)``."""
        gradients: Floats = self.density.gradients(self._drawn_in(pool))
        return gradients

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedFewColumns:
        """Fit the density again to other rows, in the units of this fit."""
        return replace(self, density=self.density.refit(self._drawn_in(pool), rng))

    def fit_anew(self, pool: Pool, rng: np.random.Generator) -> FittedFewColumns:
        """As `refit`, from a new start."""
        return replace(self, density=self.density.fit_anew(self._drawn_in(pool), rng))

    def _drawn_in(self, pool: Pool) -> Pool:
        return Pool(_drawn_in(pool.by_kind().numbers, self.centre, self.scale))


def few_and_continuous(found: ColumnsByKind) -> bool:
    """Whether all columns are continuous numbers, without missing cells, and few.

    Examples
    --------
    >>> print(few_and_continuous(Pool(np.random.default_rng(0).normal(size=(50, 3))).by_kind()))
    True
    """
    n, d = found.numbers.shape
    if found.categories or not 1 <= d <= FEW_COLUMNS or np.isnan(found.numbers).any():
        return False
    return all(len(np.unique(values)) >= max(3, _CONTINUOUS * n) for values in found.numbers.T)


def _fit_few(found: ColumnsByKind, rng: np.random.Generator) -> FittedFewColumns:
    x = found.numbers
    centre = np.median(x, axis=0)
    unit = np.maximum(np.abs(x).max(axis=0), 1e-300)
    spread = np.median(np.abs(x / unit - centre / unit), axis=0) / _NORMAL_MEDIAN
    scale = np.where(spread > 0, spread, (x / unit).std(axis=0)) * unit
    pool = Pool(_drawn_in(x, centre, scale))
    model = KernelDensity() if len(x) <= KERNEL_ROWS else GaussianMixture()
    density = model.fit(pool, rng)
    losses = density.losses(pool)
    low, usual = np.quantile(losses, [0.25, 0.5])
    return FittedFewColumns(centre, scale, density, float(usual), 10 * float(usual - low) + 1.0)


def _drawn_in(x: Floats, centre: Floats, scale: Floats) -> Floats:
    """Columns in units of their spread; beyond 4 of them by the logarithm, missing ones 0."""
    with np.errstate(over="ignore"):
        units = np.nan_to_num(x / scale - centre / scale, posinf=1e300, neginf=-1e300)
    beyond = np.maximum(np.abs(units) - _FAR, 0.0)
    drawn: Floats = np.sign(units) * (np.minimum(np.abs(units), _FAR) + np.log1p(beyond))
    return np.clip(drawn, -3 * _FAR, 3 * _FAR)


def _bounded(losses: Floats, usual: float, bound: float) -> Floats:
    """Losses, those far above the usual one by the logarithm of how far."""
    above = np.maximum(losses - usual - bound, 0.0) / bound
    bounded: Floats = np.minimum(losses, usual + bound) + bound * np.log1p(above)
    return bounded


def _gaussian(encoded: Floats) -> tuple[Floats, Floats, float]:
    """The shrunken covariance of encoded rows: directions, variances, and that of all others."""
    n, m = encoded.shape
    if m < 2 or not encoded.any():
        return np.zeros((m, 0)), np.zeros(0), 1.0
    wide = m > n
    gram = encoded @ encoded.T if wide else encoded.T @ encoded
    mean_variance = float(np.trace(gram)) / (n * m)
    shrinkage = _ledoit_wolf(encoded, float((gram**2).sum()) / n**2, mean_variance)
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1] / n, vectors[:, ::-1]
    k = min(_MOST_FACTORS, int((values > 1e-9 * values[0]).sum()))
    left = max(float(values[k:].sum()), 0.0) / max(m - k, 1)
    basis = vectors[:, :k]
    if wide:
        basis = encoded.T @ basis / np.sqrt(n * values[:k])
    shrunk = (1 - shrinkage) * np.append(values[:k], left) + shrinkage * mean_variance
    shrunk = np.maximum(shrunk, _SMALLEST)
    return basis, shrunk[:-1], float(shrunk[-1])


def _ledoit_wolf(encoded: Floats, squares: float, mean_variance: float) -> float:
    """How far to shrink the covariance towards its mean variance, from 0 to 1."""
    n, m = encoded.shape
    fourth = float((np.einsum("ij,ij->i", encoded, encoded) ** 2).sum()) / n
    away = squares / m - mean_variance**2
    noise = (fourth - squares) / (m * n)
    return 1.0 if away <= 0 else float(np.clip(noise / away, 0.0, 1.0))
