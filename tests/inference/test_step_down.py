"""Step-down max-T: against the definition, and what must hold for any numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rdiv.inference.engine import permutation_pvalue
from rdiv.inference.step_down import step_down

tables = st.integers(0, 10_000).map(
    lambda seed: np.abs(np.random.default_rng(seed).normal(size=(40, 4)).round(1))
)


def by_definition(parts: np.ndarray) -> np.ndarray:
    """Westfall and Young's procedure, one hypothesis at a time."""
    left, worst, pvalues = list(range(parts.shape[1])), 0.0, np.empty(parts.shape[1])
    while left:
        j = max(left, key=lambda k: (parts[0, k], -k))
        worst = max(worst, permutation_pvalue(parts[0, j], parts[1:, left].max(axis=1)))
        pvalues[j] = worst
        left.remove(j)
    return pvalues


@given(tables)
def test_the_definition(parts: np.ndarray) -> None:
    np.testing.assert_array_equal(step_down(parts), by_definition(parts))


@given(tables)
def test_adjusted_ones_are_never_smaller_and_keep_the_order(parts: np.ndarray) -> None:
    adjusted = step_down(parts)
    raw = [permutation_pvalue(column[0], column[1:]) for column in parts.T]
    assert (adjusted >= raw).all()
    assert (np.diff(adjusted[np.argsort(-parts[0], kind="stable")]) >= 0).all()
    single = permutation_pvalue(parts[0].max(), parts[1:].max(axis=1))
    assert adjusted.min() == single


def test_infinite_ratios() -> None:
    """A gap without any spread is as large as can be; the others go on without it."""
    parts = np.array([[np.inf, 1.0], [2.0, 0.5], [1.0, 3.0], [0.0, 0.0]])
    np.testing.assert_array_equal(step_down(parts), [0.25, 0.5])
