"""Permutations within strata of large pools, tile by tile.

Small strata lie whole in a tile, which draws their subsets and adds up what the statistic needs of
every stratum. A stratum that is larger than a tile is cut: how many units of each of its tiles
count as p is drawn once, as for a pool without strata, and its sums are those of its tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.inference import tiles
from rdiv.inference.masks import block_sizes, mask_sampler
from rdiv.inference.packed import packed_subsets, packed_sums
from rdiv.inference.stratified_gaps import StratumUnits, side_of, stratum_sums, terms_of_strata
from rdiv.parallel.spreading import tile_by_tile
from rdiv.row_blocks import cut, cut_sizes

__all__ = ["StratumSums", "tiled_in_strata"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StratumSums:
    """A statistic as a function of what `terms_of_strata` sums over strata.

    Parameters
    ----------
    units : StratumUnits
    statistic : callable
        From terms ``(b, 3 + 5 m)`` to the statistic, ``(b, k)``.
    """

    units: StratumUnits
    statistic: Callable[[Floats], Floats]

    @property
    def n_units(self) -> int:
        """How many units are permuted."""
        return len(self.units.moments)

    def terms(self, side_p: Floats, strata: slice) -> Floats:
        """Terms of some strata, from the sums over their units that count as p."""
        return _terms(side_p, self.units.totals[strata], self.units.m)


def _terms(side_p: Floats, totals: Floats, m: int) -> Floats:
    sides = [side_of(sums, m) for sums in (side_p, totals - side_p)]
    return terms_of_strata(sides[0], sides[1])


@dataclass(frozen=True, eq=False)
class _Part:
    """Whole strata that are drawn together, or a tile of a large one.

    Parameters
    ----------
    strata, units : slice
        Which strata, and which of all units.
    counts : (b,) integers, optional
        Units that count as p in each permutation, for a tile of a large stratum.
    """

    strata: slice
    units: slice
    counts: NDArray[np.int64] | None = None


def tiled_in_strata(
    members: Sequence[StratumSums],
    is_p: NDArray[np.bool_],
    b: int,
    *,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> Floats:
    """Statistics of ``b`` random permutations within strata, ``(b, k)``.

    Parameters
    ----------
    members : sequence of StratumSums
        Of the same units and strata.
    is_p : (n,) mask of the rows
    """
    units = members[0].units
    chosen = is_p[units.first]
    ends = np.append(units.starts[1:], len(chosen))
    counting = rng.spawn(1)[0]
    parts = list(_parts(units.starts, ends, chosen, b, counting))
    tasks = list(zip(parts, rng.spawn(len(parts)), strict=True))

    def packed(part: _Part, stream: np.random.Generator) -> _Parcel:
        whole = chosen[units.starts[part.strata.start] : ends[part.strata.start]]
        return _Parcel(
            stream=stream,
            chosen=chosen[part.units],
            starts=units.starts[part.strata] - part.units.start,
            moments=[member.units.moments[part.units] for member in members],
            totals=[member.units.totals[part.strata] for member in members],
            widths=[member.units.m for member in members],
            b=b,
            counts=part.counts,
            share=float(whole.mean()),
            compiled=2 * len(chosen) * b >= tiles.COMPILED_FROM,
        )

    totals: list[Floats | float] = [0.0] * len(members)
    cut_sums: list[Floats | float] = [0.0] * len(members)
    for part, found in zip(parts, tile_by_tile(_part_sums, packed, tasks, n_jobs), strict=True):
        for j, (member, sums) in enumerate(zip(members, found, strict=True)):
            if part.counts is None:
                totals[j] = totals[j] + sums
                continue
            cut_sums[j] = cut_sums[j] + sums
            if part.units.stop == ends[part.strata.start]:  # its last tile
                side_p = np.asarray(cut_sums[j])[:, None]
                totals[j] = totals[j] + member.terms(side_p, part.strata)
                cut_sums[j] = 0.0
    columns = [
        member.statistic(np.asarray(terms)).reshape(b, -1)
        for member, terms in zip(members, totals, strict=True)
    ]
    return np.concatenate(columns, axis=1)


def _parts(
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
    chosen: NDArray[np.bool_],
    b: int,
    rng: np.random.Generator,
) -> Iterator[_Part]:
    """Strata in their order: small ones together up to the size of a tile, large ones cut."""
    first = 0
    for s, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        large = end - start > tiles.TILE_ROWS
        if s > first and (large or end - starts[first] > tiles.TILE_ROWS):
            yield _Part(slice(first, s), slice(int(starts[first]), start))
            first = s
        if large:
            sizes = cut_sizes(end - start, tiles.TILE_ROWS)
            n_p = int(chosen[start:end].sum())
            counts = tiles.tile_counts(rng, sizes, n_p, b)
            for t, rows in enumerate(cut(end - start, tiles.TILE_ROWS)):
                units = slice(start + rows.start, start + rows.stop)
                yield _Part(slice(s, s + 1), units, counts[:, t])
            first = s + 1
    if first < len(starts):
        yield _Part(slice(first, len(starts)), slice(int(starts[first]), len(chosen)))


class _Parcel(NamedTuple):
    """What the sums over a part need, which can travel to a worker."""

    stream: np.random.Generator
    chosen: NDArray[np.bool_]
    starts: NDArray[np.intp]
    moments: list[Floats]
    totals: list[Floats]
    widths: list[int]
    b: int
    counts: NDArray[np.int64] | None
    share: float
    compiled: bool


def _part_sums(parcel: _Parcel) -> list[Floats]:
    """Terms of whole strata, or sums over a tile of a large one."""
    if parcel.counts is None:
        return _whole_strata(parcel)
    size, compiled = len(parcel.chosen), parcel.compiled
    masks = packed_subsets(parcel.stream, parcel.counts, size, parcel.share, compiled=compiled)
    return [packed_sums(masks, moments, compiled=compiled) for moments in parcel.moments]


def _whole_strata(parcel: _Parcel) -> list[Floats]:
    """Terms of strata that lie in one tile, from their own subsets."""
    own, starts = parcel.chosen, parcel.starts
    codes = np.zeros(len(own), dtype=np.intp)
    codes[starts[1:]] = 1
    draw = mask_sampler(own, strata=np.cumsum(codes))
    found: list[list[Floats]] = [[] for _ in parcel.moments]
    for size in block_sizes(len(own), parcel.b):
        masks = draw(parcel.stream, size)
        members = zip(parcel.moments, parcel.totals, parcel.widths, strict=True)
        for terms, (moments, totals, m) in zip(found, members, strict=True):
            terms.append(_terms(stratum_sums(masks, moments, starts), totals, m))
    return [np.concatenate(terms) for terms in found]
