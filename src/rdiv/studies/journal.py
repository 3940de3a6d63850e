"""Rows on disk: appended as they come, never rewritten, safe to kill at any moment."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from rdiv.errors import InputError, InputFileError
from rdiv.studies.study import Study

__all__ = ["FILES", "Journal", "row_key"]

ROWS, STUDY, DRAFT, LOCK = "rows.jsonl", "study.json", ".draft", ".lock"
FILES = frozenset({ROWS, STUDY, DRAFT, LOCK, "table.md", "table.csv", "power.svg"})

KEY_FIELDS = ("source", "test", "n", "null", "repeat", "trial")
RESULT_FIELDS = (
    "discrepancy", "model", "n_p", "n_q", "protocol", "pvalue", "statistic", "seconds",
)  # fmt: skip
GROWS = frozenset({"sources", "data", "tests", "sizes", "trials", "repeats", "null"})

Row = dict[str, Any]

_as_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def row_key(row: Row) -> tuple[Any, ...]:
    """What tells one trial's row from all others."""
    return tuple(row[name] for name in KEY_FIELDS)


class Journal:
    """The folder of a study: its description and one line for every trial that finished.

    Parameters
    ----------
    folder : path
        Made if it is not there. A folder with anything that no study wrote is refused.
    study : Study
    extend : bool
        Accept rows of an earlier study that asked for less: fewer tests, sources, sizes or trials.

    Notes
    -----
    A line is written with one call and holds a whole row, so a kill loses at most the trials that
    were running. A last line that was cut off is removed, with a notice, and its trial runs again.
    """

    def __init__(self, folder: str | Path, study: Study, *, extend: bool = False) -> None:
        self.folder = Path(folder)
        self.notices: list[str] = []
        self.rows: list[Row] = []
        self._open_folder()
        self._lock = _locked(self.folder / LOCK)
        try:
            document = study.to_dict()
            new = self._is_new(document, extend)
            self.rows = self._read_rows()
            if new:
                self.put(STUDY, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
            self._file = self._open_rows()
            self._size = os.fstat(self._file.fileno()).st_size
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        os.close(self._lock)

    def append(self, row: Row) -> None:
        """Write one row; what could not be written whole is taken back."""
        line = (_as_line(row) + "\n").encode()
        try:
            if self._file.write(line) != len(line):
                raise InputFileError("the disk is full")
        except OSError as error:
            with suppress(OSError):
                os.truncate(self._file.fileno(), self._size)
            raise InputFileError(self._cannot_write(ROWS, error)) from error
        self._size += len(line)
        self.rows.append(row)

    def put(self, name: str, text: str) -> None:
        """Write a whole file beside the rows, or leave the old one as it was."""
        draft = self.folder / DRAFT
        try:
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, self.folder / name)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise InputFileError(self._cannot_write(name, error)) from error

    def _cannot_write(self, name: str, error: OSError) -> str:
        return (
            f"cannot write to {self.folder / name}: {error.strerror or error}; the "
            f"{len(self.rows)} rows written so far are kept, and the same command continues "
            "once that is mended."
        )

    def _open_rows(self) -> FileIO:
        try:
            return open(self.folder / ROWS, "ab", buffering=0)
        except OSError as error:
            raise InputFileError(self._cannot_write(ROWS, error)) from error

    def _open_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            foreign = sorted(path.name for path in self.folder.iterdir() if path.name not in FILES)
        except OSError as error:
            raise InputFileError(
                f"cannot use {self.folder} for a study: {error.strerror}; choose another folder."
            ) from error
        if foreign:
            raise InputError(
                f"{self.folder} holds {foreign[0]!r}, which no study wrote; "
                "choose an empty folder or one of an earlier study."
            )
        if not os.access(self.folder, os.W_OK):
            raise InputFileError(f"cannot write to {self.folder}; choose another folder.")

    def _is_new(self, now: dict[str, Any], extend: bool) -> bool:
        """Whether the description is to be written; rows of another study are refused."""
        path = self.folder / STUDY
        if not path.exists():
            if (self.folder / ROWS).exists():
                raise InputError(f"{self.folder} has rows but no {STUDY}; choose another folder.")
            return True
        before = _described(path)
        changed = [name for name in now if before.get(name) != now[name]]
        more = all(name in GROWS and _grown(before.get(name), now[name]) for name in changed)
        if changed and not (extend and more):
            hint = ", or say extend=True (--extend) to add to the old rows" if more else ""
            raise InputError(
                f"{self.folder} holds rows of a study with other {', '.join(changed)}; "
                f"use another folder{hint}."
            )
        return bool(changed)

    def _read_rows(self) -> list[Row]:
        path = self.folder / ROWS
        if not path.exists():
            return []
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputFileError(
                f"cannot read {path}: {error.strerror}; choose another folder."
            ) from error
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self.notices.append(
                f"the last line of {path} was cut off and is removed; its trial runs again"
            )
            os.truncate(path, len(whole))
        rows = [_parsed(line, i, path) for i, line in enumerate(whole.splitlines(), 1)]
        lines: dict[tuple[Any, ...], int] = {}
        for number, row in enumerate(rows, 1):
            if (first := lines.setdefault(row_key(row), number)) != number:
                raise InputError(
                    f"line {number} of {path} repeats the trial of line {first}; remove one."
                )
        return rows


def _described(path: Path) -> dict[str, Any]:
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        before = None
    if not isinstance(before, dict):
        raise InputError(f"{path} is damaged; restore it or use another folder.")
    return before


def _grown(before: Any, now: Any) -> bool:
    """Whether a field of a study asks for all that it asked for before."""
    if type(before) is not type(now):
        return False
    if isinstance(now, dict):
        return bool(before.items() <= now.items())
    if isinstance(now, list):
        return all(item in now for item in before)
    return bool(before <= now)


def _parsed(line: bytes, number: int, path: Path) -> Row:
    try:
        row: Row = json.loads(line)
        hash(row_key(row))
        missing = [name for name in RESULT_FIELDS if name not in row]
        if missing or not 0 < row["pvalue"] <= 1:
            raise InputError("not a row")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"line {number} of {path} is damaged; remove that line, its trial then runs again."
        ) from error
    return row


def _locked(path: Path) -> int:
    """Hold a lock on the folder as long as this process lives; nobody else may write to it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputFileError(
            f"cannot write to {path.parent}: {error.strerror}; choose another folder."
        ) from error
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(f"another study is writing to {path.parent}; wait for it.") from None
    except (ImportError, OSError):  # this system, or this file system, has no such lock
        pass
    return handle
