"""Tests of one draw that rest on the same model, and the one fit that serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.c2st import LearnsClassifier, fit_classifier
from rdiv.discrepancies.protocol import (
    Discrepancy,
    FromFit,
    RefitsSides,
    how_it_learns,
    model_of,
    refit_seed,
)
from rdiv.discrepancies.split_fits import SharedSplits, SplitFits, split_fits
from rdiv.inference.prepared import Prepared
from rdiv.models.adapters import as_model
from rdiv.models.protocol import FittedModel, fit_model
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import halves_of

__all__ = ["OnPool", "by_model", "learned", "with_one_fit"]


class OnPool(Protocol):
    """A test and the pool that it gets."""

    @property
    def test(self) -> Any:
        """The discrepancy."""
        ...

    @property
    def pooled(self) -> PooledSamples:
        """The rows and labels of a draw."""
        ...


Given = TypeVar("Given", bound=OnPool)


def by_model(trials: Sequence[Given]) -> list[list[Given]]:
    """Trials in groups that need the same fit; one whose test shares no fit is alone.

    R-div, score, omnibus, h-div and others of one model need its fit to the pool. Both C2ST of one
    classifier need its fit to the rows that they learn from.
    """
    groups: list[list[Given]] = []
    for trial in trials:
        group = next((known for known in groups if _same_fit(known[0], trial)), None)
        if group is None:
            groups.append([trial])
        else:
            group.append(trial)
    return groups


def _same_fit(one: OnPool, other: OnPool) -> bool:
    kind = _fitted_rows(one.test)
    if kind is None or kind != _fitted_rows(other.test) or one.pooled is not other.pooled:
        return False
    first, second = model_of(one.test), model_of(other.test)
    return first is not None and (first is second or first == second)


def _fitted_rows(test: object) -> str | None:
    """Which rows the model of a test is fitted to, if the fit can serve others."""
    if isinstance(test, LearnsClassifier):
        return "half"
    shares = isinstance(test, FromFit | RefitsSides) and not how_it_learns(test)
    return "pool" if shares else None


def with_one_fit(group: Sequence[OnPool]) -> list[Any]:
    """The tests of a group with their model fitted; a test alone fits its model itself.

    Streams of a stage start alike for every test of a draw, so each gets the numbers that it would
    find alone.
    """
    tests, pooled = [trial.test for trial in group], group[0].pooled
    if len(tests) == 1:
        return tests
    model, pool, is_p = tests[0].model, pooled.pool, pooled.is_p
    if isinstance(tests[0], LearnsClassifier):
        rows, _ = halves_of(pool, is_p, pooled.stream("halves"))
        trained = fit_classifier(model, pool.take(rows), is_p[rows], pooled.stream("learn"))
        return [_Classifying(test, trained) for test in tests]
    stream = pooled.stream("fit")
    fitted = fit_model(model, pool, stream)
    splits = _splits([t for t in tests if _refits(t)], fitted, pool, refit_seed(stream))
    return [
        _OfSplits(test, splits[test.warm]) if _refits(test) else _OfFit(test, fitted)
        for test in tests
    ]


def _refits(test: object) -> bool:
    return isinstance(test, RefitsSides) and not isinstance(test, FromFit)


def _splits(
    tests: Sequence[RefitsSides], fitted: FittedModel, pool: Pool, seed: int
) -> dict[bool, SplitFits]:
    """Fits of the sides for tests that start them alike; shared where there are several tests."""
    starts = [test.warm for test in tests]
    found: dict[bool, SplitFits] = {}
    for warm in set(starts):
        splits = split_fits(as_model(tests[0].model), fitted, pool, seed, warm=warm)
        found[warm] = SharedSplits(splits) if starts.count(warm) > 1 else splits
    return found


def learned(group: Sequence[OnPool]) -> list[Discrepancy]:
    """The tests of a group after learning from all rows of their draw."""
    tests, pooled = [trial.test for trial in group], group[0].pooled
    if len(tests) == 1:
        return [tests[0].learn(pooled.pool, pooled.is_p, pooled.stream("learn"))]
    trained = fit_classifier(tests[0].model, pooled.pool, pooled.is_p, pooled.stream("learn"))
    return [test.from_classifier(trained, pooled.is_p) for test in tests]


@dataclass(frozen=True, eq=False)
class _OfFit:
    """A test whose model is fitted to the pool already."""

    test: FromFit
    fitted: FittedModel

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        del rng
        return self.test.from_fit(self.fitted, pool)


@dataclass(frozen=True, eq=False)
class _OfSplits:
    """A test that asks for fits of the sides which other tests ask for, too."""

    test: RefitsSides
    splits: SplitFits

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        del pool, rng
        return self.test.of_splits(self.splits)


@dataclass(frozen=True, eq=False)
class _Classifying:
    """A C2ST whose classifier is trained already, on the half that it would learn from."""

    test: LearnsClassifier
    fitted: FittedModel

    learns = True

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Discrepancy:
        del pool, rng
        return self.test.from_classifier(self.fitted, is_p)
