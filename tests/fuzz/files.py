"""Files of every format that rdiv reads, whole and damaged."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import strategies as st
from tests.fuzz.tables import Recipe, made, recipes

__all__ = ["DAMAGE", "FORMATS", "Damage", "Made", "contents", "files", "written"]


def _csv(frame: pl.DataFrame, separator: str = ",") -> bytes:
    nested = [name for name, kind in frame.schema.items() if kind.is_nested() or kind == pl.Binary]
    return frame.drop(nested).write_csv(separator=separator).encode()


def _jsonl(frame: pl.DataFrame) -> bytes:
    raw = [n for n, k in frame.schema.items() if k in (pl.Binary, pl.Duration, pl.Categorical)]
    return frame.drop(raw).write_ndjson().encode()


def _buffered(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _numbers(frame: pl.DataFrame) -> np.ndarray:
    chosen = [name for name, kind in frame.schema.items() if kind.is_float() or kind.is_integer()]
    return frame.select(chosen).cast(pl.Float64, strict=False).to_numpy()


def _arrays(frame: pl.DataFrame, name: str = "x") -> bytes:
    parts = {name: _numbers(frame)}
    if "y" in frame.columns and frame.schema["y"].is_integer():
        parts["y"] = frame["y"].to_numpy()
    return _buffered(lambda buffer: np.savez(buffer, **parts))


FORMATS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    ".csv": _csv,
    ".tsv": lambda frame: _csv(frame, "\t"),
    ".csv.gz": lambda frame: gzip.compress(_csv(frame)),
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".jsonl.gz": lambda frame: gzip.compress(_jsonl(frame)),
    ".parquet": lambda frame: _buffered(frame.write_parquet),
    ".feather": lambda frame: _buffered(frame.write_ipc),
    ".npy": lambda frame: _buffered(lambda buffer: np.save(buffer, _numbers(frame))),
    ".npz": _arrays,
}
"""Writers by the ending of the file."""


@dataclass(frozen=True)
class Damage:
    """One change of the bytes of a file, at a share of its length."""

    kind: str
    place: float = 0.5
    extra: bytes = b""


DAMAGE: dict[str, Callable[[bytes, int, bytes], bytes]] = {
    "cut off": lambda data, at, extra: data[:at],
    "beginning lost": lambda data, at, extra: data[at:],
    "overwritten": lambda data, at, extra: data[:at] + extra + data[at + len(extra) :],
    "inserted": lambda data, at, extra: data[:at] + extra + data[at:],
    "a bit turned": lambda data, at, extra: data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :],
    "byte order mark": lambda data, at, extra: b"\xef\xbb\xbf" + data,
    "utf-16": lambda data, at, extra: data.decode("latin-1").encode("utf-16"),
    "line ends of Windows": lambda data, at, extra: data.replace(b"\n", b"\r\n"),
    "line ends of old": lambda data, at, extra: data.replace(b"\n", b"\r"),
    "no last line end": lambda data, at, extra: data.rstrip(b"\n"),
    "decimal commas": lambda data, at, extra: data.replace(b",", b";").replace(b".", b","),
    "twice": lambda data, at, extra: data + data,
    "zeros": lambda data, at, extra: data[:at] + bytes(4096),
    "compressed again": lambda data, at, extra: gzip.compress(data),
    "a line lost": lambda data, at, extra: b"\n".join(data.split(b"\n")[1:]),
    "blank lines": lambda data, at, extra: data.replace(b"\n", b"\n\n"),
    "quotes": lambda data, at, extra: data.replace(b",", b'",', 1),
}
"""Changes of the bytes of a file."""

_SNIPPETS = [
    b"\x00",
    b"\xff\xfe",
    b'"',
    b",",
    b"\n",
    b"1e999",
    b"-inf",
    b"NaN",
    b"[" * 300,
    b"{" * 300,
    b"9" * 400,
    b'{"a": {"b": 1}}\n',
    b"null",
    b"\x80\x81",
    b"PK\x03\x04",
    b"PAR1",
    b"ARROW1",
]


@dataclass(frozen=True)
class Made:
    """A file: its table, its format, what its name says, and what was done to its bytes."""

    recipe: Recipe
    format: str = ".csv"
    damage: tuple[Damage, ...] = ()
    ending: str | None = None


def contents(file: Made) -> bytes:
    """The bytes of a file."""
    try:
        data = FORMATS[file.format](made(file.recipe))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        data = b"a\n1\n2\n"  # a column that this format cannot hold
    for change in file.damage:
        at = min(int(change.place * len(data)), len(data) - 1)
        if at >= 0:
            data = DAMAGE[change.kind](data, at, change.extra)
    return data


def written(file: Made, folder: Path, stem: str) -> Path:
    """The file on disk."""
    path = folder / f"{stem}{file.ending or file.format}"
    path.write_bytes(contents(file))
    return path


def _damages() -> st.SearchStrategy[Damage]:
    extra = st.one_of(st.sampled_from(_SNIPPETS), st.binary(min_size=1, max_size=12))
    return st.builds(
        Damage, st.sampled_from(list(DAMAGE)), st.floats(0, 1, exclude_max=True), extra
    )


def files(rows: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Made]:
    """Files of any format; most are whole, a few have the ending of another format."""
    whole: st.SearchStrategy[tuple[Damage, ...]] = st.just(())
    damage = st.one_of(whole, whole, whole, st.lists(_damages(), max_size=3).map(tuple))
    other = st.sampled_from([None] * 24 + [".csv", ".parquet", ".npz", ".txt", ".jsonl.gz", ""])
    return st.builds(Made, recipes(rows), st.sampled_from(list(FORMATS)), damage, other)
