"""Bins and conditions: every condition means what it says."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiv.drivers.bins import InputColumn, input_columns
from rdiv.samples import Pool


def inside(column: InputColumn, place: int) -> np.ndarray:
    return column.holds[place].astype(bool)[column.codes]


numbers = st.one_of(
    st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=40),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40),
    st.lists(st.floats(1e-9, 1e-6), min_size=2, max_size=40),
    st.lists(st.floats(1e200, 1e201), min_size=2, max_size=40),
)


@given(numbers, st.booleans())
def test_conditions_on_numbers_mean_what_they_say(values: list[float], holes: bool) -> None:
    x = np.array(values)
    if holes:
        x[::3] = np.nan
    (column,) = input_columns(Pool(x[:, None]))
    assert column.codes.min() >= 0
    assert column.codes.max() < column.n_bins
    for place, (text, _) in enumerate(column.conditions):
        words = text.replace("column 0", "x").split()
        if words[-1] == "missing":
            expected = np.isnan(x)
        elif words[1] == "=":
            expected = x == float(words[2])
        elif len(words) == 3:
            threshold = float(words[2])
            expected = x >= threshold if words[1] == ">=" else x < threshold
        else:
            expected = (float(words[0]) <= x) & (x < float(words[4]))
        np.testing.assert_array_equal(inside(column, place), expected, err_msg=text)


def test_thresholds_are_short_and_cut_evenly() -> None:
    x = np.random.default_rng(0).normal(50, 10, size=(5000, 1))
    (column,) = input_columns(Pool(x))
    texts = [text.split()[-1] for text, _ in column.conditions[:9]]
    assert max(len(text) for text in texts) <= 5
    shares = np.bincount(column.codes, minlength=10) / 5000
    assert shares.min() > 0.07
    assert shares.max() < 0.13


def test_a_column_that_is_mostly_one_value() -> None:
    x = np.zeros((500, 1))
    x[:30, 0] = np.arange(1, 31)
    (column,) = input_columns(Pool(x))
    assert column.conditions[0][0] == "column 0 >= 1"
    assert inside(column, 0).sum() == 30
    (constant,) = input_columns(Pool(np.ones((5, 1))))
    assert (constant.conditions, constant.n_bins) == ((), 1)


def test_tables() -> None:
    n = 400
    start = datetime(2024, 1, 1)
    frame = pl.DataFrame(
        {
            "day": [date(2024, 1, 1) + timedelta(days=i) for i in range(n)],
            "moment": [start + timedelta(seconds=i) for i in range(n)],
            "paid": [i % 4 == 0 for i in range(n)],
            "<b>town</b>": ["A", "B", None, "C"] * (n // 4),
            "rare": ["usual"] * (n - 3) + ["x", "y", "z"],
            "nothing": [None] * n,
        }
    )
    day, moment, paid, town, rare, nothing = input_columns(Pool(frame))
    assert day.conditions[0][0] == "day >= 2024-02-09"
    np.testing.assert_array_equal(inside(day, 0), (frame["day"] >= date(2024, 2, 9)).to_numpy())
    assert moment.conditions[0][0] == "moment >= 2024-01-01 00:00:39"
    assert inside(moment, 0).sum() == n - 39
    assert [text for text, _ in paid.conditions] == ["paid = false", "paid = true"]
    assert inside(paid, 1).sum() == n // 4
    assert [text for text, _ in town.conditions] == [
        "<b>town</b> = A", "<b>town</b> = B", "<b>town</b> = C", "<b>town</b> is missing",
    ]  # fmt: skip
    assert all(inside(town, place).sum() == n // 4 for place in range(4))
    assert [text for text, _ in rare.conditions] == ["rare = usual"]
    assert nothing.conditions == ()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_owners_of_prepared_columns(library: str) -> None:
    """Names that look like prepared ones do not confuse: owners come from the preparation."""
    pandas = pytest.importorskip("pandas")
    columns = {"a": [1.0, None, 3.0, 4.0], "a = b": [1, 2, 3, 4], "a (missing)": list("uvuv")}
    frame = pl.DataFrame(columns) if library == "polars" else pandas.DataFrame(columns)
    pool = Pool(frame)
    owners = ("a", "a = b", "a", "a (missing)", "a (missing)")
    assert pool.owners() == owners
    assert pool.take(np.array([0, 2])).owners() == owners
    assert pool.matrix().shape[1] == len(owners)
    assert Pool(np.zeros((3, 2))).owners() == ("column 0", "column 1")
