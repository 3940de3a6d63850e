"""The pool: rows of both samples without their origin, in an order that does not depend on it.

Everything that fits a model gets a `Pool`; who came from p is a mask that travels apart. Rows are
sorted by a hash of their content and then shuffled by a stream seeded with that content, so every
number computed per row is a function of the *set* of rows and the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.row_blocks import cut, gathered
from rdiv.samples.by_kind import ColumnsByKind
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.kinds import is_empty
from rdiv.samples.partitioned import FirstWords, Learned, PartitionedRows, numbered
from rdiv.samples.row_keys import (
    Keys,
    label_words,
    places_among,
    row_keys,
    sorted_digest,
    sorted_places,
)
from rdiv.samples.rows import Rows, TableRows, UnreadRows, as_rows
from rdiv.samples.sample import Task

__all__ = ["Pool", "content_keys", "require_finite", "whole_codes"]

_FEW = 1000


@dataclass(frozen=True, eq=False)
class _PickedKeys:
    """Keys of some rows of a pool, gathered when somebody asks for them: few parts need theirs."""

    whole: Keys | _PickedKeys
    places: NDArray[np.intp] | None

    @cached_property
    def keys(self) -> Keys:
        whole = self.whole.keys if isinstance(self.whole, _PickedKeys) else self.whole
        return whole if self.places is None else gathered(whole, self.places)

    def __reduce__(self) -> tuple[Any, ...]:
        return _PickedKeys, (self.keys, None)  # to another process go no other rows


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows without origin.

    Parameters
    ----------
    rows : array, frame or Rows
        An array ``(n, ...)``, a pandas, polars or pyarrow frame, or rows of torch datasets. The
        attribute holds them as `Rows`; ``x`` gives them back as they were given.
    y : (n,) array, optional
        The target: class codes for classification, floats for regression.
    task : {"density", "classification", "regression"}
    columns : tuple of str, optional
        Names of the columns of a frame.
    groups, strata : (n,) integer arrays, optional
        Code of the group (rows that belong together) or stratum of each row.
    classes : array, optional
        The label behind each code of ``y``.
    prediction : (n,) or (n, K) array, optional
        What a model that is in use predicted for each row; see `rdiv.samples.logged`.
    loss : (n,) array, optional
        The loss that a model in use had on each row.
    known_keys : (n, 2) array, optional
        The hash of every row, where it is known already.

    Examples
    --------
    >>> pool = Pool(np.arange(6.0).reshape(3, 2))
    >>> print(len(pool), pool.take(np.array([2, 0])).numbers().tolist())
    3 [[4.0, 5.0], [0.0, 1.0]]
    """

    rows: Rows | Any
    y: NDArray[Any] | None = None
    task: Task = "density"
    columns: tuple[str, ...] | None = None
    groups: NDArray[np.intp] | None = None
    strata: NDArray[np.intp] | None = None
    classes: NDArray[Any] | None = None
    prediction: NDArray[Any] | None = None
    loss: NDArray[np.float64] | None = None
    known_keys: Keys | _PickedKeys | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", as_rows(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def x(self) -> Any:
        """The rows as the user gave them: an array, a frame, or `DatasetRows` still to be read."""
        return self.rows.x

    @property
    def is_table(self) -> bool:
        """Whether the rows came in a frame, whose columns have names and kinds."""
        return isinstance(self.rows, TableRows | PartitionedRows)

    @property
    def in_partitions(self) -> bool:
        """Whether the rows stay in partitions of a table that need not fit into memory."""
        return isinstance(self.rows, PartitionedRows)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns of a table that hold bytes or the like, which only a user's own model reads."""
        if isinstance(self.rows, PartitionedRows):
            return self.rows.table.left_out
        return self.rows.columnwise().left_out if isinstance(self.rows, TableRows) else ()

    @property
    def is_images(self) -> bool:
        """Whether a row is more than a list of numbers, such as an image."""
        return len(self.rows.shape) > 2

    @property
    def unread(self) -> bool:
        """Whether the rows are still in a dataset, so that asking for all of them is costly."""
        return isinstance(self.rows, UnreadRows)

    def take(self, rows: NDArray[np.intp]) -> Pool:
        """The pool of some rows, in the order given, with the preparation of the whole pool."""
        rows = _places(rows)
        return self._picked(rows, self.rows.take(rows))

    def anew(self, rows: NDArray[np.intp]) -> Pool:
        """The pool of some rows, in the order given, with a preparation of their own.

        Examples
        --------
        >>> import polars as pl
        >>> pool = Pool(pl.DataFrame({"a": [0.0, 2.0, 9.0]}))
        >>> first = pool.anew(np.array([0, 1]))
        >>> print(first.numbers()[:, 0], pool.take(np.array([2])).like(first).numbers()[:, 0])
        [-1.  1.] [8.]
        """
        rows = _places(rows)
        return self._picked(rows, self.rows.anew(rows))

    def like(self, other: Pool) -> Pool:
        """The same rows with the preparation of another pool."""
        return replace(self, rows=self.rows.like(other.rows))

    def settled(self) -> Pool:
        """The same rows, whose numbers are made once for all parts that are taken of them."""
        return replace(self, rows=self.rows.settled())

    def _picked(self, places: NDArray[np.intp], rows: Rows) -> Pool:
        def pick(values: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if values is None else gathered(values, places)

        return replace(
            self,
            rows=rows,
            y=pick(self.y),
            groups=pick(self.groups),
            strata=pick(self.strata),
            prediction=pick(self.prediction),
            loss=pick(self.loss),
            known_keys=None if self.known_keys is None else _PickedKeys(self.known_keys, places),
        )

    def numbers(self) -> NDArray[np.floating]:
        """The inputs as floats: arrays in float64, images in float32, frames by their preparation.

        The preparation (impute, indicate, encode, scale) is fitted on the whole pool that came
        through the door, never on one sample.
        """
        return self.rows.numbers()

    def empty_columns(self) -> tuple[str, ...]:
        """The columns of a table that have no value in any row."""
        if not self.is_table:
            return ()
        if isinstance(self.rows, PartitionedRows):
            return self.rows.table.empty
        table = self.columnwise()
        few = table[np.arange(min(len(table), _FEW))]  # nearly every column has a value there
        names = [name for name in table.columns if is_empty(few.get_column(name))]
        empty = (name for name in names if is_empty(table.get_column(name)))
        return tuple(dict.fromkeys(table.owner(name) for name in empty))

    def by_kind(self) -> ColumnsByKind:
        """The inputs as numbers, missing ones among them, and codes of categories.

        Text, dates and levels are read as the whole pool that came through the door taught it.
        """
        return self.rows.by_kind()

    def given(self) -> Any:
        """The rows as the user gave them; those of a dataset as an array."""
        return self.rows.read().x

    def columnwise(self) -> FrameRows:
        """The rows of a table, a column at a time."""
        if not isinstance(self.rows, TableRows | PartitionedRows):
            raise InputTypeError("these rows are an array, not a table.")
        return self.rows.columnwise()

    def blocks(self) -> Iterator[Pool]:
        """Parts to go through in turn: the pool itself, or rows of a dataset or a large table.

        Examples
        --------
        >>> pool = Pool(np.zeros((3, 2)))
        >>> print([len(block) for block in pool.blocks()])
        [3]
        """
        if self.rows.step is None:
            yield self
            return
        for block in cut(len(self), self.rows.step):
            part = self.take(np.arange(block.start, block.stop))
            yield replace(part, rows=part.rows.read())

    def matrix(self) -> NDArray[np.float64]:
        """`numbers` as one float64 row vector per row, ``(n, d)``."""
        numbers = self.numbers()
        return numbers.reshape(len(numbers), -1).astype(np.float64, copy=False)

    def owners(self) -> tuple[str, ...]:
        """The input column that each column of `matrix` was made from, ``(d,)``.

        Columns of an array are called ``"column 0"`` and so on.
        """
        return self.rows.owners()

    @property
    def keys(self) -> Keys:
        """Hash of every row's content, ``(n, 2)``."""
        return self.keys_of(None)

    def keys_of(self, rows: NDArray[np.intp] | None) -> Keys:
        """Hash of some rows, or of all; those in partitions are copied, so ask for few."""
        if isinstance(self.rows, PartitionedRows):
            return self.rows.whole_keys(rows)
        known = self.known_keys
        if isinstance(known, _PickedKeys):
            known = known.keys
        elif known is None:
            known = self._content_keys
        return known if rows is None else known[rows]

    def digest_of(self, rows: NDArray[np.intp]) -> int:
        """One number for the content of some rows, in whatever order they come."""
        if isinstance(self.rows, PartitionedRows):
            return self.rows.digest_of(rows)
        return sorted_digest(self.keys_of(rows))

    @cached_property
    def _content_keys(self) -> Keys:
        return content_keys(
            self.rows, (self.y, self.groups, self.strata, self.prediction, self.loss)
        )

    def first_words(self) -> NDArray[np.uint64] | FirstWords:
        """First word of every key; of rows in partitions it is read a block at a time."""
        if isinstance(self.rows, PartitionedRows):
            return self.rows.first_words()
        return self.keys[:, 0]

    def copies_by_word(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Rows with the first word of an earlier row, and their numbers, where that is known."""
        return numbered(*self.rows.repeated()) if isinstance(self.rows, PartitionedRows) else None

    def at_hand(self) -> Pool:
        """The same pool with its rows in memory, where they are in partitions.

        Examples
        --------
        >>> pool = Pool(np.zeros((3, 2)))
        >>> print(pool.at_hand() is pool)
        True
        """
        if not isinstance(self.rows, PartitionedRows):
            return self
        return replace(self, rows=self.rows.read(), y=whole_codes(self.y), known_keys=self.keys)

    def over_blocks(
        self,
        call: Callable[[Any, Pool, Mapping[str, NDArray[Any]]], NDArray[Any]],
        shared: Any,
        **extra: NDArray[Any],
    ) -> NDArray[Any]:
        """Numbers of every row of a pool in partitions, from one pass over them.

        Parameters
        ----------
        call : callable
            A function of a module: from what is shared, a pool of some of the rows and whatever
            else is known of them, to their numbers, which must not depend on the other rows.
        shared : object
        **extra : (n, ...) arrays
            What else is known of the rows.
        """
        assert isinstance(self.rows, PartitionedRows)
        known = {name: getattr(self, name) for name in _LABELS}
        labels = {name: values for name, values in known.items() if values is not None}
        shell = _Shell(self.task, self.columns, self.classes, Learned(self.rows.preparation))
        return self.rows.over_blocks(_of_block, (call, shared, shell), {**labels, **extra})

    @cached_property
    def first_copy(self) -> NDArray[np.intp]:
        """For every row the position of the first row with the same content, ``(n,)``."""
        first_copy = np.arange(len(self))
        rows, first = self.repeats
        first_copy[rows] = first
        return first_copy

    @cached_property
    def repeats(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the rows whose content an earlier row has, and of the first such row.

        Examples
        --------
        >>> print(Pool(np.array([[5.0], [7.0], [5.0], [5.0]])).repeats)
        (array([2, 3]), array([0, 0]))
        """
        if isinstance(self.rows, PartitionedRows):
            rows, units = self.rows.repeated()
            return _repeats(self.keys_of(rows), rows) if len(rows) else (rows, units)
        return _repeats(self.keys, None)

    def shared_with(self, other: Pool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the rows that another pool holds too, and of the first such row there.

        Examples
        --------
        >>> pool, other = Pool(np.array([[5.0], [7.0], [5.0]])), Pool(np.array([[1.0], [5.0]]))
        >>> print(pool.shared_with(other))
        (array([0, 2]), array([1, 1]))
        """
        both = _of_one_table(self.rows, other.rows)
        if both is None:
            at = places_among(self.keys, other.keys)
            rows = np.flatnonzero(at >= 0)
            return rows, at[rows]
        own, known = (side.repeated()[0] for side in both)  # only they can be shared
        at = places_among(self.keys_of(own), other.keys_of(known))
        return own[at >= 0], known[at[at >= 0]]

    def same_rows(self, other: Pool) -> bool:
        """Whether another pool holds the same rows in the same order."""
        if self.rows is other.rows:
            return True
        both = _of_one_table(self.rows, other.rows)
        if both is not None:
            return np.array_equal(both[0].picked, both[1].picked)
        return len(self) == len(other) and np.array_equal(self.keys, other.keys)


_COMPARED = 1 << 20
_LABELS = ("y", "groups", "strata", "prediction", "loss")


class _Shell(NamedTuple):
    """What the blocks of a pool share."""

    task: Task
    columns: tuple[str, ...] | None
    classes: NDArray[Any] | None
    teacher: Learned


def _of_block(
    shared: tuple[Any, Any, _Shell], frame: FrameRows, labels: Mapping[str, NDArray[Any]]
) -> NDArray[Any]:
    call, own, shell = shared
    known = {name: values for name, values in labels.items() if name in _LABELS}
    if "y" in known:
        known["y"] = whole_codes(known["y"])
    rows = TableRows.taught(frame, shell.teacher)
    pool = Pool(rows, task=shell.task, columns=shell.columns, classes=shell.classes, **known)
    found: NDArray[Any] = call(own, pool, labels)
    return found


def _repeats(
    keys: Keys, rows: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions whose key came before, and the first such position; of these rows, or of all."""
    order = sorted_places(keys)  # stable: the first copy leads
    leads = np.ones(len(order), dtype=bool)
    for block in cut(len(order) - 1, _COMPARED):
        own = keys[order[block.start : block.stop + 1]]
        leads[block.start + 1 : block.stop + 1] = (own[1:] != own[:-1]).any(axis=1)
    later = np.flatnonzero(~leads)
    if not len(later):
        return later, later
    lead = np.maximum.accumulate(np.where(leads, np.arange(len(order)), 0))[later]
    found = order[later], order[lead]
    return found if rows is None else (rows[found[0]], rows[found[1]])


def _of_one_table(rows: Any, other: Any) -> tuple[PartitionedRows, PartitionedRows] | None:
    """Both, where they are rows of the same tables in partitions."""
    if not (isinstance(rows, PartitionedRows) and isinstance(other, PartitionedRows)):
        return None
    return (rows, other) if rows.table.source is other.table.source else None


def whole_codes(y: Any) -> Any:
    """Codes of classes in the type that indexes have; large pools hold them in narrow ones."""
    return y.astype(np.intp) if y is not None and y.dtype.kind == "i" else y


def content_keys(rows: Rows, labels: Iterable[NDArray[Any] | None]) -> Keys:
    """Hash of every row, ``(n, 2)``: its inputs and whatever labels there are.

    Parameters
    ----------
    rows : Rows
    labels : arrays or None
        Target, group, stratum, prediction, loss, in this order.
    """
    words = [label_words(values) for values in labels if values is not None]
    return rows.keys + row_keys(words, start=prod(rows.shape[1:])) if words else rows.keys


def _places(rows: NDArray[Any]) -> NDArray[np.intp]:
    """Places of rows, also where a mask was given."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == np.bool_ else rows


def require_finite(x: NDArray[np.floating], *, who: str) -> None:
    """Refuse NaN and infinite inputs for a model that cannot take them.

    Parameters
    ----------
    x : (n, ...) array
    who : str
        The model, as the message calls it.

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
