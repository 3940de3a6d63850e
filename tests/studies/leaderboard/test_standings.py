"""Standings against a slow computation that shares nothing with them."""

from __future__ import annotations

from math import comb, isclose, sqrt

import numpy as np
import pytest

from rdiv.sources import Blob
from rdiv.studies.leaderboard import Board, Cell, Counts, as_board, lead, regret, standings

CELLS = tuple(Cell(f"cell {i}", Blob(), 20 + i) for i in range(3))
TESTS = ("energy", "mmd-o", "r-div", "inputs")
RATES = {
    "energy": (0.9, 0.5, 0.2),
    "mmd-o": (0.6, 0.8, 0.2),
    "r-div": (0.1, 0.5, 0.9),
    "inputs": (0.8, 0.7, 0.8),
}
LEVELS = {"energy": 0.05, "mmd-o": 0.05, "r-div": 0.5, "inputs": 0.05}
TRIALS = 60


def board() -> Board:
    return as_board(CELLS, (), TESTS, trials=TRIALS)


@pytest.fixture(scope="module")
def counts() -> Counts:
    """Random rejections at known rates, the same luck for all tests of a trial."""
    rng = np.random.default_rng(4)
    rejected = {}
    for i, cell in enumerate(CELLS):
        luck, null_luck = rng.random((2, TRIALS))
        for test in TESTS:
            rejected[cell.name, False, test] = dict(enumerate(luck < RATES[test][i]))
            rejected[cell.name, True, test] = dict(enumerate(null_luck < LEVELS[test]))
    return Counts(rejected, {(cell.name, test): 0.5 for cell in CELLS for test in TESTS})


def slow_regret(counts: Counts, cell: str, test: str) -> tuple[float, float]:
    """Name the best on one half, measure it on the other; both ways round, then the mean."""
    found = {name: counts.rejected[cell, False, name] for name in TESTS}
    values, variances = [], []
    for naming in (0, 1):
        power = {
            name: sum(r for t, r in one.items() if t % 2 == naming) for name, one in found.items()
        }
        most = max(power.values())
        best = test if power[test] == most else next(k for k, v in power.items() if v == most)
        gaps = [int(found[best][t]) - int(found[test][t]) for t in range(1 - naming, TRIALS, 2)]
        mean = sum(gaps) / len(gaps)
        values.append(mean)
        variances.append(sum((g - mean) ** 2 for g in gaps) / (len(gaps) - 1) / len(gaps))
    return sum(values) / 2, sqrt(sum(variances)) / 2


def test_regret_is_measured_where_the_best_was_not_named(counts: Counts) -> None:
    found = standings(board(), counts)
    for line in found.cells:
        for test in TESTS:
            value, error = slow_regret(counts, line.name, test)
            assert isclose(line.regret[test].value, value, abs_tol=1e-12)
            low, high = line.regret[test].interval
            assert isclose(low, value - 1.96 * error, abs_tol=1e-12)
            assert isclose(high, value + 1.96 * error, abs_tol=1e-12)


def test_the_mean_regret_and_its_interval(counts: Counts) -> None:
    for one in standings(board(), counts).tests:
        parts = [slow_regret(counts, cell.name, one.test) for cell in CELLS]
        assert isclose(one.regret.value, sum(v for v, _ in parts) / 3, abs_tol=1e-12)
        assert isclose(one.regret.error, sqrt(sum(e * e for _, e in parts)) / 3, abs_tol=1e-12)
        assert one.largest[1] == max(v for v, _ in parts)
        assert isclose(one.largest_low[1], max(v - 1.96 * e for v, e in parts))


def test_the_best_test_comes_first(counts: Counts) -> None:
    regrets = [one.regret.value for one in standings(board(), counts).tests]
    assert regrets == sorted(regrets)
    assert standings(board(), counts).tests[0].test == "inputs"


def test_naming_and_measuring_on_the_same_trials_would_flatter_the_best() -> None:
    """Ten equal tests: the honest regret is 0 on average, the naive one far above it."""
    rng, honest, naive = np.random.default_rng(0), [], []
    for _ in range(200):
        found = {f"t{i}": rng.random(40) < 0.5 for i in range(10)}
        honest.append(regret(found, "t0").value)
        naive.append(max(one.mean() for one in found.values()) - found["t0"].mean())
    error = np.std(honest, ddof=1) / len(honest) ** 0.5
    assert abs(np.mean(honest)) < 4 * error
    assert np.mean(naive) > 0.05 > 4 * error


