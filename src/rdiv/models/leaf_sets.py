"""Trees as sets of leaves: which of them a value of a column leaves possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.parallel.loops import compiled_loops

__all__ = ["MOST_COLUMNS", "MOST_LEAVES", "LeafSets", "leaf_sets"]

Floats = NDArray[np.float64]

MOST_LEAVES = 32
"""Leaves of a tree, each a bit of a word."""

MOST_COLUMNS = 48
"""Columns that trees may split; with more of them, to walk down the trees is as fast."""

_MOST_BYTES = 1 << 25
_CELLS = 1 << 11  # so many that most hold no threshold, and none need be compared
_MOST_EDGES = 255  # of a column


@dataclass(frozen=True, eq=False)
class LeafSets:
    """The leaves of every tree that are left, for every place among a column's thresholds.

    Parameters
    ----------
    columns : (c,) integers
        Those that trees split.
    edges : (c, most) array
        Their thresholds in order, filled up with infinity.
    low, scale : (c,) arrays
        Cells of equal width between the smallest and the largest threshold.
    first : (c, cells + 1) integers
        How many thresholds lie below each cell.
    base, missing : (c,) integers
        The row of `left` of a column's lowest values, and that of no value.
    left : (places, t) words
        A bit for every leaf of a tree that rows with such a value may reach.
    value : (t, 32) array
        Values of the leaves, at the places that `tree_kernels.hashed` gives their bits.
    runs : (k + 1,) integers
        Where the trees of each sum begin.

    Notes
    -----
    A row reaches the one leaf that all its columns leave; the sets of all trees lie side by side,
    so a processor intersects many at a time. QuickScorer (Lucchese et al., SIGIR 2015) intersects
    such sets node by node; histogram boosting has at most 255 thresholds a column, so that a
    column's nodes are intersected beforehand.
    """

    columns: NDArray[np.intp]
    edges: Floats
    low: Floats
    scale: Floats
    first: NDArray[np.uint8]
    base: NDArray[np.intp]
    missing: NDArray[np.intp]
    left: NDArray[np.uint32]
    value: Floats
    runs: NDArray[np.intp]

    def add_to(self, sums: Floats, x: Floats) -> None:
        """Add the values of the leaves that rows reach, in the order of the trees."""
        kernels = compiled_loops("rdiv.models.tree_kernels")
        assert kernels is not None
        places = self.edges, self.low, self.scale, self.first, self.base, self.missing
        kernels.add_sets(x, self.columns, *places, self.left, self.value, self.runs, sums)


def leaf_sets(
    feature: NDArray[np.uint64],
    threshold: Floats,
    missing: NDArray[np.uint64],
    child: NDArray[np.uint64],
    value: Floats,
    trees: NDArray[np.uint64],
) -> LeafSets | None:
    """The sets of a forest's leaves; None where they would not be faster than walking.

    Parameters
    ----------
    feature, threshold, missing, child, value, trees
        As `tree_kernels.add_leaves` reads them.
    """
    kernels = compiled_loops("rdiv.models.tree_kernels")
    places = np.arange(len(feature))
    inner, roots = child[::2] != places, trees[:, 0].astype(np.intp)
    sizes = np.diff(np.append(roots, len(feature)))
    columns = np.unique(feature[inner]).astype(np.intp)
    if kernels is None or not 0 < len(columns) <= MOST_COLUMNS:
        return None
    if np.add.reduceat(~inner, roots).max() > MOST_LEAVES:
        return None
    if (child.reshape(-1, 2) < places[:, None]).any() or np.isneginf(threshold[inner]).any():
        return None  # the first would be news, the second comes of infinite inputs
    edges = [np.unique(threshold[inner & (feature == column)]) for column in columns]
    edges = [own[np.isfinite(own)] for own in edges]
    codes = np.array([len(own) + 2 for own in edges])  # below, between and above; no value
    if 4 * codes.sum() * len(trees) > _MOST_BYTES or max(map(len, edges)) > _MOST_EDGES:
        return None
    base = np.cumsum(codes) - codes
    which = np.searchsorted(columns, feature.astype(np.intp))
    rank = np.zeros(len(feature), dtype=np.intp)
    for j, known in enumerate(edges):
        at = np.flatnonzero(inner & (which == j))
        rank[at] = np.searchsorted(known, threshold[at])
    order = np.argsort(trees[:, 2], kind="stable")
    kept = np.empty((int(codes.sum()), len(trees)), dtype=np.uint32)
    values = np.zeros((len(trees), MOST_LEAVES))
    kernels.fill_sets(
        roots[order], sizes[order], which, rank, missing.astype(np.bool_), child.astype(np.intp),
        value, base, codes, kept, values,
    )  # fmt: skip
    low, scale, first = _cells(edges)
    most = max(map(len, edges))
    padded = np.stack([np.pad(x, (0, most - len(x)), constant_values=np.inf) for x in edges])
    runs = np.append(0, np.cumsum(np.bincount(trees[:, 2].astype(np.intp))))
    return LeafSets(columns, padded, low, scale, first, base, codes - 1, kept, values, runs)


def _cells(edges: list[Floats]) -> tuple[Floats, Floats, NDArray[np.uint8]]:
    """Origin and scale of every column's cells, and how many thresholds lie below each."""
    low, scale = np.zeros(len(edges)), np.zeros(len(edges))
    first = np.zeros((len(edges), _CELLS + 1), dtype=np.uint8)
    for j, own in enumerate(edges):
        if len(own):
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                step = _CELLS / (own[-1] - own[0])
            low[j], scale[j] = own[0], step if np.isfinite(step) else 0.0
            with np.errstate(over="ignore", invalid="ignore"):
                cell = np.clip(np.nan_to_num((own - own[0]) * scale[j]), 0, _CELLS - 1)
            first[j] = np.searchsorted(cell.astype(np.intp), np.arange(_CELLS + 1))
    return low, scale, first
