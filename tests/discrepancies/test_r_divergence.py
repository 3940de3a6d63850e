"""R-divergence is Algorithm 1 of the paper, whatever the model."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

import rdiv
from rdiv.discrepancies import RDivergence
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap
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


class TestDistances:
    def test_signed_is_one_sided(self) -> None:
        p, q = pair(NUMBERS)
        louder = (q[0], q[1] + RNG.normal(size=len(q[1])))
        test = RDivergence("ridge", distance="signed")
        assert (test.directed, RDivergence("ridge").directed) == (True, False)
        worse = rdiv.two_sample_test(p, louder, test, n_resamples=99, rng=0)
        better = rdiv.two_sample_test(louder, p, test, n_resamples=99, rng=0)
        assert worse.statistic == pytest.approx(worse.risk_q - worse.risk_p)
        assert worse.statistic == pytest.approx(-better.statistic)
        assert (worse.pvalue, better.pvalue) == (0.01, 1.0)

    @pytest.mark.parametrize("studentize", [True, False])
    def test_signed_numbers_of_a_split_and_its_complement_are_opposite(
        self, studentize: bool
    ) -> None:
        test = RDivergence("ridge", studentize, distance="signed")
        prepared = test.prepare(Pool(X, y=NUMBERS, task="regression"), np.random.default_rng(0))
        masks = np.random.default_rng(1).random((9, 50)) < 0.4
        np.testing.assert_allclose(prepared.statistic(masks), -prepared.statistic(~masks))

    def test_signed_p_values_by_enumeration(self) -> None:
        """Every split of six losses, one by one."""
        losses = np.array([0.1, 0.7, 0.4, 1.9, 1.1, 0.2])
        prepared = mean_gap(losses, studentize=False, signed=True)
        masks = np.array([[j in chosen for j in range(6)] for chosen in combinations(range(6), 2)])
        slow = [losses[~mask].mean() - losses[mask].mean() for mask in masks]
        np.testing.assert_allclose(prepared.statistic(masks), slow, rtol=1e-12)

    def test_relative_is_the_gap_over_the_pooled_risk(self) -> None:
        p, q = pair(NUMBERS)
        plain, relative = (
            rdiv.two_sample_test(p, q, RDivergence("ridge", distance=d), n_resamples=99, rng=0)
            for d in ("absolute", "relative")
        )
        pooled = (N_P * plain.risk_p + (50 - N_P) * plain.risk_q) / 50
        assert relative.statistic == pytest.approx(plain.statistic / pooled)
        assert relative.pvalue == plain.pvalue
        assert relative.discrepancy == "r-div(distance='relative')"

    def test_relative_refuses_negative_losses(self) -> None:
        test = RDivergence("kde", distance="relative")
        with pytest.raises(ValueError, match=r"needs losses of at least 0, got \d+ negative"):
            rdiv.two_sample_test(X[:N_P] / 1e3, X[N_P:] / 1e3, test, n_resamples=19, rng=0)

    def test_unknown_words_are_refused(self) -> None:
        with pytest.raises(ValueError, match="distance must be"):
            RDivergence("ridge", distance="squared")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="mixture must be"):
            RDivergence("ridge", mixture="half")  # type: ignore[arg-type]


class TestBalancedMixture:
    def test_it_fits_as_many_rows_of_each_sample_and_tests_the_others(self) -> None:
        seen: list[np.ndarray] = []

        class Recording:
            def fit(self, pool: Pool, rng: np.random.Generator) -> Recording:
                seen.append(pool.numbers())
                return self

            def losses(self, pool: Pool) -> np.ndarray:
                return pool.numbers()[:, 0] ** 2

        p, q = RNG.normal(size=(200, 1)), 100 + RNG.normal(size=(20, 1))
        test = RDivergence(Recording(), mixture="balanced")
        result = rdiv.two_sample_test(p, q, test, n_resamples=99, rng=0)
        assert [int((seen[0] < 50).sum()), int((seen[0] > 50).sum())] == [10, 10]
        assert len(seen) == 1
        assert result.notes["rows tested"] == 110
        assert result.rejected

    def test_held_out_rows_can_change_samples_without_any_number_changing(self) -> None:
        x = RNG.normal(size=(60, 2))
        pool, is_p = Pool(x), np.arange(60) < 45
        learned = RDivergence("gmm", mixture="balanced").learn(pool, is_p, np.random.default_rng(0))
        rest = Pool(RNG.normal(size=(30, 2)))
        first, again = (learned.prepare(rest, np.random.default_rng(k)) for k in (1, 2))
        assert first.losses.tobytes() == again.losses.tobytes()

    def test_folds_are_refused(self) -> None:
        with pytest.raises(ValueError, match="neither folds"):
            RDivergence(CrossFit(as_model("gmm"), 3), mixture="balanced")

    @pytest.mark.slow
    def test_its_level_holds_and_that_of_a_balanced_fit_to_all_rows_does_not(self) -> None:
        """Unequal samples of one distribution, 10 + 50 rows, 2000 draws each."""
        draws, alarms = 2000, {"halves": 0, "all rows": 0}
        for draw in range(draws):
            x = np.random.default_rng([3, draw]).normal(size=(60, 4))
            p, q = x[:10], x[10:]
            test = RDivergence("gmm", mixture="balanced")
            result = rdiv.two_sample_test(p, q, test, n_resamples=39, rng=draw)
            alarms["halves"] += result.rejected
            pooled = pool_samples(p, q, rng=draw)
            learned = test.learn(pooled.pool, pooled.is_p, pooled.stream("learn"))
            null = permute(
                learned.prepare(pooled.pool, pooled.stream("fit")), pooled.is_p,
                PermutationSettings(n_resamples=39), rng=pooled.stream("masks"),
            )  # fmt: skip
            alarms["all rows"] += null.pvalue <= 0.05
        bound = binom.ppf(0.999, draws, 0.05)
        assert alarms["halves"] <= bound < alarms["all rows"]
