"""Tables to numbers: impute and indicate, encode levels, scale."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.samples.by_kind import ColumnsByKind, Reading, fit_reading
from rdiv.samples.frame_rows import as_table
from rdiv.samples.frames import quoted

__all__ = ["MOST_LEVELS", "RARE_SHARE", "Preparation", "fit_preparation"]

MOST_LEVELS = 20
"""A category becomes at most this many columns, one for its rare levels among them (and one more
where values are missing)."""

RARE_SHARE = 0.01
"""A level with fewer than this share of the rows, or with a single row, is rare."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Preparation:
    """How the columns of one frame become numbers, fixed by the rows it was fitted on.

    Numbers and booleans: missing values become the median and are marked in an extra 0/1 column,
    and the values are scaled to mean 0 and variance 1 (a constant column to zeros). Dates, times
    and durations are counted in seconds and treated as numbers, and so are the parts of dates that
    repeat. Categories: one 0/1 column per level, one for all rare levels together, one for missing
    values; these are not scaled. Free text: a few components, which together have variance 1. A
    column without any value gives zeros. Make one with `fit_preparation`.

    Parameters
    ----------
    reading : Reading
        How columns are read by kind.
    numbers : tuple
        What is done with each number.
    levels : tuple
        What is done with each category.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [20, None, 40], "region": ["west", "west", "east"]})
    >>> preparation = fit_preparation(frame)
    >>> print(preparation.names)
    ('age', 'age (missing)', 'region = west', 'region = other (rare)')
    >>> print(preparation.apply(frame).round(3).tolist())
    [[-1.225, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.225, 0.0, 0.0, 1.0]]
    """

    reading: Reading = field(repr=False)
    numbers: tuple[_Number, ...] = field(repr=False)
    levels: tuple[_Levels, ...] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """What each column of the result means.

        Such as ``"age"``, ``"age (missing)"``, ``"region = west"`` or ``"region = other (rare)"``.
        """
        indicated = [f"{number.column} (missing)" for number in self.numbers if number.indicates]
        encoded = [name for levels in self.levels for name in levels.names]
        return (*self.reading.names, *indicated, *encoded, *self.reading.empty)

    @property
    def owners(self) -> tuple[str, ...]:
        """The column of the frame that each column of the result was made from."""
        indicated = [number.column for number in self.numbers if number.indicates]
        encoded = [levels.column for levels in self.levels for _ in levels.names]
        return (*self.reading.owners, *indicated, *encoded, *self.reading.empty)

    def apply(self, frame: Any) -> Floats:
        """Turn rows into numbers, ``(n, d)``.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or `FrameRows`
            It has the columns of the frame fitted on, in any order. A level never seen counts as
            rare, or as none of the levels where there are no rare ones.
        """
        return self.encode(self.reading.apply(as_table(frame)))

    def encode(self, found: ColumnsByKind) -> Floats:
        """Turn columns that were read by kind into numbers, ``(n, d)``."""
        out = np.zeros((len(found), len(self.names)))
        place = len(self.numbers)
        for j, number in enumerate(self.numbers):
            out[:, j] = number.apply(found.numbers[:, j])
            if number.indicates:
                out[:, place] = np.isnan(found.numbers[:, j])
                place += 1
        for j, levels in enumerate(self.levels):
            levels.write(found.codes[:, j], out[:, place : place + len(levels.names)])
            place += len(levels.names)
        return out


