"""Sums of columns over the True rows of many masks, and columns in units of their spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.prepared import Masks
from rdiv.parallel.loops import compiled_loops
from rdiv.row_blocks import cut

__all__ = [
    "Columns",
    "StandardColumns",
    "Tiled",
    "mask_counts",
    "masked_moments",
    "masked_sums",
    "rounded",
    "squared",
    "standardized",
    "tiles",
    "unit_sums",
    "words_by_place",
]


_TILE_BYTES = 1 << 22
# A moderate number of columns is multiplied faster from their side, by tiles that stay in the cache
# beside them.
_TURNED_BYTES = 1 << 20
_FEW, _MANY = 2, 300
_TILE_ROWS = 1 << 15
# Masks that lie whole pages apart push each other out of the cache when read place by place.
_PAGE, _PLACES = 1 << 12, 32
_SINGLE_ROWS, _MOST_SINGLE, _SINGLE_NUMBERS = 1 << 9, 1 << 16, 1 << 14

LOOPS = "rdiv.inference.packed_kernels"

FEWEST_MASKS = 100
"""Masks from which on tables of the sums of all subsets of a few rows pay."""

LOADED_FROM = 1 << 31
"""Products in single precision after which a process loads compiled loops for them.

Loading takes a few tenths of a second and saves a fortieth for every so many products: a process
that has made these is likely to make many more.
"""

_made = [0]


class Tiled(Protocol):
    """Columns whose rows can be read by slices: an array, or an object that computes them."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


def mask_counts(masks: Masks) -> NDArray[np.intp]:
    """The number of True rows of each mask, ``(b,)``; five times faster than a sum along an axis.

    Examples
    --------
    >>> print(mask_counts(np.array([[True, False, True]])))
    [2]
    """
    return np.array([np.count_nonzero(mask) for mask in masks], dtype=np.intp)


def masked_sums(masks: Masks, columns: Tiled) -> NDArray[np.float64]:
    """``masks @ columns`` without a float copy of all masks, ``(b, n) x (n, c) -> (b, c)``.

    Examples
    --------
    >>> print(masked_sums(np.array([[True, False, True]]), np.array([[1.0], [2.0], [4.0]])))
    [[5.]]
    """
    if isinstance(columns, np.ndarray) and columns.dtype == np.float32:
        return _single_sums(masks, columns)
    (b, n), m = masks.shape, columns.shape[1]
    turned = _FEW < m <= _MANY
    most = (_TURNED_BYTES if turned else _TILE_BYTES) // (8 * b)
    tile = min(n, _TILE_ROWS, max(256, most))
    buffer = np.empty((b, tile))
    sums = np.zeros((m, b) if turned else (b, m))
    for rows in cut(n, tile):
        floats = buffer[:, : rows.stop - rows.start]
        np.copyto(floats, masks[:, rows])
        sums += columns[rows].T @ floats.T if turned else floats @ columns[rows]
    return np.ascontiguousarray(sums.T) if turned else sums


