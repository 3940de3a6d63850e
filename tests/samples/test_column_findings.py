"""Columns that tell the files apart, ids and dates: found, named, and never by chance."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binom

from rdiv.samples import column_findings as module
from rdiv.samples import pool_samples
from rdiv.samples.column_findings import (
    FALSE_ALARMS,
    ColumnFinding,
    column_warnings,
    look_at_columns,
)

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
RNG = np.random.default_rng(0)
N = 60


def january(n: int = N, first: date = date(2024, 1, 1)) -> list[date]:
    return [first + timedelta(days=int(day)) for day in RNG.integers(0, 28, size=n)]


def pair(p: Any, q: Any, make: Any = pl.DataFrame, **settings: Any) -> Any:
    def frame(column: Any) -> Any:
        return make({"x": RNG.normal(size=len(column)), "c": column})

    return pool_samples(frame(p), frame(q), rng=0, **settings)


def found(p: Any, q: Any, make: Any = pl.DataFrame, **settings: Any) -> ColumnFinding | None:
    findings = look_at_columns(pair(p, q, make, **settings))
    assert len(findings) <= 1
    assert all(one.column == "c" for one in findings)
    return findings[0] if findings else None


texts = np.array([f"{i:08x}" for i in RNG.permutation(2 * N)])
SEPARATES: dict[str, tuple[Any, Any, str]] = {
    "dates": (
        january(), january(first=date(2024, 2, 1)),
        "Column 'c', a date, alone tells the files apart: every value in current is later than any "
        "in reference.",
    ),
    "earlier dates as text": (
        [str(day) for day in january(first=date(2024, 2, 1))], [str(day) for day in january()],
        "every value in current is earlier than any in reference",
    ),
    "row numbers": (np.arange(N), N + np.arange(N), "every value in current is larger than any"),
    "version": (["1.9"] * N, ["1.10"] * N, "it has one value in reference and another in current"),
    "booleans": ([True] * N, [False] * N, "it has one value in reference and another in current"),
    "missing text": (texts[:N].tolist(), [None] * N,
                     "it is missing in every row of current and in none of reference"),
    "missing numbers": ([None] * N, RNG.normal(size=N).tolist(),
                        "it is missing in every row of reference and in none of current"),
    "an id against a word": (texts[:N].tolist(), ["none"] * N, "no value is in both files"),
    "levels": (["a", "b", "c"] * 20, ["d", "e", "f"] * 20, "no value is in both files"),
    "codes in no order": ([1, 3, 5] * 20, [2, 4, 6] * 20, "no value is in both files"),
    "numbers, nearly": (np.append(RNG.normal(size=N - 1), 99.0), 50 + RNG.normal(size=N),
                        "it puts 99.1 % of the rows in their file"),
}  # fmt: skip


@every_library
@pytest.mark.parametrize(("p", "q", "words"), SEPARATES.values(), ids=SEPARATES)
def test_columns_that_tell_the_files_apart(p: Any, q: Any, words: str, make: Any) -> None:
    one = found(p, q, make)
    assert one is not None
    assert one.kind == "separates"
    assert one.share >= 0.95
    assert words in one.sentence()
    end = "A model that sees it can learn the change from it; leave it out with --drop c "
    assert one.sentence().endswith(end + "(drop=['c'] in Python).")


def test_a_pandas_category() -> None:
    p, q = (pd.Series([level] * N, dtype="category") for level in ("a", "b"))
    one = found(p, q, pd.DataFrame)
    assert one is not None
    assert one.kind == "separates"


OTHERS: dict[str, tuple[Any, Any, str, str]] = {
    "dates": (january(), january(), "date", "Column 'c' holds dates. A model that sees it may "),
    "ids": (2 * np.arange(N), 1 + 2 * np.arange(N), "id",
            "Column 'c' looks like an id: 120 of 120 values are distinct."),
    "text ids": (texts[:N].tolist(), texts[N:].tolist(), "id", "120 of 120 values are distinct"),
    "row numbers from 0 again": (np.arange(N), np.arange(N), "id",
                                 "60 of 60 values in reference and 60 of 60 in current"),
}  # fmt: skip


@every_library
@pytest.mark.parametrize(("p", "q", "kind", "words"), OTHERS.values(), ids=OTHERS)
def test_ids_and_dates(p: Any, q: Any, kind: str, words: str, make: Any) -> None:
    one = found(p, q, make)
    assert one is not None
    assert one.kind == kind
    assert one.share == 1.0
    assert words in one.sentence()


QUIET: dict[str, tuple[Any, Any]] = {
    "measurements": (RNG.normal(size=N), RNG.normal(size=N)),
    "a clear shift": (RNG.normal(size=N), 2 + RNG.normal(size=N)),
    "constant": ([1] * N, [1] * N),
    "levels": (["a", "b"] * 30, ["b", "c"] * 30),
    "some missing": ([None, 1] * 30, [1, 2] * 30),
    "prose": ([f"it is {t} now" for t in texts[:N]], [f"it is {t} now" for t in texts[N:]]),
    "nothing": ([None] * N, [None] * N),
    "too few rows": ([1, 1, 1], [2, 2, 2]),
    "bytes": ([b"1"] * N, [b"2"] * N),
}


@pytest.mark.parametrize(("p", "q"), QUIET.values(), ids=QUIET)
def test_other_columns_are_passed_over(p: Any, q: Any) -> None:
    assert found(p, q) is None


def test_arrays() -> None:
    p, q = RNG.normal(size=(2, N, 3))
    p[:, 2], q[:, 2] = 1, 2
    (one,) = look_at_columns(pool_samples(p, q, rng=0))
    assert one.column == "column 2"
    assert one.kind == "separates"
    assert one.sentence().startswith("Column 2 alone tells the files apart: it has one value in ")
    assert one.sentence().endswith("leave it out of both arrays.")


def test_images_and_no_columns() -> None:
    p, q = np.zeros((2, N, 4, 4))
    assert look_at_columns(pool_samples(p, q + 1, rng=0)) == ()
    one = pl.DataFrame({"l": [1.0, 2.0]})
    assert look_at_columns(pool_samples(one, one, loss="l", rng=0)) == ()


def test_part_of_a_pool_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 50)
    one = found(["a"] * N, ["b"] * N)
    assert one is not None
    assert "another in current (in 50 rows looked at). A" in one.sentence()


def test_groups_count_once() -> None:
    """Rows of a group agree, so many rows of few groups differ between the files by chance."""
    group = np.repeat(np.arange(8), 15)
    place = np.array(["n", "n", "e", "e", "s", "s", "w", "w"])[group]
    groups = (group[:60], group[60:])
    assert found(place[:60].tolist(), place[60:].tolist(), groups=groups) is None
    assert found(place[:60].tolist(), place[60:].tolist()) is not None
    group = np.repeat(np.arange(60), 2)
    groups = (group[:60], group[60:])
    assert found(["a"] * 60, ["b"] * 60, groups=groups) is not None


def many_columns(rng: np.random.Generator, n: int) -> pl.DataFrame:
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=n) for j in range(20)}
    columns |= {f"k{j}": rng.integers(0, 2 + j, size=n) for j in range(10)}
    columns |= {f"t{j}": rng.choice([*"abcdefghij"][: 2 + j % 8], size=n) for j in range(10)}
    pairs = [f"{i // 2}" for i in range(n)]
    columns |= {f"p{j}": rng.permutation(pairs) for j in range(5)}
    for j in range(5):
        values = rng.normal(size=n)
        columns[f"m{j}"] = [None if value < 0 else value for value in values]
    return pl.DataFrame(columns)


@pytest.mark.parametrize(("m", "n"), [(20, 20), (5, 9)])
def test_samples_alike_are_not_told_apart(m: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    frame, draws = many_columns(rng, m + n), 500
    pooled = pool_samples(frame[:m], frame[m:], rng=0)
    columns = list(module._columns(pooled.pool, m + n))  # they are read without the files
    monkeypatch.setattr(module, "_columns", lambda pool, rows: columns)
    alarms = 0
    for _ in range(draws):
        split = replace(pooled, is_p=rng.permutation(pooled.is_p))
        alarms += any(one.kind == "separates" for one in look_at_columns(split))
    assert alarms <= binom.ppf(0.999, draws, FALSE_ALARMS)


def test_small_samples_alike_often_look_apart_but_for_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    frame = many_columns(rng, 7)
    pooled = pool_samples(frame[:3], frame[3:], rng=0)
    splits = [replace(pooled, is_p=rng.permutation(pooled.is_p)) for _ in range(20)]
    assert not any(look_at_columns(split) for split in splits)
    monkeypatch.setattr(module, "FALSE_ALARMS", 1e9)
    assert sum(bool(look_at_columns(split)) for split in splits) > 10


def test_the_look_does_not_hang_on_the_order_of_the_files() -> None:
    pooled = pair(*SEPARATES["dates"][:2])
    swapped = replace(pooled, is_p=~pooled.is_p)
    assert "later" in look_at_columns(pooled)[0].sentence()
    assert "earlier" in look_at_columns(swapped)[0].sentence()


@pytest.mark.parametrize(
    ("column", "advice"),
    [
        ("row id", "Column 'row id' holds .* --drop 'row id' \\(drop=\\['row id'\\] in Python\\)"),
        ("it's", "--drop 'it'\"'\"'s' \\(drop=\\[\"it's\"\\] in Python\\)"),
        ("-x", "--drop=-x \\("),
        ("$(rm)", "--drop '\\$\\(rm\\)' "),
        ("a\x1b[31m", r"Column 'a\\x1b\[31m' holds .*drop=\['a\\x1b\[31m'\]"),
    ],
)
def test_names_that_need_quotes(column: str, advice: str) -> None:
    sentence = ColumnFinding(column, "date", 1.0, " holds dates").sentence()
    assert re.search(advice, sentence)
    assert sentence.isprintable()


def test_warnings_start_with_the_most_telling_and_are_cut() -> None:
    kinds: list[Any] = ["id", "date", "separates"]
    many = [ColumnFinding(f"{kind}{i}", kind, 1.0, " is odd") for kind in kinds for i in range(4)]
    said = column_warnings(many)
    assert len(said) == 8 + 1
    assert said[0].startswith("Column 'separates0' is odd")
    assert said[4].startswith("Column 'date0'")
    assert said[-1] == "4 more columns look like ids: 'id0', 'id1', 'id2', 'id3'."
    last = ColumnFinding("x", "separates", 1.0, " is odd")
    assert column_warnings([last] * 9)[-1] == "1 more column alone tells the files apart: 'x'."
    assert column_warnings([]) == ()
