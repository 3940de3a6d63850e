"""Margins: the textbook where that applies, intervals that agree, and the right level."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration import margins as benchmark
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, ttest_ind

import rdiv
from rdiv.comparison.margins import margin_tests
from rdiv.inference.intervals import one_sided_limits, one_sided_pvalue
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.tilting import Boundary, units_of
from rdiv.models import CrossFit, Ridge
from rdiv.samples.pooling import pool_samples


def judged(p: np.ndarray, q: np.ndarray, margin: float, alpha: float = 0.05, **design: Any) -> Any:
    """Both questions about losses that are given as they are."""
    pooled = pool_samples(p[:, None], q[:, None], rng=0, **design)
    losses = pooled.pool.matrix()[:, 0]
    prepared = mean_gap(losses, groups=pooled.pool.groups, strata=pooled.pool.strata)
    return margin_tests(prepared, pooled, alpha, equivalence_margin=margin, not_worse_than=margin)


def symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """Losses without any skewness."""
    half = rng.normal(size=n)
    return np.concatenate([half, -half])


class TestArithmetic:
    def test_welch_where_nothing_is_skewed(self) -> None:
        rng = np.random.default_rng(0)
        p, q = symmetric(rng, 20), 0.1 + 2 * symmetric(rng, 30)
        equivalent, not_worse = judged(p, q, 0.6)
        below = ttest_ind(q - 0.6, p, equal_var=False, alternative="less").pvalue
        above = ttest_ind(q + 0.6, p, equal_var=False, alternative="greater").pvalue
        assert not_worse.pvalue == pytest.approx(below, rel=0.02)  # n - 1 of n in the freedom
        assert equivalent.pvalue == pytest.approx(max(below, above), rel=0.02)

    @given(
        gap=st.floats(-2, 2), skewness=st.floats(-1, 1), freedom=st.floats(5, 1e4),
        alpha=st.sampled_from([0.01, 0.05, 0.2]), margin=st.floats(-2, 2),
    )  # fmt: skip
    def test_limits_and_pvalues_agree(
        self, gap: float, skewness: float, freedom: float, alpha: float, margin: float
    ) -> None:
        error = 0.4
        low, high = one_sided_limits(gap, error, freedom, skewness, alpha)
        below = one_sided_pvalue((gap - margin) / error, freedom, skewness)
        above = one_sided_pvalue((margin - gap) / error, freedom, -skewness)
        if abs(margin - high) > 1e-6:
            assert (below <= alpha) == (margin > high)
        if abs(margin - low) > 1e-6:
            assert (above <= alpha) == (margin < low)

    def test_shown_exactly_when_the_interval_lies_within(self) -> None:
        rng = np.random.default_rng(1)
        p, q = rng.exponential(size=80), 1.1 * rng.exponential(size=50)
        for margin in (0.1, 0.3, 0.5, 0.8):
            equivalent, not_worse = judged(p, q, margin)
            low, high = equivalent.interval
            assert equivalent.shown == (-margin < low and high < margin)
            assert not_worse.shown == (high < margin)
            assert not_worse.interval == (-np.inf, high)

    def test_copies_of_rows_in_groups_add_nothing(self) -> None:
        rng = np.random.default_rng(2)
        p, q = rng.exponential(size=60), rng.exponential(size=40)
        once = judged(p, q, 0.4)
        groups = np.repeat(np.arange(60), 5), np.repeat(np.arange(60, 100), 5)
        copied = judged(np.repeat(p, 5), np.repeat(q, 5), 0.4, groups=groups)
        for one, many in zip(once, copied, strict=True):
            assert many.pvalue == pytest.approx(one.pvalue, rel=1e-6)

    def test_pairs(self) -> None:
        """With strata of one row a side the test is that of the differences."""
        rng = np.random.default_rng(3)
        effect = 5 * rng.normal(size=60)
        p, q = effect + symmetric(rng, 30), effect + symmetric(rng, 30)
        strata = np.arange(60), np.arange(60)
        equivalent, not_worse = judged(p, q, 0.5, strata=strata)
        from scipy.stats import ttest_1samp

        expected = ttest_1samp(q - p, 0.5, alternative="less").pvalue
        assert not_worse.pvalue == pytest.approx(expected, rel=1e-6)
        assert equivalent.shown

    def test_no_spread_shows_nothing(self) -> None:
        equivalent, not_worse = judged(np.ones(9), np.ones(9), 0.5)
        assert equivalent.pvalue == not_worse.pvalue == 1.0

    def test_a_pvalue_is_never_0(self) -> None:
        rng = np.random.default_rng(0)
        equivalent, _ = judged(1e-9 * rng.normal(size=5000), 1e-9 * rng.normal(size=5000), 1.0)
        assert 0 < equivalent.pvalue < 1e-100


class TestBoundary:
    """A small sample without errors shows nothing yet."""

    REFERENCE = np.repeat([0.0, 1.0], [9900, 100])

    @pytest.mark.parametrize(("n", "errors"), [(5, 0), (20, 0), (60, 2), (200, 10)])
    def test_the_binomial_test_for_errors_and_a_large_reference(self, n: int, errors: int) -> None:
        current = (np.arange(n) < errors).astype(float)
        expected = binom.cdf(errors, n, 0.1)
        large = Boundary(units_of(np.repeat(self.REFERENCE, 50)), units_of(current))
        assert large.pvalue(0.09) == pytest.approx(expected, rel=1e-3)
        _, not_worse = judged(self.REFERENCE, current, 0.09)  # the larger of two p-values
        assert not_worse.pvalue > 0.98 * expected

    def test_through_the_public_name(self) -> None:
        """Five current rows without an error once showed an error rate below 10 %."""
        frames = [pl.DataFrame({"error": x}) for x in (self.REFERENCE[9700:], np.zeros(5))]
        how: dict[str, Any] = {"loss": "error", "not_worse_than": 0.09, "rng": 0, "drivers": False}
        few = rdiv.compare(*frames, **how)
        assert not few.not_worse.shown
        assert few.not_worse.interval.high > 0.09
        frames[1] = pl.DataFrame({"error": np.zeros(100)})
        assert rdiv.compare(*frames, **how).not_worse.shown

    def test_nothing_is_random(self) -> None:
        rng = np.random.default_rng(4)
        p, q = rng.exponential(size=40), rng.exponential(size=9)
        first, again = judged(p, q, 0.7), judged(p, q, 0.7)
        assert [one.pvalue for one in first] == [one.pvalue for one in again]

    def test_groups_without_errors_count_as_one(self) -> None:
        groups = np.repeat(np.arange(100), 3), np.repeat(np.arange(100, 105), 20)
        reference = np.tile([0.0] * 49 + [1.0], 6)
        _, not_worse = judged(reference, np.zeros(100), 0.1, groups=groups)
        assert not not_worse.shown  # a hundred rows, but only five groups
        assert judged(reference, np.zeros(100), 0.1)[1].shown


class TestLevel:
    DRAWS = 200

    @pytest.mark.parametrize("cell", [0, 5, 8, 9, 14])
    def test_at_the_margin_with_few_rows(self, cell: int) -> None:
        hits, _ = benchmark.count(benchmark.SMALL[cell], range(self.DRAWS))
        assert hits <= binom.isf(1e-3, self.DRAWS, benchmark.ALPHA)

    @pytest.mark.parametrize("cell", [1, 5])
    def test_at_the_margin(self, cell: int) -> None:
        hits, _ = benchmark.count(benchmark.CELLS[cell], range(self.DRAWS))
        assert hits <= binom.isf(1e-3, self.DRAWS, benchmark.ALPHA)

    def test_without_the_boundary_it_does_not_hold(self) -> None:
        _, hits = benchmark.count(benchmark.SMALL[0], range(60))
        assert hits > binom.isf(1e-3, 60, benchmark.ALPHA)

    def test_a_small_gap_is_still_shown_to_be_small(self) -> None:
        cell = next(c for c in benchmark.SMALL if not c.at_margin and c.sizes == (300, 200))
        hits, _ = benchmark.count(cell, range(40))
        assert hits > 30

    def test_a_mistake_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The wrong tail: yes is said when the gap is not shown to be above the margin."""
        monkeypatch.setattr("rdiv.comparison.margins.one_sided_pvalue", lambda *how: 0.0)
        monkeypatch.setattr("rdiv.inference.tilting.Boundary.pvalue", lambda *how: 0.0)
        hits, _ = benchmark.count(benchmark.CELLS[1], range(40))
        assert hits > binom.isf(1e-3, 40, benchmark.ALPHA)


