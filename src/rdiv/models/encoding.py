"""Columns of any kind as bounded numbers: normal scores, shrunken levels, missing cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.by_kind import ColumnsByKind

__all__ = ["Encoding", "fit_encoding"]

Floats = NDArray[np.float64]

LARGEST = 5.0
"""No encoded number is further from 0."""

MOST_LEVELS = 20
"""Levels of a category with a number of their own; all others together have one more."""

_SMOOTH = 0.5  # rows added to every level
_RARE = 10.0  # a level of so many rows counts half (in squares)
_NARROWEST = 0.3  # least spread that a column of scores is divided by
_MOST_KNOTS = 1024
_TINY = 1e-280  # of the largest value


@dataclass(frozen=True, eq=False)
class _Scores:
    """Normal scores of one column of numbers: values and their scores, in between linear."""

    exponent: int
    knots: Floats
    scores: Floats

    def apply(self, values: Floats) -> Floats:
        units = np.clip(_in_units(values, self.exponent), -4.0, 4.0)
        found = np.interp(units, self.knots, self.scores)
        return np.where(np.isnan(values), 0.0, found)


@dataclass(frozen=True, eq=False)
class _Codes:
    """One category, or a flag of missing cells (codes 0 and 1): numbers and losses of each code.

    Parameters
    ----------
    numbers : (codes, k) array
    losses : (codes,) array
        Minus the log of the smoothed frequency.
    """

    numbers: Floats
    losses: Floats


@dataclass(frozen=True, eq=False)
class Encoding:
    """How columns become bounded numbers, fixed by the rows it was fitted on.

    Numbers: the normal score of their rank among the rows fitted on, ties sharing the middle one, 0
    where missing; a value beyond them scores at most 1 more. Categories: 0/1 columns of the most
    frequent levels in units of their spread, rare ones shrunk towards 0. Missing cells of numbers:
    the same of a 0/1 column. Make one with `fit_encoding`.

    Parameters
    ----------
    owners : tuple of str
        The column that each encoded number was made from.
    n_scores : int
        How many of them, the first ones, are normal scores.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> found = Pool(np.array([[1.0], [5.0], [5.0], [1e9]])).by_kind()
    >>> print(fit_encoding(found).apply(found)[:, 0].round(2))
    [-1.41  0.    0.    1.41]
    """

    owners: tuple[str, ...]
    n_scores: int
    scores: tuple[_Scores, ...] = field(repr=False)
    flags: tuple[tuple[int, _Codes], ...] = field(repr=False)
    categories: tuple[_Codes, ...] = field(repr=False)

    def apply(self, found: ColumnsByKind) -> Floats:
        """Encoded rows, ``(n, m)``."""
        out = np.empty((len(found), len(self.owners)))
        for j, scores in enumerate(self.scores):
            out[:, j] = scores.apply(found.numbers[:, j])
        place = self.n_scores
        for codes, levels in self._coded(found):
            stop = place + levels.numbers.shape[1]
            out[:, place:stop] = levels.numbers[codes]
            place = stop
        return out

    def level_losses(self, found: ColumnsByKind) -> Floats:
        """Minus the log frequencies of categories and missing cells, summed, ``(n,)``."""
        losses = np.zeros(len(found))
        for codes, levels in self._coded(found):
            losses += levels.losses[codes]
        return losses

    def _coded(self, found: ColumnsByKind) -> list[tuple[NDArray[np.integer], _Codes]]:
        coded: list[tuple[NDArray[np.integer], _Codes]] = []
        for j, own in self.flags:
            coded.append((np.isnan(found.numbers[:, j]).astype(np.int16), own))
        for j, own in enumerate(self.categories):
            coded.append((found.codes[:, j], own))
        return coded


def fit_encoding(found: ColumnsByKind) -> Encoding:
    """Learn ranks, frequencies and levels from rows.

    Parameters
    ----------
    found : ColumnsByKind
        The rows of a pool; `rdiv.samples.Pool.by_kind` gives them.
    """
    scores = tuple(_fit_scores(found.numbers[:, j]) for j in range(found.numbers.shape[1]))
    flags = []
    for j in found.first_numbers.tolist():
        missing = np.isnan(found.numbers[:, j])
        if missing.any() and not missing.all():
            flags.append((j, _fit_codes(missing.astype(np.int16), 2)))
    categories = tuple(
        _fit_codes(found.codes[:, j], 2 + len(levels)) for j, levels in enumerate(found.levels)
    )
    flag_owners = [found.owners[j] for j, own in flags for _ in range(own.numbers.shape[1])]
    level_owners = [
        name
        for name, own in zip(found.categories, categories, strict=True)
        for _ in range(own.numbers.shape[1])
    ]
    owners = (*found.owners, *flag_owners, *level_owners)
    return Encoding(owners, len(scores), scores, tuple(flags), categories)


def _normal_scores(counts: NDArray[np.integer]) -> Floats:
    """Scores of values in their order that occur so often: mean 0, variance 1, bounded."""
    from scipy.special import ndtri

    n = counts.sum()
    scores = ndtri((np.cumsum(counts) - 0.5 * counts) / n)
    scores -= counts @ scores / n
    spread = np.sqrt(counts @ scores**2 / n)
    bounded: Floats = np.clip(scores / max(float(spread), _NARROWEST), 1 - LARGEST, LARGEST - 1)
    return bounded


@lru_cache(maxsize=8)
def _even_scores(n: int) -> Floats:
    """Scores of values that all differ."""
    return _normal_scores(np.ones(n, dtype=np.intp))


def _fit_scores(values: Floats) -> _Scores:
    present = values[~np.isnan(values)]
    exponent = int(np.frexp(np.abs(present).max(initial=0.0))[1])
    knots, counts = np.unique(_in_units(present, exponent), return_counts=True)
    if len(knots) < 2:
        return _Scores(exponent, np.zeros(1), np.zeros(1))
    even = len(knots) == len(present)
    scores = _even_scores(len(knots)) if even else _normal_scores(counts)
    if len(knots) > _MOST_KNOTS:
        chosen = np.unique(np.linspace(0, len(knots) - 1, _MOST_KNOTS).astype(np.intp))
        knots, scores = knots[chosen], scores[chosen]
    width = knots[-1] - knots[0]
    knots = np.concatenate([[knots[0] - width], knots, [knots[-1] + width]])
    return _Scores(exponent, knots, np.concatenate([[scores[0] - 1], scores, [scores[-1] + 1]]))


def _in_units(values: Floats, exponent: int) -> Floats:
    """Values over a power of two; next to nothing is 0, so that slopes between them are finite."""
    with np.errstate(under="ignore", over="ignore"):
        units = np.ldexp(values, -exponent)
    units[np.abs(units) < _TINY] = 0.0
    return units


def _fit_codes(codes: NDArray[np.integer], n_codes: int) -> _Codes:
    n = len(codes)
    counts = np.bincount(codes, minlength=n_codes)
    smoothed = (counts + _SMOOTH) / (n + _SMOOTH * n_codes)
    losses = -np.log(smoothed)
    order = np.argsort(-counts, kind="stable")
    own = [int(code) for code in order if counts[code] > 1][:MOST_LEVELS]
    rest = np.setdiff1d(np.arange(n_codes), own)
    columns = [np.arange(n_codes) == code for code in own]
    columns += [np.isin(np.arange(n_codes), rest)]
    columns = [held for held in columns if 0 < counts[held].sum() < n]
    if len(columns) == 2:
        columns = columns[1:]  # the other one says the same
    numbers = np.zeros((n_codes, len(columns)))
    for j, held in enumerate(columns):
        numbers[:, j] = _standard(held, counts)
    return _Codes(numbers, losses)


def _standard(held: NDArray[np.bool_], counts: NDArray[np.intp]) -> Floats:
    """A 0/1 column over codes in units of its spread, less where few rows have either value."""
    n = counts.sum()
    ones = float(counts[held].sum())
    share, few = ones / n, min(ones, n - ones)
    units = (held - share) / np.sqrt(share * (1 - share))
    shrunk: Floats = np.clip(units * np.sqrt(few / (few + _RARE)), -LARGEST, LARGEST)
    return shrunk
