"""The bytes of a file: read once, hashed as they were read, decompressed up to a limit."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from pathlib import Path
from typing import IO, NamedTuple

from rdiv.errors import InputError
from rdiv.samples.memory import as_text

__all__ = ["MOST_DECOMPRESSED", "Fingerprint", "check_decompressed", "decompressed", "fingerprint"]

MOST_DECOMPRESSED = 1 << 32
"""Bytes that a compressed file may hold by default: 4 GiB."""

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 20


class Fingerprint(NamedTuple):
    """The SHA-256 of bytes, in hexadecimal digits, and their number."""

    sha256: str
    size: int


def fingerprint(stream: IO[bytes]) -> Fingerprint:
    """Hash a stream from its beginning, piece by piece.

    Examples
    --------
    >>> print(fingerprint(io.BytesIO(b"abc")).size)
    3
    """
    stream.seek(0)
    digest, size = hashlib.sha256(), 0
    while piece := stream.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    stream.seek(0)
    return Fingerprint(digest.hexdigest(), size)


def open_once(file: Path) -> IO[bytes]:
    """A file as a stream that can be read again without opening it; a pipe is read whole."""
    stream = open(file, "rb")  # noqa: SIM115  the caller closes it
    if stream.seekable():
        return stream
    with stream:
        return io.BytesIO(stream.read())


def decompressed(data: bytes, file: Path, most: int) -> bytes:
    """Text as it is, and gzip decompressed, but no further than to a limit.

    Examples
    --------
    >>> print(decompressed(gzip.compress(b"a,b"), Path("a.csv.gz"), 100))
    b'a,b'
    >>> decompressed(gzip.compress(bytes(1000)), Path("a.csv.gz"), 100)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: a.csv.gz holds more than 100 bytes when decompressed, the limit; ...
    """
    if not data.startswith(_GZIP):
        return data
    pieces, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while piece := stream.read(_PIECE):
            size += len(piece)
            check_decompressed(size, file, most, more=True)
            pieces.append(piece)
    return b"".join(pieces)


def check_decompressed(size: int, file: Path, most: int, *, more: bool = False) -> None:
    """Refuse a file that holds more bytes than allowed once it is decompressed."""
    if size > most:
        found = f"more than {as_text(most)}" if more else as_text(size)
        limit = "the limit" if more else f"the limit is {as_text(most)}"
        raise InputError(
            f"{file} holds {found} when decompressed, {limit}; raise max_decompressed= if the "
            "file is what you expect."
        )


BROKEN_GZIP = (EOFError, OSError, zlib.error)
"""What a damaged gzip stream raises."""
