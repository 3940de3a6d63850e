"""Files that are written whole or not at all, and are on the disk before the next step."""

from __future__ import annotations

import os
from contextlib import suppress
from secrets import token_hex
from shutil import copymode

__all__ = ["DRAFTS", "make_folder", "put_in_place", "sync_folder", "write_whole_file"]

DRAFTS = ".rdiv-"
"""How the name of a file begins that is not finished; a kill may leave one behind."""


def write_whole_file(path: str | os.PathLike[str], data: bytes, *, alone: bool = False) -> None:
    """Write a file completely or not at all; the old one stays until the new one is on the disk.

    Parameters
    ----------
    path : path
        The file; a link is followed.
    data : bytes
    alone : bool
        Whether nobody else writes this file: its draft has one name, and what a killed process has
        left of it is written over.

    Notes
    -----
    The content goes to a file beside it, which is forced to the disk (fsync) before it takes the
    name, and the folder after that. So a kill or a loss of power leaves the old file or the new
    one, never a part, and a file that the caller has been told of is not lost. An error of the
    system is raised as it is, and leaves nothing behind.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole_file(Path(folder, "a.txt"), b"new")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['a.txt']
    """
    place = os.path.realpath(path)
    folder, name = os.path.split(place)
    beside = os.path.join(folder, f"{DRAFTS}{name if alone else token_hex(8)}")
    try:
        with open(beside, "wb" if alone else "xb") as stream:
            stream.write(data)
        if os.path.exists(place):
            copymode(place, beside)
        put_in_place(beside, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def put_in_place(draft: str | os.PathLike[str], place: str | os.PathLike[str]) -> None:
    """Give a finished draft its name, with its content on the disk first and the folder after."""
    with open(draft, "rb") as stream:
        os.fsync(stream.fileno())
    os.replace(draft, place)
    sync_folder(os.path.dirname(os.path.abspath(place)))


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder and those above it, with the names of the new ones on the disk.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     make_folder(os.path.join(folder, "a", "b"))
    ...     print(os.listdir(os.path.join(folder, "a")))
    ['b']
    """
    above, new = os.path.abspath(folder), []
    while not os.path.exists(above):
        above = os.path.dirname(above)
        new.append(above)
    os.makedirs(folder, exist_ok=True)
    for one in reversed(new):
        sync_folder(one)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Force the names in a folder to the disk, where the system can."""
    with suppress(OSError):  # not every system opens a folder, not every disk syncs one
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
