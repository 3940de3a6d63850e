"""Sharing a fit changes no number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.discrepancies import (
    AccuracyC2st,
    HDivergence,
    LogitC2st,
    Omnibus,
    RDivergence,
    Score,
)
from rdiv.models import CrossFit, GaussianMixture, KernelDensity, Logistic
from rdiv.reproduction.shared_fit import REMEMBERED, SharedFit, _fits
from rdiv.samples.pool import Pool


def four_tests(model: Any) -> list[Any]:
    return [RDivergence(model), Score(model), Omnibus(model), HDivergence(model)]


@pytest.mark.parametrize("model", [KernelDensity(), GaussianMixture()])
def test_the_same_pvalues_as_without(model: Any) -> None:
    def pvalues(used: Any) -> list[float]:
        found = rdiv.power_study(
            "blob", four_tests(used), sizes=[40], trials=2, n_resamples=19, null=True, rng=5
        )
        return [row["pvalue"] for row in found.rows]

    assert pvalues(SharedFit(model)) == pvalues(model)


def test_both_c2st_learn_from_one_training() -> None:
    def found(model: Any, test: type) -> float:
        rng = np.random.default_rng(2)
        p, q = rng.normal(size=(2, 40, 2))
        return float(rdiv.two_sample_test(p, q + 0.5, test(model), rng=4, n_resamples=99).pvalue)

    for test in (AccuracyC2st, LogitC2st):
        assert found(SharedFit(Logistic()), test) == found(Logistic(), test)
    model = Counting([])
    pool, is_p = Pool(np.arange(8.0)[:, None]), np.arange(8) % 2 == 0
    for test in (AccuracyC2st, LogitC2st):
        test(SharedFit(model)).learn(pool, is_p, np.random.default_rng(0))
    assert len(model.fits) == 1


@dataclass(frozen=True)
class Counting:
    """A model that counts its fits, draws from its stream and spawns children."""

    fits: list[int] = field(repr=False)

    def fit(self, pool: Pool, rng: np.random.Generator) -> Counting:
        del pool
        self.fits.append(1)
        rng.spawn(2)
        rng.normal(size=3)
        return self

    def losses(self, pool: Pool) -> Any:
        return np.zeros(len(pool))


def test_one_fit_and_the_stream_goes_on_as_after_a_fit() -> None:
    model, pool = Counting([]), Pool(np.arange(6.0)[:, None])
    streams = [np.random.default_rng(3) for _ in range(3)]
    model.fit(pool, streams[0])
    for stream in streams[1:]:
        SharedFit(model).fit(pool, stream)
    assert len(model.fits) == 2
    following = [(s.normal(), s.spawn(1)[0].normal()) for s in streams]
    assert following[0] == following[1] == following[2]


def test_other_rows_and_targets_are_fitted_anew_and_few_are_kept() -> None:
    model = Counting([])
    x, y = np.arange(8.0)[:, None], np.arange(8) % 2
    for pool in (Pool(x), Pool(x + 1), Pool(x, y=y), Pool(x, y=1 - y)):
        SharedFit(model).fit(pool, np.random.default_rng(0))
    assert len(model.fits) == 4
    assert len(_fits) == REMEMBERED


def test_it_goes_by_the_name_of_its_model() -> None:
    assert str(SharedFit(KernelDensity(bandwidth=0.5))) == "kde(bandwidth=0.5)"
    assert SharedFit(Logistic()).task == "classification"
    assert SharedFit(CrossFit(KernelDensity(), 3)).task == "density"
