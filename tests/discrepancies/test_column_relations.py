"""How columns go together, row by row: against plain computations, and on broken relations."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.discrepancies import column_relations
from rdiv.discrepancies.column_relations import LARGEST, RIDGE, pair_scores, surprises

RNG = np.random.default_rng


def standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def in_units(squares: np.ndarray) -> np.ndarray:
    return squares * 0.4549364231195724 / np.median(squares)


def test_scores_of_a_pair_by_hand() -> None:
    a = RNG(0).normal(size=300)
    z = standard(np.stack([a, RNG(1).normal(size=300) - a], axis=1))
    r = abs(np.corrcoef(z.T)[0, 1])
    along, across = (z[:, 0] - z[:, 1]) ** 2, (z[:, 0] + z[:, 1]) ** 2  # they go apart: r < 0
    expected = (1 - r) * np.log1p(in_units(along) / 2) - (1 + r) * np.log1p(in_units(across) / 2)
    np.testing.assert_allclose(pair_scores(z, np.arange(2))[:, 0], expected, rtol=1e-9)


def test_pairs_of_one_column_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    z = standard(RNG(0).normal(size=(50, 5)))
    assert pair_scores(z, np.array([0, 0, 1, 1, 1])).shape == (50, 6)
    assert pair_scores(z, np.zeros(5, np.intp)).shape == (50, 0)
    monkeypatch.setattr(column_relations, "MOST_PAIRS", 4)
    assert pair_scores(z, np.arange(5)).shape == (50, 4)


def test_surprises_are_residuals_of_ridge_regressions() -> None:
    """Of columns with one number: the residual given all others, over its usual size."""
    x = RNG(2).normal(size=(400, 4))
    x[:, 3] = x[:, 0] - x[:, 1] + 0.3 * x[:, 3]
    z = standard(x)
    found = surprises(z, np.arange(4))
    for j in range(4):
        rest = np.delete(z, j, axis=1)
        gram = rest.T @ rest / 400 + RIDGE * np.eye(3)
        slopes = np.linalg.solve(gram, rest.T @ z[:, j] / 400)
        squares = (z[:, j] - rest @ slopes) ** 2
        expected = np.minimum(in_units(squares), LARGEST)
        np.testing.assert_allclose(found[:, j], expected, rtol=1e-6)


def test_the_numbers_of_one_column_do_not_predict_each_other() -> None:
    z = standard(RNG(3).normal(size=(300, 3)))
    doubled = np.concatenate([z, z[:, 2:]], axis=1)  # twice the same number of the last column
    alone, both = surprises(z, np.arange(3)), surprises(doubled, np.array([0, 1, 2, 2]))
    np.testing.assert_allclose(both[:, 2], alone[:, 2], atol=0.2)
    assert surprises(z, np.zeros(3, np.intp)).shape == (300, 0)


@pytest.mark.parametrize("relation", ["copy", "sum"])
def test_rows_with_a_broken_relation_stand_out(relation: str) -> None:
    x = RNG(4).normal(size=(300, 6))
    x[:, 5] = x[:, 0] if relation == "copy" else x[:, :5].sum(axis=1)
    x[:15, 5] = RNG(5).permutation(x[:15, 5])
    z = standard(x)
    found = surprises(z, np.arange(6))[:, 5]
    assert found[:15].mean() > 4 * found[15:].mean()
    if relation == "copy":
        scores = pair_scores(z, np.arange(6))[:, 0]
        assert scores[:15].max() < scores[15:].min()


def test_columns_that_are_equal_or_constant_say_nothing() -> None:
    """Differences of equal columns are rounding, which must not be taken for a scale."""
    x = standard(RNG(6).normal(size=(100, 1)))
    z = np.concatenate([x, x * (1 + 1e-15), np.zeros((100, 1))], axis=1)
    scores = pair_scores(z, np.arange(3))
    assert scores.shape == (100, 1)
    assert np.abs(scores).max() < 1e-3  # of the sum 1 - r is left
    assert (surprises(z, np.arange(3))[:, 2] == 0).all()
