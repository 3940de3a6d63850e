"""The folder of a study: its description, its rows, and the tables made of them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from rdiv.errors import InputError, InputFileError
from rdiv.studies.journal import Journal
from rdiv.studies.study import Study
from rdiv.whole_files import DRAFTS, make_folder, write_whole_file

__all__ = ["FILES", "ROWS", "StudyFolder", "check_row", "row_key"]

ROWS, STUDY = "rows.jsonl", "study.json"
OLD_LOCK, OLD_DRAFT = ".lock", ".draft"  # older versions left these behind
FILES = frozenset({ROWS, STUDY, OLD_DRAFT, OLD_LOCK, "table.md", "table.csv", "power.svg"})

Kinds = tuple[type, ...]
NUMBER: Kinds = (int, float)
KEY_FIELDS: dict[str, Kinds] = {
    "source": (str,),
    "test": (str,),
    "n": (int,),
    "null": (bool,),
    "repeat": (int,),
    "trial": (int,),
}
RESULT_FIELDS: dict[str, Kinds] = {
    "discrepancy": (str,),
    "model": (str, type(None)),
    "n_p": (int,),
    "n_q": (int,),
    "protocol": (str,),
    "pvalue": NUMBER,
    "statistic": (*NUMBER, type(None)),
    "seconds": NUMBER,
}
GROWS = frozenset({"sources", "data", "tests", "sizes", "trials", "repeats", "null"})

Row = dict[str, Any]


def row_key(row: Row) -> tuple[Any, ...]:
    """What tells one trial's row from all others."""
    return tuple(row[name] for name in KEY_FIELDS)


def check_row(row: Row) -> None:
    """Refuse a row with a field missing, of another type, or a p-value that no test gives.

    Examples
    --------
    >>> check_row({"source": "blob"})
    Traceback (most recent call last):
    ...
    KeyError: 'test'
    """
    for name, kinds in {**KEY_FIELDS, **RESULT_FIELDS}.items():
        if type(row[name]) not in kinds:  # exactly: True is no number here
            raise TypeError(f"{name} is {row[name]!r}")
    if not 0 < row["pvalue"] <= 1:
        raise ValueError(f"pvalue is {row['pvalue']!r}")


class StudyFolder:
    """The folder of a study: its description and one line for every trial that finished.

    Parameters
    ----------
    folder : path
        Made if it is not there. A folder with anything that no study wrote is refused.
    study : Study
    extend : bool
        Accept rows of an earlier study that asked for less: fewer tests, sources, sizes or trials.
    """

    def __init__(self, folder: str | Path, study: Study, *, extend: bool = False) -> None:
        self.folder = Path(folder)
        self._open_folder()
        self.journal = Journal(self.folder / ROWS, check=check_row)
        try:
            document = study.to_dict()
            new = self._is_new(document, extend)
            self._refuse_repeats()
            self._remove_drafts()
            if new:
                self.put(STUDY, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        except BaseException:
            self.journal.__exit__(None, None, None)
            raise

    def __enter__(self) -> StudyFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.journal.__exit__(kind, error, trace)

    def put(self, name: str, text: str) -> None:
        """Write a whole file beside the rows, or leave the old one as it was."""
        try:
            write_whole_file(self.folder / name, text.encode())
        except OSError as error:
            raise InputFileError(self.journal.cannot_write(self.folder / name, error)) from error

    def _open_folder(self) -> None:
        try:
            make_folder(self.folder)
            names = sorted(path.name for path in self.folder.iterdir())
        except OSError as error:
            raise InputFileError(
                f"cannot use {self.folder} for a study: {error.strerror}; choose another folder."
            ) from error
        foreign = [name for name in names if name not in FILES and not name.startswith(DRAFTS)]
        if foreign:
            raise InputError(
                f"{self.folder} holds {foreign[0]!r}, which no study wrote; "
                "choose an empty folder or one of an earlier study."
            )
        if not os.access(self.folder, os.W_OK):
            raise InputFileError(f"cannot write to {self.folder}; choose another folder.")

    def _remove_drafts(self) -> None:
        """Remove what a kill left half-written; no other process writes to this folder."""
        for draft in self.folder.glob(f"{DRAFTS}*"):
            with suppress(OSError):
                draft.unlink()

    def _is_new(self, now: dict[str, Any], extend: bool) -> bool:
        """Whether the description is to be written; rows of another study are refused."""
        path = self.folder / STUDY
        if not path.exists():
            if self.journal.rows:
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

    def _refuse_repeats(self) -> None:
        lines: dict[tuple[Any, ...], int] = {}
        for number, row in enumerate(self.journal.rows, 1):
            if (first := lines.setdefault(row_key(row), number)) != number:
                raise InputError(
                    f"line {number} of {self.journal.path} repeats the trial of line {first}; "
                    "remove one."
                )


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
