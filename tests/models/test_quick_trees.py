"""Compiled walks through scikit-learn's trees against the estimator's own predictions, by bits."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rdiv.models import leaf_sets, quick_trees
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


def walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows walk down the trees, as they do where many columns are split."""
    monkeypatch.setattr(leaf_sets, "MOST_COLUMNS", 0)


@pytest.mark.parametrize("walk", [False, True], ids=["sets", "walk"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 500])
@pytest.mark.parametrize(("kind", "classes"), [("regressor", 0), ("two", 2), ("three", 3)])
def test_predictions_are_those_of_the_estimator_to_the_last_bit(
    kind: str, classes: int, n: int, walk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walk:
        walked(monkeypatch)
    estimator, x = fitted(kind, classes), rows(1, n)
    x[0, :2] = np.inf, -np.inf
    quick, method = QuickTrees(estimator), "predict" if kind == "regressor" else "predict_proba"
    assert np.array_equal(getattr(quick, method)(x), getattr(estimator, method)(x))
    assert quick._checked == [True]
    assert (quick._forest._sets is None) is walk
    again = pickle.loads(pickle.dumps(quick))
    assert np.array_equal(getattr(again, method)(np.asfortranarray(x)), getattr(quick, method)(x))


def test_rows_without_missing_cells_go_the_same_way() -> None:
    estimator, x = fitted("regressor"), np.nan_to_num(rows(5))
    assert np.array_equal(QuickTrees(estimator).predict(x), estimator.predict(x))


@pytest.mark.parametrize(
    "spread",
    [
        lambda x: np.exp(9 * x),
        lambda x: np.sign(x) * 10.0 ** (85 * np.abs(x)),
        lambda x: np.round(x),
        lambda x: 1e9 + 1e-7 * x,
        lambda x: np.where(x > 0, x, 1.0),
    ],
    ids=["skewed", "both ends of the numbers", "few values", "far from 0", "half constant"],
)
def test_thresholds_are_found_wherever_they_lie(spread: Any) -> None:
    z = np.random.default_rng(7).normal(size=(600, 3))
    x, order = spread(z), np.argsort(np.argsort(z[:, 0] + z[:, 1] * z[:, 2]))
    model = ensemble.HistGradientBoostingRegressor(max_iter=30, min_samples_leaf=2)
    estimator = model.fit(x, np.sin(order / 20))
    split = estimator._predictors[0][0].nodes
    split = split[split["is_leaf"] == 0]
    at = np.repeat(x[:1], len(split), axis=0)  # on a threshold, and beside it
    at[np.arange(len(at)), split["feature_idx"]] = split["num_threshold"]
    beside = [at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), x]
    asked = np.concatenate([*beside, np.full((1, 3), np.nan), [[np.inf, -np.inf, 0.0]]])
    quick = QuickTrees(estimator)
    with np.errstate(all="raise"):
        assert np.array_equal(quick.predict(asked), estimator.predict(asked))
    assert quick._checked == [True]
    assert quick._forest is not None
    assert quick._forest._sets is not None


@pytest.mark.parametrize(
    ("leaves", "by_sets"), [(31, True), (32, True), (33, False), (None, False)]
)
def test_trees_of_more_leaves_than_a_word_has_bits_are_walked(
    leaves: int | None, by_sets: bool
) -> None:
    x = np.nan_to_num(rows(8, 2000))
    model = ensemble.HistGradientBoostingRegressor(
        max_iter=3, max_leaf_nodes=leaves, min_samples_leaf=5
    )
    estimator = model.fit(x, np.sin(3 * x).sum(axis=1))
    quick = QuickTrees(estimator)
    assert np.array_equal(quick.predict(x), estimator.predict(x))
    assert quick._checked == [True]
    assert quick._forest is not None
    assert (quick._forest._sets is not None) is by_sets


def test_infinite_inputs_are_split_as_the_estimator_splits_them() -> None:
    x = np.repeat([[-np.inf], [0.0], [1.0], [np.inf]], 50, axis=0)
    estimator = ensemble.HistGradientBoostingRegressor(max_iter=5).fit(
        x, np.repeat([5, 1, 2, 9], 50)
    )
    asked = np.concatenate([x[::50], [[-1e308], [1e308], [np.nan], [0.5]]])
    quick = QuickTrees(estimator)
    assert np.array_equal(quick.predict(asked), estimator.predict(asked))
    assert quick._checked == [True]


def test_a_forest_without_a_split_has_no_sets() -> None:
    x = rows(9)
    estimator = ensemble.HistGradientBoostingRegressor(max_iter=3).fit(x, np.ones(len(x)))
    quick = QuickTrees(estimator)
    assert np.array_equal(quick.predict(x), estimator.predict(x))
    assert quick._forest is None or quick._forest._sets is None


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
