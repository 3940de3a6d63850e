"""compare_many: levels judged together, skipped with a reason, never by too few permutations."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.cli.conftest import table

import rdiv
from rdiv.comparison.levels import FEWEST_ROWS, permutations_for
from rdiv.inference.multiplicity import benjamini_hochberg, holm
from rdiv.progress import progress_sent_to

FAST = {"model": "ridge", "drivers": False, "n_resamples": 199, "rng": 0}


def regression(rows: int, seed: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return x, x[:, 0] + spread * rng.normal(size=rows)


def test_levels_are_those_of_compare_at_a_share_of_alpha() -> None:
    reference = regression(120, 0)
    days = {"mon": regression(80, 1), "tue": regression(80, 2, 2.0), "wed": regression(80, 3)}
    found = rdiv.compare_many(reference, days, **FAST)
    raw = []
    for level in found.levels:
        alone = rdiv.compare(reference, days[level.name], alpha=0.05 / 3, **FAST)
        assert level.comparison is not None
        assert level.comparison.to_dict() == alone.to_dict()
        raw.append([alone.results[name].pvalue for name in ("omnibus", "r-div", "score")])
    whole, risk, score = (holm(column) for column in np.transpose(raw))
    for place, level in enumerate(found.levels):
        expected = {
            "omnibus": whole[place],
            "r-div": max(risk[place], whole[place]),
            "score": max(score[place], whole[place]),
        }
        assert dict(level.adjusted_pvalues) == pytest.approx(expected)
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
    wholes = [level.comparison.results["omnibus"].pvalue for level in found.tested]  # type: ignore[union-attr]
    adjusted = [level.adjusted_pvalues["omnibus"] for level in found.tested]
    assert adjusted == pytest.approx(benjamini_hochberg(wholes).tolist())
    selected = sum(level.shifted for level in found.levels)
    assert selected == 2
    for level in found.tested:
        assert level.comparison is not None
        part = level.comparison.results["r-div"].pvalue * 5 / selected
        expected = min(1.0, max(part, level.adjusted_pvalues["omnibus"]))
        assert level.adjusted_pvalues["r-div"] == pytest.approx(expected)


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
        assert level.adjusted_pvalues["omnibus"] == 1.0
        assert level.comparison.gap == 0


def test_permutations_are_raised_or_refused() -> None:
    assert permutations_for(1, 0.05, None) == 999
    assert permutations_for(100, 0.05, None) == 9999
    assert permutations_for(20, 0.05, 399) == 399
    with pytest.raises(ValueError, match=r"398 permutations can never .* at least 399"):
        permutations_for(20, 0.05, 398)
    days = {f"{i}": regression(20, i) for i in range(12)}
    found = rdiv.compare_many(regression(40, 99), days, model="ridge", drivers=False, rng=0)
    assert (found.n_resamples, found.raised) == (1199, True)
    assert "raised because there are so many levels" in str(found)
    with pytest.raises(ValueError, match="at least 239"):
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
    alone = rdiv.compare(reference.drop("month"), second, alpha=0.05 / 4, **settings)
    assert found.levels[1].comparison is not None
    assert found.levels[1].comparison.to_json() == alone.to_json()
    assert found.headline().startswith("1 of 4 levels of month shifted: 2 (")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": "nothing"}, "is not in current"),
        ({"by": "bought"}, "is the target"),
        ({"by": None}, "mapping of names"),
        ({"by": "age", "correction": "bonferroni"}, "unknown correction"),
    ],
)
def test_what_cannot_be_split_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        rdiv.compare_many(table(30, 0), table(30, 1), target="bought", **change)
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
