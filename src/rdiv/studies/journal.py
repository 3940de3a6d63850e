"""Rows on disk: appended as they come, each with a checksum, safe to kill at any moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from rdiv.errors import InputError, InputFileError

__all__ = ["CHECKSUM", "Journal", "checksum", "sealed"]

CHECKSUM = "checksum"
Row = dict[str, Any]

_as_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def checksum(row: Row) -> str:
    """A digest of all that a row says.

    Examples
    --------
    >>> print(checksum({"trial": 1, "pvalue": 0.5}) == checksum({"trial": 1, "pvalue": 0.05}))
    False
    """
    return blake2b(_as_text(row).encode(), digest_size=8).hexdigest()


def sealed(row: Row) -> bytes:
    """A row as the line that a journal holds: its fields, then the checksum of them.

    Examples
    --------
    >>> print(sealed({"x": 1}).decode(), end="")
    {"x": 1, "checksum": "b26ebc11944030fe"}
    """
    return (_as_text({**row, CHECKSUM: checksum(row)}) + "\n").encode()


def _anything(row: Row) -> None:
    """What a row may be when nobody says more: a dict."""


class Journal:
    """One file of JSON lines that only grows; whoever has it open is its only writer.

    Parameters
    ----------
    path : path
        The file; it and its folder are made if they are not there.
    check : callable, optional
        Gets each row that is read, and raises ValueError, KeyError or TypeError for one that
        nobody wrote.
    task : str
        What a row is the result of, for messages.

    Notes
    -----
    A line is written with one call, holds a whole row, and is on the disk before `append` returns.
    A kill therefore loses at most what was running. A last line that was cut off is removed, with
    a notice. Any other line that is not exactly as it was written is refused.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Journal(Path(folder) / "rows.jsonl") as journal:
    ...         journal.append({"x": 1})
    ...     with Journal(Path(folder) / "rows.jsonl") as again:
    ...         print(again.rows)
    [{'x': 1}]
    """

    def __init__(
        self,
        path: str | Path,
        *,
        check: Callable[[Row], None] = _anything,
        task: str = "trial",
    ) -> None:
        self.path = Path(path)
        self.notices: list[str] = []
        self.rows: list[Row] = []
        self._check, self._task = check, task
        self._file = self._opened()
        try:
            self._lock()
            self.rows = self._read()
        except BaseException:
            self._file.close()
            raise
        self._size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def append(self, row: Row) -> None:
        """Write one row to the disk; what could not be written whole is taken back."""
        line = sealed(row)
        try:
            if self._file.write(line) != len(line):
                raise InputFileError("the disk is full")
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                os.truncate(self._file.fileno(), self._size)
            raise InputFileError(self.cannot_write(self.path, error)) from error
        self._size += len(line)
        self.rows.append(row)

    def cannot_write(self, path: Path, error: OSError) -> str:
        """What to say when a file of this journal, or beside it, cannot be written."""
        return (
            f"cannot write to {path}: {error.strerror or error}; the {len(self.rows)} rows "
            "written so far are kept, and the same command continues once that is mended."
        )

    def _opened(self) -> FileIO:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return open(self.path, "ab", buffering=0)
        except OSError as error:
            raise InputFileError(self.cannot_write(self.path, error)) from error

    def _lock(self) -> None:
        """Hold the file as long as this process has it open; nobody else may write to it."""
        try:
            import fcntl

            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing to {self.path.parent}; wait for it."
            ) from None
        except (ImportError, OSError):  # this system, or this file system, has no such lock
            pass

    def _read(self) -> list[Row]:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise InputFileError(
                f"cannot read {self.path}: {error.strerror}; choose another folder."
            ) from error
        whole = content[: content.rfind(b"\n") + 1]
        rows = [self._row(line, i) for i, line in enumerate(whole.splitlines(keepends=True), 1)]
        if len(whole) < len(content):
            self.notices.append(
                f"the last line of {self.path} was cut off and is removed; its {self._task} "
                "runs again"
            )
            os.truncate(self.path, len(whole))
        return rows

    def _row(self, line: bytes, number: int) -> Row:
        """The row of a line that is exactly as `append` wrote it."""
        place, advice = f"line {number} of {self.path}", f"its {self._task} then runs again."
        try:
            row: Row = json.loads(line)
            if number == 1 and CHECKSUM not in row:
                raise InputError(_OLDER.format(self.path.parent))
            del row[CHECKSUM]
            changed = sealed(row) != line
            if not changed:
                self._check(row)
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{place} is damaged; remove that line, {advice}") from error
        if changed:
            raise InputError(
                f"{place} was changed after it was written, its checksum does not match; remove "
                f"that line, {advice}"
            )
        return row


_OLDER = "{} was written by an older version of rdiv, without checksums; choose another folder."