def _single_sums(masks: Masks, columns: NDArray[np.float32]) -> NDArray[np.float64]:
    """`masked_sums` of `rounded` columns, in half the time: no sum over a tile is rounded."""
    (b, n), m = masks.shape, columns.shape[1]
    if b >= FEWEST_MASKS and (loops := _loops(b * n * m)) is not None:
        words = words_by_place(np.packbits(masks, axis=1), 4)
        padded = np.zeros((32 * len(words), -(-m // 8) * 8), dtype=np.float32)
        padded[:n, :m] = columns
        found: NDArray[np.float64] = loops.exact_sums(words, padded, _SINGLE_ROWS // 32)
        return found[:, :m]
    buffer = np.empty((b, min(n, _SINGLE_ROWS)), dtype=np.float32)
    sums = np.zeros((b, m))
    for rows in cut(n, _SINGLE_ROWS):
        floats = buffer[:, : rows.stop - rows.start]
        np.copyto(floats, masks[:, rows])
        sums += floats @ columns[rows]
    return sums


def words_by_place(octets: NDArray[np.uint8], size: int) -> NDArray[Any]:
    """Bytes of masks ``(b, bytes)`` as words of some bytes, ``(words, b)``, the first byte lowest.

    Examples
    --------
    >>> print(words_by_place(np.array([[1, 2, 0, 0, 3], [0, 1, 0, 0, 0]], dtype=np.uint8), 4))
    [[513 256]
     [  3   0]]
    """
    missing = -octets.shape[1] % size
    whole = np.pad(octets, ((0, 0), (0, missing))) if missing else octets
    words = np.ascontiguousarray(whole).view(f"<u{size}").astype(f"u{size}", copy=False)
    if whole.shape[1] % _PAGE:
        return np.ascontiguousarray(words.T)
    turned = np.empty(words.shape[::-1], dtype=words.dtype)
    for places in cut(len(turned), _PLACES):
        turned[places] = np.ascontiguousarray(words[:, places]).T
    return turned


def _loops(products: int) -> ModuleType | None:
    """Compiled loops, once there is enough to do; they change no bit of an exact sum."""
    _made[0] += products
    return compiled_loops(LOOPS) if _made[0] >= LOADED_FROM else None


def masked_moments(masks: Masks, numbers: Tiled) -> NDArray[np.float64]:
    """Masked sums of one column of numbers and of their squares, ``(b, 2)``.

    Examples
    --------
    >>> print(masked_moments(np.array([[True, False, True]]), np.array([[1.0], [2.0], [4.0]])))
    [[ 5. 17.]]
    """
    return masked_sums(masks, _WithSquares(numbers))


def unit_sums(
    numbers: NDArray[np.float64], codes: NDArray[np.intp], count: int = 0
) -> NDArray[np.float64]:
    """Sums of the rows of every unit, ``(n, m) -> (units, m)``; a unit is a row or a group of rows.

    Examples
    --------
    >>> print(unit_sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0])))
    [[5.]
     [2.]]
    """
    sums = [np.bincount(codes, numbers[:, j], count) for j in range(numbers.shape[1])]
    return np.stack(sums, axis=1)


@dataclass(frozen=True, eq=False)
class _WithSquares:
    """Numbers and their squares as two columns, computed when they are read."""

    numbers: Tiled

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape[0], 2

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        part = self.numbers[rows][:, 0]
        return np.stack([part, part**2], axis=1)


Floats = NDArray[np.float64]

FEWEST_SINGLE = 1 << 17
"""Numbers from which on `rounded` pays."""

MOST_HELD = 1 << 23  # up to so many numbers (64 MB) are standardised once, more on every read
_READ_ROWS = 1 << 15


@dataclass(frozen=True, eq=False)
class StandardColumns:
    """Standardised columns of an array that is too large to be copied.

    A slice of rows is an array. Reading it is cheap compared with the products that use it.

    Parameters
    ----------
    numbers : (n, m) array
    largest, centre, spread : (m,) arrays
        Largest magnitude of each column; mean and standard deviation in units of it. A constant
        column becomes 0.
    square : bool
        Whether to return the squares.
    """

    numbers: NDArray[Any]
    largest: Floats
    centre: Floats
    spread: Floats
    square: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.numbers.shape

    def __getitem__(self, rows: slice) -> Floats:
        return self._in_units(self.numbers[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InputError("columns are standardised into a new array; a copy is needed.")
        return np.asarray(self._in_units(self.numbers), dtype)

    def _in_units(self, numbers: NDArray[Any]) -> Floats:
        scaled: Floats = numbers / self.largest
        scaled -= self.centre
        scaled /= np.where(self.spread > 0, self.spread, np.inf)
        return np.square(scaled, out=scaled) if self.square else scaled


Columns = NDArray[np.float64] | NDArray[np.float32] | StandardColumns


def standardized(numbers: NDArray[Any]) -> tuple[Columns, Floats]:
    """Columns centred and scaled by the pool without overflow; the scale of constant ones is 0.

    Examples
    --------
    >>> print(*standardized(np.array([[1.0, 7.0], [3.0, 7.0]])))
    [[-1.  0.]
     [ 1.  0.]] [1. 0.]
    """
    largest = np.maximum(numbers.max(axis=0), -numbers.min(axis=0)).astype(np.float64)
    largest[largest == 0] = 1.0
    if numbers.size > MOST_HELD:
        sums = [(tile / largest).sum(axis=0) for tile in tiles(numbers)]
        centre = np.sum(sums, axis=0) / len(numbers)
        squares = [np.square(tile / largest - centre).sum(axis=0) for tile in tiles(numbers)]
        spread = _nonzero(np.sqrt(np.sum(squares, axis=0) / len(numbers)))
        return StandardColumns(numbers, largest, centre, spread), largest * spread
    scaled: Floats = numbers / largest
    scaled -= scaled.mean(axis=0)
    spread = _nonzero(np.sqrt(np.einsum("ij,ij->j", scaled, scaled) / len(scaled)))
    scaled /= np.where(spread > 0, spread, np.inf)
    return scaled, largest * spread


def _nonzero(spread: Floats) -> Floats:
    """The spreads, with rounding errors set to 0."""
    return np.where(spread <= 1e-14, 0.0, spread)


def rounded(scaled: Columns) -> Columns:
    """Standardised columns as multiples of a small unit, in single precision.

    Few numbers, for which it would not pay, and more rows than one tile stay as they are.

    Notes
    -----
    A column has mean 0 and variance 1, so the magnitudes of t of its n numbers sum to at most
    ``sqrt(t n)``. The unit, a power of two, is so large that such a sum has less than 24 bits: all
    masked sums over a tile of t rows are exact in single precision, in any order and on any
    machine. For 8000 rows the unit is 1/4096 of a standard deviation, for 65 536 rows (as many as
    are rounded) 1/1024; the standard error of a gap is at least 90 and 8 times as large.

    Examples
    --------
    >>> scaled = np.tile([-1.00001, 1.00001], (1 << 16, 1))
    >>> print(rounded(scaled)[0].tolist(), rounded(scaled[:9])[0].tolist())
    [-1.0, 1.0] [-1.00001, 1.00001]
    """
    if not isinstance(scaled, np.ndarray) or scaled.size < FEWEST_SINGLE:
        return scaled
    n = len(scaled)
    if n > _MOST_SINGLE:
        return scaled
    largest = np.sqrt(min(n, _SINGLE_ROWS) * n)
    unit = np.exp2(np.ceil(np.log2(largest)) - 23)
    magic = 1.5 * 2.0**52 * unit  # a sum with it has no room for anything below the unit
    single = np.empty_like(scaled, dtype=np.float32)
    own, found = scaled.ravel(order="K"), single.ravel(order="K")
    for part in cut(len(own), _SINGLE_NUMBERS):
        found[part] = own[part] + magic - magic
    return single


def squared(columns: Columns) -> Columns:
    """The squares of columns, in the same form."""
    if isinstance(columns, np.ndarray):
        return columns.astype(np.float64, copy=False) ** 2
    return replace(columns, square=True)


def tiles(columns: Columns) -> Iterator[Floats]:
    """Parts of some thousand rows; all of them together where there are few."""
    single = isinstance(columns, np.ndarray) and columns.dtype == np.float32
    for rows in cut(columns.shape[0], _SINGLE_ROWS if single else _READ_ROWS):
        yield columns[rows].astype(np.float64, copy=False)
