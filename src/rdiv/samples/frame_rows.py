"""Some rows of a frame, in any order, without a copy of the frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.flat_columns import flat_columns
from rdiv.samples.frames import as_frame, gather

if TYPE_CHECKING:
    from rdiv.samples.frames import Column, Frame

__all__ = ["FlatFrame", "FrameRows", "as_table"]

_SMALL, _MANY_COLUMNS = 1 << 20, 100
_SPARSE = 4  # rows of a stretch for each that is wanted, beyond which it is not cut out


@dataclass(frozen=True, eq=False)
class FlatFrame:
    """A frame whose columns hold one value per row, and what became of those that did not.

    Parameters
    ----------
    wrapped : Frame
        In narwhals: wrapping a frame takes long for thousands of columns.
    owners : dict
        From the name of a column made of lists or structs to the column it was made from.
    left_out : tuple of str
        Columns that could not be read.
    """

    wrapped: Frame
    owners: dict[str, str]
    left_out: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Some rows of a native frame; columns are gathered one at a time, when they are asked for.

    Columns of lists and structs are read as columns of plain values (see `flat_columns`).

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame
    order : (n,) integers, optional
        Which rows, in which order; all of them without it.
    known : FlatFrame, optional
        The columns of the frame as they are read, where that was done already.

    Examples
    --------
    >>> import polars as pl
    >>> rows = FrameRows(pl.DataFrame({"a": [1, 2, 3]}), np.array([2, 0]))
    >>> print(len(rows), rows[np.array([1])].gathered()["a"].to_list())
    2 [1]
    """

    frame: Any
    order: NDArray[np.intp] | None = None
    known: FlatFrame | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.frame) if self.order is None else len(self.order)

    def __getitem__(self, rows: NDArray[np.intp]) -> FrameRows:
        return FrameRows(self.frame, rows if self.order is None else self.order[rows], self.flat)

    @cached_property
    def flat(self) -> FlatFrame:
        """All rows of the frame, as its columns are read."""
        return FlatFrame(*flat_columns(as_frame(self.frame))) if self.known is None else self.known

    @property
    def columns(self) -> list[str]:
        """Names of the columns as they are read."""
        return self.flat.wrapped.columns

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that could not be read."""
        return self.flat.left_out

    def owner(self, name: str) -> str:
        """The column of the frame that a column was made from; most are that column."""
        return self.flat.owners.get(name, name)

    def get_column(self, name: str) -> Column:
        """One column of these rows, wrapped in narwhals."""
        if self._picked is not None:
            return self._picked.get_column(name)
        column = self.flat.wrapped.get_column(name)
        if self.order is None:
            return column
        stretch, inside = self._stretch
        column = column[stretch]
        return column if inside is None else column[inside]

    @cached_property
    def _stretch(self) -> tuple[slice, NDArray[np.intp] | None]:
        """A stretch of the frame that holds these rows, and their places in it; None: all of it.

        Rows that lie close together are gathered from few pieces of a frame, in no time if they
        are all of a stretch.
        """
        order = self.order
        assert order is not None
        low, high = (int(order.min()), int(order.max()) + 1) if len(order) else (0, 0)
        if high - low > _SPARSE * len(order):
            return slice(None), order
        inside = order - low
        whole = len(order) == high - low and bool((inside[1:] > inside[:-1]).all())
        return slice(low, high), None if whole else inside

    @cached_property
    def _picked(self) -> Frame | None:
        """All columns of these rows at once, where they are small: thousands of them take long."""
        whole = self.flat.wrapped
        small = len(self) * len(whole.columns) <= _SMALL and len(whole.columns) > _MANY_COLUMNS
        return whole[self.order] if small and self.order is not None else None

    def gathered(self) -> Any:
        """These rows as a native frame of their own, with the columns that it came with."""
        return self.frame if self.order is None else gather(self.frame, self.order)


def as_table(obj: Any) -> FrameRows:
    """A frame of any library as `FrameRows`."""
    return obj if isinstance(obj, FrameRows) else FrameRows(as_frame(obj).to_native())
