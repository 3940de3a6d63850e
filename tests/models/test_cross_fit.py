"""Cross-fitting: folds blind to the samples, copies and groups whole, any number of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import rdiv
from rdiv.discrepancies import RDivergence
from rdiv.models import (
    BY_NAME,
    Boosting,
    CrossFit,
    Frozen,
    GaussianMixture,
    PrincipalComponents,
    Ridge,
)
from rdiv.models.cross_fit import fold_draws, fold_of_rows
from rdiv.samples import Pool, pool_samples

pytestmark = pytest.mark.trains

X = np.random.default_rng(0).normal(size=(40, 3))


def folds_of(pool: Pool, folds: int = 5, seed: int = 0) -> np.ndarray:
    return fold_of_rows(pool, folds, np.random.default_rng(seed))


@dataclass(frozen=True)
class Remember:
    """Counts how often each row it judges was among the rows it was fitted on."""

    seen: Any = None

    def fit(self, pool: Pool, rng: np.random.Generator) -> Remember:
        return Remember(pool.numbers()[:, 0].copy())

    def losses(self, pool: Pool) -> np.ndarray:
        return np.array([(self.seen == value).sum() for value in pool.numbers()[:, 0]], dtype=float)


class TestFolds:
    def test_they_are_even(self) -> None:
        sizes = np.bincount(folds_of(Pool(X), 6))
        assert sorted(sizes) == [6, 6, 7, 7, 7, 7]

    def test_they_are_random_and_repeat_with_the_seed(self) -> None:
        assert folds_of(Pool(X)).tolist() == folds_of(Pool(X)).tolist()
        assert folds_of(Pool(X)).tolist() != folds_of(Pool(X), seed=1).tolist()

    def test_they_do_not_see_the_samples(self) -> None:
        """Rows change files; each row keeps its fold."""
        first = None
        for order in (np.arange(40), np.arange(40)[::-1], np.random.default_rng(1).permutation(40)):
            pooled = pool_samples(X[order[:15]], X[order[15:]], rng=3)
            fold = fold_of_rows(pooled.pool, 5, pooled.stream("fit"))
            found = dict(zip(pooled.pool.x[:, 0].tolist(), fold.tolist(), strict=True))
            first = first or found
            assert found == first

    def test_identical_rows_share_a_fold(self) -> None:
        pool = Pool(np.repeat(X[:8], 5, axis=0)[np.random.default_rng(2).permutation(40)])
        fold = folds_of(pool, 4)
        for row in X[:8]:
            assert len(set(fold[(pool.x == row).all(axis=1)])) == 1
        assert set(fold) == {0, 1, 2, 3}

    def test_groups_stay_whole(self) -> None:
        groups = np.random.default_rng(3).integers(0, 12, size=40)
        fold = folds_of(Pool(X, groups=groups), 4)
        assert all(len(set(fold[groups == group])) == 1 for group in set(groups))
        assert set(fold) == {0, 1, 2, 3}

    def test_classes_are_spread_evenly(self) -> None:
        y = np.array([0] * 25 + [1] * 10 + [2] * 5)
        fold = folds_of(Pool(X, y=y, task="classification", classes=np.arange(3)))
        for label, per_fold in ((0, 5), (1, 2), (2, 1)):
            assert np.bincount(fold[y == label]).tolist() == [per_fold] * 5

    def test_a_regression_target_does_not_matter(self) -> None:
        pool = Pool(X, y=X[:, 0], task="regression")
        assert np.bincount(folds_of(pool)).tolist() == [8] * 5

    def test_too_few_rows_or_groups(self) -> None:
        with pytest.raises(
            ValueError, match=r"5 folds need at least 5 distinct rows.*got 4; ask for"
        ):
            folds_of(Pool(np.repeat(X[:4], 10, axis=0)))
        with pytest.raises(ValueError, match="5 folds need at least 5 groups in the pool, got 3"):
            folds_of(Pool(X, groups=np.arange(40) % 3))
        assert set(folds_of(Pool(X[:5]))) == set(range(5))


class TestLosses:
    def test_no_row_is_judged_by_a_model_that_saw_it(self) -> None:
        pool = Pool(np.concatenate([X, X[:6]]))
        fitted = CrossFit(Remember(), 5).fit(pool, np.random.default_rng(0))
        assert fitted.losses(pool).tolist() == [0.0] * 46
        assert len(fitted.fits) == 5

    def test_they_are_those_of_five_fits_by_hand(self) -> None:
        y = X @ [1.0, 2.0, 0.0] + np.random.default_rng(4).normal(size=40)
        pool = Pool(X, y=y, task="regression")
        model = rdiv.models.as_model(LinearRegression())
        for repeats, draws in ((1, 1), (4, 4), (None, 3)):
            fitted = CrossFit(model, 5, repeats=repeats).fit(pool, np.random.default_rng(0))
            assert len(fitted.draws) == draws
            expected = np.empty((draws, 40))
            for place, draw in enumerate(fitted.draws):
                for k in range(5):
                    out = draw.fold == k
                    own = LinearRegression().fit(X[~out], y[~out])
                    expected[place, out] = np.square(own.predict(X[out]) - y[out])
            np.testing.assert_allclose(fitted.losses(pool), expected.mean(axis=0), rtol=1e-9)

    def test_other_rows_get_the_mean_over_the_fits(self) -> None:
        pool, other = Pool(X[:30]), Pool(X[30:])
        fitted = CrossFit(PrincipalComponents(1), 5).fit(pool, np.random.default_rng(0))
        fits = [fit for draw in fitted.draws for fit in draw.fits]
        assert len(fits) == 15
        for rows in (other, pool.take(np.arange(30)[::-1])):
            mean = np.mean([fit.losses(rows) for fit in fits], axis=0)
            np.testing.assert_allclose(fitted.losses(rows), mean, rtol=1e-12)

    def test_they_are_valid_where_in_sample_ones_are_not(self) -> None:
        rng = np.random.default_rng(5)
        pool = Pool(rng.normal(size=(150, 3)), y=rng.normal(size=150), task="regression")
        inside = Boosting().fit(pool, rng).losses(pool).mean()
        outside = CrossFit(Boosting(), 5).fit(pool, rng).losses(pool).mean()
        assert inside < 0.7 * pool.y.var()  # noise, learned by heart
        assert outside > 0.95 * pool.y.var()

    @pytest.mark.parametrize("name", ["gmm", "kde", "boosting"])
    def test_jobs_change_no_bit(self, name: str) -> None:
        y = (X[:, 0] > 0).astype(int)
        pool = Pool(X)
        if name == "boosting":
            pool = Pool(X, y=y, task="classification", classes=np.arange(2))
        serial, parallel = (
            CrossFit(BY_NAME[name](), 5, n_jobs).fit(pool, np.random.default_rng(6)).losses(pool)
            for n_jobs in (None, 2)
        )
        assert serial.tobytes() == parallel.tobytes()

    def test_jobs_change_no_byte_of_a_result(self) -> None:
        one, two = (
            rdiv.two_sample_test(
                X[:20], X[20:], model="gmm", folds=4, n_resamples=19, rng=0, n_jobs=j
            )
            for j in (1, 2)
        )
        assert one.to_json() == two.to_json()


class TestSettings:
    @pytest.mark.parametrize("folds", [1, 0, -3, True, 2.0, "5", None])
    def test_folds_are_a_whole_number(self, folds: Any) -> None:
        with pytest.raises(ValueError, match="folds must be a whole number of at least 2, got"):
            CrossFit(Ridge(), folds)

    @pytest.mark.parametrize("folds", [0, 1])
    @pytest.mark.parametrize("model", [None, "ridge"])
    def test_too_few_folds_are_refused_by_a_test(self, folds: int, model: str | None) -> None:
        p, q = (X[:20], X[:20, 0]), (X[20:], X[20:, 0])
        with pytest.raises(ValueError, match="folds must be a whole number of at least 2, got"):
            rdiv.two_sample_test(p, q, model=model, folds=folds, rng=0)

    def test_held_out_models_are_never_wrapped(self) -> None:
        frozen = Frozen(LinearRegression().fit(X, X[:, 0]), trained_on="neither")
        for model in (frozen, CrossFit(Ridge(), 3)):
            with pytest.raises(ValueError, match="needs no folds; pass it as it is"):
                CrossFit(model, 5)
            result = rdiv.two_sample_test(
                (X[:20], X[:20, 0]),
                (X[20:], X[20:, 0]),
                model=model,
                folds=5,
                n_resamples=19,
                rng=0,
            )
            assert "folds do not apply to" in result.notes["folds"]
            assert "5" not in result.model

    def test_it_passes_the_task_on_and_has_a_text(self) -> None:
        assert CrossFit(Ridge(), 3).task == "regression"
        assert CrossFit(Boosting(), 3).task is None
        assert str(CrossFit(Ridge(penalty=2.0), 3)) == "ridge(penalty=2.0), 3 folds"
        assert CrossFit(Ridge(), 3).held_out
        assert CrossFit(Ridge(), 3, n_jobs=2) == CrossFit(Ridge(), 3)

    def test_folds_of_a_class_that_a_fold_never_saw(self) -> None:
        y = np.array([0] * 20 + [1] * 19 + [2])
        pool = Pool(X, y=y, task="classification", classes=np.array(["a", "b", "c"]))
        for model in (BY_NAME["logistic"](), Boosting(iterations=5)):
            losses = CrossFit(model, 5).fit(pool, np.random.default_rng(0)).losses(pool)
            assert losses[-1] == pytest.approx(-np.log(1e-12))
            assert np.isfinite(losses).all()

    def test_a_fold_that_saw_one_class_only(self) -> None:
        y = np.array([1] + [0] * 39)
        pool = Pool(X, y=y, task="classification", classes=np.array(["a", "b"]))
        losses = CrossFit(BY_NAME["logistic"](), 5).fit(pool, np.random.default_rng(0)).losses(pool)
        assert np.isfinite(losses).all()
        assert losses[0] == pytest.approx(-np.log(1e-12))

    def test_gmm_in_folds_of_few_rows(self) -> None:
        """Two rows fit a narrow bell around themselves; the two left out lie far outside of it."""
        pool = Pool(X[:4])
        outside = CrossFit(GaussianMixture(), 2).fit(pool, np.random.default_rng(0)).losses(pool)
        inside = GaussianMixture().fit(pool, np.random.default_rng(0)).losses(pool)
        assert np.isfinite(outside).all()
        assert outside.mean() > inside.mean() + 1


class TestDrawsOfTheFolds:
    def test_how_many_depends_on_the_rows_alone(self) -> None:
        assert [fold_draws(n) for n in (10, 333, 334, 500, 501, 10_000)] == [3, 3, 2, 2, 1, 1]
        fitted = CrossFit(Ridge(), 2).fit(Pool(np.zeros((600, 1)) + np.arange(600)[:, None],
            y=np.arange(600.0), task="regression"), np.random.default_rng(0))  # fmt: skip
        assert len(fitted.draws) == 1

    @pytest.mark.parametrize("repeats", [0, -1, 2.0, True])
    def test_what_is_no_number_of_draws(self, repeats: Any) -> None:
        with pytest.raises(ValueError, match="repeats must be a whole number of at least 1"):
            CrossFit(Ridge(), 3, repeats=repeats)

    def test_the_first_draw_is_that_of_a_single_one(self) -> None:
        pool = Pool(X, y=X[:, 0] + X[:, 1] ** 2, task="regression")
        one, many = (
            CrossFit(Ridge(), 4, repeats=repeats).fit(pool, np.random.default_rng(3))
            for repeats in (1, 3)
        )
        np.testing.assert_array_equal(one.losses(pool), many.draws[0].losses(pool))
        assert not np.array_equal(many.draws[0].fold, many.draws[1].fold)
        np.testing.assert_allclose(
            many.losses(pool), np.mean([draw.losses(pool) for draw in many.draws], axis=0)
        )
        residuals = [draw.residuals(pool) for draw in many.draws]
        np.testing.assert_allclose(many.residuals(pool), np.mean(residuals, axis=0))

    def test_copies_and_groups_stay_whole_in_every_draw(self) -> None:
        pool = Pool(np.repeat(X[:12], 3, axis=0), groups=np.repeat(np.arange(6), 6))
        fitted = CrossFit(PrincipalComponents(1), 3).fit(pool, np.random.default_rng(0))
        assert len(fitted.draws) == 3
        for draw in fitted.draws:
            assert all(len(set(draw.fold[pool.groups == g])) == 1 for g in range(6))

    def test_swapping_rows_between_the_samples_changes_no_loss(self) -> None:
        rng, first = np.random.default_rng(1), None
        for _ in range(3):
            order = rng.permutation(40)
            pooled = pool_samples(X[order[:15]], X[order[15:]], rng=3)
            fitted = CrossFit(PrincipalComponents(1), 4).fit(pooled.pool, pooled.stream("fit"))
            losses = fitted.losses(pooled.pool)
            found = dict(zip(pooled.pool.x[:, 0].tolist(), losses.tolist(), strict=True))
            first = first or found
            assert found == first

    def test_p_values_depend_less_on_the_seed(self) -> None:
        """Standard deviations over seeds of a p-value, 30 + 30 rows; about .6 is expected."""
        spreads = []
        for repeats in (1, None):
            found = []
            for table in range(3):
                rng = np.random.default_rng([5, table])
                x = rng.normal(size=(60, 3))
                y = x[:, 0] + rng.normal(size=60)
                test = RDivergence(CrossFit(Ridge(), 5, repeats=repeats))
                pair = (x[:30], y[:30]), (x[30:], y[30:])
                found.append(
                    np.var(
                        [
                            rdiv.two_sample_test(*pair, test, rng=seed, n_resamples=399).pvalue
                            for seed in range(14)
                        ]
                    )
                )
            spreads.append(np.mean(found) ** 0.5)
        assert spreads[1] < 0.85 * spreads[0]

    def test_the_result_says_what_single_draws_would_have_given(self) -> None:
        x = X.copy()
        y = x[:, 0] + np.random.default_rng(2).normal(size=40)
        pair = (x[:20], y[:20]), (x[20:], y[20:])
        found = rdiv.two_sample_test(*pair, model="ridge", folds=4, n_resamples=99, rng=0)
        drawn = found.notes["fold draws"]
        assert (drawn["draws"], len(drawn["pvalues"])) == (3, 3)
        once = rdiv.two_sample_test(
            *pair, RDivergence(CrossFit(Ridge(), 4, repeats=1)), n_resamples=99, rng=0
        )
        assert drawn["pvalues"][0] == once.pvalue
        assert "fold draws" not in once.notes


@pytest.mark.parametrize("name", ["boosting", "logistic", "ridge"])
@pytest.mark.parametrize("n", [90, 600])
def test_rows_are_predicted_once_for_losses_and_residuals(
    name: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers from predictions that were made once are those of the models, bit for bit."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    y = x[:, 0] + rng.normal(size=n)
    pool = Pool(x, y=y, task="regression")
    if name != "ridge":
        codes = (y > 0).astype(int) + (y > 1)
        pool = Pool(x, y=codes, task="classification", classes=np.arange(3))
    fitted = CrossFit(BY_NAME[name](), 3).fit(pool, np.random.default_rng(1))
    assert fitted.residuals is not None
    found = fitted.losses(pool), fitted.residuals(pool)
    if name != "ridge":
        found += (fitted.probabilities(pool),)
    kind = type(fitted.fits[0])
    monkeypatch.setattr(kind, "standard_predictions", None)
    again = CrossFit(BY_NAME[name](), 3).fit(pool, np.random.default_rng(1))
    assert again.residuals is not None
    expected = again.losses(pool), again.residuals(pool)
    if name != "ridge":
        expected += (again.probabilities(pool),)
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()
    calls = []
    monkeypatch.undo()
    whole = kind.standard_predictions
    monkeypatch.setattr(
        kind, "standard_predictions", lambda fit, part: calls.append(len(part)) or whole(fit, part)
    )
    third = CrossFit(BY_NAME[name](), 3, repeats=1).fit(pool, np.random.default_rng(1))
    assert third.residuals is not None
    third.losses(pool), third.residuals(pool)
    assert sum(calls) == n