class TestCompare:
    X = np.random.default_rng(0).normal(size=(1200, 2))
    Y = X[:, 0] + np.random.default_rng(1).normal(size=1200)

    def found(self, **how: Any) -> rdiv.Comparison:
        sides = (self.X[:600], self.Y[:600]), (self.X[600:], self.Y[600:])
        return rdiv.compare(
            *sides, **({"model": "ridge", "rng": 0, "n_resamples": 39, "drivers": False} | how)
        )

    def test_in_the_panel_and_the_document(self) -> None:
        found = self.found(equivalence_margin=0.5, not_worse_than=0.001)
        assert found.equivalence.shown
        assert not found.not_worse.shown
        text = str(found)
        assert "the gap is within 0.5 of 0" in text
        assert "not shown that the gap is below 0.001" in text
        document = json.loads(found.to_json())
        assert document["equivalence"]["shown"] is True
        assert document["equivalence"]["interval"]["high"] < 0.5
        assert document["not_worse"]["interval"]["low"] is None
        assert document["drivers"] is None
        assert self.found().to_dict()["equivalence"] is None

    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ({"equivalence_margin": 0.0}, "above 0"),
            ({"equivalence_margin": float("nan")}, "above 0"),
            ({"not_worse_than": -0.1}, "at least 0"),
        ],
    )
    def test_refused(self, how: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            self.found(**how)

    def test_they_are_about_the_model_in_use(self) -> None:
        """Rows that it was not trained on, so losses of the shared model may be in-sample."""
        found = self.found(equivalence_margin=0.5)
        test = found.equivalence
        assert test.interval.low < found.gap < test.interval.high
        again = self.found(equivalence_margin=0.5, folds=None)
        assert again.equivalence.pvalue == test.pvalue
        assert again.shared_gap != found.shared_gap

    def test_or_else_about_the_shared_model(self) -> None:
        small = (self.X[:90], self.Y[:90]), (self.X[600:], self.Y[600:])
        how = {"model": "ridge", "rng": 0, "n_resamples": 39, "drivers": False}
        found = rdiv.compare(*small, not_worse_than=0.5, **how)
        assert found.gap is None
        pooled = pool_samples(*small, rng=0)
        losses = CrossFit(Ridge(), 5).fit(pooled.pool, pooled.stream("fit")).losses(pooled.pool)
        expected = margin_tests(
            mean_gap(losses), pooled, 0.05, equivalence_margin=None, not_worse_than=0.5
        )[1]
        assert found.not_worse.pvalue == expected.pvalue
        with pytest.raises(ValueError, match="out-of-fold"):
            rdiv.compare(*small, not_worse_than=0.5, folds=None, **how)
