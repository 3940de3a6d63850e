"""Tables that are read part by part and never stand in memory as a whole."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rdiv.errors import InputError, InputTypeError, MissingFileError, naming
from rdiv.row_blocks import cut
from rdiv.samples.arguments import described
from rdiv.samples.database_parts import is_query, query_parts
from rdiv.samples.frames import as_frame, gather, is_frame, quoted
from rdiv.samples.partition_files import (
    BLOCK_ROWS,
    is_remote,
    lazy_frames,
    parts_of_files,
    remote_parts,
)

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame

__all__ = ["Part", "Partitions", "as_partitions", "scan"]

EMPTY = "{} holds no rows; check how it was written."
_ADVICE = "see that it stays as it is while rdiv reads it, and that it is complete"


class Part(NamedTuple):
    """One partition: what messages call it, and a function that reads it from the beginning."""

    name: str
    read: Callable[[], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class Partitions:
    """A table in parts, each of which is read when its turn comes, as often as it is needed.

    Parameters
    ----------
    source : str
        What messages call the table.
    parts : tuple of Part
    dropped : set of str
        Columns that are left out.
    rows : int, optional
        How many there are, where they were counted.

    Examples
    --------
    >>> import polars as pl
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for day in ("monday", "tuesday"):
    ...         pl.DataFrame({"x": [1, 2, 3]}).write_parquet(f"{folder}/{day}.parquet")
    ...     found = scan(folder)
    ...     print(len(found.parts), found.columns, len(found.whole()))
    2 ['x'] 6
    """

    source: str
    parts: tuple[Part, ...] = field(repr=False)
    dropped: frozenset[str] = frozenset()
    rows: int | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns, from the first part."""
        return list(self.first().columns)

    def without(self, columns: Iterable[str]) -> Partitions:
        """The same table without some of its columns."""
        return replace(self, dropped=self.dropped | frozenset(columns))

    def whole(self) -> Any:
        """All rows as one native frame in memory."""
        import narwhals.stable.v2 as nw

        frames = [as_frame(frame) for frame in self.frames()]
        if not frames:
            raise InputError(EMPTY.format(self.source))
        return frames[0].to_native() if len(frames) == 1 else nw.concat(frames).to_native()

    def first(self) -> Frame:
        """The first rows, at most `BLOCK_ROWS`."""
        for frame in self.frames():
            return as_frame(frame)
        raise InputError(EMPTY.format(self.source))

    def frames(self) -> Iterator[Any]:
        """Native frames of at most `BLOCK_ROWS` rows, in the order of the parts.

        Every part has the columns and types of the first one.
        """
        known: dict[str, Any] | None = None
        for k in range(len(self.parts)):
            for frame in self.frames_of(k, known):
                known = dict(as_frame(frame).schema) if known is None else known
                yield frame

    def frames_of(self, k: int, known: dict[str, Any] | None = None) -> Iterator[Any]:
        """Native frames of one part, with the columns and types that are known already."""
        part = self.parts[k]
        for frame in _guarded(part):
            wrapped = _as_table(frame, part.name)
            gone = [name for name in wrapped.columns if name in self.dropped]
            wrapped = wrapped.drop(gone) if gone else wrapped
            if not len(wrapped):
                continue
            schema = dict(wrapped.schema)
            known = schema if known is None else known
            _check_schema(schema, known, part.name, self.parts[0].name)
            yield from _cut(wrapped.select([*known]).to_native())


def scan(source: str | os.PathLike[str]) -> Partitions:
    """A table that is read in partitions: one file, a glob, or a directory of files.

    `rdiv.compare` and its kin read such a table part by part, and the result is the same as from
    the whole table in memory. A polars LazyFrame, a Dask DataFrame, a pyarrow Dataset or a function
    that returns an iterator of Arrow batches needs no `scan`: pass it as it is.

    Parameters
    ----------
    source : str or path
        A parquet, feather, csv, tsv or jsonl file; a pattern such as ``days/*.parquet``; or a
        directory, whose folders may be named ``column=value`` (hive). ``s3://``, ``gs://``,
        ``az://`` and ``https://`` addresses of parquet files are read by polars. ``FILE.db::TABLE``
        or ``FILE.db::select ...`` reads a table or a query of an SQLite file.

    Returns
    -------
    Partitions

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in (1, 2):
    ...         pl.DataFrame({"a": [day, 10 * day]}).write_parquet(f"{folder}/{day}.parquet")
    ...     table = scan(folder)
    ...     print(len(table.parts), [frame["a"].to_list() for frame in table.frames()])
    2 [[1, 10], [2, 20]]
    """
    if not isinstance(source, str | os.PathLike):
        raise InputTypeError(
            f"scan takes the path of a file, a pattern or a directory, got {described(source)}."
        )
    text = os.path.expanduser(os.fsdecode(source))
    if is_remote(text) or is_query(text):
        found = remote_parts(text) if is_remote(text) else query_parts(text)
        return Partitions(text, tuple(Part(*part) for part in found))
    path, folder = Path(text), os.path.isdir(text)  # False for names that no system allows
    if folder:
        files = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file))
        lacking = f"the directory {text} holds no files"
    elif os.path.exists(text):
        files, lacking = [path], ""
    else:
        files = [Path(name) for name in sorted(glob.glob(text, recursive=True))]
        lacking = f"there is no file {text}" if not glob.has_magic(text) else f"nothing fits {text}"
    if not files:
        raise MissingFileError(f"{lacking}; check the path.")
    root = path if folder else None
    return Partitions(text, tuple(Part(*part) for part in parts_of_files(files, root)))


