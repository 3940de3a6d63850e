"""A trial is a pure function of study and key; all tests see the same draws."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.studies.test_study import study
from tests.studies.toys import (
    SEEN,
    Learning,
    Plain,
    Recording,
    digest,
    shifted,
    timeless,
)

import rdiv
from rdiv.discrepancies import (
    AccuracyC2st,
    CrossRisk,
    DeepMmd,
    Energy,
    HDivergence,
    LogitC2st,
    Omnibus,
    RDivergence,
    Score,
)
from rdiv.models import CrossFit, GaussianMixture, KernelDensity, Logistic, Training
from rdiv.models.gaussian_mixture import FittedGaussianMixture
from rdiv.models.networks.default_networks import NetworkClassifier
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.sources import Hdgm
from rdiv.studies import trial
from rdiv.studies.one_fit import by_model, with_one_fit
from rdiv.studies.trial import run_trial, units_of


@pytest.fixture(autouse=True)
def _forget() -> None:
    SEEN.clear()


def rows(source: Any, tests: Any, **settings: Any) -> list[dict[str, Any]]:
    given = {"sizes": [12], "trials": 4, "n_resamples": 19, **settings}
    return timeless(rdiv.power_study(source, tests, **given).rows)


def test_a_trial_is_a_function_of_study_and_key() -> None:
    asked = study(["blob", shifted], ["energy", "r-div:gmm", Learning()], sizes=(12,), null=True)
    keys = [*asked.all_keys()]
    first = [run_trial(asked, key) for key in keys]
    again = [run_trial(study(["blob", shifted], ["energy", "r-div:gmm", Learning()],
                             sizes=(12,), null=True), key) for key in reversed(keys)]  # fmt: skip
    assert timeless(first) == timeless(again)
    assert all(0 < row["pvalue"] <= 1 for row in first)


def test_the_row_says_all_that_a_table_needs() -> None:
    (row,) = rdiv.power_study(Hdgm(d=3, ratio=2), "r-div", sizes=10, trials=1).rows
    assert {k: v for k, v in row.items() if k not in ("pvalue", "statistic", "seconds")} == {
        "source": "hdgm(d=3, ratio=2)", "test": "r-div:kde", "n": 10, "null": False, "repeat": 0,
        "trial": 0, "discrepancy": "r-div", "model": "kde", "n_p": 10, "n_q": 20,
        "protocol": "whole",
    }  # fmt: skip
    assert row["seconds"] > 0
    assert isinstance(row["statistic"], float)


def test_the_row_is_what_the_test_alone_gives() -> None:
    """Drawing by hand and calling two_sample_test gives the same p-value as the study."""
    asked = study(shifted, "energy", sizes=(15,), trials=1)
    row = run_trial(asked, next(asked.all_keys()))
    drawn = []

    def repeated(n: int, rng: np.random.Generator, null: bool) -> Any:
        drawn.append((shifted(n, rng, null), deepcopy(rng)))
        return drawn[-1][0]

    repeated.__name__ = "shifted"
    again = study(repeated, "energy", sizes=(15,), trials=1)
    assert timeless([run_trial(again, next(again.all_keys()))]) == timeless([row])
    assert len(drawn) == 1
    (p, q), rng = drawn[0]
    alone = rdiv.two_sample_test(p, q, "energy", n_resamples=19, rng=rng)
    assert (alone.statistic, alone.pvalue) == (row["statistic"], row["pvalue"])


def test_all_tests_see_the_same_draws() -> None:
    rows(["blob", shifted], [Recording("one"), Recording("two")], sizes=[10, 15], null=True)
    one, two = ([digest(p) for name, p, _ in SEEN if name == who] for who in ("one", "two"))
    assert one == two
    assert len({*one}) == 2 * 2 * 2 * 4  # and every trial of every cell its own
    orders = [[p.x.tobytes() for name, p, _ in SEEN if name == who] for who in ("one", "two")]
    assert orders[0] == orders[1]  # the seed of the test is shared too


@pytest.mark.parametrize(
    "more",
    [
        {"tests": ["energy", Plain("a"), Plain("b")]},
        {"tests": [Plain("b"), Plain("a"), "energy"]},
        {"sizes": [8, 12, 20]},
        {"trials": 7},
        {"repeats": 2},
        {"null": True},
        {"source": ["hdgm", shifted]},
        {"alpha": (0.2, 0.05)},
    ],
    ids=lambda more: next(iter(more)),
)
def test_growing_a_study_changes_no_row(more: dict[str, Any]) -> None:
    small: dict[str, Any] = {"source": shifted, "tests": ["energy", Plain("a")]}
    before = rows(**small)
    after = rows(**{**small, **more})
    assert [row for row in after if row in before] == before
    assert len(after) > len(before) or "alpha" in more


def test_seeds_sources_sizes_nulls_repeats_and_trials_have_their_own_draws() -> None:
    rows([shifted, Hdgm(d=2)], Recording(), sizes=[10, 11], repeats=2, null=True)
    first = {digest(pool) for _, pool, _ in SEEN}
    assert len(first) == len(SEEN) == 2 * 2 * 2 * 2 * 4
    SEEN.clear()
    rows([shifted, Hdgm(d=2)], Recording(), sizes=[10, 11], repeats=2, null=True, rng=1)
    assert not first & {digest(pool) for _, pool, _ in SEEN}


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**53 - 1, 2**70])
def test_the_stream_of_a_trial_is_that_of_its_numbers(seed: int) -> None:
    """What a study draws is fixed by this formula; changing it would orphan all old rows."""
    asked = study(["blob", shifted], "energy", seed=seed, repeats=2, null=True)
    for key in asked.all_keys():
        name = hashlib.blake2b(asked.identity(key)["source"].encode(), digest_size=8).digest()
        numbers = [seed, int.from_bytes(name), key.n, int(key.null), key.repeat, key.trial, 0]
        plain = np.random.default_rng(np.random.SeedSequence(numbers))
        assert trial._stream(asked, key, 0).integers(2**60) == plain.integers(2**60)


def test_draws_run_on_one_thread() -> None:
    """A matrix product on several threads may differ in its last bits, and so the pool's order."""
    from threadpoolctl import threadpool_info

    threads = []

    def watched(n: int, rng: np.random.Generator, null: bool) -> Any:
        threads.extend(pool["num_threads"] for pool in threadpool_info())
        return shifted(n, rng, null)

    from threadpoolctl import threadpool_limits

    with threadpool_limits(2):
        rows(watched, Learning(), train="fresh", trials=1)
    assert threads
    assert {*threads} == {1}


