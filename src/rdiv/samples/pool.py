"""The pool: rows of both samples without their origin, in an order that does not depend on it.

Everything that fits a model gets a `Pool`; who came from p is a mask that travels apart. Rows are
sorted by a hash of their content and then shuffled by a stream seeded with that content, so every
number computed per row is a function of the *set* of rows and the seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.samples.frames import as_frame, frame_words, is_frame
from rdiv.samples.row_keys import Keys, array_keys, label_words, row_keys
from rdiv.samples.rows import DatasetRows, FrameRows, rows_at_once
from rdiv.samples.sample import Task

if TYPE_CHECKING:
    from rdiv.samples.preparation import Preparation

__all__ = ["Pool", "content_keys", "require_finite"]


MOST_KEPT = 1 << 24
"""Numbers of a table (128 MB) that are kept; those of a larger one are computed on every use."""

_BLOCK_ROWS = 1 << 16


@dataclass(eq=False)
class _Table:
    """All rows of a table, how they become numbers, and these unless they are too many."""

    whole: FrameRows

    @cached_property
    def preparation(self) -> Preparation:
        from rdiv.samples.preparation import fit_preparation

        return fit_preparation(self.whole)

    @property
    def kept(self) -> bool:
        return len(self.whole) * len(self.preparation.names) <= MOST_KEPT

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        matrix = self.preparation.apply(self.whole)
        matrix.flags.writeable = False
        return matrix

    def part(self, rows: NDArray[np.intp] | None) -> FrameRows:
        return self.whole if rows is None else self.whole[rows]

    def numbers(self, rows: NDArray[np.intp] | None) -> NDArray[np.float64]:
        if not self.kept:
            return self.preparation.apply(self.part(rows))
        return self._matrix if rows is None else self._matrix[rows]


class _Rows:
    """The rows of a pool as an attribute; those of a table are gathered when it is read."""

    def __get__(self, pool: Pool | None, owner: type | None = None) -> Any:
        if pool is None:
            raise AttributeError("x")  # so that a pool has no rows by default
        held = pool.__dict__["x"]
        if held is None:
            assert pool.table is not None
            held = pool.__dict__["x"] = pool.table.part(pool.rows).gathered()
        return held

    def __set__(self, pool: Pool, rows: Any) -> None:
        pool.__dict__["x"] = rows


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows without origin.

    Parameters
    ----------
    x : array or frame
        The rows as given: ``(n, ...)`` or a pandas, polars or pyarrow frame (`FrameRows`
        become one on first use). Rows of torch datasets are `DatasetRows`, which are
        read when their numbers are needed.
    y : (n,) array, optional
        The target: class codes for classification, floats for regression.
    task : {"density", "classification", "regression"}
    columns : tuple of str, optional
        Names of the columns of a frame.
    groups, strata : (n,) integer arrays, optional
        Code of the group (rows that belong together) or stratum of each row.
    classes : array, optional
        The label behind each code of ``y``.

    Examples
    --------
    >>> pool = Pool(np.arange(6.0).reshape(3, 2))
    >>> print(len(pool), pool.take(np.array([2, 0])).numbers().tolist())
    3 [[4.0, 5.0], [0.0, 1.0]]
    """

    x: Any = _Rows()
    y: NDArray[Any] | None = None
    task: Task = "density"
    columns: tuple[str, ...] | None = None
    groups: NDArray[np.intp] | None = None
    strata: NDArray[np.intp] | None = None
    classes: NDArray[Any] | None = None
    known_keys: Keys | None = field(default=None, repr=False)
    table: _Table | None = field(default=None, repr=False)
    rows: NDArray[np.intp] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        held = self.__dict__["x"]
        if isinstance(held, FrameRows):
            self.__dict__.update(x=None, table=_Table(held))
        elif self.table is None and not isinstance(held, np.ndarray | DatasetRows):
            self.__dict__.update(table=_Table(FrameRows(held)) if is_frame(held) else None)

    def __len__(self) -> int:
        if self.table is None:
            return len(self.x)
        return len(self.table.whole if self.rows is None else self.rows)

    def take(self, rows: NDArray[np.intp]) -> Pool:
        """The pool of some rows, in the order given, with the preparation of the whole pool."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows

        def pick(values: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if values is None else values[rows]

        return Pool(
            x=self.x[rows] if self.table is None else None,
            y=pick(self.y),
            task=self.task,
            columns=self.columns,
            groups=pick(self.groups),
            strata=pick(self.strata),
            classes=self.classes,
            known_keys=pick(self.known_keys),
            table=self.table,
            rows=rows if self.rows is None else self.rows[rows],
        )

    def numbers(self) -> NDArray[np.floating]:
        """The inputs as floats: arrays in float64, images in float32, frames by their preparation.

        The preparation (impute, indicate, encode, scale) is fitted on the whole pool that came
        through the door, never on one sample.
        """
        if self.table is not None:
            return self.table.numbers(self.rows)
        x: NDArray[Any] = self.given()
        return x.astype(np.float64 if x.ndim == 2 else np.float32, copy=False)

    def given(self) -> Any:
        """The rows as the user gave them; those of a dataset as an array."""
        return np.asarray(self.x) if self.unread else self.x

    def columnwise(self) -> FrameRows:
        """The rows of a table, a column at a time."""
        if self.table is None:
            raise InputTypeError("these rows are an array, not a table.")
        return self.table.part(self.rows)

    @property
    def unread(self) -> bool:
        """Whether the rows are still in a dataset, so that asking for all of them is costly."""
        return isinstance(self.__dict__["x"], DatasetRows)

    def blocks(self) -> Iterator[Pool]:
        """Parts to go through in turn: the pool itself, or rows of a dataset or a large table.

        Examples
        --------
        >>> pool = Pool(np.zeros((3, 2)))
        >>> print([len(block) for block in pool.blocks()])
        [3]
        """
        large = self.table is not None and not self.table.kept
        if not self.unread and not large:
            yield self
            return
        step = _BLOCK_ROWS if large else rows_at_once(self.x.row_shape)
        for start in range(0, len(self), step):
            block = self.take(np.arange(start, min(start + step, len(self))))
            yield block if large else replace(block, x=np.asarray(block.x))

    def matrix(self) -> NDArray[np.float64]:
        """`numbers` as one float64 row vector per row, ``(n, d)``."""
        numbers = self.numbers()
        return numbers.reshape(len(numbers), -1).astype(np.float64, copy=False)

    def owners(self) -> tuple[str, ...]:
        """The input column that each column of `matrix` was made from, ``(d,)``.

        Columns of an array are called ``"column 0"`` and so on.
        """
        if self.table is not None:
            return self.table.preparation.owners
        width = int(np.prod(self.x.shape[1:]))
        return tuple(f"column {j}" for j in range(width))

    @cached_property
    def keys(self) -> Keys:
        """Hash of every row's content, ``(n, 2)``."""
        if self.known_keys is not None:
            return self.known_keys
        x = as_frame(self.x) if self.table is not None else self.x
        return content_keys(x, (self.y, self.groups, self.strata))

    @cached_property
    def first_copy(self) -> NDArray[np.intp]:
        """For every row the position of the first row with the same content, ``(n,)``."""
        order = np.lexsort((self.keys[:, 1], self.keys[:, 0]))  # stable: the first copy leads
        ordered = self.keys[order]
        leads = np.ones(len(order), dtype=bool)
        leads[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        first_copy = np.empty(len(order), dtype=np.intp)
        first_copy[order] = order[leads][np.cumsum(leads) - 1]
        return first_copy


def content_keys(x: Any, labels: Iterable[NDArray[Any] | None]) -> Keys:
    """Hash of every row, ``(n, 2)``: its inputs and whatever labels there are.

    Parameters
    ----------
    x : array, DatasetRows or frame in narwhals
    labels : arrays or None
        Target, group, stratum, in this order.
    """
    words = [label_words(values) for values in labels if values is not None]
    if isinstance(x, DatasetRows):
        keys = x.keys
    elif isinstance(x, np.ndarray):
        keys = array_keys(x)
    else:
        return row_keys(chain(frame_words(x), words))
    return keys + row_keys(words, start=prod(x.shape[1:])) if words else keys


def require_finite(x: NDArray[np.floating], *, who: str) -> None:
    """Refuse NaN and infinite inputs for a model that cannot take them.

    Examples
    --------
    >>> require_finite(np.array([[1.0, np.nan]]), who="kde")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: kde needs finite inputs, got 1 NaN or infinite value in column 1; ...
    """
    finite = np.isfinite(x)
    if finite.all():
        return
    bad = np.flatnonzero(~finite.reshape(len(x), -1).all(axis=0))
    count = int((~finite).sum())
    shown = ", ".join(str(column) for column in bad[:8]) + (", ..." if len(bad) > 8 else "")
    raise InputError(
        f"{who} needs finite inputs, got {count} NaN or infinite "
        f"value{'s' if count > 1 else ''} in column{'s' if len(bad) > 1 else ''} {shown}; "
        "drop or fill them, pass a data frame (missing cells are then imputed), "
        "or use a model that takes missing values, such as boosting."
    )
