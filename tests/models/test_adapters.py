"""as_model: what an object is taken for, in which order, and that it is never fitted in place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import DBSCAN
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.mixture import GaussianMixture as SkMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity as SkDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import rdiv
from rdiv.models import BY_NAME, Estimator, GaussianMixture, as_model
from rdiv.samples import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CODES = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
CLASSES = Pool(X, y=CODES, task="classification", classes=np.array(["no", "yes"]))
NUMBERS = Pool(X, y=X @ [1.0, -2.0, 0.5], task="regression")


def losses_of(obj: Any, pool: Pool, seed: int = 0) -> np.ndarray:
    return as_model(obj).fit(pool, np.random.default_rng(seed)).losses(pool)


@pytest.mark.parametrize("name", BY_NAME)
def test_names_come_first(name: str) -> None:
    assert as_model(name) == BY_NAME[name]()


def test_unknown_names_list_the_known_and_suggest_one() -> None:
    with pytest.raises(
        ValueError, match=r"unknown model 'gmn'; did you mean 'gmm'\? Known: mixed, kde, gmm"
    ):
        as_model("gmn")
    with pytest.raises(ValueError, match="unknown model 'zzz'; Known: mixed"):
        as_model("zzz")


def test_an_object_whose_fit_takes_rng_is_a_model_already() -> None:
    model = GaussianMixture(2)
    assert as_model(model) is model

    class Both(LogisticRegression):
        """A scikit-learn classifier by class, a model by its fit."""

        def fit(self, pool: Any, rng: Any) -> Any:
            return self

    both = Both()
    assert as_model(both) is both


@pytest.mark.parametrize(
    ("estimator", "kind", "task"),
    [
        (LogisticRegression(), "classifier", "classification"),
        (DecisionTreeClassifier(), "classifier", "classification"),
        (LinearDiscriminantAnalysis(), "classifier", "classification"),  # also transforms
        (make_pipeline(StandardScaler(), LogisticRegression()), "classifier", "classification"),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), "classifier", "classification"),
        (CalibratedClassifierCV(LinearSVC()), "classifier", "classification"),
        (LinearRegression(), "regressor", "regression"),
        (HistGradientBoostingRegressor(), "regressor", "regression"),
        (make_pipeline(StandardScaler(), LinearRegression()), "regressor", "regression"),
        (TransformedTargetRegressor(LinearRegression()), "regressor", "regression"),
        (PCA(2), "reconstruction", "density"),  # also has score_samples
        (make_pipeline(StandardScaler(), PCA(2)), "reconstruction", "density"),
        (SkMixture(2), "score", "density"),
        (SkDensity(), "score", "density"),
        (IsolationForest(), "score", "density"),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, str) else v,
)
def test_estimators_are_taken_by_what_they_are(estimator: Any, kind: str, task: str) -> None:
    model = as_model(estimator)
    assert isinstance(model, Estimator)
    assert (model.kind, model.task) == (kind, task)


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            LinearSVC(),
            "needs predict_proba for its log loss, got LinearSVC.*CalibratedClassifierCV",
        ),
        (SGDClassifier(), "needs predict_proba"),
        (LogisticRegression, r"must be an object, got the class LogisticRegression; add \(\)"),
        (DBSCAN(), "got DBSCAN without predict_proba"),
        (5, r"estimator, a torch module or an object with fit\(pool, rng\), got int"),
        (None, "got NoneType"),
        (np.zeros(3), "got ndarray"),
    ],
    ids=str,
)
def test_what_is_no_model(obj: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        as_model(obj)


def test_a_bare_frozen_estimator_must_say_what_it_was_trained_on() -> None:
    frozen = FrozenEstimator(LogisticRegression().fit(X, CODES))
    with pytest.raises(
        ValueError, match=r'wrap the model in rdiv.models.Frozen.*trained_on="neither"'
    ):
        as_model(frozen)


def test_losses_of_a_classifier() -> None:
    fitted = LogisticRegression().fit(X, CODES)
    expected = -fitted.predict_log_proba(X)[np.arange(60), CODES]
    np.testing.assert_allclose(losses_of(LogisticRegression(), CLASSES), expected, rtol=1e-9)


def test_losses_of_a_regressor() -> None:
    fitted = LinearRegression().fit(X, CODES)
    pool = Pool(X, y=CODES.astype(float), task="regression")
    expected = np.square(fitted.predict(X) - CODES)
    np.testing.assert_allclose(losses_of(LinearRegression(), pool), expected, rtol=1e-9)


def test_losses_of_a_reconstruction() -> None:
    fitted = PCA(1).fit(X)
    expected = np.square(fitted.inverse_transform(fitted.transform(X)) - X).sum(axis=1)
    np.testing.assert_allclose(losses_of(PCA(1), Pool(X)), expected, rtol=1e-9)
    assert losses_of(make_pipeline(StandardScaler(), PCA(1)), Pool(X)).shape == (60,)


def test_losses_of_a_density() -> None:
    expected = -SkDensity(bandwidth=0.7).fit(X).score_samples(X)
    np.testing.assert_allclose(losses_of(SkDensity(bandwidth=0.7), Pool(X)), expected, rtol=1e-9)
    mixture = losses_of(SkMixture(1), Pool(X))
    np.testing.assert_allclose(mixture, -SkMixture(1).fit(X).score_samples(X), rtol=1e-6)


NESTED = VotingClassifier(
    [
        ("tree", DecisionTreeClassifier(max_features=1)),
        ("bag", BaggingClassifier(DecisionTreeClassifier(max_features=1), n_estimators=3)),
        ("pipe", make_pipeline(PCA(2, svd_solver="randomized"), RandomForestClassifier(3))),
    ],
    voting="soft",
)


def test_every_open_random_state_is_set_from_the_stream() -> None:
    first, again, other = (losses_of(NESTED, CLASSES, seed).tobytes() for seed in (1, 1, 2))
    assert first == again
    assert first != other
    fitted = as_model(NESTED).fit(CLASSES, np.random.default_rng(1)).estimator
    states = [v for k, v in fitted.get_params().items() if k.endswith("random_state")]
    assert len(states) >= 5
    assert all(isinstance(state, int) for state in states)
    assert len(set(states)) == len(states)


def test_the_random_state_of_a_splitter_is_one_too() -> None:
    """It is no parameter that scikit-learn lists, and it decides which setting is chosen."""
    grid = {"C": np.logspace(-3, 3, 15)}
    search = GridSearchCV(LogisticRegression(), grid, cv=KFold(3, shuffle=True))
    assert len({losses_of(search, CLASSES, seed=1).tobytes() for _ in range(6)}) == 1
    assert search.cv.random_state is None


def test_a_random_state_of_the_users_stays() -> None:
    model = RandomForestClassifier(3, random_state=7)
    assert losses_of(model, CLASSES, 1).tobytes() == losses_of(model, CLASSES, 2).tobytes()


def test_the_global_random_state_is_not_touched() -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    losses_of(NESTED, CLASSES)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


@pytest.mark.parametrize("estimator", [LogisticRegression(), PCA(1), NESTED], ids=["a", "b", "c"])
def test_the_users_estimator_is_not_fitted_in_place(estimator: Any) -> None:
    before = repr(estimator.get_params())
    p, q = (X[:30], CODES[:30]), (X[30:], CODES[30:])
    rdiv.two_sample_test(p, q, model=estimator, n_resamples=19, rng=0)
    rdiv.two_sample_test(p, q, model=estimator, folds=3, n_resamples=19, rng=0)
    assert not [name for name in vars(estimator) if name.endswith("_")]
    assert repr(estimator.get_params()) == before


def test_missing_values_are_the_estimators_business_if_it_takes_them() -> None:
    x = np.where(X > 2, np.nan, X)
    pool = Pool(x, y=CODES, task="classification", classes=np.array(["no", "yes"]))
    assert np.isfinite(losses_of(DecisionTreeClassifier(max_depth=2), pool)).all()
    with pytest.raises(ValueError, match="LogisticRegression needs finite inputs, got"):
        losses_of(LogisticRegression(), pool)


def test_a_bare_estimator_gets_numbers_and_a_pipeline_the_frame() -> None:
    seen = []

    class Looks(LogisticRegression):
        def fit(self, x: Any, y: Any) -> Any:
            seen.append(type(x).__name__)
            return super().fit(np.asarray(x, dtype=float), y)

        def predict_proba(self, x: Any) -> Any:
            return super().predict_proba(np.asarray(x, dtype=float))

    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    pool = Pool(frame, y=CODES, task="classification", classes=np.array(["no", "yes"]))
    losses_of(Looks(), pool)
    losses_of(make_pipeline(Looks()), pool)
    assert seen == ["ndarray", "DataFrame"]


def test_images_are_flattened_for_bare_estimators() -> None:
    single = X.astype(np.float32)
    pool = Pool(single[:, :, None], y=CODES, task="classification", classes=CLASSES.classes)
    flat = losses_of(LogisticRegression(), replace(CLASSES, rows=single))
    np.testing.assert_allclose(losses_of(LogisticRegression(), pool), flat, rtol=1e-9)


def test_lightgbm_works_as_it_is() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1)
    p, q = (X[:30], np.array(["u", "v"])[CODES[:30]]), (X[30:], np.array(["u", "v"])[CODES[30:]])
    for folds in (None, 3):
        result = rdiv.two_sample_test(p, q, model=model, folds=folds, n_resamples=19, rng=0)
        assert np.isfinite(result.statistic)
        assert result.notes["task"] == "classification"
    regressor = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    assert losses_of(regressor, NUMBERS).shape == (60,)


def test_results_name_the_estimator_briefly() -> None:
    p, q = (X[:30], CODES[:30]), (X[30:], CODES[30:])
    for folds, expected in (
        (None, "LogisticRegression(C=2.0)"),
        (3, "LogisticRegression(C=2.0), 3 folds"),
    ):
        model = LogisticRegression(C=2.0)
        found = rdiv.two_sample_test(p, q, model=model, folds=folds, n_resamples=19, rng=0)
        assert found.model == expected
