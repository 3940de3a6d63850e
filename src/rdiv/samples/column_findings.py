"""Columns that a model could learn the file from: those that tell the files apart, ids, dates.

This look is outside every test. It reads the columns of the pool one at a time, at most
``MOST_ROWS`` rows of it, taken from its shuffled order without a look at the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import floor
from shlex import quote
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.names import visible
from rdiv.samples.cells import Cells, array_cells, column_cells
from rdiv.samples.frames import quoted
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples
from rdiv.samples.separation import separation

__all__ = ["MOST_ROWS", "ColumnFinding", "column_warnings", "look_at_columns"]

MOST_ROWS = 200_000
"""Rows of the pool that are looked at; fewer where a table has very many columns."""

NEARLY_PERFECT = 0.95
"""The distance from which on a column counts as telling the files apart."""

FALSE_ALARMS = 0.01
"""Bound on the probability that any column of two samples alike is said to tell them apart."""

ID_CHANCE = 1e-6
"""Whole numbers are an id if chance makes them that distinct with a smaller probability."""

_MOST_CELLS, _FEWEST_ROWS = 4_000_000, 2_000
_SPELLED_OUT = 8

Kind = Literal["separates", "date", "id"]
_KINDS: tuple[Kind, ...] = ("separates", "date", "id")  # the most telling first


@dataclass(frozen=True)
class ColumnFinding:
    """A column from which a model could learn which file a row is from.

    Parameters
    ----------
    column : str
    kind : {"separates", "date", "id"}
        What it is: a column that alone tells the files apart, dates, or an id.
    share : float
        How well it tells the files apart, from 0 to 1 (``"separates"``); the share of its values
        that are dates (``"date"``) or that are distinct (``"id"``).
    detail : str
        What was seen: the words that follow the name of the column.
    in_table : bool, default True
        Whether the column has a name by which it can be left out.

    Examples
    --------
    >>> found = ColumnFinding("row id", "id", 1.0, " looks like an id: 9 of 9 values are distinct")
    >>> print(found.sentence())
    Column 'row id' looks like an id: 9 of 9 values are distinct. A model that sees it may learn ...
    """

    column: str
    kind: Kind
    share: float
    detail: str
    in_table: bool = True

    def sentence(self) -> str:
        """What was found, why it matters and what to do."""
        column = visible(self.column)
        name = f"Column '{column}'" if self.in_table else column.capitalize()
        verb = "can" if self.kind == "separates" else "may"
        return (
            f"{name}{self.detail}. A model that sees it {verb} learn the change from it; "
            f"{self._advice()}."
        )

    def _advice(self) -> str:
        if not self.in_table:
            return "leave it out of both arrays"
        column = visible(self.column)
        option = f"--drop={quote(column)}" if column.startswith("-") else f"--drop {quote(column)}"
        return f"leave it out with {option} (drop=[{self.column!r}] in Python)"


def look_at_columns(pooled: PooledSamples) -> tuple[ColumnFinding, ...]:
    """Find the columns of two samples that tell them apart, hold dates or look like ids.

    Parameters
    ----------
    pooled : PooledSamples
        Tables and arrays of rows are looked at; images and datasets that are still unread are not.

    Returns
    -------
    tuple of ColumnFinding
        In the order of the columns, at most one for each. A date or an id that tells the files
        apart is reported as that.

    Notes
    -----
    A column separates the files if a threshold, or the other rows with the same value, put nearly
    every row in its file (`rdiv.samples.separation`), and if a bound on the probability that this
    happens in any column by chance is below 1 %. With groups one row of each is looked at, as rows
    of a group are in one file anyway.

    A column looks like an id if 99 % of its values are distinct, in the whole pool or in each file
    (row numbers may start anew). Texts of several words are prose, and floats are measurements, not
    ids. Whole numbers must be more distinct than numbers drawn from their range at random are, but
    with probability one in a million, or too long for a measurement. So row numbers are ids, and
    salaries in whole euros are not.

    Examples
    --------
    >>> import polars as pl
    >>> from rdiv.samples import pool_samples
    >>> p = pl.DataFrame({"price": [1, 2, 3, 5] * 5, "version": ["v1"] * 20})
    >>> q = pl.DataFrame({"price": [2, 3, 5, 8] * 5, "version": ["v2"] * 20})
    >>> for found in look_at_columns(pool_samples(p, q, rng=0)):
    ...     print(found.sentence())
    Column 'version' alone tells the files apart: it has one value in reference and another in ...
    """
    pool, is_p = pooled.pool, pooled.is_p
    if pool.is_images or pool.unread:
        return ()
    width = pool.rows.shape[1]
    n = min(len(pool), MOST_ROWS, max(_FEWEST_ROWS, _MOST_CELLS // max(width, 1)))
    units = np.arange(n)
    if pool.groups is not None:
        units = np.sort(np.unique(pool.groups[:n], return_index=True)[1])
    looked = "" if n == len(pool) else f" (in {n} rows looked at)"
    found: dict[str, ColumnFinding] = {}  # at most one for each column of lists
    for name, cells in _columns(pool, n):
        finding = _finding(cells, is_p[:n], units, FALSE_ALARMS / width)
        if finding is not None and name not in found:
            kind, share, seen = finding
            found[name] = ColumnFinding(name, kind, share, seen + looked, pool.is_table)
    return tuple(found.values())


def column_warnings(findings: Sequence[ColumnFinding]) -> tuple[str, ...]:
    """One sentence for each finding, the most telling first; beyond a few they are only named.

    Examples
    --------
    >>> found = [ColumnFinding(f"c{i}", "date", 1.0, " holds dates") for i in range(10)]
    >>> print(len(column_warnings(found)))
    9
    >>> print(column_warnings(found)[-1])
    2 more columns hold dates: 'c8', 'c9'.
    """
    ranked = sorted(findings, key=lambda found: _KINDS.index(found.kind))
    said = [found.sentence() for found in ranked[:_SPELLED_OUT]]
    rest = ranked[_SPELLED_OUT:]
    for kind in _KINDS:
        names = [found.column for found in rest if found.kind == kind]
        if names:
            said.append(f"{_counted(kind, len(names))}: {quoted(names)}.")
    return tuple(said)


def _counted(kind: Kind, count: int) -> str:
    one, several = {
        "separates": ("alone tells the files apart", "alone tell the files apart"),
        "date": ("holds dates", "hold dates"),
        "id": ("looks like an id", "look like ids"),
    }[kind]
    return f"1 more column {one}" if count == 1 else f"{count} more columns {several}"


def _columns(pool: Pool, n: int) -> Iterator[tuple[str, Cells]]:
    """The first rows of each column."""
    if not pool.is_table:
        for j, name in enumerate(pool.owners()):
            yield name, array_cells(pool.x[:n, j])
        return
    table = pool.columnwise()[np.arange(n)]
    for name in table.columns:
        with suppress(InputError):  # dates that cannot be read and the like: others complain
            yield table.owner(name), column_cells(table.get_column(name))


def _finding(
    cells: Cells, is_p: NDArray[np.bool_], units: NDArray[np.intp], chance: float
) -> tuple[Kind, float, str] | None:
    """What a column is, the number that goes with it, and what was seen."""
    p, q = cells.counts(units[is_p[units]]), cells.counts(units[~is_p[units]])
    found = separation(
        p[1:], q[1:], (int(p[0]), int(q[0])), ordered=cells.ordered, least=NEARLY_PERFECT
    )
    if found is not None and found.chance < chance:
        how = _how(cells, is_p) if found.distance == 1 else None
        how = how or f"it puts {_percent(found.distance)} of the rows in their file"
        dates = ", a date," if cells.dates else ""
        return "separates", found.distance, f"{dates} alone tells the files apart: {how}"
    if cells.dates:
        return "date", cells.dates, " holds dates"
    return _id(cells, is_p)


def _id(cells: Cells, is_p: NDArray[np.bool_]) -> tuple[Kind, float, str] | None:
    """Values that are distinct in the whole pool, or in each of the files."""
    p, q = cells.counts(is_p), cells.counts(~is_p)
    if cells.id_chance(p + q) < ID_CHANCE:
        share, seen = _distinct(p + q)
        return "id", share, f" looks like an id: {seen} values are distinct"
    chances = cells.id_chance(p), cells.id_chance(q)
    if max(chances) < 1 and chances[0] * chances[1] < ID_CHANCE:
        (share_p, seen_p), (share_q, seen_q) = _distinct(p), _distinct(q)
        seen = f"{seen_p} values in reference and {seen_q} in current are distinct"
        return "id", min(share_p, share_q), f" looks like an id: {seen}"
    return None


def _distinct(counts: NDArray[np.int64]) -> tuple[float, str]:
    distinct, present = int((counts[1:] > 0).sum()), int(counts[1:].sum())
    return distinct / present, f"{distinct} of {present}"


def _how(cells: Cells, is_p: NDArray[np.bool_]) -> str | None:
    """How values differ between the files where they do so without exception."""
    p, q = cells.counts(is_p), cells.counts(~is_p)
    gone = [file for file, own in (("reference", p), ("current", q)) if own[0] == own.sum()]
    if len(gone) == 1 and min(p[0], q[0]) == 0:
        there = "current" if gone == ["reference"] else "reference"
        return f"it is missing in every row of {gone[0]} and in none of {there}"
    if (p * q).any():
        return None
    in_p, in_q = np.flatnonzero(p), np.flatnonzero(q)
    if len(in_p) == len(in_q) == 1:
        return "it has one value in reference and another in current"
    later, earlier = ("later", "earlier") if cells.dates else ("larger", "smaller")
    if cells.ordered and not p[0] and not q[0]:
        if in_p[-1] < in_q[0]:
            return f"every value in current is {later} than any in reference"
        if in_q[-1] < in_p[0]:
            return f"every value in current is {earlier} than any in reference"
    return "no value is in both files"


def _percent(distance: float) -> str:
    """Rows that a rule gets right, both files counting the same; never rounded up to all."""
    return f"{floor(1000 * (1 + distance) / 2) / 10:g} %"
