"""Cells: codes in order, dates known by type and by text, ids told from measurements."""

from __future__ import annotations

import hashlib
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rdiv.errors import InputError
from rdiv.samples.cells import Cells, array_cells, column_cells

LIBRARIES: dict[str, Any] = {
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": lambda values: pa.chunked_array([pa.array(values)]),
}
every_library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(40)]


def cells(values: Any, make: Any = pl.Series) -> Cells:
    native = values if isinstance(values, pl.Series | pd.Series) else make(values)
    return column_cells(nw.from_native(native, series_only=True).alias("a"))


def id_chance(values: Any) -> float:
    found = array_cells(values) if isinstance(values, np.ndarray) else cells(values)
    return found.id_chance(found.counts(np.arange(len(found.codes))))


@every_library
def test_codes_of_numbers(make: Any) -> None:
    found = cells([2, None, 5, 2], make)
    assert found.codes.tolist() == [1, 0, 2, 1]
    assert found.ordered
    assert cells([0.5, None, 0.1, 0.5], make).codes.tolist() == [2, 0, 1, 2]
    assert cells([True, False, True], make).codes.tolist() == [2, 1, 2]


@every_library
def test_codes_of_text(make: Any) -> None:
    found = cells(["b", None, "a", "b"], make)
    assert not found.ordered
    assert found.codes.tolist() == [1, 0, 2, 1]
    assert list(found.values) == ["b", "a"]
    assert found.counts(np.array([0, 1])).tolist() == [1, 1, 0]


@every_library
def test_codes_of_a_column_without_values(make: Any) -> None:
    assert cells(make([None, None, None])).codes.tolist() == [0, 0, 0]


def test_large_integers_keep_their_last_digits() -> None:
    big = 2**60 + np.arange(4)
    assert cells(pl.Series(big)).codes.tolist() == array_cells(big).codes.tolist() == [1, 2, 3, 4]


@every_library
def test_dates_by_type(make: Any) -> None:
    for values in (DAYS, [datetime(2024, 1, 1, hour) for hour in range(20)], [None, *DAYS]):
        found = cells(values, make)
        assert found.dates == 1.0
        assert found.ordered
    assert not cells([timedelta(days=i) for i in range(9)], make).dates


@pytest.mark.parametrize(
    "text",
    ["2024-03-01", "2024/3/1", "2024-03", "2024-03-01T10:00", "2024-03-01 10:00:59.123+02:00",
     "2024-03-01T10:00:00Z", "2024.03.01"],
)  # fmt: skip
def test_dates_by_text(text: str) -> None:
    assert cells([text] * 19 + ["?"]).dates == 0.95
    assert not cells([text] * 18 + ["?"] * 2).dates


@pytest.mark.parametrize(
    "text", ["2024", "12-31-99", "1234.5", "2024-13", "555-1234", "v2024-01-02"]
)
def test_text_that_is_no_date(text: str) -> None:
    assert not cells([text] * 20).dates


def test_dates_in_text_are_in_order() -> None:
    assert cells(["2024-02-01", "2023-12-31", None]).codes.tolist() == [2, 1, 0]


RNG = np.random.default_rng(0)
HEX = [hashlib.md5(bytes([i % 256, i // 256])).hexdigest() for i in range(1000)]
IDS: dict[str, Any] = {
    "row numbers": np.arange(1000),
    "shuffled row numbers": RNG.permutation(1000) + 10**6,
    "some of many row numbers": RNG.choice(20_000, size=1000, replace=False),
    "row numbers as floats": np.append(np.arange(999.0), np.nan),
    "row numbers and a code for none": np.append(np.arange(995), [-999_999_999, 10**12]),
    "a small table": np.arange(40),
    "hashes": RNG.integers(0, 2**63, size=1000),
    "UUIDs": [str(UUID(text)) for text in HEX],
    "long hashes": [2 * text for text in HEX],
    "names": [f"Anna {text[:6]}" for text in HEX],
}
NO_IDS: dict[str, Any] = {
    "ages": RNG.integers(18, 90, size=1000),
    "constant": np.zeros(1000, dtype=int),
    "floats": RNG.normal(size=1000),
    "whole and other floats": np.append(np.arange(999.0), 0.5),
    "prose": [f"the parcel {text} came late" for text in HEX],
    "long texts": [5 * text for text in HEX],
    "levels": ["a", "b"] * 500,
    "mostly missing": [*HEX[:400], *[None] * 600],
    "few": HEX[:19],
    "large floats": 1e20 * RNG.normal(size=1000),
}


@pytest.mark.parametrize("values", IDS.values(), ids=IDS)
def test_ids(values: Any) -> None:
    assert id_chance(values) < 1e-6


@pytest.mark.parametrize("values", NO_IDS.values(), ids=NO_IDS)
def test_other_columns(values: Any) -> None:
    assert id_chance(values) > 1e-3


@pytest.mark.parametrize("n", [20, 200, 1000, 20_000])
def test_measurements_in_whole_numbers_are_no_ids(n: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        salary = rng.lognormal(10.6, 0.4, size=n).astype(int)
        cents = rng.uniform(100, 100_000, size=n).astype(int)
        people = rng.lognormal(9, 2, size=n).astype(int)
        seconds = 1_700_000_000 + rng.integers(0, 30 * 86400, size=n)
        assert min(id_chance(values) for values in (salary, cents, people, seconds)) > 1e-4


def test_lists_are_refused() -> None:
    with pytest.raises(InputError, match="holds List"):
        cells([[1], [2]])
