"""What input columns say without a model: distances of rows, columns alone and together.

All numbers per row are made from the pool alone, by the kind of each column: see
`rdiv.samples.input_features`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.column_relations import pair_scores, surprises
from rdiv.discrepancies.row_distances import energies
from rdiv.inference.combining import min_p
from rdiv.inference.masked_sums import mask_counts
from rdiv.inference.mean_gaps import gaps_and_errors
from rdiv.inference.prepared import Masks, Observed, Prepared, Statistic
from rdiv.row_blocks import rows_within
from rdiv.samples.input_features import (
    MOST_LEVELS,
    InputCells,
    column_features,
    read_columns,
)
from rdiv.samples.pool import Pool

__all__ = ["input_members"]

Floats = NDArray[np.float64]

MOST_NUMBERS = 10_000_000
"""Rows times numbers per row that are looked at; a random part of the rows where there are more."""

_RELATED_COLUMNS = 1000  # numbers per row among which relations are looked for
_PEEK = 1000  # rows that tell how many numbers there will be
_ALIKE = 1.01  # spreads within this factor make no second scale


def input_members(pool: Pool) -> dict[str, Prepared]:
    """The tests of the inputs by name, each a function of masks; blind to the labels.

    *Distances*: the energy distance between rows of levels, missing cells and numbers: by the
    values of the numbers; by their normal scores; and by these with everything in units of its
    spread, so that rare levels count as much as others. *Columns*: the largest gap of one number
    per row (normal scores, their squares, levels, missing cells). *Pairs*: the largest gap of what
    rows say of the correlation of two columns. *Relations*: the largest gap of how badly a column
    fits to all others. `rdiv.discrepancies.column_relations` makes these numbers.

    Notes
    -----
    A gap is divided by the root of the mean of two squares: of its standard error in that split,
    and of its standard deviation over all splits. The first alone is unstable for a sample of ten
    rows, the second alone is too large when the smaller sample varies more.

    Examples
    --------
    >>> pool = Pool(np.random.default_rng(0).normal(size=(30, 3)))
    >>> print({name: member.columns for name, member in input_members(pool).items()})
    {'distances': 2, 'columns': 1, 'pairs': 1, 'relations': 1}
    """
    part = pool.take(np.arange(min(len(pool), _most_rows(pool))))
    rows = _described(part)
    members = {"distances": _distances(rows)}
    if rows.numbers.shape[1]:
        members["columns"] = Prepared(_largest_gap(rows.numbers, part))
    for name, numbers in _relations(rows).items():
        if numbers.shape[1]:
            members[name] = Prepared(_largest_gap(numbers, part))
    return members


@dataclass(frozen=True, eq=False)
class _Described:
    """Numbers ``(n, k)`` of every row, what each is about, and the column it is made from.

    Also the values ``(n, d)`` of ordered columns, in units of their spread, 0 where missing.
    """

    numbers: Floats
    aspects: NDArray[np.str_]
    owners: NDArray[np.intp]
    values: Floats


def _described(pool: Pool) -> _Described:
    if pool.is_images:  # pixels as they are: their ranks say nothing more
        numbers = pool.matrix()
        d = numbers.shape[1]
        return _Described(numbers, np.full(d, "location"), np.zeros(d, np.intp), numbers)
    columns = list(read_columns(pool))
    features = [column_features(column) for column in columns]
    values = [_values(column) for column in columns if column.ordered]
    counts = [len(own.aspects) for own in features]
    return _Described(
        np.concatenate([np.zeros((len(pool), 0)), *(own.numbers for own in features)], axis=1),
        np.array([aspect for own in features for aspect in own.aspects], dtype=np.str_),
        np.repeat(np.arange(len(features)), counts),
        np.stack(values, axis=1) if values else np.zeros((len(pool), 0)),
    )


def _values(column: InputCells) -> Floats:
    """The values of a column in units of their spread, 0 where one is missing."""
    codes = column.cells.codes
    there = codes > 0
    values = np.asarray(column.cells.values, dtype=np.float64)
    values = np.nan_to_num(values / (np.abs(values).max() or 1.0))
    present = values[codes[there] - 1]
    scaled = np.zeros(len(codes))
    scaled[there] = (present - present.mean()) / (present.std() or 1.0)
    return scaled


def _most_rows(pool: Pool) -> int:
    """Rows that fit in memory as numbers; at most as many as there are."""
    n, d = len(pool), int(np.prod(pool.rows.shape[1:]))
    if pool.is_images:
        return rows_within(MOST_NUMBERS, d)
    if n * d * (MOST_LEVELS + 2) <= MOST_NUMBERS:
        return n
    peek = pool.take(np.arange(min(n, _PEEK)))
    width = sum(len(column_features(column).aspects) for column in read_columns(peek))
    return rows_within(MOST_NUMBERS, width)


def _distances(rows: _Described) -> Prepared:
    """Energy distances by values, by scores, and by scores and levels over their spread."""
    rest = rows.numbers[:, np.isin(rows.aspects, ("level", "missing"))]
    scores = rows.numbers[:, rows.aspects != "spread"]
    scales = {"of values": energies(np.concatenate([rows.values, rest], axis=1))}
    if rows.values is not rows.numbers and rows.values.shape[1]:
        scales["of scores"] = energies(scores)
    spread = scores.std(axis=0)
    varies = spread > 0
    spread = spread[varies]
    if len(spread) and spread.max() > _ALIKE * spread.min():
        scales["by spread"] = energies(scores[:, varies] / spread)
    n = len(scores)

    def statistic(masks: Masks) -> Floats:
        masks = masks[:, :n]
        n_p = mask_counts(masks)
        weight = n_p * (n - n_p) / n
        return np.stack([weight * energy(masks) for energy in scales.values()], axis=1)

    first = scales["of values"]
    several = len(scales) > 1
    return Prepared(
        statistic,
        combine=min_p if several else None,
        parts=tuple(scales) if several else (),
        observed=lambda is_p: Observed(float(first(is_p[None, :n])[0])),
    )


def _largest_gap(numbers: Floats, pool: Pool) -> Statistic:
    """The largest gap between the means of a number, over two kinds of standard error."""
    measure = gaps_and_errors(numbers, pool.groups, pool.strata)
    n, spread = len(numbers), numbers.std(axis=0, ddof=1)

    def statistic(masks: Masks) -> Floats:
        masks = masks[:, :n]
        gaps, errors = measure(masks)
        n_p = mask_counts(masks)[:, None].astype(np.float64)
        usual = spread * np.sqrt(n / np.maximum(n_p * (n - n_p), 1))
        scale = np.sqrt((errors**2 + usual**2) / 2)
        ratios = np.divide(np.abs(gaps), scale, out=np.zeros_like(gaps), where=scale > 0)
        largest: Floats = ratios.max(axis=1)
        return largest

    return statistic


def _relations(rows: _Described) -> dict[str, Floats]:
    """What every row says of how columns go together, by the name of the member."""
    usable = np.flatnonzero(np.isin(rows.aspects, ("location", "level")))[:_RELATED_COLUMNS]
    numbers, owners = rows.numbers[:, usable], rows.owners[usable]
    spread = numbers.std(axis=0)
    numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return {"pairs": pair_scores(numbers, owners), "relations": surprises(numbers, owners)}
