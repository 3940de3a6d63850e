"""Some rows of a frame, in any order, without a copy of the frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.frames import as_frame, gather

if TYPE_CHECKING:
    from rdiv.samples.frames import Column, Frame

__all__ = ["FrameRows", "as_table"]


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Some rows of a native frame; columns are gathered one at a time, when they are asked for.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame
    order : (n,) integers, optional
        Which rows, in which order; all of them without it.

    Examples
    --------
    >>> import polars as pl
    >>> rows = FrameRows(pl.DataFrame({"a": [1, 2, 3]}), np.array([2, 0]))
    >>> print(len(rows), rows[np.array([1])].gathered()["a"].to_list())
    2 [1]
    """

    frame: Any
    order: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.frame) if self.order is None else len(self.order)

    def __getitem__(self, rows: NDArray[np.intp]) -> FrameRows:
        return FrameRows(self.frame, rows if self.order is None else self.order[rows])

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = as_frame(self.frame).columns
        return names

    def get_column(self, name: str) -> Column:
        """One column of these rows, wrapped in narwhals."""
        column = as_frame(self.frame).get_column(name)
        return column if self.order is None else column[self.order]

    def gathered(self) -> Any:
        """These rows as a native frame of their own."""
        return self.frame if self.order is None else gather(self.frame, self.order)


if TYPE_CHECKING:
    Table: TypeAlias = FrameRows | Frame


def as_table(obj: Any) -> Table:
    """Something with ``len``, ``columns`` and ``get_column``: `FrameRows`, or a wrapped frame."""
    return obj if isinstance(obj, FrameRows) else as_frame(obj)
