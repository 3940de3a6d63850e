"""The studies of bounds and coverage, with few trials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.intervals import CELLS, Cell, coverage
from benchmarks.studies.verify_bounds import (
    DELTA,
    Linear,
    complexities,
    counterexample,
    run,
    settings,
)

from rdiv import theory
from rdiv.inference.intervals import Interval
from rdiv.inference.widened import widened_interval


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_errors_stay_below_the_bounds(setting: object) -> None:
    found = run(setting, 50, trials=100, signs=40)  # type: ignore[arg-type]
    for name, values in found.bounds.items():
        applies = np.isfinite(values)
        missed = (found.errors[applies] > values[applies]).sum()
        assert missed <= DELTA * 100 + 4 * np.sqrt(DELTA * 100), name
        assert (values[applies] > 0).all()
    assert found.errors.max() > 0
    spread = found.estimates.std(ddof=1)
    assert all(spread < value for value in found.deviations.values())


def test_the_study_knows_the_complexity_of_its_samples() -> None:
    """Signed counts of atoms give what signs row by row give."""
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(4, 2))
    linear, counts = Linear(atoms), np.array([[3.0, 0.0, 5.0, 2.0]])
    mine = complexities(linear, counts, rng, 20_000)[0]
    rows = np.repeat(atoms, counts[0].astype(int), axis=0)
    found = theory.rademacher_complexity(
        theory.LinearClass(rows), draws=20_000, confidence=0.99999, rng=1
    )
    half = found.high - found.value
    assert abs(mine - found.value) < 2 * half


def test_the_minimiser_of_the_linear_class_is_best() -> None:
    rng = np.random.default_rng(1)
    linear, weights = Linear(rng.normal(size=(6, 3))), rng.dirichlet(np.ones(6), size=1)
    best = float((linear.minimiser(weights) * weights).sum())
    others = rng.normal(size=(500, 3))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert best <= (-others @ linear.atoms.T @ weights[0]).min()


def test_the_printed_variance_corollary_can_fail() -> None:
    spread, printed = counterexample(trials=400)
    assert spread > printed


@pytest.mark.parametrize(
    "cell",
    [c for c in CELLS if c.name in ("frozen ridge, unequal sizes", "ridge, population")],
    ids=lambda cell: cell.name,
)
def test_intervals_cover_and_half_of_one_does_not(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.calibration.intervals.FRESH", 5000)
    monkeypatch.setattr("benchmarks.calibration.intervals.MANY", 40_000)
    trials = 60
    fewest = 0.95 - 4 * np.sqrt(0.0475 / trials)
    normal, *_ = shares = coverage(cell, trials=trials)
    assert min(shares) > fewest

    def half(gap: float, error: float, *given: Any) -> Interval:
        low, high = widened_interval(gap, error, *given)
        return Interval((gap + low) / 2, (gap + high) / 2)

    monkeypatch.setattr("rdiv.comparison.gap_estimate.widened_interval", half)
    broken, *_ = coverage(cell, trials=trials)
    assert broken < fewest < normal
