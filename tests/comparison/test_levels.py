"""compare_many: levels judged together, skipped with a reason, never by too few permutations."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.cli.conftest import table

import rdiv
from rdiv.comparison.family import Family, permutations_for
from rdiv.comparison.level_samples import FEWEST_ROWS
from rdiv.comparison.levels_result import Level
from rdiv.inference.intervals import Interval
from rdiv.inference.multiplicity import Correction
from rdiv.progress import progress_sent_to

FAST = {"model": "ridge", "drivers": False, "n_resamples": 199, "rng": 0}


def regression(rows: int, seed: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return x, x[:, 0] + spread * rng.normal(size=rows)


def slow_holm(pvalues: list[float]) -> list[float]:
    """The k-th smallest of L times L - k + 1, never below an earlier one."""
    adjusted = []
    for own in pvalues:
        largest = 0.0
        for other in pvalues:
            if other <= own:
                below = sum(third < other for third in pvalues)
                largest = max(largest, (len(pvalues) - below) * other)
        adjusted.append(min(1.0, largest))
    return adjusted


def slow_bh(pvalues: list[float]) -> list[float]:
    """The smallest level at which a p-value is selected."""
    adjusted = []
    for own in pvalues:
        best = 1.0
        for other in pvalues:
            if other >= own:
                best = min(best, len(pvalues) * other / sum(third <= other for third in pvalues))
        adjusted.append(best)
    return adjusted


def expected_levels(
    comparisons: list[rdiv.Comparison], correction: str, alpha: float, run: Any = "none"
) -> list[tuple[dict[str, float], str]]:
    """Adjusted p-values and the verdict of every level, by the slow way.

    Runs of levels are one more member of the family, with a p-value of 1 where there are none.
    """
    slow = {"holm": slow_holm, "bh": slow_bh}[correction]
    row = [] if run == "none" else [1.0 if run is None else run.pvalue]
    wholes = slow([one.pvalue for one in comparisons] + row)
    factor = float(len(wholes))
    if correction == "bh":
        factor /= max(sum(whole <= alpha for whole in wholes), 1)
    found = []
    for one, whole in zip(comparisons, wholes[: len(comparisons)], strict=True):
        parts = {
            name: min(1.0, max(whole, factor * pvalue))
            for name, pvalue in one.adjusted_pvalues.items()
        }
        leading = "in-use" if "in-use" in parts else "r-div"
        if parts[leading] <= alpha:
            verdict = "risk shift"
        elif any(pvalue <= alpha for pvalue in parts.values()):
            verdict = "hidden shift"
        else:
            verdict = "shift, kind not established" if whole <= alpha else "no shift"
        found.append(({"together": whole, **parts}, verdict))
    return found


def test_levels_are_those_of_compare_at_a_share_of_alpha() -> None:
    reference = regression(120, 0)
    days = {"mon": regression(80, 1), "tue": regression(80, 2, 2.0), "wed": regression(80, 3)}
    found = rdiv.compare_many(reference, days, **FAST)
    alone = [rdiv.compare(reference, day, alpha=0.05 / 4, **FAST) for day in days.values()]
    for level, one in zip(found.levels, alone, strict=True):
        assert level.comparison is not None
        assert level.comparison.to_dict() == one.to_dict()
    expected = expected_levels(alone, "holm", 0.05, found.run)
    for level, (adjusted, verdict) in zip(found.levels, expected, strict=True):
        assert list(level.adjusted_pvalues) == ["together", "in-use", "r-div", "score"]
        assert dict(level.adjusted_pvalues) == pytest.approx(adjusted)
        assert level.verdict == verdict
    assert [level.verdict for level in found.levels] == ["no shift", "risk shift", "no shift"]
    assert (found.verdict, found.shifted, found.levels[1].direction) == (
        "risk shift",
        True,
        "worse",
    )
    assert found.headline() == "1 of 3 levels shifted: tue (worse)."


def test_benjamini_hochberg_judges_parts_by_how_many_levels_were_selected() -> None:
    days = {f"day {i}": regression(80, i, 2.5 if i < 3 else 1.0) for i in range(1, 6)}
    found = rdiv.compare_many(regression(120, 0), days, correction="bh", **FAST)
    comparisons = [level.comparison for level in found.tested]
    expected = expected_levels(comparisons, "bh", 0.05, found.run)  # type: ignore[arg-type]
    assert sum(level.shifted for level in found.levels) == 2
    for level, (adjusted, verdict) in zip(found.tested, expected, strict=True):
        assert dict(level.adjusted_pvalues) == pytest.approx(adjusted)
        assert level.verdict == verdict


ONE = rdiv.compare(regression(120, 0), regression(80, 1), **FAST)
GRID = st.integers(1, 1000).map(lambda k: k / 1000)


class TestAFamilyJudgedTogether:
    def judged(
        self, pvalues: list[tuple[float, float, float, float]], correction: Correction
    ) -> tuple[list[rdiv.Comparison], list[Level]]:
        """Levels with p-values that are made up, consistent as those of closed testing are."""
        found = []
        for in_use, shared, score, whole in pvalues:
            parts = {"in-use": in_use, "r-div": shared, "score": score}
            adjusted = {name: max(pvalue, whole) for name, pvalue in parts.items()}
            found.append(replace(ONE, pvalue=whole, adjusted_pvalues=adjusted))
        family = Family(len(found), 0.05, correction, None, 0)
        named = {str(place): one for place, one in enumerate(found)}
        return found, list(family.judged(named).values())

    @given(
        pvalues=st.lists(st.tuples(GRID, GRID, GRID, GRID), min_size=1, max_size=6),
        correction=st.sampled_from(["holm", "bh"]),
        scale=st.sampled_from([1.0, 0.1, 0.02]),
    )
    def test_against_slow_code(
        self,
        pvalues: list[tuple[float, float, float, float]],
        correction: Correction,
        scale: float,
    ) -> None:
        small = [tuple(scale * pvalue for pvalue in four) for four in pvalues]
        comparisons, levels = self.judged(small, correction)  # type: ignore[arg-type]
        expected = expected_levels(comparisons, correction, 0.05)
        for level, (adjusted, verdict) in zip(levels, expected, strict=True):
            assert dict(level.adjusted_pvalues) == pytest.approx(adjusted)
            near = any(abs(pvalue - 0.05) < 1e-9 for pvalue in adjusted.values())
            assert near or level.verdict == verdict

    @pytest.mark.parametrize("correction", ["holm", "bh"])
    def test_a_part_needs_a_small_pvalue_of_its_own(self, correction: Correction) -> None:
        """The first level shifted for certain; in the other only all questions together say so."""
        certain, unclear = (0.001, 0.001, 0.001, 0.001), (0.5, 0.06, 0.06, 0.04)
        _, (first, second) = self.judged([certain, unclear], correction)
        assert first.verdict == "risk shift"
        assert second.adjusted_pvalues["together"] == pytest.approx(0.04)
        assert second.verdict == "shift, kind not established"
        assert second.direction is None
        assert second.shifted

    def test_alone_it_would_be_hidden(self) -> None:
        """Holm leaves 1 of 2 levels to the later one, and its parts still pay for both."""
        certain, hidden = (0.001, 0.001, 0.001, 0.001), (0.5, 0.03, 0.5, 0.03)
        assert self.judged([hidden], "holm")[1][0].verdict == "hidden shift"
        assert self.judged([certain, hidden], "holm")[1][1].verdict == "shift, kind not established"
        assert self.judged([certain, hidden], "bh")[1][1].verdict == "hidden shift"


def test_the_model_in_use_is_the_same_for_every_level() -> None:
    """Part A depends on the reference and the seed alone, so do the losses of the rest of it."""
    days = {"mon": regression(80, 1), "tue": regression(50, 2, 2.0), "wed": regression(200, 3)}
    found = rdiv.compare_many(regression(120, 0), days, **FAST)
    used = [level.comparison.results["in-use"] for level in found.tested]  # type: ignore[union-attr]
    assert [test.risk_p for test in used] == pytest.approx([used[0].risk_p] * 3, rel=1e-12)
    assert len({test.risk_q for test in used}) == 3
    assert {test.notes["rows trained on"] for test in used} == {60}
    shared = [level.comparison.results["r-div"] for level in found.tested]  # type: ignore[union-attr]
    assert np.ptp([test.risk_p for test in shared]) > 1e-3  # of models that differ
    other = rdiv.compare_many(regression(120, 0), days, **(FAST | {"rng": 1}))
    moved = other.tested[0].comparison.results["in-use"].risk_p  # type: ignore[union-attr]
    assert abs(moved - used[0].risk_p) > 1e-3


def test_a_short_level_is_skipped_with_the_reason() -> None:
    days = {"full": regression(60, 1), "short": regression(FEWEST_ROWS - 1, 2)}
    found = rdiv.compare_many(regression(80, 0), days, **FAST)
    assert found.levels[1].skipped == "19 rows, fewer than the 20 that a level needs"
    assert found.levels[1].verdict is None
    assert "short: skipped, 19 rows" in str(found)
    assert found.levels[0].comparison is not None
    assert found.levels[0].comparison.results["r-div"].alpha == 0.05  # it has all of alpha
    with pytest.raises(ValueError, match="no level to compare: a has 3 rows, fewer than the 20"):
        rdiv.compare_many(regression(80, 0), {"a": regression(3, 1)}, **FAST)


def test_a_level_of_one_group_is_skipped_too() -> None:
    shops = [table(60, seed=i).with_columns(shop=pl.int_range(60) // 6 + 10 * i) for i in range(2)]
    alone = table(30, seed=2).with_columns(shop=pl.lit(99))
    current = {"ten shops": shops[1], "one shop": alone}
    settings = {"target": "bought", "model": "logistic", "groups": "shop", "drivers": False}
    found = rdiv.compare_many(shops[0], current, rng=0, **settings)
    assert [level.skipped for level in found.levels] == [
        None,
        "1 group, fewer than the 2 that a level needs",
    ]


def test_identical_samples_give_no_shift_and_p_one() -> None:
    same = table(80, seed=0)
    found = rdiv.compare_many(
        same, {"a": same, "b": same}, target="bought", model="logistic", rng=0
    )
    for level in found.tested:
        assert level.comparison is not None
        assert level.verdict == "no shift"
        assert {r.pvalue for r in level.comparison.results.values()} == {1.0}
        assert level.adjusted_pvalues["together"] == 1.0
        assert level.comparison.shared_gap == 0


def test_permutations_are_raised_or_refused() -> None:
    assert permutations_for(1, 0.05, None) == 999
    assert permutations_for(100, 0.05, None) == 9999
    assert permutations_for(20, 0.05, 399) == 399
    with pytest.raises(ValueError, match=r"398 permutations can never .* at least 399"):
        permutations_for(20, 0.05, 398)
    days = {f"{i}": regression(20, i) for i in range(12)}
    found = rdiv.compare_many(regression(40, 99), days, model="ridge", drivers=False, rng=0)
    assert (found.n_resamples, found.raised) == (1299, True)
    assert "raised because there are so many levels" in str(found)
    with pytest.raises(ValueError, match="at least 259"):
        rdiv.compare_many(regression(40, 99), days, **FAST)


def test_levels_of_a_column_are_no_input() -> None:
    current = pl.concat(
        [
            table(60, seed=i, turned=0.45 if i == 2 else 0).with_columns(month=pl.lit(i))
            for i in (3, 1, 2)
        ]
        + [table(30, seed=9).with_columns(month=pl.lit(None, dtype=pl.Int32))]
    ).sample(fraction=1, shuffle=True, seed=0)
    reference = table(150, seed=0).with_columns(month=pl.lit(12))
    settings = {"target": "bought", "model": "logistic", "rng": 0, "drivers": False}
    found = rdiv.compare_many(reference, current, by="month", **settings)
    assert [level.name for level in found.levels] == ["1", "2", "3", "(missing)"]
    assert [level.rows for level in found.levels] == [60, 60, 60, 30]
    second = current.filter(pl.col("month") == 2).drop("month")
    alone = rdiv.compare(reference.drop("month"), second, alpha=0.05 / 5, **settings)
    assert found.levels[1].comparison is not None
    assert found.levels[1].comparison.to_json() == alone.to_json()
    assert found.headline().startswith("1 of 4 levels of month shifted: 2 (")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": "nothing"}, "is not in current"),
        ({"by": "bought"}, "is the target"),
        ({"by": None}, "mapping of names"),
        ({"by": "bucket", "correction": "bonferroni"}, "unknown correction"),
    ],
)
def test_what_cannot_be_split_is_refused(change: dict[str, object], words: str) -> None:
    frames = [table(30, seed).with_columns(bucket=pl.lit("all")) for seed in range(2)]
    with pytest.raises((ValueError, TypeError), match=words):
        rdiv.compare_many(*frames, target="bought", **change)
    with pytest.raises(TypeError, match="names a column of a frame"):
        rdiv.compare_many(regression(30, 0), regression(30, 1), by="a")


def test_an_error_names_its_level() -> None:
    days = {"mon": table(30, 0), "tue": table(30, 1).drop("age")}
    with pytest.raises(ValueError, match="level tue: p and q must have the same columns"):
        rdiv.compare_many(table(30, 2), days, target="bought", model="logistic")


def test_the_document_is_json_and_names_no_place() -> None:
    days = {"mon": regression(30, 1), "tue": regression(5, 2)}
    found = rdiv.compare_many(regression(40, 0), days, **FAST)
    document = json.loads(found.to_json())
    assert document == found.to_dict()
    assert [level["name"] for level in document["levels"]] == ["mon", "tue"]
    assert document["levels"][1]["comparison"] is None
    assert document["levels"][0]["comparison"]["schema"] == document["schema"]


def test_any_false_alarm_among_levels_is_rare() -> None:
    """Three levels that share a reference, nothing moved: alarms within a binomial bound."""
    trials, alarms = 40, 0
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        x = rng.normal(size=(130, 2))
        y = x[:, 0] + rng.normal(size=130)
        parts = [(x[i : i + 30], y[i : i + 30]) for i in range(40, 130, 30)]
        days = {str(i): part for i, part in enumerate(parts)}
        settings = {"model": "ridge", "folds": 2, "drivers": False, "n_resamples": 199}
        found = rdiv.compare_many((x[:40], y[:40]), days, alpha=0.1, rng=trial, **settings)
        alarms += found.shifted
    assert alarms <= binom.ppf(0.999, trials, 0.1)


def test_every_level_is_counted_as_it_starts() -> None:
    said: list[str] = []
    days = {"mon": regression(40, 1), "tue": regression(40, 2)}
    with progress_sent_to(said.append):
        rdiv.compare_many(regression(40, 0), days, **FAST)
    assert any(text.startswith("level 1 of 2") for text in said)


def days(gaps: list[float], seed: int, rows: int = 40) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table of losses, and one of as many days as gaps, each worse by its own."""
    rng = np.random.default_rng(seed)
    current = [
        pl.DataFrame({"day": [f"d{k:02d}"] * rows, "loss": 1.6 * rng.exponential(size=rows) + gap})
        for k, gap in enumerate(gaps)
    ]
    return pl.DataFrame({"loss": 1.6 * rng.exponential(size=50 * rows)}), pl.concat(current)


