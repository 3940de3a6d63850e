"""The door for tables in partitions: one pass for keys and labels, and a pool of unread rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from time import monotonic
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.progress import reading_rows, telling, time_left
from rdiv.row_blocks import gathered
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.frames import as_frame, frame_words, is_frame, python_values, refuse_infinite
from rdiv.samples.grouping import Design, design_labels
from rdiv.samples.logged import Prediction
from rdiv.samples.memory import check_memory
from rdiv.samples.missing_labels import Labels, alike
from rdiv.samples.part_work import over_parts
from rdiv.samples.partitioned import PartitionedTable, Source, part_tasks
from rdiv.samples.partitions import Part, Partitions, as_partitions
from rdiv.samples.pool import content_keys
from rdiv.samples.row_keys import Keys, row_keys
from rdiv.samples.sample import target_values
from rdiv.samples.survey import (
    Survey,
    agreed_reading,
    converted_alike,
    rows_with,
    survey,
)

__all__ = [
    "Coded",
    "Roles",
    "Tables",
    "in_memory_if_small",
    "looking",
    "read_tables",
    "surveyed",
    "surveyed_alone",
    "tables_of",
    "whole_frames",
]

BYTES_PER_ROW = 72
"""Keys (twice 16), order, place, losses of two models and what is sorted on the way."""

MOST_DISTINCT = 10_000
"""Distinct numbers of a target that are remembered; more are no classes."""


def tables_of(p: Any, q: Any) -> tuple[Partitions, Partitions] | None:
    """Both samples as tables in partitions, where one of them is; None where neither is."""
    found = [as_partitions(sample, name) for sample, name in ((p, "p"), (q, "q"))]
    if found == [None, None]:
        return None
    pair = [
        _beside(sample, name) if table is None else table
        for table, sample, name in zip(found, (p, q), ("p", "q"), strict=True)
    ]
    return pair[0], pair[1]


def _beside(sample: Any, name: str) -> Partitions:
    """A sample in memory beside one in partitions."""
    if isinstance(sample, tuple) or not is_frame(sample):
        what = "a pair (X, y)" if isinstance(sample, tuple) else "an array"
        raise InputTypeError(
            f"beside a table in partitions the other sample must be a table too, got {what} for "
            f"{name}; pass a frame, and name its target with target=."
        )
    return Partitions(name, (Part(name, lambda: iter([as_frame(sample).to_native()])),))


def surveyed(
    tables: tuple[Partitions, Partitions], most: int, labels: tuple[str, ...] = ()
) -> tuple[Survey, Survey]:
    """A first pass over both tables, which keeps them where they have few rows together.

    It counts which rows lack a value in the columns of `labels`.
    """
    with looking(*tables) as at:
        p = survey(tables[0], most, partial(at, 0), labels)
        left = most - p.total if p.frames is not None else 0
        q = survey(tables[1], left, partial(at, 1), labels)
    if p.frames is None or q.frames is None:
        p.frames = q.frames = None
    return p, q


def surveyed_alone(table: Partitions, most: int) -> tuple[Survey, Survey]:
    """A first pass over one table, and beside it a table of the same columns without rows."""
    with looking(table) as at:
        found = survey(table, most, partial(at, 0))
    nothing = Survey(Partitions("nothing", ()), found.schema, [], found.facts, None)
    return found, nothing


@contextmanager
def looking(*tables: Partitions) -> Iterator[Callable[[int, int, int], None]]:
    """Progress of a first look at tables, whose rows are not counted yet but whose parts are.

    The function is told which table is read, how many rows came, and of which of its parts.

    Examples
    --------
    >>> with looking() as at:
    ...     at(0, 100, 0)
    """
    rows, start = 0, monotonic()
    counts = [len(table.parts) for table in tables]
    with telling() as say:

        def at(table: int, more: int, part: int) -> None:
            nonlocal rows
            rows += more
            done = sum(counts[:table]) + part
            left = time_left(done, sum(counts), monotonic() - start)
            say(f"looking at row {rows}, part {done + 1} of {sum(counts)}{left}")

        yield at


def in_memory_if_small(sample: Any, name: str, most: int) -> Any:
    """A table in partitions as a frame where it has few rows; else with its rows counted.

    Anything else comes back as it is.
    """
    table = as_partitions(sample, name)
    if table is None:
        return sample
    with looking(table) as at:
        found = survey(table, most, partial(at, 0))
    return replace(table, rows=found.total) if found.frames is None else found.whole()


def whole_frames(p: Survey, q: Survey) -> tuple[Any, Any]:
    """Both tables in memory, as frames of one library."""
    return converted_alike(p.whole(), q.whole())


class Roles(NamedTuple):
    """Columns that are no inputs, or not only inputs; the target of a density is not looked at."""

    target: str | None
    groups: str | None
    strata: str | None
    prediction: Mapping[Any, str]
    loss: str | None
    density: bool = False

    @staticmethod
    def of(
        target: str | None,
        groups: Design,
        strata: Design,
        prediction: Prediction,
        loss: str | None,
        *,
        density: bool,
    ) -> Roles:
        """The roles that were given; those of tables in partitions are names of columns."""
        for role, design in (("groups", groups), ("strata", strata)):
            if design is not None and not isinstance(design, str):
                raise InputTypeError(
                    f"{role}= must name a column when samples are read in partitions, got a pair "
                    "of arrays; add the labels to the tables."
                )
        several = dict(prediction) if isinstance(prediction, Mapping) else {None: prediction}
        columns = {} if prediction is None else several
        return Roles(target, groups, strata, columns, loss, density)  # type: ignore[arg-type]

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that current rows may lack values of."""
        return tuple(name for name in (self.target, self.loss) if name is not None)

    @property
    def taken(self) -> tuple[str, ...]:
        """Columns that are no inputs."""
        named = (self.target, *self.prediction.values(), self.loss, self.groups)
        return tuple(name for name in named if name is not None)


