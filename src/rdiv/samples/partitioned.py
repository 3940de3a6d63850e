"""Rows that stay in partitions: places in files, hashes, and passes that read a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.progress import reading_rows
from rdiv.row_blocks import gathered, place_type
from rdiv.samples.by_kind import ColumnsByKind
from rdiv.samples.frame_rows import FrameRows
from rdiv.samples.frames import as_frame
from rdiv.samples.memory import check_memory
from rdiv.samples.part_work import over_parts
from rdiv.samples.partitions import Partitions
from rdiv.samples.preparation import Preparation, fit_preparation
from rdiv.samples.row_keys import Keys, sorted_digest
from rdiv.samples.rows import TableRows, Teacher
from rdiv.samples.survey import BlockReading

__all__ = [
    "FirstWords",
    "Learned",
    "PartitionedRows",
    "PartitionedTable",
    "Source",
    "numbered",
    "part_tasks",
]

Places = NDArray[Any]
"""Places of rows in both tables, one below the other: 32 bits where that is enough."""


Labels = Mapping[str, NDArray[Any]]


class _PartTask(NamedTuple):
    """One part of one side: where it begins, and which of its rows are wanted (all without it)."""

    side: int
    part: int
    start: int
    rows: int
    wanted: NDArray[np.bool_] | None = None
    extra: Any = None


@dataclass(frozen=True, eq=False)
class FirstWords:
    """First words of the keys of some rows, without a copy of all of them."""

    keys: Keys
    picked: Places

    def __len__(self) -> int:
        return len(self.picked)

    def __getitem__(self, block: slice) -> NDArray[np.uint64]:
        words: NDArray[np.uint64] = self.keys[self.picked[block], 0]
        return words

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy
        words: NDArray[Any] = self.keys[self.picked, 0].astype(dtype or np.uint64, copy=False)
        return words


@dataclass(frozen=True, eq=False)
class Learned:
    """A preparation by itself, as a teacher of rows: it can travel without the rows it is from."""

    preparation: Preparation


@dataclass(frozen=True, eq=False)
class Source:
    """Two tables in partitions and how their blocks are read; what a worker needs to read a part.

    Parameters
    ----------
    sides : pair of Partitions
    schemas : pair of dict
        Columns and types as they are read.
    reading : BlockReading
    taken : tuple of str
        Columns that are no inputs.
    """

    sides: tuple[Partitions, ...]
    schemas: tuple[dict[str, Any], ...]
    reading: BlockReading
    taken: tuple[str, ...] = ()

    def blocks(self, task: _PartTask) -> Iterator[tuple[int, Any]]:
        """Place of the first row of every block of a part, and the block, all columns of it."""
        place, end = task.start, task.start + task.rows
        name = self.sides[task.side].parts[task.part].name
        for frame in self.sides[task.side].frames_of(task.part, self.schemas[task.side]):
            block = self.reading(frame)
            if place + len(block) > end:
                raise InputError(_changed(name))
            yield place, block
            place += len(block)
        if place != end:
            raise InputError(_changed(name))

    def inputs(self, block: Any) -> Any:
        """A block without what is no input."""
        return block.drop([name for name in self.taken if name in block.columns])


def _changed(name: str) -> str:
    return (
        f"{name} changed while it was read: it has another number of rows than before; see that it "
        "stays as it is while rdiv reads it."
    )


@dataclass(eq=False)
class PartitionedTable:
    """Rows of two tables in partitions, in the order of their files; those of p come first.

    Its keys are the largest thing that a comparison holds, so most of them can be let go when no
    question needs them any more (`forget_keys`).

    Parameters
    ----------
    source : Source
    rows : pair of tuples
        Rows of every part of both sides.
    keys : (n, 2) array
        Hash of every row.
    repeated : pair of arrays
        Places of the rows whose first word of the key another row has, and a number for that word.
    columns, left_out, empty : tuple of str
        Names of the inputs, those that could not be read, and those without a value in any row.
    """

    source: Source
    rows: tuple[tuple[int, ...], ...]
    keys: Keys = field(repr=False)
    repeated: tuple[Places, NDArray[np.intp]] = field(repr=False)
    columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    kept: tuple[Places, Keys] | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return sum(map(sum, self.rows))

    def forget_keys(self) -> None:
        """Let go of the keys of all rows that are alone of their content.

        Nobody may ask for these afterwards; those of copies are still known.
        """
        if self.kept is None:
            places = np.sort(self.repeated[0])
            self.kept = places, self.keys[places]
            self.keys = np.empty((0, 2), dtype=np.uint64)

    def keys_at(self, places: Places) -> Keys:
        """Keys of some rows."""
        if self.kept is None:
            return self.keys[places]
        known, keys = self.kept
        at = np.searchsorted(known, places)
        if (at == len(known)).any() or (known[at] != places).any():
            raise RuntimeError("keys of rows without a copy were let go before they were needed.")
        return keys[at]

    def tasks(self, wanted: NDArray[np.bool_] | None = None) -> list[_PartTask]:
        """A task for each part; those without a wanted row are passed over."""
        return part_tasks(self.rows, wanted)


def part_tasks(
    rows: tuple[tuple[int, ...], ...], wanted: NDArray[np.bool_] | None = None
) -> list[_PartTask]:
    """A task for each part of tables with so many rows in their parts."""
    tasks, start = [], 0
    for side, counts in enumerate(rows):
        for part, count in enumerate(counts):
            own = None if wanted is None else wanted[start : start + count]
            if count and (own is None or own.any()):
                tasks.append(_PartTask(side, part, start, count, own))
            start += count
    return tasks


@dataclass(frozen=True, eq=False)
class PartitionedRows:
    """Some rows of two tables in partitions; they are read when they are needed, and not kept.

    Parameters
    ----------
    table : PartitionedTable
    picked : (n,) integers
        Places of the rows, no place twice.
    teacher : Teacher, optional
        The rows that decide how these become numbers; by default they do it themselves.
    """

    table: PartitionedTable
    picked: Places
    teacher: Teacher | None = None

    def __len__(self) -> int:
        return len(self.picked)

    @property
    def x(self) -> Any:
        return self.read().x

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self), len(self.table.columns)

    @property
    def step(self) -> int:
        return 1 << 16

    @property
    def keys(self) -> Keys:
        raise NotImplementedError("rows in partitions have keys with their labels only")

    def whole_keys(self, rows: NDArray[np.intp] | None = None) -> Keys:
        """Hash of every row with all its labels."""
        return self.table.keys_at(self.picked if rows is None else self.picked[rows])

    def digest_of(self, rows: NDArray[Any]) -> int:
        """One number for the content of some rows, in whatever order they come."""
        return sorted_digest(self.table.keys, gathered(self.picked, rows))

    def first_words(self) -> FirstWords:
        """First word of the key of every row, read a block at a time."""
        return FirstWords(self.table.keys, self.picked)

    def repeated(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places, among these rows, of those that share a first word of the key; and its number."""
        places, units = self.table.repeated
        if not len(places):
            return np.empty(0, np.intp), np.empty(0, np.intp)
        place = np.full(len(self.table), -1, dtype=place_type(len(self.table)))
        place[self.picked] = np.arange(len(self), dtype=place.dtype)
        at = place[places].astype(np.intp)
        here = np.flatnonzero(at >= 0)
        here = here[np.argsort(at[here])]
        return at[here], units[here]

    def take(self, rows: NDArray[np.intp]) -> PartitionedRows:
        return PartitionedRows(self.table, gathered(self.picked, rows), self.teaches())

    def anew(self, rows: NDArray[np.intp]) -> PartitionedRows:
        return PartitionedRows(self.table, gathered(self.picked, rows))

    def like(self, other: Any) -> PartitionedRows:
        teacher = other.teaches()
        return self if teacher is self else PartitionedRows(self.table, self.picked, teacher)

    def settled(self) -> PartitionedRows:
        return self

    def teaches(self) -> Teacher:
        """What decides how these rows become numbers."""
        return self if self.teacher is None else self.teacher

    @cached_property
    def preparation(self) -> Preparation:
        """How these rows become numbers; learned from all of them, in memory, unless taught."""
        if self.teacher is not None:
            return self.teacher.preparation
        return fit_preparation(self._gathered())

    def read(self) -> TableRows:
        return TableRows.taught(self._gathered(), self.teacher)

    def numbers(self) -> NDArray[np.floating]:
        return self.read().numbers()

    def owners(self) -> tuple[str, ...]:
        return self.preparation.owners

    def by_kind(self) -> ColumnsByKind:
        return self.read().by_kind()

    def columnwise(self) -> FrameRows:
        """These rows, a column at a time; they are read for it."""
        return self._gathered()

    def over_blocks(
        self,
        call: Callable[[Any, FrameRows, Labels], NDArray[Any]],
        shared: Any,
        labels: Labels,
    ) -> NDArray[Any]:
        """Numbers of every row, from one pass over the parts.

        Parameters
        ----------
        call : callable
            A function of a module: from what is shared, some rows in memory and their labels, to
            one number (or a row of them) each. What it gives a row must not depend on the others.
        shared : object
            What every call needs.
        labels : mapping of str to (n, ...) arrays
            What else is known of these rows.
        """
        place = np.full(len(self.table), -1, dtype=place_type(len(self.table)))
        place[self.picked] = np.arange(len(self), dtype=place.dtype)
        tasks = self.table.tasks(place >= 0)
        found: NDArray[Any] | None = None
        work = _BlockWork(self.table.source, call, shared)
        labelled = (_with_labels(task, place, labels) for task in tasks)
        with reading_rows(sum(task.rows for task in tasks)) as at:
            for rows, places, numbers in over_parts(_run_blocks, work, labelled):
                at(rows)
                if found is None:
                    found = np.empty((len(self), *numbers.shape[1:]), dtype=numbers.dtype)
                found[places] = numbers
        assert found is not None
        return found

    def _gathered(self) -> FrameRows:
        """These rows in memory, in their order."""
        import narwhals.stable.v2 as nw

        wanted = np.zeros(len(self.table), dtype=bool)
        wanted[self.picked] = True
        frames, checked = [], False
        tasks = self.table.tasks(wanted)
        with reading_rows(sum(task.rows for task in tasks)) as at:
            for rows, frame in over_parts(_gather_part, self.table.source, tasks):
                at(rows)
                if frame is not None:
                    frames.append(as_frame(frame))
                    if not checked:
                        checked = True
                        _check_room(frames[0], len(self))
        whole = frames[0] if len(frames) == 1 else nw.concat(frames)
        # The place of each picked row among the picked ones in the order of the files.
        order = np.searchsorted(np.sort(self.picked), self.picked)
        if np.array_equal(order, np.arange(len(order))):
            return FrameRows(whole.to_native())
        return FrameRows(whole.to_native(), order)


