"""Input columns that go together, and how strongly each column of its own moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MeasuredColumns", "measure_columns", "rows_to_measure"]

Floats = NDArray[np.float64]

TOGETHER = 0.5  # two groups become one when their columns are associated this much on average
FEWEST_ROWS, MOST_ROWS, MOST_NUMBERS = 500, 5000, 2**22  # measured, of all rows
MOST_BINS = 8


@dataclass(frozen=True, eq=False)
class MeasuredColumns:
    """Input columns as ranks of pooled rows.

    Parameters
    ----------
    names : tuple of str
        The input columns, in the order of the matrix.
    column_of : (d,) array of int
        For every column of the matrix, the place of its input column in `names`.
    ranks : (n, d) array
        Ranks of the matrix, centred, as shares of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=400)
    >>> x = np.stack([age, rng.normal(size=400), age**2], axis=1)
    >>> columns = measure_columns(x, ("age", "height", "age squared"))
    >>> print(columns.together(range(3)))
    ((0, 2), (1,))
    """

    names: tuple[str, ...]
    column_of: NDArray[np.intp]
    ranks: Floats

    def association(self, chosen: Sequence[int]) -> Floats:
        """How well one column of each pair predicts the other, from 0 to 1, ``(k, k)``.

        It is the multiple correlation of the ranks of a column with the bins of another, adjusted
        for the number of bins, and of the two directions the larger one. For two numeric columns
        with a normal distribution it is about the absolute correlation; it also sees relations
        that are not monotone. A column of several matrix columns (levels, a missing indicator) is
        predicted as well as these are together, weighted by their variances.
        """
        own = [self._own(j) for j in chosen]
        variances = np.array([(part**2).sum() for part in own])
        numbers = np.concatenate(own, axis=1)
        starts = np.cumsum([0, *(part.shape[1] for part in own)])[:-1]
        explained = np.zeros((len(own), len(own)))
        for k, part in enumerate(own):
            basis = _basis(part)
            sums = np.add.reduceat(((basis.T @ numbers) ** 2).sum(axis=0), starts)
            explained[k] = _adjusted(sums, variances, len(numbers), basis.shape[1])
        larger: Floats = np.sqrt(np.maximum(explained, explained.T))
        return larger

    def moved(self, is_p: NDArray[np.bool_]) -> Floats:
        """How well each column tells the two samples apart, from 0 to 1, ``(k,)``.

        The multiple correlation of the sample (0 or 1) with the bins of the column, adjusted.
        """
        sample = is_p - is_p.mean()
        found = np.zeros(len(self.names))
        for j in range(len(self.names)):
            basis = _basis(self._own(j))
            part = np.array([((basis.T @ sample) ** 2).sum()])
            total = np.array([(sample**2).sum()])
            found[j] = _adjusted(part, total, len(sample), basis.shape[1])[0]
        return np.sqrt(found)

    def together(self, chosen: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Groups of the chosen columns, by average linkage, in the order of their first column."""
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform

        if len(chosen) < 2:
            return tuple((j,) for j in chosen)
        distance = 1 - self.association(chosen).round(6)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(squareform(distance, checks=False), "average")
        labels = fcluster(tree, 1 - TOGETHER, "distance")
        groups: dict[int, list[int]] = {}
        for j, label in zip(chosen, labels, strict=True):
            groups.setdefault(int(label), []).append(j)
        return tuple(tuple(group) for group in groups.values())

    def _own(self, column: int) -> Floats:
        return self.ranks[:, self.column_of == column]


def rows_to_measure(n: int, width: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Some of the pooled rows: enough to rank and to group columns."""
    most = max(min(MOST_ROWS, MOST_NUMBERS // width), FEWEST_ROWS)
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def measure_columns(matrix: Floats, owners: Sequence[str]) -> MeasuredColumns:
    """Rank the columns of pooled rows.

    Parameters
    ----------
    matrix : (n, d) array
        Pooled rows as numbers; those of `rows_to_measure` are enough.
    owners : sequence of str
        The input column that each column of the matrix was made from.
    """
    from scipy.stats import rankdata

    names = tuple(dict.fromkeys(owners))
    places = {name: j for j, name in enumerate(names)}
    ranks = rankdata(matrix, axis=0) / len(matrix)
    return MeasuredColumns(
        names, np.array([places[name] for name in owners], np.intp), ranks - ranks.mean(axis=0)
    )


def _basis(ranks: Floats) -> Floats:
    """Orthonormal and centred functions of the bins of some matrix columns, ``(n, r)``."""
    shown = []
    for own in ranks.T:
        levels, codes = np.unique(own, return_inverse=True)
        if len(levels) > MOST_BINS:  # equal values share a bin, so some bins may be empty
            codes = ((own - own.min()) / np.ptp(own) * MOST_BINS).astype(int).clip(0, MOST_BINS - 1)
        shown.append(codes[:, None] == np.unique(codes)[1:])  # the first follows from the others
    design = np.concatenate(shown, axis=1).astype(float)
    design -= design.mean(axis=0)
    values, vectors = np.linalg.eigh(design.T @ design)
    kept = values > 1e-9 * max(values.max(initial=0.0), 1.0)
    basis: Floats = design @ vectors[:, kept] / np.sqrt(values[kept])
    return basis


def _adjusted(parts: Floats, totals: Floats, n: int, freedom: int) -> Floats:
    """Shares of variance explained, without what so many bins explain by chance."""
    raw = np.divide(parts, totals, out=np.zeros_like(parts), where=totals > 0)
    share = 1 - (1 - np.minimum(raw, 1.0)) * (n - 1) / max(n - 1 - freedom, 1)
    return np.where(freedom > 0, np.maximum(share, 0.0), 0.0)
