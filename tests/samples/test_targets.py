"""Targets: which task they pose, who decides, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import rdiv
from rdiv.samples import pool_samples
from rdiv.samples.sample import encode_labels, guess_task, resolve_task, target_values

X = np.random.default_rng(0).normal(size=(40, 2))
TEXT = np.where(X[:, 0] > 0, "yes", "no")


def short(value: Any) -> str:
    return str(value) if np.ndim(value) == 0 else type(value).__name__


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 2], "classification"),
        (list(range(20)), "classification"),
        (list(range(21)), "regression"),
        ([0.0, 1.0, 0.0], "regression"),
        ([0.5, 1], "regression"),
        (np.arange(20, dtype=np.uint8), "classification"),
        (np.arange(25, dtype=np.uint8), "regression"),
        (np.array([1.0, 2.0], dtype=np.float32), "regression"),
        (pd.Categorical([3, 4, 3]), "classification"),
        (pd.Series(["x", "y"], dtype="category"), "classification"),
        (pd.Series([1, 2, 1], dtype="Int64"), "classification"),
        (pd.Series([1.5, 2.0], dtype="Float64"), "regression"),
        (pd.Series([True, False], dtype="boolean"), "classification"),
        (pl.Series(["x", "y"]).cast(pl.Categorical), "classification"),
        (pl.Series([True, False]), "classification"),
        (pl.Series([1, 2]), "classification"),
        (pa.chunked_array([["x", "y"]]), "classification"),
        (np.array(["a", 1, None], dtype=object)[:2], "classification"),
        (np.array([1, 2], dtype=object), "classification"),
        (np.array([1, 2.5], dtype=object), "regression"),
        (np.array([[1.5], [2.5]]), "regression"),
    ],
    ids=short,
)
def test_the_guess(values: Any, task: str) -> None:
    assert guess_task(target_values(values)) == task


def test_integers_are_counted_in_the_pool_not_in_a_sample() -> None:
    y = np.arange(40) % 30
    pooled = pool_samples((X[:15], y[:15]), (X[15:], y[15:]), rng=0)
    assert pooled.pool.task == "regression"


MISSING = {
    "list of text": ["a", float("nan"), "b", "a"],
    "list of text and None": ["a", None, "b", "a"],
    "floats": [1.0, float("nan"), 2.0, 3.0],
    "ints and None": [1, None, 2, 1],
    "pandas text": pd.Series(["a", None, "b", "a"]),
    "pandas objects": pd.Series(["a", np.nan, "b", "a"], dtype=object),
    "pandas categories": pd.Series(["a", None, "b", "a"], dtype="category"),
    "pandas Int64": pd.Series([1, None, 0, 1], dtype="Int64"),
    "pandas boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "pandas string": pd.Series(["a", None, "b", "a"], dtype="string"),
    "polars text": pl.Series(["a", None, "b", "a"]),
    "polars ints": pl.Series([1, None, 0, 1]),
    "polars NaN": pl.Series([1.0, float("nan"), 0.0, 1.0]),
    "pyarrow": pa.chunked_array([["a", None, "b", "a"]]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_target_is_an_error_and_never_a_class(kind: str) -> None:
    y = MISSING[kind]
    with pytest.raises(ValueError, match="the target must have no missing values, got 1 of 4"):
        target_values(y)
    if isinstance(y, pd.Series | pl.Series):
        make = pd.DataFrame if isinstance(y, pd.Series) else pl.DataFrame
        frame = make({"x": [1.0, 2.0, 3.0, 4.0], "y": y})
        with pytest.raises(ValueError, match="the target must have no missing values, got 2 of 8"):
            pool_samples(frame, frame, target="y", rng=0)


def test_infinite_targets_are_refused() -> None:
    y = np.array([1.0, np.inf, 2.0, 3.0])
    with pytest.raises(ValueError, match="the target must be finite, got 2 infinite"):
        pool_samples((X[:4], y), (X[:4], y), rng=0)


def test_one_hot_targets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one value per row, got shape \(4, 3\).*not one-hot"):
        target_values(np.eye(4, 3))


@pytest.mark.parametrize(
    ("asked", "kind", "values", "task"),
    [
        (None, None, None, "density"),
        ("density", None, None, "density"),
        (None, "density", TEXT, "density"),
        ("regression", None, np.array([1, 2]), "regression"),
        ("classification", None, np.array([1.5, 2.5]), "classification"),
        (None, "regression", np.array([0, 1]), "regression"),  # the model's kind wins
        (None, "classification", np.array([0.0, 1.0]), "classification"),
        (None, "regression", np.array([True, False]), "regression"),
        ("regression", "regression", np.array([0, 1]), "regression"),
    ],
)
def test_who_decides(asked: Any, kind: Any, values: Any, task: str) -> None:
    assert resolve_task(values, asked, kind) == task


@pytest.mark.parametrize(
    ("asked", "kind", "values", "words"),
    [
        ("ranking", None, TEXT, "task must be one of .*classification.*got 'ranking'"),
        ("regression", "classification", TEXT, "does classification, got task='regression'"),
        ("classification", "regression", X[:, 0], "does regression, got task='classification'"),
        ("regression", None, TEXT, "needs a target of numbers, got text such as"),
        (None, "regression", TEXT, "needs a target of numbers, got text such as"),
        ("regression", None, None, "regression needs a target, got none"),
        (None, "classification", None, r"classification needs a target.*target= or.*\(X, y\)"),
    ],
)
def test_what_cannot_be(asked: Any, kind: Any, values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resolve_task(values, asked, kind)


def test_labels_become_codes_in_sorted_order() -> None:
    codes, classes = encode_labels(np.array(["b", "a", "c", "a"]))
    assert codes.tolist() == [1, 0, 2, 0]
    assert classes.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="at least two classes in the pool, got only 7"):
        encode_labels(np.array([7, 7, 7]))


LABELS = {
    "text": TEXT,
    "booleans": TEXT == "yes",
    "integers": np.where(TEXT == "yes", 7, -3),
    "objects": TEXT.astype(object),
    "long text": np.where(TEXT == "yes", "yes, I do", "no"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_give_the_same_losses(kind: str) -> None:
    y = LABELS[kind]
    expected = rdiv.r_divergence((X[:15], TEXT[:15]), (X[15:], TEXT[15:]), model="logistic", rng=0)
    for make in (np.asarray, pd.Series, lambda v: pl.Series(v.tolist()), list):
        p, q = (X[:15], make(y[:15])), (X[15:], make(y[15:]))
        assert rdiv.r_divergence(p, q, model="logistic", rng=0) == pytest.approx(expected, rel=1e-6)


def test_categories_as_a_target_column() -> None:
    for library in ("pandas", "polars"):
        columns = {"a": X[:, 0], "y": TEXT}
        if library == "pandas":
            frame: Any = pd.DataFrame(columns).astype({"y": "category"})
            p, q = frame.iloc[:15], frame.iloc[15:]
        else:
            frame = pl.DataFrame(columns).with_columns(pl.col("y").cast(pl.Categorical))
            p, q = frame[:15], frame[15:]
        pool = pool_samples(p, q, target="y", rng=0).pool
        assert pool.task == "classification"
        assert pool.classes.tolist() == ["no", "yes"]
        assert pool.columns == ("a",)


@pytest.mark.parametrize(
    ("model", "y", "task"),
    [
        (DummyRegressor(), (TEXT == "yes").astype(int), "regression"),
        (DummyClassifier(), X[:, 0].round(), "classification"),
        ("ridge", (TEXT == "yes").astype(int), "regression"),
        ("boosting", TEXT, "classification"),
        ("boosting", X[:, 1], "regression"),
        ("gmm", TEXT, "density"),
        ("kde", TEXT, "density"),
        ("pca", X[:, 1], "density"),
    ],
    ids=short,
)
def test_the_model_decides_and_the_result_says_so(model: Any, y: np.ndarray, task: str) -> None:
    result = rdiv.two_sample_test(
        (X[:20], y[:20]), (X[20:], y[20:]), model=model, n_resamples=19, rng=0
    )
    assert result.notes["task"] == task
    if task == "density":
        assert "target is not used" in result.notes["target"]


@pytest.mark.parametrize("model", ["kde", "gmm", "pca"])
def test_density_models_ignore_even_a_target_of_one_class(model: str) -> None:
    same = np.array(["a"] * 40)
    with_target = rdiv.r_divergence((X[:20], same[:20]), (X[20:], same[20:]), model=model, rng=0)
    assert with_target == rdiv.r_divergence(X[:20], X[20:], model=model, rng=0)


@pytest.mark.parametrize(
    ("model", "y", "task", "words"),
    [
        (LinearRegression(), TEXT, None, "regression needs a target of numbers, got text"),
        (LogisticRegression(), TEXT, "regression", "the model does classification"),
        ("ridge", X[:, 0], "classification", "the model does regression"),
        ("boosting", np.array(["a"] * 40), None, "two classes in the pool, got only a"),
        (None, np.array(["a"] * 40), None, "two classes in the pool, got only a"),
    ],
    ids=short,
)
def test_conflicts_are_errors(model: Any, y: np.ndarray, task: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rdiv.two_sample_test((X[:20], y[:20]), (X[20:], y[20:]), model=model, task=task, rng=0)


@pytest.mark.parametrize(
    "model", ["logistic", "ridge", "boosting", LogisticRegression()], ids=short
)
def test_a_supervised_model_without_target_is_an_error(model: Any) -> None:
    with pytest.raises(ValueError, match="needs a target, got none"):
        rdiv.two_sample_test(X[:20], X[20:], model=model, rng=0)


def test_text_on_one_side_and_numbers_on_the_other() -> None:
    with pytest.raises(ValueError, match="numbers on both sides or text on both sides"):
        pool_samples((X[:20], TEXT[:20]), (X[20:], np.arange(20)), rng=0)


def test_dates_are_labels_or_refused_but_never_crash() -> None:
    y = [date(2024, 1, 1 + i % 2) for i in range(20)]
    pool = pool_samples((X[:20], y), (X[20:], y), rng=0).pool
    assert pool.task == "classification"