def as_partitions(obj: Any, name: str) -> Partitions | None:
    """What can be read in partitions as `Partitions`; None for anything else.

    Parameters
    ----------
    obj : object
        Anything that a user may pass as a sample.
    name : str
        What messages call it.

    Examples
    --------
    >>> import polars as pl
    >>> table = as_partitions(pl.LazyFrame({"a": [1, 2]}), "p")
    >>> print([frame["a"].to_list() for frame in table.frames()])
    [[1, 2]]
    >>> print(as_partitions(pl.DataFrame({"a": [1, 2]}), "p"))
    None
    """
    if isinstance(obj, Partitions):
        return obj
    home = type(obj).__module__.partition(".")[0]
    if home == "polars" and type(obj).__name__ == "LazyFrame":
        return Partitions(name, (Part(name, lambda: lazy_frames(obj)),))
    if home in ("dask", "dask_expr") and hasattr(obj, "partitions"):
        return Partitions(name, tuple(_dask_part(obj, k, name) for k in range(obj.npartitions)))
    if home == "pyarrow" and hasattr(obj, "to_batches") and hasattr(obj, "get_fragments"):
        return Partitions(name, (Part(name, lambda: obj.to_batches(batch_size=BLOCK_ROWS)),))
    if isinstance(obj, Iterator):
        raise InputTypeError(
            f"{name} is an iterator, which can be read only once, and rdiv reads its rows twice; "
            "pass a function that returns a new iterator each time."
        )
    if callable(obj) and not isinstance(obj, type) and not hasattr(obj, "__array__"):
        return Partitions(name, (Part(name, lambda: iter(_called(obj, name))),))
    return None


def _dask_part(frame: Any, k: int, name: str) -> Part:
    def read() -> Iterator[Any]:
        yield frame.partitions[k].compute(scheduler="synchronous").reset_index(drop=True)

    return Part(f"partition {k} of {name}", read)


def _called(function: Callable[[], Any], name: str) -> Iterable[Any]:
    with naming(f"calling the function of {name}", "it must take no argument"):
        found = function()
    if isinstance(found, Iterable):
        return found
    raise InputTypeError(
        f"the function of {name} must return an iterator of Arrow batches, got {described(found)}."
    )


def _guarded(part: Part) -> Iterator[Any]:
    """The frames of a part; whatever goes wrong while it is read names it."""
    frames: Iterator[Any] | None = None
    while True:
        with naming(f"reading {part.name}", _ADVICE):
            frames = part.read() if frames is None else frames
            frame = next(frames, None)
        if frame is None:
            return
        yield frame


def _as_table(frame: Any, name: str) -> Frame:
    """A batch of any library as a frame; a pyarrow RecordBatch becomes a table."""
    if type(frame).__name__ == "RecordBatch":
        import pyarrow as pa

        frame = pa.Table.from_batches([frame])
    if not is_frame(frame):
        raise InputTypeError(
            f"{name} must give Arrow batches or data frames, got {described(frame)}."
        )
    return as_frame(frame)


def _cut(frame: Any) -> Iterator[Any]:
    if len(frame) <= BLOCK_ROWS:
        yield frame
        return
    for block in cut(len(frame), BLOCK_ROWS):
        yield gather(frame, np.arange(block.start, block.stop))


def _check_schema(schema: dict[str, Any], known: dict[str, Any], name: str, first: str) -> None:
    lacking = [column for column in known if column not in schema]
    extra = [column for column in schema if column not in known]
    if lacking or extra:
        parts = [f"lacks {quoted(lacking)}"] if lacking else []
        parts += [f"has {quoted(extra)} besides"] if extra else []
        raise InputError(
            f"{name} {' and '.join(parts)}, compared with {first}; all partitions need the same "
            "columns."
        )
    other = [column for column in known if schema[column] != known[column]]
    if other:
        column = other[0]
        raise InputError(
            f"column {column!r} is {schema[column]} in {name} and {known[column]} in {first}; "
            "all partitions need the same types."
        )


def _hidden(file: Path) -> bool:
    """Files that other tools leave beside partitions, such as _SUCCESS and .crc."""
    return file.name.startswith((".", "_"))
