"""Reading the samples of a command: files, or standard input for one of them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rdiv.errors import InputError

__all__ = ["STANDARD_INPUT", "Input", "read_input", "read_sample"]

STANDARD_INPUT = "-"

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
    fingerprint : callable
        Gives the SHA-256 of the bytes that were read, and their number.
    """

    sample: Any
    name: str
    source: str
    fingerprint: Callable[[], tuple[str, int]]


def read_sample(path: str, data_dir: str | None) -> Any:
    """Read one sample; a file that the system cannot read is an input error.

    Parameters
    ----------
    path : str
        A file, ``file.npz::name``, or ``-`` for standard input.
    data_dir : str or None
        Folder to search when the path does not exist.
    """
    return read_input(path, data_dir).sample


def read_input(path: str, data_dir: str | None) -> Input:
    """Read one sample and keep its name and hash for the report; see `read_sample`."""
    from rdiv.samples.files import find_file, read

    if path == STANDARD_INPUT:
        return _read_standard_input()
    try:
        sample = read(path, data_dir=data_dir)
    except OSError as error:
        if error.errno is None:  # our own message
            raise
        raise InputError(f"{path} could not be read: {error.strerror}; check the file.") from error

    def fingerprint() -> tuple[str, int]:
        from rdiv.report.provenance import file_hash

        return file_hash(find_file(path, data_dir=data_dir))

    return Input(sample, os.path.basename(path), path, fingerprint)


def _read_standard_input() -> Input:
    """Read a table or an array from standard input; the first bytes tell the format."""
    from rdiv.samples.files import read

    stream = None if sys.stdin is None else getattr(sys.stdin, "buffer", None)
    data = b"" if stream is None else stream.read()
    if not data:
        raise InputError("standard input is empty; pipe a table into the command.")
    with TemporaryDirectory() as folder:
        file = os.path.join(folder, f"standard input.{_ending(data)}")
        with open(file, "wb") as copy:
            copy.write(data)
        try:
            sample = read(file)
        except ValueError as error:
            raise InputError(str(error).replace(file, "standard input")) from None
    print_ = hashlib.sha256(data).hexdigest(), len(data)
    return Input(sample, "standard input", STANDARD_INPUT, lambda: print_)


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
