"""Rows of current that are least like the reference, by their distance to its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.row_distances import distances_between
from rdiv.drivers.result import UnusualRow
from rdiv.drivers.row_choice import choose_rows
from rdiv.drivers.rows import cells_of
from rdiv.inference.engine import PermutationSettings
from rdiv.row_blocks import cut
from rdiv.samples.input_features import InputCells, read_columns
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples

__all__ = ["NumbersInUnits", "in_units_of", "unusual_rows"]

Floats = NDArray[np.float64]

MOST_ROWS = 2_000  # per sample that are looked at
MOST_NUMBERS = 20_000_000  # rows times columns
NAMED = 5  # rows
NEIGHBOURS = 3
FAR = 0.99  # quantile of the reference beyond which a row counts as far
BEYOND = 1.5  # times the largest distance in the reference: far whatever the number of rows

NOTE = (
    "{found} of {current} current rows are farther from the reference than {far:.0f} % of its own "
    "rows are from each other; by chance about {chance:.0f} would be{sampled}"
)
SAMPLED = ", of {} reference and {} current rows drawn at random"


def unusual_rows(
    pooled: PooledSamples, settings: PermutationSettings
) -> tuple[tuple[UnusualRow, ...], str | None]:
    """The rows of current that lie farthest from the reference, and a note with their number.

    Parameters
    ----------
    pooled : PooledSamples
    settings : PermutationSettings
        Rows are named where more of them are far than chance explains, at its level, or where one
        is farther than any row of the reference by half.

    Notes
    -----
    Numbers are in units of the reference's spread, large ones compressed; a level of text counts
    the more the rarer it is in the reference, and so does a missing cell. The distance of a row is
    that to its third nearest row of the reference, itself left out. The share of reference rows
    that are at least as far is the conformal p-value of one row, before any adjustment for the
    number of rows; whether there are more far rows than chance explains is Fisher's exact test.

    Examples
    --------
    >>> from rdiv.samples.pooling import pool_samples
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 2)), rng.normal(size=(50, 2))
    >>> q[[7, 8, 9], 1] = 30.0
    >>> found, note = unusual_rows(pool_samples(p, q, rng=0), PermutationSettings())
    >>> print(sorted((row.index, row.column) for row in found[:3]))
    [(7, 'column 1'), (8, 'column 1'), (9, 'column 1')]
    """
    pool = pooled.pool
    if pool.is_images or not pool.rows.shape[1]:
        return (), None
    most = max(NEIGHBOURS + 1, min(MOST_ROWS, MOST_NUMBERS // pool.rows.shape[1]))
    chosen = choose_rows(pooled, most, pooled.stream("drivers").spawn(4)[3])
    part = pooled if chosen is None else pooled.part(chosen)
    look = _Look.of(part)
    if look is None:
        return (), None
    sizes = [int(part.is_p.sum()), int((~part.is_p).sum())]
    said = NOTE.format(
        found=int(look.far.sum()), current=sizes[1], far=100 * FAR, chance=(1 - FAR) * sizes[1],
        sampled="" if chosen is None else SAMPLED.format(*sizes),
    )  # fmt: skip
    if look.chance() > settings.alpha and not look.beyond:
        return (), said
    return look.named(part), said


@dataclass(frozen=True, eq=False)
class _Look:
    """Distances of all current rows to the reference, beside those within the reference."""

    current: Floats  # (n_q,)
    reference: Floats  # (n_p,), each row left out
    columns: list[str]  # of each current row: the one that makes it far

    @classmethod
    def of(cls, part: PooledSamples) -> _Look | None:
        described = in_units_of(part.pool, part.is_p)
        p, q = (described.values[side] for side in (part.is_p, ~part.is_p))
        if not p.shape[1] or len(p) <= NEIGHBOURS:
            return None
        own, _ = _nearest(p, p, NEIGHBOURS + 1)
        far, place = _nearest(q, p, NEIGHBOURS)
        own, far = np.round(own, 12), np.round(far, 12)
        gaps = (q - p[place]) ** 2
        leading = [described.owners[int(row.argmax())] for row in gaps]
        return cls(far, own, leading)

    @property
    def far(self) -> NDArray[np.bool_]:
        return self.current > self._bar

    @property
    def beyond(self) -> bool:
        return bool(self.current.max() > BEYOND * self.reference.max() > 0)

    def chance(self) -> float:
        """The probability of as many far rows in current, if all rows were alike."""
        from scipy.stats import hypergeom

        mine, other = int(self.far.sum()), int((self.reference > self._bar).sum())
        n_q, n_p = len(self.current), len(self.reference)
        return float(hypergeom.sf(mine - 1, n_p + n_q, mine + other, n_q))

    @property
    def _bar(self) -> float:
        return float(np.quantile(self.reference, FAR))

    def named(self, part: PooledSamples) -> tuple[UnusualRow, ...]:
        rows, ordered = np.flatnonzero(~part.is_p), np.sort(self.reference)
        places = part.places[rows]
        order = np.lexsort((places, -self.current))[: min(NAMED, int(self.far.sum()))]
        cells = cells_of(part.pool, rows[order])
        as_far = len(ordered) - np.searchsorted(ordered, self.current[order])
        return tuple(
            UnusualRow(int(places[k]), float(count / len(ordered)), self.columns[k], own)
            for k, count, own in zip(order, as_far, cells, strict=True)
        )


@dataclass(frozen=True, eq=False)
class NumbersInUnits:
    """Numbers of every row ``(n, k)``, and the input column that each was made from."""

    values: Floats
    owners: list[str]


def in_units_of(pool: Pool, is_p: NDArray[np.bool_]) -> NumbersInUnits:
    """All columns as numbers, in units of their spread in some rows, such as the reference."""
    found: list[Floats] = []
    owners: list[str] = []
    for column in read_columns(pool):
        own = _of_column(column, is_p)
        found += own
        owners += [column.name] * len(own)
    values = np.stack(found, axis=1) if found else np.zeros((len(pool), 0))
    return NumbersInUnits(values, owners)


def _of_column(column: InputCells, is_p: NDArray[np.bool_]) -> list[Floats]:
    codes = column.cells.codes
    found = []
    if column.ordered:
        values = np.asarray(column.cells.values, dtype=np.float64)
        numbers = np.concatenate([[0.0], values])[codes]
        there = codes > 0
        known = numbers[is_p & there] if (is_p & there).any() else numbers[there]
        low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
        spread = (high - low) / 1.35 or known.std() or abs(middle) or 1.0
        found.append(np.where(there, np.arcsinh((numbers - middle) / spread), 0.0))
    else:
        rest = (codes > 0) & ~np.isin(codes, column.levels)
        found += [_rare(codes == level, is_p) for level in column.levels]
        if rest.any():
            found.append(_rare(rest, is_p))
    if (codes == 0).any():
        found.append(_rare(codes == 0, is_p))
    return found


def _rare(there: NDArray[np.bool_], is_p: NDArray[np.bool_]) -> Floats:
    """A 0/1 column over its spread in the reference, as if one more row had it."""
    share = (1 + int((there & is_p).sum())) / (2 + int(is_p.sum()))
    scaled: Floats = there / np.sqrt(share * (1 - share))
    return scaled


def _nearest(x: Floats, reference: Floats, k: int) -> tuple[Floats, NDArray[np.intp]]:
    """Distance to the k-th nearest row of the reference, and the place of that row."""
    far, place = np.empty(len(x)), np.empty(len(x), dtype=np.intp)
    for rows in cut(len(x), 512):
        distances = distances_between(x[rows], reference)
        chosen = np.argpartition(distances, k - 1, axis=1)[:, k - 1]
        far[rows] = distances[np.arange(len(chosen)), chosen]
        place[rows] = chosen
    return far, place