def test_tests_with_one_fit_use_the_whole_draw() -> None:
    for train in ("half", "fresh"):
        assert {r["protocol"] for r in rows("blob", ["energy", "r-div"], train=train)} == {"whole"}


def test_half() -> None:
    found = rows(shifted, Learning(), sizes=[20], trials=3)
    assert {row["protocol"] for row in found} == {"half"}
    assert {(row["n_p"], row["n_q"]) for row in found} == {(20, 20)}
    learnt, tested = by_role()
    assert len(learnt) == len(tested) == 3  # one training a trial
    for (train, is_p), test in zip(learnt, tested, strict=True):
        assert (is_p.sum(), (~is_p).sum(), len(test)) == (10, 10, 20)
        assert not rows_of(train) & rows_of(test)


def test_fresh() -> None:
    found = rows(shifted, [Learning(), "energy"], sizes=[20, 30], trials=3, repeats=2, null=True,
                 train="fresh")  # fmt: skip
    assert {row["protocol"] for row in found if row["test"] == "Learning"} == {"fresh"}
    learnt, tested = by_role()
    cells = 2 * 2  # sizes and nulls
    assert len(learnt) == cells * 2  # once a repeat
    assert len(tested) == cells * 2 * 3
    assert sorted(len(pool) for pool in tested) == [40] * 12 + [60] * 12  # all n are tested
    assert all(is_p.sum() == len(pool) / 2 for pool, is_p in learnt)
    trained_on = {row for pool, _ in learnt for row in rows_of(pool)}
    assert len(trained_on) == 4 * 40 + 4 * 60  # every training has its own rows,
    assert not trained_on & {row for pool in tested for row in rows_of(pool)}  # not the tested ones


