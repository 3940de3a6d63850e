"""Comma-separated text to frames: types that all rows agree on, faults named by their line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rdiv.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MISSING",
    "check_utf8",
    "column_readings",
    "csv_text",
    "damaged",
    "fitting_readings",
    "read_csv",
    "typed_column",
]

MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"]
"""Words of a text file that stand for a missing value."""

_PEEK = 1000  # rows that suggest which columns of a CSV file are numbers


def read_csv(data: bytes, separator: str, file: Path) -> pl.DataFrame:
    """A frame of typed columns from the text of a file."""
    return _read_rows(data, separator, file, _parse)


def csv_text(data: bytes, separator: str, file: Path) -> pl.DataFrame:
    """A frame of text columns from the text of a file."""
    return _read_rows(data, separator, file, _load)


def _read_rows(
    data: bytes, separator: str, file: Path, parse: Callable[[bytes, str], pl.DataFrame]
) -> pl.DataFrame:
    import polars as pl

    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if not data.endswith(b"\n"):
        data += b"\n"  # or polars overlooks a separator at the very end
    names = _header(data, separator, file)
    try:
        frame = parse(data, separator)
        frame.columns = names  # polars leaves doubled quotes in names as they are
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        check_utf8(data, file)
        _filled_rows(data, separator, file)
        _refuse_quotes(data, file)
        damaged(file, "CSV", error)
    # polars fills up short rows with nulls, and lets some broken quotes pass
    if b'"' in data or frame[:, -1].null_count():
        filled = _filled_rows(data, separator, file)
        if len(filled) != len(frame):
            _refuse_quotes(data, file)
            raise InputError(f"{file} mixes kinds of line ends; save it with one kind of them.")
        frame = frame.filter(filled) if len(names) > 1 else frame
    return frame.drop("") if len(names) > 1 and names[0] == "" else frame


def _parse(data: bytes, separator: str) -> pl.DataFrame:
    """Read text columns, then give each the narrowest type that holds all of its values."""
    import polars as pl

    start = [typed_column(column) for column in _load(data, separator, n_rows=_PEEK)]
    try:  # parsing numbers at once saves time and memory; the outcome is the same
        numbers = {column.name: column.dtype for column in start if column.dtype.is_numeric()}
        frame = _load(data, separator, numbers)
    except pl.exceptions.PolarsError:
        frame = _load(data, separator)
    return frame.with_columns(typed_column(column) for column in frame if column.dtype == pl.String)


def _load(
    data: bytes, separator: str, dtypes: dict[str, Any] | None = None, n_rows: int | None = None
) -> pl.DataFrame:
    import polars as pl

    return pl.read_csv(
        data,
        separator=separator,
        infer_schema=False,
        schema_overrides=dtypes or {},
        null_values=MISSING,
        n_rows=n_rows,
    )


def typed_column(column: pl.Series, *, numbers: bool = True) -> pl.Series:
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


def fitting_readings(column: pl.Series, among: list[int] | None) -> tuple[list[int], bool]:
    """Which readings fit all values of a text column, and whether it has no value at all.

    Parameters
    ----------
    column : Series of text
    among : list of int, optional
        The readings to try; by default all.

    Examples
    --------
    >>> import polars as pl
    >>> print(fitting_readings(pl.Series(["1", "2.5"]), None))
    ([1], False)
    """
    words, readings = _words(column), column_readings()
    tried = range(len(readings)) if among is None else among
    fits = [at for at in tried if _fits(readings[at](words), words)]
    return fits, words.null_count() == len(words)


def column_readings() -> list[Callable[[pl.Series], pl.Series]]:
    """What text may mean, narrow types first, from columns as they stand in a file."""
    return [lambda s, read_as=read_as: read_as(_words(s)) for read_as in _readings()]  # type: ignore[misc]


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
    names = next(row for _, row in _rows(data, separator, file) if row)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"{file} has more than one column named {', '.join(map(repr, twice[:5]))}; "
            "rename or drop the duplicates."
        )
    numbers = all(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", name.strip(), re.I) for name in names)
    if numbers and any("." in name for name in names):
        raise InputError(
            f"{file} has numbers in its first line, expected column names; add a line of names."
        )
    other = next((mark for mark in ";\t|," if mark in names[0]), None) if len(names) == 1 else None
    if other and names[0].count(other) == _second_row(data, separator, file)[0].count(other):
        raise InputError(
            f"{file} has columns separated by {other!r}, expected {separator!r}; "
            "save it with that separator (a .tsv file has tabs)."
        )
    return names


def _second_row(data: bytes, separator: str, file: Path) -> list[str]:
    rows = (row for _, row in _rows(data, separator, file) if row)
    next(rows)
    return next(rows, [""])


def _filled_rows(data: bytes, separator: str, file: Path) -> list[bool]:
    """For every line of data whether it is not blank; a row of the wrong width is an error."""
    filled = []
    rows = _rows(data, separator, file)
    width = next(len(row) for _, row in rows if row)
    for line, row in rows:
        if row and len(row) != width:
            raise InputError(
                f"line {line} of {file} has {len(row)} fields, but the header has {width}; "
                "repair that line."
            )
        filled.append(bool(row))
    return filled


def _refuse_quotes(data: bytes, file: Path) -> None:
    """Blame the first line with an odd number of quotes, if there is one."""
    for line, text in enumerate(data.split(b"\n"), start=1):
        if text.count(b'"') % 2:
            raise InputError(
                f"{file} has a stray quote, by the looks of it in line {line}; put that field in "
                "quotes and double the quote inside it."
            )


def _rows(data: bytes, separator: str, file: Path) -> Iterator[tuple[int, list[str]]]:
    """Every row, and the line it starts in."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except UnicodeDecodeError:
        check_utf8(data, file)
    except csv.Error as error:
        if "field limit" not in str(error):
            _refuse_row(line, file, str(error))
        check_utf8(data, file)
        yield from _rows_with_long_fields(data.decode(), separator, file, line)


