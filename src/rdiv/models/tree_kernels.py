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


@compiled
def hashed(word: Any) -> Any:
    """A number below 32 for every word of one bit, each a different one."""
    return (word * np.uint32(0x077CB531) >> np.uint32(27)) & np.uint32(31)


@compiled
def fill_sets(
    roots: Any,
    sizes: Any,
    column: Any,
    rank: Any,
    missing: Any,
    child: Any,
    value: Any,
    base: Any,
    codes: Any,
    left: Any,
    values: Any,
) -> None:
    """Write the sets of `leaf_sets.LeafSets`: children must stand behind their parents."""
    under = np.zeros(sizes.max(), np.uint32)
    for tree in range(len(roots)):
        root, bit = roots[tree], np.uint32(1)
        for node in range(root + sizes[tree] - 1, root - 1, -1):
            if child[2 * node] == node:
                under[node - root] = bit
                values[tree, hashed(bit)] = value[node]
                bit = np.uint32(bit << np.uint32(1))
            else:
                low, high = child[2 * node] - root, child[2 * node + 1] - root
                under[node - root] = under[low] | under[high]
        for place in range(len(left)):
            left[place, tree] = under[0]
        for node in range(root, root + sizes[tree]):
            low, high = child[2 * node] - root, child[2 * node + 1] - root
            if low + root != node:
                first, last = base[column[node]], codes[column[node]] - 1
                for code in range(last):
                    left[first + code, tree] &= ~(under[low] if code > rank[node] else under[high])
                left[first + last, tree] &= ~(under[low] if missing[node] else under[high])


@compiled
def place_rows(
    x: Any, columns: Any, edges: Any, low: Any, scale: Any, first: Any, base: Any, missing: Any,
    places: Any,
) -> None:  # fmt: skip
    """Where the cells of some rows stand among the thresholds of their columns.

    A cell is found by arithmetic that never falls where its number grows, so that thresholds of
    other cells need not be compared.
    """
    n, d, one = np.uint64(x.shape[0]), np.uint64(x.shape[1]), np.uint64(1)
    flat, last = x.ravel(), np.float64(first.shape[1] - 2)
    for j in range(len(columns)):
        own, known, column = edges[j], first[j], np.uint64(columns[j])
        for row in range(n):
            number = flat[np.uint64(row) * d + column]
            cell = (number - low[j]) * scale[j]
            cell = cell if cell > 0.0 else 0.0
            cell = cell if cell < last else last
            at, end = np.uint64(known[np.uint64(cell)]), np.uint64(known[np.uint64(cell) + one])
            while at < end and own[at] < number:
                at += one
            places[row, j] = base[j] + (missing[j] if number != number else np.intp(at))


@compiled
def intersect(places: Any, left: Any, found: Any) -> None:
    """The leaf of every tree that one row reaches, by its hash."""
    trees, columns = left.shape[1], len(places)
    sets = left[places[0]]
    for tree in range(trees):
        found[tree] = sets[tree]
    for j in range(1, columns, 3):  # a set that is met twice does no harm
        sets, more = left[places[j]], left[places[min(j + 1, columns - 1)]]
        last = left[places[min(j + 2, columns - 1)]]
        for tree in range(trees):
            found[tree] &= sets[tree] & more[tree] & last[tree]
    for tree in range(trees):
        found[tree] = hashed(found[tree])


@compiled
def add_sets(
    x: Any, columns: Any, edges: Any, low: Any, scale: Any, first: Any, base: Any, missing: Any,
    left: Any, value: Any, runs: Any, sums: Any,
) -> None:  # fmt: skip
    """What `add_leaves` does, by the sets of `leaf_sets.LeafSets`; four rows are added at once."""
    places = np.empty((64, len(columns)), np.intp)
    found, flat, wide = np.zeros((4, left.shape[1]), np.uint32), value.ravel(), np.uint64(32)
    one, two, three, four = found[0], found[1], found[2], found[3]
    total = np.zeros((4, sums.shape[1]))
    for start in range(0, len(x), 64):
        rows = min(64, len(x) - start)
        place_rows(
            x[start : start + rows], columns, edges, low, scale, first, base, missing, places
        )
        for begin in range(0, rows, 4):
            count = min(4, rows - begin)
            for i in range(count):
                intersect(places[begin + i], left, found[i])
                total[i] = sums[start + begin + i]
            for column in range(sums.shape[1]):
                a, b = total[0, column], total[1, column]
                c, d = total[2, column], total[3, column]
                for tree in range(runs[column], runs[column + 1]):
                    leaf, at = wide * np.uint64(tree), np.uint64(tree)
                    a += flat[leaf + one[at]]
                    b += flat[leaf + two[at]]
                    c += flat[leaf + three[at]]
                    d += flat[leaf + four[at]]
                total[0, column], total[1, column] = a, b
                total[2, column], total[3, column] = c, d
            for i in range(count):
                sums[start + begin + i] = total[i]
