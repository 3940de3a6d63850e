"""Reading the samples of a command: files, or standard input for one of them."""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from rdiv.errors import InputError

if TYPE_CHECKING:
    from rdiv.samples.file_bytes import Fingerprint
    from rdiv.samples.files import Recorded

__all__ = ["STANDARD_INPUT", "Input", "in_partitions", "read_input", "read_sample"]

STANDARD_INPUT = "-"

LARGE_FILE = 1 << 29
"""Bytes (512 MiB) from which on a file is read in partitions; the result is the same."""

_SIGNS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\x1f\x8b": "csv.gz",
}


class Input(NamedTuple):
    """A sample that was read, and how to name its source.

    Parameters
    ----------
    sample : frame, array or pair
    name : str
        The last part of the path.
    source : str
        The argument as typed.
    fingerprint : Fingerprint, optional
        The SHA-256 of the bytes that were read, and their number, where that was asked for.
    """

    sample: Any
    name: str
    source: str
    fingerprint: Fingerprint | None = None


def read_sample(
    path: str, data_dir: str | None, most: int | None = None, *, large: bool = False
) -> Any:
    """Read one sample; a file that the system cannot read is an input error.

    Parameters
    ----------
    path : str
        A file, a directory or pattern of files, an address, ``file.npz::name``, or ``-`` for
        standard input.
    data_dir : str or None
        Folder to search when the path does not exist.
    most : int, optional
        Bytes that a compressed file may hold.
    large : bool
        Whether a large file is read in partitions.
    """
    return read_input(path, data_dir, most, large=large).sample


def read_input(
    path: str,
    data_dir: str | None,
    most: int | None = None,
    *,
    hashed: bool = False,
    large: bool = False,
) -> Input:
    """Read one sample, and hash its bytes for the report if that is asked; see `read_sample`.

    Directories, patterns and addresses are tables in partitions, which are read later; so are large
    files, where that is asked for. Nothing of them is hashed.
    """
    if path == STANDARD_INPUT:
        return _read_standard_input(most, hashed)
    if in_partitions(path, large):
        from rdiv.samples.partitions import scan

        return Input(scan(path), os.path.basename(path.rstrip("/")), path)
    try:
        found = _recorded(path, data_dir, most, hashed)
    except OSError as error:
        if error.errno is None:  # our own message
            raise
        raise InputError(f"{path} could not be read: {error.strerror}; check the file.") from error
    return Input(found.sample, os.path.basename(path), path, found.fingerprint)


def in_partitions(path: str, large: bool = False) -> bool:
    """Whether a table is to be read in partitions."""
    import glob

    from rdiv.samples.database_parts import is_query
    from rdiv.samples.partition_files import is_remote, reads_in_partitions

    if is_remote(path) or is_query(path) or os.path.isdir(path):
        return True
    if not os.path.exists(path):
        return glob.has_magic(path) and "::" not in path
    return large and reads_in_partitions(path) and os.path.getsize(path) > LARGE_FILE


def _recorded(path: str, data_dir: str | None, most: int | None, hashed: bool) -> Recorded:
    from rdiv.samples.file_bytes import MOST_DECOMPRESSED
    from rdiv.samples.files import read_recorded

    limit = MOST_DECOMPRESSED if most is None else most
    return read_recorded(path, data_dir=data_dir, most=limit, hashed=hashed)


def _read_standard_input(most: int | None, hashed: bool) -> Input:
    """Read a table or an array from standard input; the first bytes tell the format."""
    stream = None if sys.stdin is None else getattr(sys.stdin, "buffer", None)
    data = b"" if stream is None else stream.read()
    if not data:
        raise InputError("standard input is empty; pipe a table into the command.")
    with TemporaryDirectory() as folder:
        file = os.path.join(folder, f"standard input.{_ending(data)}")
        with open(file, "wb") as copy:
            copy.write(data)
        try:
            found = _recorded(file, None, most, hashed)
        except ValueError as error:
            raise InputError(str(error).replace(file, "standard input")) from None
    return Input(found.sample, "standard input", STANDARD_INPUT, found.fingerprint)


def _ending(data: bytes) -> str:
    """The ending of a file with this content."""
    for sign, ending in _SIGNS.items():
        if data.startswith(sign):
            return ending
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"{"):
        return "jsonl"
    line = head.splitlines()[0] if head else b""
    return "tsv" if b"\t" in line and b"," not in line else "csv"
