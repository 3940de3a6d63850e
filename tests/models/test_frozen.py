"""Frozen: a deployed model as it is, which says what it was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KernelDensity as SkDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import rdiv
from rdiv.models import Frozen, KernelDensity, as_model
from rdiv.samples import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
BEFORE = RNG.normal(size=(80, 2))
X = RNG.normal(size=(40, 2))


def labels(x: np.ndarray, names: Any = ("no", "yes")) -> np.ndarray:
    return np.array(names)[(x[:, 0] > 0).astype(int)]


def pair(y: np.ndarray) -> tuple[Any, Any]:
    return (X[:15], y[:15]), (X[15:], y[15:])


def gap(model: Any, y: np.ndarray | None) -> float:
    p, q = (X[:15], X[15:]) if y is None else pair(y)
    return rdiv.r_divergence(p, q, model=Frozen(model, trained_on="neither"), rng=0)


def expected_gap(losses: np.ndarray) -> float:
    return abs(losses[:15].mean() - losses[15:].mean())


@pytest.mark.parametrize("said", [None, "p", "q", "both", "reference", ""])
def test_it_must_be_said_that_neither_sample_was_used(said: str | None) -> None:
    model = LinearRegression().fit(BEFORE, BEFORE[:, 0])
    told = {} if said is None else {"trained_on": said}
    words = "nothing was said" if said is None else f"got '{said}'"
    with pytest.raises(ValueError, match=rf'trained_on="neither".*{words}.*held-out rows'):
        Frozen(model, **told)


def test_a_name_cannot_be_frozen() -> None:
    with pytest.raises(TypeError, match="needs a fitted model, got the name 'kde'"):
        Frozen("kde", trained_on="neither")


def test_as_model_takes_it_as_it_is() -> None:
    frozen = Frozen(LinearRegression().fit(BEFORE, BEFORE[:, 0]), trained_on="neither")
    assert as_model(frozen) is frozen
    assert frozen.held_out
    assert frozen.task == "regression"


@pytest.mark.parametrize(
    "names",
    [("no", "yes"), (0, 1), (7, -7), (False, True), ("b", "a")],
    ids=str,
)
def test_a_classifier_with_any_labels(names: Any) -> None:
    y = labels(X, names)
    fitted = LogisticRegression().fit(BEFORE, labels(BEFORE, names))
    place = [fitted.classes_.tolist().index(label) for label in y.tolist()]
    losses = -fitted.predict_log_proba(X)[np.arange(40), place]
    assert gap(fitted, y) == pytest.approx(expected_gap(losses))


def test_a_regressor_a_reconstruction_and_a_density() -> None:
    fitted = LinearRegression().fit(BEFORE, BEFORE[:, 0] ** 2)
    y = X[:, 1]
    assert gap(fitted, y) == pytest.approx(expected_gap(np.square(fitted.predict(X) - y)))
    pca = PCA(1).fit(BEFORE)
    back = np.square(pca.inverse_transform(pca.transform(X)) - X).sum(axis=1)
    assert gap(pca, None) == pytest.approx(expected_gap(back))
    density = SkDensity().fit(BEFORE)
    assert gap(density, None) == pytest.approx(expected_gap(-density.score_samples(X)))


def test_a_fitted_model_of_rdiv() -> None:
    fitted = KernelDensity().fit(Pool(BEFORE), RNG)
    assert gap(fitted, None) == pytest.approx(expected_gap(fitted.losses(Pool(X))))


def test_a_frozen_estimator_inside() -> None:
    fitted = LogisticRegression().fit(BEFORE, labels(BEFORE))
    assert gap(FrozenEstimator(fitted), labels(X)) == gap(fitted, labels(X))


def test_a_class_that_the_model_never_saw_costs_the_floor() -> None:
    y = labels(X).astype("<U7")
    y[3] = "unknown"
    fitted = LogisticRegression().fit(BEFORE, labels(BEFORE))
    p, q = pair(y)
    frozen = Frozen(fitted, trained_on="neither")
    found = rdiv.two_sample_test(p, q, model=frozen, n_resamples=19, rng=0)
    known = -fitted.predict_log_proba(X)[np.arange(40), (labels(X) == "yes").astype(int)]
    known[3] = -np.log(1e-12)
    assert found.risk_p == pytest.approx(known[:15].mean())


def test_a_class_that_the_pool_does_not_have() -> None:
    three = np.where(BEFORE[:, 1] > 1, "maybe", labels(BEFORE))
    fitted = LogisticRegression().fit(BEFORE, three)
    y = labels(X)
    place = [fitted.classes_.tolist().index(label) for label in y]
    losses = -fitted.predict_log_proba(X)[np.arange(40), place]
    assert gap(fitted, y) == pytest.approx(expected_gap(losses))


def test_no_common_class_is_an_error() -> None:
    fitted = LogisticRegression().fit(BEFORE, labels(BEFORE, (0, 1)))
    words = r"knows the classes \[0, 1\], but the target has \['no', 'yes'\]; check the target"
    with pytest.raises(ValueError, match=words):
        gap(fitted, labels(X))


def test_the_frozen_kind_wins_and_conflicts_are_errors() -> None:
    classifier = Frozen(LogisticRegression().fit(BEFORE, labels(BEFORE)), trained_on="neither")
    p, q = pair(labels(X))
    with pytest.raises(ValueError, match="does classification, got task='regression'"):
        rdiv.two_sample_test(p, q, model=classifier, task="regression", rng=0)
    regressor = Frozen(LinearRegression().fit(BEFORE, BEFORE[:, 0]), trained_on="neither")
    with pytest.raises(ValueError, match="regression needs a target of numbers"):
        rdiv.two_sample_test(p, q, model=regressor, rng=0)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_a_pipeline_gets_the_frame_itself(make: Any) -> None:
    def table(x: np.ndarray) -> Any:
        return make({"size": x[:, 0], "kind": np.where(x[:, 1] > 0, "a", "b"), "y": labels(x)})

    chosen = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="drop")
    pipeline = make_pipeline(chosen, LogisticRegression())
    fitted = pipeline.fit(table(BEFORE)[["size", "kind"]], labels(BEFORE))
    p, q = table(X[:15]), table(X[15:])
    for model in (Frozen(fitted, trained_on="neither"), pipeline):
        result = rdiv.two_sample_test(p, q, model=model, target="y", n_resamples=19, rng=0)
        assert np.isfinite(result.statistic)
    probabilities = fitted.predict_proba(table(X)[["size", "kind"]])
    losses = -np.log(probabilities[np.arange(40), (labels(X) == "yes").astype(int)])
    frozen = Frozen(fitted, trained_on="neither")
    found = rdiv.r_divergence(p, q, model=frozen, target="y", rng=0)
    assert found == pytest.approx(expected_gap(losses))


def test_it_is_not_refitted() -> None:
    class Once(LinearRegression):
        def fit(self, x: Any, y: Any) -> Any:
            assert not hasattr(self, "coef_"), "fitted again"
            return super().fit(x, y)

    assert gap(Once().fit(BEFORE, BEFORE[:, 0]), X[:, 0]) >= 0


def test_its_text_is_one_line_without_its_data() -> None:
    frozen = Frozen(LinearRegression().fit(BEFORE, BEFORE[:, 0]), trained_on="neither")
    assert repr(frozen) == "Frozen(LinearRegression())"
    p, q = pair(X[:, 0])
    assert rdiv.two_sample_test(p, q, model=frozen, n_resamples=19, rng=0).model == repr(frozen)
    density = Frozen(KernelDensity().fit(Pool(BEFORE), RNG), trained_on="neither")
    text = rdiv.two_sample_test(X[:15], X[15:], model=density, n_resamples=19, rng=0).model
    assert "\n" not in text
    assert "array" not in text  # a result never holds rows of the data
    assert len(text) < 200


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises((ValueError, TypeError), match=r"(?i)fitted"):
        gap(LogisticRegression(), labels(X))
