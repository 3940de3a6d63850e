"""Frozen objects that only predict: what they give decides the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture as SkMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import rdiv
from rdiv.errors import InputError, InputTypeError
from rdiv.models import Frozen, KernelDensity, LoggedLosses, LoggedPredictions, same_model
from rdiv.models.adapters import Estimator
from rdiv.samples import Pool

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
CODES = (X[:, 1] > 0).astype(int)
SURE = 1 / (1 + np.exp(-X[:, 0]))
LOG_LOSSES = -np.log(np.where(CODES, SURE, 1 - SURE))


class Says:
    """A plain class that gives prepared predictions, row by row of X."""

    def __init__(self, given: Any, classes: Any = None, method: str = "predict") -> None:
        self.given = np.asarray(given)
        setattr(self, method, self._answer)
        if classes is not None:
            self.classes_ = np.array(classes)

    def _answer(self, x: np.ndarray) -> np.ndarray:
        return self.given[[int(np.flatnonzero((row == X).all(axis=1))[0]) for row in x]]


def frozen(*args: Any, **named: Any) -> Frozen:
    return Frozen(Says(*args, **named), trained_on="neither")


def probable(given: Any, classes: Any = None) -> Frozen:
    return frozen(given, classes, method="predict_proba")


def classified(classes: Any = ("no", "yes"), codes: np.ndarray = CODES) -> Pool:
    return Pool(X, y=codes, classes=np.array(classes), task="classification")


def losses(model: Frozen, pool: Pool) -> np.ndarray:
    fitted = model.fit(pool, RNG)
    one_by_one = [fitted.losses(pool.take(np.array([row])))[0] for row in range(0, len(pool), 7)]
    assert fitted.losses(pool)[::7] == pytest.approx(one_by_one)
    return fitted.losses(pool)


def two(p: np.ndarray) -> np.ndarray:
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize(
    "model",
    [
        probable(two(SURE)),
        probable(two(SURE), ["no", "yes"]),
        probable(two(SURE)[:, ::-1], ["yes", "no"]),
        probable(SURE),
        probable(SURE[:, None]),
        frozen(SURE),
        frozen(two(SURE)),
    ],
    ids=["proba", "classes", "reversed", "one", "column", "predict one", "predict two"],
)
def test_probabilities_in_any_form(model: Frozen) -> None:
    pool = classified()
    assert losses(model, pool) == pytest.approx(LOG_LOSSES)
    assert model.loss_name(pool) == "log loss"
    assert (model.given, model.held_out) == (True, True)
    fitted = model.fit(pool, RNG)
    assert fitted.probabilities(pool) == pytest.approx(two(SURE))
    assert fitted.gradients(pool)[:, 0] == pytest.approx(SURE - CODES)
    assert fitted.gradient_owners(pool) == (None, "column 0", "column 1")


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (3, 8), (False, True)], ids=str)
def test_predicted_classes(classes: tuple[Any, Any]) -> None:
    said = np.array(classes)[(X[:, 0] > 0).astype(int)]
    model, pool = frozen(said), classified(classes)
    assert losses(model, pool).tolist() == ((X[:, 0] > 0) != CODES).tolist()
    assert (model.loss_name(pool), model.task) == ("0/1 loss", None)


def test_classes_that_come_as_floats() -> None:
    assert losses(frozen(1.0 - CODES), classified((0, 1))).tolist() == [1.0] * 30


def test_a_predicted_class_that_the_target_lacks_is_wrong() -> None:
    said = np.array(["no", "yes"])[CODES].astype("<U7")
    said[3] = "unknown"
    assert np.flatnonzero(losses(frozen(said), classified())).tolist() == [3]


def test_values() -> None:
    pool = Pool(X, y=X[:, 1], task="regression")
    model = frozen(X[:, :1])
    assert losses(model, pool) == pytest.approx(np.square(X[:, 0] - X[:, 1]))
    assert model.loss_name(pool) == "squared error"
    assert model.fit(pool, RNG).gradients(pool)[:, 0] == pytest.approx(2 * (X[:, 0] - X[:, 1]))


def test_through_the_front_door() -> None:
    names = np.array(["no", "yes"])[CODES]
    found = rdiv.two_sample_test(
        (X[:15], names[:15]), (X[15:], names[15:]), model=frozen(names[::1]), n_resamples=19, rng=0
    )
    assert (found.risk_p, found.model) == (0.0, "Frozen(Says)")


def test_a_classifier_of_scikit_learn_without_probabilities() -> None:
    fitted = LinearSVC().fit(X, CODES)
    model, pool = Frozen(fitted, trained_on="neither"), classified((0, 1))
    assert losses(model, pool).tolist() == (fitted.predict(X) != CODES).tolist()
    assert (model.loss_name(pool), model.task) == ("0/1 loss", "classification")


def test_a_mixture_of_scikit_learn_stays_a_density() -> None:
    fitted = SkMixture(2, random_state=0).fit(X)
    assert losses(Frozen(fitted, trained_on="neither"), Pool(X)) == pytest.approx(
        -fitted.score_samples(X)
    )


@pytest.mark.parametrize(
    ("model", "pool", "words"),
    [
        (probable(two(SURE)), classified(("a", "b", "c")), "2 probabilities .* 3 classes"),
        (probable(np.c_[two(SURE), SURE]), classified(), "3 probabilities .* 2 classes"),
        (probable(two(SURE), ["a"]), classified(), "2 probabilities .* it knows 1 classes"),
        (probable(two(SURE), [0, 1]), classified(), r"knows the classes \[0, 1\], but the target"),
        (probable(two(3 * SURE)), classified(), "between 0 and 1, got .* such rows of 30"),
        (probable(two(np.nan * SURE)), classified(), r"between 0 and 1, got nan \(30 such rows"),
        (probable(0.4 * two(SURE)), classified(), r"add up to 1 in every row, got 0\.4 \(30"),
        (frozen(X[:, 0]), classified(), "predicts values such as .* the classes 'no', 'yes'"),
        (frozen(SURE), classified(("a", "b", "c")), "predicts values such as"),
        (frozen(CODES), classified(), "predicts values such as .* the classes 'no', 'yes'"),
        (frozen(CODES), Pool(X), "predicts a target, got samples without one"),
        (frozen(np.repeat("a", 30)), Pool(X, y=SURE, task="regression"), "must predict numbers"),
        (frozen(two(SURE)), Pool(X, y=SURE, task="regression"), r"one number per row, got shape"),
    ],
)
def test_predictions_that_do_not_fit_are_one_sentence(
    model: Frozen, pool: Pool, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        model.fit(pool, RNG).losses(pool)


def test_the_wrong_task_is_one_sentence() -> None:
    regressor = Frozen(LinearRegression().fit(X, SURE), trained_on="neither")
    with pytest.raises(InputError, match="LinearRegression does regression, and the target is one"):
        regressor.fit(classified(), RNG)
    with pytest.raises(InputError, match="Says does classification, and the target is one of regr"):
        probable(SURE).fit(Pool(X, y=SURE, task="regression"), RNG)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (lambda x: x[:, 0], "got the function <lambda>; give an object whose predict"),
        (np.mean, "got the function mean"),
        (7, "got int, which has no such method"),
        (None, "got NoneType"),
        (KMeans(2, n_init=1).fit(X), "got KMeans, which clusters"),
        (LinearRegression, "got the class LinearRegression"),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_no_model_is_refused_at_once(thing: Any, words: str) -> None:
    with pytest.raises(InputTypeError, match=words):
        Frozen(thing, trained_on="neither")


def test_a_model_cannot_end_the_program() -> None:
    class Leaves:
        def predict(self, x: Any) -> Any:
            raise SystemExit(4)

    with pytest.raises(InputError, match=r"predict of Leaves ended the program \(SystemExit: 4\)"):
        Frozen(Leaves(), trained_on="neither").fit(classified(), RNG)


def test_a_bare_predictor_is_told_how_to_go_on() -> None:
    with pytest.raises(TypeError, match=r"got Says; wrap a fitted model in rdiv\.models\.Frozen"):
        rdiv.two_sample_test((X[:15], CODES[:15]), (X[15:], CODES[15:]), model=Says(CODES), rng=0)


def test_the_same_model_before_its_fit() -> None:
    pipeline = make_pipeline(StandardScaler(), Ridge(alpha=3.0)).fit(X, SURE)
    again = same_model(Frozen(pipeline, trained_on="neither"))
    assert isinstance(again, Estimator)
    assert again.estimator is not pipeline
    assert again.estimator[-1].alpha == 3.0
    assert not hasattr(again.estimator[-1], "coef_")
    inside = FrozenEstimator(LogisticRegression().fit(X, CODES))
    assert str(same_model(Frozen(inside, trained_on="neither"))) == "LogisticRegression()"


@pytest.mark.parametrize(
    "given",
    [
        frozen(CODES),
        Frozen(KernelDensity().fit(Pool(X), RNG), trained_on="neither"),
        Frozen(LinearSVC().fit(X, CODES), trained_on="neither"),
        LoggedLosses("loss"),
        LoggedPredictions("said"),
        KernelDensity(),
    ],
    ids=str,
)
def test_where_only_the_result_of_the_training_is_known(given: Any) -> None:
    assert same_model(given) is None


def test_a_module_is_not_trained_again() -> None:
    torch = pytest.importorskip("torch")
    assert same_model(Frozen(torch.nn.Linear(2, 2), trained_on="neither")) is None


def test_a_booster_of_another_library() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, CODES), num_boost_round=5)
    model, pool = Frozen(booster, trained_on="neither"), classified()
    sure = booster.predict(X)
    assert losses(model, pool) == pytest.approx(-np.log(np.where(CODES, sure, 1 - sure)))
    assert (str(model), model.loss_name(pool)) == ("Frozen(Booster)", "log loss")
