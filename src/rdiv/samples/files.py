"""Files to frames and arrays, refusing in one sentence whatever is broken."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    import polars as pl

__all__ = ["find_file", "read"]

MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"]
"""Words of a text file that stand for a missing value."""

_TEXT = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
_BINARY = {".parquet": "parquet", ".feather": "feather", ".npy": "npy", ".npz": "npz"}
_FORMATS = "csv, tsv, jsonl (each also as .gz), parquet, feather, npy and npz"
_PEEK = 1000  # rows that suggest which columns of a CSV file are numbers


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
    file, name = _locate(os.path.expanduser(os.fsdecode(path)), data_dir)
    kind = _kind(file)
    if name is not None and kind != "npz":
        raise ValueError(f"::{name} picks an array of an npz file, but {file} is a {kind} file.")
    if file.is_file() and file.stat().st_size == 0:
        raise ValueError(f"{file} is empty; check how it was written.")
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
    return _read_csv(text, "," if kind == "CSV" else "\t", file)


def find_file(
    path: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None
) -> Path:
    """The file that `read` would open for a path.

    Examples
    --------
    >>> find_file("no-such-file.csv")
    Traceback (most recent call last):
    ...
    FileNotFoundError: there is no file no-such-file.csv...
    """
    return _locate(os.path.expanduser(os.fsdecode(path)), data_dir)[0]


def _locate(path: str, data_dir: str | os.PathLike[str] | None) -> tuple[Path, str | None]:
    """The file behind a path, and the array named after ``::`` if one is."""
    folder = os.environ.get("RDIV_DATA") if data_dir is None else os.fsdecode(data_dir)
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
    near = _near(wanted.name, names)
    raise FileNotFoundError(f"there is no file {wanted}{also}; {near or 'check the path.'}")


def _readable(file: Path) -> Path:
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a directory, expected a file; name a file inside it.")
    if not os.access(file, os.R_OK):
        raise PermissionError(f"{file} may not be read by you; change its permissions.")
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
        raise ValueError(
            f"{file} has {ending}, which rdiv does not read; save it as one of {_FORMATS}."
        )
    return kind


def _require_polars(kind: str) -> None:
    try:
        import polars  # noqa: F401
    except ImportError:
        raise ImportError(
            f'reading {kind} files needs polars; install it with pip install "rdiv[cli]"'
        ) from None


def _damaged(file: Path, kind: str, error: BaseException) -> NoReturn:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    raise ValueError(
        f"{file} could not be read as {kind} ({reason}): it is truncated, damaged or in another "
        "format; write or download it again."
    ) from error


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
        _damaged(file, "npz", error)
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
        raise ValueError(f"{file} has no array {name!r}, it holds {', '.join(names)}; {near}")
    if set(names) in ({"x", "y"}, {"X", "y"}):
        return sorted(names, key=str.lower)
    if len(names) == 1:
        return names
    if not names:
        raise ValueError(f"{file} holds no arrays; check how it was written.")
    raise ValueError(
        f"{file} holds several arrays ({', '.join(names)}); choose one with {file}::{names[0]}."
    )


def _broken_array(file: Path, kind: str, error: Exception) -> NoReturn:
    if "allow_pickle" in str(error):
        raise ValueError(
            f"{file} holds pickled Python objects, which rdiv never loads because they can run "
            "code; save plain arrays of numbers."
        ) from None
    _damaged(file, kind, error)


# Tables


def _read_columns(file: Path, kind: str) -> pl.DataFrame:
    import polars as pl

    load: Any = pl.read_parquet if kind == "parquet" else pl.read_ipc
    try:
        frame: pl.DataFrame = load(io.BytesIO(file.read_bytes()))
    except (Exception, pl.exceptions.PanicException) as error:
        _damaged(file, kind, error)
    index = [name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)]
    return frame.drop(index)


def _read_text(file: Path) -> bytes:
    data = file.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            _damaged(file, "gzip", error)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        raise ValueError(f"{file} is empty; check how it was written.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(
            f"{file} has zero bytes (the first in line {line}), so it is UTF-16 text or damaged; "
            "save it as UTF-8 text."
        )
    return data


def _check_utf8(data: bytes, file: Path) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{file} is not UTF-8 text (line {line}, byte {error.start + 1} of the file); "
            "save it again with the encoding UTF-8."
        ) from None


def _read_json_lines(data: bytes, file: Path) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as error:
        _check_utf8(data, file)
        for number, line in enumerate(data.splitlines(), start=1):
            if line.strip() and not _is_json_object(line):
                raise ValueError(
                    f"line {number} of {file} is not a JSON object; expected one "
                    '{"column": value, ...} a line.'
                ) from None
        _damaged(file, "JSON lines", error)
    return frame.with_columns(_typed(c, numbers=False) for c in frame if c.dtype == pl.String)


def _is_json_object(line: bytes) -> bool:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)  # NaN and Infinity are Python's, not JSON's

    try:
        return isinstance(json.loads(line, parse_constant=refuse), dict)
    except ValueError:
        return False


def _read_csv(data: bytes, separator: str, file: Path) -> pl.DataFrame:
    import polars as pl

    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if not data.endswith(b"\n"):
        data += b"\n"  # or polars overlooks a separator at the very end
    names = _header(data, separator, file)
    try:
        frame = _parse(data, separator)
        frame.columns = names  # polars leaves doubled quotes in names as they are
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _check_utf8(data, file)
        _filled_rows(data, separator, file)
        _refuse_quotes(data, file)
        _damaged(file, "CSV", error)
    # polars fills up short rows with nulls, and lets some broken quotes pass
    if b'"' in data or frame[:, -1].null_count():
        filled = _filled_rows(data, separator, file)
        if len(filled) != len(frame):
            _refuse_quotes(data, file)
            raise ValueError(f"{file} mixes kinds of line ends; save it with one kind of them.")
        frame = frame.filter(filled) if len(names) > 1 else frame
    return frame.drop("") if len(names) > 1 and names[0] == "" else frame


def _parse(data: bytes, separator: str) -> pl.DataFrame:
    """Read text columns, then give each the narrowest type that holds all of its values."""
    import polars as pl

    def load(dtypes: dict[str, Any], n_rows: int | None = None) -> pl.DataFrame:
        return pl.read_csv(
            data,
            separator=separator,
            infer_schema=False,
            schema_overrides=dtypes,
            null_values=MISSING,
            n_rows=n_rows,
        )

    start = [_typed(column) for column in load({}, n_rows=_PEEK)]
    try:  # parsing numbers at once saves time and memory; the outcome is the same
        frame = load({column.name: column.dtype for column in start if column.dtype.is_numeric()})
    except pl.exceptions.PolarsError:
        frame = load({})
    return frame.with_columns(_typed(column) for column in frame if column.dtype == pl.String)


def _typed(column: pl.Series, *, numbers: bool = True) -> pl.Series:
    """A text column as numbers, booleans, dates or times if all its values are such."""
    import polars as pl

    readings = _readings() if numbers else _readings()[3:]
    start = _words(column.drop_nulls().head(_PEEK))
    likely = [read_as for read_as in readings if _fits(read_as(start), start)]
    if not likely:
        return column
    words = _words(column)
    if words.null_count() == len(words):
        return words.cast(pl.Null) if len(words) else column
    typed = (read_as(words) for read_as in likely)
    return next((values for values in typed if _fits(values, words)), column)


def _words(column: pl.Series) -> pl.Series:
    words = column.str.strip_chars()
    return words.set(words.is_in(MISSING), None)


def _fits(values: pl.Series, words: pl.Series) -> bool:
    return values.null_count() == words.null_count()


def _readings() -> list[Callable[[pl.Series], pl.Series]]:
    """What words may mean, narrow types first; a word that does not fit becomes null."""
    import polars as pl

    def moments(form: str) -> Callable[[pl.Series], pl.Series]:
        return lambda s: s.str.replace(" ", "T", literal=True).str.to_datetime(form, strict=False)

    booleans = {"true": True, "false": False}
    minutes = "%Y-%m-%dT%H:%M"
    return [
        lambda s: s.cast(pl.Int64, strict=False),
        lambda s: s.cast(pl.Float64, strict=False),
        lambda s: s.str.to_lowercase().replace_strict(
            booleans, default=None, return_dtype=pl.Boolean
        ),
        lambda s: s.set(s.str.len_bytes() != 10, None).str.to_date("%Y-%m-%d", strict=False),
        moments(minutes),
        moments(f"{minutes}:%S%.f"),
        moments(f"{minutes}:%S%.f%#z"),
        lambda s: s.set(s.str.len_bytes() < 8, None).str.to_time("%H:%M:%S%.f", strict=False),
    ]


# The csv module as a judge of rows and quotes: slower than polars, but it does not guess.


def _header(data: bytes, separator: str, file: Path) -> list[str]:
    with _rows(data, separator, file) as numbered:
        rows = (row for _, row in numbered if row)
        names = next(rows)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"{file} has more than one column named {', '.join(map(repr, twice[:5]))}; "
            "rename or drop the duplicates."
        )
    numbers = all(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", name.strip(), re.I) for name in names)
    if numbers and any("." in name for name in names):
        raise ValueError(
            f"{file} has numbers in its first line, expected column names; add a line of names."
        )
    other = next((mark for mark in ";\t|," if mark in names[0]), None) if len(names) == 1 else None
    if other and names[0].count(other) == _second_row(data, separator, file)[0].count(other):
        raise ValueError(
            f"{file} has columns separated by {other!r}, expected {separator!r}; "
            "save it with that separator (a .tsv file has tabs)."
        )
    return names


def _second_row(data: bytes, separator: str, file: Path) -> list[str]:
    with _rows(data, separator, file) as numbered:
        rows = (row for _, row in numbered if row)
        next(rows)
        return next(rows, [""])


def _filled_rows(data: bytes, separator: str, file: Path) -> list[bool]:
    """For every line of data whether it is not blank; a row of the wrong width is an error."""
    filled = []
    with _rows(data, separator, file) as rows:
        width = next(len(row) for _, row in rows if row)
        for line, row in rows:
            if row and len(row) != width:
                raise ValueError(
                    f"line {line} of {file} has {len(row)} fields, but the header has {width}; "
                    "repair that line."
                )
            filled.append(bool(row))
    return filled


def _refuse_quotes(data: bytes, file: Path) -> None:
    """Blame the first line with an odd number of quotes, if there is one."""
    for line, text in enumerate(data.split(b"\n"), start=1):
        if text.count(b'"') % 2:
            raise ValueError(
                f"{file} has a stray quote, by the looks of it in line {line}; put that field in "
                "quotes and double the quote inside it."
            )


@contextmanager
def _rows(data: bytes, separator: str, file: Path) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Every row, and the line it starts in; long fields are no fault while the block runs."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    limit = csv.field_size_limit()
    csv.field_size_limit(max(limit, len(data) + 1))
    try:
        yield _numbered(reader, data, file)
    finally:
        csv.field_size_limit(limit)


def _numbered(reader: Any, data: bytes, file: Path) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except UnicodeDecodeError:
        _check_utf8(data, file)
    except csv.Error as error:
        raise ValueError(
            f"line {line} of {file} has a quote that is not closed or not where a field ends "
            f"({error}); repair that line."
        ) from None