def test_fresh_trials_of_a_repeat_share_their_training() -> None:
    used: list[Any] = []

    @dataclass(frozen=True)
    class Watched(Learning):
        def learn(self, pool: Any, is_p: Any, rng: Any) -> Any:
            learnt = super().learn(pool, is_p, rng)

            class Tested:
                def prepare(self, pool: Any, rng: Any) -> Any:
                    used.append(learnt.direction)
                    return learnt.prepare(pool, rng)

            return Tested()

    rows(shifted, Watched(), trials=5, repeats=2, train="fresh")
    assert len(used) == 10
    assert [len({*used[:5]}), len({*used[5:]}), len({*used})] == [1, 1, 2]


def test_fresh_training_under_the_null_is_null_too() -> None:
    rows(shifted, Learning(), sizes=[400], trials=1, null=True, train="fresh")
    gaps = [pool.x[~is_p].mean() - pool.x[is_p].mean() for pool, is_p in by_role()[0]]
    assert abs(gaps[0] - 1) < 5 * 0.05
    assert abs(gaps[1]) < 5 * 0.05


def test_many_cells_are_each_trained_once() -> None:
    learners = [Learning(f"number {i}") for i in range(70)]
    rows(shifted, learners, trials=2, train="fresh")
    assert len(by_role()[0]) == 70


def test_studies_that_look_alike_do_not_share_a_training() -> None:
    def samples(centre: float) -> Any:
        rng = np.random.default_rng(0)
        return rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + centre

    for centre in (50.0, 900.0):
        rows(samples(centre), Learning(), trials=1, train="fresh")
    gaps = [pool.x[~is_p].mean() - pool.x[is_p].mean() for pool, is_p in by_role()[0]]
    assert np.round(gaps, -1).tolist() == [50.0, 900.0]


def test_the_model_of_a_learner_is_named_whatever_the_protocol() -> None:
    @dataclass(frozen=True)
    class WithModel(Learning):
        model: Any = None

    for train in ("half", "fresh"):
        (row,) = rows(shifted, WithModel(model=rdiv.models.KernelDensity()), trials=1, train=train)
        assert row["model"] == "kde"
        assert row["test"].endswith(":kde")


def test_a_statistic_that_is_not_finite_or_not_a_python_float() -> None:
    from rdiv.inference.prepared import Observed, Prepared

    @dataclass(frozen=True)
    class Odd:
        value: Any

        def prepare(self, pool: Any, rng: Any) -> Any:
            reported = Observed(self.value)
            return Prepared(Plain().prepare(pool, rng), observed=lambda is_p: reported)

    found = rows(shifted, [Odd(float("inf")), Odd(np.float32(0.5))], trials=1)
    assert [row["statistic"] for row in found] in ([None, 0.5], [0.5, None])
    assert {type(row["statistic"]) for row in found} == {float, type(None)}


def test_an_error_in_a_trial_is_not_swallowed() -> None:
    with pytest.raises(ValueError, match="pair has 5 \\+ 5 rows, got a draw of 9 \\+ 9"):
        rows((np.arange(5.0), np.arange(5.0)), "energy", sizes=[9])


def by_role() -> tuple[list[tuple[Any, np.ndarray]], list[Any]]:
    learnt = [(pool, is_p) for name, pool, is_p in SEEN if name.startswith("learn")]
    return learnt, [pool for name, pool, _ in SEEN if name == "test"]


def rows_of(pool: Any) -> set[bytes]:
    return {*map(bytes, pool.matrix())}


SHARING = [
    "r-div",
    "score",
    "omnibus",
    "h-div",
    "cross-risk",
    "h-div:gmm",
    HDivergence(GaussianMixture(), "max"),
    HDivergence(GaussianMixture(), warm=False),
    "cross-risk:gmm",
    "c2st-s:logistic",
    "c2st-l:logistic",
    LogitC2st(NetworkClassifier(training=Training(epochs=2))),
    "energy",
]


