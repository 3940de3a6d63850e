"""The columns of a pool by kind: numbers, categories and text, read as one pool taught it.

A reading is learned from the rows of a pool without their labels: which text columns are
categories and with which levels, which are free text and with which components, and which parts of
a date say something. Applied to these or any other rows, it gives `ColumnsByKind`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.cells import Cells, column_cells
from rdiv.samples.columns import InputCells, read_column, seconds_of
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.kinds import column_floats, column_kind, is_empty
from rdiv.samples.text_components import TextComponents, fit_text

if TYPE_CHECKING:
    from rdiv.samples.frames import Column

__all__ = [
    "MOST_CATEGORIES",
    "ColumnsByKind",
    "Reading",
    "array_by_kind",
    "fit_reading",
]

MOST_CATEGORIES = 253
"""Levels of a column that have a code of their own; with one for all others and one for missing
values they fit in a byte."""

FEW_LEVELS = 20
"""A text column with at most this many levels always is a category."""

COVERED = 0.9
"""The levels with a code of their own cover this share of the rows, or the column is text."""

Floats = NDArray[np.float64]

_FEW = 64  # rows in which nearly every column of numbers has a value
_DAY = 86400.0
_FEWEST_DATES = 10  # distinct ones, below which a part of a date repeats by accident
_PERIODS = {"hour": _DAY, "weekday": 7 * _DAY, "month": 366 * _DAY}


@dataclass(frozen=True, eq=False)
class ColumnsByKind:
    """Rows as numbers and as codes of categories.

    Parameters
    ----------
    numbers : (n, a) array
        Numbers and booleans as they are; dates, times and durations in seconds; parts of dates;
        components of text. NaN where a value is missing.
    names : tuple of a str
        What each of them is, such as ``"age"``, ``"day (weekday)"`` or ``"note (text 1)"``.
    owners : tuple of a str
        The column that each was made from.
    codes : (n, c) array of int16
        A category in each column: 0 where it is missing, 1, 2, ... the levels, the most frequent
        first, and last of all one code for all levels without one, also those never seen.
    categories : tuple of c str
        The columns of the codes.
    levels : tuple of c tuples of str
        The levels with a code of their own.

    Examples
    --------
    >>> import polars as pl
    >>> from rdiv.samples import Pool
    >>> frame = pl.DataFrame({"age": [20, None, 40], "town": ["B", "B", "A"]})
    >>> found = Pool(frame).by_kind()
    >>> print(found.names, found.numbers[:, 0], found.levels, found.codes[:, 0])
    ('age',) [20. nan 40.] (('B', 'A'),) [1 1 2]
    """

    numbers: Floats
    names: tuple[str, ...]
    owners: tuple[str, ...]
    codes: NDArray[np.int16]
    categories: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[np.intp]) -> ColumnsByKind:
        """Some rows, in the order given."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    @property
    def first_numbers(self) -> NDArray[np.intp]:
        """The first number of every column that has some: where it is NaN, the value is missing."""
        seen: dict[str, int] = {}
        for place, owner in enumerate(self.owners):
            seen.setdefault(owner, place)
        return np.array(list(seen.values()), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A column of numbers or times, and the parts of its dates that repeat."""

    column: str
    parts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column, *(f"{self.column} ({part})" for part in self.parts))

    def read(self, column: Column) -> Floats:
        if column_kind(column) == "number":
            floats = column_floats(column)
        else:  # dates in text, or nothing
            cells = column_cells(column)
            found = seconds_of([str(value) for value in cells.values])
            floats = np.concatenate([[np.nan], found])[cells.codes]
        if not self.parts:
            return floats[:, None]
        return np.stack([floats, *(_part(floats, part) for part in self.parts)], axis=1)


@dataclass(frozen=True, eq=False)
class _Text:
    """A column of free text."""

    column: str
    components: TextComponents

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.column} (text {k + 1})" for k in range(self.components.width))

    def read(self, column: Column) -> Floats:
        cells = column_cells(column)
        numbers = self.components.apply([str(value) for value in cells.values])
        return np.concatenate([np.full((1, numbers.shape[1]), np.nan), numbers])[cells.codes]


@dataclass(frozen=True, eq=False)
class _Category:
    """A column of levels."""

    column: str
    levels: tuple[str, ...]

    def read(self, column: Column) -> NDArray[np.int16]:
        cells = column_cells(column)
        known = {level: code for code, level in enumerate(self.levels, start=1)}
        rest = 1 + len(self.levels)
        found = [known.get(str(value), rest) for value in cells.values]
        return np.array([0, *found], dtype=np.int16)[cells.codes]


@dataclass(frozen=True, eq=False)
class Reading:
    """How the columns of a table are read, fixed by the rows it was learned from.

    Parameters
    ----------
    numbers : tuple
        Columns that become numbers.
    categories : tuple
        Columns that become codes.
    empty : tuple of str
        Columns in which no row had a value.
    """

    numbers: tuple[_Numbers | _Text, ...] = field(repr=False)
    categories: tuple[_Category, ...] = field(repr=False)
    empty: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What each number is."""
        return tuple(name for column in self.numbers for name in column.names)

    @property
    def owners(self) -> tuple[str, ...]:
        """The column that each number was made from."""
        return tuple(column.column for column in self.numbers for _ in column.names)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of free text."""
        return tuple(column.column for column in self.numbers if isinstance(column, _Text))

    def apply(self, table: FrameRows) -> ColumnsByKind:
        """Rows of any table with these columns, in any order."""
        n, there = len(table), set(table.columns)
        numbers, start = np.empty((n, len(self.names))), 0
        for column in self.numbers:
            stop = start + len(column.names)
            if column.column not in there:
                numbers[:, start:stop] = np.nan
            elif stop > start:
                numbers[:, start:stop] = column.read(table.get_column(column.column))
            start = stop
        codes = np.zeros((n, len(self.categories)), dtype=np.int16)
        for j, category in enumerate(self.categories):
            if category.column in there:
                codes[:, j] = category.read(table.get_column(category.column))
        return ColumnsByKind(
            numbers,
            self.names,
            self.owners,
            codes,
            tuple(category.column for category in self.categories),
            tuple(category.levels for category in self.categories),
        )


def fit_reading(table: FrameRows) -> Reading:
    """Learn from the rows of a table how to read its columns.

    Text is a category when it has at most ``FEW_LEVELS`` levels, or when its levels repeat and the
    ``MOST_CATEGORIES`` most frequent ones cover nearly all rows; other text becomes the components
    of its n-grams. A date is a number, and its hour, weekday or month are others where the dates
    span more than a day, a week or a year.

    Examples
    --------
    >>> import polars as pl
    >>> notes = [f"order {i} came late" for i in range(30)]
    >>> reading = fit_reading(FrameRows(pl.DataFrame({"town": ["A", "B"] * 15, "note": notes})))
    >>> print(reading.texts, [category.column for category in reading.categories])
    ('note',) ['town']
    """
    numbers: list[_Numbers | _Text] = []
    categories: list[_Category] = []
    empty = []
    few = table[np.arange(min(len(table), _FEW))]
    for name in table.columns:
        found: _Numbers | _Text | _Category | None = _Numbers(name)
        if not _holds_numbers(few.get_column(name)):  # else one value is enough to know it
            found = _fit_column(table.get_column(name), name)
        if found is None:
            empty.append(name)
        elif isinstance(found, _Category):
            categories.append(found)
        else:
            numbers.append(found)
    return Reading(tuple(numbers), tuple(categories), tuple(empty))


def _holds_numbers(column: Column) -> bool:
    """Whether these are numbers or booleans, and not all of them missing."""
    import narwhals.stable.v2 as nw

    plain = column.dtype.is_numeric() or column.dtype == nw.Boolean
    return bool(plain and not is_empty(column))


def _fit_column(column: Column, name: str) -> _Numbers | _Text | _Category | None:
    if _holds_numbers(column):
        return _Numbers(name)
    if column_kind(column) == "empty":
        return None
    found = read_column(column, name)
    if found.kind != "text":
        return _Numbers(name, _parts_that_vary(found))
    if _is_category(found.cells):
        return _Category(name, _frequent(found.cells))
    return _fit_text(found)


def array_by_kind(matrix: NDArray[Any], owners: tuple[str, ...]) -> ColumnsByKind:
    """Rows of an array as numbers; infinite ones count as missing.

    Examples
    --------
    >>> print(array_by_kind(np.array([[1, 2]]), ("column 0", "column 1")).numbers)
    [[1. 2.]]
    """
    numbers = matrix.astype(np.float64, copy=False)
    finite = np.isfinite(numbers)
    if not finite.all():
        numbers = np.where(finite, numbers, np.nan)
    nothing = np.zeros((len(matrix), 0), dtype=np.int16)
    return ColumnsByKind(numbers, owners, owners, nothing, (), ())


def _counts(cells: Cells) -> NDArray[np.intp]:
    return np.bincount(cells.codes, minlength=1 + len(cells.values))[1:]


def _is_category(cells: Cells) -> bool:
    counts = np.sort(_counts(cells))[::-1]
    present = counts.sum()
    if len(counts) <= FEW_LEVELS:
        return True
    return bool(2 * len(counts) <= present and counts[:MOST_CATEGORIES].sum() >= COVERED * present)


def _frequent(cells: Cells) -> tuple[str, ...]:
    """The most frequent levels first; of equally frequent ones in the order of their text."""
    counts, texts = _counts(cells), [str(value) for value in cells.values]
    order = sorted(range(len(texts)), key=lambda place: (-counts[place], texts[place]))
    return tuple(texts[place] for place in order[:MOST_CATEGORIES])


def _fit_text(column: InputCells) -> _Text:
    texts, counts = [str(value) for value in column.cells.values], _counts(column.cells)
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__))
    return _Text(column.name, fit_text([texts[place] for place in order], counts[order]))


def _parts_that_vary(column: InputCells) -> tuple[str, ...]:
    if column.kind != "date":
        return ()
    seconds = np.asarray(column.cells.values, dtype=np.float64)
    if len(seconds) < _FEWEST_DATES:
        return ()
    span = float(seconds[-1] - seconds[0])
    longer = [part for part, period in _PERIODS.items() if span > period]
    return tuple(part for part in longer if np.ptp(_part(seconds, part)) > 0)


def _part(seconds: Floats, part: str) -> Floats:
    """The hour (0 to 24), the weekday (0 is Monday) or the month (1 to 12) of dates."""
    if part == "hour":
        found: Floats = (seconds % _DAY) / 3600
        return found
    days = np.floor(seconds / _DAY)
    if part == "weekday":
        return (days + 3) % 7
    known = np.isfinite(days)
    whole = np.where(known, days, 0.0).astype("datetime64[D]")
    months = whole.astype("datetime64[M]").astype(np.int64) % 12 + 1
    return np.where(known, months.astype(np.float64), np.nan)