@dataclass(eq=False)
class Coded:
    """One value per row of a large table: numbers, or codes and the text behind them.

    Parameters
    ----------
    values : (n,) array
        Numbers, or codes.
    levels : (k,) array or None
        The text behind the codes.
    distinct : (d,) array or None
        Distinct numbers, sorted.
    many : bool
        Whether there are more of them.
    """

    values: NDArray[Any]
    levels: NDArray[Any] | None
    distinct: NDArray[Any] | None
    many: bool = False

    def like(self) -> NDArray[Any]:
        """A few values of the kind that a column of all of them has."""
        found = self.distinct if self.levels is None else self.levels
        assert found is not None
        return found

    def as_given(self) -> NDArray[Any]:
        """The numbers, or the text, of every row."""
        return self.values if self.levels is None else self.levels[self.values]

    def encoded(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Codes in the order of the sorted values, in a narrow type, and these values."""
        if self.levels is None and self.many:
            classes, codes = np.unique(self.values, return_inverse=True)
        elif self.levels is not None:
            classes, rank = np.unique(self.levels, return_inverse=True)
            codes = gathered(rank.astype(_narrow(len(classes))), self.values)
        else:
            classes = self.like()
            codes = np.empty(len(self.values), dtype=_narrow(len(classes)))
            for at in range(0, len(codes), 1 << 20):
                part = slice(at, at + (1 << 20))
                codes[part] = np.searchsorted(classes, self.values[part])
        return codes.astype(_narrow(len(classes)), copy=False), classes


def _narrow(count: int) -> Any:
    return np.int8 if count <= 127 else np.int32


@dataclass(eq=False)
class _Column:
    """Gathers one value per row, block by block."""

    blocks: list[NDArray[Any]] = field(default_factory=list)
    levels: dict[str, int] | None = None
    distinct: NDArray[Any] | None = None
    many: bool = False

    def add(self, values: NDArray[Any] | None) -> None:
        if values is None:
            return
        if values.dtype.kind in "biuf":
            self._remember(values)
            self.blocks.append(values)
            return
        self.levels = {} if self.levels is None else self.levels
        texts, codes = np.unique(values, return_inverse=True)
        known = [self.levels.setdefault(text, len(self.levels)) for text in texts.tolist()]
        self.blocks.append(np.array(known, dtype=_narrow(len(self.levels)))[codes])

    def _remember(self, values: NDArray[Any]) -> None:
        if self.many:
            return
        own = np.unique(values)
        found = own if self.distinct is None else np.union1d(self.distinct, own)
        self.many, self.distinct = len(found) > MOST_DISTINCT, found

    def joined(self, what: str) -> Coded | None:
        if not self.blocks:
            return None
        if self.levels is not None and self.distinct is not None:
            raise InputError(f"{what} holds numbers in some partitions and text in others.")
        levels = None if self.levels is None else np.array(list(self.levels))
        return Coded(_concatenated(self.blocks), levels, self.distinct, self.many)


def _concatenated(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    """Blocks as one array; each is let go once it is copied."""
    kind = np.result_type(*{block.dtype for block in blocks})
    whole = np.empty((sum(map(len, blocks)), *blocks[0].shape[1:]), dtype=kind)
    end = len(whole)
    while blocks:
        block = blocks.pop()
        whole[end - len(block) : end] = block
        end -= len(block)
    return whole


class _Block(NamedTuple):
    """What the pass for keys finds in a block; target and loss are those of the known rows."""

    keys: Keys
    own_keys: Keys
    target: NDArray[Any] | None
    groups: NDArray[Any] | None
    strata: NDArray[Any] | None
    predictions: tuple[NDArray[Any], ...]
    loss: NDArray[Any] | None
    known: NDArray[np.bool_] | None


@dataclass(eq=False)
class Tables:
    """Two tables in partitions after the pass for keys: labels in memory, rows where they were.

    Parameters
    ----------
    table : PartitionedTable
        Its keys are those of rows with their labels, or without them where current lacks some.
    keys : (n, 2) array, or that of the rows of p
        Hash of every row with its target and loss; 0 for rows of q that lack them. Of all rows,
        unless no row of q has labels.
    own_keys : (n, 2) array, or that of the rows of p
        Hash of every row without its target and loss. Of all rows, where some of q lack labels.
    counts : pair of int
        Rows of both sides.
    target, loss : Coded or None
        Of the rows that have labels alone.
    groups, strata : Coded or None
    predictions : mapping
        By class, or by None.
    known : (n_q,) mask or None
        Which rows of q have labels, where some lack them.
    """

    table: PartitionedTable
    keys: Keys
    own_keys: Keys
    counts: tuple[int, int]
    target: Coded | None
    groups: Coded | None
    strata: Coded | None
    predictions: Mapping[Any, Coded]
    loss: Coded | None
    known: NDArray[np.bool_] | None = None


class _Reading(NamedTuple):
    """How the blocks of both sides are read in the pass for keys."""

    source: Source
    roles: Roles
    labels: Labels
    whole_numbers: bool = False


def read_tables(p: Survey, q: Survey, roles: Roles, labels: Labels = "all") -> Tables:
    """The pass for keys and labels.

    Parameters
    ----------
    p, q : Survey
    roles : Roles
    labels : {"all", "some", "none"}
        Which rows of q have a target and a loss. Those of a side that has none are not read.
    """
    rows = (tuple(p.rows), tuple(q.rows))
    n = p.total + q.total
    check_memory(
        (BYTES_PER_ROW + (16 if labels == "some" else 0)) * n, f"keys and losses of {n} rows",
        "compare fewer rows, such as one month instead of a year",
    )  # fmt: skip
    agreed = agreed_reading(p, q, () if labels == "all" else roles.labels)
    source = Source((p.table, q.table), (p.schema, q.schema), agreed, roles.taken)
    sizes = {"all": (n, p.total), "none": (p.total, n), "some": (n, n)}[labels]
    keys, own = (np.empty((size, 2), dtype=np.uint64) for size in sizes)
    names = ("target", "groups", "strata", "loss", "known")
    columns = {name: _Column() for name in names}
    predictions = {label: _Column() for label in roles.prediction}
    reading = _Reading(source, roles, labels, _whole_numbers(p, roles.target))
    start = 0
    with reading_rows(n) as at:
        for block in over_parts(_read_part, reading, part_tasks(rows)):
            stop = start + len(block.own_keys)
            for kept, found in ((keys, block.keys), (own, block.own_keys)):
                kept[start : min(stop, len(kept))] = found[: max(len(kept) - start, 0)]
            for name, column in columns.items():
                column.add(getattr(block, name))
            for column, values in zip(predictions.values(), block.predictions, strict=True):
                column.add(values)
            at(stop - start)
            start = stop
    first = (p if p.total else q).table.first().to_native()
    head = FrameRows(source.inputs(source.reading(first)).to_native())
    nothing = np.empty(0, np.intp)
    inputs = tuple(head.columns)
    empty = tuple(name for name in inputs if p.facts[name].empty and q.facts[name].empty)
    table = PartitionedTable(
        source, rows, keys if labels == "all" else own, (nothing, nothing), inputs, head.left_out,
        empty,
    )  # fmt: skip
    joined = {name: column.joined(f"the {name} column") for name, column in columns.items()}
    known = joined.pop("known")
    logged = {}
    for label, column in predictions.items():
        given = column.joined("the prediction column")
        assert given is not None
        logged[label] = given
    return Tables(
        table, keys, own, (p.total, q.total), predictions=logged,
        known=None if known is None else known.values, **joined,
    )  # fmt: skip


def _whole_numbers(p: Survey, target: str | None) -> bool:
    """Whether the target of the reference holds whole numbers."""
    return target in p.facts and p.facts[target].dtype.is_integer()


def _read_part(reading: _Reading, task: Any) -> Iterator[_Block]:
    for _, block in reading.source.blocks(task):
        yield _read_block(reading, block, task.side)


def _read_block(reading: _Reading, block: Any, side: int) -> _Block:
    """Keys and labels of a block, as the door finds them for a whole table."""
    source, roles, labels, _ = reading
    named = [design_labels(block, name, role, len(block), 0) for role, name in
             (("groups", roles.groups), ("strata", roles.strata))]  # fmt: skip
    predictions = [_logged(block[name]) for name in roles.prediction.values()]
    inputs = source.inputs(block)
    no_words = np.empty((len(block), 0), dtype=np.uint64)  # for a table without inputs
    words: Iterator[NDArray[np.uint64]] = iter(())
    width = 0
    if inputs.columns:
        refuse_infinite(inputs)
        frame = FrameRows(inputs.to_native())
        words, width = frame_words(frame, source.reading.present), len(frame.columns)
    rows = SimpleNamespace(keys=row_keys(chain([no_words], words)), shape=(len(block), width))
    in_order = sorted(zip(roles.prediction, predictions, strict=True), key=lambda one: str(one[0]))
    design = (*named, *(values for _, values in in_order))
    own = content_keys(rows, design)
    if side == 0 or labels == "all":
        target, loss = _labels_of(block, roles)
        keys, known = content_keys(rows, (target, *design, loss)), None
    else:
        target, loss, keys = None, None, np.zeros((len(block), 2), dtype=np.uint64)
        known = rows_with(block, roles.labels)
        at = np.flatnonzero(known)
        if labels == "some" and len(at):
            target, loss = _labels_of(block[at], roles)
            if target is not None and reading.whole_numbers:
                target = alike(target, np.dtype(np.int64))
            part = SimpleNamespace(keys=rows.keys[at], shape=(len(at), width))
            some = [None if values is None else values[at] for values in design]
            keys[at] = content_keys(part, (target, *some, loss))
    return _Block(keys, own, target, named[0], named[1], tuple(predictions), loss, known)


def _labels_of(block: Any, roles: Roles) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Target and loss of every row."""
    target = None
    if roles.target is not None:
        target = target_values(python_values(block[roles.target]))
        target = None if roles.density else target
    return target, None if roles.loss is None else _logged(block[roles.loss])


def _logged(column: Any) -> NDArray[Any]:
    """Numbers of a logged column, NaN where one is missing; or its text."""
    import narwhals.stable.v2 as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        cells = python_values(column)
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    cells = python_values(column)
    if any(cell is None for cell in cells):
        raise InputError(
            f"the column {column.name!r} must have a value in every row, got missing ones; fill "
            "them or drop those rows."
        )
    return np.array([str(cell) for cell in cells])
