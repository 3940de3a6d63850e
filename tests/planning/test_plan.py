"""rdiv.plan: rows, gaps and power agree with each other and with what tests then find."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdiv
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.intervals import (
    planned_critical,
    power_of_gap,
    rows_needed,
    smallest_detectable_gap,
    standard_error_of_gap,
    variance_of_mean,
)
from rdiv.inference.mean_gaps import mean_gap
from rdiv.planning.simulation import resampled, size_with_power
from rdiv.samples.pooling import pool_samples


def pilot(n: int = 60, move: float = 0.0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 2))
    y = x[:, 0] + rng.normal(size=2 * n) * np.where(np.arange(2 * n) < n, 1.0, 1.0 + move)
    return (x[:n], y[:n]), (x[n:], y[n:])


@given(
    gap=st.floats(0.02, 5),
    variances=st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)),
    power=st.floats(0.2, 0.99),
    ratio=st.sampled_from([0.2, 1.0, 3.0]),
)
def test_rows_needed_are_the_fewest(
    gap: float, variances: tuple[float, float], power: float, ratio: float
) -> None:
    n_p, n_q = rows_needed(gap, *variances, power=power, ratio=ratio)

    def smallest(n: int) -> float:
        both = (n, max(2, int(np.ceil(ratio * n))), *variances)
        return smallest_detectable_gap(
            standard_error_of_gap(*both), planned_critical(*both, 0.05), power
        )

    assert n_q == max(2, np.ceil(ratio * n_p))
    assert smallest(n_p) <= gap
    assert n_p <= 2 or smallest(n_p - 1) > gap


@given(power=st.floats(0.3, 0.99), error=st.floats(0.01, 10))
def test_the_power_of_the_smallest_gap_is_the_one_asked_for(power: float, error: float) -> None:
    gap = smallest_detectable_gap(error, 1.96, power)
    assert power_of_gap(gap, error, 1.96) == pytest.approx(power, abs=0.01)  # the other direction
    assert power_of_gap(-gap, error, 1.96) == power_of_gap(gap, error, 1.96)


def test_no_spread_finds_every_gap_but_none() -> None:
    assert power_of_gap(0.1, 0.0, 2.0) == 1.0
    assert power_of_gap(0.0, 0.0, 2.0) == 0.0


def test_more_rows_than_there_can_be_are_refused() -> None:
    with pytest.raises(ValueError, match="plan for a larger gap"):
        rows_needed(1e-9, 1.0, 1.0)


@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_planned_rows_have_the_power_asked_for(ratio: float) -> None:
    rng, trials = np.random.default_rng(1), 200
    n_p, n_q = rows_needed(0.6, 1.0, 2.0, power=0.7, ratio=ratio)
    is_p = np.arange(n_p + n_q) < n_p
    found = 0
    for _ in range(trials):
        losses = rng.normal(size=n_p + n_q) * np.where(is_p, 1, np.sqrt(2)) + 0.6 * is_p
        found += (
            permute(mean_gap(losses), is_p, PermutationSettings(n_resamples=99), rng=rng).pvalue
            <= 0.05
        )
    assert abs(found / trials - 0.7) < 4 * np.sqrt(0.21 / trials) + 0.02  # 99 resamples cost some


def test_the_variance_comes_from_out_of_fold_losses() -> None:
    reference, current = pilot()
    found = rdiv.plan(reference, current, model="ridge", gap=0.5, rng=3)
    compared = rdiv.compare(reference, current, model="ridge", rng=3)
    test = compared.results["r-div"]
    assert compared.leading == "r-div"  # too few rows to train a model in use
    error = abs(compared.shared_gap / test.ranked)
    assert standard_error_of_gap(60, 60, found.variance_p, found.variance_q) == pytest.approx(error)
    assert (found.rows_p, found.rows_q) == rows_needed(0.5, found.variance_p, found.variance_q)
    # permutation quantile against Student's: the same function, up to its Monte-Carlo error
    assert found.smallest_detectable_gap == pytest.approx(
        compared.smallest_detectable_gap, rel=0.15
    )


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
