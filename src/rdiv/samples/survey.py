"""A first look at a table in partitions: how many rows, which types, whether it is small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdiv.errors import InputError, MissingExtraError
from rdiv.samples.frames import as_frame, cast_column, common_type, without_objects
from rdiv.samples.kinds import is_empty
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
    """

    table: Partitions
    schema: dict[str, Any]
    rows: list[int]
    facts: dict[str, ColumnFacts]
    frames: list[Any] | None

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


def survey(table: Partitions, most: int, at: Callable[[int, int], None] | None = None) -> Survey:
    """Read a table once, keeping its frames as long as they hold no more than so many rows.

    From then on parts are looked at wherever the parts of a table are read.
    """
    found = Survey(table, {}, [0] * len(table.parts), {}, [])
    said = at or (lambda rows, part: None)
    part = 0
    while part < len(table.parts) and found.frames is not None:
        for frame in table.frames_of(part, found.schema or None):
            found.schema = found.schema or dict(as_frame(frame).schema)
            if found.frames is not None:
                found.frames.append(frame)
            _add(found, part, _facts(frame), said)
            if found.total > most:
                found.frames = None
        part += 1
    shared = table, found.schema or None
    for number, facts in over_parts(_look_at_part, shared, range(part, len(table.parts))):
        _add(found, number, facts, said)
    if not found.total:
        raise InputError(EMPTY.format(table.source))
    return found


def _look_at_part(
    shared: tuple[Partitions, dict[str, Any] | None], part: int
) -> Iterator[tuple[int, dict[str, ColumnFacts]]]:
    table, schema = shared
    for frame in table.frames_of(part, schema):
        yield part, _facts(frame)


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


def _add(
    found: Survey, part: int, facts: dict[str, ColumnFacts], said: Callable[[int, int], None]
) -> None:
    """Add a block to what is known of every column."""
    for name, new in facts.items():
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
    rows = next((new.rows for new in facts.values()), 0)
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
    """

    columns: tuple[str, ...]
    types: Mapping[str, Any]
    levels: Mapping[str, list[object]]
    convert: bool = False
    present: frozenset[str] = frozenset()

    def __call__(self, frame: Any) -> Frame:
        """A native block with the agreed types."""
        import narwhals.stable.v2 as nw

        wrapped = without_objects(_converted(frame) if self.convert else as_frame(frame))
        wrapped = wrapped.select([*self.columns])
        for name, dtype in self.types.items():
            wrapped = wrapped.with_columns(cast_column(wrapped[name], dtype))
        for name, levels in self.levels.items():
            native = wrapped.to_native()
            column = native[name].astype("category").cat.set_categories(levels)
            wrapped = nw.from_native(native.assign(**{name: column}), eager_only=True)
        return wrapped


def agreed_reading(p: Survey, q: Survey) -> BlockReading:
    """The types that the two sides agree on, as `rdiv.samples.frames.agreed` finds them."""
    import narwhals.stable.v2 as nw

    convert = p.implementation is not q.implementation
    types, levels = {}, {}
    for name, own in p.facts.items():
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
        name for side in (p, q) for name, one in side.facts.items() if one.nulls < one.rows
    )
    return BlockReading(tuple(p.facts), types, {} if convert else levels, convert, present)


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
