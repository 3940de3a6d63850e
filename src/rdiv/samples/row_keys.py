"""A stable 128-bit key of every row's content: what puts a pool in canonical order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import cut, rows_within

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
    "text_words",
]

Keys = NDArray[np.uint64]  # (n, 2)

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
    codes: dict[object, int] = {}
    coded = [codes.setdefault(value, len(codes)) for value in values]
    levels = [_text_word(level) for level in codes]
    return np.array(levels, dtype=np.uint64)[np.array(coded, dtype=np.intp)][:, None]


def sorted_digest(keys: Keys) -> int:
    """One number for a set of keys, in whatever order they come.

    Examples
    --------
    >>> keys = row_keys([np.array([[1], [2], [3]], dtype=np.uint64)])
    >>> print(sorted_digest(keys) == sorted_digest(keys[::-1]))
    True
    """
    return digest(keys[np.lexsort((keys[:, 1], keys[:, 0]))])


def places_among(keys: Keys, known: Keys) -> NDArray[np.intp]:
    """For every key the place of its first copy among known ones; -1 where there is none.

    Examples
    --------
    >>> keys = row_keys([np.array([[1], [2], [3]], dtype=np.uint64)])
    >>> print(places_among(keys, keys[[2, 0]]))
    [ 1 -1  0]
    """
    if not len(known):
        return np.full(len(keys), -1, dtype=np.intp)
    order = np.lexsort((known[:, 1], known[:, 0]))
    ordered = known[order]
    at = np.minimum(np.searchsorted(ordered[:, 0], keys[:, 0]), len(ordered) - 1)
    alike, found = ordered[at, 0] == keys[:, 0], ordered[at, 1] == keys[:, 1]
    places = np.where(alike & found, order[at], -1)
    rest = np.flatnonzero(alike & ~found)  # another key has their first word: compare both
    if len(rest):
        first, both = _as_one(keys[rest]), _as_one(ordered)
        at = np.minimum(np.searchsorted(both, first), len(both) - 1)
        places[rest] = np.where(both[at] == first, order[at], -1)
    return places


def _as_one(keys: Keys) -> NDArray[np.void]:
    """Both words of every key as one value, which sorts like the first and then the second."""
    both = np.ascontiguousarray(keys)
    return both.view([("high", np.uint64), ("low", np.uint64)])[:, 0]


def digest(keys: Keys) -> int:
    """One number for all keys in their order."""
    return int.from_bytes(hashlib.blake2b(keys.tobytes(), digest_size=16).digest())


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
