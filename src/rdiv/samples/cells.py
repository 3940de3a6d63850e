"""One column as codes of its values, and whether these are dates or an id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.frames import python_values
from rdiv.samples.preparation import column_floats, column_kind

if TYPE_CHECKING:
    from rdiv.samples.frames import Column

__all__ = ["Cells", "array_cells", "column_cells"]

MOSTLY = 0.95
"""A text column holds dates if this share of its values look like one."""

NEARLY_ALL = 0.99
"""An id has this share of distinct values."""

FEWEST_VALUES = 20  # below this many, distinct values mean nothing

_CHANCE = 1e-6  # that numbers drawn from a range are as distinct as those of an id
_TOO_LONG = 2.0**53  # sixteen digits, which no measurement has
_WORDS, _LENGTH = 3, 128  # texts with this many words, or longer than this, are prose
_SOME_LEVELS = 2_000  # enough to see what text is like

_DATE = re.compile(
    r"\s*\d{4}([-/.])(0?[1-9]|1[0-2])(\1(0?[1-9]|[12]\d|3[01]))?"
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
    levels : int
        Number of distinct values.
    ordered : bool
        Whether the order of the codes is that of numbers or times.
    dates : float, default 0
        Share of the values that are dates; 0 for a column that does not hold dates.
    is_id : bool, default False
        Whether the values look like an id.
    """

    codes: NDArray[np.intp]
    levels: int
    ordered: bool
    dates: float = 0.0
    is_id: bool = False

    @property
    def present(self) -> int:
        """Number of rows with a value."""
        return int((self.codes > 0).sum())

    def counts(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """How many of some rows have no value, and each of the values, ``(1 + levels,)``."""
        return np.bincount(self.codes[rows], minlength=1 + self.levels)


def array_cells(values: NDArray[Any]) -> Cells:
    """Cells of a column of numbers, missing where they are NaN.

    Examples
    --------
    >>> cells = array_cells(np.array([0.5, np.nan, 0.5, 0.1]))
    >>> print(cells.codes.tolist(), cells.levels, cells.is_id)
    [2, 0, 2, 1] 2 False
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
    levels, inverse = np.unique(present, return_inverse=True)
    codes = np.zeros(len(missing), dtype=np.intp)
    codes[~missing] = 1 + inverse
    is_id = not dates and _distinct(len(levels), missing) and _is_number_id(levels, len(present))
    return Cells(codes, len(levels), ordered=True, dates=float(dates), is_id=is_id)


def _distinct(levels: int, missing: NDArray[np.bool_]) -> bool:
    """Whether nearly all values are distinct, and there are enough of them to say so."""
    present = len(missing) - int(missing.sum())
    enough = present >= max(FEWEST_VALUES, len(missing) / 2)
    return enough and levels >= NEARLY_ALL * present


def _is_number_id(levels: NDArray[Any], present: int) -> bool:
    """Whether distinct whole numbers are too distinct, or too long, to be measurements.

    Numbers drawn from a range of R at random, n of them, have about n^2 / 2R pairs that are equal,
    and more if some numbers are likelier than others. The range is that of the middle 98 %, so that
    a code such as -1 for "none" does not hide running numbers.
    """
    from scipy.special import pdtr

    whole = levels.dtype.kind in "iu"
    if not whole and not (levels.dtype.kind == "f" and _all_whole(levels)):
        return False
    if whole and abs(int(levels[len(levels) // 2])) >= _TOO_LONG:
        return True
    cut = len(levels) // 100
    middle = levels[cut : len(levels) - cut]
    reach = float(int(middle[-1]) - int(middle[0]) + 1)
    pairs = len(middle) * (len(middle) - 1) / 2 / reach
    return bool(pdtr(present - len(levels), pairs) < _CHANCE)


def _all_whole(levels: NDArray[Any]) -> bool:
    return bool(np.isfinite(levels).all() and (levels == np.floor(levels)).all())


def _text_cells(values: list[Any]) -> Cells:
    known: dict[str, int] = {}
    codes = np.array(
        [0 if value is None else known.setdefault(str(value), 1 + len(known)) for value in values],
        dtype=np.intp,
    )
    levels = list(known)
    dates = _share_of_dates(levels, np.bincount(codes, minlength=1 + len(levels))[1:])
    if dates:
        rank = np.zeros(1 + len(levels), dtype=np.intp)
        rank[1 + np.argsort(np.array(levels))] = np.arange(1, 1 + len(levels))
        return Cells(rank[codes], len(levels), ordered=True, dates=dates)
    is_id = _distinct(len(levels), codes == 0) and not _is_prose(levels[:_SOME_LEVELS])
    return Cells(codes, len(levels), ordered=False, is_id=is_id)


def _share_of_dates(levels: list[str], counts: NDArray[np.int64]) -> float:
    """The share of values that are dates; 0 where it is too small."""
    some = [_DATE.fullmatch(level) is not None for level in levels[:_SOME_LEVELS]]
    if not any(some):
        return 0.0
    are = [*some, *(_DATE.fullmatch(level) is not None for level in levels[_SOME_LEVELS:])]
    share = float(counts[np.array(are)].sum() / counts.sum())
    return share if share >= MOSTLY else 0.0


def _is_prose(levels: list[str]) -> bool:
    words = np.median([len(level.split()) for level in levels])
    return bool(words >= _WORDS or np.median([len(level) for level in levels]) > _LENGTH)
