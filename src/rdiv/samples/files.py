"""From files to frames and arrays; a broken file is refused with one sentence."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import zipfile
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rdiv.errors import (
    InputError,
    InputFileError,
    InputTypeError,
    MissingExtraError,
    MissingFileError,
)
from rdiv.samples.arguments import described
from rdiv.samples.csv_files import check_utf8, damaged, read_csv, typed_column

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMATS", "find_file", "read"]

_TEXT = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
_BINARY = {".parquet": "parquet", ".feather": "feather", ".npy": "npy", ".npz": "npz"}


def _formats() -> str:
    """The endings that `read` knows, for a sentence; .ndjson is .jsonl by another name."""
    texts = ", ".join(suffix[1:] for suffix in _TEXT if suffix != ".ndjson")
    *most, last = [suffix[1:] for suffix in _BINARY]
    return f"{texts} (each also as .gz), {', '.join(most)} and {last}"


FORMATS = _formats()
"""What `read` reads, in the words of its messages."""


def read(path: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None) -> Any:
    r"""Read a table or an array from a file.

    The ending of the name says what is inside. ``.csv``, ``.tsv``, ``.jsonl`` (or ``.ndjson``;
    these may be compressed, ``.csv.gz``), ``.parquet`` and ``.feather`` give a polars frame.
    ``.npy`` gives an array; ``.npz`` gives the pair ``(x, y)`` when it holds exactly ``x`` and
    ``y`` (or ``X`` and ``y``), its array when it holds one, and ``file.npz::NAME`` one of many.
    Pickled objects are never loaded.

    Parameters
    ----------
    path : str or path
        The file. A relative path that does not exist is looked for in ``data_dir`` too.
    data_dir : str or path, optional
        Second place to look; by default the folder in the environment variable ``RDIV_DATA``.

    Returns
    -------
    polars.DataFrame, array, or pair of arrays

    Notes
    -----
    CSV and TSV files are UTF-8 text with column names in the first line. Empty cells and the words
    NA, N/A, n/a, #N/A, <NA>, NaN, nan, null and NULL are missing values, in text columns too. The
    type of a column follows from all of its rows, whatever their order: whole numbers, numbers,
    true and false, ISO 8601 dates and times (2024-05-31, 2024-05-31T12:30:00), otherwise text.
    Blank lines are skipped, except in a file of one column, where they are missing values. A row
    index that pandas or R saved along (a first column without a name) is left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     _ = file.write_text("age,region\n31,west\nNA,east\n")
    ...     frame = read(file)
    >>> print(frame.columns, frame.rows())
    ['age', 'region'] [(31, 'west'), (None, 'east')]
    """
    file, name = _locate(_path(path, "path"), data_dir)
    kind = _kind(file)
    if name is not None and kind != "npz":
        raise InputError(f"::{name} picks an array of an npz file, but {file} is a {kind} file.")
    if file.is_file() and file.stat().st_size == 0:
        raise InputError(f"{file} is empty; check how it was written.")
    if kind == "npz":
        return _read_npz(file, name)
    if kind == "npy":
        return _read_npy(file)
    _require_polars(kind)
    if kind in ("parquet", "feather"):
        return _read_columns(file, kind)
    text = _read_text(file)
    if kind == "JSON lines":
        return _read_json_lines(text, file)
    return read_csv(text, "," if kind == "CSV" else "\t", file)


def find_file(
    path: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None
) -> Path:
    """The file that `read` would open for a path.

    Examples
    --------
    >>> find_file("no-such-file.csv")
    Traceback (most recent call last):
    ...
    rdiv.errors.MissingFileError: there is no file no-such-file.csv...
    """
    return _locate(_path(path, "path"), data_dir)[0]


def _path(path: Any, name: str) -> str:
    if not isinstance(path, str | bytes | os.PathLike):
        raise InputTypeError(
            f"{name} must be the path of a file, got {described(path)}; rows that are in memory "
            "need no reading."
        )
    return os.path.expanduser(os.fsdecode(path))


def _locate(path: str, data_dir: str | os.PathLike[str] | None) -> tuple[Path, str | None]:
    """The file behind a path, and the array named after ``::`` if one is."""
    folder = os.environ.get("RDIV_DATA") if data_dir is None else _path(data_dir, "data_dir")
    folder = os.path.expanduser(folder) if folder else None
    places = [path, os.path.join(folder, path)] if folder else [path]
    head, colons, name = path.rpartition("::")
    for place in places:
        if os.path.exists(place):
            return _readable(Path(place)), None
        if colons and os.path.exists(place.removesuffix(f"::{name}")):
            return _readable(Path(place.removesuffix(f"::{name}"))), name
    wanted = Path(head if colons else path)
    also = f" (nor in {folder})" if folder and not wanted.is_absolute() else ""
    names = [name for place in places for name in _names_in(Path(place).parent)]
    dangling = [place for place in places if os.path.islink(place)]
    if dangling:
        raise MissingFileError(
            f"{dangling[0]} is a link to {os.readlink(dangling[0])}, which does not exist; restore "
            "that file or mend the link."
        )
    near = _near(wanted.name, names)
    raise MissingFileError(f"there is no file {wanted}{also}; {near or 'check the path.'}")


def _readable(file: Path) -> Path:
    if file.is_dir():
        raise InputFileError(f"{file} is a directory, expected a file; name a file inside it.")
    if not os.access(file, os.R_OK):
        raise InputFileError(f"{file} may not be read by you; change its permissions.")
    return file


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _near(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _kind(file: Path) -> str:
    name = file.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    kind = _TEXT.get(suffix) or (None if name.endswith(".gz") else _BINARY.get(suffix))
    if kind is None:
        ending = "".join(Path(name).suffixes[-2:]) or "no ending"
        raise InputError(
            f"{file} has {ending}, which rdiv does not read; save it as one of {FORMATS}."
        )
    return kind


def _require_polars(kind: str) -> None:
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            f'reading {kind} files needs polars; install it with pip install "rdiv[cli]"'
        ) from None


# Arrays


def _read_npy(file: Path) -> Any:
    with open(file, "rb") as stream:
        try:
            return np.lib.format.read_array(stream, allow_pickle=False)
        except Exception as error:
            _broken_array(file, "npy", error)


def _read_npz(file: Path, name: str | None) -> Any:
    try:
        with zipfile.ZipFile(file) as archive:
            names = [member.removesuffix(".npy") for member in archive.namelist()]
    except Exception as error:
        damaged(file, "npz", error)
    chosen = _choose(names, name, file)
    try:
        with np.load(file, allow_pickle=False) as arrays:
            loaded = [np.asarray(arrays[key]) for key in chosen]
    except Exception as error:
        _broken_array(file, "npz", error)
    return loaded[0] if len(loaded) == 1 else tuple(loaded)


def _choose(names: list[str], name: str | None, file: Path) -> list[str]:
    """Which arrays of an archive to load."""
    if name is not None and name in names:
        return [name]
    if name is not None:
        near = _near(name, names) or f"choose one of them with {file}::NAME."
        raise InputError(f"{file} has no array {name!r}, it holds {', '.join(names)}; {near}")
    if set(names) in ({"x", "y"}, {"X", "y"}):
        return sorted(names, key=str.lower)
    if len(names) == 1:
        return names
    if not names:
        raise InputError(f"{file} holds no arrays; check how it was written.")
    raise InputError(
        f"{file} holds several arrays ({', '.join(names)}); choose one with {file}::{names[0]}."
    )


def _broken_array(file: Path, kind: str, error: Exception) -> NoReturn:
    if "allow_pickle" in str(error):
        raise InputError(
            f"{file} holds pickled Python objects, which rdiv never loads because they can run "
            "code; save plain arrays of numbers."
        ) from None
    damaged(file, kind, error)


# Tables


def _read_columns(file: Path, kind: str) -> pl.DataFrame:
    import polars as pl

    load: Any = pl.read_parquet if kind == "parquet" else pl.read_ipc
    try:
        frame: pl.DataFrame = load(io.BytesIO(file.read_bytes()))
    except (Exception, pl.exceptions.PanicException) as error:
        damaged(file, kind, error)
    index = [name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)]
    return frame.drop(index)


def _read_text(file: Path) -> bytes:
    data = file.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            damaged(file, "gzip", error)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        raise InputError(f"{file} is empty; check how it was written.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(
            f"{file} has zero bytes (the first in line {line}), so it is UTF-16 text or damaged; "
            "save it as UTF-8 text."
        )
    return data


def _read_json_lines(data: bytes, file: Path) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as error:
        check_utf8(data, file)
        for number, line in enumerate(data.splitlines(), start=1):
            if line.strip() and not _is_json_object(line):
                raise InputError(
                    f"line {number} of {file} is not a JSON object of plain values; expected one "
                    '{"column": value, ...} a line.'
                ) from None
        damaged(file, "JSON lines", error)
    return frame.with_columns(typed_column(c, numbers=False) for c in frame if c.dtype == pl.String)


def _is_json_object(line: bytes) -> bool:
    def refuse(constant: str) -> NoReturn:
        raise InputError(constant)  # NaN and Infinity are Python's, not JSON's

    try:
        return isinstance(json.loads(line, parse_constant=refuse), dict)
    except ValueError:
        return False
    except RecursionError:  # lists in lists in lists
        return False
