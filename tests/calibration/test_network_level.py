"""Networks on real images hold their level; benchmarks/calibration/networks.py draws more."""

from __future__ import annotations

import pytest
from benchmarks.calibration.checks import check_pvalues
from benchmarks.calibration.networks import NETWORKS, RESAMPLES, null_pvalues

pytest.importorskip("torch")

pytestmark = pytest.mark.trains


@pytest.mark.parametrize("name", NETWORKS)
def test_pvalues_are_uniform_under_the_null(name):
    check = check_pvalues(null_pvalues(NETWORKS[name], range(40)), RESAMPLES)
    assert check.passed, check
