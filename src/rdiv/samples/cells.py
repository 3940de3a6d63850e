"""One column as codes of its values; whether these are dates, and whether they are an id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.frames import python_values
from rdiv.samples.kinds import column_floats, column_kind

if TYPE_CHECKING:
    from rdiv.samples.frames import Column

__all__ = ["Cells", "array_cells", "column_cells"]

MOSTLY = 0.95
"""A text column holds dates if this share of its values look like one."""

NEARLY_ALL = 0.99
"""An id has this share of distinct values."""

FEWEST_VALUES = 20  # below this many, distinct values mean nothing

_TOO_LONG = 2.0**53  # sixteen digits, which no measurement has
_WORDS, _LENGTH = 3, 128  # texts with this many words, or longer than this, are prose
_SOME_VALUES = 2_000  # enough to see what text is like

_DATE = re.compile(
    r"\s*\d{4}([-/](0[1-9]|1[0-2])|([-/.])(0?[1-9]|1[0-2])\3(0?[1-9]|[12]\d|3[01]))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|UTC|[+-]\d{2}(:?\d{2})?)?)?\s*"
)


@dataclass(frozen=True, eq=False)
class Cells:
    """The values of one column.

    Parameters
    ----------
    codes : (n,) integers
        0 where a value is missing, then 1, 2, ... for each distinct value, in their order if they
        have one.
    values : array of numbers or list of str
        The distinct values behind the codes.
    dates : float, default 0
        Share of the values that are dates; 0 for a column that does not hold dates.
    """

    codes: NDArray[np.intp]
    values: NDArray[Any] | list[str]
    dates: float = 0.0

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes is that of numbers or times."""
        return self.dates > 0 or not isinstance(self.values, list)

    def counts(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """How many of some rows have no value, and each of the values."""
        return np.bincount(self.codes[rows], minlength=1 + len(self.values))

    def id_chance(self, counts: NDArray[np.int64]) -> float:
        """Probability that values as distinct as these in some rows are no id; 1 if they repeat.

        Parameters
        ----------
        counts : array
            The `counts` of the rows.

        Notes
        -----
        Texts of few words and numbers too long for a measurement have 0. Floats are continuous
        measurements, all distinct without being an id: 1. Whole numbers drawn from a range of R at
        random, n of them, have about n^2 / 2R pairs that are equal, and more if some are likelier
        than others; the probability is that of as few equal ones as there are. The range is that of
        the middle 98 %, so that a code such as -1 for "none" does not hide running numbers.
        """
        there = np.flatnonzero(counts[1:])
        present = int(counts[1:].sum())
        enough = present >= max(FEWEST_VALUES, counts[0])
        if not enough or len(there) < NEARLY_ALL * present:
            return 1.0
        if isinstance(self.values, list):
            return float(_is_prose([self.values[code] for code in there[:_SOME_VALUES]]))
        return _chance_of_distinct(self.values[there], present)


def array_cells(values: NDArray[Any]) -> Cells:
    """Cells of a column of numbers, missing where they are NaN.

    Examples
    --------
    >>> cells = array_cells(np.array([0.5, np.nan, 0.5, 0.1]))
    >>> print(cells.codes.tolist(), cells.values.tolist())
    [2, 0, 2, 1] [0.1, 0.5]
    """
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    return _number_cells(values[~missing], missing, dates=False)


def column_cells(column: Column) -> Cells:
    """Cells of a narwhals column; one of anything but plain values is an error.

    Examples
    --------
    >>> import polars as pl
    >>> import narwhals.stable.v2 as nw
    >>> column = nw.from_native(pl.Series(["2024-01-02", None, "2024-01-01"]), series_only=True)
    >>> print(column_cells(column).codes.tolist(), column_cells(column).dates)
    [2, 0, 1] 1.0
    """
    import narwhals.stable.v2 as nw

    if column.dtype.is_float():
        return array_cells(column_floats(column))
    kind = column_kind(column)
    if kind == "text":
        return _text_cells(python_values(column))
    if kind == "number" and column.dtype.is_integer():
        missing = column.is_null().to_numpy().astype(bool)
        return _number_cells(np.asarray(column.drop_nulls().to_numpy()), missing, dates=False)
    dates = column.dtype in (nw.Date, nw.Datetime)
    if kind == "number" and column.dtype in (nw.Object, nw.Unknown):
        dates = all(value is None or isinstance(value, date) for value in python_values(column))
    floats = column_floats(column) if kind == "number" else np.full(len(column), np.nan)
    missing = np.isnan(floats)
    return _number_cells(floats[~missing], missing, dates=dates)


def _number_cells(present: NDArray[Any], missing: NDArray[np.bool_], *, dates: bool) -> Cells:
    values, inverse = np.unique(present, return_inverse=True)
    codes = np.zeros(len(missing), dtype=np.intp)
    codes[~missing] = 1 + inverse
    return Cells(codes, values, float(dates))


def _chance_of_distinct(values: NDArray[Any], present: int) -> float:
    """See `Cells.id_chance`; the distinct values of so many rows, in their order."""
    from scipy.special import pdtr

    integers = values.dtype.kind in "iu"
    if not integers and not (values.dtype.kind == "f" and _all_whole(values)):
        return 1.0
    if integers and abs(int(values[len(values) // 2])) >= _TOO_LONG:
        return 0.0
    cut = len(values) // 100
    middle = values[cut : len(values) - cut]
    pairs = len(middle) * (len(middle) - 1) / 2
    return float(pdtr(present - len(values), pairs / (int(middle[-1]) - int(middle[0]) + 1)))


def _all_whole(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def _text_cells(given: list[Any]) -> Cells:
    known: dict[str, int] = {}
    codes = np.array(
        [0 if value is None else known.setdefault(str(value), 1 + len(known)) for value in given],
        dtype=np.intp,
    )
    values = list(known)
    dates = _share_of_dates(values, np.bincount(codes, minlength=1 + len(values))[1:])
    if not dates:
        return Cells(codes, values)
    in_order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.zeros(1 + len(values), dtype=np.intp)
    rank[1 + np.array(in_order)] = np.arange(1, 1 + len(values))
    return Cells(rank[codes], [values[place] for place in in_order], dates)


def _share_of_dates(values: list[str], counts: NDArray[np.int64]) -> float:
    """The share of rows whose value is a date; 0 where it is too small."""
    if not any(_DATE.fullmatch(value) for value in values[:_SOME_VALUES]):
        return 0.0
    are = np.array([_DATE.fullmatch(value) is not None for value in values])
    share = float(counts[are].sum() / counts.sum())
    return share if share >= MOSTLY else 0.0


def _is_prose(values: list[str]) -> bool:
    words = np.median([len(value.split()) for value in values])
    return bool(words >= _WORDS or np.median([len(value) for value in values]) > _LENGTH)
