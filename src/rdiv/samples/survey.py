"""A first look at a table in partitions: how many rows, which types, whether it is small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, MissingExtraError
from rdiv.samples.frames import as_frame, cast_column, common_type, without_objects
from rdiv.samples.kinds import column_floats, is_empty
from rdiv.samples.part_work import over_parts
from rdiv.samples.partitions import EMPTY, Partitions

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame

__all__ = [
    "BlockReading",
    "ColumnFacts",
    "Survey",
    "agreed_reading",
    "converted_alike",
    "rows_with",
    "survey",
]


@dataclass(eq=False)
class ColumnFacts:
    """What the whole column of a table in partitions is like, as far as its type is concerned.

    It stands for the column where two sides agree on a type. `empty` says whether no cell holds a
    value, where NaN is none.
    """

    name: str
    dtype: Any
    implementation: Any
    rows: int = 0
    nulls: int = 0
    levels: set[object] = field(default_factory=set)
    empty: bool = True

    def __len__(self) -> int:
        return self.rows

    def null_count(self) -> int:
        """Missing cells."""
        return self.nulls


@dataclass(eq=False)
class Survey:
    """Rows of every part, facts of every column, and the frames where there are few rows.

    Parameters
    ----------
    table : Partitions
    schema : dict
        Columns and types of every part, as they are read.
    rows : list of int
        Rows of every part.
    facts : dict of ColumnFacts
    frames : list of frames or None
        All rows, where they are no more than were to be kept.
    labels : tuple of str
        Columns that may lack values.
    missing : dict of str to int
        Rows without a value in each of them that is there.
    labelled : int
        Rows with a value in all of them; 0 where one is not there.
    """

    table: Partitions
    schema: dict[str, Any]
    rows: list[int]
    facts: dict[str, ColumnFacts]
    frames: list[Any] | None
    labels: tuple[str, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)
    labelled: int = 0

    @property
    def total(self) -> int:
        """Rows of all parts."""
        return sum(self.rows)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.facts)

    @property
    def implementation(self) -> Any:
        """The library of the frames."""
        return next(iter(self.facts.values())).implementation

    def whole(self) -> Any:
        """All rows as one native frame; only where they were kept."""
        import narwhals.stable.v2 as nw

        assert self.frames is not None
        wrapped = [as_frame(frame) for frame in self.frames]
        return wrapped[0].to_native() if len(wrapped) == 1 else nw.concat(wrapped).to_native()


class _Look(NamedTuple):
    """What one block is like: its columns, and how many labels are there and lacking."""

    facts: dict[str, ColumnFacts]
    missing: dict[str, int]
    labelled: int


def survey(
    table: Partitions,
    most: int,
    at: Callable[[int, int], None] | None = None,
    labels: tuple[str, ...] = (),
) -> Survey:
    """Read a table once, keeping its frames as long as they hold no more than so many rows.

    From then on parts are looked at wherever the parts of a table are read. Missing values are
    counted in the columns of `labels`.
    """
    found = Survey(table, {}, [0] * len(table.parts), {}, [], labels)
    said = at or (lambda rows, part: None)
    part = 0
    while part < len(table.parts) and found.frames is not None:
        for frame in table.frames_of(part, found.schema or None):
            found.schema = found.schema or dict(as_frame(frame).schema)
            if found.frames is not None:
                found.frames.append(frame)
            _add(found, part, _look_at(frame, labels), said)
            if found.total > most:
                found.frames = None
        part += 1
    shared = table, found.schema or None, labels
    for number, look in over_parts(_look_at_part, shared, range(part, len(table.parts))):
        _add(found, number, look, said)
    if not found.total:
        raise InputError(EMPTY.format(table.source))
    return found


def _look_at_part(
    shared: tuple[Partitions, dict[str, Any] | None, tuple[str, ...]], part: int
) -> Iterator[tuple[int, _Look]]:
    table, schema, labels = shared
    for frame in table.frames_of(part, schema):
        yield part, _look_at(frame, labels)


def _look_at(frame: Any, labels: tuple[str, ...]) -> _Look:
    block = as_frame(frame)
    there = [name for name in labels if name in block.columns]
    missing = {name: len(block) - int(rows_with(block, (name,)).sum()) for name in there}
    return _Look(_facts(frame), missing, int(rows_with(block, labels).sum()) if labels else 0)


def rows_with(block: Frame, columns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which rows have a value in all of some columns, where NaN is none; no row without a column.

    Examples
    --------
    >>> import polars as pl
    >>> block = as_frame(pl.DataFrame({"y": [1.0, None, float("nan")]}))
    >>> print(rows_with(block, ("y",)), rows_with(block, ("y", "z")))
    [ True False False] [False False False]
    """
    known = np.full(len(block), all(name in block.columns for name in columns))
    for name in columns if known.any() else ():
        column = block[name]
        if column.dtype.is_float():
            known &= ~np.isnan(column_floats(column))
        elif column.null_count():
            known &= ~column.is_null().to_numpy()
    return known


