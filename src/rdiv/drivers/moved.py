"""Which input columns moved between reference and current, by one exact permutation test.

The statistic of a column is the largest gap between the samples among a few numbers per row that
are made from the pool alone (`rdiv.samples.input_features`), each in units of its spread. All
columns share their permutations, and step-down max-T adjusts for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.moved_chart import distribution_of
from rdiv.drivers.moved_column import MovedColumn
from rdiv.drivers.moved_facts import Split, column_facts
from rdiv.drivers.row_choice import choose_rows
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.masked_sums import unit_sums
from rdiv.inference.mean_gaps import gaps_and_errors
from rdiv.inference.prepared import Masks, Prepared
from rdiv.inference.step_down import step_down
from rdiv.samples.input_features import (
    MOST_LEVELS,
    Aspect,
    RowFeatures,
    column_features,
    read_columns,
)
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples

__all__ = ["NULL", "moved_columns"]

Floats = NDArray[np.float64]

MOST_ROWS = 20_000
"""Rows per sample that are looked at; fewer where there are many columns."""

MOST_NUMBERS = 10_000_000  # rows times features that bound the time, above FEWEST_ROWS
FEWEST_ROWS = 1_000  # per sample
MOST_RESAMPLES = 1999
MOST_CHARTS = 20  # columns with a distribution

_AT_ONCE = 2_000_000  # rows times features in memory
_FEATURES_AT_ONCE = 1000
_PEEK = 1000  # rows that tell how many features there will be
_ROUNDING = 1e-12
_FLAGS = 3  # constant in a sample, new levels, missing in one sample only

NULL = (
    "p-values are adjusted for all columns by step-down max-T and exact when both samples come "
    "from one distribution, whatever the correlations; the test is outside the verdict"
)


def moved_columns(pooled: PooledSamples, settings: PermutationSettings) -> tuple[MovedColumn, ...]:
    """Every input column with what changed in it and an adjusted p-value.

    Flagged columns come first; both they and the others are ordered by p-value, then by the size of
    the change. Samples of images, or without inputs, have no columns.

    Parameters
    ----------
    pooled : PooledSamples
    settings : PermutationSettings
        At most ``MOST_RESAMPLES`` permutations are drawn, unless `alpha` needs more.

    Notes
    -----
    The gap of a feature is divided by the larger of two scales: its standard error in that split,
    and its standard deviation over all permutations. By the first alone, rare levels give large
    numbers when they happen to lie in the larger sample only; by the second alone, when they lie
    mostly in the smaller one; either would hide the other columns. With groups, features are summed
    over each group, and groups are permuted; with strata, features are centred within each stratum,
    and rows are permuted within it.

    At most ``MOST_ROWS`` rows per sample are looked at, drawn at random (with groups, on average);
    with more than ``MOST_NUMBERS`` numbers in all fewer, but not less than ``FEWEST_ROWS``. With
    strata all rows are used. A flag is raised where chance would raise it in any column with a
    probability of at most `alpha`, given what the pool holds.

    Examples
    --------
    >>> from rdiv.samples.pooling import pool_samples
    >>> rng = np.random.default_rng(0)
    >>> pooled = pool_samples(rng.normal(size=(90, 2)), rng.normal([0, 1], size=(90, 2)), rng=0)
    >>> for column in moved_columns(pooled, PermutationSettings()):
    ...     print(column.sentence())
    column 1: mean 0.11 -> 0.96 (+0.83 standard deviations), p = 0.001
    column 0: mean -0.045 -> -0.147 (-0.10 standard deviations), p = 0.69
    """
    if pooled.pool.is_images or pooled.pool.rows.shape[1] == 0:
        return ()
    part = _looked_at(pooled)
    enough = ceil(1 / settings.alpha - 1e-9) - 1
    settings = replace(settings, n_resamples=max(min(settings.n_resamples, MOST_RESAMPLES), enough))
    split = Split.of(part.is_p, part.pool.groups, part.pool.strata)
    chance = settings.alpha / (_FLAGS * part.pool.rows.shape[1])
    found, blocks = [], []
    for block in _blocks(part.pool, split, chance):
        null, aspects = _null_of([features for _, features in block], part, split, settings)
        blocks.append(null)
        found += [(facts, aspect) for (facts, _), aspect in zip(block, aspects, strict=True)]
    pvalues = step_down(np.concatenate(blocks, axis=1)).tolist() if found else []
    columns = [facts.described_by(p, aspect)
               for (facts, aspect), p in zip(found, pvalues, strict=True)]  # fmt: skip
    columns.sort(key=lambda column: (column.flag is None, column.pvalue, -column.size))
    return _with_charts(columns, part.pool, split)


def _streams(pooled: PooledSamples) -> list[np.random.Generator]:
    """For the choice of rows and for the masks; the same ones at every call."""
    return pooled.stream("drivers").spawn(3)[2].spawn(2)


def _looked_at(pooled: PooledSamples) -> PooledSamples:
    n_columns = pooled.pool.rows.shape[1]
    most = MOST_ROWS
    if len(pooled.pool) * n_columns * (MOST_LEVELS + 2) > MOST_NUMBERS:  # it could be too many
        peek = pooled.pool.take(np.arange(min(_PEEK, len(pooled.pool))))
        width = sum(column_features(column).numbers.shape[1] for column in read_columns(peek))
        most = min(most, max(FEWEST_ROWS, MOST_NUMBERS // max(2 * width, 1)))
    rows = choose_rows(pooled, most, _streams(pooled)[0])
    return pooled if rows is None else pooled.part(rows)


Block = list[tuple[MovedColumn, RowFeatures]]


def _blocks(pool: Pool, split: Split, chance: float) -> Iterator[Block]:
    """Facts and features of columns, as many at a time as fit in memory."""
    block: Block = []
    width, most = 0, min(_FEATURES_AT_ONCE, max(1, _AT_ONCE // len(pool)))
    for column in read_columns(pool):
        features = column_features(column)
        if block and width + len(features.aspects) > most:
            yield block
            block, width = [], 0
        block.append((column_facts(column, split, chance), features))
        width += len(features.aspects)
    if block:
        yield block


def _null_of(
    features: list[RowFeatures], part: PooledSamples, split: Split, settings: PermutationSettings
) -> tuple[Floats, list[Aspect | None]]:
    """Statistics of the observed split and of all permutations, ``(1 + B, columns)``.

    Also what differs most in each column of the observed split. The masks are the same for every
    block of columns.
    """
    widths = np.array([len(own.aspects) for own in features])
    with_features = np.flatnonzero(widths)
    largest = np.zeros((1 + settings.n_resamples, len(features)))
    aspects: list[Aspect | None] = [None] * len(features)
    if not len(with_features):
        return largest, aspects
    starts = np.cumsum([0, *widths[with_features][:-1]])
    is_p = part.is_p[split.first]
    numbers = np.concatenate([own.numbers for own in features], axis=1)
    ratios = _ratios(_of_units(numbers, part.pool, split), is_p, split.strata)
    prepared = Prepared(
        lambda masks: np.maximum.reduceat(ratios(masks), starts, axis=1),
        combine=lambda parts: parts[:, 0],
        width=len(with_features),
    )
    null = permute(prepared, is_p, settings, rng=_streams(part)[1], strata=split.strata)
    largest[:, with_features] = null.parts
    for j, own in zip(with_features, np.split(ratios(is_p[None])[0], starts[1:]), strict=True):
        aspects[j] = features[j].aspects[int(own.argmax())]
    return largest, aspects


def _of_units(numbers: Floats, pool: Pool, split: Split) -> Floats:
    """Features of the units that are permuted, less the mean of their stratum."""
    if pool.groups is None and pool.strata is None:
        return numbers
    strata = np.zeros(len(pool), np.intp) if pool.strata is None else pool.strata
    sizes = np.maximum(np.bincount(strata), 1)[:, None]
    centred = numbers - (unit_sums(numbers, strata) / sizes)[strata]
    sums = centred if pool.groups is None else unit_sums(centred, split.units)
    sums[np.abs(sums) < _ROUNDING * np.abs(numbers).max(axis=0)] = 0.0
    return sums


def _ratios(
    numbers: Floats, is_p: NDArray[np.bool_], strata: NDArray[np.intp] | None
) -> Callable[[Masks], Floats]:
    """Absolute gaps over the larger of two scales, see `moved_columns`; 0 where nothing varies."""
    measure = gaps_and_errors(numbers)
    usual = _permutation_errors(numbers, is_p, strata)

    def ratios(masks: Masks) -> Floats:
        gaps, errors = measure(masks)
        scale = np.maximum(errors, usual)
        return np.divide(np.abs(gaps), scale, out=np.zeros_like(gaps), where=scale > 0)

    return ratios


def _permutation_errors(
    numbers: Floats, is_p: NDArray[np.bool_], strata: NDArray[np.intp] | None
) -> Floats:
    """Standard deviations of the gaps over all permutations, ``(m,)``."""
    codes = np.zeros(len(is_p), np.intp) if strata is None else strata
    sizes = np.bincount(codes)
    of_p = np.bincount(codes, is_p, len(sizes))
    filled = np.maximum(sizes, 1)
    centred = numbers - (unit_sums(numbers, codes) / filled[:, None])[codes]
    weights = of_p * (sizes - of_p) / (filled * np.maximum(sizes - 1, 1))
    variances = weights @ unit_sums(centred**2, codes)
    deviations: Floats = (1 / is_p.sum() + 1 / (~is_p).sum()) * np.sqrt(variances)
    return deviations


def _with_charts(columns: list[MovedColumn], pool: Pool, split: Split) -> tuple[MovedColumn, ...]:
    """The first columns with their distributions."""
    wanted = {column.name for column in columns[:MOST_CHARTS]}
    charts = {own.name: distribution_of(own, split) for own in read_columns(pool, wanted)}
    return tuple(replace(column, distribution=charts.get(column.name)) for column in columns)
