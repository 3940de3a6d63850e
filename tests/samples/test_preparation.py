"""Tables to numbers: hand-computed matrices, the same from every frame library."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rdiv.samples.preparation import MOST_LEVELS, Preparation, fit_preparation

LIBRARIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}
SPREAD = np.sqrt(1.5)  # 1, 2, 3 scaled: -SPREAD, 0, SPREAD


@pytest.fixture(params=LIBRARIES)
def frame_of(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    return LIBRARIES[request.param]


@pytest.fixture(autouse=True)
def _no_floating_point_trouble() -> Any:
    with np.errstate(all="raise"):
        yield


def fitted(frame: Any) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    preparation = fit_preparation(frame)
    matrix = preparation.apply(frame)
    assert matrix.dtype == np.float64
    assert matrix.shape == (len(frame), len(preparation.names))
    assert np.isfinite(matrix).all()
    return preparation.names, matrix


def column(frame: Any) -> list[float]:
    """The values of the only number column, rounded."""
    return [round(value, 6) for value in fitted(frame)[1][:, 0].tolist()]


class TestNumbers:
    def test_by_hand(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        frame = frame_of({"a": [1, 2, 3], "b": [10.0, 30.0, 50.0], "c": [True, True, False]})
        names, matrix = fitted(frame)
        assert names == ("a", "b", "c")
        low = -np.sqrt(2.0)
        expected = [[-SPREAD, -SPREAD, -low / 2], [0, 0, -low / 2], [SPREAD, SPREAD, low]]
        np.testing.assert_allclose(matrix, expected, atol=1e-15)

    def test_missing_values(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        frame = frame_of({"a": [4.0, None, 0.0, 8.0, 4.0], "b": [1, 2, 3, 4, 5]})
        names, matrix = fitted(frame)
        assert names == ("a", "b", "a (missing)")
        np.testing.assert_allclose(matrix[:, 0], np.sqrt([0, 0, 2.5, 2.5, 0]) * [0, 0, -1, 1, 0])
        np.testing.assert_array_equal(matrix[:, 2], [0, 1, 0, 0, 0])

    def test_nan_is_missing(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        names, matrix = fitted(frame_of({"a": [1.0, float("nan"), 3.0]}))
        assert names == ("a", "a (missing)")
        np.testing.assert_allclose(matrix, [[-SPREAD, 0], [0, 1], [SPREAD, 0]], atol=1e-15)

    def test_a_value_missing_only_later_is_the_median(
        self, frame_of: Callable[[dict[str, Any]], Any]
    ) -> None:
        preparation = fit_preparation(frame_of({"a": [1.0, 2.0, 3.0]}))
        np.testing.assert_array_equal(preparation.apply(frame_of({"a": [None, 2.0]})), [[0], [0]])

    def test_all_missing(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        names, matrix = fitted(frame_of({"a": [None, None], "b": [float("nan")] * 2, "c": [0, 1]}))
        assert names == ("c", "a", "b")
        np.testing.assert_array_equal(matrix, [[-1, 0, 0], [1, 0, 0]])

    def test_all_missing_of_every_type(self) -> None:
        for dtype in (pl.Null, pl.Int8, pl.Float32, pl.String, pl.Date, pl.Boolean, pl.Categorical):
            frame = pl.DataFrame({"a": pl.Series([None, None], dtype=dtype)})
            assert column(frame) == [0.0, 0.0]
        for dtype in ("object", "float64", "Int64", "string", "category", "datetime64[ns]"):
            assert column(pd.DataFrame({"a": pd.Series([None, None], dtype=dtype)})) == [0.0, 0.0]

    def test_values_in_a_column_that_was_empty_are_ignored(self) -> None:
        preparation = fit_preparation(pl.DataFrame({"a": [None, None]}))
        assert preparation.apply(pl.DataFrame({"a": ["x", None]})).tolist() == [[0.0], [0.0]]

    @pytest.mark.parametrize("value", [0, 7, 0.1, 1e300, -1e-300, 5e-324, 2**60 + 1])
    def test_constant_columns_are_exact_zeros(self, value: float) -> None:
        assert (fitted(pl.DataFrame({"a": [value] * 11}))[1] == 0).all()
        _, matrix = fitted(pl.DataFrame({"a": [value, None, value]}))
        assert matrix.tolist() == [[0, 0], [0, 1], [0, 0]]

    @pytest.mark.parametrize("scale", [1.7e308, 1e300, 1e-300, 5e-324, 2.0**62])
    def test_huge_and_tiny_scales(
        self, frame_of: Callable[[dict[str, Any]], Any], scale: float
    ) -> None:
        assert column(frame_of({"a": [-scale, 0.0, scale]})) == [-1.224745, 0.0, 1.224745]

    def test_huge_and_tiny_values_in_one_column(self) -> None:
        assert column(pl.DataFrame({"a": [1e300, 1e-300, -1e300]})) == [1.224745, 0.0, -1.224745]

    def test_a_far_larger_value_later_stays_finite(self) -> None:
        preparation = fit_preparation(pl.DataFrame({"a": [1e-300, 2e-300]}))
        later = preparation.apply(pl.DataFrame({"a": [1e300, -1e300]}))
        assert np.isfinite(later).all()
        assert later[0, 0] > 1e90 > -1e90 > later[1, 0]

    def test_a_small_spread_far_from_zero_survives(self) -> None:
        seconds = pl.DataFrame({"a": [1.7e9, 1.7e9 + 1e-6, 1.7e9 + 2e-6]})
        np.testing.assert_allclose(column(seconds), [-SPREAD, 0, SPREAD], atol=0.15)

    def test_large_integers(self) -> None:
        frame = pl.DataFrame({"a": [2**62, 0, -(2**62)], "b": pl.Series([2**63, 0, 2**64 - 1])})
        assert column(frame) == [1.224745, 0.0, -1.224745]

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "int64[pyarrow]"])
    def test_nullable_pandas(self, dtype: str) -> None:
        names, matrix = fitted(pd.DataFrame({"a": pd.Series([1, None, 0], dtype=dtype)}))
        assert names == ("a", "a (missing)")
        np.testing.assert_allclose(matrix, [[SPREAD, 0], [0, 1], [-SPREAD, 0]], atol=1e-15)

    @pytest.mark.parametrize(
        "values",
        [
            [True, None, False],
            [1, None, 0.0],
            [Decimal("2.5"), None, Decimal("1.5")],
            [dt.date(2024, 1, 2), None, dt.date(2024, 1, 1)],
            [dt.time(12, 30, 5), None, dt.time(1)],
            [dt.timedelta(days=1), None, dt.timedelta(0)],
            [pd.Timestamp("2024-01-02", tz="Asia/Tokyo"), pd.NaT, pd.Timestamp(0, tz="UTC")],
        ],
    )
    def test_python_objects_in_pandas(self, values: list[object]) -> None:
        frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
        names, matrix = fitted(frame)
        assert names == ("a", "a (missing)")
        np.testing.assert_allclose(matrix, [[SPREAD, 0], [0, 1], [-SPREAD, 0]], atol=1e-15)


class TestTimes:
    VALUES: tuple[list[Any], ...] = (
        [dt.date(1969, 12, 31), None, dt.date(1970, 1, 1), dt.date(1970, 1, 5)],
        [dt.datetime(1969, 12, 31), None, dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 5)],
        [dt.timedelta(days=-1), None, dt.timedelta(0), dt.timedelta(days=4)],
        [dt.time(0), None, dt.time(0, 0, 1), dt.time(0, 0, 5)],
    )

    @pytest.mark.parametrize("values", VALUES, ids=lambda values: type(values[0]).__name__)
    def test_by_hand(self, frame_of: Callable[[dict[str, Any]], Any], values: list[Any]) -> None:
        names, matrix = fitted(frame_of({"when": values}))
        assert names == ("when", "when (missing)")
        days = np.array([-1.0, 0.0, 0.0, 4.0])
        np.testing.assert_allclose(matrix[:, 0], (days - 0.75) / days.std())
        np.testing.assert_array_equal(matrix[:, 1], [0, 1, 0, 0])

    def test_units_and_zones_do_not_matter(self) -> None:
        moments = pl.Series("a", [dt.datetime(2024, 1, day) for day in (1, 2, 9)])
        expected = column(moments.to_frame())
        for dtype in (pl.Datetime("ms"), pl.Datetime("ns"), pl.Datetime("us", "UTC")):
            assert column(moments.cast(dtype).to_frame()) == expected

    def test_nanoseconds_count(self) -> None:
        frame = pd.DataFrame({"a": pd.to_timedelta([100, 200, 300], unit="ns")})
        assert column(frame) == [-1.224745, 0.0, 1.224745]


class TestLevels:
    def test_by_hand(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        frame = frame_of({"t": ["b", "a", "b", None, "a", "c"]})
        names, matrix = fitted(frame)
        assert names == ("t = a", "t = b", "t = other (rare)", "t (missing)")
        expected = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
        np.testing.assert_array_equal(matrix, [*expected, [0, 0, 1, 0]])

    def test_every_kind_of_text_is_the_same(self) -> None:
        values = ["b", "a", None, "b", "a"]
        expected = fitted(pl.DataFrame({"t": values}))
        assert expected[0] == ("t = a", "t = b", "t (missing)")
        frames = [
            pl.DataFrame({"t": pl.Series(values, dtype=pl.Categorical)}),
            pl.DataFrame({"t": pl.Series(values, dtype=pl.Enum(["b", "z", "a"]))}),
            pd.DataFrame({"t": pd.Series(values, dtype=object)}),
            pd.DataFrame({"t": pd.Series(values, dtype="string")}),
            pd.DataFrame({"t": pd.Series(values, dtype="category")}),
            pa.table({"t": pa.array(values).dictionary_encode()}),
            pa.table({"t": pa.array(values, pa.large_string())}),
        ]
        for frame in frames:
            names, matrix = fitted(frame)
            assert names == expected[0]
            np.testing.assert_array_equal(matrix, expected[1])

    def test_mixed_objects_are_text(self) -> None:
        frame = pd.DataFrame({"t": pd.Series(["x", 1, None, 1, "x"], dtype=object)})
        assert fitted(frame)[0] == ("t = 1", "t = x", "t (missing)")

    def test_categories_of_numbers_are_levels(self) -> None:
        frame = pd.DataFrame({"t": pd.Categorical([3, 1, None, 3, 1])})
        assert fitted(frame)[0] == ("t = 1", "t = 3", "t (missing)")

    def test_rare_levels_share_a_column(self) -> None:
        # 1 % of 1000 rows is 10: "j" has 10 rows and stays, "i" has 9 and goes
        words = ["a"] * 979 + ["j"] * 10 + ["i"] * 9 + ["x", "y"]
        names, matrix = fitted(pl.DataFrame({"t": words}))
        assert names == ("t = a", "t = j", "t = other (rare)")
        assert matrix.sum(axis=0).tolist() == [979, 10, 11]

    def test_many_levels_are_cut(self) -> None:
        words = [f"level {i:02d}" for i in range(40) for _ in range(2 + i)]
        names, matrix = fitted(pl.DataFrame({"t": words}))
        assert len(names) == MOST_LEVELS
        assert names[0] == f"t = level {41 - MOST_LEVELS}"
        assert names[-1] == "t = other (rare)"
        np.testing.assert_array_equal(matrix.sum(axis=1), 1)

    def test_unique_labels_are_all_rare(self) -> None:
        names, matrix = fitted(pl.DataFrame({"id": [f"row {i}" for i in range(20)]}))
        assert names == ("id = other (rare)",)
        assert (matrix == 1).all()

    def test_unseen_levels(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        later = frame_of({"t": ["new", "a", None]})
        with_rare = fit_preparation(frame_of({"t": ["a", "a", "c"]}))
        assert with_rare.apply(later).tolist() == [[0, 1], [1, 0], [0, 0]]
        without = fit_preparation(frame_of({"t": ["a", "a", "b", "b"]}))
        assert without.apply(later).tolist() == [[0, 0], [1, 0], [0, 0]]
        assert without.apply(frame_of({"t": ["new"]})).tolist() == [[0, 0]]

    def test_only_missing_values_later(self) -> None:
        preparation = fit_preparation(pl.DataFrame({"t": ["a", "a", None]}))
        later = pl.DataFrame({"t": pl.Series([None], dtype=pl.String)})
        assert preparation.apply(later).tolist() == [[0, 1]]


class TestFrames:
    MIXED: dict[str, list[Any]] = {  # noqa: RUF012
        "age": [31, None, 45, 27, 31],
        "<b>region</b> 🗺️": ["west", "east", "west", None, "east"],
        "day": [dt.date(2024, 1, day) for day in (1, 2, 3, 4, 9)],
        "price": [0.1, 0.2, float("nan"), 0.4, 0.8],
        "sold": [True, False, None, True, True],
        "nothing": [None] * 5,
    }

    def test_libraries_agree_to_the_last_bit(self) -> None:
        results = [fitted(make(self.MIXED)) for make in LIBRARIES.values()]
        names = ("age", "day", "price", "sold", "age (missing)", "price (missing)")
        texts = ("<b>region</b> 🗺️ = east", "<b>region</b> 🗺️ = west", "<b>region</b> 🗺️ (missing)")
        assert results[0][0] == (*names, "sold (missing)", *texts, "nothing")
        for other in results[1:]:
            assert other[0] == results[0][0]
            np.testing.assert_array_equal(other[1], results[0][1])

    def test_rows_and_columns_may_come_in_any_order(self) -> None:
        frame = pl.DataFrame(self.MIXED)
        preparation = fit_preparation(frame)
        matrix = preparation.apply(frame)
        rows = [3, 0, 4]
        np.testing.assert_array_equal(preparation.apply(frame[rows]), matrix[rows])
        np.testing.assert_array_equal(preparation.apply(frame[:, ::-1]), matrix)
        assert preparation.apply(frame[:0]).shape == (0, matrix.shape[1])

    def test_the_input_is_not_changed(self) -> None:
        frame = pd.DataFrame(self.MIXED)
        before = frame.copy()
        fitted(frame)
        pd.testing.assert_frame_equal(frame, before)

    def test_it_pickles(self) -> None:
        frame = pl.DataFrame(self.MIXED)
        preparation = fit_preparation(frame)
        again: Preparation = pickle.loads(pickle.dumps(preparation))
        assert again.names == preparation.names
        np.testing.assert_array_equal(again.apply(frame), preparation.apply(frame))

    @pytest.mark.parametrize("output", ["pandas", "polars"])
    def test_settings_of_scikit_learn_do_not_matter(self, output: str) -> None:
        frame = pl.DataFrame(self.MIXED)
        expected = fitted(frame)[1]
        with sklearn.config_context(transform_output=output):
            np.testing.assert_array_equal(fitted(frame)[1], expected)

    def test_bytes_are_left_out(self, frame_of: Callable[[dict[str, Any]], Any]) -> None:
        odd = {"odd": [b"x", b"y"]}
        assert fit_preparation(frame_of({**odd, "a": [1, 2]})).names == ("a",)
        with pytest.raises(TypeError, match=r"no column can be read .*, got 'odd'; convert"):
            fit_preparation(frame_of(odd))

    def test_other_pandas_types_are_their_text(self) -> None:
        frame = pd.DataFrame(
            {"a": pd.arrays.IntervalArray.from_breaks([0, 1, 2]).take([0, 1, 0, 1])}
        )
        assert fitted(frame)[0] == ("a = (0, 1]", "a = (1, 2]")

    @pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, lambda: pa.table({})])
    def test_no_columns(self, make: Callable[[], Any]) -> None:
        with pytest.raises(ValueError, match="at least one column"):
            fit_preparation(make())


FLOATS = st.none() | st.floats(allow_infinity=False)
WORDS = st.none() | st.text(max_size=2)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(FLOATS, FLOATS, WORDS, st.none() | st.integers(-5, 5)), min_size=1),
    random=st.randoms(use_true_random=False),
)
def test_any_frame_gives_finite_numbers_whatever_the_order_of_rows(
    rows: list[tuple[Any, ...]], random: Any
) -> None:
    schema = {"a": pl.Float64, "b": pl.Float64, "t": pl.String, "i": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    names, matrix = fitted(frame)
    order = random.sample(range(len(rows)), len(rows))
    again_names, again = fitted(frame[order])
    assert again_names == names
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(again, matrix[order], rtol=1e-6, atol=1e-6)
