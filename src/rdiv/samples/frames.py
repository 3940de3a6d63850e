"""Two data frames to one: columns matched by name, types agreed, rows hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError, MissingExtraError, naming
from rdiv.samples.row_keys import number_words, text_words

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.typing import IntoDType

    from rdiv.samples.frame_rows import FrameRows

    Frame: TypeAlias = nw.DataFrame[Any]
    Column: TypeAlias = nw.Series[Any]

__all__ = [
    "agreed",
    "as_frame",
    "cast_column",
    "check_columns",
    "common_type",
    "frame_words",
    "gather",
    "is_frame",
    "new_frame",
    "python_values",
    "quoted",
    "refuse_infinite",
    "stack",
    "within_64_bits",
    "without_objects",
]

_FIRST_MOMENT, _LAST_MOMENT = -62_135_596_800_000, 253_402_300_799_999  # milliseconds
_NULL = np.uint64(0xA5A5A5A5DEADBEEF)  # the word of a missing value


def is_frame(obj: object) -> bool:
    """Whether this is a data frame that we can read (pandas, polars, pyarrow)."""
    import narwhals.stable.v2 as nw

    return isinstance(nw.from_native(obj, eager_only=True, pass_through=True), nw.DataFrame)


def as_frame(obj: Any) -> Frame:
    """Wrap a native frame in narwhals."""
    import narwhals.stable.v2 as nw

    return nw.from_native(obj, eager_only=True)


def within_64_bits(frame: Frame) -> Frame:
    """Whole numbers of 128 bits as floats; numpy has no such type.

    Examples
    --------
    >>> import polars as pl
    >>> wide = as_frame(pl.DataFrame({"a": [2**70, 1]}, schema={"a": pl.Int128}))
    >>> print(within_64_bits(wide)["a"].to_list()[1])
    1.0
    """
    import narwhals.stable.v2 as nw

    wide = [name for name, dtype in frame.schema.items() if dtype in (nw.Int128, nw.UInt128)]
    return frame.with_columns(nw.col(*wide).cast(nw.Float64)) if wide else frame


def quoted(names: Sequence[str], most: int = 8) -> str:
    """List column names for a message, cut after a few."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def check_columns(p: Frame, q: Frame) -> None:
    """Refuse frames that do not have the same columns, naming the ones that differ."""
    for name, frame in (("p", p), ("q", q)):
        bad = [column for column in frame.columns if not isinstance(column, str)]
        if bad:
            raise InputError(
                f"column names must be text, got {bad[0]!r} in {name}; rename the columns."
            )
    of_p, of_q = p.columns, q.columns  # asked for once: wide frames take their time
    known_p, known_q = set(of_p), set(of_q)
    only_p = [name for name in of_p if name not in known_q]
    only_q = [name for name in of_q if name not in known_p]
    if only_p or only_q:
        parts = [f"{quoted(only_p)} only in p"] if only_p else []
        parts += [f"{quoted(only_q)} only in q"] if only_q else []
        raise InputError(
            f"p and q must have the same columns, got {' and '.join(parts)}; "
            "drop the extra columns or check that the right files were paired."
        )


def stack(p: Frame, q: Frame) -> Frame:
    """Put the rows of q below those of p, after agreeing on one type per column.

    The type agreed on is the same whichever of the two comes first, and however the same rows are
    dealt out to two files.
    """
    import narwhals.stable.v2 as nw

    p, q = agreed(p, q)
    with naming("putting the samples together", "give both the same types of columns"):
        return nw.concat([p, q], how="vertical")


def agreed(p: Frame, q: Frame, names: tuple[str, str] = ("p", "q")) -> tuple[Frame, Frame]:
    """Two frames with the columns of the first, and with one type per column.

    Parameters
    ----------
    p, q : Frame
    names : pair of str
        What messages call them.

    Examples
    --------
    >>> import polars as pl
    >>> whole, halves = as_frame(pl.DataFrame({"a": [1]})), as_frame(pl.DataFrame({"a": [0.5]}))
    >>> print([frame["a"].to_list() for frame in agreed(whole, halves)])
    [[1.0], [0.5]]
    """
    if p.implementation is not q.implementation:
        raise InputTypeError(
            f"{names[0]} and {names[1]} must be frames of one library, got "
            f"{p.implementation.name.lower()} and {q.implementation.name.lower()}; convert one of "
            "them."
        )
    import narwhals.stable.v2 as nw

    p, q = without_objects(p), without_objects(q.select(p.columns))
    types, others = p.schema, q.schema
    for name in p.columns:
        if types[name] == others[name] and (types[name].is_numeric() or types[name] == nw.String):
            continue
        if _pandas_categories(p[name], q[name]):
            p, q = _with_all_levels(name, p, q)
            continue
        dtype = common_type(name, p[name], q[name], names)
        if dtype is not None:
            p = p.with_columns(cast_column(p[name], dtype))
            q = q.with_columns(cast_column(q[name], dtype))
    return p, q


