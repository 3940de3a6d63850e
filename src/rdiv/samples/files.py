"""From files to frames and arrays; a broken file is refused with one sentence."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from rdiv.errors import (
    InputError,
    InputFileError,
    InputTypeError,
    MissingExtraError,
    MissingFileError,
)
from rdiv.names import suggestion
from rdiv.samples.arguments import described
from rdiv.samples.array_files import read_npy, read_npz
from rdiv.samples.csv_files import check_utf8, damaged, read_csv, typed_column
from rdiv.samples.file_bytes import (
    BROKEN_GZIP,
    MOST_DECOMPRESSED,
    Fingerprint,
    check_decompressed,
    decompressed,
    fingerprint,
    open_once,
)
from rdiv.samples.memory import check_memory

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMATS", "Recorded", "find_file", "read", "read_recorded"]

_TEXT = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
_BINARY = {".parquet": "parquet", ".feather": "feather", ".npy": "npy", ".npz": "npz"}


def _formats() -> str:
    """The endings that `read` knows, for a sentence; .ndjson is .jsonl by another name."""
    texts = ", ".join(suffix[1:] for suffix in _TEXT if suffix != ".ndjson")
    *most, last = [suffix[1:] for suffix in _BINARY]
    return f"{texts} (each also as .gz), {', '.join(most)} and {last}"


FORMATS = _formats()
"""What `read` reads, in the words of its messages."""


def read(
    path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    max_decompressed: int = MOST_DECOMPRESSED,
) -> Any:
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
    max_decompressed : int
        Bytes that a compressed file may hold, 4 GiB by default: a small file can hold far more
        than there is memory for.

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
    return read_recorded(path, data_dir=data_dir, most=max_decompressed, hashed=False).sample


class Recorded(NamedTuple):
    """A sample and, where it was asked for, the hash of the bytes that it was read from."""

    sample: Any
    fingerprint: Fingerprint | None


def read_recorded(
    path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    most: int = MOST_DECOMPRESSED,
    hashed: bool = True,
) -> Recorded:
    """Read a file as `read` does, and hash the bytes that were read; it is opened once.

    Parameters
    ----------
    path, data_dir
        As for `read`.
    most : int
        Bytes that a compressed file may hold.
    hashed : bool
        Whether the hash is needed.
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"max_decompressed must be a whole number of bytes, got {most!r}.")
    file, name = _locate(_path(path, "path"), data_dir)
    kind = _kind(file)
    if name is not None and kind != "npz":
        raise InputError(f"::{name} picks an array of an npz file, but {file} is a {kind} file.")
    if file.is_file() and file.stat().st_size == 0:
        raise InputError(f"{file} is empty; check how it was written.")
    with open_once(file) as stream:
        if kind in ("npz", "npy"):
            sample = read_npz(stream, file, name, most) if kind == "npz" else read_npy(stream, file)
        else:
            _require_polars(kind)
            stream, sample = _read_table(stream, file, kind, most)
        return Recorded(sample, fingerprint(stream) if hashed else None)


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
    near = suggestion(wanted.name, names)
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


DATABASES = (".db", ".sqlite", ".sqlite3")
"""Endings of SQLite files, of which `rdiv.scan` reads a table or a query."""


def _kind(file: Path) -> str:
    name = file.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    kind = _TEXT.get(suffix) or (None if name.endswith(".gz") else _BINARY.get(suffix))
    if kind is None and suffix in DATABASES:
        raise InputError(
            f"{file} is a database; name one of its tables, or a query, as {file}::TABLE or "
            f"'{file}::select ...'."
        )
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


# Tables


def _read_table(
    stream: IO[bytes], file: Path, kind: str, most: int
) -> tuple[IO[bytes], pl.DataFrame]:
    """The bytes of a table as a stream in memory, and the frame that was read from them."""
    if file.is_file():
        size = file.stat().st_size
        check_memory(size, f"reading {file}", "read it in partitions, see rdiv.scan")
    data = stream.read()
    whole = io.BytesIO(data)
    if kind in ("parquet", "feather"):
        return whole, _read_columns(data, file, kind, most)
    text = _text(data, file, most)
    if kind == "JSON lines":
        return whole, _read_json_lines(text, file)
    return whole, read_csv(text, "," if kind == "CSV" else "\t", file)


def _read_columns(data: bytes, file: Path, kind: str, most: int) -> pl.DataFrame:
    import polars as pl

    scan: Any = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
    load: Any = pl.read_parquet if kind == "parquet" else pl.read_ipc
    try:
        lazy: pl.LazyFrame = scan(io.BytesIO(data))
        cells = lazy.select(pl.len()).collect().item() * len(lazy.collect_schema())
        check_decompressed(8 * cells, file, most)
        frame: pl.DataFrame = load(io.BytesIO(data))
    except InputError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        damaged(file, kind, error)
    index = [name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)]
    return frame.drop(index).rechunk()  # rows are gathered faster from one piece


def _text(data: bytes, file: Path, most: int) -> bytes:
    """The text of a file, decompressed where it is gzip."""
    try:
        data = decompressed(data, file, most)
    except InputError:
        raise
    except BROKEN_GZIP as error:
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
