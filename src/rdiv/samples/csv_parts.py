"""CSV files a piece at a time, with the types that all pieces of all files agree on."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rdiv.errors import InputError
from rdiv.samples.csv_files import column_readings, csv_text, fitting_readings

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PIECE_BYTES", "csv_frames", "csv_readings"]

PIECE_BYTES = 1 << 25
"""Bytes of a CSV file that are read at a time."""


def csv_readings(files: Sequence[Path], separator: str) -> dict[str, int | None]:
    """For every column the narrowest reading that all values of all files allow.

    The outcome is that of `rdiv.read` for the files as one: a number of a reading, -1 for a column
    without a value, None for text.
    """
    possible: dict[str, list[int]] = {}
    empty: dict[str, bool] = {}
    for file in files:
        for frame in _text_frames(file, separator):
            for column in frame:
                before = possible.get(column.name)
                fits, missing = fitting_readings(column, before)
                possible[column.name] = fits
                empty[column.name] = empty.get(column.name, True) and missing
    return {
        name: -1 if empty[name] else (fits[0] if fits else None) for name, fits in possible.items()
    }


def csv_frames(file: Path, separator: str, readings: dict[str, int | None]) -> Iterator[Any]:
    """Typed frames of one file, a piece at a time."""
    import polars as pl

    known = column_readings()
    for frame in _text_frames(file, separator):
        typed = []
        for column in frame:
            at = readings.get(column.name)
            if at is None:
                typed.append(column)
            elif at < 0:
                typed.append(pl.Series(column.name, [None] * len(column), dtype=pl.Null))
            else:
                typed.append(known[at](column).alias(column.name))
        yield pl.DataFrame(typed)


def _text_frames(file: Path, separator: str) -> Iterator[pl.DataFrame]:
    """The file as frames of text."""
    for piece in _pieces(file):
        frame = csv_text(piece, separator, file)
        if len(frame):
            yield frame


def _pieces(file: Path) -> Iterator[bytes]:
    """Complete lines of a file, each piece with the header; a line end in quotes ends no line."""
    with _opened(file) as stream:
        header = stream.readline()
        while header.count(b'"') % 2 and (more := stream.readline()):
            header += more
        if not header.strip():
            raise InputError(f"{file} is empty; check how it was written.")
        rest, some = b"", False
        while block := stream.read(PIECE_BYTES):
            block = rest + block
            end = _last_line_end(block)
            rest = block[end:]
            if end:
                some = True
                yield header + block[:end]
        if rest or not some:
            yield header + rest


def _last_line_end(block: bytes) -> int:
    """Where the last line ends that is not inside quotes; 0 if there is none."""
    end = len(block)
    while end := block.rfind(b"\n", 0, end) + 1:
        if block.count(b'"', 0, end) % 2 == 0:
            return end
        end -= 1
    return 0


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    """The text of a file, decompressed where it is gzip, without the mark that some begin with."""
    with open(file, "rb") as stream:
        start = stream.read(3)
    packed = start.startswith(b"\x1f\x8b")
    opened: Any = gzip.open if packed else open
    with opened(file, "rb") as text:
        if text.read(3) != b"\xef\xbb\xbf":
            text.seek(0)
        yield text
