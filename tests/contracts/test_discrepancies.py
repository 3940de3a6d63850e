"""Every discrepancy: blind work once, then one finite number for any split, the same either way."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pytest

import rdiv
from rdiv.discrepancies import BY_NAME, Prepared
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.masks import mask_sampler, random_subsets
from rdiv.inference.mean_gaps import mean_gap
from rdiv.models import CrossFit, GaussianMixture, PrincipalComponents
from rdiv.models.networks.default_networks import BoundedNetwork, NetworkClassifier
from rdiv.models.networks.training import Training
from rdiv.samples import Pool, pool_samples
from rdiv.two_sample import halves_of, prepare, run_test

SEED, N_P, N = 5, 13, 34
DESIGNS = {"groups": np.arange(N) // 2, "strata": np.arange(N) % 2}
MODELS = {
    "in-sample": PrincipalComponents(1),
    "folds": CrossFit(GaussianMixture(2), 2),
}
QUICK = Training(epochs=10, batch_size=None, learning_rate=1e-2)
OWN_MODELS = {  # what takes a classifier, a feature network or hypotheses, or needs gradients
    "h-div": {"in-sample": (GaussianMixture(2),), "folds": (MODELS["folds"],)},
    "score": {"in-sample": (GaussianMixture(2),), "folds": (MODELS["folds"],)},
    "c2st-s": {"in-sample": ("logistic",), "folds": (NetworkClassifier(training=QUICK),)},
    "c2st-l": {"in-sample": ("logistic",), "folds": (NetworkClassifier(training=QUICK),)},
    "mmd-d": dict.fromkeys(MODELS, (None, QUICK)),
    "l-div": {
        "in-sample": (BoundedNetwork(training=QUICK), None, QUICK),
        "folds": (None, tuple(MODELS.values())),
    },
}


def build(name: str, how: str) -> Any:
    """A discrepancy by its name, with a quick model where it takes one."""
    cls = BY_NAME[name]
    if name in OWN_MODELS:
        return cls(*OWN_MODELS[name][how])
    takes_model = "model" in {field.name for field in fields(cls)}
    return cls(model=MODELS[how]) if takes_model else cls()


def directed(name: str) -> bool:
    return bool(BY_NAME[name].directed)  # type: ignore[attr-defined]


def sample(n: int = N, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, 3))
    x[-3:] = x[:3]
    return x


def prepared_on(name: str, how: str, x: np.ndarray, **design: Any) -> Prepared:
    """What a discrepancy prepares on a pool; a learner learns on other rows first."""
    return prepare(ready(name, how), Pool(x, **design), np.random.default_rng(SEED))


@cache
def prepared_once(name: str, how: str, design: str = "") -> Prepared:
    """The same on the usual rows, plain or with a design of `DESIGNS`, once for all tests."""
    return prepared_on(name, how, sample(), **{key: DESIGNS[key] for key in [design] if key})


@cache
def ready(name: str, how: str) -> Any:
    """The discrepancy that runs; nothing changes what was learned, so once is enough."""
    discrepancy = build(name, how)
    if not getattr(discrepancy, "learns", False):
        return discrepancy
    return discrepancy.learn(Pool(sample(seed=99)), np.arange(N) < N_P, np.random.default_rng(SEED))


def distinct(name: str) -> list[str]:
    """The hows that differ: what takes no model is the same test either way."""
    first, *others = MODELS
    return [first, *(how for how in others if build(name, how) != build(name, first))]


EVERY = [(name, how) for name in BY_NAME for how in distinct(name)]
every_discrepancy = pytest.mark.parametrize(
    ("name", "how"), EVERY, ids=[" ".join(e) for e in EVERY]
)


@every_discrepancy
@pytest.mark.parametrize("b", [1, 7])
@pytest.mark.parametrize("n_p", [2, N_P, N - 2])
def test_one_finite_number_per_mask(name: str, how: str, b: int, n_p: int) -> None:
    prepared = prepared_once(name, how)
    masks = random_subsets(np.random.default_rng(1), b, N, n_p)
    values = prepared.statistic(masks)
    assert values.dtype == np.float64
    assert values.shape == (b,) or (prepared.combine is not None and values.shape[0] == b)
    assert np.isfinite(values).all()


@pytest.mark.trains
@every_discrepancy
def test_a_split_and_its_complement_are_one_split(name: str, how: str) -> None:
    if directed(name):
        pytest.skip(f"{name} says that it is directed")
    statistic = prepared_once(name, how).statistic
    for n_p in (2, N_P):
        masks = random_subsets(np.random.default_rng(2), 10, N, n_p)
        np.testing.assert_allclose(statistic(masks), statistic(~masks), rtol=1e-9)


@pytest.mark.trains
@every_discrepancy
def test_a_number_depends_on_its_own_mask_alone(name: str, how: str) -> None:
    statistic = prepared_once(name, how).statistic
    masks = random_subsets(np.random.default_rng(3), 12, N, N_P)
    alone = np.concatenate([statistic(mask[None]) for mask in masks])
    np.testing.assert_allclose(statistic(masks), alone, rtol=1e-12)
    np.testing.assert_allclose(statistic(masks[::-1])[::-1], alone, rtol=1e-12)


@every_discrepancy
def test_nothing_given_is_changed(name: str, how: str) -> None:
    x = sample()
    masks = random_subsets(np.random.default_rng(4), 6, N, N_P)
    before, given = x.copy(), masks.copy()
    prepared = prepared_on(name, how, x)
    prepared.statistic(masks)
    prepared.observe(masks[0])
    assert x.tobytes() == before.tobytes()
    assert masks.tobytes() == given.tobytes()


@every_discrepancy
@pytest.mark.parametrize("library", [None, "polars", "pandas"])
def test_swapping_rows_changes_no_number(name: str, how: str, library: str | None) -> None:
    """Rows change files, the pool and every number computed from it stay as they were."""
    if getattr(build(name, how), "learns", False):
        pytest.skip("a learner is blind within its held-out half only")
    rng, first = np.random.default_rng(6), None
    masks = random_subsets(np.random.default_rng(7), 9, N, N_P)
    for n_p in (N_P, N_P, N - 5):
        order = rng.permutation(N)
        p, q = (
            as_library(sample()[order[:n_p]], library),
            as_library(sample()[order[n_p:]], library),
        )
        pooled = pool_samples(p, q, rng=SEED)
        prepared = prepare(build(name, how), pooled.pool, pooled.stream("fit"))
        numbers = [pooled.pool.numbers(), prepared.statistic(masks), prepared.losses]
        found = [number.tobytes() for number in numbers if number is not None]
        first = first or found
        assert found == first


def as_library(x: np.ndarray, library: str | None) -> Any:
    if library is None:
        return x
    columns = {"a": x[:, 0], "b": x[:, 1], "c": np.where(x[:, 2] > 0, "up", "down")}
    return pl.DataFrame(columns) if library == "polars" else pd.DataFrame(columns)


@every_discrepancy
def test_the_same_seed_gives_the_same_document(name: str, how: str) -> None:
    """Alone, for any number of jobs, and from four threads at once."""
    x = sample()

    def result(jobs: int | None, seed: int = 1) -> Any:
        test = build(name, how)
        return rdiv.two_sample_test(
            x[:N_P], x[N_P:], test, n_resamples=19, rng=seed, n_jobs=jobs
        )  # fmt: skip

    alone, other = result(None), result(None, seed=2)
    with ThreadPoolExecutor(4) as threads:
        at_once = list(threads.map(result, (None, 1, 2, None)))
    assert {found.to_json() for found in at_once} == {alone.to_json()}
    assert alone.null_distribution.tobytes() != other.null_distribution.tobytes()


@every_discrepancy
def test_it_pickles(name: str, how: str) -> None:
    discrepancy = build(name, how)
    for dumps in (pickle.dumps, cloudpickle.dumps):
        again = pickle.loads(dumps(discrepancy))
        assert again == discrepancy
        assert hash(again) == hash(discrepancy)


@every_discrepancy
@pytest.mark.parametrize("n_p", [4, 17, 30])
def test_groups_and_strata_give_finite_numbers(name: str, how: str, n_p: int) -> None:
    for design, codes in DESIGNS.items():
        is_p = codes < n_p // 2 if design == "groups" else np.arange(N) < n_p
        prepared = prepared_once(name, how, design)
        masks = mask_sampler(is_p, **{design: codes})(np.random.default_rng(8), 6)
        values = prepared.statistic(masks)
        assert np.isfinite(values).all()
        if not directed(name):
            np.testing.assert_allclose(values, prepared.statistic(~masks), rtol=1e-9, atol=1e-12)


@pytest.mark.trains
@every_discrepancy
def test_a_plain_shift_is_found(name: str, how: str) -> None:
    p, q = sample(60), 3 + 4 * sample(60, seed=1)
    assert rdiv.two_sample_test(p, q, build(name, how), n_resamples=99, rng=0).pvalue == 0.01


@dataclass(frozen=True)
class Direction:
    """A toy learner: the direction between the two means, learned with labels on one half."""

    along: Any = None

    @property
    def learns(self) -> bool:
        return self.along is None

    def learn(self, pool: Pool, is_p: np.ndarray, rng: np.random.Generator) -> Direction:
        x = pool.numbers()
        return Direction(x[is_p].mean(axis=0) - x[~is_p].mean(axis=0) + 0 * rng.normal())

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        numbers = pool.numbers() @ self.along
        return mean_gap(numbers, groups=pool.groups, strata=pool.strata)


def test_a_learner_is_blind_within_its_held_out_half() -> None:
    x = sample()
    pooled = pool_samples(x[:N_P], x[N_P:], rng=SEED)
    learn, held_out = halves_of(pooled.pool, pooled.is_p, pooled.stream("halves"))
    assert sorted([*learn, *held_out]) == list(range(N))
    learned = Direction().learn(pooled.pool.take(learn), pooled.is_p[learn], pooled.stream("learn"))
    first = None
    rng = np.random.default_rng(9)
    masks = random_subsets(rng, 5, len(held_out), 6)
    for _ in range(3):
        is_p = pooled.is_p.copy()
        is_p[held_out] = rng.permutation(is_p[held_out])  # swap rows of the held-out half
        pool = pooled.pool.take(held_out)
        prepared = prepare(learned, pool, pooled.stream("fit"))
        found = (prepared.losses.tobytes(), prepared.statistic(masks).tobytes())
        first = first or found
        assert found == first


def test_a_learner_tests_the_half_it_did_not_learn_on() -> None:
    x = sample(80)
    x[:40] += 1.0
    pooled = pool_samples(x[:40], x[40:], rng=SEED)
    result, prepared = run_test(Direction(), pooled, PermutationSettings(n_resamples=99))
    assert result.notes["rows tested"] == 40
    assert prepared.losses.shape == (40,)
    assert (result.n_p, result.n_q) == (40, 40)
    assert result.rejected


@pytest.mark.parametrize("design", ["groups", "strata"])
def test_a_learner_with_a_design(design: str) -> None:
    x = sample(80)
    x[:40] += 1.0
    labels = {
        "groups": (np.arange(40) // 2, 20 + np.arange(40) // 2),
        "strata": 2 * (np.arange(40) % 4,),
    }
    result = rdiv.two_sample_test(
        x[:40], x[40:], Direction(), **{design: labels[design]}, n_resamples=39, rng=0
    )
    assert result.notes["rows tested"] == 40
    assert result.rejected


def test_a_bare_function_is_a_discrepancy() -> None:
    class FirstColumn:
        def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
            x = pool.numbers()[:, 0]
            return lambda masks: np.abs(masks @ x / masks.sum(axis=1) - x.mean())

    x = sample(40)
    x[:20] += 3
    result = rdiv.two_sample_test(x[:20], x[20:], FirstColumn(), n_resamples=19, rng=0)
    assert result.pvalue == 0.05
    assert result.statistic == result.ranked
    assert result.discrepancy == "FirstColumn"
    assert result.model is None
