"""Frames: columns matched by name, types agreed in either order, keys that tell rows apart."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rdiv.samples import Pool, pool_samples
from rdiv.samples.frames import (
    as_frame,
    check_columns,
    frame_words,
    gather,
    is_frame,
    quoted,
    refuse_infinite,
    series_words,
    stack,
)
from rdiv.samples.row_keys import row_keys

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


def stacked(p: Any, q: Any) -> Any:
    return stack(as_frame(p), as_frame(q))


@every_library
def test_what_a_frame_is(make: Any) -> None:
    assert is_frame(make({"a": [1]}))
    for other in (np.zeros((2, 2)), [[1]], {"a": [1]}, pd.Series([1]), pl.Series([1]), "a", None):
        assert not is_frame(other)


def test_names_in_messages_are_cut() -> None:
    assert quoted(["a", "b"]) == "'a', 'b'"
    assert quoted([str(i) for i in range(20)], 3) == "'0', '1', '2' and 17 more"


@every_library
def test_different_columns_are_named(make: Any) -> None:
    p, q = as_frame(make({"a": [1], "b": [1]})), as_frame(make({"a": [1], "c": [1]}))
    with pytest.raises(
        ValueError, match=r"same columns, got 'b' only in p and 'c' only in q; drop"
    ):
        check_columns(p, q)
    with pytest.raises(ValueError, match=r"got 'b' only in p;"):
        check_columns(p, p.drop("b"))
    check_columns(p, p.select("b", "a"))


def test_column_names_must_be_text() -> None:
    frame = pd.DataFrame(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="column names must be text, got 0 in p"):
        pool_samples(frame, frame, rng=0)


@every_library
def test_columns_in_another_order_are_matched(make: Any) -> None:
    p = make({"a": [1.0, 2.0], "b": ["x", "y"]})
    q = make({"b": ["z", "w"], "a": [3.0, 4.0]})
    both = stacked(p, q)
    assert both.columns == ["a", "b"]
    assert both["a"].to_list() == [1.0, 2.0, 3.0, 4.0]
    assert both["b"].to_list() == ["x", "y", "z", "w"]


MIXED = [
    ("ints and floats", [1, 2], [0.5, 1.5], "Float64"),
    ("booleans and ints", [True, False], [3, 4], "Int64"),
    ("booleans and floats", [True, False], [0.5, 1.5], "Float64"),
    ("ints and none at all", [1, 2], [None, None], ("Float64", "Int64")),
    ("text and none at all", ["a", "b"], [None, None], "String"),
    ("dates and datetimes", [date(2024, 1, 2)] * 2, [datetime(2024, 1, 2, 3)] * 2, "Datetime"),
    ("dates and none at all", [date(2024, 1, 2)] * 2, [None, None], "Date"),
    ("durations and none at all", [timedelta(1)] * 2, [None, None], "Duration"),
]


@pytest.mark.parametrize("case", MIXED, ids=[case[0] for case in MIXED])
@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_types_are_agreed_whichever_comes_first(case: Any, make: Any) -> None:
    _, left, right, expected = case
    one, two = make({"a": left}), make({"a": right})
    first, second = stacked(one, two), stacked(two, one)
    assert str(first["a"].dtype).startswith(expected)
    assert first["a"].dtype == second["a"].dtype
    assert first["a"].to_list() == second["a"].to_list()[2:] + second["a"].to_list()[:2]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pd.Series([1, 2]), pd.Series([0.5, 1.5])),
        (pd.Series([1, 2]), pd.Series([1.0, None])),
        (pd.Series([1, 2], dtype="Int64"), pd.Series([1, None], dtype="Int64")),
        (pd.Series([1, 2], dtype="Int64"), pd.Series([1, 2])),
        (pd.Series([1.5, None], dtype="Float64"), pd.Series([1.5, None])),
        (pd.Series([True, None], dtype="boolean"), pd.Series([True, False])),
        (pd.Series([True, None]), pd.Series([True, False])),
        (pd.Series(["a", None], dtype="string"), pd.Series(["a", "b"])),
        (pd.Series(["a", None], dtype=object), pd.Series(["a", "b"])),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["c", "a"], dtype="category")),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["a", "b"])),
        (pd.Series(["a", None], dtype="category"), pd.Series([None, None], dtype=object)),
        (pd.Series(pd.to_datetime(["2024-01-02", None])), pd.Series([None, None], dtype=object)),
        (pd.Series(pd.to_datetime(["2024-01-02"] * 2)).dt.as_unit("s"),
         pd.Series(pd.to_datetime(["2024-01-02"] * 2)).dt.as_unit("ns")),
        (pd.Series(pd.to_datetime(["2024-01-02"] * 2, utc=True)).dt.as_unit("us"),
         pd.Series(pd.to_datetime(["2024-01-02"] * 2, utc=True)).dt.as_unit("ns")),
    ],
    ids=lambda s: f"{s.dtype}{'?' if s.isna().any() else ''}",
)  # fmt: skip
def test_pandas_types_are_agreed_whichever_comes_first(left: pd.Series, right: pd.Series) -> None:
    one, two = pd.DataFrame({"a": left}), pd.DataFrame({"a": right})
    first, second = stacked(one, two), stacked(two, one)
    assert first["a"].dtype == second["a"].dtype
    assert len(first) == 4
    assert Pool(first.to_native()).numbers().shape[0] == 4
    keys = [row_keys(frame_words(frame)) for frame in (first, second)]
    assert keys[0].tobytes() == keys[1][[2, 3, 0, 1]].tobytes()


@every_library
@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ([1.0, 2.0], ["x", "y"], "'a'.*numeric in p and text in q"),
        (["x", "y"], [True, False], "'a'.*text in p and numeric in q"),
        ([datetime(2024, 1, 1)] * 2, [1.0, 2.0], "'a'.*datetime in p and numeric in q"),
        ([datetime(2024, 1, 1)] * 2, ["x", "y"], "'a'.*datetime in p and text in q"),
    ],
)
def test_one_kind_of_values_per_column(make: Any, left: list, right: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pool_samples(make({"a": left}), make({"a": right}), rng=0)


def test_one_time_zone_per_column() -> None:
    when = pl.Series([datetime(2024, 1, 1)] * 2)
    zones = [when, when.dt.replace_time_zone("UTC"), when.dt.replace_time_zone("Europe/Vienna")]
    for left, right in ((zones[0], zones[1]), (zones[1], zones[2])):
        with pytest.raises(ValueError, match="'a' must have one time zone, got"):
            pool_samples(pl.DataFrame({"a": left}), pl.DataFrame({"a": right}), rng=0)


@every_library
def test_rows_are_gathered_in_the_order_asked_for(make: Any) -> None:
    frame = make({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    rows = gather(frame, np.array([2, 0, 2]))
    assert type(rows) is type(frame)
    assert as_frame(rows)["a"].to_list() == [3, 1, 3]


def test_a_pandas_index_means_nothing() -> None:
    plain = pd.DataFrame({"a": [1.0, 2.0, 3.0, None], "b": [None] * 4, "c": list("xyxy")})
    odd = plain.set_axis([7, 7, 0, -1], axis=0)
    one, two = (pool_samples(frame, plain.assign(b="t"), rng=0).pool for frame in (plain, odd))
    assert one.keys.tobytes() == two.keys.tobytes()
    assert one.x.equals(two.x)
    assert one.numbers().tobytes() == two.numbers().tobytes()
    assert list(two.x.index) == list(range(8))


@every_library
def test_infinite_cells_are_counted_by_column(make: Any) -> None:
    frame = make({"a": [1.0, np.inf, -np.inf], "b": [1.0, None, 2.0], "c": [np.inf, 1.0, 2.0]})
    with pytest.raises(ValueError, match=r"infinite values in 'a' \(2\), 'c' \(1\)"):
        refuse_infinite(as_frame(frame))
    with pytest.raises(ValueError, match=r"columns must be finite or missing.*'a' \(4\)"):
        pool_samples(frame, frame, rng=0)


DISTINCT = {
    "floats": [0.1, 0.2, None, 1e300, -1.0, 0.0],
    "ints": [1, 2, None, 2**53, 2**53 + 1, 0],
    "text": ["a", "b", None, "", "None", "nan"],
    "booleans": [True, False, None],
    "dates": [date(2024, 1, 1), date(2024, 1, 2), None],
    "datetimes": [datetime(2024, 1, 1, 0, 0, 0, us) for us in (1, 2)] + [None],
    "times": [time(1, 2, 3), time(1, 2, 4), None],
    "durations": [timedelta(seconds=1), timedelta(seconds=2), None],
    "decimals": [Decimal("0.10"), Decimal("0.90"), Decimal("1.50"), None],
}


@pytest.mark.parametrize("kind", DISTINCT)
@pytest.mark.parametrize("library", ["polars", "pyarrow", "pandas", "pandas on arrow"])
def test_different_cells_have_different_words(kind: str, library: str) -> None:
    """Rows that share a key count as one row: a collision would give one the loss of the other."""
    values = DISTINCT[kind]
    if library == "pandas on arrow":
        frame: Any = pa.table({"a": values}).to_pandas(types_mapper=pd.ArrowDtype)
    elif library == "pandas" and kind == "ints":
        frame = pd.DataFrame({"a": pd.Series(values, dtype="Int64")})
    else:
        frame = LIBRARIES[library]({"a": values})
    words = series_words(as_frame(frame)["a"])
    assert words.shape == (len(values), 1)
    assert len(np.unique(words)) == len(values)
    twice = pool_samples(frame, frame, rng=0).pool
    assert len(set(twice.first_copy.tolist())) == len(values)


@pytest.mark.parametrize("dtype", ["category", "string", object, "str"])
def test_a_missing_cell_is_not_the_text_nan(dtype: Any) -> None:
    column = pd.Series(["nan", None, "None", "<NA>", "b"], dtype=dtype)
    assert len(np.unique(series_words(as_frame(pd.DataFrame({"a": column}))["a"]))) == 5


def test_unsigned_and_small_types_keep_their_values() -> None:
    big = pl.Series("a", [2**64 - 1, 1, 0], dtype=pl.UInt64)
    assert len(np.unique(series_words(as_frame(pl.DataFrame(big))["a"]))) == 3
    for dtype in (pl.Int8, pl.UInt8, pl.Float32):
        small = pl.DataFrame(pl.Series("a", [1, 2, 1], dtype=dtype))
        assert len(np.unique(series_words(as_frame(small)["a"]))) == 2


@every_library
def test_keys_do_not_depend_on_the_order_of_columns(make: Any) -> None:
    one = as_frame(make({"a": [1.0, 2.0], "b": ["x", "y"]}))
    two = as_frame(make({"b": ["x", "y"], "a": [1.0, 2.0]}))
    assert row_keys(frame_words(one)).tobytes() == row_keys(frame_words(two)).tobytes()


def test_keys_of_missing_cells_tell_columns_apart() -> None:
    frame = as_frame(pl.DataFrame({"a": [None, 1.0], "b": [1.0, None]}))
    keys = row_keys(frame_words(frame))
    assert keys[0].tolist() != keys[1].tolist()


SWAPS = {
    "decimals": pl.DataFrame({"a": [Decimal(i) / 10 for i in range(12)]}),
    "the text nan": pd.DataFrame({"a": ["nan", None, "b"] * 4, "b": np.arange(12) // 3}),
    "bools with missing": pd.DataFrame({"a": [True, None, False, True] * 3, "b": range(12)}),
    "nullable ints": pd.DataFrame({"a": pd.Series([1, None, 3] * 4, dtype="Int64")}),
    "times": pl.DataFrame(
        {"a": [time(i) for i in range(12)], "b": [timedelta(i) for i in range(12)]}
    ),
}


@pytest.mark.parametrize("kind", SWAPS)
def test_rows_of_any_type_may_change_files(kind: str) -> None:
    frame, first = SWAPS[kind], None
    rng = np.random.default_rng(0)
    for n_p in (6, 6, 4, 9):
        order = rng.permutation(12)
        p, q = gather(frame, order[:n_p]), gather(frame, order[n_p:])
        pool = pool_samples(p, q, rng=0).pool
        found = (pool.keys.tobytes(), pool.numbers().tobytes(), pool.first_copy.tobytes())
        first = first or found
        assert found == first


def test_categories_of_each_file_do_not_tell_the_files_apart() -> None:
    """A file read on its own has the categories of its own rows; the pool must not show it."""
    frame = pd.DataFrame({"a": list("abcabcabcc"), "b": range(10)})
    types = set()
    for n_p in (4, 8, 3, 9):  # with 9 the other file holds one level only
        p, q = (part.astype({"a": "category"}) for part in (frame[:n_p], frame[n_p:]))
        if len(q) > 1:
            types.add(str(pool_samples(p, q, rng=0).pool.x["a"].dtype))
    assert len(types) == 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_file_read_on_its_own_may_have_its_own_types(library: str) -> None:
    """The same rows, split before a reader guessed the types of each file."""
    text = ["1,a,,7", "2,b,true,8", "3.5,a,false,", ",b,true,", "5,a,true,", "6,b,,9"]
    first = None
    for chosen in ([0, 1, 2], [0, 1, 4, 5], [3, 5], [1, 4], [0, 5], [2, 3, 4]):
        parts = [[text[i] for i in range(6) if (i in chosen) == side] for side in (True, False)]
        p, q = (read_csv(library, lines) for lines in parts)
        pool = pool_samples(p, q, rng=0).pool
        found = (pool.keys.tobytes(), pool.numbers().tobytes())
        first = first or found
        assert found == first


def read_csv(library: str, lines: list[str]) -> Any:
    text = StringIO("\n".join(["x,y,z,k", *lines]))
    if library == "polars":
        return pl.read_csv(text)
    return pd.read_csv(text, true_values=["true"], false_values=["false"])