def without_objects(frame: Frame) -> Frame:
    """Columns of Python objects as numbers or text, where that is what they hold."""
    import narwhals.stable.v2 as nw

    if not frame.implementation.is_pandas_like():
        return frame
    odd = [name for name, dtype in frame.schema.items() if dtype in (nw.Object, nw.Unknown)]
    for name in odd:
        column = frame[name]
        values = python_values(column)
        present = [value for value in values if value is not None]
        if not present:
            continue
        if all(isinstance(value, Real | Decimal | np.bool_) for value in present):
            floats = [None if value is None else float(value) for value in values]
            series = nw.new_series(name, floats, nw.Float64, backend=column.implementation)
            frame = frame.with_columns(_aligned(series, column))
        elif any(isinstance(value, str) for value in present):
            texts = [None if value is None else str(value) for value in values]
            series = nw.new_series(name, texts, nw.String, backend=column.implementation)
            frame = frame.with_columns(_aligned(series, column))
    return frame


def _aligned(series: Column, like: Column) -> Column:
    """Give a new series the index of the one it replaces (pandas matches by index)."""
    import narwhals.stable.v2 as nw

    return nw.maybe_set_index(series, index=like.to_native().index)


def _family(column: Column) -> str:
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if len(column) == column.null_count():
        return "missing"
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numeric"
    if dtype.is_temporal():
        return str(dtype).split("(")[0].lower()
    if dtype in (nw.String, nw.Categorical, nw.Object) or isinstance(dtype, nw.Enum):
        return "text"
    return str(dtype).lower()


def common_type(name: str, p: Any, q: Any, names: tuple[str, str]) -> IntoDType | None:
    """The type both columns are cast to; None when they agree already."""
    import narwhals.stable.v2 as nw

    kinds = {_family(p), _family(q)} - {"missing"}
    if kinds == {"date", "datetime"}:
        return nw.Datetime("us")
    if len(kinds) > 1:
        raise InputError(
            f"column {name!r} must hold the same kind of values on both sides, got {_family(p)} in "
            f"{names[0]} and {_family(q)} in {names[1]}; convert it or check that the right files "
            "were paired."
        )
    if p.dtype == q.dtype:
        return None
    if not kinds:
        return nw.Float64
    if kinds == {"numeric"}:
        return _common_number(p, q)
    if kinds == {"datetime"}:
        return nw.Datetime("us", _time_zone(name, p, q))
    if "missing" in (_family(p), _family(q)):
        known: IntoDType = q.dtype if _family(p) == "missing" else p.dtype
        return known
    own: IntoDType = p.dtype
    return nw.String if kinds == {"text"} else own


def _common_number(p: Column, q: Column) -> IntoDType:
    """Whole numbers stay whole where the library can hold missing ones; floats otherwise."""
    import narwhals.stable.v2 as nw

    present = [column.dtype for column in (p, q) if _family(column) != "missing"]
    holes = p.null_count() or q.null_count()
    if holes and p.implementation.is_pandas_like():
        return nw.Float64
    if len(present) == 1:
        return present[0]
    whole = all(dtype.is_integer() or dtype == nw.Boolean for dtype in present)
    return nw.Int64 if whole else nw.Float64


def _pandas_categories(p: Column, q: Column) -> bool:
    import narwhals.stable.v2 as nw

    both = p.dtype == nw.Categorical and q.dtype == nw.Categorical
    return both and bool(p.implementation.is_pandas_like())


def _levels(column: Column) -> list[object]:
    levels: list[object] = column.to_native().cat.categories.tolist()
    return levels


def _with_all_levels(name: str, p: Frame, q: Frame) -> tuple[Frame, Frame]:
    """Pandas categories that know all levels of both sides, in an order that no side decides."""
    import narwhals.stable.v2 as nw

    levels = {level for side in (p, q) for level in _levels(side[name])}
    in_order = sorted(levels, key=lambda level: (str(level), type(level).__name__))

    def recast(side: Frame) -> Frame:
        native = side.to_native()
        # Not astype: to pandas the same levels in another order are the same type.
        column = native[name].cat.set_categories(in_order)
        return nw.from_native(native.assign(**{name: column}), eager_only=True)

    return recast(p), recast(q)


def _time_zone(name: str, p: Column, q: Column) -> str | None:
    import narwhals.stable.v2 as nw

    types = [column.dtype for column in (p, q) if _family(column) == "datetime"]
    zones = {dtype.time_zone for dtype in types if isinstance(dtype, nw.Datetime)}
    if len(zones) > 1:
        raise InputError(
            f"column {name!r} must have one time zone, got {_zones(zones)}; convert one side."
        )
    return zones.pop()