def fit_preparation(frame: Any) -> Preparation:
    """Learn from a frame how to turn its columns into numbers.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or `FrameRows`
        The rows to learn from: medians, scales, levels and which of them are rare. A level is
        rare when it has fewer than 1 % of the rows (``RARE_SHARE``), or one row only, or when it
        is beyond the ``MOST_LEVELS`` most frequent ones. Columns of bytes and other nested values
        are left out.

    Returns
    -------
    Preparation

    Raises
    ------
    TypeError
        If no column can be read.
    ValueError
        If the frame has no columns.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sold": [True, False], "price": [1e300, 3e300]})
    >>> print(fit_preparation(frame).apply(frame).tolist())
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    table = as_table(frame)
    if not table.columns and table.left_out:
        raise InputTypeError(
            f"no column can be read as numbers, dates, text or lists of these, got "
            f"{quoted(table.left_out)}; convert one of them."
        )
    if not table.columns:
        raise InputError("a frame without columns has no inputs; keep at least one column.")
    reading = fit_reading(table)
    found = reading.apply(table)
    return Preparation(reading, _fit_numbers(reading, found), _fit_levels(found))


@dataclass(frozen=True, eq=False)
class _Number:
    """A column of numbers: a power of two, the median, centre and scale."""

    column: str
    exponent: int
    median: float
    centre: float
    scale: float
    indicates: bool

    def apply(self, values: Floats) -> Floats:
        """Values in units of their spread; the median where there is none."""
        filled = _filled(values, self.exponent, self.median)
        with np.errstate(under="ignore"):
            filled -= self.centre
            filled /= self.scale
        return filled


def _fit_numbers(reading: Reading, found: ColumnsByKind) -> tuple[_Number, ...]:
    first, texts = set(found.first_numbers.tolist()), set(reading.texts)
    return tuple(
        _fit_number(owner, found.numbers[:, j], first=j in first, scales=owner not in texts)
        for j, owner in enumerate(found.owners)
    )


def _fit_number(column: str, values: Floats, *, first: bool, scales: bool) -> _Number:
    """Centre and scale of a number; a component of text keeps its scale."""
    missing = np.isnan(values)
    indicates = first and bool(missing.any())
    exponent = int(np.frexp(np.abs(values).max(initial=0.0, where=~missing))[1]) if scales else 0
    with np.errstate(under="ignore"):
        median = float(np.median(_shrunk(values[~missing], exponent)))
        filled = _filled(values, exponent, median)
        centre, scale = float(filled.mean()), float(filled.std())
    return _Number(column, exponent, median, centre, (scale or 1.0) if scales else 1.0, indicates)


def _shrunk(values: Floats, exponent: int) -> Floats:
    """Divide by a power of two, which rounds nothing, so that squares stay finite."""
    with np.errstate(over="ignore", under="ignore"):
        shrunk = np.ldexp(values, -exponent)
    return np.clip(shrunk, -1e100, 1e100, out=shrunk)


def _filled(values: Floats, exponent: int, median: float) -> Floats:
    """Values less their median (so that a constant column is exactly 0), 0 where there is none."""
    shrunk = _shrunk(values, exponent)
    shrunk -= median
    shrunk[np.isnan(values)] = 0.0
    return shrunk


@dataclass(frozen=True, eq=False)
class _Levels:
    """One category: the column of the result that each code has a 1 in.

    Parameters
    ----------
    column : str
    kept : tuple of str
        Levels with a column of their own.
    places : (codes,) integers
        From code to place; -1 for none.
    rare, indicates : bool
        Whether there is a column for rare levels, and one for missing values.
    """

    column: str
    kept: tuple[str, ...]
    places: NDArray[np.intp]
    rare: bool
    indicates: bool

    @property
    def names(self) -> tuple[str, ...]:
        ends = [f" = {level}" for level in (*self.kept, *["other (rare)"] * self.rare)]
        return tuple(self.column + end for end in ends + [" (missing)"] * self.indicates)

    def write(self, codes: NDArray[np.int16], out: Floats) -> None:
        places = self.places[codes]
        known = np.flatnonzero(places >= 0)
        out[known, places[known]] = 1.0


def _fit_levels(found: ColumnsByKind) -> tuple[_Levels, ...]:
    return tuple(
        _fit_category(column, levels, found.codes[:, j])
        for j, (column, levels) in enumerate(zip(found.categories, found.levels, strict=True))
    )


def _fit_category(column: str, levels: tuple[str, ...], codes: NDArray[np.int16]) -> _Levels:
    rest = 1 + len(levels)
    counts = np.bincount(codes, minlength=1 + rest)
    least = max(2, ceil(RARE_SHARE * len(codes)))
    frequent = [code for code in range(1, rest) if counts[code] >= least]
    rare = len(frequent) < len(levels) or counts[rest] > 0 or len(frequent) > MOST_LEVELS
    frequent = frequent[: MOST_LEVELS - 1] if rare else frequent
    kept = sorted(frequent, key=lambda code: levels[code - 1])
    places = np.full(1 + rest, len(kept) if rare else -1, dtype=np.intp)
    places[kept] = np.arange(len(kept))
    indicates = bool(counts[0])
    places[0] = len(kept) + rare if indicates else -1
    return _Levels(column, tuple(levels[code - 1] for code in kept), places, rare, indicates)
