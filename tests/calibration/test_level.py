"""Every test holds its level; every deliberately broken variant is caught by the same check.

Small counts here; `make calibrate` runs the full ones.
"""

from __future__ import annotations

import pytest
from benchmarks.calibration.checks import (
    BROKEN,
    CELLS,
    RESAMPLES,
    SIZES,
    check_pvalues,
    equal_gradient_rejections,
    equal_risk_rejections,
    null_pvalues,
)

MOST = 120  # a level of 0.15 where 0.05 is said is seen in 4 of 5 cells; make calibrate draws 5000
DRAWS = {"r-div boosting": 60, "r-div boosting, 5 folds": 40}
DRAWS |= {"score ridge, groups": 60, "omnibus logistic, 5 folds": 60, "r-div a user's pipeline": 60}


# Unequal samples with one seed for all draws, equal ones with fresh seeds; make calibrate runs all
# four combinations.
COMBINATIONS = list(zip(SIZES, (True, False), strict=True))


@pytest.mark.parametrize(("sizes", "fixed_seed"), COMBINATIONS, ids=["20+30 fixed", "25+25 fresh"])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_pvalues_are_uniform_under_the_null(cell, sizes, fixed_seed):
    draws = range(DRAWS.get(cell.name, MOST))
    pvalues = null_pvalues(cell, sizes, draws, fixed_seed=fixed_seed)
    check = check_pvalues(pvalues, cell.resamples_at(sizes))
    assert check.passed, check


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_broken_twin_is_caught(mistake):
    check = check_pvalues(BROKEN[mistake]((20, 30), range(400)), RESAMPLES[20, 30])
    assert not check.passed, check


def test_studentised_level_holds_for_equal_risks_alone():
    draws = 500
    studentised = equal_risk_rejections(range(draws), studentize=True) / draws
    plain = equal_risk_rejections(range(draws), studentize=False) / draws
    assert studentised <= 0.05 + 3 * (0.05 * 0.95 / draws) ** 0.5
    assert plain >= 0.25


def test_score_holds_its_level_for_equal_mean_gradients():
    """Standard deviations 3 and 1, 50 + 400 rows; unstudentised gaps are the broken variant."""
    draws = 300
    studentised = equal_gradient_rejections(range(draws), (50, 400))
    assert studentised / draws <= 0.08 + 3 * (0.08 * 0.92 / draws) ** 0.5
    assert equal_gradient_rejections(range(60), (50, 400), studentize=False) > 40
