"""The whole line: two samples in, one result out, settings that can only mislead refused."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import rdiv
from rdiv.discrepancies import BY_NAME, Energy, Prepared, RDivergence
from rdiv.discrepancies.resolve import choose, default_density
from rdiv.inference.engine import permutation_pvalue
from rdiv.models import (
    Boosting,
    CrossFit,
    GaussianMixture,
    KernelDensity,
    MixedDensity,
    PrincipalComponents,
)
from rdiv.samples import Pool
from rdiv.two_sample import _learned, check_level, halves_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "yes", "no")


def run(*discrepancy: Any, p: Any = X[:25], q: Any = X[25:], **how: Any) -> rdiv.TwoSampleResult:
    return rdiv.two_sample_test(p, q, *discrepancy, **({"n_resamples": 19, "rng": 0} | how))


def labelled(*discrepancy: Any, **how: Any) -> rdiv.TwoSampleResult:
    return run(*discrepancy, p=(X[:25], Y[:25]), q=(X[25:], Y[25:]), **how)


class TestTheResult:
    def test_it_says_what_was_done(self) -> None:
        result = labelled(model="logistic", n_resamples=39, alpha=0.1, rng=5)
        assert (result.n_p, result.n_q, result.n_resamples) == (25, 35, 39)
        assert (result.alpha, result.seed) == (0.1, 5)
        assert (result.discrepancy, result.model) == ("r-div", "logistic")
        assert result.null_distribution.shape == (39,)
        assert result.pvalue == permutation_pvalue(result.ranked, result.null_distribution)
        assert result.statistic == pytest.approx(abs(result.risk_p - result.risk_q))
        assert result.rejected == (result.pvalue <= 0.1)
        assert result.notes["task"] == "classification"

    def test_a_shift_is_found_and_none_is_not(self) -> None:
        moved = X[25:] * 4
        learn = {"l-div", "me", "scf", "c2st-s", "c2st-l", "mmd-d"}
        for discrepancy in BY_NAME.keys() - learn:  # tests/cli/test_test.py has those, too
            assert run(discrepancy, q=moved, n_resamples=99).pvalue == 0.01
        assert run(n_resamples=99, p=X, q=X).pvalue == 1.0

    @pytest.mark.parametrize("target", [None, "y", "n"])
    @pytest.mark.parametrize("folds", [None, 4])
    @pytest.mark.parametrize("library", ["polars", "pandas"])
    def test_identical_frames(self, target: str | None, folds: int | None, library: str) -> None:
        numbers = [None if i % 5 == 1 else i / 3 for i in range(30)]
        text = [None if i % 7 == 2 else "abc"[i % 3] for i in range(30)]
        columns = {"a": numbers, "t": text, "y": Y[:30].tolist(), "n": X[:30, 0].tolist()}
        frame = pl.DataFrame(columns)
        other = frame.sample(fraction=1, shuffle=True, seed=1).select("n", "y", "t", "a")
        p, q = (frame, other) if library == "polars" else (frame.to_pandas(), other.to_pandas())
        result = run(p=p, q=q, target=target, folds=folds)
        assert (result.statistic, result.ranked, result.pvalue) == (0.0, 0.0, 1.0)

    def test_either_order_gives_one_pvalue(self) -> None:
        for how in ({"model": "kde"}, {"model": "gmm", "folds": 3}):
            one, two = run(**how), run(p=X[25:], q=X[:25], **how)
            assert one.statistic == pytest.approx(two.statistic)
            assert one.ranked == pytest.approx(two.ranked)
            assert (one.risk_p, one.risk_q) == (two.risk_q, two.risk_p)

    def test_more_resamples_change_neither_fit_nor_statistic(self) -> None:
        few, many = run(model="gmm"), run(model="gmm", n_resamples=599)
        assert few.statistic == many.statistic
        assert few.ranked == many.ranked

    def test_r_divergence_is_its_statistic(self) -> None:
        for how in ({"model": "kde"}, {"model": "gmm", "folds": 3}, {}):
            found = rdiv.r_divergence(X[:25], X[25:], rng=0, **how)
            assert type(found) is float
            assert found == run(**how).statistic
        frame = pl.DataFrame({"x": X[:, 0], "y": Y})
        found = rdiv.r_divergence(frame[:25], frame[25:], target="y", model="logistic", rng=0)
        assert found > 0

    def test_the_signatures_are_the_contract(self) -> None:
        def names(function: Any) -> list[str]:
            return list(inspect.signature(function).parameters)

        assert names(rdiv.two_sample_test) == (
            [
                "p",
                "q",
                "discrepancy",
                "model",
                "target",
                "task",
                "folds",
                "groups",
                "strata",
                "alpha",
                "n_resamples",
                "rng",
                "n_jobs",
            ]
        )
        assert names(rdiv.r_divergence) == ["p", "q", "model", "target", "task", "folds", "rng"]
        assert names(rdiv.compare) == (
            [
                "reference",
                "current",
                "model",
                "target",
                "prediction",
                "loss",
                "retrain",
                "drop",
                "task",
                "folds",
                "train_share",
                "fit_rows",
                "sample_rows",
                "groups",
                "strata",
                "alpha",
                "n_resamples",
                "rng",
                "n_jobs",
                "scheduler",
                "equivalence_margin",
                "not_worse_than",
                "drivers",
            ]
        )
        own = {"reference", "current", "models", "by", "correction"}
        many, models = names(rdiv.compare_many), names(rdiv.compare_models)
        assert many[:4] == ["reference", "current", "by", "correction"]
        assert models[:4] == ["reference", "current", "models", "correction"]
        assert set(many) - own == set(names(rdiv.compare)) - own
        assert set(models) - own == set(names(rdiv.compare)) - own - {"model", "prediction", "loss"}

    def test_the_defaults_are_the_contract(self) -> None:
        said = {
            name: parameter.default
            for name, parameter in inspect.signature(rdiv.compare).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        assert said == {
            "model": None, "target": None, "prediction": None, "loss": None, "retrain": "same",
            "drop": (), "task": None, "folds": 5, "train_share": 0.5,
            "fit_rows": 1_000_000, "sample_rows": 2_000_000, "groups": None, "strata": None,
            "alpha": 0.05,
            "n_resamples": 999, "rng": None, "n_jobs": None, "scheduler": None,
            "equivalence_margin": None, "not_worse_than": None, "drivers": True,
        }  # fmt: skip


class TestModels:
    def test_the_default_with_a_target_is_boosting_in_five_folds(self) -> None:
        result = labelled()
        assert result.model == "boosting, 5 folds"
        assert result.notes["default model"] == "boosting, 5 folds"
        assert labelled(folds=3).model == "boosting, 3 folds"

    def test_the_default_without_a_target_is_mixed(self) -> None:
        assert isinstance(default_density(Pool(np.zeros((9, 2, 3, 3)))), PrincipalComponents)
        assert run().model == "mixed"
        assert run(folds=3).model == "mixed, 3 folds"

    def test_a_name_an_object_and_an_estimator(self) -> None:
        assert run(model="kde").to_json() == run(model=KernelDensity()).to_json()
        assert run(model="kde").to_json() == run(RDivergence(KernelDensity())).to_json()
        assert labelled(model=LogisticRegression()).model == "LogisticRegression()"
        folded = run(RDivergence(CrossFit(GaussianMixture(2), 4)))
        assert folded.to_json() == run(model=GaussianMixture(2), folds=4).to_json()

    def test_model_free_tests_look_at_the_inputs_only_and_say_so(self) -> None:
        with_target = labelled("energy")
        assert "inputs only" in with_target.notes["inputs"]
        assert with_target.pvalue == run("energy").pvalue
        assert with_target.model is None
        assert with_target.risk_p is None

    def test_a_model_free_object_with_a_target_of_one_class(self) -> None:
        same = np.array(["a"] * 60)
        found = run(Energy(), p=(X[:25], same[:25]), q=(X[25:], same[25:]))
        assert found.statistic == run("energy").statistic

    @pytest.mark.parametrize(
        ("discrepancy", "how", "words"),
        [
            ("energy", {"model": "kde"}, "energy needs no model, got model='kde'; drop model="),
            ("energy", {"folds": 5}, "energy needs no model, got folds=5; drop folds="),
            (Energy(), {"model": "kde"}, "has its settings already, got model='kde'"),
            (
                RDivergence(KernelDensity()),
                {"model": "gmm"},
                "already, got model='gmm'; drop model=",
            ),
            (RDivergence(KernelDensity()), {"folds": 5}, "already, got folds=5; drop folds="),
            ("rdiv", {}, "unknown discrepancy 'rdiv'; did you mean 'r-div'"),
            ("r-div", {"model": "knn"}, "unknown model 'knn'.*Known: mixed, kde, gmm"),
        ],
        ids=str,
    )
    def test_settings_that_clash(self, discrepancy: Any, how: Any, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            run(discrepancy, **how)

    @pytest.mark.parametrize(
        ("discrepancy", "words"),
        [
            (Energy, r"got the class Energy; add \(\)"),
            (5, r"a name or have prepare\(pool, rng\), got int"),
            (KernelDensity(), "got KernelDensity"),
        ],
        ids=["class", "number", "model"],
    )
    def test_what_is_no_discrepancy(self, discrepancy: Any, words: str) -> None:
        with pytest.raises(TypeError, match=words):
            run(discrepancy)

    @pytest.mark.parametrize("model", ["kde", LogisticRegression()], ids=str)
    def test_an_object_that_holds_a_name_or_an_estimator(self, model: Any) -> None:
        """It either works as `model=` does, or says in a sentence what a model is."""
        try:
            found = labelled(RDivergence(model)).to_json()
        except (TypeError, ValueError) as refusal:
            found = str(refusal)
        assert found == labelled(model=model).to_json() or "model" in found

    def test_choices_wait_for_the_pool(self) -> None:
        choice = choose("r-div", supervised=False)
        assert choice.kind == "density"
        assert choice.build(Pool(np.zeros((9, 500)))).model == MixedDensity()
        assert choice.build(Pool(np.zeros((9, 2, 3, 3)))).model == PrincipalComponents()
        supervised = choose("r-div", supervised=True, folds=3)
        assert supervised.kind is None
        assert supervised.build(Pool(X)).model == CrossFit(Boosting(), 3)


class TestTheLevel:
    @pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, float("nan")])
    def test_alpha_lies_between_0_and_1(self, alpha: float) -> None:
        with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got"):
            run(alpha=alpha)

    @pytest.mark.parametrize(
        ("alpha", "n_resamples", "fewest"),
        [(0.05, 18, 19), (0.01, 50, 99), (0.1, 8, 9), (0.3, 2, 3)],
    )
    def test_too_few_resamples_to_ever_reject(
        self, alpha: float, n_resamples: int, fewest: int
    ) -> None:
        words = rf"n_resamples={n_resamples} can never reach alpha = {alpha}.*at least {fewest}\."
        with pytest.raises(ValueError, match=words):
            run(alpha=alpha, n_resamples=n_resamples)
        check_level(alpha, fewest)

    @pytest.mark.parametrize("n_resamples", [0, -1, -5])
    def test_no_resamples(self, n_resamples: int) -> None:
        with pytest.raises(ValueError, match="can never reach alpha"):
            check_level(0.05, n_resamples)

    @pytest.mark.parametrize("n_resamples", [99.0, True, "99", None])
    def test_resamples_are_a_whole_number(self, n_resamples: Any) -> None:
        with pytest.raises(TypeError, match="n_resamples must be a whole number, got"):
            check_level(0.05, n_resamples)
        check_level(0.05, np.int64(99))

    def test_settings_are_refused_before_the_work(self) -> None:
        class Slow:
            def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
                raise AssertionError("fitted in vain")

        with pytest.raises(ValueError, match="can never reach"):
            run(model=Slow(), n_resamples=5)


class TestDesigns:
    def test_groups_by_name_and_by_arrays_agree(self) -> None:
        codes = np.arange(60) // 3
        codes[24:27] = [7, 99, 99]  # the cut at row 25 must not split a group
        frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
        named = frame.with_columns(pl.Series("g", codes))
        by_name = run(p=named[:25], q=named[25:], model="pca", groups="g")
        by_arrays = run(p=frame[:25], q=frame[25:], model="pca", groups=(codes[:25], codes[25:]))
        assert by_name.statistic == by_arrays.statistic
        assert by_name.pvalue == by_arrays.pvalue

    def test_pairs_find_what_rows_do_not(self) -> None:
        """The paired design: a level for each subject that drowns the difference between files."""
        rng = np.random.default_rng(3)
        level = 20 * rng.normal(size=(40, 1))
        p, q = level + rng.normal(size=(40, 1)), level + rng.normal(size=(40, 1)) + 1.0
        subject = np.arange(40)
        test = RDivergence(FirstColumn())
        apart = run(test, p=p, q=q, n_resamples=199)
        paired = run(test, p=p, q=q, n_resamples=199, strata=(subject, subject))
        assert not apart.rejected
        assert paired.rejected
        assert paired.statistic == pytest.approx(float((q - p).mean()))

    def test_strata_take_out_a_difference_in_mix(self) -> None:
        rng, test, rejected = np.random.default_rng(4), RDivergence(FirstColumn()), np.zeros(2)
        for _ in range(60):
            p_kind, q_kind = (rng.random(50) < share for share in (0.3, 0.7))
            p, q = (10 * kind[:, None] + rng.normal(size=(50, 1)) for kind in (p_kind, q_kind))
            for k, how in enumerate(({}, {"strata": (p_kind, q_kind)})):
                rejected[k] += run(test, p=p, q=q, rng=rng, **how).rejected
        assert rejected[0] > 50
        assert rejected[1] <= 9  # binomial(60, .05): above 9 with probability 1e-3

    def test_groups_keep_the_level_that_rows_lose(self) -> None:
        """Rows of one group share a value: 30 + 30 rows are in truth 5 + 5 units."""
        rng, rejected = np.random.default_rng(5), np.zeros(2)
        groups = np.arange(60) // 6
        for _ in range(60):
            x = rng.normal(size=10)[groups][:, None] + 0.01 * rng.normal(size=(60, 1))
            design = (groups[:30], groups[30:])
            for k, how in enumerate(({}, {"groups": design})):
                test = RDivergence(FirstColumn())
                rejected[k] += run(test, p=x[:30], q=x[30:], rng=rng, **how).rejected
        assert rejected[0] > 20
        assert rejected[1] <= 9  # binomial(60, .05): above 9 with probability 1e-3


@dataclass(frozen=True)
class FirstColumn:
    """The loss is the first input: nothing to fit."""

    held_out = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> FirstColumn:
        return self

    def losses(self, pool: Pool) -> np.ndarray:
        return pool.numbers()[:, 0].astype(float)


class TestHalves:
    def test_a_random_half_of_each_sample(self) -> None:
        is_p = np.arange(60) % 3 == 0
        learn, test = halves_of(Pool(X), is_p, np.random.default_rng(0))
        assert sorted([*learn, *test]) == list(range(60))
        assert (is_p[learn].sum(), is_p[test].sum()) == (10, 10)
        assert (len(learn), len(test)) == (30, 30)
        other, _ = halves_of(Pool(X), is_p, np.random.default_rng(1))
        assert learn.tolist() != other.tolist()

    def test_copies_of_a_row_stay_together(self) -> None:
        x = np.concatenate([X[:30], X[:30]])
        is_p = np.arange(60) < 30
        learn, test = halves_of(Pool(x), is_p, np.random.default_rng(0))
        assert sorted([*learn, *test]) == list(range(60))
        assert not set(learn % 30) & set(test % 30)

    def test_identical_files_do_not_differ_for_a_test_that_learns(self) -> None:
        for seed in range(5):
            found = rdiv.two_sample_test(X, X, "me", n_resamples=39, rng=seed)
            assert found.pvalue == 1.0

    def test_few_distinct_rows_are_halved_row_by_row(self) -> None:
        x = (np.arange(60) % 3)[:, None].astype(float)
        learn, test = halves_of(Pool(x), np.arange(60) < 30, np.random.default_rng(0))
        assert set(x[learn, 0]) == set(x[test, 0]) == {0.0, 1.0, 2.0}

    def test_halves_without_both_samples_are_refused(self) -> None:
        x = np.repeat(np.arange(4.0), 4)[:, None]
        with pytest.raises(ValueError, match="4 distinct rows with both samples"):
            halves_of(Pool(x), np.arange(16) < 4, np.random.default_rng(0))

    def test_groups_stay_whole(self) -> None:
        groups = np.arange(60) // 4
        is_p = groups < 7
        learn, test = halves_of(Pool(X, groups=groups), is_p, np.random.default_rng(0))
        assert not set(groups[learn]) & set(groups[test])
        assert len(set(groups[learn]) & set(range(7))) in (3, 4)

    def test_strata_are_halved_one_by_one(self) -> None:
        strata, is_p = np.arange(60) % 3, np.arange(60) < 24
        learn, _ = halves_of(Pool(X, strata=strata), is_p, np.random.default_rng(0))
        for stratum in range(3):
            assert (is_p[learn] & (strata[learn] == stratum)).sum() == 4

    def test_pairs_are_halved_by_whole_pairs(self) -> None:
        strata, is_p = np.arange(60) % 30, np.arange(60) < 30
        learn, test = halves_of(Pool(X, strata=strata), is_p, np.random.default_rng(0))
        assert 20 <= len(learn) <= 40
        assert not set(strata[learn]) & set(strata[test])

    def test_every_split_of_a_pool_is_halved_by_a_draw_of_its_own(self) -> None:
        pool, is_p, rng = Pool(X[:20]), np.arange(20) < 8, np.random.default_rng(1)
        learned = np.zeros(20, dtype=int)
        for _ in range(60):  # with one order of the pool its first row would never learn
            learn, _ = halves_of(pool, rng.permutation(is_p), np.random.default_rng(0))
            learned[learn] += 1
        assert 0 < learned.min() <= learned.max() < 60

    def test_halves_are_the_same_when_the_samples_change_places(self) -> None:
        is_p = np.arange(60) % 3 == 0
        parts = [halves_of(Pool(X), mask, np.random.default_rng(0)) for mask in (is_p, ~is_p)]
        assert parts[0][0].tolist() == parts[1][0].tolist()

    def test_masks_depend_on_what_was_learned_and_not_on_the_labels_of_the_test(self) -> None:
        is_p, learn = np.arange(8) % 2 == 0, np.array([1, 4, 5, 6])
        tested, learned = is_p.copy(), is_p.copy()
        tested[[0, 3]] = tested[[3, 0]]
        learned[[1, 4]] = learned[[4, 1]]
        seed = _learned(learn, is_p)
        assert seed == _learned(learn, tested) == _learned(learn, ~is_p)
        assert seed != _learned(learn, learned)
        assert seed != _learned(np.array([0, 3, 5, 6]), is_p)

    def test_too_few_rows(self) -> None:
        with pytest.raises(ValueError, match="at least 4 rows in each sample, got 3"):
            halves_of(Pool(X), np.arange(60) < 3, np.random.default_rng(0))
        groups = np.arange(60) // 10
        with pytest.raises(ValueError, match="at least 4 groups in each sample, got 2"):
            halves_of(Pool(X, groups=groups), groups < 2, np.random.default_rng(0))


def test_a_test_that_refits_may_stop_early_and_says_so() -> None:
    class Refitting:
        def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
            x = pool.numbers()[:, 0]
            return Prepared(lambda m: np.abs(m @ x - x.sum() / 2), refits=True)

    result = run(Refitting(), n_resamples=199, alpha=0.05)
    assert not result.rejected
    assert len(result.null_distribution) < 199
    assert result.n_resamples == 199
    assert result.pvalue == 10 / len(result.null_distribution)
    assert f"{len(result.null_distribution)} of 199" in str(result)
