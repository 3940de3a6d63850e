"""Compiled loops over packed masks; importing this needs numba (the `fast` extra)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rdiv.parallel.compiled import compiled

__all__ = ["exact_sums", "flip", "pair_sums", "single_sums", "table_sums"]


@compiled
def flip(octets: Any, rows: Any, surplus: Any, places: Any, ends: Any) -> None:
    """Flip surplus bits at the places tried, as many as needed, and count what is left."""
    start = 0
    for i in range(len(rows)):
        row = rows[i]
        held, step = surplus[row] > 0, 1 if surplus[row] > 0 else -1
        for j in range(start, ends[i]):
            if surplus[row] == 0:
                break
            octet, bit = places[j] >> 3, np.uint8(128 >> (places[j] & 7))
            if ((octets[row, octet] & bit) != 0) == held:
                octets[row, octet] ^= bit
                surplus[row] -= step
        start = ends[i]


@compiled
def fill(table: Any, rows: Any) -> None:
    """Sums of all subsets of some rows, each at the bits that name the subset."""
    for bit in range(len(rows)):
        row = rows[len(rows) - 1 - bit]
        for value in range(1 << bit):
            less, more = table[value], table[value + (1 << bit)]
            for j in range(len(row)):
                more[j] = less[j] + row[j]


@compiled
def pair_sums(words: Any, columns: Any) -> Any:
    """Sums of two columns, which stay in registers; masks as words of eight bytes, ``(words, b)``.

    The words of all masks at one place lie side by side. As rows of a power of two bytes they would
    push each other out of the cache.
    """
    width, b = words.shape
    group = 2  # tables of so many words stay in the cache together
    sums = np.zeros((b, 2))
    table = np.zeros((8 * group, 256, 2))
    low, shift = np.uint64(255), np.uint64(8)
    for begin in range(0, width, group):
        stop = min(begin + group, width)
        for g in range(8 * (stop - begin)):
            fill(table[g], columns[8 * (8 * begin + g) : 8 * (8 * begin + g) + 8])
        for row in range(b):
            left, right, more_left, more_right = 0.0, 0.0, 0.0, 0.0
            for place in range(begin, stop):
                word = words[place, row]
                for g in range(8 * (place - begin), 8 * (place - begin) + 8, 2):
                    one, other = np.intp(word & low), np.intp((word >> shift) & low)
                    word >>= np.uint64(16)
                    left += table[g, one, 0]
                    right += table[g, one, 1]
                    more_left += table[g + 1, other, 0]
                    more_right += table[g + 1, other, 1]
            sums[row, 0] += left + more_left
            sums[row, 1] += right + more_right
    return sums


@compiled
def fill_single(table: Any, numbers: Any) -> None:
    """Sums of all subsets of eight numbers."""
    for bit in range(8):
        more = numbers[7 - bit]
        for value in range(1 << bit):
            table[value + (1 << bit)] = table[value] + more


@compiled
def single_sums(words: Any, columns: Any) -> Any:
    """Sums of one column, as those of two."""
    width, b = words.shape
    group = 2
    sums = np.zeros((b, 1))
    table = np.zeros((8 * group, 256))
    low, shift = np.uint64(255), np.uint64(8)
    for begin in range(0, width, group):
        stop = min(begin + group, width)
        for g in range(8 * (stop - begin)):
            fill_single(table[g], columns[8 * (8 * begin + g) : 8 * (8 * begin + g) + 8, 0])
        for row in range(b):
            total, more = 0.0, 0.0
            for place in range(begin, stop):
                word = words[place, row]
                for g in range(8 * (place - begin), 8 * (place - begin) + 8, 2):
                    total += table[g, np.intp(word & low)]
                    more += table[g + 1, np.intp((word >> shift) & low)]
                    word >>= np.uint64(16)
            sums[row, 0] += total + more
    return sums


@compiled
def table_sums(words: Any, columns: Any) -> Any:
    """Sums of any number of columns, which are added by four tables at a time."""
    width, b = words.shape
    m, low = columns.shape[1], np.uint64(255)
    sums = np.zeros((b, m))
    table = np.zeros((4, 256, m))
    for half in range(2 * width):
        place, shift = half >> 1, np.uint64(32 * (half & 1))
        for g in range(4):
            fill(table[g], columns[8 * (4 * half + g) : 8 * (4 * half + g) + 8])
        for row in range(b):
            word, own = words[place, row] >> shift, sums[row]
            s, t = table[0, np.intp(word & low)], table[1, np.intp(word >> np.uint64(8) & low)]
            u, v = (
                table[2, np.intp(word >> np.uint64(16) & low)],
                table[3, np.intp(word >> np.uint64(24) & low)],
            )
            for j in range(m):
                own[j] = (((own[j] + s[j]) + t[j]) + u[j]) + v[j]
    return sums


@compiled
def exact_sums(words: Any, columns: Any, tile: int) -> Any:
    """Sums of many columns in single precision, by tables of four rows; `tile` words are exact.

    The sums of eight tables, whose rows a word of four bytes names, are added in one loop, which
    leaves the fewest loads and stores.
    """
    width, b = words.shape
    m = columns.shape[1]
    sums = np.zeros((b, m))
    parts = np.zeros((b, m), np.float32)
    table = np.zeros((8, 16, m), np.float32)
    for place in range(width):
        for g in range(8):
            fill(table[g], columns[4 * (8 * place + g) : 4 * (8 * place + g) + 4])
        for row in range(b):
            part, word = parts[row], np.intp(words[place, row])
            s, t = table[0, word >> 4 & 15], table[1, word & 15]
            u, v = table[2, word >> 12 & 15], table[3, word >> 8 & 15]
            w, x = table[4, word >> 20 & 15], table[5, word >> 16 & 15]
            y, z = table[6, word >> 28 & 15], table[7, word >> 24 & 15]
            for j in range(m):
                part[j] += ((s[j] + t[j]) + (u[j] + v[j])) + ((w[j] + x[j]) + (y[j] + z[j]))
        if (place + 1) % tile == 0 or place + 1 == width:
            for row in range(b):
                whole, part = sums[row], parts[row]
                for j in range(m):
                    whole[j] += part[j]
                    part[j] = 0.0
    return sums