def _facts(frame: Any) -> dict[str, ColumnFacts]:
    """What the columns of a block are like."""
    import narwhals.stable.v2 as nw

    block, found = without_objects(as_frame(frame)), {}
    for name, dtype in block.schema.items():
        column = block[name]
        levels: set[object] = set()
        if dtype == nw.Categorical and block.implementation.is_pandas_like():
            levels = set(column.to_native().cat.categories.tolist())
        found[name] = ColumnFacts(
            name, dtype, block.implementation, len(block), column.null_count(), levels,
            is_empty(column),
        )  # fmt: skip
    return found


def _add(found: Survey, part: int, look: _Look, said: Callable[[int, int], None]) -> None:
    """Add a block to what is known of every column."""
    found.labelled += look.labelled
    for name, count in look.missing.items():
        found.missing[name] = found.missing.get(name, 0) + count
    for name, new in look.facts.items():
        known = found.facts.setdefault(name, ColumnFacts(name, new.dtype, new.implementation))
        if known.dtype != new.dtype and new.nulls < new.rows:
            if known.nulls < known.rows:
                raise InputError(
                    f"column {name!r} is {new.dtype} in {found.table.parts[part].name} and "
                    f"{known.dtype} before; all partitions need the same types."
                )
            known.dtype = new.dtype
        known.rows, known.nulls = known.rows + new.rows, known.nulls + new.nulls
        known.empty = known.empty and new.empty
        known.levels |= new.levels
    rows = next((new.rows for new in look.facts.values()), 0)
    found.rows[part] += rows
    said(rows, part)


@dataclass(frozen=True, eq=False)
class BlockReading:
    """How a block of either side becomes rows of the pool: its columns, and their types.

    Parameters
    ----------
    columns : tuple of str
        Columns in the order of the reference.
    types : mapping of str to type
        Columns that are cast.
    levels : mapping of str to list
        Levels of pandas' categories over both sides.
    convert : bool
        Whether frames become those of polars, as the two sides come from different libraries.
    present : set of str
        Columns that hold a value on some side.
    apart : tuple of str
        Columns that a side may lack and that stay as they are.
    """

    columns: tuple[str, ...]
    types: Mapping[str, Any]
    levels: Mapping[str, list[object]]
    convert: bool = False
    present: frozenset[str] = frozenset()
    apart: tuple[str, ...] = ()

    def __call__(self, frame: Any) -> Frame:
        """A native block with the agreed types."""
        import narwhals.stable.v2 as nw

        wrapped = without_objects(_converted(frame) if self.convert else as_frame(frame))
        there = [name for name in self.apart if name in wrapped.columns]
        wrapped = wrapped.select([*self.columns, *there])
        for name, dtype in self.types.items():
            wrapped = wrapped.with_columns(cast_column(wrapped[name], dtype))
        for name, levels in self.levels.items():
            native = wrapped.to_native()
            column = native[name].astype("category").cat.set_categories(levels)
            wrapped = nw.from_native(native.assign(**{name: column}), eager_only=True)
        return wrapped


def agreed_reading(p: Survey, q: Survey, apart: tuple[str, ...] = ()) -> BlockReading:
    """The types that the two sides agree on, as `rdiv.samples.frames.agreed` finds them.

    Columns that are kept apart need not agree, nor be there on both sides.
    """
    import narwhals.stable.v2 as nw

    convert = bool(p.facts) and p.implementation is not q.implementation
    types, levels = {}, {}
    columns = tuple(name for name in p.facts if name not in apart)
    for name in columns:
        own = p.facts[name]
        other = q.facts[name]
        same = own.dtype == other.dtype
        if same and (own.dtype.is_numeric() or own.dtype == nw.String):
            continue
        _refuse_nested(name, own.dtype)
        if own.levels or other.levels:
            either = own.levels | other.levels
            levels[name] = sorted(either, key=lambda level: (str(level), type(level).__name__))
            continue
        dtype = common_type(name, own, other, ("p", "q"))
        if dtype is not None:
            types[name] = dtype
    present = frozenset(
        name
        for side in (p, q)
        for name, one in side.facts.items()
        if side.total and one.nulls < one.rows
    )
    return BlockReading(columns, types, {} if convert else levels, convert, present, apart)


def _refuse_nested(name: str, dtype: Any) -> None:
    import narwhals.stable.v2 as nw

    if isinstance(dtype, nw.List | nw.Array | nw.Struct):
        raise InputError(
            f"column {name!r} holds {dtype}, which cannot be read in partitions; spread it over "
            "columns of plain values, or drop it."
        )


def _converted(frame: Any) -> Frame:
    """A frame of any library as one of polars."""
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "p and q come from different libraries and need polars to agree; install it with "
            'pip install "rdiv[cli]".'
        ) from None
    return as_frame(as_frame(frame).to_polars())


def converted_alike(p: Any, q: Any) -> tuple[Any, Any]:
    """Two native frames, as those of polars where they come from different libraries."""
    if as_frame(p).implementation is as_frame(q).implementation:
        return p, q
    return _converted(p).to_native(), _converted(q).to_native()
