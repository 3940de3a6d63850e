"""Columns that moved: known values, exact family-wise p-values, and words that fit the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, time, timedelta
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, norm, rankdata

from rdiv.drivers import moved
from rdiv.drivers.moved import moved_columns
from rdiv.drivers.moved_column import MovedColumn
from rdiv.inference.engine import Null, PermutationSettings
from rdiv.samples import Pool
from rdiv.samples.input_features import column_features, read_columns
from rdiv.samples.pooling import PooledSamples, pool_samples

SETTINGS = PermutationSettings(n_resamples=199)


def found_in(p: Any, q: Any, settings: PermutationSettings = SETTINGS, **design: Any) -> Any:
    """The columns by their names, in order."""
    columns = moved_columns(pool_samples(p, q, rng=0, **design), settings)
    return {column.name: column for column in columns}


def table(n: int, rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "income": np.exp(rng.normal(10, 0.5, n)),
            "member": rng.random(n) < 0.3,
            "region": rng.choice(["north", "south", "east", "west"], n),
            "user": [f"u{number}" for number in rng.integers(10**9, size=n)],
            "day": [date(2024, 1, 1) + timedelta(int(days)) for days in rng.integers(100, size=n)],
        }
    )


class TestExact:
    """Against full enumeration of six rows, by an independent computation."""

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        p = np.array([[0.1, 5.0], [0.4, 1.0], [0.3, 5.0]])
        return p, np.array([[0.9, 5.0], [2.5, 0.0], [0.8, np.nan]])

    def slow_pvalues(self, pooled: PooledSamples) -> list[float]:
        x, is_p = pooled.pool.matrix(), pooled.is_p
        splits = [tuple(np.flatnonzero(is_p))]
        splits += [s for s in combinations(range(6), 3) if s != splits[0]]
        table = []  # one list per column, one number per split
        for column in x.T:
            best = np.zeros(20)
            for feature in self.slow_features(column):
                gaps, errors = [], []
                for split in splits:
                    a = [feature[i] for i in range(6) if i in split]
                    b = [feature[i] for i in range(6) if i not in split]
                    gaps.append(sum(b) / 3 - sum(a) / 3)
                    errors.append((np.var(a, ddof=1) / 3 + np.var(b, ddof=1) / 3) ** 0.5)
                usual = (sum(gap**2 for gap in gaps) / 20) ** 0.5
                scores = [abs(g) / max(e, usual) for g, e in zip(gaps, errors, strict=True)]
                best = np.maximum(best, scores)
            table.append(best)
        order = sorted(range(len(table)), key=lambda j: -table[j][0])
        pvalues, so_far = [0.0] * len(table), 0.0
        for rank, j in enumerate(order):
            rivals = np.max([table[k] for k in order[rank:]], axis=0)
            so_far = max(so_far, float(np.mean(rivals >= table[j][0] * (1 - 1e-9))))
            pvalues[j] = so_far
        return pvalues

    def slow_features(self, column: np.ndarray) -> list[np.ndarray]:
        known = ~np.isnan(column)
        scores, squares = np.zeros(6), np.zeros(6)
        scores[known] = norm.ppf((rankdata(column[known]) - 0.5) / known.sum())
        scores[known] -= scores[known].mean()
        squares[known] = scores[known] ** 2
        squares[known] -= squares[known].mean()
        return [scores, squares] + ([] if known.all() else [1.0 - known])

    def test_enumerated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        p, q = self.rows()
        pooled = pool_samples(p, q, rng=0)

        def every_split(prepared: Any, is_p: np.ndarray, *_: Any, **__: Any) -> Null:
            masks = [np.isin(np.arange(6), split) for split in combinations(range(6), 3)]
            others = [mask for mask in masks if (mask != is_p).any()]
            parts = prepared.statistic(np.array([is_p, *others]))
            return Null(parts, 0.0, parts[1:, 0], 1.0)

        expected = self.slow_pvalues(pooled)
        sampled = {c.name: c.pvalue for c in moved_columns(pooled, PermutationSettings(0.05, 1999))}
        monkeypatch.setattr(moved, "permute", every_split)
        few = PermutationSettings(n_resamples=19)
        exact = {c.name: c.pvalue for c in moved_columns(pooled, few)}
        assert [exact["column 0"], exact["column 1"]] == pytest.approx(expected)
        assert exact["column 0"] < exact["column 1"]
        for name, pvalue in exact.items():
            error = (pvalue * (1 - pvalue) / 1999) ** 0.5
            assert sampled[name] == pytest.approx(pvalue, abs=4.5 * error + 1 / 2000)


class TestFeatures:
    def test_by_hand(self) -> None:
        frame = pl.DataFrame({"x": [3.0, 1.0, 1.0, None], "t": ["a", None, "b", "a"]})
        number, text = (column_features(column) for column in read_columns(Pool(frame)))
        low, high = norm.ppf(1 / 3), norm.ppf(5 / 6)
        mean = (2 * low + high) / 3
        assert number.aspects == ("location", "missing")
        np.testing.assert_allclose(number.numbers[:, 0], [high - mean, low - mean, low - mean, 0])
        np.testing.assert_array_equal(number.numbers[:, 1], [0, 0, 0, 1])
        assert text.aspects == ("level", "level", "missing")  # a; b, which is rare; missing
        np.testing.assert_array_equal(text.numbers, [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]])

    @pytest.mark.parametrize("library", [pl.DataFrame, pd.DataFrame, None])
    def test_blind(self, library: Callable[[Any], Any] | None) -> None:
        """Rows that change samples change no feature by one bit."""
        rng = np.random.default_rng(0)
        frame = table(60, rng)
        swapped = rng.permutation(60)

        def parts(order: np.ndarray) -> Any:
            if library is None:
                x = frame.select("age", "income").to_numpy()[order]
                return pool_samples(x[:25], x[25:], rng=0).pool
            given = library(frame[order].to_dict(as_series=False))
            return pool_samples(given[:25], given[25:], rng=0).pool

        before, after = parts(np.arange(60)), parts(swapped)
        for old, new in zip(read_columns(before), read_columns(after), strict=True):
            old_features, new_features = column_features(old), column_features(new)
            assert old_features.aspects == new_features.aspects
            assert old_features.numbers.tobytes() == new_features.numbers.tobytes()

    def test_kinds(self) -> None:
        frame = pl.DataFrame(
            {
                "text date": ["2024-01-02", "2023/12/31", "2024-01-02T00:00:00"],
                "span": [timedelta(hours=hours) for hours in (1, 2, 3)],
                "nothing": [None, None, None],
                "list": [[1], [2], [3]],
            }
        )
        columns = {column.name: column for column in read_columns(Pool(frame))}
        assert {name: column.kind for name, column in columns.items()} == {
            "text date": "date", "span": "duration", "nothing": "empty", "list[0]": "number",
        }  # fmt: skip
        assert columns["text date"].cells.codes.tolist() == [2, 1, 2]
        assert column_features(columns["nothing"]).numbers.shape == (3, 0)

    def test_many_levels(self) -> None:
        """Thirty levels one by one, the rest together."""
        texts = [f"l{k:02}" for k in range(40) for _ in range(2 + k)]
        (column,) = read_columns(Pool(pl.DataFrame({"t": texts})))
        features = column_features(column).numbers
        assert features.shape == (len(texts), 31)
        np.testing.assert_array_equal(features.sum(axis=1), 1)
        assert features[:, 0].sum() == 41
        assert features[:, -1].sum() == sum(2 + k for k in range(10))


class TestPlanted:
    """Shifts of every kind are found and named, and the other columns are not."""

    def planted(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> dict[str, MovedColumn]:
        rng = np.random.default_rng(1)
        return found_in(table(400, rng), change(table(300, rng)))

    def only(self, columns: dict[str, MovedColumn], name: str) -> MovedColumn:
        assert next(iter(columns)) == name
        assert [c.name for c in columns.values() if c.pvalue <= 0.05] == [name]
        return columns[name]

    def test_mean(self) -> None:
        age = self.only(self.planted(lambda t: t.with_columns(pl.col("age") + 6)), "age")
        assert age.effect == pytest.approx(0.5, abs=0.25)
        assert age.aspect == "location"
        assert age.mean_current - age.mean_reference == pytest.approx(6, abs=3)
        assert age.sentence() == (
            f"age: mean {age.mean_reference:.1f} -> {age.mean_current:.1f} "
            f"({age.effect:+.2f} standard deviations), p = 0.005"
        )

    def test_spread(self) -> None:
        spread = 1.6 * (pl.col("age") - 40) + 40
        age = self.only(self.planted(lambda t: t.with_columns(age=spread)), "age")
        assert age.aspect == "spread"
        assert "middle half" in age.sentence()
        low, _, high = age.quartiles_current
        assert high - low > 1.3 * (age.quartiles_reference[2] - age.quartiles_reference[0])

    def test_level(self) -> None:
        west = pl.when(pl.int_range(pl.len()) < 60).then(pl.lit("west")).otherwise("region")
        region = self.only(self.planted(lambda t: t.with_columns(region=west)), "region")
        assert region.level == "west"
        assert region.share_current > region.share_reference + 0.1
        assert region.sentence().startswith("region: share of 'west' 2")
        assert region.effect is None

    def test_missing(self) -> None:
        gone = pl.when(pl.int_range(pl.len()) >= 30).then("income")
        income = self.only(self.planted(lambda t: t.with_columns(gone)), "income")
        assert income.flag == "newly missing"
        assert income.sentence() == "income: missing 0 % -> 10 %, p = 0.005"

    def test_constant(self) -> None:
        member = self.only(self.planted(lambda t: t.with_columns(member=pl.lit(False))), "member")
        assert member.flag == "constant in current"
        assert member.sentence().startswith(
            "member: constant in current (false), several values in reference"
        )

    def test_new_level(self) -> None:
        new = pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("centre")).otherwise("region")
        region = self.only(self.planted(lambda t: t.with_columns(region=new)), "region")
        assert (region.flag, region.new_rows, region.example) == ("new levels", 20, "centre")
        assert "20 current rows have a level that reference lacks, such as 'centre'" in (
            region.sentence()
        )

    def test_misspelled_levels(self) -> None:
        """Twenty levels of one row each are new together."""
        odd = pl.when(pl.int_range(pl.len()) < 20).then(pl.col("user")).otherwise("region")
        region = self.only(self.planted(lambda t: t.with_columns(region=odd)), "region")
        assert (region.flag, region.new_rows) == ("new levels", 20)

    def test_dates(self) -> None:
        later = pl.col("day") + timedelta(days=30)
        day = self.only(self.planted(lambda t: t.with_columns(later)), "day")
        assert day.kind == "date"
        assert day.sentence().startswith("day: mean 2024-02-")
        assert day.effect == pytest.approx(30 / (100 / 12**0.5), abs=0.25)

    def test_nothing(self) -> None:
        """No flag by chance, not for users of whom every one is new."""
        columns = self.planted(lambda t: t)
        assert all(c.flag is None and c.pvalue > 0.05 for c in columns.values())
        assert columns["user"].new_rows == 300
        assert "no frequent levels" in columns["user"].sentence()

    def test_identical(self) -> None:
        frame = table(50, np.random.default_rng(0))
        columns = found_in(frame, frame)
        assert {c.pvalue for c in columns.values()} == {1.0}
        assert all(c.size == 0 for c in columns.values())

    def test_order(self) -> None:
        """Flagged before others, then by p-value and size."""
        rng = np.random.default_rng(2)
        p, q = table(300, rng), table(300, rng)
        gone = pl.when(pl.int_range(pl.len()) >= 25).then("income")
        columns = [*found_in(p, q.with_columns(gone, pl.col("age") + 20)).values()]
        assert [c.name for c in columns[:2]] == ["income", "age"]
        rest = [(c.pvalue, -c.size) for c in columns[1:]]
        assert rest == sorted(rest)

    def test_rare_levels_hide_no_shift(self) -> None:
        """Unequal sizes: rare levels that lie in the larger sample alone are no surprise."""

        def draw(n: int, mean: float) -> pl.DataFrame:
            texts = rng.choice(20, size=(n, 10), p=[0.9, *[0.1 / 19] * 19]).astype(str)
            return pl.DataFrame(texts).with_columns(x=rng.normal(mean, 1, n))

        rng = np.random.default_rng(3)
        assert found_in(draw(100, 0.0), draw(2000, 0.6))["x"].pvalue <= 0.02


class TestValues:
    def test_by_hand(self) -> None:
        p, q = np.array([[1.0], [2.0], [3.0]]), np.array([[4.0], [5.0], [9.0], [np.nan]])
        column = found_in(p, q)["column 0"]
        spread = ((2 * 1 + 2 * 7) / 4) ** 0.5
        assert column.effect == pytest.approx(4 / spread)
        assert (column.mean_reference, column.mean_current) == (2, 6)
        assert column.quartiles_current == (4, 5, 9)
        assert (column.missing_reference, column.missing_current) == (0, 0.25)
        assert (column.rows_reference, column.rows_current) == (3, 4)
        chart = column.distribution
        assert chart.labels == ("1", "2", "3", "4", "5", "9", "missing")
        assert chart.current == (0, 0, 0, 0.25, 0.25, 0.25, 0.25)

    def test_huge_numbers(self) -> None:
        p, q = np.array([[1.0], [2.0], [3.0]]), np.array([[4.0], [5.0], [9.0]])
        usual, huge = (found_in(scale * p, scale * q)["column 0"] for scale in (1.0, 1e307))
        assert huge.effect == pytest.approx(usual.effect)
        assert huge.mean_current == pytest.approx(6e307)
        assert huge.quartiles_current == pytest.approx((4e307, 5e307, 9e307))

    def test_large_numbers_that_differ_little(self) -> None:
        x = np.random.default_rng(0).integers(0, 2**12, size=(80, 1))
        x[40:] += 2**11
        usual, far = (found_in((x + o)[:40], (x + o)[40:])["column 0"] for o in (0, 2**58))
        assert far.effect == pytest.approx(usual.effect, rel=0.02)

    def test_infinite_numbers_count_as_missing(self) -> None:
        x = np.random.default_rng(0).normal(size=(40, 2))
        x[3, 0] = np.inf
        column = found_in(x[:20], x[20:])["column 0"]
        assert column.missing_reference == 0.05
        assert np.isfinite(column.mean_reference)

    def test_charts(self) -> None:
        rng = np.random.default_rng(0)
        columns = found_in(table(300, rng), table(200, rng))
        for column in columns.values():
            chart = column.distribution
            assert len(chart.labels) == len(chart.reference) == len(chart.current) <= 12
            assert sum(chart.reference) == pytest.approx(1)
            assert sum(chart.current) == pytest.approx(1)
        age = columns["age"].distribution
        assert len(age.edges) == len(age.labels) - 1 >= 5
        assert age.labels[0] == f"< {age.edges[0]:g}"

    def test_chart_shares_by_hand(self) -> None:
        p, q = np.arange(100.0)[:, None], np.arange(100.0)[:, None] + 50
        chart = found_in(p, q)["column 0"].distribution
        edges = [-np.inf, *chart.edges, np.inf]
        for values, shares in ((p, chart.reference), (q, chart.current)):
            expected = [((values >= a) & (values < b)).mean() for a, b in pairwise(edges)]
            assert shares == pytest.approx(expected)

    def test_json(self) -> None:
        rng = np.random.default_rng(0)
        for column in found_in(table(50, rng), table(40, rng)).values():
            fields = column.fields()
            assert json.loads(json.dumps(fields, allow_nan=False)) == fields
            assert set(fields) == {*MovedColumn.__dataclass_fields__}

    def test_libraries_agree(self) -> None:
        rng = np.random.default_rng(0)
        p, q = table(80, rng), table(90, rng)
        same = found_in(p, q)
        for convert in (pl.DataFrame.to_pandas, pl.DataFrame.to_arrow):
            others = found_in(convert(p), convert(q))
            for name, column in same.items():
                assert others[name].effect == pytest.approx(column.effect)
                assert others[name].level == column.level
                assert others[name].kind == column.kind

    def test_times(self) -> None:
        hours = np.random.default_rng(0).integers(0, 12, size=(2, 100))
        p, q = (
            pl.DataFrame(
                {"at": [time(int(h)) for h in own], "span": [timedelta(hours=int(h)) for h in own]}
            )
            for own in (hours[0], hours[1] + 6)
        )
        at, span = (found_in(p, q)[name] for name in ("at", "span"))
        assert at.sentence().startswith("at: mean 05:")
        assert " s (+1." in span.sentence()
        assert at.effect == pytest.approx(span.effect)
        assert at.distribution.labels[0].startswith("< 0")

    def test_no_columns(self) -> None:
        images = np.random.default_rng(0).random((10, 1, 4, 4))
        assert moved_columns(pool_samples(images[:5], images[5:], rng=0), SETTINGS) == ()

    def test_words(self) -> None:
        column = MovedColumn("a\nb", "text", 0.5, "level", level="x" * 99,
                             share_reference=0.001, share_current=0.9996)  # fmt: skip
        assert column.sentence() == f"a\\nb: share of '{'x' * 37}...' 0.1 % -> 99.96 %, p = 0.5"
        mean = MovedColumn("x", "number", 0.01, "location", 0.02, 100.0, 100.5,
                           (99.0, 101.0, 105.0), (98.0, 100.0, 104.0))  # fmt: skip
        assert mean.sentence() == "x: median 101 -> 100, p = 0.01"  # ranks fell, the mean rose


def correlated(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Heavy-tailed columns with much in common, 30 levels, missing cells."""
    common = rng.standard_t(2, size=(n, 1))
    x = common + 0.3 * rng.standard_cauchy(size=(n, 6))
    frame = pl.DataFrame(x, schema=[f"x{j}" for j in range(6)])
    levels = np.minimum(rng.geometric(0.1, size=n), 30).astype(str)
    gone = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(level=pl.Series(levels), x5=pl.when(~gone).then("x5"))


