"""Files as partitions of one table: parquet, feather, csv, tsv and JSON lines, hive folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdiv.errors import InputError, MissingExtraError
from rdiv.row_blocks import cut
from rdiv.samples.csv_files import typed_column
from rdiv.samples.csv_parts import csv_frames, csv_readings

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "BLOCK_ROWS",
    "Named",
    "is_remote",
    "lazy_frames",
    "need_polars",
    "parts_of_files",
    "reads_in_partitions",
    "remote_parts",
]

BLOCK_ROWS = 1 << 16
"""Most rows of a table that are in memory at a time while it is read."""

Named = tuple[str, Callable[[], Iterator[Any]]]

_KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
_AHEAD = "POLARS_ROW_GROUP_PREFETCH_SIZE"
_REMOTE = ("s3://", "gs://", "gcs://", "az://", "abfs://", "abfss://", "https://", "http://")


def is_remote(source: str) -> bool:
    """Whether a source is an address that polars reads, not a path of this machine.

    Examples
    --------
    >>> print(is_remote("s3://bucket/days/*.parquet"), is_remote("days/1.parquet"))
    True False
    """
    return source.lower().startswith(_REMOTE)


def reads_in_partitions(source: str) -> bool:
    """Whether a file is of a format that can be read in partitions.

    Examples
    --------
    >>> print(reads_in_partitions("a.parquet"), reads_in_partitions("a.npz"))
    True False
    """
    return _KINDS.get(Path(source.lower().removesuffix(".gz")).suffix) is not None


def remote_parts(source: str) -> list[Named]:
    """One part for an address: polars lists and reads what stands behind it."""
    pl = need_polars()
    kind = _kind(Path(source.partition("?")[0]))
    if kind != "parquet":
        raise InputError(
            f"{source} is not parquet; at an address rdiv reads parquet files, so download it "
            "first, or save it as parquet."
        )
    return [(source, lambda: lazy_frames(pl.scan_parquet(source)))]


def parts_of_files(files: Sequence[Path], root: Path | None) -> list[Named]:
    """One part per file; folders named ``column=value`` below the root become columns.

    Parameters
    ----------
    files : sequence of paths
    root : path, optional
        The directory that was named; without one no folder is a column.
    """
    kinds = {_kind(file): file for file in files}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise InputError(
            f"partitions of one table must be of one format, got {first} ({one}) and {second} "
            f"({other}); name them by a pattern such as *.{one}."
        )
    kind = next(iter(kinds))
    need_polars()
    known = csv_readings(files, _separator(kind)) if kind in ("csv", "tsv") else None
    added = _hive_columns(files, root)
    return [
        (str(file), partial(_frames, file, kind, known, values))
        for file, values in zip(files, added, strict=True)
    ]


def _frames(
    file: Path, kind: str, known: dict[str, int | None] | None, added: dict[str, Any]
) -> Iterator[Any]:
    pl = need_polars()
    if known is not None:
        frames = csv_frames(file, _separator(kind), known)
    elif kind == "jsonl":
        frames = lazy_frames(pl.scan_ndjson(file, infer_schema_length=None))
    elif kind == "feather":
        frames = lazy_frames(pl.scan_ipc(file))
    else:
        lazy = pl.scan_parquet(file, hive_partitioning=False, glob=False, low_memory=True)
        frames = _little_ahead(lazy_frames(lazy))
    for frame in frames:
        yield frame.with_columns(**{name: pl.lit(value) for name, value in added.items()})


def _little_ahead(frames: Iterator[Any]) -> Iterator[Any]:
    """The same frames, for which polars reads one row group of a parquet file ahead, not many.

    On a disk of this machine that costs no time, and it saves more memory than a block of rows
    needs. Polars looks at the variable when it starts to read.
    """
    asked = os.environ.get(_AHEAD)
    os.environ[_AHEAD] = asked or "1"
    try:
        first = next(frames, None)
    finally:
        if asked is None:
            del os.environ[_AHEAD]
    if first is not None:
        yield first
        yield from frames


def lazy_frames(lazy: pl.LazyFrame) -> Iterator[Any]:
    """Frames of a polars LazyFrame, a block at a time."""
    if hasattr(lazy, "collect_batches"):
        yield from lazy.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True)
        return
    import polars as pl

    rows = lazy.select(pl.len()).collect().item()  # polars before 1.34
    for block in cut(rows, BLOCK_ROWS):
        yield lazy.slice(block.start, block.stop - block.start).collect()


def _kind(file: Path) -> str:
    name = file.name.lower()
    kind = _KINDS.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None or (name.endswith(".gz") and kind not in ("csv", "tsv")):
        raise InputError(
            f"{file} cannot be read in partitions; save it as parquet, feather, csv (also .gz), "
            "tsv (also .gz) or jsonl."
        )
    return kind


def _separator(kind: str) -> str:
    return "\t" if kind == "tsv" else ","


def _hive_columns(files: Sequence[Path], root: Path | None) -> list[dict[str, Any]]:
    """For every file the values that the names of its folders give, typed over all files."""
    if root is None:
        return [{} for _ in files]
    found = []
    for file in files:
        folders = (part.partition("=") for part in file.relative_to(root).parts[:-1])
        found.append({name: value for name, sign, value in folders if sign and name})
    names = list(found[0])
    for file, values in zip(files, found, strict=True):
        if list(values) != names:
            raise InputError(
                f"the folders of {file} name the columns {list(values)}, and those of {files[0]} "
                f"{names}; all partitions need the same."
            )
    pl = need_polars()
    typed = {
        name: typed_column(pl.Series([values[name] for values in found])).to_list()
        for name in names
    }
    return [{name: typed[name][k] for name in names} for k in range(len(files))]


def need_polars() -> Any:
    """Polars, or a sentence that says how to install it."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError(
            'reading files in partitions needs polars; install it with pip install "rdiv[cli]"'
        ) from None
    return polars
