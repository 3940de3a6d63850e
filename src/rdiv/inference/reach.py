"""The smallest p-value that a permutation test can have: how many permutations are distinct."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import OutOfReachError

__all__ = ["check_reach", "distinct_masks", "smallest_pvalue"]

MANY = 10**9
"""From here on the number of distinct permutations is of no concern, and is not counted on."""

Codes = NDArray[np.intp]


def distinct_masks(
    is_p: NDArray[np.bool_], groups: Codes | None = None, strata: Codes | None = None
) -> int:
    """How many different splits the permutations of a split can give, up to `MANY`.

    Examples
    --------
    >>> pairs = np.repeat(np.arange(5), 2)
    >>> print(distinct_masks(np.arange(10) % 2 == 0, strata=pairs))
    32
    """
    count = 1
    for rows, of_p in _counts(is_p, groups, strata):
        count *= comb(min(rows, MANY), min(of_p, rows - of_p, 40))
        if count >= MANY:
            return MANY
    return count


def smallest_pvalue(
    is_p: NDArray[np.bool_],
    groups: Codes | None = None,
    strata: Codes | None = None,
    *,
    directed: bool = False,
) -> float:
    """The smallest p-value that all permutations of a split could give.

    Parameters
    ----------
    is_p : (n,) mask
    groups, strata : (n,) integer codes, optional
        Units that are permuted whole; parts within which they are permuted.
    directed : bool
        Whether a split and its mirror image, with p and q exchanged, may give different values.

    Notes
    -----
    Of N distinct splits one is the observed one, so a p-value is at least 1 / N. A statistic that
    takes no sides has the same value for the mirror image, so it is at least 2 / N where that is
    one of the splits: where every stratum that can be permuted has as many units of p as of q.
    Random permutations are drawn with replacement from these N; a p-value below that of all of them
    would be luck of the draw.

    Examples
    --------
    >>> print(smallest_pvalue(np.arange(6) < 3), smallest_pvalue(np.arange(7) < 3).__round__(4))
    0.1 0.0286
    """
    count = distinct_masks(is_p, groups, strata)
    movable = [(rows, p) for rows, p in _counts(is_p, groups, strata) if 0 < p < rows]
    mirrored = not directed and all(rows == 2 * of_p for rows, of_p in movable)
    return min(1.0, (2 if mirrored else 1) / count)


def check_reach(
    is_p: NDArray[np.bool_],
    groups: Codes | None,
    strata: Codes | None,
    alpha: float,
    *,
    directed: bool = False,
) -> None:
    """Refuse a split of which no permutation test can have a p-value of at most alpha.

    Examples
    --------
    >>> check_reach(np.arange(6) < 3, None, None, 0.05)
    Traceback (most recent call last):
    ...
    rdiv.errors.OutOfReachError: 3 + 3 rows have 20 distinct permutations, so no p-value is ...
    """
    least = smallest_pvalue(is_p, groups, strata, directed=directed)
    if least <= alpha * (1 + 1e-12):
        return
    counts = _counts(is_p, groups, strata)
    of_p = sum(p for _, p in counts)
    what = "rows" if groups is None else "groups"
    where = "" if strata is None else f" in {len(counts)} strata"
    number = distinct_masks(is_p, groups, strata)
    raise OutOfReachError(
        f"{of_p} + {sum(rows for rows, _ in counts) - of_p} {what}{where} have {number} distinct "
        f"permutation{'' if number == 1 else 's'}, so no p-value is below {least:.3g} and none can "
        f"reach alpha = {alpha:g}; give more {what}."
    )


def _counts(
    is_p: NDArray[np.bool_], groups: Codes | None, strata: Codes | None
) -> list[tuple[int, int]]:
    """Units and units of p in every stratum."""
    if groups is None and strata is None:
        return [(len(is_p), int(np.count_nonzero(is_p)))] if len(is_p) else []
    units = np.arange(len(is_p)) if groups is None else np.unique(groups, return_index=True)[1]
    codes = np.zeros(len(units), np.intp) if strata is None else strata[units]
    rows = np.bincount(codes)
    of_p = np.bincount(codes, is_p[units])
    return [(int(n), int(p)) for n, p in zip(rows, of_p, strict=True) if n]
