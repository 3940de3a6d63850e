"""Random permutations of a pool: uniform subsets of rows, of whole groups, within strata."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.masked_sums import mask_counts
from rdiv.inference.prepared import Masks
from rdiv.row_blocks import cut_sizes, rows_within

__all__ = ["bernoulli_words", "block_sizes", "mask_sampler", "random_subsets"]

_BLOCK_BYTES = 1 << 25  # one mask takes one byte per row
_BLOCK_MASKS = 256
_SMALL = 64  # up to this many rows sorting random keys is faster than random bits
_MOST_BITS = 8

Sampler = Callable[[np.random.Generator, int], Masks]


def block_sizes(n: int, n_resamples: int) -> list[int]:
    """How many masks each block holds.

    It depends on the sizes alone, so results do not depend on the number of jobs.

    Examples
    --------
    >>> print(block_sizes(1000, 600))
    [256, 256, 88]
    """
    return cut_sizes(n_resamples, min(rows_within(_BLOCK_BYTES, n), _BLOCK_MASKS))


def mask_sampler(
    is_p: NDArray[np.bool_],
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
) -> Sampler:
    """Make the function that draws ``b`` uniform random permutations of the observed split.

    Rows are permuted; with groups, whole groups; with strata, only within a stratum. The number of
    rows (groups) that count as p is fixed in each stratum.

    Examples
    --------
    >>> draw = mask_sampler(np.array([True, False, True, False]), strata=np.array([0, 0, 1, 1]))
    >>> masks = draw(np.random.default_rng(0), 3)
    >>> print(masks[:, :2].sum(axis=1), masks[:, 2:].sum(axis=1))
    [1 1 1] [1 1 1]
    """
    if groups is None and strata is None:
        n, n_p = len(is_p), int(is_p.sum())
        return lambda rng, b: random_subsets(rng, b, n, n_p)
    codes = np.arange(len(is_p)) if groups is None else groups
    units, unit_of_row = np.unique(codes, return_index=True, return_inverse=True)[1:]
    shapes = _strata_by_shape(is_p[units], None if strata is None else strata[units])

    def draw(rng: np.random.Generator, b: int) -> Masks:
        masks = np.empty((b, len(units)), dtype=np.bool_)
        for (size, n_p), members in shapes.items():
            drawn = random_subsets(rng, b * len(members), size, n_p)
            masks[:, members.reshape(-1)] = drawn.reshape(b, -1)
        return masks if groups is None else masks[:, unit_of_row]

    return draw


def _strata_by_shape(
    is_p: NDArray[np.bool_], strata: NDArray[np.intp] | None
) -> dict[tuple[int, int], NDArray[np.intp]]:
    """Strata of the same size and share of p side by side, ``(number of strata, size)`` each."""
    codes = np.zeros(len(is_p), dtype=np.intp) if strata is None else strata
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    shapes: dict[tuple[int, int], list[NDArray[np.intp]]] = {}
    for rows in members:
        shapes.setdefault((len(rows), int(is_p[rows].sum())), []).append(rows)
    return {shape: np.stack(shapes[shape]) for shape in sorted(shapes)}


def random_subsets(rng: np.random.Generator, b: int, n: int, k: int) -> Masks:
    """Draw ``b`` independent uniform subsets of ``k`` out of ``n``, as masks ``(b, n)``.

    Notes
    -----
    Independent random bits are a uniform subset of a random size; switching off (on) a uniform
    choice of the surplus (missing) rows gives a uniform subset of size ``k``. Only about
    ``sqrt(n)`` rows need this repair, so a subset costs little more than ``n`` random bits.

    Examples
    --------
    >>> print(random_subsets(np.random.default_rng(0), 3, 1000, 300).sum(axis=1))
    [300 300 300]
    """
    if n <= _SMALL:
        masks = np.zeros((b, n), dtype=np.bool_)
        chosen = np.argsort(rng.random((b, n)), axis=1)[:, :k]
        np.put_along_axis(masks, chosen, True, axis=1)
        return masks
    words = bernoulli_words(rng, b * -(-n // 64), k / n, n)
    octets = words.astype("<u8", copy=False).view(np.uint8).reshape(b, -1)
    masks = np.unpackbits(octets, axis=1, count=n).view(np.bool_)
    _repair(rng, masks, k)
    return masks


def bernoulli_words(
    rng: np.random.Generator, count: int, share: float, n: int
) -> NDArray[np.uint64]:
    """Words whose bits are 1 with a probability near `share`: a binary fraction, bit by bit."""
    bits = 1
    while bits < _MOST_BITS and abs(round(share * 2**bits) / 2**bits - share) * n > n**0.5 / 2:
        bits += 1
    numerator = round(share * 2**bits)
    if numerator in (0, 2**bits):
        return np.full(count, 0 if numerator == 0 else 2**64 - 1, dtype=np.uint64)
    while numerator % 2 == 0:
        numerator, bits = numerator // 2, bits - 1
    words = rng.integers(0, 2**64, size=count, dtype=np.uint64)  # the last digit, which is 1
    for bit in range(1, bits):  # from the last binary digit but one to the first
        fresh = rng.integers(0, 2**64, size=count, dtype=np.uint64)
        combine = np.bitwise_or if (numerator >> bit) & 1 else np.bitwise_and
        combine(words, fresh, out=words)
    return words


def _repair(rng: np.random.Generator, masks: Masks, k: int) -> None:
    """Flip a uniform choice of the surplus entries of each mask, in place.

    Random places are tried; those that hold the surplus value are a uniform choice of all entries
    that do. A place tried twice is flipped once, and the next round flips one more.
    """
    n = masks.shape[1]
    flat = masks.reshape(-1)
    rarest = min(k, n - k) / n
    surplus = mask_counts(masks) - k
    while (rows := np.flatnonzero(surplus)).size:
        value, need = surplus[rows, None] > 0, np.abs(surplus[rows, None])
        tries = rng.integers(n, size=(len(rows), 8 + int(1.5 * need.max() / rarest)))
        tries += (rows * n)[:, None]
        fits = flat.take(tries) == value
        fits &= np.cumsum(fits, axis=1, dtype=np.int32) <= need
        flat[tries[fits]] ^= True
        surplus[rows] = np.array([np.count_nonzero(masks[row]) for row in rows]) - k
