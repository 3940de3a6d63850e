"""What a comparison promises, one test per promise, by public names and the command alone.

Each was broken once: sentences promised more than was computed. Losses are the squares of a target
under a model that always predicts 0, so that they can be drawn freely.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

import rdiv
from rdiv.cli import main
from rdiv.models import Frozen

ZERO = Frozen(
    DummyRegressor(strategy="constant", constant=0.0).fit(np.zeros((2, 1)), np.zeros(2)),
    trained_on="neither",
)


def with_losses(losses: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A sample whose losses under ``ZERO`` are these."""
    return rng.normal(size=(len(losses), 1)), np.sqrt(losses)


def noisy(n: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + noise * rng.normal(size=n)


def day_of(sample: tuple[np.ndarray, np.ndarray], day: str) -> pl.DataFrame:
    x, y = sample
    return pl.DataFrame({"a": x[:, 0], "y": y, "day": [day] * len(y)})


def least_likely(count: int, draws: int, rate: float) -> bool:
    """Whether so few successes, or fewer, have a chance below one in a thousand."""
    return bool(binom.cdf(count, draws, rate) < 1e-3)


class TestLevels:
    def test_no_level_is_hidden_without_a_part_of_its_own(self) -> None:
        """Beside days of another slope, a day of larger noise must not be called hidden."""
        words = []
        for seed in range(6):
            rng = np.random.default_rng([1, seed])
            days = [noisy(60, 1.0, rng) for _ in range(4)]
            turned = [day_of((-x, y), f"d{k}") for k, (x, y) in enumerate(days)]
            current = pl.concat([*turned, day_of(noisy(60, 1.6, rng), "d4")])
            found = rdiv.compare_many(
                day_of(noisy(60, 1.0, rng), "r").drop("day"), current, by="day", target="y",
                model="ridge", drivers=False, n_resamples=199, rng=seed,
            )  # fmt: skip
            for level in found.levels:
                parts = [level.adjusted_pvalues.get(part, 1.0) for part in ("r-div", "score")]
                words.append(level.verdict)
                assert level.verdict != "hidden shift" or min(parts) <= 0.05, (seed, parts)
        assert set(words) - {"no shift"}

    def test_days_that_all_lean_one_way_are_tested_together(self) -> None:
        rng = np.random.default_rng(7)
        gaps = [0.33, 0.61, 0.45, 0.38, 0.52, 0.41, 0.36, 0.47, 0.55, 0.4]
        days = [1.9 * rng.exponential(size=40) + gap for gap in gaps]
        current = [day_of(with_losses(day, rng), f"d{k}") for k, day in enumerate(days)]
        reference = day_of(with_losses(1.9 * rng.exponential(size=1500), rng), "r").drop("day")
        found = rdiv.compare_many(
            reference, pl.concat(current), by="day", target="y", model=ZERO, drivers=False, rng=0
        )
        assert (found.verdict, found.shifted) == ("risk shift", True)
        assert "together changed the loss: worse" in str(found)


class TestMargins:
    @pytest.mark.parametrize("rows", [5, 10, 20])
    def test_few_rows_without_an_error_show_nothing(self, rows: int) -> None:
        """1 % of errors before, none in a few rows now: 10 % is not ruled out."""
        rng = np.random.default_rng(2)
        reference = with_losses(np.r_[np.ones(3), np.zeros(297)], rng)
        current = with_losses(np.zeros(rows), rng)
        found = rdiv.compare(
            reference, current, model=ZERO, not_worse_than=0.09, drivers=False, n_resamples=99,
            rng=0,
        )  # fmt: skip
        assert not found.not_worse.shown


class TestDetectableGap:
    def test_the_gap_said_to_be_found_is_found(self) -> None:
        """Spread grows with the gap; with that of no gap the rate is .48 to .60, not .80."""
        hits, draws = 0, 60
        for i in range(draws):
            rng = np.random.default_rng([3, i])
            how: dict[str, Any] = {"model": "ridge", "drivers": False, "n_resamples": 99, "rng": i}
            gap = rdiv.compare(noisy(40, 1, rng), noisy(40, 1, rng), **how).smallest_detectable_gap
            hits += rdiv.compare(
                noisy(40, 1, rng), noisy(40, (1 + min(gap, 1e3)) ** 0.5, rng), **how
            ).verdict == "risk shift"  # fmt: skip
        assert not least_likely(hits, draws, 0.78)

    def test_none_where_no_pvalue_can_be_small_enough(self, tmp_path: Path) -> None:
        """Three groups against three have ten p-values, none below .1: exit 2, by the command."""
        rng = np.random.default_rng(4)
        for name in ("p", "q"):
            x, y = noisy(30, 1.0, rng)
            group = [f"{name}{k % 3}" for k in range(30)]
            pl.DataFrame({"a": x[:, 0], "y": y, "g": group}).write_csv(tmp_path / f"{name}.csv")
        files = [str(tmp_path / f"{name}.csv") for name in ("p", "q")]
        how = ["--target", "y", "--groups", "g", "--model", "ridge"]
        for command in (["compare", *files], ["test", *files, "--discrepancy", "r-div"]):
            assert main([*command, *how]) == 2


class TestIntervals:
    def test_a_noisier_side_is_covered_and_heavy_tails_are_named(self) -> None:
        """Squared t3, twice as noisy: no interval can hold, so nearly every one says so."""
        unsaid = 0
        for i in range(30):
            rng = np.random.default_rng([5, i])
            pair = [with_losses(k * rng.standard_t(3, 200) ** 2, rng) for k in (1, 4)]
            found = rdiv.compare(*pair, model=ZERO, drivers=False, n_resamples=99, rng=i)
            unsaid += not found.notes.get("asymptotic")
        assert unsaid <= 2

    def test_a_near_constant_side_does_not_narrow_it(self) -> None:
        missed, draws = 0, 80
        for i in range(draws):
            rng = np.random.default_rng([6, i])
            flat = 1 + 0.01 * rng.normal(size=100)
            pair = [with_losses(flat, rng), with_losses((rng.random(30) < 0.05) * 1.0, rng)]
            found = rdiv.compare(*pair, model=ZERO, drivers=False, n_resamples=99, rng=i)
            low, high = found.gap_interval
            missed += not low <= -0.95 <= high
        assert not least_likely(draws - missed, draws, 0.95)


class TestPlan:
    def test_the_range_holds_what_is_needed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """From one file alone, by the command; squared normal errors need 196 rows for .5."""
        held, draws = 0, 25
        how = ["--target", "y", "--model", "ridge", "--gap", "0.5", "--sizes", "200"]
        for i in range(draws):
            x, y = noisy(200, 1.0, np.random.default_rng([7, i]))
            pl.DataFrame({"a": x[:, 0], "y": y}).write_csv(tmp_path / "p.csv")
            code = main(["plan", str(tmp_path / "p.csv"), *how, "--seed", str(i), "--json", "-"])
            out = capsys.readouterr().out
            assert code == 0
            span = json.loads(out)["rows_p_range"]
            held += span["low"] <= 196 <= span["high"]
        assert not least_likely(held, draws, 0.8)


class TestFolds:
    def test_losses_of_small_pools_are_means_over_draws_of_the_folds(self) -> None:
        """The p-value of every single draw is displayed beside theirs."""
        rng = np.random.default_rng(8)
        pair = noisy(30, 1.0, rng), noisy(30, 1.0, rng)
        found = rdiv.compare(*pair, model="boosting", drivers=False, n_resamples=199, rng=0)
        luck = found.to_dict()["results"]["r-div"]["notes"].get("fold draws", {})
        assert len(luck.get("pvalues", ())) == 3


class TestWords:
    def test_duplicated_rows_are_counted_and_groups_suggested(self) -> None:
        rng = np.random.default_rng(9)
        x, y = noisy(60, 1.0, rng)
        pair = (np.repeat(x, 2, 0), np.repeat(y, 2)), noisy(120, 1.0, rng)
        found = rdiv.compare(*pair, model="ridge", drivers=False, n_resamples=99, rng=0)
        said = " ".join(getattr(found, "warnings", ()))
        assert "groups" in said, said

    def test_a_model_trained_on_the_reference_gives_itself_away(self) -> None:
        rng = np.random.default_rng(10)
        x = rng.normal(size=(120, 60))
        y = x[:, 0] + rng.normal(size=120)
        model = Frozen(LinearRegression().fit(x[:80], y[:80]), trained_on="neither")
        pair = (x[:80], y[:80]), (x[80:], y[80:])
        found = rdiv.compare(*pair, model=model, drivers=False, n_resamples=99, rng=0)
        said = " ".join(getattr(found, "warnings", ()))
        assert "trained" in said, said

    def test_every_further_look_is_said_to_spend_alpha(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(11)
        pair = noisy(60, 1.0, rng), noisy(60, 1.6, rng)
        found = rdiv.compare(*pair, model="ridge", n_resamples=99, rng=0)
        found.to_html(tmp_path / "page.html")
        assert "each spend alpha" in (tmp_path / "page.html").read_text(encoding="utf-8")