class TestLevelsInARow:
    def test_ten_days_of_which_none_alone_is_shown(self) -> None:
        """Fails where only single levels are judged."""
        gaps = [0.33, 0.61, 0.45, 0.38, 0.52, 0.41, 0.36, 0.47, 0.55, 0.4]
        reference, current = days(gaps, seed=1)
        found = rdiv.compare_many(reference, current, by="day", loss="loss", rng=0)
        assert not any(level.verdict == "risk shift" for level in found.levels)
        assert (found.verdict, found.shifted, found.run_shown) == ("risk shift", True, True)
        assert found.run is not None
        assert found.run.interval is not None
        assert (found.run.direction, found.run.interval.low > 0) == ("worse", True)
        assert "together changed the loss: worse" in found.headline()
        assert f"in a row: {found.run.name()} all lie above the reference" in str(found)
        assert json.loads(found.to_json())["run"]["levels"] == list(found.run.levels)

    def test_its_numbers_by_hand(self) -> None:
        reference, current = days([0.9, 0.8, 1.1], seed=4)
        found = rdiv.compare_many(reference, current, by="day", loss="loss", rng=0)
        assert found.run is not None
        assert found.run.levels == ("d00", "d01", "d02")
        gap = current["loss"].mean() - reference["loss"].mean()  # type: ignore[operator]
        assert found.run.gap == pytest.approx(gap)
        assert found.run.rows == 120
        wholes = [level.comparison.pvalue for level in found.tested if level.comparison]
        assert found.run.adjusted_pvalue == pytest.approx(
            slow_holm([*wholes, found.run.pvalue])[-1]
        )

    @pytest.mark.parametrize(
        ("count", "change", "why"),
        [
            (2, {}, "fewer than 3 levels"),
            (3, {"groups": "who"}, "groups with rows in several levels"),
            (3, {"strata": "who"}, "strata"),
        ],
    )
    def test_where_they_are_not_tested(self, count: int, change: dict[str, Any], why: str) -> None:
        reference, current = days([0.0] * count, seed=3)
        reference = reference.with_columns(
            who=pl.Series(np.arange(len(reference)) % 20 + 100 * ("groups" in change))
        )
        current = current.with_columns(who=pl.Series(np.arange(40 * count) % 20))
        found = rdiv.compare_many(reference, current, by="day", loss="loss", rng=0, **change)
        assert (found.run, found.no_runs) == (None, why)

    def test_models_are_no_levels_in_a_row(self) -> None:
        p, q = regression(60, 0), regression(60, 1)
        models = {"a": "ridge", "b": "gmm", "c": "pca"}
        found = rdiv.compare_models(p, q, models, rng=0, drivers=False, n_resamples=99)
        assert found.run is None
        assert "in a row" not in str(found)


class TestLevelsWhoseIntervalAndVerdictDisagree:
    def remark(self, interval: tuple[float, float], whole: float, in_use: float) -> str:
        adjusted = {"together": whole, "in-use": in_use}
        one = replace(ONE, gap=0.4, gap_interval=Interval(*interval))
        verdict = "risk shift" if in_use <= 0.05 else "no shift"
        return Level("tue", 80, verdict=verdict, adjusted_pvalues=adjusted, comparison=one).remark()  # type: ignore[arg-type]

    def test_each_gets_its_sentence(self) -> None:
        assert "tue: a risk shift was shown (p = 0.02)" in self.remark((-0.1, 0.9), 0.02, 0.02)
        assert "its interval excludes 0" in self.remark((0.1, 0.9), 0.2, 0.2)
        assert self.remark((0.1, 0.9), 0.02, 0.02) == ""
        assert self.remark((-0.1, 0.9), 0.2, 0.2) == ""
