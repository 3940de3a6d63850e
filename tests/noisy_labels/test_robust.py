"""RobustClassifier keeps scikit-learn's conventions and beats plain training on wrong labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from rdiv.errors import InputError, InputTypeError
from rdiv.models import Mlp, Training
from rdiv.noisy_labels import RobustClassifier, flip_labels

pytestmark = pytest.mark.trains


def test_the_conventions_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the checks feed in is meant to be odd
        results = check_estimator(RobustClassifier(folds=2, random_state=0), on_fail=None)
    # a check of array libraries is skipped unless the environment asks for it
    broken = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert broken == []
    assert len(results) > 40


ROWS, LABELS = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        (3, LABELS, "X cannot be used: Expected 2D array, got scalar array"),
        (ROWS[:0], LABELS[:0], r"X cannot be used: Found array with 0 sample\(s\)"),
        (ROWS + 1j, LABELS, r"X cannot be used: Complex data not supported\.$"),
        (np.full((20, 2), np.inf), LABELS, "X cannot be used: Input X contains infinity"),
        ([[1.0, 2.0], [3.0]], [0, 1], "X cannot be used: setting an array element"),
        (np.array([["a"]] * 20), LABELS, "X cannot be used: dtype='numeric' is not"),
        (pl.DataFrame({"a": [[1, 2]] * 20}), LABELS, "need at least 5 distinct rows"),
        (ROWS, 3, "y cannot be used: y should be a 1d array"),
        (ROWS, LABELS[:7], "X and y must have equally many rows, got 20 and 7"),
        (ROWS, LABELS / 2, "labels must be classes"),
    ],
)
def test_odd_rows_and_labels_are_one_sentence(x: Any, y: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        RobustClassifier(random_state=0).fit(x, y)
    assert "\n" not in str(caught.value)


def test_other_odd_arguments_are_one_sentence_too() -> None:
    with pytest.raises(InputTypeError, match="X cannot be used: Sparse data was passed"):
        RobustClassifier().fit(csr_matrix(ROWS), LABELS)
    with pytest.raises(InputError, match="random_state cannot be used: 'x'"):
        RobustClassifier(random_state="x").fit(ROWS, LABELS)
    fitted = RobustClassifier(folds=2, random_state=0).fit(ROWS, LABELS)
    with pytest.raises(InputError, match="X cannot be used: X has 1 features, but"):
        fitted.predict(ROWS[:, :1])


@pytest.fixture(scope="module")
def digits() -> tuple[Any, ...]:
    x, y = load_digits(return_X_y=True)
    return x[:900] / 16, y[:900], x[900:] / 16, y[900:]


@pytest.mark.parametrize("kind", ["symmetric", "pair"])
@pytest.mark.parametrize("rate", [0.2, 0.4, "auto"])
def test_weights_beat_plain_training(digits: tuple[Any, ...], kind: str, rate: Any) -> None:
    x, y, x_test, y_test = digits
    given = flip_labels(y, kind, 0.2, rng=0)  # type: ignore[arg-type]
    model = LogisticRegression(max_iter=300)
    plain = model.fit(x, given).score(x_test, y_test)
    robust = RobustClassifier(model, noise_rate=rate, folds=3, random_state=0)
    assert robust.fit(x, given).score(x_test, y_test) > plain


def test_right_labels_cost_less_than_a_point(digits: tuple[Any, ...]) -> None:
    x, y, x_test, y_test = digits
    model = LogisticRegression(max_iter=300)
    plain = model.fit(x, y).score(x_test, y_test)
    robust = RobustClassifier(model, folds=3, random_state=0).fit(x, y).score(x_test, y_test)
    assert robust > plain - 0.01


def test_a_network_is_retrained_around_wrong_labels(digits: tuple[Any, ...]) -> None:
    pytest.importorskip("torch")
    x, y, x_test, y_test = digits
    x, y = x[:600], y[:600]
    given = flip_labels(y, "pair", 0.3, rng=0)
    network = Mlp(hidden=(64,), training=Training(epochs=30, learning_rate=5e-3))
    plain = RobustClassifier(network, noise_rate=0.0, folds=None, random_state=0).fit(x, given)
    robust = RobustClassifier(network, folds=3, random_state=0).fit(x, given)
    assert robust.score(x_test, y_test) > 0.6  # one in ten by chance
    assert robust.score(x_test, y_test) > plain.score(x_test, y_test) + 0.05
    assert np.allclose(robust.predict_proba(x_test).sum(axis=1), 1)
    again = clone(robust).fit(x, given)
    assert (again.predict_proba(x_test) == robust.predict_proba(x_test)).all()


def test_the_schedule_of_a_network_is_the_step_schedule_unless_kept() -> None:
    pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(40, 2))
    network = Mlp(hidden=(4,), training=Training(epochs=2, schedule="cosine"))
    robust = RobustClassifier(network, noise_rate=0.1, folds=None).fit(x, x[:, 0] > 0)
    assert robust.fitted_.recipe.training.schedule == "step"
    robust.set_params(schedule=None).fit(x, x[:, 0] > 0)
    assert robust.fitted_.recipe.training.schedule == "cosine"


def table(n: int = 200) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    age = rng.normal(size=n)
    region = np.where(rng.random(n) < 0.5, "west", "east")
    frame = pl.DataFrame({"age": age, "region": region})
    return frame, np.where(age + (region == "west") > 0.5, "yes", "no")


@pytest.mark.parametrize("model", [None, "boosting", LogisticRegression()])
def test_tables_with_text_are_prepared_as_they_were_for_the_fit(model: Any) -> None:
    frame, y = table()
    robust = RobustClassifier(model, folds=3, random_state=0).fit(frame, y)
    assert robust.score(frame, y) > 0.9
    alone = robust.predict_proba(frame[:1])  # one row has no scale of its own
    assert np.allclose(alone, robust.predict_proba(frame)[:1])
    assert robust.classes_.tolist() == ["no", "yes"]
    assert robust.n_features_in_ == 2


def test_a_pipeline_gets_the_table_itself() -> None:
    from sklearn.compose import make_column_transformer

    frame, y = table()
    prepare = make_column_transformer(
        (OneHotEncoder(), ["region"]), remainder=StandardScaler(), verbose_feature_names_out=False
    )
    pipeline = make_pipeline(prepare, LogisticRegression())
    robust = RobustClassifier(pipeline, folds=3, random_state=0).fit(frame.to_pandas(), y)
    assert robust.score(frame.to_pandas(), y) > 0.9
    assert robust.feature_names_in_.tolist() == ["age", "region"]


def test_rows_are_dropped_where_weights_are_not_taken() -> None:
    frame, y = table()
    x = frame.select("age").to_numpy()
    neighbours = KNeighborsClassifier()
    robust = RobustClassifier(neighbours, noise_rate=0.2, folds=3, random_state=0).fit(x, y)
    kept = robust.fitted_.estimator.n_samples_fit_
    assert kept == (~robust.noise_.suspected).sum() == 160
    with pytest.raises(ValueError, match="action='weight' needs a scikit-learn classifier"):
        robust.set_params(action="weight").fit(x, y)


def test_weights_are_the_probability_of_a_right_label_by_the_likeliest_flips() -> None:
    class Recorder(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            self.seen_ = sample_weight
            return super().fit(X, y, sample_weight)

    x, y = table()[0].select("age").to_numpy(), table()[1]
    robust = RobustClassifier(Recorder(), noise_rate=0.2, folds=3, random_state=0).fit(x, y)
    weights, noise = robust.fitted_.estimator.seen_, robust.noise_
    expected = np.where(noise.suspected, 1 - noise._doubts, 1.0)
    assert sorted(weights) == pytest.approx(sorted(expected))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"action": "burn"}, "action must be 'auto', 'weight' or 'drop'"),
        ({"objective": "harsh"}, "unknown objective 'harsh'"),
        ({"noise_rate": 1.0}, "noise_rate must be a share"),
        ({"folds": None}, "noise_rate='auto' needs folds"),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RobustClassifier(**settings).fit(np.zeros((20, 1)), [0, 1] * 10)


def test_labels_of_series_keep_their_kind() -> None:
    frame, y = table()
    robust = RobustClassifier(folds=3, random_state=0).fit(frame.to_pandas(), pd.Series(y))
    assert set(robust.predict(frame.to_pandas())) == {"no", "yes"}
