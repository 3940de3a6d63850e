"""rdiv.plan: rows, gaps and power agree with each other and with what tests then find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm
from typer.testing import CliRunner

import rdiv
from rdiv.cli.application import app
from rdiv.inference.detectable import pilot_of
from rdiv.inference.intervals import variance_of_mean
from rdiv.inference.tilting import units_of
from rdiv.planning.pilots import ABOVE, BELOW, _Planner
from rdiv.planning.simulation import resampled, size_with_power
from rdiv.samples.pooling import pool_samples


def pilot(n: int = 60, move: float = 0.0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 2))
    y = x[:, 0] + rng.normal(size=2 * n) * np.where(np.arange(2 * n) < n, 1.0, 1.0 + move)
    return (x[:n], y[:n]), (x[n:], y[n:])


def test_the_variance_comes_from_out_of_fold_losses() -> None:
    reference, current = pilot()
    found = rdiv.plan(reference, current, model="ridge", gap=0.5, rng=3)
    compared = rdiv.compare(reference, current, model="ridge", rng=3)
    test = compared.results["r-div"]
    assert compared.leading == "r-div"  # too few rows to train a model in use
    error = abs(compared.shared_gap / test.ranked)
    variance = found.variance_p + found.variance_q
    assert (variance / 60) ** 0.5 == pytest.approx(error)
    # the spread grows with the gap, and a pilot of 60 rows does not know it well
    assert found.rows_p > variance * ((norm.ppf(0.975) + norm.ppf(0.8)) / 0.5) ** 2
    # the same function at half the level: the verdict asks more than one question
    half = rdiv.plan(reference, current, model="ridge", alpha=0.025, rng=3)
    assert half.smallest_detectable_gap == pytest.approx(compared.smallest_detectable_gap, rel=0.15)
    assert half.smallest_detectable_gap > found.smallest_detectable_gap


def test_the_curve_rises_through_the_plan() -> None:
    found = rdiv.plan(*pilot(), model="ridge", gap=0.7, power=0.9, rng=0, ratio=2.0)
    assert found.curve["power"] == sorted(found.curve["power"])
    place = found.curve["n_p"].index(found.rows_p)
    assert found.curve["n_q"][place] == found.rows_q == 2 * found.rows_p
    assert found.curve["power"][place] == pytest.approx(0.9, abs=0.01)
    assert found.curve["smallest_gap"] == sorted(found.curve["smallest_gap"], reverse=True)


def test_without_a_gap_the_plan_is_the_smallest_one() -> None:
    found = rdiv.plan(*pilot(), model="ridge", sizes=[60, 240], rng=0)
    assert found.rows_p is None
    assert found.curve["n_p"] == [60, 240]
    assert found.curve["power"] == [None, None]
    assert found.curve["smallest_gap"][0] == found.smallest_detectable_gap
    assert f"{found.smallest_detectable_gap:.3g}" in str(found)


def test_in_sample_losses_say_so() -> None:
    assert "in-sample" in rdiv.plan(*pilot(), model="ridge", folds=0, rng=0).notes
    assert "in-sample" not in rdiv.plan(*pilot(), model="ridge", rng=0).notes


def test_groups_count_as_one_another() -> None:
    losses = np.random.default_rng(0).normal(size=12)
    repeated, groups = np.repeat(losses, 5), np.repeat(np.arange(12), 5)
    assert variance_of_mean(repeated, groups) == pytest.approx(5 * losses.var(ddof=1))
    assert variance_of_mean(losses, np.arange(12)) == pytest.approx(variance_of_mean(losses))


def test_any_other_test_is_simulated() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(60, 1)), rng.normal(size=(60, 1)) + 1.2
    settings: dict[str, Any] = {
        "discrepancy": "energy", "sizes": [5, 15, 40], "trials": 30, "n_resamples": 19,
    }  # fmt: skip
    found = rdiv.plan(p, q, rng=0, **settings)
    assert found.method == "simulation"
    assert found.rows_p is not None
    assert 5 < found.rows_p <= 40
    assert found.curve["power"][0] < found.curve["power"][-1]
    assert all(rate < 0.05 + 5 * np.sqrt(0.0475 / 30) for rate in found.curve["null"])


def test_the_plan_does_not_depend_on_jobs() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(20, 1)), rng.normal(size=(20, 1)) + 1.2
    settings: dict[str, Any] = {"sizes": [5], "trials": 4, "n_resamples": 19, "rng": 0}
    one, two = (rdiv.plan(p, q, discrepancy="energy", n_jobs=n, **settings) for n in (1, 2))
    assert one.to_json() == two.to_json()


def test_a_power_out_of_reach_is_said() -> None:
    rng = np.random.default_rng(2)
    same = rng.normal(size=(40, 1))
    found = rdiv.plan(same, same, discrepancy="energy", sizes=[10], trials=5, n_resamples=19, rng=0)
    assert found.rows_p is None
    assert "No size up to 10 rows" in str(found)


def test_resampled_rows_come_from_their_own_side_unless_null() -> None:
    pooled = pool_samples(np.zeros((9, 1)), np.ones((7, 1)), rng=0)
    drawn = resampled(pooled, (30, 20), False, np.random.default_rng(0))
    assert drawn.is_p.sum() == 30
    assert (drawn.pool.numbers()[:, 0] == ~drawn.is_p).all()
    mixed = resampled(pooled, (30, 20), True, np.random.default_rng(0))
    assert len(set(mixed.pool.numbers()[mixed.is_p, 0])) == 2
    assert not drawn.is_p[:30].all()  # shuffled: the order does not tell


def test_a_size_between_two_sizes_by_a_line() -> None:
    curve = {"n_p": [10, 20, 40], "power": [0.5, 0.4, 0.9]}
    assert size_with_power(curve, 0.7) == 30
    assert size_with_power(curve, 0.3) == 10
    assert size_with_power(curve, 0.95) is None


def test_documents_and_pictures() -> None:
    found = rdiv.plan(*pilot(), model="ridge", gap=0.5, rng=0)
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_svg() == found.to_svg()
    assert "rows of reference" in found.to_svg()
    without = rdiv.plan(*pilot(), model="ridge", rng=0)
    assert "smallest gap found" in without.to_svg()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gap": 0.0}, "gap must be a finite number other than 0"),
        ({"gap": float("nan")}, "gap must be a finite number other than 0"),
        ({"power": 1.0}, "power must lie between alpha"),
        ({"power": 0.04}, "power must lie between alpha"),
        ({"ratio": 0.0}, "ratio must be a finite number above 0"),
        ({"sizes": [1]}, "sizes must be whole numbers of at least 2"),
        ({"trials": 0}, "trials must be a whole number"),
        ({"model": None, "discrepancy": "energy", "gap": 0.5}, "only r-div is planned for a gap"),
        ({"alpha": 0.001}, "can never reach alpha"),
    ],
)
def test_impossible_plans_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rdiv.plan(*pilot(20), **{"model": "ridge", "rng": 0, **settings})


CRITICAL = 1.96


def score_rate(law: Any, n: int, gaps: Any, *, seed: int, draws: int) -> float:
    """How often a gap that a pilot names is found, by a studentised gap of new samples."""
    found = 0
    for i in range(draws):
        rng = np.random.default_rng([seed, i])
        p, q = law(n, rng), law(n, rng)
        gap = gaps(p, q, rng)
        p, q = law(n, rng), (1 + gap) * law(n, rng)
        found += abs(q.mean() - p.mean()) > CRITICAL * np.sqrt((p.var() + q.var()) / (n - 1))
    return found / draws


def by_tilt(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> float:
    pilot = pilot_of(units_of(p), units_of(q), rng)
    return pilot.smallest_gap(len(p), len(q), lambda *_: np.array(CRITICAL))


def by_the_spread_seen(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> float:
    """The broken variant: as if the spread did not grow with the gap."""
    return float(np.sqrt((p.var() + q.var()) / len(p)) * (CRITICAL + norm.ppf(0.8)))


class TestTilt:
    DRAWS = 300

    @pytest.mark.parametrize("law", ["exponential", "chisquare"])
    def test_the_gap_is_found_as_often_as_said(self, law: str) -> None:
        draw = {
            "exponential": lambda n, rng: rng.exponential(size=n),
            "chisquare": lambda n, rng: rng.chisquare(1, n),
        }[law]
        rate = score_rate(draw, 100, by_tilt, seed=5, draws=self.DRAWS)
        assert abs(rate - 0.8) < 0.05 + 3 * np.sqrt(0.16 / self.DRAWS)

    def test_the_check_rejects_a_spread_that_does_not_grow(self) -> None:
        rate = score_rate(
            lambda n, rng: rng.chisquare(1, n), 100, by_the_spread_seen, seed=5, draws=self.DRAWS
        )
        assert rate < 0.8 - 0.05 - 3 * np.sqrt(0.16 / self.DRAWS)

    def test_normal_losses_have_the_textbook_gap(self) -> None:
        rng = np.random.default_rng(0)
        p, q = rng.normal(size=20_000), rng.normal(size=20_000)
        expected = (1.96 + 0.8416) * 0.01
        assert by_tilt(p, q, rng) == pytest.approx(expected, rel=0.05)

    def test_error_rates_have_the_binomial_spread(self) -> None:
        rng = np.random.default_rng(0)
        p, q = (rng.random((2, 4000)) < 0.02).astype(float)
        gap = by_tilt(p, q, rng)
        rate = p.mean() + gap
        error = np.sqrt((p.mean() * (1 - p.mean()) + rate * (1 - rate)) / 4000)
        assert gap == pytest.approx(2.8 * error, rel=0.1)

    def test_constant_losses_name_no_gap(self) -> None:
        assert by_tilt(np.ones(30), np.ones(30), np.random.default_rng(0)) == np.inf

    def test_the_whole_is_one_function(self) -> None:
        """Power, smallest gap and units needed agree."""
        rng = np.random.default_rng(3)
        pilot = pilot_of(
            units_of(rng.exponential(size=200)), units_of(rng.exponential(size=99)), rng
        )
        critical = lambda *_: np.array(CRITICAL)  # noqa: E731
        units, others = pilot.units_needed(0.3, 0.5, critical)
        assert pilot.power(0.3, units, 0.5 * units, critical) == pytest.approx(0.8, abs=1e-3)
        gap = pilot.smallest_gap(units, 0.5 * units, critical)
        assert gap == pytest.approx(0.3, rel=1e-2)
        assert others.min() < units < others.max()


class TestOneFile:
    def test_the_reference_alone_plans_what_both_do(self) -> None:
        x = np.random.default_rng(1).normal(size=(400, 2))
        y = x[:, 0] + np.random.default_rng(2).normal(size=400)
        alone = rdiv.plan((x, y), model="ridge", gap=0.5, rng=0)
        both = rdiv.plan((x[:200], y[:200]), (x[200:], y[200:]), model="ridge", gap=0.5, rng=0)
        assert alone.n_q == 0
        assert alone.rows_q == alone.rows_p
        assert alone.rows_p == pytest.approx(both.rows_p, rel=0.25)
        assert alone.variance_q is None
        assert "no current ones" in str(alone)
        again = rdiv.plan((x, y), model="ridge", rng=0)
        assert "as many again as the current sample" in again.headline()

    def test_a_column_of_groups(self) -> None:
        rng = np.random.default_rng(4)
        group = np.repeat(np.arange(50), 4)
        noise = rng.normal(size=50)[group] + 0.3 * rng.normal(size=200)
        frame = pl.DataFrame({"x": rng.normal(size=200), "y": noise, "g": group})
        how: dict[str, Any] = {"model": "ridge", "target": "y", "gap": 0.6, "rng": 0}
        rows = rdiv.plan(frame.drop("g"), **how)
        groups = rdiv.plan(frame, groups="g", **how)
        assert groups.rows_p > 1.5 * rows.rows_p  # rows of one group say the same thing
        pair = rdiv.plan((frame[["x"]].to_numpy(), frame["y"].to_numpy()), model="ridge", gap=0.6,
                         groups=(group, None), rng=0)  # fmt: skip
        assert pair.rows_p == pytest.approx(groups.rows_p, rel=0.3)

    def test_another_test_needs_both(self) -> None:
        with pytest.raises(ValueError, match="give a current sample as well"):
            rdiv.plan(np.zeros((20, 1)), discrepancy="energy", rng=0)

    def test_the_command(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(5)
        x = rng.normal(size=120)
        frame = pl.DataFrame({"x": x, "y": x + rng.normal(size=120)})
        frame.write_csv(tmp_path / "p.csv")
        more = ["--target", "y", "--model", "ridge", "--gap", "0.5", "--json", "-"]
        run = CliRunner().invoke(app, ["plan", str(tmp_path / "p.csv"), *more])
        assert run.exit_code == 0, run.output
        found = json.loads(run.stdout)
        assert found["rows_p_range"]["low"] <= found["rows_p"] <= found["rows_p_range"]["high"]
        assert found["n_q"] == 0


class TestRange:
    @pytest.mark.parametrize("law", ["exponential", "squares"])
    def test_four_of_five_hold_what_is_needed(self, law: str) -> None:
        """A range as wide as resampled pilots differ is too narrow: its own spread is a guess."""
        plans, held, narrow = [], 0, 0
        needed = {"exponential": 140, "squares": 196}[law]  # by t-tests of 20 000 draws
        gap = {"exponential": 0.4, "squares": 0.5}[law]
        for i in range(150):
            rng = np.random.default_rng([6, i])
            losses = (
                rng.exponential(size=200) if law == "exponential" else rng.normal(size=200) ** 2
            )
            planner = _Planner(
                pilot_of(units_of(losses[:100]), units_of(losses[100:]), rng, replicates=100),
                (1.0, 1.0), 1.0, 0.8, 0.05,
            )  # fmt: skip
            rows, _, (low, high) = planner.rows(gap)
            plans.append(rows)
            held += low <= needed <= high
            ratio = (1.28 / BELOW, 1.28 / ABOVE)
            narrow += rows * (low / rows) ** ratio[0] <= needed <= rows * (high / rows) ** ratio[1]
        assert binom.cdf(held, 150, 0.8) > 1e-3
        assert binom.cdf(narrow, 150, 0.8) < 0.01
        assert np.median(plans) == pytest.approx(needed, rel=0.15)

    def test_in_the_text(self) -> None:
        found = rdiv.plan(*pilot(), model="ridge", gap=0.5, rng=0)
        low, high = found.rows_p_range
        assert low < found.rows_p < high
        assert f"range: {low} to {high} reference rows; four of five such ranges hold" in str(found)
        assert found.gap_range.low < found.smallest_detectable_gap < found.gap_range.high

    @pytest.mark.parametrize(
        ("law", "words"), [("t3", "tail of the reference"), ("few", "only 20")]
    )
    def test_heavy_tails_and_few_rows_are_named(self, law: str, words: str) -> None:
        rng = np.random.default_rng(2)
        n = 20 if law == "few" else 600
        x = rng.normal(size=(n, 1))
        y = x[:, 0] + (rng.standard_t(2.5, size=n) if law == "t3" else rng.normal(size=n))
        found = rdiv.plan((x, y), model="ridge", gap=2.0, rng=0)
        assert words in found.notes["asymptotic"]
        assert f"asymptotic: {found.notes['asymptotic']}" in str(found)


class TestResampledDesigns:
    def test_whole_groups(self) -> None:
        groups = np.repeat(np.arange(6), 3), 6 + np.repeat(np.arange(4), 2)
        pooled = pool_samples(np.arange(18.0)[:, None], 50 + np.arange(8.0)[:, None], groups=groups,
                              rng=0)  # fmt: skip
        drawn = resampled(pooled, (30, 8), False, np.random.default_rng(0))
        codes = drawn.pool.groups
        assert len(set(codes[drawn.is_p])) == 10
        assert len(set(codes[~drawn.is_p])) == 4
        values = drawn.pool.matrix()[:, 0]
        assert all(len(set(values[codes == code] // 3)) <= 2 for code in set(codes))
        assert (values[~drawn.is_p] >= 50).all()

    def test_within_strata(self) -> None:
        strata = np.arange(40) % 2, np.arange(20) % 2
        pooled = pool_samples(
            strata[0][:, None] + 0.0, strata[1][:, None] + 0.0, strata=strata, rng=0
        )
        drawn = resampled(pooled, (100, 50), False, np.random.default_rng(0))
        assert (drawn.pool.matrix()[:, 0] == drawn.pool.matrix()[:, 0].round()).all()
        counts = np.bincount(drawn.pool.strata[drawn.is_p])
        assert counts.tolist() == [50, 50]

    @pytest.mark.parametrize("null", [False, True])
    def test_whole_pairs(self, null: bool) -> None:
        pairs = np.arange(12), np.arange(12)
        pooled = pool_samples(np.arange(12.0)[:, None], np.arange(12.0)[:, None] + 0.5,
                              strata=pairs, rng=0)  # fmt: skip
        drawn = resampled(pooled, (30, 30), null, np.random.default_rng(0))
        values, strata = drawn.pool.matrix()[:, 0], drawn.pool.strata
        assert len(set(strata)) == 30
        assert all(len(set(np.floor(values[strata == code]))) == 1 for code in set(strata))
        assert drawn.is_p.sum() == 30
        if not null:
            assert (values[drawn.is_p] % 1 == 0).all()

    def test_a_plan_of_pairs(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(40, 1))
        pairs = np.arange(40), np.arange(40)
        found = rdiv.plan(
            5 * x, 5 * x + 0.5 + 0.3 * rng.normal(size=(40, 1)), discrepancy="score", model="gmm",
            strata=pairs, sizes=[10, 30], trials=10, n_resamples=39, rng=0,
        )  # fmt: skip
        assert found.curve["n_p"] == [10, 30]
