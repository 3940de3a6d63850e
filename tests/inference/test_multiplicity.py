"""Adjusted p-values against their definitions, worked out in another way."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rdiv.inference.multiplicity import benjamini_hochberg, holm

PVALUES = st.lists(st.sampled_from(np.linspace(0.001, 1, 40).tolist()), min_size=1, max_size=7)


@given(PVALUES)
def test_holm_is_closed_testing_with_bonferroni(pvalues: list[float]) -> None:
    places = range(len(pvalues))
    for place, adjusted in zip(places, holm(pvalues), strict=True):
        around = [
            min(1.0, size * min(pvalues[i] for i in some))
            for size in range(1, len(pvalues) + 1)
            for some in combinations(places, size)
            if place in some
        ]
        assert np.isclose(adjusted, max(around), rtol=1e-12)


@given(PVALUES, st.sampled_from([0.01, 0.05, 0.2, 0.5]))
def test_benjamini_hochberg_rejects_what_its_step_up_rejects(
    pvalues: list[float], alpha: float
) -> None:
    alpha += 1e-9  # off the grid of p-values, where rounding would decide
    ordered, m = sorted(pvalues), len(pvalues)
    passing = [k for k in range(1, m + 1) if ordered[k - 1] <= k * alpha / m]
    bar = ordered[max(passing) - 1] if passing else -1.0
    expected = [value <= bar for value in pvalues]
    assert (benjamini_hochberg(pvalues) <= alpha).tolist() == expected
