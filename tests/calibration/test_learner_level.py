"""Tests that learn hold their level given what they learned; each with a mistake is caught.

Small counts here; `benchmarks/calibration/learners.py` runs the full ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration.checks import RESAMPLES, SIZES, check_pvalues
from benchmarks.calibration.learners import (
    CELLS,
    check,
    check_upper,
    finite_list,
    null_pvalues,
    out_of_fold,
)

pytest.importorskip("torch")

pytestmark = pytest.mark.trains

UNEQUAL = SIZES[0]
TWIN_DRAWS = {
    "c2st-s logistic": 200,
    "c2st-l logistic": 100,
    "c2st-l network": 15,
    "l-div network": 30,
    "mmd-d": 20,
    "me": 8,  # tested on its training rows it rejects nearly always; 4 of 8 are a surprise of 4e-4
    "scf": 8,
    'mmd-o, bandwidth "power"': 500,
}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_pvalues_are_uniform_given_the_training_half(cell, sizes):
    found = check(cell, null_pvalues(cell, sizes, range(120)), RESAMPLES[sizes])
    assert found.passed, found


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_testing_the_training_rows_is_caught(cell):
    draws = range(TWIN_DRAWS[cell.name])
    pvalues = null_pvalues(cell, UNEQUAL, draws, same_rows=True)
    found = check(cell, pvalues, RESAMPLES[UNEQUAL])
    assert not found.passed, found


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_finite_list_holds_its_level_on_all_rows(sizes):
    found = check_pvalues(finite_list(sizes, range(200)), RESAMPLES[sizes])
    assert found.passed, found


def test_a_supremum_chosen_once_is_caught():
    pvalues = finite_list(UNEQUAL, range(150), chosen_once=True)
    found = check_pvalues(pvalues, RESAMPLES[UNEQUAL])
    assert not found.passed, found


def test_scores_out_of_fold_are_caught():
    found = check_pvalues(out_of_fold(UNEQUAL, range(120)), RESAMPLES[UNEQUAL])
    assert not found.passed, found


def test_the_upper_bound_lets_conservative_tests_pass_and_liberal_ones_fail():
    grid = np.arange(1, 21) / 20
    rng = np.random.default_rng(0)
    assert check_upper(rng.choice(grid, 400), 19).passed
    assert check_upper(np.ones(400), 19).passed
    assert not check_upper(rng.choice(grid[:15], 400), 19).passed