def _check_room(frame: Any, rows: int) -> None:
    """Refuse rows that cannot fit into memory, by what the first of them need."""
    size = getattr(frame, "estimated_size", None)
    if size is not None and len(frame):
        needed = 3 * rows * frame.estimated_size() / len(frame)  # as a table, and as numbers
        check_memory(
            needed, f"{rows} rows in memory", "set fit_rows and sample_rows lower, or drop columns"
        )


class _BlockWork(NamedTuple):
    """A pass: what reads the blocks, what is done with them, and what that needs."""

    source: Source
    call: Callable[[Any, FrameRows, Labels], NDArray[Any]]
    shared: Any


def _with_labels(task: _PartTask, place: Places, labels: Labels) -> _PartTask:
    """A task with the places of its rows among the picked ones, and their labels."""
    own = place[task.start : task.start + task.rows]
    picked = own[own >= 0]
    return task._replace(extra=(own, {name: values[picked] for name, values in labels.items()}))


def _run_blocks(work: _BlockWork, task: _PartTask) -> Iterator[tuple[int, Any, NDArray[Any]]]:
    """Numbers of the wanted rows of a part, a block at a time: rows read, places, numbers."""
    place, labels = task.extra
    done = 0
    for start, block in work.source.blocks(task):
        own = place[start - task.start : start - task.start + len(block)]
        rows = np.flatnonzero(own >= 0)
        if not len(rows):
            continue
        inputs = work.source.inputs(block).to_native()
        frame = FrameRows(inputs, None if len(rows) == len(block) else rows)
        known = {name: values[done : done + len(rows)] for name, values in labels.items()}
        done += len(rows)
        yield len(block), own[rows], work.call(work.shared, frame, known)


def _gather_part(source: Source, task: _PartTask) -> Iterator[tuple[int, Any]]:
    """The wanted rows of a part."""
    assert task.wanted is not None
    for start, block in source.blocks(task):
        own = task.wanted[start - task.start : start - task.start + len(block)]
        rows = np.flatnonzero(own)
        inputs = source.inputs(block)
        picked = inputs if len(rows) == len(block) else inputs[rows]
        yield len(block), picked.to_native() if len(rows) else None


def numbered(
    rows: NDArray[np.intp], units: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of rows in their order and the content of each: those whose content came before, counted."""
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    places = np.arange(len(order))
    leads = np.ones(len(order), dtype=bool)
    leads[1:] = ordered[1:] != ordered[:-1]
    number = np.empty(len(order), dtype=np.intp)
    number[order] = places - np.maximum.accumulate(np.where(leads, places, 0))
    again = number > 0
    return rows[again], number[again]
