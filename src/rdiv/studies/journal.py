"""Rows on disk: appended with a checksum, safe to kill, and work that is resumed from them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from rdiv.errors import InputError, InputFileError
from rdiv.studies.execution import spread
from rdiv.whole_files import make_folder, sync_folder

__all__ = ["CHECKSUM", "Journal", "checksum", "resume_map", "sealed"]


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
    """The default check: any row is accepted."""


class Journal:
    """One file of JSON lines that only grows; only one process at a time can write to it.

    Parameters
    ----------
    path : path
        The file; it and its folder are made if they are not there.
    check : callable, optional
        Gets each row that is read, and raises ValueError, KeyError or TypeError for one that
        is not valid.
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
            if not self.rows:
                sync_folder(self.path.parent)  # else the name of a new file could be lost
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
            make_folder(self.path.parent)
            return open(self.path, "ab", buffering=0)
        except OSError as error:
            raise InputFileError(self.cannot_write(self.path, error)) from error

    def _lock(self) -> None:
        """Lock the file while this process has it open; no other process may write to it."""
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
            os.fsync(self._file.fileno())
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


Key = dict[str, Any]
Result = dict[str, Any]


def resume_map(
    function: Callable[[Key], Result],
    keys: Sequence[Key],
    *,
    file: str | Path | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    seconds: float | None = None,
) -> list[Result]:
    """Results of a function for every key, in the order of the keys.

    Parameters
    ----------
    function : callable
        From a key to a dict of numbers and texts.
    keys : sequence of dict
        Everything that decides a result, the seed included; a folder of data does not.
    file : path, optional
        A `Journal`: each result is appended to it when it is there, and those of an earlier run
        of the same keys are not computed again.
    n_jobs, scheduler
        Where the work is done, see `rdiv.power_study`.
    progress : callable, optional
        Called with the number of finished results and of all results.
    seconds : float, optional
        Begin no key after so many seconds. What was begun is finished; keys that were not reached
        have no result in the list, and the same call goes on with them.

    Examples
    --------
    >>> print(resume_map(lambda key: {"double": 2 * key["x"]}, [{"x": 3}]))
    [{'double': 6}]
    """
    opened = nullcontext() if file is None else Journal(file, check=_check, task="result")
    with opened as journal:
        rows = [] if journal is None else journal.rows
        known = {_name(row["key"]): row["result"] for row in rows}
        missing = [key for key in keys if _name(key) not in known]
        done = len(keys) - len(missing)
        finished = spread(
            _apply, function, missing, n_jobs=n_jobs, scheduler=scheduler, seconds=seconds
        )
        with closing(finished):
            for row in finished:
                known[_name(row["key"])] = row["result"]
                if journal is not None:
                    journal.append(row)
                done += 1
                if progress is not None:
                    progress(done, len(keys))
    return [known[_name(key)] for key in keys if _name(key) in known]


def _apply(function: Callable[[Key], Result], key: Key) -> dict[str, Any]:
    return {"key": key, "result": function(key)}


def _check(row: dict[str, Any]) -> None:
    """Refuse a row that `resume_map` did not write."""
    if [type(row[name]) for name in ("key", "result")] != [dict, dict]:
        raise TypeError("a key and a result are dicts")


def _name(key: Key) -> str:
    return json.dumps(key, sort_keys=True)
