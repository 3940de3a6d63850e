"""Permutations of large pools, tile by tile: statistics see sums and counts, never rows.

A pool is cut into tiles. How many rows of a tile count as p in each permutation is drawn once for
all tiles; every tile then draws its own subsets from its own stream, and its sums are added in the
order of the tiles. So tiles can be worked on in any order, by any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import Tiled
from rdiv.inference.packed import PackedMasks, packed_subsets, packed_sums
from rdiv.parallel.spreading import tile_by_tile
from rdiv.progress import reading_rows
from rdiv.row_blocks import cut, cut_sizes

__all__ = ["TILE_ROWS", "Sums", "TileDraws", "tile_counts", "tiled_statistics"]

Floats = NDArray[np.float64]

TILE_ROWS = 1 << 16
"""Rows of a tile; smaller pools are one tile and are permuted as a whole."""

COMPILED_FROM = 600_000_000
"""Rows times permutations times columns; below this, loading numba costs more than it saves."""


@dataclass(frozen=True, eq=False)
class Sums:
    """A statistic as a function of sums over the units that count as p.

    Parameters
    ----------
    numbers : (units, m) array
        What is summed; a unit is a row or a group of rows.
    squares : bool, optional
        Whether sums of squares are needed too; None: unless both samples have as many units.
    statistic : callable
        From sums ``(b, m)``, sums of squares ``(b, m)`` or None, and the number of units of p (of
        some units alone: that in every mask, ``(b, 1)``) to the statistic, ``(b, k)``.
    first : (units,) array, optional
        The first row of every unit; None where units are rows.
    among : (m,) integers, optional
        Places of these units among those of the pool, ascending, where the statistic looks at some
        only; masks are then those of the pool restricted to them, and p is counted in every mask.
    """

    numbers: Tiled
    squares: bool | None
    statistic: Callable[[Floats, Floats | None, int | Floats], Floats]
    first: NDArray[np.intp] | None = None
    among: NDArray[np.intp] | None = None

    @property
    def n_units(self) -> int:
        """How many units are permuted."""
        return self.numbers.shape[0]

    def wants_squares(self, n_p: int) -> bool:
        """Whether sums of squares are needed when so many units are p."""
        return 2 * n_p != self.numbers.shape[0] if self.squares is None else self.squares

    def width(self, n_p: int) -> int:
        """How many columns are summed when so many units are p."""
        return self.numbers.shape[1] * (1 + self.wants_squares(n_p))

    def within(self, rows: slice, n_p: int) -> TilePart:
        """What the sums over one tile need, when so many units of the pool are p."""
        if self.among is None:
            part = np.asarray(self.numbers[rows], dtype=np.float64)
            return TilePart(part, self.wants_squares(n_p))
        low, high = (int(at) for at in np.searchsorted(self.among, [rows.start, rows.stop]))
        numbers = np.asarray(self.numbers[low:high], dtype=np.float64)
        return TilePart(numbers, self.squares is not False, self.among[low:high] - rows.start)


@dataclass(frozen=True, eq=False)
class TilePart:
    """The units of one tile that a statistic looks at, which can travel to a worker.

    Parameters
    ----------
    numbers : (u, m) array
    squares : bool
        Whether sums of squares are needed too.
    among : (u,) integers, optional
        Places of the units in the tile, where they are not all of it.
    """

    numbers: Floats
    squares: bool
    among: NDArray[np.intp] | None = None

    def over(self, masks: PackedMasks, *, compiled: bool = False) -> list[Floats]:
        """Sums, and sums of squares if needed; ``(b, m)`` each.

        Of some units alone, the number of them in each mask comes last, ``(b, 1)``.
        """
        m = self.numbers.shape[1]
        if self.among is not None:
            if not len(self.among):
                b = len(masks.octets)
                return [np.zeros((b, m)) for _ in range(1 + self.squares)] + [np.zeros((b, 1))]
            masks = masks.of_rows(self.among)
        part = self.numbers
        columns = np.concatenate([part, part**2], axis=1) if self.squares else part
        sums = packed_sums(masks, columns, compiled=compiled)
        found = [sums[:, :m], sums[:, m:]] if self.squares else [sums]
        counted = [] if self.among is None else [masks.counts()[:, None].astype(np.float64)]
        return [*found, *counted]


class _Drawing(NamedTuple):
    """The subsets of one tile, before they are drawn."""

    stream: np.random.Generator
    counts: NDArray[np.int64]
    size: int
    share: float
    compiled: bool

    def masks(self) -> PackedMasks:
        return packed_subsets(
            self.stream, self.counts, self.size, self.share, compiled=self.compiled
        )


@dataclass(frozen=True, eq=False)
class TileDraws:
    """Uniform subsets of ``n_p`` of ``n`` units, to be drawn a tile at a time.

    Parameters
    ----------
    n, n_p : int
    counts : (b, tiles) integers
        Units of each tile that count as p in each permutation.
    streams : sequence of Generator
        One per tile.
    columns : int
        How many columns will be summed, which says whether compiled loops pay.

    Notes
    -----
    The counts are multivariate hypergeometric, as those of a uniform subset are; given them, the
    parts of a uniform subset in the tiles are independent and uniform.
    """

    n: int
    n_p: int
    counts: NDArray[np.int64]
    streams: Sequence[np.random.Generator]
    columns: int = 2

    @property
    def compiled(self) -> bool:
        """Whether there is enough to do for compiled loops to pay."""
        return self.n * len(self.counts) * max(self.columns, 2) >= COMPILED_FROM

    @staticmethod
    def plan(n: int, n_p: int, b: int, rng: np.random.Generator) -> TileDraws:
        """Draw the counts; the subsets are drawn when they are asked for."""
        sizes = cut_sizes(n, TILE_ROWS)
        counting, *streams = rng.spawn(1 + len(sizes))
        return TileDraws(n, n_p, tile_counts(counting, sizes, n_p, b), streams)

    def drawing(self, t: int) -> _Drawing:
        """What draws the subsets of one tile, once; it can travel to a worker."""
        size = cut_sizes(self.n, TILE_ROWS)[t]
        counts = np.ascontiguousarray(self.counts[:, t])
        return _Drawing(self.streams[t], counts, size, self.n_p / self.n, self.compiled)


def tile_counts(
    rng: np.random.Generator, sizes: Sequence[int], n_p: int, b: int
) -> NDArray[np.int64]:
    """How many units of tiles of some sizes are among ``n_p`` random ones, ``(b, tiles)``."""
    return rng.multivariate_hypergeometric(sizes, n_p, size=b, method="marginals")


def tiled_statistics(
    members: Sequence[Sums],
    is_p: NDArray[np.bool_],
    b: int,
    *,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    known: Sequence[PackedMasks] | None = None,
    keep: list[PackedMasks] | None = None,
) -> Floats:
    """Statistics of ``b`` random permutations, ``(b, k)``: those of all members side by side.

    Parameters
    ----------
    members : sequence of Sums
        Of the same units, the first of all of them.
    is_p : (n,) mask of the rows
    known : sequence of PackedMasks, optional
        The masks of every tile, where they were drawn already.
    keep : list, optional
        Gets the masks of every tile.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gap = Sums(rng.normal(size=(200_000, 1)), False, lambda sums, _, n_p: sums / n_p)
    >>> found = tiled_statistics([gap], np.arange(200_000) < 50_000, 99, rng=rng)
    >>> print(found.shape, round(float(found.std() * 50_000**0.5), 1))
    (99, 1) 0.9
    """
    first = members[0].first
    chosen = is_p if first is None else is_p[first]
    n_p = int(chosen.sum())
    columns = sum(member.width(n_p) for member in members)
    draws = replace(TileDraws.plan(len(chosen), n_p, b, rng), columns=columns)

    def tile(t: int, rows: slice) -> _Tile:
        masks = draws.drawing(t) if known is None else known[t]
        parts = [member.within(rows, n_p) for member in members]
        return _Tile(masks, parts, draws.compiled, keep is not None)

    totals: list[list[Floats]] | None = None
    tasks = list(enumerate(cut(len(chosen), TILE_ROWS)))
    with reading_rows(len(chosen), "permuting row") as at:
        for masks, found in tile_by_tile(_tile_sums, tile, tasks, n_jobs):
            at(TILE_ROWS)
            if keep is not None and masks is not None:
                keep.append(masks)
            if totals is None:
                totals = found
                continue
            for own, more in zip(totals, found, strict=True):
                for sums, extra in zip(own, more, strict=True):
                    sums += extra
    assert totals is not None
    statistics = [
        _statistic(member, own, n_p).reshape(b, -1)
        for member, own in zip(members, totals, strict=True)
    ]
    return np.concatenate(statistics, axis=1)


class _Tile(NamedTuple):
    """What one tile needs for its sums; it can travel to a worker."""

    masks: _Drawing | PackedMasks
    parts: list[TilePart]
    compiled: bool
    keep: bool


def _tile_sums(tile: _Tile) -> tuple[PackedMasks | None, list[list[Floats]]]:
    """Sums of all members over one tile, and its masks if they are to be kept."""
    masks = tile.masks if isinstance(tile.masks, PackedMasks) else tile.masks.masks()
    sums = [part.over(masks, compiled=tile.compiled) for part in tile.parts]
    return masks if tile.keep else None, sums


def _statistic(member: Sums, found: list[Floats], n_p: int) -> Floats:
    if member.among is not None:
        *found, counts = found
        return member.statistic(found[0], found[1] if len(found) > 1 else None, counts)
    return member.statistic(found[0], found[1] if len(found) > 1 else None, n_p)