@cache
def sharing(train: str, repeats: int, **how: Any) -> list[dict[str, Any]]:
    """Two trials of every test that can share a fit, with their nulls if there is one repeat."""
    settings = {"sizes": [20], "trials": 2, "repeats": repeats, "null": repeats == 1}
    return rows(Hdgm(2), SHARING, train=train, **settings, **how)


@pytest.mark.parametrize(
    ("n_jobs", "train", "repeats"), [(None, "half", 1), (2, "half", 1), (None, "fresh", 2)]
)
def test_shared_fits_change_no_row(n_jobs: int | None, train: str, repeats: int) -> None:
    assert sharing(train, repeats, share_fits=True, n_jobs=n_jobs) == sharing(train, repeats)


def test_a_draw_and_a_model_are_made_once_for_all_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    fits, draws = [], []
    fit, draw = KernelDensity.fit, Hdgm.draw
    monkeypatch.setattr(
        KernelDensity, "fit", lambda self, pool, rng: fits.append(pool) or fit(self, pool, rng)
    )
    monkeypatch.setattr(Hdgm, "draw", lambda *a, **k: draws.append(a) or draw(*a, **k))
    rows(Hdgm(2), ["r-div", "score", "h-div", "r-div:gmm"], sizes=[20], trials=3, share_fits=True)
    assert len(fits) == len(draws) == 3


