"""The compiled walk of rows through trees; importing this needs numba (the `fast` extra)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rdiv.parallel.compiled import compiled

__all__ = ["add_leaves"]


@compiled
def add_leaves(
    x: Any,
    feature: Any,
    threshold: Any,
    missing: Any,
    child: Any,
    value: Any,
    trees: Any,
    sums: Any,
) -> None:
    """Add the value of the leaf that each row reaches, tree after tree, to ``sums``.

    64 rows go down a tree together, one level at a time, without a branch that a processor could
    guess wrongly: a leaf leads to itself. All places are unsigned, since numba counts signed ones
    from the end where they are negative.

    Parameters
    ----------
    x : (n, d) array
    feature, threshold : (nodes,) arrays
        A row goes to the second child where its feature is above the threshold.
    missing : (nodes,) array
        1 where it does so without a value.
    child : (2 * nodes,) array
        Both children of every node.
    value : (nodes,) array
    trees : (t, 3) array
        Root, depth and column of the sums of every tree.
    sums : (n, k) array
    """
    n, rows, gaps = x.shape[0], np.uint64(64), np.isnan(x).any()
    d, two = np.uint64(x.shape[1]), np.uint64(2)
    flat, place = x.ravel(), np.empty(rows, np.uint64)
    for start in range(0, n, 64):
        first = np.uint64(start)
        count = np.uint64(min(rows, np.uint64(n - start)))
        for tree in range(len(trees)):
            root, depth, column = trees[tree]
            for row in range(count):
                place[np.uint64(row)] = root
            for _ in range(depth):
                for row in range(count):
                    node = place[np.uint64(row)]
                    cell = flat[(first + np.uint64(row)) * d + feature[node]]
                    beyond = np.uint64(cell > threshold[node])
                    if gaps:
                        beyond |= np.uint64(cell != cell) & missing[node]
                    place[np.uint64(row)] = child[two * node + beyond]
            for row in range(count):
                at = np.uint64(row)
                sums[first + at, column] += value[place[at]]