def test_the_interval_of_regret_covers() -> None:
    """With one best test that is always named, the true regret is known."""
    rng, inside = np.random.default_rng(1), 0
    for _ in range(400):
        luck = rng.random(200)
        low, high = regret({"a": luck < 0.8, "b": luck < 0.4}, "b").interval
        inside += low <= 0.4 <= high
    assert inside > 400 * 0.95 - 4 * (400 * 0.95 * 0.05) ** 0.5


def test_false_alarms_are_judged_by_holm_over_the_cells(counts: Counts) -> None:
    for one in standings(board(), counts).tests:
        tails = {}
        for cell in CELLS:
            k = sum(counts.rejected[cell.name, True, one.test].values())
            tails[cell.name] = sum(
                comb(TRIALS, j) * 0.05**j * 0.95 ** (TRIALS - j) for j in range(k, TRIALS + 1)
            )
        adjusted, running = {}, 0.0
        for i, (name, tail) in enumerate(sorted(tails.items(), key=lambda item: item[1])):
            running = max(running, min(1.0, tail * (len(tails) - i)))
            adjusted[name] = running
        assert isclose(one.smallest, min(adjusted.values()), rel_tol=1e-9)
        assert {*one.above} == {name for name, p in adjusted.items() if p <= 0.05}
    above = {one.test: len(one.above) for one in standings(board(), counts).tests}
    assert above == {"r-div": 3, "energy": 0, "mmd-o": 0, "inputs": 0}


def test_rates_have_wilson_intervals(counts: Counts) -> None:
    rate = standings(board(), counts).cells[0].power["energy"]
    k, n, z = sum(counts.rejected["cell 0", False, "energy"].values()), TRIALS, 1.959963984540054
    centre = (k / n + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(k / n * (1 - k / n) / n + z * z / (4 * n * n))
    assert (rate.rejections, rate.trials) == (k, n)
    assert isclose(rate.interval[0], centre - half, rel_tol=1e-9)
    assert isclose(rate.interval[1], centre + half, rel_tol=1e-9)


def test_a_lead_is_paired(counts: Counts) -> None:
    found = lead(board(), counts, "inputs", "mmd-o")
    means, variances = [], []
    for cell in CELLS:
        one, other = (counts.rejected[cell.name, False, test] for test in ("inputs", "mmd-o"))
        gaps = np.array([int(one[t]) - int(other[t]) for t in range(TRIALS)])
        means.append(gaps.mean())
        variances.append(gaps.var(ddof=1) / TRIALS)
    assert found.cells == 3
    assert isclose(found.value, np.mean(means))
    assert isclose(found.error, sqrt(sum(variances)) / 3)


def test_only_trials_that_all_tests_have_done_count(counts: Counts) -> None:
    rejected = dict(counts.rejected)
    some = rejected["cell 0", False, "energy"]
    rejected["cell 0", False, "energy"] = {t: some[t] for t in range(20)}
    rejected["cell 1", False, "energy"] = {}
    found = standings(board(), Counts(rejected, counts.seconds))
    assert [(line.name, line.trials) for line in found.cells] == [("cell 0", 20), ("cell 2", 60)]
    assert found.cells[0].power["r-div"].trials == 20
    assert {one.cells for one in found.tests} == {2}
    assert {one.trials for one in found.tests} == {80}


def test_tests_that_learn_stand_beside_all_on_their_own_cells() -> None:
    cells = (CELLS[0], Cell("marked", Blob(), 50, trained=True))
    both = as_board(cells, (), ["energy", "c2st-l:logistic"], trials=20, trained_trials=10)
    rejected = {
        (cell.name, null, "energy"): dict.fromkeys(range(20), not null)
        for cell in cells
        for null in (False, True)
    }
    for null in (False, True):
        rejected["marked", null, "c2st-l:logistic"] = dict.fromkeys(range(10), False)
    found = standings(both, Counts(rejected, {}))
    assert [one.test for one in found.tests] == ["energy"]
    assert [(one.test, one.cells, one.trials) for one in found.trained] == [
        ("energy", 1, 10), ("c2st-l:logistic", 1, 10),
    ]  # fmt: skip
    assert [line.name for line in found.trained_cells] == ["marked"]
    assert found.trained[1].regret.value == 1.0
    assert np.isnan(found.tests[0].seconds)
