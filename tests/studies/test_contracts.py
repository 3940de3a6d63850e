"""The contracts that a plug-in runs on itself: sound tests pass, each broken one is caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rdiv.discrepancies import Energy, LogitC2st, RDivergence
from rdiv.models import GaussianMixture
from rdiv.samples import Pool
from rdiv.studies.contracts import CONTRACTS, ContractError, check_contracts


@dataclass(frozen=True)
class LargestGap:
    """The test of the guide: the largest gap of column means."""

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        return self.function(pool.numbers())

    def function(self, x: np.ndarray) -> Any:
        def statistic(masks: np.ndarray) -> np.ndarray:
            n_p = masks.sum(axis=1, keepdims=True)
            found: np.ndarray = np.abs(masks @ x / n_p - ~masks @ x / (len(x) - n_p)).max(axis=1)
            return found

        return statistic


class OneNumber(LargestGap):
    """One number for a whole block of masks."""

    def function(self, x: np.ndarray) -> Any:
        inner = super().function(x)
        return lambda masks: inner(masks).max()


class NotFinite(LargestGap):
    """No number where a side is small."""

    def function(self, x: np.ndarray) -> Any:
        inner = super().function(x)
        return lambda masks: np.where(masks.sum(axis=1) < 3, np.nan, inner(masks))


class Neighbours(LargestGap):
    """A number that depends on the masks beside it."""

    def function(self, x: np.ndarray) -> Any:
        inner = super().function(x)
        return lambda masks: inner(masks) / inner(masks).max()


class Restless(LargestGap):
    """A number with noise drawn in every call."""

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        inner = self.function(pool.numbers())
        return lambda masks: inner(masks) + rng.normal(size=len(masks))


class Directed(LargestGap):
    """The sign of the gap, without saying so."""

    def function(self, x: np.ndarray) -> Any:
        n = len(x)

        def statistic(masks: np.ndarray) -> Any:
            n_p = masks.sum(axis=1)
            return masks @ x[:, 0] / n_p - ~masks @ x[:, 0] / (n - n_p)

        return statistic


class Remembering(LargestGap):
    """It remembers what it saw first, so it is no function of the pool."""

    calls = 0

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        type(self).calls += 1
        return self.function(pool.numbers() * type(self).calls)


class Meddling(LargestGap):
    """It changes the masks."""

    def function(self, x: np.ndarray) -> Any:
        inner = super().function(x)

        def statistic(masks: np.ndarray) -> Any:
            found = inner(masks)
            masks[:, 0] = ~masks[:, 0]
            return found

        return statistic


class OwnStream(LargestGap):
    """Randomness that does not come from the stream it is given."""

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        x = pool.numbers()
        return self.function(x + 0.1 * np.random.default_rng().normal(size=x.shape))


class Unpicklable(LargestGap):
    """It holds a function that no other process knows."""

    def __reduce__(self) -> Any:
        raise TypeError("not here")


@dataclass(frozen=True)
class Peeking:
    """A learner that keeps the rows it learned on and claims to have learned nothing."""

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        calls = []

        def statistic(masks: np.ndarray) -> Any:
            """Large for the first mask it ever sees, which is the observed one."""
            first = not calls
            calls.append(1)
            found = np.random.default_rng(len(masks)).random(len(masks))
            found[0] += 10 * first
            return found

        return statistic


BROKEN = [
    ("one finite number per mask", OneNumber()),
    ("one finite number per mask", NotFinite()),
    ("each mask alone", Neighbours()),
    ("each mask alone", Restless()),
    ("complement", Directed()),
    ("swap", Remembering()),
    ("swap", OwnStream()),
    ("inputs", Meddling()),
    ("seed", OwnStream()),
    ("pickle", Unpicklable()),
    ("level", Peeking()),
]


@pytest.mark.parametrize(
    ("contract", "test"), BROKEN, ids=[f"{c}, {type(t).__name__}" for c, t in BROKEN]
)
def test_a_broken_test_is_caught(contract: str, test: Any) -> None:
    with pytest.raises(ContractError, match=type(test).__name__):
        CONTRACTS[contract](test)


def test_every_contract_has_a_broken_test() -> None:
    assert {contract for contract, _ in BROKEN} == set(CONTRACTS)


@pytest.mark.parametrize(
    "test",
    [LargestGap(), Energy(), RDivergence(GaussianMixture(1)), LogitC2st("logistic")],
    ids=lambda test: type(test).__name__,
)
def test_sound_tests_pass(test: Any) -> None:
    check_contracts(test)


def test_a_directed_test_may_say_so() -> None:
    class Honest(Directed):
        directed = True

    CONTRACTS["complement"](Honest())


def test_what_is_no_test_is_refused() -> None:
    with pytest.raises(ContractError, match="neither prepare"):
        check_contracts(object())
