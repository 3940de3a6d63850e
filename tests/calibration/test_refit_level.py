"""Tests that refit and stop early hold their level; a favoured observed split is caught.

The quick cells with small counts; `python benchmarks/calibration/refits.py` runs all at length.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration.refits import (
    CELLS,
    broken_pvalues,
    check_stopped,
    null_pvalues,
    stopped_distribution,
)

QUICK = {"h-div few gradient steps, warm": 150, "h-div ridge": 60, "h-div gmm, warm": 30}


@pytest.mark.parametrize("name", QUICK)
def test_pvalues_have_the_distribution_of_a_stopped_test(name):
    cell = next(cell for cell in CELLS if cell.name == name)
    check = check_stopped(null_pvalues(cell, (20, 30), range(QUICK[name])), 19)
    assert check.passed, check


def test_a_favoured_observed_split_is_caught():
    mistake = "an observed split that starts from fits to its own sides"
    check = check_stopped(broken_pvalues(mistake, (20, 30), range(150)), 19)
    assert not check.passed, check
    assert check.rejections[1] > 0.5 * check.draws


@pytest.mark.parametrize(("n_resamples", "alpha"), [(19, 0.1), (39, 0.1), (99, 0.05)])
def test_every_value_is_its_own_level(n_resamples, alpha):
    values, chances = stopped_distribution(n_resamples, alpha)
    np.testing.assert_allclose(np.cumsum(chances), values)
    assert alpha in values