_LINE_END = re.compile(r"\r\n|\r|\n")


def _rows_with_long_fields(
    text: str, separator: str, file: Path, first: int
) -> Iterator[tuple[int, list[str]]]:
    """Rows from a line on, as the csv module splits them; its limit holds for a whole process."""
    quoted = re.compile(rf'"([^"]*+(?:""[^"]*+)*+)"({separator}|\r\n|\r|\n|\Z)')
    plain = re.compile(rf"([^{separator}\r\n]*+)({separator}|\r\n|\r|\n|\Z)")
    ends = [0, *(end.end() for end in islice(_LINE_END.finditer(text), first - 1))]
    place, line, row = ends[-1], first, list[str]()
    while place < len(text):
        start = place
        in_quotes = text[place] == '"'
        field = (quoted if in_quotes else plain).match(text, place)
        if field is None:
            _refuse_row(line, file, "as a quoted field has no end")
        row.append(field[1].replace('""', '"') if in_quotes else field[1])
        place = field.end()
        if field[2] != separator:
            yield line, [] if row == [""] and not in_quotes else row
            line += len(_LINE_END.findall(text, ends[-1], place))
            ends, row = [place], []
        elif place == len(text):
            yield line, [*row, ""]
        assert place > start


def _refuse_row(line: int, file: Path, reason: str) -> NoReturn:
    raise InputError(
        f"line {line} of {file} has a quote that is not closed or not where a field ends "
        f"({reason}); repair that line."
    ) from None


# Faults that other files of text share.


def check_utf8(data: bytes, file: Path) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{file} is not UTF-8 text (line {line}, byte {error.start + 1} of the file); "
            "save it again with the encoding UTF-8."
        ) from None


def damaged(file: Path, kind: str, error: BaseException) -> NoReturn:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    raise InputError(
        f"{file} could not be read as {kind} ({reason}): it is truncated, damaged or in another "
        "format; write or download it again."
    ) from error
