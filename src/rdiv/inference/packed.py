"""Random subsets as packed bits, and sums over them by tables of all subsets of eight rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import FEWEST_MASKS, LOOPS, masked_sums, words_by_place
from rdiv.inference.masks import bernoulli_words
from rdiv.inference.prepared import Masks
from rdiv.parallel.loops import compiled_loops
from rdiv.row_blocks import cut

__all__ = ["KeptMasks", "PackedMasks", "packed_subsets", "packed_sums"]

Octets = NDArray[np.uint8]

_SPARE = 1.25  # more places are tried than are expected to be needed, so that a second try is rare
_AT_LEAST = 24
_MASKS_AT_ONCE = 256
_MOST_TABLED = 64  # columns


@dataclass(frozen=True, eq=False)
class PackedMasks:
    """Masks of `n` rows as bits, ``(b, bytes)``; the highest bit of a byte is its first row."""

    octets: Octets
    n: int

    @staticmethod
    def of(masks: Masks) -> PackedMasks:
        """Masks ``(b, n)`` as bits."""
        return PackedMasks(np.packbits(masks, axis=1), masks.shape[1])

    def of_rows(self, rows: NDArray[np.intp]) -> PackedMasks:
        """The masks of some rows alone.

        Examples
        --------
        >>> masks = PackedMasks(np.packbits([[True, False, True]], axis=1), 3)
        >>> print(next(masks.of_rows(np.array([1, 2])).blocks(1)))
        [[False  True]]
        """
        bit = (7 - (rows & 7)).astype(np.uint8)
        octets = [
            np.packbits(self.octets[block][:, rows >> 3] >> bit & np.uint8(1), axis=1)
            for block in cut(len(self.octets), _MASKS_AT_ONCE)
        ]
        return PackedMasks(np.concatenate(octets), len(rows))

    def counts(self) -> NDArray[np.int64]:
        """The number of rows in each mask."""
        return _count_bits(self.octets)

    def blocks(self, size: int) -> Iterator[Masks]:
        """The masks, `size` at a time."""
        for rows in cut(len(self.octets), size):
            yield np.unpackbits(self.octets[rows], axis=1, count=self.n).view(np.bool_)


@dataclass(frozen=True, eq=False)
class KeptMasks:
    """Permutations that were drawn already, for another statistic of the same rows.

    Parameters
    ----------
    parts : tuple of PackedMasks
        As they were drawn: some masks of all rows each, or all masks of the rows of a tile.
    count : int
        How many permutations.
    tiled : bool
        Whether parts are tiles.
    """

    parts: tuple[PackedMasks, ...]
    count: int
    tiled: bool

    def serves(self, rows: int, count: int) -> bool:
        """Whether these are so many permutations of so many rows."""
        known = sum(part.n for part in self.parts) if self.tiled else self.parts[0].n
        return (known, self.count) == (rows, count)


def packed_subsets(
    rng: np.random.Generator,
    counts: NDArray[np.int64],
    n: int,
    share: float,
    *,
    compiled: bool = False,
) -> PackedMasks:
    """Independent uniform subsets of `n` rows, of ``counts[i]`` rows the i-th.

    Parameters
    ----------
    counts : (b,) integers
    share : float
        About the share of rows in a subset; it only decides how much has to be repaired.
    compiled : bool
        Use numba, where it is installed; the subsets are the same.

    Notes
    -----
    Independent random bits are a uniform subset of a random size. Places are then tried at random;
    those that hold the surplus value are a uniform choice of all that do, and as many of them as
    needed are flipped.

    Examples
    --------
    >>> drawn = packed_subsets(np.random.default_rng(0), np.array([3, 40]), 100, 0.2)
    >>> print([int(mask.sum()) for block in drawn.blocks(2) for mask in block])
    [3, 40]
    """
    words = bernoulli_words(rng, len(counts) * -(-n // 64), share, n)
    octets = words.astype("<u8", copy=False).view(np.uint8).reshape(len(counts), -1)
    octets = np.ascontiguousarray(octets[:, : -(-n // 8)])
    if n % 8:
        octets[:, -1] &= np.uint8(0xFF << (8 - n % 8) & 0xFF)
    kernels = compiled_loops(LOOPS) if compiled else None
    flip = _flip if kernels is None else kernels.flip
    surplus = _count_bits(octets) - counts
    while (rows := np.flatnonzero(surplus)).size:
        need = np.abs(surplus[rows])
        held = np.where(surplus[rows] > 0, counts[rows] + need, n - counts[rows] + need) / n
        ends = np.cumsum(_AT_LEAST + (_SPARE * need / held).astype(np.int64))
        places = rng.integers(n, size=int(ends[-1]), dtype=np.uint32)
        flip(octets, rows, surplus, places, ends)
    return PackedMasks(octets, n)


def packed_sums(
    masks: PackedMasks, columns: NDArray[np.float64], *, compiled: bool = False
) -> NDArray[np.float64]:
    """Sums of columns over every mask, ``(b, m)``.

    A few columns are summed by tables of the sums of all subsets of eight rows, which pay from
    about a hundred masks on; for many columns, or without numba, matrices are multiplied.

    Examples
    --------
    >>> masks = PackedMasks(np.packbits([[True, False, True]], axis=1), 3)
    >>> print(packed_sums(masks, np.array([[1.0, 1.0], [2.0, 4.0], [4.0, 16.0]])))
    [[ 5. 17.]]
    """
    m, kernels = columns.shape[1], compiled_loops(LOOPS) if compiled else None
    if kernels is None or m > _MOST_TABLED or len(masks.octets) < FEWEST_MASKS:
        blocks = [masked_sums(block, columns) for block in masks.blocks(_MASKS_AT_ONCE)]
        return np.concatenate(blocks)
    words, whole = words_by_place(masks.octets, 8), m if m <= 2 else -(-m // 4) * 4
    padded = np.zeros((64 * len(words), whole))  # whole vectors are faster
    padded[: masks.n, :m] = columns
    by_tables = {1: kernels.single_sums, 2: kernels.pair_sums}.get(m, kernels.table_sums)
    sums: NDArray[np.float64] = by_tables(words, padded)
    return sums[:, :m]


def _count_bits(octets: Octets) -> NDArray[np.int64]:
    """Bits of every mask; eight bytes are counted at once."""
    missing = -octets.shape[1] % 8
    whole = np.pad(octets, ((0, 0), (0, missing))) if missing else octets
    words = np.ascontiguousarray(whole).view(np.uint64)
    counts: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return counts


def _flip(
    octets: Octets,
    rows: NDArray[np.intp],
    surplus: NDArray[np.int64],
    places: NDArray[np.uint32],
    ends: NDArray[np.int64],
) -> None:
    """Flip surplus bits at the places tried, as many as needed, and count what is left."""
    start = 0
    for row, end in zip(rows, ends, strict=True):
        tried = places[start:end]
        tried = tried[np.sort(np.unique(tried, return_index=True)[1])]
        octet, bit = tried >> 3, np.uint8(128) >> (tried & 7).astype(np.uint8)
        held = (octets[row, octet] & bit) > 0
        fits = np.flatnonzero(held == (surplus[row] > 0))[: abs(int(surplus[row]))]
        np.bitwise_xor.at(octets[row], octet[fits], bit[fits])
        surplus[row] -= np.sign(surplus[row]) * len(fits)
        start = end
