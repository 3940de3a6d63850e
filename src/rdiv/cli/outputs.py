"""Writing output: to a stream that may be closed, and to files that are complete or absent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from rdiv.errors import InputError
from rdiv.names import visible

__all__ = [
    "STANDARD_OUTPUT",
    "check_destination",
    "deliver",
    "printable",
    "write_bytes",
    "write_out",
    "write_whole",
]

STANDARD_OUTPUT = "-"


def check_destination(path: str | None, *inputs: str) -> None:
    """Refuse, before any work, a file that could not be written or that is an input.

    Parameters
    ----------
    path : str or None
        The file to write.
    inputs : str
        The samples, which must not be overwritten.
    """
    if path is None or path == STANDARD_OUTPUT or _is_device(path):
        return
    if not path or os.path.isdir(path):
        _refuse(path, "it is a directory; name a file inside it.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        _refuse(path, f"there is no folder {folder}; create it first.")
    for sample in inputs:
        with suppress(OSError):
            if os.path.samefile(path, sample.partition("::")[0]):
                _refuse(path, "it is one of the samples; choose another name.")
    try:
        _try_to_write(path, folder)
    except OSError as error:
        _refuse(path, f"{error.strerror}; choose another place.")


def deliver(path: str | None, document: str, show: Callable[[], None]) -> None:
    """Write a document to its file, and show the summary unless stdout has the document.

    Parameters
    ----------
    path : str or None
        A file, ``-`` for standard output, or None for no document.
    document : str
    show : callable
        Prints the summary.
    """
    if path == STANDARD_OUTPUT:
        write_out(document + "\n", encoding="utf-8")
        return
    if path is not None:
        write_whole(path, document + "\n")
    show()


def write_whole(path: str, text: str) -> None:
    """Write a text file, completely or not at all; see `write_bytes`."""
    write_bytes(path, text.encode())


def write_out(text: str, encoding: str | None = None) -> None:
    """Write to standard output; a closed pipe is not an error.

    Characters that the stream cannot encode are spelled out.
    """
    stream = sys.stdout
    if stream is None:  # closed by the parent process
        return
    binary = getattr(stream, "buffer", None)
    try:
        if binary is None:
            stream.write(text)
        else:
            stream.flush()
            name = encoding or stream.encoding or "utf-8"
            binary.write(text.encode(name, "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        _silence(stream.fileno())
    except OSError as error:
        _silence(stream.fileno())
        raise InputError(
            f"standard output cannot be written: {error.strerror}; send it elsewhere."
        ) from None


def printable(text: str) -> str:
    r"""Lines for a terminal, with control characters spelled out.

    Examples
    --------
    >>> print(printable("red\x1b[31m.csv"))
    red\x1b[31m.csv
    """
    return "\n".join(visible(line) for line in text.split("\n"))


def write_bytes(path: str, data: bytes, *, alone: bool = False) -> None:
    """Write a file completely or not at all; an error of the system becomes one sentence.

    Parameters
    ----------
    path : str
    data : bytes
    alone : bool
        Whether only one process at a time may write this file: what a killed one has left is then
        written over.
    """
    try:
        _write_file(path, data, alone)
    except OSError as error:
        _refuse(path, f"{error.strerror}; choose another place.")


def _is_device(path: str) -> bool:
    """Whether it is a pipe or a device such as /dev/null, which is written to, not replaced."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _refuse(path: str, why: str) -> NoReturn:
    raise InputError(f"{path!r} cannot be written: {why}") from None


def _try_to_write(path: str, folder: str) -> None:
    from tempfile import TemporaryFile

    with suppress(FileNotFoundError):
        os.stat(path)  # finds names that are too long
        if not os.access(path, os.W_OK):
            raise PermissionError(0, "the file is read-only")
    with TemporaryFile(dir=folder):
        pass


def _write_file(path: str, data: bytes, alone: bool) -> None:
    from rdiv.whole_files import write_whole_file

    if not _is_device(path):
        write_whole_file(path, data, alone=alone)
        return
    with open(path, "wb") as stream:
        stream.write(data)


def _silence(descriptor: int) -> None:
    """Redirect a stream to the null device, so that closing it at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