def test_sides_are_fitted_once_for_all_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sides that the tests would fit alone, and none of them twice."""
    sides: list[bytes] = []
    refit = FittedGaussianMixture.refit

    def counted(
        self: FittedGaussianMixture, pool: Pool, rng: np.random.Generator
    ) -> FittedGaussianMixture:
        sides.append(pool.matrix().tobytes())
        return refit(self, pool, rng)

    monkeypatch.setattr(FittedGaussianMixture, "refit", counted)

    def fits(*tests: Any, **how: Any) -> list[bytes]:
        sides.clear()
        rows(Hdgm(2), list(tests), sizes=[40], trials=2, null=True, **how)
        return list(sides)

    three = [HDivergence(GaussianMixture(2), phi) for phi in ("mean", "max")]
    three.append(CrossRisk(GaussianMixture(2)))
    apart = [fits(test) for test in three]
    together = fits(*three, share_fits=True)
    assert len(together) == len(set(together))
    assert set(together) == set().union(*apart)
    assert fits(three[0], share_fits=True) == apart[0]


@pytest.mark.parametrize(("train", "wanted"), [("half", 3), ("fresh", 1)])
def test_both_c2st_learn_from_one_training(
    train: str, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits, fit = [], Logistic.fit
    monkeypatch.setattr(
        Logistic, "fit", lambda self, pool, rng: fits.append(pool) or fit(self, pool, rng)
    )
    tests = ["c2st-s:logistic", "c2st-l:logistic"]
    rows(Hdgm(2), tests, sizes=[20], trials=3, share_fits=True, train=train)
    assert len(fits) == wanted
    fits.clear()
    rows(Hdgm(2), tests, sizes=[20], trials=3, train=train)
    assert len(fits) == 2 * wanted


POOLED = pool_samples(np.arange(8.0), np.arange(8.0) ** 2, rng=0)


@dataclass(frozen=True)
class OnPool:
    test: Any
    pooled: PooledSamples = POOLED


def groups(*tests: Any) -> list[list[Any]]:
    return [[trial.test for trial in group] for group in by_model([OnPool(t) for t in tests])]


def test_tests_are_grouped_by_what_is_fitted() -> None:
    kde, narrow = KernelDensity(), KernelDensity(bandwidth=0.5)
    first, other, again = RDivergence(kde), RDivergence(narrow), HDivergence(KernelDensity())
    assert groups(first, other, again) == [[first, again], [other]]
    accuracy, logit, pooled = AccuracyC2st(Logistic()), LogitC2st(Logistic()), Score(Logistic())
    assert groups(accuracy, pooled, logit) == [[accuracy, logit], [pooled]]  # one learns on a half


def test_tests_that_learn_or_have_no_model_are_alone() -> None:
    alone = [Energy(), Energy(), Learning(), Learning(), Omnibus(members=[Energy()]), DeepMmd()]
    assert groups(*alone) == [[test] for test in alone]
    (trial,) = [OnPool(Energy())]
    assert with_one_fit([trial]) == [trial.test]


def test_other_pools_are_other_fits() -> None:
    pooled = pool_samples(np.arange(8.0), np.arange(8.0) ** 3, rng=0)
    test = RDivergence(KernelDensity())
    assert len(by_model([OnPool(test), OnPool(test, pooled), OnPool(test)])) == 2


def test_refits_have_the_seed_that_the_test_alone_gives_them() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    pooled = pool_samples(x[:12], x[12:], rng=1)
    masks = np.random.default_rng(1).permuted(np.tile(np.arange(30) < 12, (2, 1)), axis=1)
    test = HDivergence(CrossFit(GaussianMixture(), 3), warm=False)
    alone = test.prepare(pooled.pool, pooled.stream("fit")).statistic(masks)
    group = [OnPool(test, pooled), OnPool(RDivergence(test.model), pooled), OnPool(test, pooled)]
    shared = [ready.prepare(pooled.pool, None) for ready in with_one_fit(group)]
    for prepared in (shared[0], shared[2]):
        assert np.array_equal(prepared.statistic(masks), alone)


def test_a_training_belongs_to_the_trials_of_one_repeat_of_a_cell() -> None:
    asked = study(shifted, ["energy", Learning("a"), Learning("b")], sizes=(10, 20), trials=6,
                  repeats=2, null=True, train="fresh", share_fits=True)  # fmt: skip
    units = [*units_of(asked, asked.all_keys())]
    fresh = [unit for unit in units if unit.fresh]
    assert len(fresh) == 2 * 2 * 2  # sizes, nulls and repeats
    for unit in fresh:
        keys = [key for draw in unit.draws for key in draw]
        assert len({(key.source, key.n, key.null, key.repeat) for key in keys}) == 1
        assert sorted((key.trial, key.test) for key in keys) == [
            (trial, test) for trial in range(6) for test in (1, 2)
        ]
    assert [len(unit) for unit in units if not unit.fresh] == [1] * (2 * 2 * 2 * 6)
    assert sum(map(len, units)) == len([*asked.all_keys()])


def test_few_trainings_are_made_anew_for_every_job() -> None:
    asked = study(shifted, Learning(), trials=5, train="fresh")
    for n_jobs, sizes in ((1, [5]), (2, [3, 2]), (4, [2, 1, 1, 1]), (9, [1] * 5)):
        units = [*units_of(asked, asked.all_keys(), n_jobs)]
        assert [len(unit) for unit in units] == sizes
    many = study(shifted, Learning(), sizes=(10, 20, 30), trials=5, train="fresh")
    assert [len(unit) for unit in units_of(many, many.all_keys(), 3)] == [5, 5, 5]


@pytest.mark.parametrize("test", ["energy", "c2st-s:logistic", "r-div:pca", "r-div:logistic"])
def test_a_study_takes_the_task_that_the_test_alone_takes(test: str) -> None:
    """By name and as an object, on a source with a target."""

    def labelled(n: int, rng: np.random.Generator, null: bool) -> Any:
        p, q = shifted(n, rng, null)
        return (p, (p[:, 0] > 0).astype(int)), (q, (q[:, 0] > 0).astype(int))

    name, _, model = test.partition(":")
    asked = study(labelled, test, sizes=(30,), trials=1)
    row = run_trial(asked, next(asked.all_keys()))
    drawn = trial._drawn(asked, next(asked.all_keys()), 0)
    alone = rdiv.two_sample_test(
        drawn.p, drawn.q, name, model=model or None, n_resamples=19, rng=drawn.seed
    )
    assert (row["statistic"], row["pvalue"]) == (alone.statistic, alone.pvalue)
    built = asked.tests[0].choice(asked.sources[0], supervised=True).build(drawn.p)  # type: ignore[arg-type]
    (again,) = rows(labelled, built, sizes=[30], trials=1)
    assert (again["statistic"], again["pvalue"]) == (row["statistic"], row["pvalue"])