def alarms(draws: int, run: Callable[[int], Any]) -> int:
    """How often any column has a p-value of at most 0.1."""
    return sum(min(column.pvalue for column in run(i)) <= 0.1 + 1e-9 for i in range(draws))


TENTH = PermutationSettings(alpha=0.1, n_resamples=19)


class TestLevel:
    @pytest.mark.parametrize("sizes", [(15, 45), (25, 25)])
    def test_nulls(self, sizes: tuple[int, int]) -> None:
        def run(i: int) -> Any:
            rng = np.random.default_rng([5, i])
            pooled = pool_samples(*(correlated(n, rng) for n in sizes), rng=i)
            return moved_columns(pooled, TENTH)

        draws = 200
        low, high = binom.ppf([1e-4, 1 - 1e-4], draws, 0.1)
        assert low <= alarms(draws, run) <= high

    def test_unadjusted_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def each(parts: np.ndarray) -> np.ndarray:
            return (parts >= parts[0]).mean(axis=0)

        def run(i: int) -> Any:
            rng = np.random.default_rng([5, i])
            return moved_columns(
                pool_samples(rng.normal(size=(20, 8)), rng.normal(size=(20, 8)), rng=i), TENTH
            )

        monkeypatch.setattr(moved, "step_down", each)
        assert alarms(100, run) > binom.ppf(1 - 1e-4, 100, 0.1)

    def test_groups(self) -> None:
        """Rows of a group are alike: permuting rows one by one is caught, groups are not."""

        def draw(i: int) -> tuple[Any, Any, Any]:
            rng = np.random.default_rng([6, i])
            codes = np.arange(80) // 4
            x = rng.normal(size=(20, 3))[codes] + 0.3 * rng.normal(size=(80, 3))
            return x[:32], x[32:], (codes[:32], codes[32:])

        def grouped(i: int) -> Any:
            p, q, groups = draw(i)
            return moved_columns(pool_samples(p, q, groups=groups, rng=i), TENTH)

        def by_row(i: int) -> Any:
            p, q, _ = draw(i)
            return moved_columns(pool_samples(p, q, rng=i), TENTH)

        low, high = binom.ppf([1e-4, 1 - 1e-4], 150, 0.1)
        assert low <= alarms(150, grouped) <= high
        assert alarms(50, by_row) > binom.ppf(1 - 1e-4, 50, 0.1)

    def test_strata(self) -> None:
        """Strata of other shares move every column; within strata nothing moved."""

        def draw(i: int) -> tuple[Any, Any, Any]:
            rng = np.random.default_rng([7, i])
            strata = [np.arange(40) % 4 == 0, np.arange(40) % 4 > 0]
            p, q = (rng.normal(size=(40, 3)) + 2 * own[:, None] for own in strata)
            return p, q, (strata[0].astype(int), strata[1].astype(int))

        def stratified(i: int) -> Any:
            p, q, strata = draw(i)
            return moved_columns(pool_samples(p, q, strata=strata, rng=i), TENTH)

        def ignored(i: int) -> Any:
            p, q, _ = draw(i)
            return moved_columns(pool_samples(p, q, rng=i), TENTH)

        low, high = binom.ppf([1e-4, 1 - 1e-4], 150, 0.1)
        assert low <= alarms(150, stratified) <= high
        assert alarms(50, ignored) > binom.ppf(1 - 1e-4, 50, 0.1)


