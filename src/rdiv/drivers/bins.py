"""Input columns cut into a few bins with readable names, for slices and columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.frames import python_values
from rdiv.samples.kinds import column_floats, column_kind
from rdiv.samples.pool import Pool
from rdiv.samples.preparation import MOST_LEVELS, RARE_SHARE

__all__ = ["InputColumn", "input_columns"]

Floats = NDArray[np.float64]

BINS = 10
_DAY = 86400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class InputColumn:
    """One column of the inputs in bins.

    Parameters
    ----------
    name : str
    codes : (n,) integers
        The bin of every row.
    n_bins : int
    conditions : tuple of (str, tuple of int)
        Readable conditions, and the bins in which each holds.
    n_pairable : int
        How many of the first conditions are also combined with one on another column.
    """

    name: str
    codes: NDArray[np.intp]
    n_bins: int
    conditions: tuple[tuple[str, tuple[int, ...]], ...]
    n_pairable: int

    @cached_property
    def holds(self) -> Floats:
        """Which condition holds in which bin, ``(conditions, bins)`` of 0 and 1."""
        table = np.zeros((len(self.conditions), self.n_bins))
        for row, (_, bins) in enumerate(self.conditions):
            table[row, list(bins)] = 1.0
        return table

    @cached_property
    def where(self) -> tuple[tuple[int, ...], ...]:
        """The bins of every condition, and all bins."""
        return *(bins for _, bins in self.conditions), tuple(range(self.n_bins))

    def at(self, rows: NDArray[np.intp]) -> InputColumn:
        """The same column of some rows."""
        part = replace(self, codes=self.codes[rows])
        known = {name: value for name, value in self.__dict__.items() if name in ("holds", "where")}
        part.__dict__.update(known)  # what does not depend on the rows is computed once
        return part


def input_columns(pool: Pool) -> list[InputColumn]:
    """The columns of a pool in bins: quantiles, values or levels of its rows.

    Conditions hold exactly as printed: thresholds are rounded before they are used.

    Examples
    --------
    >>> import polars as pl
    >>> pool = Pool(pl.DataFrame({"age": [20, 30, 40, 50] * 5, "town": ["A", "B"] * 10}))
    >>> age, town = input_columns(pool)
    >>> print([text for text, _ in age.conditions][:4], [text for text, _ in town.conditions])
    ['age >= 30', 'age >= 40', 'age >= 50', 'age < 30'] ['town = A', 'town = B']
    """
    if not pool.is_table:
        matrix = pool.matrix()
        names = pool.owners()
        return [_binned_numbers(name, matrix[:, j]) for j, name in enumerate(names)]
    table = pool.columnwise()
    return [_of_series(table.get_column(name), name) for name in table.columns]


def _of_series(column: Any, name: str) -> InputColumn:
    import narwhals.stable.v2 as nw

    kind = column_kind(column)
    if kind == "empty":
        return InputColumn(name, np.zeros(len(column), dtype=np.intp), 1, (), 0)
    if column.dtype == nw.Boolean:
        words = {True: "true", False: "false"}
        return _binned_levels(name, [words.get(v) for v in python_values(column)])
    if kind == "text":
        texts = [None if v is None else str(v) for v in python_values(column)]
        return _binned_levels(name, texts)
    return _binned_numbers(name, column_floats(column), column.dtype in (nw.Date, nw.Datetime))


def _binned_numbers(name: str, values: Floats, temporal: bool = False) -> InputColumn:
    values = values.astype(np.float64)
    known = np.isfinite(values)
    thresholds, texts, discrete = _thresholds(values[known], temporal)
    codes = np.searchsorted(thresholds, values, side="right").astype(np.intp)
    n_bins = len(thresholds) + 1
    conditions = [(f"{name} >= {t}", tuple(range(k + 1, n_bins))) for k, t in enumerate(texts)]
    conditions += [(f"{name} < {t}", tuple(range(k + 1))) for k, t in enumerate(texts)]
    if not known.all():
        codes[~known] = n_bins
        conditions.append((f"{name} is missing", (n_bins,)))
    n_pairable = len(conditions)
    for low in range(len(texts)):
        for high in range(low + 1, len(texts)):
            single = discrete and high == low + 1
            text = f"{name} = {texts[low]}" if single else f"{texts[low]} <= {name} < {texts[high]}"
            conditions.append((text, tuple(range(low + 1, high + 1))))
    return InputColumn(name, codes, n_bins + int(not known.all()), tuple(conditions), n_pairable)


def _thresholds(values: Floats, temporal: bool) -> tuple[Floats, list[str], bool]:
    """Rounded thresholds between bins, their texts, and whether each value has its own bin."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return np.zeros(0), [], False
    discrete = len(distinct) <= BINS
    if discrete:
        cuts = distinct[1:]
    else:
        levels = np.arange(1, BINS) / BINS
        cuts = np.unique(np.quantile(values, levels, method="inverted_cdf"))
        cuts = cuts[cuts > distinct[0]] if cuts[-1] > distinct[0] else distinct[1:2]
    if temporal:
        return *_times(cuts), False
    whole = discrete and bool((distinct == np.round(distinct)).all())
    room = 0.0 if whole else float(np.diff(np.concatenate([distinct[:1], cuts])).min())
    texts = {float(text): text for text in (_readable(float(cut), room) for cut in cuts)}
    kept = np.array(sorted(texts))
    return kept, [texts[float(cut)] for cut in kept], discrete and np.array_equal(kept, cuts)


def _readable(value: float, room: float) -> str:
    """The shortest decimal number that is at most a tenth of the room below the value."""
    number = Decimal(repr(value))
    for digits in range(1, 17):
        unit = Decimal((0, (1,), number.adjusted() - digits + 1))
        rounded = number.quantize(unit, ROUND_FLOOR)
        if 0 <= value - float(rounded) <= 0.1 * room and -6 < rounded.adjusted() < 15:
            whole = rounded == rounded.to_integral_value()
            return f"{int(rounded)}" if whole else f"{rounded.normalize():f}"
    return repr(value)


def _times(cuts: Floats) -> tuple[Floats, list[str]]:
    room = float(np.diff(cuts).min()) if len(cuts) > 1 else _DAY
    unit = _DAY if room >= _DAY else 1.0
    kept = np.unique(np.floor(cuts / unit) * unit)
    times = [_EPOCH + timedelta(seconds=float(cut)) for cut in kept]
    return kept, [f"{t:%Y-%m-%d}" if unit == _DAY else f"{t:%Y-%m-%d %H:%M:%S}" for t in times]


def _binned_levels(name: str, texts: list[str | None]) -> InputColumn:
    """One bin per frequent level, one for all other levels, one for missing values."""
    counts = Counter(text for text in texts if text is not None)
    fewest = max(2.0, RARE_SHARE * len(texts))
    levels = sorted((level for level, count in counts.items() if count >= fewest),
                    key=lambda level: (-counts[level], level))[:MOST_LEVELS]  # fmt: skip
    place = {level: code for code, level in enumerate(levels)}
    other, missing = len(levels), len(levels) + 1
    codes = [missing if text is None else place.get(text, other) for text in texts]
    conditions = [(f"{name} = {level}", (code,)) for level, code in place.items()]
    if None in texts:
        conditions.append((f"{name} is missing", (missing,)))
    rows = np.array(codes, dtype=np.intp)
    return InputColumn(name, rows, missing + 1, tuple(conditions), len(conditions))
