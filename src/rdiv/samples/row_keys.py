"""A stable 128-bit key of every row's content: what puts a pool in canonical order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import cut, place_type, rows_within

__all__ = [
    "Keys",
    "array_keys",
    "digest",
    "label_words",
    "mixed_words",
    "number_words",
    "places_among",
    "row_keys",
    "sorted_digest",
    "sorted_places",
    "text_words",
    "tied_places",
]

Keys = NDArray[np.uint64]  # (n, 2)
Places = NDArray[Any]

_LOOKED_UP = 1 << 20
_SORTED_AT_ONCE = 1 << 21  # more keys are sorted by shares of a sixteenth of this, or less
_FEWEST_COUNTED = 1 << 12
_BLOCK_WORDS = 1 << 16  # half a MB of words at a time: the mixing below stays in cache
_WHOLE, _HIGH = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xC2B2AE3D27D4EB4F)


def row_keys(parts: Iterable[NDArray[np.uint64]], start: int = 0) -> Keys:
    """Hash rows given as blocks of 64-bit words, each of shape ``(n, w)``; at least one.

    Rows with equal words get equal keys whatever their position, file or neighbours. Keys of the
    first `start` words and keys of the rest add up to those of all. Blocks are taken one after the
    other, so that they need not all be in memory.

    Examples
    --------
    >>> keys = row_keys([np.array([[1, 2], [2, 1], [1, 2]], dtype=np.uint64)])
    >>> print(bool((keys[0] == keys[2]).all()), bool((keys[0] == keys[1]).all()))
    True False
    """
    keys: Keys | None = None
    position = start
    for words in parts:
        n, width = words.shape
        keys = np.zeros((n, 2), dtype=np.uint64) if keys is None else keys
        salt = _salts(position, width)
        for block in cut(n, rows_within(_BLOCK_WORDS, width)):
            mixed = mixed_words(words[block] + salt)
            keys[block, 0] += mixed.sum(axis=1, dtype=np.uint64)
            mixed = mixed_words(mixed ^ salt)
            keys[block, 1] += mixed.sum(axis=1, dtype=np.uint64)
        position += width
    assert keys is not None
    return keys


def array_keys(x: NDArray[Any]) -> Keys:
    """Hash the rows of an array of numbers, ``(n, ...)``, by what they hold, not how.

    The same numbers get the same keys as integers, floats of any width or booleans, in any memory
    layout. Words are made a block of rows at a time, so that bytes of images stay bytes.

    Examples
    --------
    >>> whole = np.array([[1, 2], [0, -3]])
    >>> keys = array_keys(whole)
    >>> print(bool((keys == array_keys(-0.0 + whole.astype(np.float32))).all()))
    True
    """
    n, width = len(x), prod(x.shape[1:])
    keys = np.zeros((n, 2), dtype=np.uint64)
    for block in cut(n, rows_within(_BLOCK_WORDS, width)):
        words = number_words(x[block])
        keys[block] = row_keys([words.reshape(len(words), width)])
    return keys


def label_words(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Words of one value per row, numbers or text, ``(n, 1)``; of several numbers ``(n, w)``."""
    if values.dtype.kind not in "biuf":
        return text_words(values.tolist())
    words = number_words(values)
    return words[:, None] if words.ndim == 1 else words


def number_words(values: NDArray[Any]) -> NDArray[np.uint64]:
    """A word for every number, in the shape given; the same one as an integer, float or boolean.

    Minus zero counts as zero, and all kinds of NaN as one. Whole numbers that no float can hold
    have words of their own.
    """
    floats = values.astype(np.float64) + 0.0
    broken = np.isnan(floats)
    if broken.any():
        floats[broken] = np.nan
    words = floats.view(np.uint64)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        beyond = ~_fits_a_float(values)
        if beyond.any():
            # Above the signed numbers, the bits of an unsigned one are those of a negative one.
            high = (values > np.iinfo(np.int64).max)[beyond]
            words[beyond] = values.view(np.uint64)[beyond] ^ np.where(high, _HIGH, _WHOLE)
    return words