def _zones(zones: set[str | None]) -> str:
    return " and ".join(sorted("none" if zone is None else zone for zone in zones))


def cast_column(column: Column, dtype: IntoDType) -> Column:
    """Cast one column; an all-missing one is made anew, as its type may be anything."""
    import narwhals.stable.v2 as nw

    if _family(column) != "missing":
        step = f"turning column {column.name!r} into {dtype}"
        with naming(step, "convert it, or check that the right files were paired"):
            return column.cast(dtype)
    nothing: list[None] = [None] * len(column)
    series = nw.new_series(column.name, nothing, dtype, backend=column.implementation)
    return _aligned(series, column) if column.implementation.is_pandas_like() else series


def python_values(column: Column) -> list[Any]:
    """Python values of a column, None where one is missing."""
    _refuse_far_dates(column)
    with naming(f"reading column {column.name!r}", "repair or drop it"):
        values: list[Any] = column.to_list()
    for row in np.flatnonzero(column.is_null().to_numpy()):
        values[row] = None
    return values


def _refuse_far_dates(column: Column) -> None:
    """Polars panics on dates beyond the years 1 to 9999, and says so on the error stream."""
    import narwhals.stable.v2 as nw

    if not column.implementation.is_polars() or column.dtype not in (nw.Date, nw.Datetime):
        return
    since = column.dt.timestamp("ms")
    low, high = since.min(), since.max()
    if low is not None and not (low >= _FIRST_MOMENT and high <= _LAST_MOMENT):
        raise InputError(
            f"column {column.name!r} has dates outside the years 1 to 9999; repair or drop it."
        )


def gather(frame: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of a native frame, in the given order, without its old index."""
    wrapped = as_frame(frame)[rows]
    if wrapped.implementation.is_pandas_like():
        return wrapped.to_native().reset_index(drop=True)
    return wrapped.to_native()


def refuse_infinite(frame: Frame) -> None:
    """An infinite cell in a table is a mistake upstream: say where."""
    bad = []
    for name, dtype in frame.schema.items():
        if dtype.is_float():
            column = frame[name]
            column = column.fill_null(0.0) if column.null_count() else column
            count = int(np.isinf(column.to_numpy().astype(float)).sum())
            if count:
                bad.append(f"{name!r} ({count})")
    if bad:
        raise InputError(
            f"columns must be finite or missing, got infinite values in {', '.join(bad[:8])}; "
            "replace them or leave those cells empty."
        )


def frame_words(
    frame: FrameRows, present: frozenset[str] = frozenset()
) -> Iterator[NDArray[np.uint64]]:
    """Words of one column after the other, in order of their names, for `row_keys`.

    Parameters
    ----------
    frame : FrameRows
    present : set of str
        Columns that are known to hold a value, be it in rows that are not here.
    """
    return (
        series_words(frame.get_column(name), present=name in present)
        for name in sorted(frame.columns)
    )


def series_words(column: Column, *, present: bool = False) -> NDArray[np.uint64]:
    """Words of one column, ``(n, 1)``; missing values have a word of their own.

    A column of text that holds no value at all has the word of missing numbers.
    """
    import narwhals.stable.v2 as nw

    missing = column.is_null().to_numpy().astype(bool)
    dtype = column.dtype
    numeric = dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration)
    if missing.all() and (numeric or not present):
        return np.full((len(column), 1), _NULL, dtype=np.uint64)
    if dtype == nw.Duration:  # libraries spell them differently
        column = column.dt.total_nanoseconds()
    if column.dtype.is_numeric() or dtype == nw.Boolean:
        filled = column.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else column
        values = np.asarray(filled.to_numpy())
        values = values.astype(np.float64) if values.dtype.kind not in "biuf" else values
        words = number_words(values)
        words[missing | np.isnan(values)] = _NULL
        return words[:, None]
    return text_words([None if v is None else str(v) for v in python_values(column)])


def new_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A native frame of polars, or of pandas where that is installed instead.

    Examples
    --------
    >>> print(new_frame({"a": [1, 2]}).shape)
    (2, 1)
    """
    from importlib.util import find_spec

    import narwhals.stable.v2 as nw

    if find_spec("polars") is None and find_spec("pandas") is None:
        raise MissingExtraError(
            'a frame needs polars or pandas; install one with pip install "rdiv[cli]".'
        )
    backend: Literal["polars", "pandas"] = "pandas" if find_spec("polars") is None else "polars"
    return nw.from_dict(dict(columns), backend=backend).to_native()
