"""Monte-Carlo complexities against closed forms and full enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rdiv import theory

ALMOST_SURE = 1 - 1e-6  # of the intervals, so that a failure means an error and not chance


def test_eight_hypotheses_by_enumeration_of_all_signs() -> None:
    losses = np.random.default_rng(5).uniform(-1, 1, size=(8, 10))
    best = [max(float(np.dot(s, row)) for row in losses) / 10 for s in product((-1, 1), repeat=10)]
    exact = sum(best) / 2**10
    found = theory.rademacher_complexity(losses, draws=20_000, confidence=ALMOST_SURE, rng=1)
    assert found.low <= exact <= found.high
    assert found.high - found.low < 0.1 * exact
    assert found.exact


def test_the_unit_norm_linear_class_by_enumeration_and_its_bound() -> None:
    x = np.random.default_rng(6).normal(size=(10, 3))
    lengths = [np.linalg.norm(np.array(s) @ x) / 10 for s in product((-1.0, 1.0), repeat=10)]
    found = theory.rademacher_complexity(
        theory.LinearClass(x), draws=20_000, confidence=ALMOST_SURE, rng=2
    )
    assert found.low <= np.mean(lengths) <= found.high
    assert found.value <= np.sqrt((x**2).sum()) / 10  # Jensen: the square root of the mean square


def test_orthogonal_rows_have_a_closed_form() -> None:
    found = theory.rademacher_complexity(theory.LinearClass(2 * np.eye(16), norm=3.0), rng=0)
    assert found.value == pytest.approx(3 * 2 * 4 / 16)
    assert found.low == pytest.approx(found.high)


def test_the_interval_covers_as_often_as_it_says() -> None:
    losses = np.random.default_rng(7).uniform(-1, 1, size=(4, 8))
    signs = np.array(list(product((-1.0, 1.0), repeat=8)))
    exact = (signs @ losses.T / 8).max(axis=1).mean()
    covered = 0
    for seed in range(300):
        found = theory.rademacher_complexity(losses, draws=200, confidence=0.9, rng=seed)
        covered += found.low <= exact <= found.high
    assert abs(covered - 270) < 4 * np.sqrt(300 * 0.09)


def test_one_hypothesis_has_no_complexity() -> None:
    """The mean of 50 signs has mean 0 and standard deviation 1 / sqrt(50)."""
    found = theory.rademacher_complexity(np.ones((1, 50)), draws=4000, confidence=0.95, rng=0)
    error = 1 / np.sqrt(50 * 4000)
    assert abs(found.value) < 5 * error
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_blocks_of_signs_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.random.default_rng(8).uniform(-1, 1, size=(3, 12))
    whole = theory.rademacher_complexity(losses, draws=100, rng=3)
    monkeypatch.setattr("rdiv.theory.complexity._BLOCK", 12 * 7)
    assert theory.rademacher_complexity(losses, draws=100, rng=3).value == pytest.approx(
        whole.value
    )


def test_losses_above_c_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no loss may exceed c = 1, got 1\.5"):
        theory.FiniteClass([[0.5, -1.5]], c=1.0)


@pytest.mark.parametrize("values", [[1.0, 2.0], [[np.nan]], np.empty((0, 3))])
def test_what_is_no_class_is_refused(values: object) -> None:
    with pytest.raises(ValueError, match="a finite class needs finite numbers"):
        theory.rademacher_complexity(values)


@pytest.mark.parametrize(
    ("settings", "words"), [({"draws": 1}, "draws"), ({"confidence": 1.0}, "confidence")]
)
def test_impossible_settings_are_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        theory.rademacher_complexity(np.ones((1, 2)), **settings)  # type: ignore[arg-type]
