"""Compiled walks through scikit-learn's trees against the estimator's own predictions, by bits."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rdiv.models import quick_trees
from rdiv.models.quick_trees import QuickTrees, forest_of

pytest.importorskip("numba")
ensemble = pytest.importorskip("sklearn.ensemble")


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_trees, "FEWEST_STEPS", 0)


def rows(seed: int, n: int = 500) -> np.ndarray:
    """Rows with missing cells."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def fitted(kind: str, classes: int = 2) -> Any:
    x = rows(0)
    signal = np.nan_to_num(x, nan=0.5).sum(axis=1)
    if kind == "regressor":
        return ensemble.HistGradientBoostingRegressor(max_iter=20).fit(x, signal)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
    return ensemble.HistGradientBoostingClassifier(max_iter=20).fit(x, y)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 500])
@pytest.mark.parametrize(("kind", "classes"), [("regressor", 0), ("two", 2), ("three", 3)])
def test_predictions_are_those_of_the_estimator_to_the_last_bit(
    kind: str, classes: int, n: int
) -> None:
    estimator, x = fitted(kind, classes), rows(1, n)
    x[0, :2] = np.inf, -np.inf
    quick, method = QuickTrees(estimator), "predict" if kind == "regressor" else "predict_proba"
    assert np.array_equal(getattr(quick, method)(x), getattr(estimator, method)(x))
    assert quick._checked == [True]
    again = pickle.loads(pickle.dumps(quick))
    assert np.array_equal(getattr(again, method)(np.asfortranarray(x)), getattr(quick, method)(x))


def test_rows_without_missing_cells_go_the_same_way() -> None:
    estimator, x = fitted("regressor"), np.nan_to_num(rows(5))
    assert np.array_equal(QuickTrees(estimator).predict(x), estimator.predict(x))


def test_a_row_gets_the_same_bits_in_any_block() -> None:
    quick, x = QuickTrees(fitted("regressor")), rows(2, 300)
    whole = quick.predict(x)
    assert np.array_equal(np.concatenate([quick.predict(x[:7]), quick.predict(x[7:])]), whole)


def test_the_estimator_is_asked_where_its_trees_are_kept_in_another_way() -> None:
    estimator = fitted("regressor")
    assert forest_of(SimpleNamespace()) is None
    quick, x = QuickTrees(estimator), rows(3)
    estimator._baseline_prediction = estimator._baseline_prediction + 1.0
    assert quick._forest is not None
    estimator._baseline_prediction = estimator._baseline_prediction - 1.0
    assert np.array_equal(quick.predict(x), estimator.predict(x))  # by asking it
    assert quick._checked == [False]


def test_trees_that_split_categories_are_left_to_the_estimator() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(5, size=(200, 1)).astype(float)
    model = ensemble.HistGradientBoostingRegressor(max_iter=3, categorical_features=[0])
    estimator = model.fit(x, (x[:, 0] == 2).astype(float))
    assert forest_of(estimator) is None
    assert np.array_equal(QuickTrees(estimator).predict(x), estimator.predict(x))


def test_few_rows_load_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_trees, "FEWEST_STEPS", 1 << 21)
    quick = QuickTrees(fitted("regressor"))
    quick.predict(rows(4))
    assert quick._checked == []