def _fits_a_float(whole: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether integers have at most 53 bits between their first and their last one."""
    size = np.where(whole < 0, -whole.view(np.uint64), whole.view(np.uint64))
    lowest = np.maximum(size & -size, 1)
    return np.asarray(size // lowest < np.uint64(1 << 53))


def text_words(values: Iterable[object]) -> NDArray[np.uint64]:
    """Words of one column of labels or text, ``(n, 1)``; None is a value of its own."""
    cells = list(values)
    words = {level: _text_word(level) for level in dict.fromkeys(cells)}
    return np.fromiter(map(words.__getitem__, cells), np.uint64, len(cells))[:, None]


def sorted_digest(keys: Keys, among: Places | None = None) -> int:
    """One number for a set of keys, in whatever order they come; of some rows alone, if given.

    Examples
    --------
    >>> keys = row_keys([np.array([[1], [2], [3]], dtype=np.uint64)])
    >>> print(sorted_digest(keys) == sorted_digest(keys[::-1]))
    True
    """
    return digest(keys, sorted_places(keys, among), among)


def sorted_places(keys: Keys, among: Places | None = None) -> Places:
    """Places of keys in ascending order, first word first; equal ones stay in their order.

    Many keys are sorted a share of them at a time, and their places are as narrow as they can be.

    Parameters
    ----------
    keys : (n, 2) array
    among : (m,) integers, optional
        Sort these rows of the keys alone; the places are then those among them.

    Examples
    --------
    >>> print(sorted_places(np.array([[7, 2], [5, 9], [7, 1]], dtype=np.uint64)))
    [1 2 0]
    """
    order = _by_first_word(keys, among)
    tied = tied_places(keys, order, among)
    if len(tied):  # copies, mostly: only among them does the second word decide
        some = order[tied]
        rows = some if among is None else among[some]
        order[tied] = some[np.lexsort((keys[rows, 1], keys[rows, 0]))]
    return order


def _by_first_word(keys: Keys, among: Places | None) -> Places:
    """Places in the order of the first words alone."""
    n = len(keys) if among is None else len(among)
    if n <= _SORTED_AT_ONCE:
        return _in_order(_first_words(keys, among, slice(0, n)))
    bits = min((n // _SORTED_AT_ONCE).bit_length() + 4, 16)
    order, ends = _spread(keys, among, n, bits)
    for low, high in pairwise(ends.tolist()):
        own = order[low:high]
        words = _first_words(keys, among, own)
        order[low:high] = own[_in_order(words)]
    return order


def _in_order(words: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Places of words in ascending order, equal ones in theirs.

    Hashes hardly ever agree in their leading 32 bits, so these are sorted first: twice by 16 bits,
    which numpy counts and does not compare.
    """
    if len(words) < _FEWEST_COUNTED:
        return np.argsort(words, kind="stable")
    leading = (words >> np.uint64(32)).astype(np.uint32)
    order = np.argsort(leading.astype(np.uint16), kind="stable")
    order = order[np.argsort((leading >> np.uint32(16)).astype(np.uint16)[order], kind="stable")]
    leading = leading[order]
    same = np.zeros(len(words) + 1, dtype=bool)
    same[1:-1] = leading[1:] == leading[:-1]
    tied = np.flatnonzero(same[:-1] | same[1:])
    some = order[tied]
    order[tied] = some[np.argsort(words[some], kind="stable")]
    return order


def _spread(keys: Keys, among: Places | None, n: int, bits: int) -> tuple[Places, NDArray[np.intp]]:
    """Places in the order of the leading bits of the first words, and where each share ends."""
    shift, count = np.uint64(64 - bits), 1 << bits

    def shares() -> Iterator[tuple[slice, NDArray[np.uint16]]]:
        for block in cut(n, _LOOKED_UP):
            yield block, (_first_words(keys, among, block) >> shift).astype(np.uint16)

    ends = np.zeros(count + 1, dtype=np.intp)
    for _, share in shares():
        ends[1:] += np.bincount(share, minlength=count)
    np.cumsum(ends, out=ends)
    free = ends[:-1].copy()
    order = np.empty(n, dtype=place_type(n))
    for block, share in shares():
        own = np.argsort(share, kind="stable")
        sizes = np.bincount(share, minlength=count)
        start = np.repeat(free - (np.cumsum(sizes) - sizes), sizes)
        order[start + np.arange(len(own))] = block.start + own
        free += sizes
    return order, ends


def tied_places(keys: Keys, order: Places, among: Places | None = None) -> NDArray[np.intp]:
    """Where, in an order of the keys, the first word is that of a neighbour.

    Examples
    --------
    >>> keys = np.array([[7, 2], [5, 9], [7, 1]], dtype=np.uint64)
    >>> print(tied_places(keys, sorted_places(keys)))
    [1 2]
    """
    found = [np.empty(0, np.intp)]
    for block in cut(len(order), _LOOKED_UP):
        start = max(block.start - 1, 0)
        words = _first_words(keys, among, order[start : block.stop + 1])
        same = np.zeros(len(words) + 1, dtype=bool)
        same[1:-1] = words[1:] == words[:-1]
        own = slice(block.start - start, block.stop - start)
        found.append(block.start + np.flatnonzero((same[:-1] | same[1:])[own]))
    return np.concatenate(found)


def _first_words(keys: Keys, among: Places | None, at: slice | Places) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = keys[at if among is None else among[at], 0]
    return words


def places_among(keys: Keys, known: Keys) -> NDArray[np.intp]:
    """For every key the place of its first copy among known ones; -1 where there is none.

    Examples
    --------
    >>> keys = row_keys([np.array([[1], [2], [3]], dtype=np.uint64)])
    >>> print(places_among(keys, keys[[2, 0]]))
    [ 1 -1  0]
    """
    found = np.full(len(keys), -1, dtype=np.intp)
    if not len(known):
        return found
    order = sorted_places(known)
    first = known[order, 0]
    for block in cut(len(keys), _LOOKED_UP):
        own = keys[block]
        at = np.searchsorted(first, own[:, 0])
        like = at < len(first)
        like[like] = first[at[like]] == own[like, 0]
        rows, at = np.flatnonzero(like), at[like]
        while len(rows):  # more than once only where one word is equal and the other is not
            same = known[order[at], 1] == own[rows, 1]
            found[block.start + rows[same]] = order[at[same]]
            rows, at = rows[~same], at[~same] + 1
            more = at < len(first)
            more[more] = first[at[more]] == own[rows[more], 0]
            rows, at = rows[more], at[more]
    return found


def digest(keys: Keys, order: Places | None = None, among: Places | None = None) -> int:
    """One number for all keys, or for some rows of them, in their order or in another one."""
    told = hashlib.blake2b(digest_size=16)
    for block in cut(len(keys) if among is None else len(among), _LOOKED_UP):
        rows = block if order is None else order[block]
        told.update(keys[rows if among is None else among[rows]].tobytes())
    return int.from_bytes(told.digest())


def _text_word(level: object) -> int:
    kind = "str" if isinstance(level, str) else type(level).__name__
    text = f"{kind}:{level}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


def _salts(start: int, count: int) -> NDArray[np.uint64]:
    """A different constant for every column, so that swapping two columns changes the key."""
    return mixed_words(
        np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    )


def mixed_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble words so that each input bit reaches every output bit (the SplitMix64 finaliser)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
