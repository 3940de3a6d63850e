"""Two data frames to one: columns matched by name, types agreed, rows hashed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.row_keys import column_words, text_words

__all__ = [
    "as_frame",
    "check_columns",
    "frame_words",
    "gather",
    "is_frame",
    "quoted",
    "refuse_infinite",
    "stack",
]

_NULL = np.uint64(0xA5A5A5A5DEADBEEF)  # the word of a missing value


def is_frame(obj: object) -> bool:
    """Whether this is a data frame that we can read (pandas, polars, pyarrow)."""
    import narwhals as nw

    return isinstance(nw.from_native(obj, eager_only=True, pass_through=True), nw.DataFrame)


def as_frame(obj: Any) -> Any:
    """Wrap a native frame in narwhals."""
    import narwhals as nw

    return nw.from_native(obj, eager_only=True)


def quoted(names: Sequence[str], most: int = 8) -> str:
    """List column names for a message, cut after a few."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def check_columns(p: Any, q: Any) -> None:
    """Refuse frames that do not have the same columns, naming the ones that differ."""
    for name, frame in (("p", p), ("q", q)):
        bad = [column for column in frame.columns if not isinstance(column, str)]
        if bad:
            raise ValueError(
                f"column names must be text, got {bad[0]!r} in {name}; rename the columns."
            )
    only_p = [name for name in p.columns if name not in set(q.columns)]
    only_q = [name for name in q.columns if name not in set(p.columns)]
    if only_p or only_q:
        parts = [f"{quoted(only_p)} only in p"] if only_p else []
        parts += [f"{quoted(only_q)} only in q"] if only_q else []
        raise ValueError(
            f"p and q must have the same columns, got {' and '.join(parts)}; "
            "drop the extra columns or check that the right files were paired."
        )


def stack(p: Any, q: Any) -> Any:
    """Put the rows of q below those of p, after agreeing on one type per column.

    The type agreed on is the same whichever of the two comes first.
    """
    import narwhals as nw

    if p.implementation is not q.implementation:
        raise TypeError(
            f"p and q must be frames of one library, got {p.implementation.name.lower()} and "
            f"{q.implementation.name.lower()}; convert one of them."
        )
    q = q.select(p.columns)
    for name in p.columns:
        dtype = _common_type(name, p[name], q[name])
        if dtype is not None:
            p, q = p.with_columns(_cast(p[name], dtype)), q.with_columns(_cast(q[name], dtype))
    return nw.concat([p, q], how="vertical")


def _family(column: Any) -> str:
    import narwhals as nw

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


def _common_type(name: str, p: Any, q: Any) -> Any:
    """The type both columns are cast to; None when they agree already."""
    import narwhals as nw

    kinds = {_family(p), _family(q)} - {"missing"}
    if kinds == {"date", "datetime"}:
        return nw.Datetime("us")
    if len(kinds) > 1:
        raise ValueError(
            f"column {name!r} must hold the same kind of values on both sides, got {_family(p)} in "
            f"p and {_family(q)} in q; convert it or check that the right files were paired."
        )
    if p.dtype == q.dtype and not _differing_levels(p, q):
        return None
    if kinds == {"numeric"} or not kinds:
        whole = all(c.dtype.is_integer() or c.dtype == nw.Boolean for c in (p, q))
        return nw.Int64 if whole and not (p.null_count() or q.null_count()) else nw.Float64
    if kinds == {"text"}:
        return nw.String
    if kinds == {"datetime"}:
        return nw.Datetime("us", _time_zone(name, p, q))
    return p.dtype if _family(p) != "missing" else q.dtype


def _differing_levels(p: Any, q: Any) -> bool:
    import narwhals as nw

    if p.dtype != nw.Categorical or not p.implementation.is_pandas():
        return False
    levels = [list(getattr(c.to_native().dtype, "categories", ())) for c in (p, q)]
    return levels[0] != levels[1]


def _time_zone(name: str, p: Any, q: Any) -> str | None:
    zones = {column.dtype.time_zone for column in (p, q) if _family(column) == "datetime"}
    if len(zones) > 1:
        raise ValueError(
            f"column {name!r} must have one time zone, got {_zones(zones)}; convert one side."
        )
    zone: str | None = zones.pop()
    return zone


def _zones(zones: set[str | None]) -> str:
    return " and ".join(sorted("none" if zone is None else zone for zone in zones))


def _cast(column: Any, dtype: Any) -> Any:
    """Cast one column; an all-missing one of an odd type goes through an empty float column."""
    import narwhals as nw

    if _family(column) == "missing" and not column.dtype.is_numeric():
        values: list[None] = [None] * len(column)
        return nw.new_series(column.name, values, dtype, backend=column.implementation)
    return column.cast(dtype)


def gather(frame: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of a native frame, in the order asked for, without its old index."""
    wrapped = as_frame(frame)[rows]
    if wrapped.implementation.is_pandas_like():
        return wrapped.to_native().reset_index(drop=True)
    return wrapped.to_native()


def refuse_infinite(frame: Any) -> None:
    """An infinite cell in a table is a mistake upstream: say where."""
    bad = []
    for name in frame.columns:
        if frame[name].dtype.is_float():
            count = int(np.isinf(frame[name].fill_null(0.0).to_numpy().astype(float)).sum())
            if count:
                bad.append(f"{name!r} ({count})")
    if bad:
        raise ValueError(
            f"columns must be finite or missing, got infinite values in {', '.join(bad[:8])}; "
            "replace them or leave those cells empty."
        )


def frame_words(frame: Any) -> list[NDArray[np.uint64]]:
    """Words of every column, in order of the columns' names, for `row_keys`."""
    return [series_words(frame[name]) for name in sorted(frame.columns)]


def series_words(column: Any) -> NDArray[np.uint64]:
    """Words of one column, ``(n, 1)``; missing values have a word of their own."""
    import narwhals as nw

    missing = column.is_null().to_numpy().astype(bool)
    dtype = column.dtype
    if missing.all():
        return np.full((len(column), 1), _NULL, dtype=np.uint64)
    if dtype.is_temporal():
        return text_words([None if value is None else str(value) for value in column.to_list()])
    if dtype.is_numeric() or dtype == nw.Boolean:
        filled = column.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else column
        words = column_words(filled.to_numpy())
        words[missing] = _NULL
        return words
    return text_words([None if value is None else str(value) for value in column.to_list()])