class TestDesigns:
    def test_groups_and_strata_find_a_shift(self) -> None:
        rng = np.random.default_rng(0)
        codes = np.arange(120) // 3
        x = rng.normal(size=(40, 2))[codes] + rng.normal(size=(120, 2))
        x[60:, 1] += 2
        found = found_in(x[:60], x[60:], groups=(codes[:60], codes[60:]))
        assert (found["column 1"].pvalue, found["column 0"].pvalue > 0.05) == (0.005, True)
        both = found_in(
            x[:60],
            x[60:],
            groups=(codes[:60], codes[60:]),
            strata=(codes[:60] % 4, codes[60:] % 4),
        )
        assert both["column 1"].pvalue == 0.005
        pairs = found_in(x[:60], x[60:], strata=(np.arange(60), np.arange(60)))
        assert pairs["column 1"].pvalue == 0.005

    def test_a_column_of_strata_cannot_move(self) -> None:
        rng = np.random.default_rng(0)
        p = pl.DataFrame({"x": rng.normal(size=90), "site": ["a", "b", "b"] * 30})
        q = pl.DataFrame({"x": rng.normal(size=90), "site": ["a", "a", "b"] * 30})
        assert found_in(p, q, strata="site")["site"].pvalue == 1
        assert found_in(p, q)["site"].pvalue == 0.005

    def test_some_strata_of_a_pool(self) -> None:
        """A part of a pool has gaps between the codes of its strata."""
        rng = np.random.default_rng(0)
        p, q = rng.normal(size=(90, 2)), rng.normal([0, 2], size=(90, 2))
        pooled = pool_samples(p, q, strata=(np.arange(90) % 9, np.arange(90) % 9), rng=0)
        part = pooled.part(np.flatnonzero(~np.isin(pooled.pool.strata, [0, 4])))
        first, second = moved_columns(part, SETTINGS)
        assert (first.name, first.pvalue, second.pvalue > 0.05) == ("column 1", 0.005, True)

    def test_a_group_counts_once(self) -> None:
        """Missing in all rows of one group of current alone: no surprise, hence no flag."""
        rng = np.random.default_rng(0)
        p, q = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
        q[:20] = np.nan
        groups = (np.arange(40) // 20, 10 + np.arange(40) // 20)
        assert found_in(p, q)["column 0"].flag == "newly missing"
        assert found_in(p, q, groups=groups)["column 0"].flag is None

    def test_some_rows_of_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(moved, "MOST_ROWS", 50)
        rng = np.random.default_rng(0)
        p, q = rng.normal(size=(80, 2)), rng.normal([0, 2], size=(30, 2))
        found = found_in(p, q)
        assert (found["column 1"].rows_reference, found["column 1"].rows_current) == (50, 30)
        assert found["column 1"].pvalue == 0.005
        found = found_in(p, q, groups=(np.arange(80), 80 + np.arange(30)))
        assert found["column 1"].rows_reference == 50
        assert found_in(np.tile(p, (2, 1)), np.tile(p, (2, 1)))["column 1"].pvalue == 1

    def test_blocks_of_columns_share_their_masks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(0)
        p, q = table(60, rng), table(70, rng)
        whole = found_in(p, q)
        monkeypatch.setattr(moved, "_FEATURES_AT_ONCE", 3)
        assert found_in(p, q) == whole

    def test_many_columns_fewer_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(moved, "FEWEST_ROWS", 40)
        monkeypatch.setattr(moved, "MOST_NUMBERS", 10_000)
        rng = np.random.default_rng(0)
        found = found_in(rng.normal(size=(90, 50)), rng.normal(size=(60, 50)))
        rows = {(column.rows_reference, column.rows_current) for column in found.values()}
        assert rows == {(50, 50)}  # 10 000 over twice 100 features

    def test_same_for_any_number_of_jobs(self) -> None:
        rng = np.random.default_rng(0)
        p, q = table(60, rng), table(70, rng)
        settings = PermutationSettings(n_resamples=599)
        assert found_in(p, q, settings) == found_in(p, q, replace(settings, n_jobs=2))
