"""Compiled loops over packed masks; importing this needs numba (the `fast` extra)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rdiv.parallel.compiled import compiled

__all__ = ["count", "exact_sums", "flip", "pair_sums", "single_sums", "table_sums"]


@compiled
def count(octets: Any) -> Any:
    """Bits of every mask."""
    ones = np.zeros(256, np.uint8)
    for value in range(256):
        ones[value] = (value & 1) + ones[value >> 1]
    counts = np.zeros(len(octets), np.int64)
    for row in range(len(octets)):
        total = 0
        for octet in octets[row]:
            total += ones[octet]
        counts[row] = total
    return counts


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
    """Sums of two columns, which stay in registers; masks as words of eight bytes."""
    b, width = words.shape
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
                word = words[row, place]
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
    b, width = words.shape
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
                word = words[row, place]
                for g in range(8 * (place - begin), 8 * (place - begin) + 8, 2):
                    total += table[g, np.intp(word & low)]
                    more += table[g + 1, np.intp((word >> shift) & low)]
                    word >>= np.uint64(16)
            sums[row, 0] += total + more
    return sums


@compiled
def table_sums(octets: Any, columns: Any) -> Any:
    """Sums of any number of columns."""
    b, width = octets.shape
    group, m = 4, columns.shape[1]
    sums = np.zeros((b, m))
    table = np.zeros((group, 256, m))
    for begin in range(0, width, group):
        stop = min(begin + group, width)
        for g in range(begin, stop):
            fill(table[g - begin], columns[8 * g : 8 * g + 8])
        for row in range(b):
            own = sums[row]
            for g in range(begin, stop):
                found = table[g - begin, octets[row, g]]
                for j in range(m):
                    own[j] += found[j]
    return sums


@compiled
def exact_sums(octets: Any, columns: Any, tile: int) -> Any:
    """Sums of many columns in single precision, by tables of four rows; `tile` bytes are exact.

    The sums of eight tables are added in one loop, which leaves the fewest loads and stores. The
    number of bytes must be a multiple of four.
    """
    b, width = octets.shape
    m = columns.shape[1]
    sums = np.zeros((b, m))
    parts = np.zeros((b, m), np.float32)
    table = np.zeros((8, 16, m), np.float32)
    for begin in range(0, width, 4):
        for g in range(8):
            fill(table[g], columns[8 * begin + 4 * g : 8 * begin + 4 * g + 4])
        for row in range(b):
            part, own = parts[row], octets[row, begin : begin + 4]
            s, t = table[0, own[0] >> 4], table[1, own[0] & 15]
            u, v = table[2, own[1] >> 4], table[3, own[1] & 15]
            w, x = table[4, own[2] >> 4], table[5, own[2] & 15]
            y, z = table[6, own[3] >> 4], table[7, own[3] & 15]
            for j in range(m):
                part[j] += ((s[j] + t[j]) + (u[j] + v[j])) + ((w[j] + x[j]) + (y[j] + z[j]))
        if (begin + 4) % tile == 0 or begin + 4 == width:
            for row in range(b):
                whole, part = sums[row], parts[row]
                for j in range(m):
                    whole[j] += part[j]
                    part[j] = 0.0
    return sums
