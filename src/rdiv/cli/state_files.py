"""State files of monitors: one writer at a time, the old state or the new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from rdiv.cli.outputs import write_bytes
from rdiv.errors import InputError, InputFileError

if TYPE_CHECKING:
    from rdiv.monitoring.state import MonitorState

__all__ = ["from_state", "only_writer", "read_state", "to_state", "write_state"]


@contextmanager
def only_writer(path: str) -> Iterator[None]:
    """Hold the right to write a state file; a second writer gets one sentence.

    The lock is on a file beside it, which stays. The system lets go of it when the process ends,
    however it ends.
    """
    lock = f"{path}.lock"
    try:
        with open(lock, "ab") as held:
            _lock(held, path)
            yield
    except OSError as error:
        if isinstance(error, InputError) or error.filename != lock:
            raise
        raise InputFileError(
            f"{lock!r} cannot be written: {error.strerror}; choose another place."
        ) from None


def _lock(held: BinaryIO, path: str) -> None:
    try:
        import fcntl

        fcntl.flock(held.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        _lock_on_windows(held, path)
    except OSError:
        _refuse(path)


def _lock_on_windows(held: BinaryIO, path: str) -> None:
    from importlib import import_module

    windows = import_module("msvcrt")
    try:
        windows.locking(held.fileno(), windows.LK_NBLCK, 1)
    except OSError:
        _refuse(path)


def _refuse(path: str) -> None:
    raise InputError(
        f"another rdiv watch is writing to {path}; wait for it, and give the same command again."
    ) from None


def read_state(path: str) -> MonitorState:
    """The state in a file; a file that holds none is refused in one sentence."""
    from rdiv.monitoring.state import MonitorState

    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise InputError(
            f"there is no state file {path}; make one with rdiv watch start."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"{path} could not be read: {why}; check the file.") from None
    try:
        return MonitorState.from_json(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_state(path: str, state: MonitorState) -> None:
    """Put a new state in the place of the old one; it is on the disk when this returns."""
    write_bytes(path, state.to_json().encode(), alone=True)


def from_state(path: str, state: str) -> str:
    """A path as it is written into a state file: relative to that file's folder."""
    from rdiv.samples.partition_files import is_remote

    if is_remote(path):
        return path
    file, mark, inside = path.partition("::")
    folder = os.path.dirname(os.path.realpath(state))
    try:
        relative = os.path.relpath(os.path.realpath(file), folder)
    except ValueError:  # on another drive
        relative = os.path.realpath(file)
    return relative.replace(os.sep, "/") + mark + inside


def to_state(path: str, state: str) -> str:
    """The place of a path that a state file holds."""
    from rdiv.samples.partition_files import is_remote

    if is_remote(path):
        return path
    file, mark, inside = path.partition("::")
    folder = os.path.dirname(os.path.realpath(state))
    return os.path.normpath(os.path.join(folder, file)) + mark + inside
