"""The rows of a pool: an array, a table or a dataset, behind one protocol.

What differs between the three is here and nowhere else: how rows are picked, when they are read,
how they become numbers, and what their columns are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import rows_at_once
from rdiv.samples.by_kind import ColumnsByKind, array_by_kind
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.frames import as_frame, frame_words, is_frame
from rdiv.samples.preparation import Preparation, fit_preparation
from rdiv.samples.row_keys import Keys, array_keys, row_keys

__all__ = ["ArrayRows", "Rows", "TableRows", "Teacher", "UnreadRows", "as_rows"]

MOST_KEPT = 1 << 24
"""Numbers of a table (128 MB) that are kept; those of a larger one are made anew when asked for."""

MOST_SETTLED = 1 << 26
"""Numbers of a table (512 MB) that are kept while models are fitted to parts of it."""

_LARGE_TABLE_STEP = 1 << 16


class Rows(Protocol):
    """What a pool asks of its rows."""

    def __len__(self) -> int: ...

    @property
    def x(self) -> Any:
        """The rows as the user gave them; those of a dataset unread."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array: how many rows, then the shape of one; a row of a table has columns."""

    @property
    def step(self) -> int | None:
        """How many rows to go through at a time; None where all are in memory anyway."""

    @property
    def keys(self) -> Keys:
        """Hash of every row, ``(n, 2)``, without its labels."""

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some rows, in the order given; what was learned from all of them stays."""

    def anew(self, rows: NDArray[np.intp]) -> Rows:
        """Some rows, in the order given, from which everything is learned anew."""

    def like(self, other: Rows) -> Rows:
        """The same rows, turned into numbers by what was learned from other ones."""

    def read(self) -> Rows:
        """The same rows in memory."""

    def settled(self) -> Rows:
        """The same rows, whose numbers are made once for all parts that are taken of them."""

    def numbers(self) -> NDArray[np.floating]:
        """The rows as floats."""

    def owners(self) -> tuple[str, ...]:
        """The input column that each column of the numbers, laid out flat, was made from."""

    def by_kind(self) -> ColumnsByKind:
        """The rows as numbers, missing ones among them, and categories."""


def as_rows(given: Any) -> Rows:
    """Rows of whatever was given: an array, a frame, or rows of a dataset.

    Examples
    --------
    >>> print(as_rows([[1, 2], [3, 4]]).numbers().tolist())
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(given, ArrayRows | TableRows | UnreadRows) or hasattr(given, "anew"):
        rows: Rows = given
        return rows
    if isinstance(given, DatasetRows):
        return UnreadRows(given)
    if isinstance(given, FrameRows):
        return TableRows(_Table(given))
    if not isinstance(given, np.ndarray) and is_frame(given):
        return TableRows(_Table(FrameRows(as_frame(given).to_native())))
    return ArrayRows(np.asarray(given))


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array, ``(n, ...)``; their numbers are float64, and float32 for images."""

    x: NDArray[Any]

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def step(self) -> None:
        return None

    @cached_property
    def keys(self) -> Keys:
        return array_keys(self.x)

    def take(self, rows: NDArray[np.intp]) -> ArrayRows:
        return ArrayRows(self.x[rows])

    anew = take

    def like(self, other: Rows) -> ArrayRows:
        del other  # nothing is learned from arrays
        return self

    def read(self) -> ArrayRows:
        return self

    def settled(self) -> ArrayRows:
        return self

    def numbers(self) -> NDArray[np.floating]:
        return self.x.astype(np.float64 if self.x.ndim == 2 else np.float32, copy=False)

    def owners(self) -> tuple[str, ...]:
        return _column_names(self.shape)

    def by_kind(self) -> ColumnsByKind:
        return array_by_kind(self.numbers().reshape(len(self), -1), self.owners())


@dataclass(frozen=True, eq=False)
class UnreadRows:
    """Rows that stay in torch datasets and are read a block at a time."""

    x: DatasetRows

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def step(self) -> int:
        return rows_at_once(self.x.row_shape)

    @property
    def keys(self) -> Keys:
        return self.x.keys

    def take(self, rows: NDArray[np.intp]) -> UnreadRows:
        return UnreadRows(self.x[rows])

    anew = take

    def like(self, other: Rows) -> UnreadRows:
        del other  # nothing is learned from arrays
        return self

    def read(self) -> ArrayRows:
        return ArrayRows(np.asarray(self.x))

    def settled(self) -> UnreadRows:
        return self

    def numbers(self) -> NDArray[np.floating]:
        return self.read().numbers()

    def owners(self) -> tuple[str, ...]:
        return _column_names(self.shape)

    def by_kind(self) -> ColumnsByKind:
        return self.read().by_kind()


def _column_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"column {j}" for j in range(prod(shape[1:])))


class Teacher(Protocol):
    """Rows that decide how rows of a table become numbers."""

    @property
    def preparation(self) -> Preparation: ...


@dataclass(frozen=True, eq=False)
class _Table:
    """All rows of a table, how they become numbers, and these unless they are too many.

    Parameters
    ----------
    whole : FrameRows
    teacher : Teacher, optional
        The rows that decide how these become numbers; by default they do it themselves.
    keep : bool
        Keep their numbers however many they are.
    """

    whole: FrameRows
    teacher: Teacher | None = None
    keep: bool = False

    @cached_property
    def preparation(self) -> Preparation:
        return fit_preparation(self.whole) if self.teacher is None else self.teacher.preparation

    @property
    def kept(self) -> bool:
        return self.keep or len(self.whole) * len(self.preparation.names) <= MOST_KEPT

    @cached_property
    def by_kind(self) -> ColumnsByKind:
        found = self.preparation.reading.apply(self.whole)
        found.numbers.flags.writeable = found.codes.flags.writeable = False
        return found

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        # What was read by kind is kept where somebody asked for it, not for this alone.
        kinds = self.__dict__.get("by_kind") or self.preparation.reading.apply(self.whole)
        matrix = self.preparation.encode(kinds)
        matrix.flags.writeable = False
        return matrix


@dataclass(frozen=True, eq=False)
class TableRows:
    """Some rows of a table; a frame of their own is gathered when somebody asks for it.

    Parameters
    ----------
    table : _Table
        The table that came through the door, whose preparation all its parts share.
    picked : (n,) integers, optional
        Which of its rows, in which order; all of them without it.
    """

    table: _Table
    picked: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.table.whole if self.picked is None else self.picked)

    @cached_property
    def x(self) -> Any:
        return self.columnwise().gathered()

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self), len(self.table.whole.columns)

    @property
    def step(self) -> int | None:
        return None if self.table.kept else _LARGE_TABLE_STEP

    @cached_property
    def keys(self) -> Keys:
        no_words = np.empty((len(self), 0), dtype=np.uint64)  # for a table without columns
        return row_keys(chain([no_words], frame_words(self.columnwise())))

    def take(self, rows: NDArray[np.intp]) -> TableRows:
        return TableRows(self.table, rows if self.picked is None else self.picked[rows])

    def anew(self, rows: NDArray[np.intp]) -> TableRows:
        return TableRows(_Table(self.columnwise()[rows]))

    def like(self, other: Any) -> TableRows:
        teacher = other.teaches()
        if teacher is self.table:
            return self
        return TableRows(_Table(self.columnwise(), teacher))

    def teaches(self) -> Teacher:
        """What decides how these rows become numbers."""
        return self.table

    @staticmethod
    def taught(rows: FrameRows, teacher: Teacher | None) -> TableRows:
        """Rows in memory that others decide for, or that decide for themselves."""
        return TableRows(_Table(rows, teacher))

    def read(self) -> TableRows:
        return self

    def settled(self) -> TableRows:
        numbers = len(self) * len(self.table.preparation.names)
        if self.table.kept or numbers > MOST_SETTLED:
            return self
        return TableRows(_Table(self.columnwise(), self.table, keep=True))

    def numbers(self) -> NDArray[np.float64]:
        if not self.table.kept:
            return self.table.preparation.apply(self.columnwise())
        return self.table.matrix if self.picked is None else self.table.matrix[self.picked]

    def owners(self) -> tuple[str, ...]:
        return self.table.preparation.owners

    def by_kind(self) -> ColumnsByKind:
        if not self.table.kept:
            return self.table.preparation.reading.apply(self.columnwise())
        return self.table.by_kind if self.picked is None else self.table.by_kind.take(self.picked)

    def columnwise(self) -> FrameRows:
        """These rows, a column at a time."""
        return self.table.whole if self.picked is None else self.table.whole[self.picked]

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where some of these rows lie in the frame."""
        picked = rows if self.picked is None else self.picked[rows]
        order = None if self.table.kept else self.table.whole.order
        return picked if order is None else order[picked]
