"""Search for readable slices where the gap is concentrated, on rows used for nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.bins import InputColumn

__all__ = ["Candidate", "search_slices"]

Floats = NDArray[np.float64]

MOST_SLICES = 3  # per search
MOST_PAIRED = 20  # columns whose conditions are tried two at a time
SMALLEST_SHARE = 0.02  # of either sample, inside and outside
FEWEST_ROWS = 20  # of either sample, inside and outside
SECOND_CLAUSE = 0.25  # the least that a second condition must add to the ratio
WORTH_TESTING = 2.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """A slice found: conditions on one or two columns, and whether current does worse inside.

    Parameters
    ----------
    columns : tuple of int
    conditions : tuple of int
        Of each of these columns.
    ratio : float
        Gap inside minus gap outside, current minus reference, over its standard error.
    """

    columns: tuple[int, ...]
    conditions: tuple[int, ...]
    ratio: float

    @property
    def score(self) -> float:
        """The number by which the search ranks slices."""
        return abs(self.ratio) - SECOND_CLAUSE * (len(self.columns) - 1)

    def inside(self, inputs: list[InputColumn]) -> NDArray[np.bool_]:
        """Which rows lie in the slice, ``(n,)``."""
        inside = np.ones(len(inputs[0].codes), dtype=np.bool_)
        for j, c in zip(self.columns, self.conditions, strict=True):
            inside &= inputs[j].holds[c].astype(np.bool_)[inputs[j].codes]
        return inside

    def clauses(self, inputs: list[InputColumn]) -> tuple[str, ...]:
        """The conditions as text."""
        pairs = zip(self.columns, self.conditions, strict=True)
        return tuple(inputs[j].conditions[c][0] for j, c in pairs)


def search_slices(
    inputs: list[InputColumn], losses: Floats, is_p: NDArray[np.bool_]
) -> list[Candidate]:
    """A few slices, the clearest first; each is searched outside of those before it.

    Parameters
    ----------
    inputs : list of InputColumn
        The bins of the rows to search.
    losses : (n,) array
    is_p : (n,) mask

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> from rdiv.drivers.bins import input_columns
    >>> from rdiv.samples import Pool
    >>> x, is_p = rng.normal(size=(2000, 3)), np.arange(2000) < 1000
    >>> losses = rng.exponential(size=2000) * np.where(~is_p & (x[:, 1] > 1), 3, 1)
    >>> inputs = input_columns(Pool(x))
    >>> print(search_slices(inputs, losses, is_p)[0].clauses(inputs))
    ('column 1 >= 0.8',)
    """
    kept: list[Candidate] = []
    rows: list[NDArray[np.bool_]] = []
    left = np.ones(len(losses), dtype=bool)
    while len(kept) < MOST_SLICES:
        places = np.flatnonzero(left)
        part = [replace(column, codes=column.codes[places]) for column in inputs]
        found = _next_slice(part, losses[places], is_p[places])
        if found is None:
            break
        kept.append(found)
        rows.append(found.inside(inputs))
        left &= ~rows[-1]
    return kept


def _next_slice(
    inputs: list[InputColumn], losses: Floats, is_p: NDArray[np.bool_]
) -> Candidate | None:
    """The slice with the clearest concentration, if any is worth testing."""
    if not 0 < int(is_p.sum()) < len(is_p):
        return None
    centred = losses - losses.mean()
    weights, side = (None, centred, centred**2), ~is_p
    sides = [2 * column.codes + side for column in inputs]  # of every bin, p and then q
    singles = [_single(column, j, sides[j], weights) for j, column in enumerate(inputs)]
    strength = np.array([-np.inf if best is None else best.score for best in singles])
    paired = np.argsort(-strength, kind="stable")[:MOST_PAIRED]
    found = [best for best in singles if best is not None]
    for j, k in combinations(sorted(paired.tolist()), 2):
        best = _pair(inputs, j, k, sides[k], weights)
        found += [] if best is None else [best]
    found = [candidate for candidate in found if candidate.score >= WORTH_TESTING]
    return max(found, key=lambda candidate: candidate.score, default=None)


_Weights = tuple[None, Floats, Floats]  # 1, the losses, their squares


def _single(
    column: InputColumn, j: int, sides: NDArray[np.intp], weights: _Weights
) -> Candidate | None:
    if not column.conditions:
        return None
    moments = _moments(sides, column.n_bins, weights)
    inside = np.tensordot(column.holds, moments, 1)
    ratio = _concentration(inside, moments.sum(axis=0))
    best = int(np.argmax(np.abs(ratio)))
    return Candidate((j,), (best,), float(ratio[best]))


def _pair(
    inputs: list[InputColumn], j: int, k: int, sides: NDArray[np.intp], weights: _Weights
) -> Candidate | None:
    first, second = inputs[j], inputs[k]
    if not first.n_pairable or not second.n_pairable:
        return None
    places = first.codes * (2 * second.n_bins)
    places += sides
    flat = _moments(places, first.n_bins * second.n_bins, weights)
    cells = flat.reshape(first.n_bins, second.n_bins, 6)
    inside = np.tensordot(first.holds[: first.n_pairable], cells, 1)  # (c, bins of second, 6)
    inside = np.tensordot(second.holds[: second.n_pairable], inside, (1, 1))  # (d, c, 6)
    ratio = _concentration(inside.reshape(*inside.shape[:2], 2, 3), flat.sum(axis=0))
    d, c = divmod(int(np.argmax(np.abs(ratio))), ratio.shape[1])
    return Candidate((j, k), (c, d), float(ratio[d, c]))


def _moments(places: NDArray[np.intp], n_bins: int, weights: _Weights) -> Floats:
    """Rows, sum and sum of squares of the losses in each bin, ``(bins, side, 3)``; side 0 is p."""
    return np.stack(
        [np.bincount(places, weight, 2 * n_bins).reshape(n_bins, 2) for weight in weights], axis=2
    )


def _concentration(inside: Floats, total: Floats) -> Floats:
    """Studentised difference of the gaps inside and outside; 0 for slices that do not qualify.

    A slice qualifies when it has enough rows of both samples, inside and outside, and when the gap
    inside is the larger one.
    """
    outside = total - inside
    fewest = np.maximum(FEWEST_ROWS, SMALLEST_SHARE * total[:, 0])
    enough = ((inside[..., 0] >= fewest) & (outside[..., 0] >= fewest)).all(axis=-1)
    gap_in, error_in = _gap(inside)
    gap_out, error_out = _gap(outside)
    error = np.sqrt(error_in + error_out)
    fits = enough & (np.abs(gap_in) >= np.abs(gap_out)) & (error > 0)
    ratio: Floats = np.divide(gap_in - gap_out, error, out=np.zeros_like(error), where=fits)
    return ratio


def _gap(moments: Floats) -> tuple[Floats, Floats]:
    """Mean of q minus mean of p, and its squared standard error."""
    n = np.maximum(moments[..., 0], 1)
    mean = moments[..., 1] / n
    spread = np.maximum(moments[..., 2] / n - mean**2, 0) / np.maximum(n - 1, 1)
    return mean[..., 1] - mean[..., 0], spread.sum(axis=-1)
