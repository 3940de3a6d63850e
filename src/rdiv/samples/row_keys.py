"""A stable 128-bit key of every row's content: what puts a pool in canonical order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Keys", "array_words", "column_words", "digest", "row_keys", "text_words"]

Keys = NDArray[np.uint64]  # (n, 2)

_BLOCK_WORDS = 1 << 18  # 2 MB of words at a time: the mixing below stays in cache


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
        n = len(words)
        keys = np.zeros((n, 2), dtype=np.uint64) if keys is None else keys
        salt = _salts(position, words.shape[1])
        step = max(1, _BLOCK_WORDS // max(1, words.shape[1]))
        for first in range(0, n, step):
            mixed = _mix(words[first : first + step] + salt)
            keys[first : first + step, 0] += mixed.sum(axis=1, dtype=np.uint64)
            mixed = _mix(mixed ^ salt)
            keys[first : first + step, 1] += mixed.sum(axis=1, dtype=np.uint64)
        position += words.shape[1]
    assert keys is not None
    return keys


def array_words(x: NDArray[np.generic]) -> NDArray[np.uint64]:
    """View the rows of an array as 64-bit words, ``(n, w)``, padding the last one with zeros."""
    n = len(x)
    flat = np.ascontiguousarray(x).reshape(n, -1)
    width = flat.dtype.itemsize * flat.shape[1]
    if width % 8:
        padded = np.zeros((n, width + 8 - width % 8), dtype=np.uint8)
        padded[:, :width] = flat.view(np.uint8).reshape(n, width)
        return padded.view(np.uint64)
    return flat.view(np.uint64).reshape(n, -1)


def column_words(values: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Words of one column of numbers, ``(n, 1)``.

    The same number has the same word as an integer, a float or a boolean, unless the column holds
    integers that no float can.
    """
    floats = values.astype(np.float64)
    if values.dtype.kind in "iu" and (np.abs(floats) >= 2**53).any():
        return values.astype(np.int64).view(np.uint64)[:, None]
    return (floats + 0.0).view(np.uint64)[:, None]


def text_words(values: Iterable[object]) -> NDArray[np.uint64]:
    """Words of one column of labels or text, ``(n, 1)``; None is a value of its own."""
    codes: dict[object, int] = {}
    coded = [codes.setdefault(value, len(codes)) for value in values]
    levels = [_text_word(level) for level in codes]
    return np.array(levels, dtype=np.uint64)[np.array(coded, dtype=np.intp)][:, None]


def digest(keys: Keys) -> int:
    """One number for all keys in their order."""
    return int.from_bytes(hashlib.blake2b(keys.tobytes(), digest_size=16).digest())


def _text_word(level: object) -> int:
    text = f"{type(level).__name__}:{level}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


def _salts(start: int, count: int) -> NDArray[np.uint64]:
    """A different constant for every column, so that swapping two columns changes the key."""
    return _mix(
        np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    )


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble words so that each input bit reaches every output bit (the SplitMix64 finaliser)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
