"""Columns by kind: numbers, categories, text and lists, the same from every frame library."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rdiv
from rdiv.samples import Pool, pool_samples
from rdiv.samples.by_kind import MOST_CATEGORIES
from rdiv.samples.flat_columns import flat_columns
from rdiv.samples.frames import as_frame
from rdiv.samples.text_components import FEATURES, fit_text, ngram_counts

Maker = Callable[[dict[str, Any]], Any]
MAKERS: dict[str, Maker] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=MAKERS)
def frame_of(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


def columns(n: int, seed: int) -> dict[str, list[Any]]:
    """A table with every kind of column, missing cells among them."""
    rng = np.random.default_rng(seed)
    start = dt.datetime(2023, 1, 1)
    words = ["late", "early", "broken", "fine", "again"]

    def holes(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.15 else value for value in values]

    return {
        "amount": holes(rng.normal(size=n).tolist()),
        "town": holes([str(v) for v in rng.choice(list("abc"), n)]),
        "note": holes([f"order {v} {' '.join(rng.choice(words, 3))}" for v in range(n)]),
        "place": rng.normal(size=(n, 3)).tolist(),
        "visits": [[1.0] * int(v) for v in rng.integers(0, 4, n)],
        "tags": [[str(t) for t in rng.choice(["x", "y"], 2)] for _ in range(n)],
        "when": holes([start + dt.timedelta(hours=int(v)) for v in rng.integers(0, 9000, n)]),
        "span": holes([dt.timedelta(minutes=int(v)) for v in rng.integers(0, 90, n)]),
        "price": [Decimal(int(v)) / 4 for v in rng.integers(0, 90, n)],
        "sold": holes((rng.random(n) < 0.5).tolist()),
        "raw": [bytes([v]) for v in rng.integers(0, 255, n).tolist()],
    }


class TestLists:
    def test_by_hand(self, frame_of: Maker) -> None:
        frame = frame_of({"a": [1, 2], "e": [[1.0, 2.0], [3.0, 4.0]], "b": [b"x", b"y"]})
        flat, owners, left_out = flat_columns(as_frame(frame))
        assert flat.columns == ["a", "e[0]", "e[1]"]
        assert flat["e[1]"].to_list() == [2.0, 4.0]
        assert owners == {"e[0]": "e", "e[1]": "e"}
        assert left_out == ("b",)

    def test_missing_lists_and_missing_entries(self, frame_of: Maker) -> None:
        found = Pool(frame_of({"e": [[1, 2], None, [3, None]], "a": [0, 0, 1]})).by_kind()
        assert set(found.names) == {"a", "e[0]", "e[1]"}
        places = [found.names.index(name) for name in ("e[0]", "e[1]")]
        expected = [[1, 2], [np.nan, np.nan], [3, np.nan]]
        np.testing.assert_array_equal(found.numbers[:, places], expected)

    def test_lists_of_different_lengths_are_summed_up(self, frame_of: Maker) -> None:
        found = Pool(frame_of({"e": [[1.0, 3.0], [], [5.0]]})).by_kind()
        assert found.names[:2] == ("e (length)", "e (mean)")
        np.testing.assert_array_equal(found.numbers[:, 0], [2, 0, 1])
        np.testing.assert_array_equal(found.numbers[:, 1], [2, np.nan, 5])

    def test_arrays_in_cells(self) -> None:
        matrix = np.arange(12.0).reshape(4, 3)
        frames = [
            pd.DataFrame({"e": list(matrix)}),
            pl.DataFrame({"e": pl.Series(matrix, dtype=pl.Array(pl.Float64, 3))}),
            pa.table({"e": pa.FixedSizeListArray.from_arrays(matrix.ravel(), 3)}),
        ]
        for frame in frames:
            np.testing.assert_array_equal(Pool(frame).by_kind().numbers, matrix)

    def test_structs_and_a_name_that_is_taken(self) -> None:
        frame = pl.DataFrame({"s": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "s.a": [7, 8]})
        flat, _, _ = flat_columns(as_frame(frame))
        assert flat.columns == ["s.a", "s.a'", "s.b"]

    def test_a_model_of_the_user_gets_the_lists_themselves(self) -> None:
        frame = pl.DataFrame({"e": [[1.0, 2.0]] * 4})
        assert Pool(frame).x.columns == ["e"]
        assert Pool(frame).take(np.array([0, 2])).x.columns == ["e"]

    def test_infinite_entries_are_refused(self) -> None:
        frame = pl.DataFrame({"e": [[1.0, np.inf]] * 4})
        with pytest.raises(ValueError, match="infinite values in lists of 'e'"):
            pool_samples(frame, frame, rng=0)


class TestDates:
    def test_parts_by_hand(self, frame_of: Maker) -> None:
        days = [dt.datetime(2024, 1, 1, 6) + dt.timedelta(days=40 * k) for k in range(12)]
        found = Pool(frame_of({"t": days})).by_kind()
        assert found.names == ("t", "t (weekday)", "t (month)")  # the hour never varies
        assert found.numbers[1, 1:].tolist() == [5, 2]  # 10 February 2024 was a Saturday
        np.testing.assert_array_equal(found.numbers[:, 2], [day.month for day in days])

    def test_text_that_is_a_date(self) -> None:
        texts = [f"2024-01-{day:02d}" for day in range(1, 31)]
        reading = Pool(pl.DataFrame({"t": texts}))
        assert reading.by_kind().names == ("t", "t (weekday)")
        later = Pool(pl.DataFrame({"t": ["2024-02-01", "soon"]})).like(reading).by_kind()
        assert np.isnan(later.numbers[1]).all()
        assert np.isfinite(later.numbers[0]).all()


class TestCategories:
    def test_unseen_levels_have_the_last_code(self) -> None:
        known = Pool(pl.DataFrame({"t": ["b", "b", "a", None]}))
        assert known.by_kind().codes[:, 0].tolist() == [1, 1, 2, 0]
        later = Pool(pl.DataFrame({"t": ["new", "a", None]})).like(known).by_kind()
        assert later.codes[:, 0].tolist() == [3, 2, 0]

    def test_many_levels(self) -> None:
        levels = [f"L{k}" for k in range(300) for _ in range(8 if k < 250 else 2)]
        found = Pool(pl.DataFrame({"t": levels})).by_kind()
        assert len(found.levels[0]) == MOST_CATEGORIES
        assert found.codes.max() == MOST_CATEGORIES + 1

    def test_what_is_text(self) -> None:
        frame = pl.DataFrame(
            {"few": ["a", "b"] * 30, "state": [f"S{k % 25}" for k in range(60)],
             "free": [f"row {k}" for k in range(60)]}
        )  # fmt: skip
        found = Pool(frame).by_kind()
        assert found.categories == ("few", "state")
        assert set(found.owners) == {"free"}


class TestText:
    def test_ngrams_by_hand(self) -> None:
        counts = ngram_counts(["ab", "b"]).toarray()
        assert (counts[0] > 0).sum() <= 5  # " a", "ab", "b ", " ab", "ab "
        np.testing.assert_allclose((counts**2).sum(axis=1), 1)
        shared = ((counts[0] > 0) & (counts[1] > 0)).sum()
        assert shared >= 1  # "b "
        assert counts.shape == (2, FEATURES)

    def test_a_text_has_the_same_numbers_alone(self) -> None:
        texts = sorted({f"{a} and {b}" for a in "abcdef" for b in "uvwxyz"})
        fitted = fit_text(texts, np.ones(len(texts), dtype=int))
        whole = fitted.apply(texts)
        assert (fitted.apply(texts[3:5]) == whole[3:5]).all()
        assert whole.var(axis=0).sum() == pytest.approx(1.0)

    def test_similar_texts_are_near(self) -> None:
        rng = np.random.default_rng(0)
        kinds = [["apple", "pear", "plum"], ["motor", "wheel", "brake"]]
        texts = sorted({" ".join(rng.choice(kinds[k % 2], 6)) for k in range(300)})
        fruit = np.array(["apple" in t or "pear" in t or "plum" in t for t in texts])
        numbers = fit_text(texts, np.ones(len(texts), dtype=int)).apply(texts)
        gap = numbers[fruit].mean(axis=0) - numbers[~fruit].mean(axis=0)
        assert np.abs(gap / numbers.std(axis=0)).max() > 1.5

    @pytest.mark.parametrize("texts", [["a"], ["", "x"], ["\ud800", "é" * 999]])
    def test_odd_texts(self, texts: list[str]) -> None:
        fitted = fit_text(texts, np.ones(len(texts), dtype=int))
        assert np.isfinite(fitted.apply([*texts, "", "new"])).all()


def test_libraries_agree_to_the_last_bit() -> None:
    pairs = [(make(columns(40, 1)), make(columns(30, 2))) for make in MAKERS.values()]
    pools = [pool_samples(p, q, rng=0).pool for p, q in pairs]
    for pool in pools:
        assert pool.numbers().tobytes() == pools[0].numbers().tobytes()
        assert pool.by_kind().numbers.tobytes() == pools[0].by_kind().numbers.tobytes()
        assert pool.by_kind().codes.tobytes() == pools[0].by_kind().codes.tobytes()
        assert pool.left_out == ("raw",)


def test_what_is_left_out_is_said() -> None:
    p, q = (pl.DataFrame(columns(60, seed)) for seed in (1, 2))
    assert rdiv.two_sample_test(p, q, n_resamples=19, rng=0).notes["left out"] == ["raw"]
    said = rdiv.compare(p, q, n_resamples=39, rng=0, drivers=False).warnings
    assert "Column 'raw' holds bytes or nested values and was left out." in said


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_columns_without_a_value_are_named(make: Any) -> None:
    rng = np.random.default_rng(0)
    holes, fax = np.full(40, np.nan), [None] * 40
    p, q = (make({"x": rng.normal(size=40), "holes": holes, "fax": fax}) for _ in range(2))
    said = rdiv.compare(p, q, n_resamples=39, rng=0, drivers=False).warnings
    assert "Columns 'holes', 'fax' have no value in either sample and say nothing." in said
