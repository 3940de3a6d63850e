"""R-divergence is Algorithm 1 of the paper, whatever the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

import rdiv
from rdiv.discrepancies import RDivergence
from rdiv.models import BY_NAME, CrossFit, Mlp, Vae, as_model
from rdiv.samples import Pool, pool_samples

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2)) * [1.0, 30.0]
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=50)
CLASSES = np.where(NUMBERS > 0, "high", "low")
N_P = 21
IMAGES = ("alexnet", "resnet18", "senet", "convnext", "vit")  # their contract tests see images
TABULAR = [name for name in BY_NAME if name not in IMAGES]
QUICK = {"vae": Vae((8,), 2, epochs=3), "mlp": Mlp((8,), epochs=3)}


def pair(y: np.ndarray) -> tuple[Any, Any]:
    return (X[:N_P], y[:N_P]), (X[N_P:], y[N_P:])


def algorithm_1(losses: np.ndarray) -> float:
    """Mean loss over p, mean loss over q, absolute difference: rows in the order of the files."""
    return abs(sum(losses[:N_P].tolist()) / N_P - sum(losses[N_P:].tolist()) / (len(losses) - N_P))


def test_least_squares_by_hand() -> None:
    p, q = pair(NUMBERS)
    fitted = LinearRegression().fit(X, NUMBERS)
    expected = algorithm_1(np.square(fitted.predict(X) - NUMBERS))
    assert rdiv.r_divergence(p, q, model=LinearRegression(), rng=0) == pytest.approx(expected)


def test_logistic_regression_by_hand() -> None:
    p, q = pair(CLASSES)
    scaled = StandardScaler().fit_transform(X)
    fitted = LogisticRegression(max_iter=1000).fit(scaled, CLASSES)
    right = fitted.predict_proba(scaled)[np.arange(50), (CLASSES == "low").astype(int)]
    assert rdiv.r_divergence(p, q, model="logistic", rng=0) == pytest.approx(
        algorithm_1(-np.log(right)), rel=1e-4
    )


def test_one_gaussian_by_hand() -> None:
    scaled = StandardScaler().fit_transform(X)
    density = multivariate_normal(
        scaled.mean(axis=0), np.cov(scaled.T, bias=True) + 1e-6 * np.eye(2)
    )
    found = rdiv.r_divergence(X[:N_P], X[N_P:], model=rdiv.models.GaussianMixture(1), rng=0)
    assert found == pytest.approx(algorithm_1(-density.logpdf(scaled)), rel=1e-6)


@pytest.mark.parametrize("folds", [None, 5])
@pytest.mark.parametrize("name", TABULAR)
def test_any_model_naively_on_the_same_fit(name: str, folds: int | None) -> None:
    task = getattr(BY_NAME[name], "task", None)
    y = {"regression": NUMBERS, "density": None}.get(task, CLASSES)
    p, q = (X[:N_P], X[N_P:]) if y is None else pair(y)
    given = QUICK.get(name, BY_NAME[name]())
    model = given if folds is None else CrossFit(given, folds)
    pooled = pool_samples(p, q, rng=4, kind=task)
    losses = model.fit(pooled.pool, pooled.stream("fit")).losses(pooled.pool)
    total = {True: 0.0, False: 0.0}
    for loss, from_p in zip(losses, pooled.is_p, strict=True):
        total[bool(from_p)] += loss
    expected = abs(total[True] / N_P - total[False] / (50 - N_P))
    assert rdiv.r_divergence(p, q, model=given, folds=folds, rng=4) == pytest.approx(expected)
    result = rdiv.two_sample_test(
        p, q, model=QUICK.get(name, name), folds=folds, n_resamples=19, rng=4
    )
    assert result.statistic == pytest.approx(expected)
    assert abs(result.risk_p - result.risk_q) == pytest.approx(expected)
    assert result.risk_p == pytest.approx(total[True] / N_P)


@pytest.mark.parametrize("folds", [None, 5])
@pytest.mark.parametrize("name", TABULAR)
def test_identical_files_have_gap_0_and_p_1(name: str, folds: int | None) -> None:
    task = getattr(BY_NAME[name], "task", None)
    y = {"regression": NUMBERS, "density": None}.get(task, CLASSES)
    order = np.random.default_rng(1).permutation(50)
    p, q = (X, X[order]) if y is None else ((X, y), (X[order], y[order]))
    for studentize in (True, False):
        given = QUICK.get(name, BY_NAME[name]())
        model = given if folds is None else CrossFit(given, folds)
        test = RDivergence(model, studentize)
        result = rdiv.two_sample_test(p, q, test, n_resamples=19, rng=2)
        assert (result.statistic, result.ranked, result.pvalue) == (0.0, 0.0, 1.0)
        assert result.risk_p == result.risk_q


def test_identical_files_with_a_model_that_is_not_deterministic_by_row() -> None:
    """Losses that depend on a row's place are those of its first copy."""

    class Noisy:
        def fit(self, pool: Pool, rng: np.random.Generator) -> Noisy:
            self.rng = rng
            return self

        def losses(self, pool: Pool) -> np.ndarray:
            return self.rng.normal(size=len(pool))

    result = rdiv.two_sample_test(X, X, model=Noisy(), n_resamples=19, rng=0)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_one_fit_serves_several_discrepancies() -> None:
    pool = Pool(X)
    fitted = BY_NAME["gmm"](2).fit(pool, np.random.default_rng(0))
    mask = np.arange(50) < N_P
    plain = RDivergence(BY_NAME["gmm"](2), studentize=False).from_fit(fitted, pool)
    ratio = RDivergence(BY_NAME["gmm"](2)).from_fit(fitted, pool)
    assert plain.losses.tobytes() == ratio.losses.tobytes()
    assert plain.statistic(mask[None])[0] == pytest.approx(algorithm_1(fitted.losses(pool)))
    assert ratio.statistic(mask[None])[0] != pytest.approx(plain.statistic(mask[None])[0])


def test_the_fit_happens_once() -> None:
    fits = []

    class Counting(HistGradientBoostingClassifier):
        def fit(self, x: Any, y: Any) -> Any:
            fits.append(len(x))
            return super().fit(x, y)

    p, q = pair(CLASSES)
    rdiv.two_sample_test(p, q, model=Counting(max_iter=2), n_resamples=99, rng=0)
    assert fits == [50]


@pytest.mark.parametrize(
    ("losses", "words"),
    [(np.full(50, np.nan), "finite losses, got 50"), (np.zeros(49), "one loss per row")],
)
def test_a_model_with_bad_losses_is_refused(losses: np.ndarray, words: str) -> None:
    class Bad:
        def fit(self, pool: Pool, rng: np.random.Generator) -> Bad:
            return self

        def losses(self, pool: Pool) -> np.ndarray:
            return losses

    with pytest.raises(ValueError, match=words):
        rdiv.two_sample_test(X[:N_P], X[N_P:], model=Bad(), n_resamples=19, rng=0)


def test_settings_are_in_the_text() -> None:
    test = RDivergence(as_model("kde"), studentize=False)
    result = rdiv.two_sample_test(X[:N_P], X[N_P:], test, n_resamples=19, rng=0)
    assert result.discrepancy == "r-div(studentize=False)"
    assert result.model == "kde"
