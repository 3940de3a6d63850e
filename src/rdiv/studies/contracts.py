"""What every test must keep so that its p-value is one: checks that a package runs on its own test.

In the tests of that package::

    import pytest
    from rdiv.studies.contracts import CONTRACTS


    @pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
    def test_contract(contract):
        contract(MyTest())
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.protocol import how_it_learns, is_discrepancy
from rdiv.inference.masks import random_subsets
from rdiv.inference.prepared import Prepared
from rdiv.names import one_line
from rdiv.samples.pooling import pool_samples
from rdiv.studies.own_tests import checked
from rdiv.two_sample import halves_of, prepare, two_sample_test

__all__ = ["CONTRACTS", "ContractError", "check_contracts"]

N, N_P, SEED = 40, 17, 5
_BLOCKS = 7


class ContractError(AssertionError):
    """A test that breaks a contract; the message says which and how."""


def gives_one_finite_number_per_mask(test: Any) -> None:
    """Any block of masks gives one finite number for each, or one row where it combines columns."""
    prepared = _prepared(test, _rows())
    n = _tested(test)
    for b, n_p in ((1, n // 2), (_BLOCKS, 2), (_BLOCKS, n - 2), (_BLOCKS, n // 2)):
        values = np.asarray(prepared.statistic(_masks(n, b, n_p)))
        wanted = (b,) if prepared.combine is None else (b, prepared.columns)
        if values.shape != wanted:
            _broken(test, f"{b} masks must give shape {wanted}, got {values.shape}")
        if not np.isfinite(values.astype(float)).all():
            _broken(test, f"{b} masks with {n_p} rows of p gave a number that is not finite")


def depends_on_each_mask_alone(test: Any) -> None:
    """A mask gives the same number alone, among others, and a second time."""
    prepared, masks = _prepared(test, _rows()), _masks(_tested(test), _BLOCKS, N_P // 2)
    together = np.asarray(prepared.statistic(masks))
    alone = np.concatenate([np.asarray(prepared.statistic(masks[i : i + 1])) for i in range(3)])
    if not np.allclose(alone, together[:3], rtol=1e-6, atol=1e-9):
        _broken(test, "the number of a mask depends on the masks beside it")
    if not np.allclose(together, prepared.statistic(masks), rtol=1e-6, atol=1e-9):
        _broken(test, "a second call gives other numbers for the same masks")


def is_the_same_for_the_complement(test: Any) -> None:
    """Exchanging p and q changes no number, unless the test says ``directed = True``."""
    if getattr(test, "directed", False):
        return
    prepared, masks = _prepared(test, _rows()), _masks(_tested(test), _BLOCKS, N_P // 2)
    one, other = (np.asarray(prepared.statistic(side)) for side in (masks, ~masks))
    if not np.allclose(one, other, rtol=1e-6, atol=1e-9):
        _broken(test, "a mask and its complement give different numbers; is it directed?")


def is_blind_to_the_labels(test: Any) -> None:
    """Rows that change sides change no number: what is prepared is a function of the pool.

    This alone makes the p-value exact. A learner is never shown the labels of the half on which it
    is tested, so for one this checks that it gives the same numbers again.
    """
    rng, x, first = np.random.default_rng(SEED), _rows(), None
    masks = _masks(_tested(test), _BLOCKS, N_P // 2)
    for _ in range(3):
        order = rng.permutation(N) if not how_it_learns(test) else np.arange(N)
        found = np.asarray(_prepared(test, x[order]).statistic(masks)).tobytes()
        first = first or found
        if found != first:
            _broken(test, "rows that change sides change its numbers; does it use their order?")


def leaves_its_inputs_alone(test: Any) -> None:
    """Neither the rows nor the masks are changed in place."""
    x, masks = _rows(), _masks(_tested(test), _BLOCKS, N_P // 2)
    before = x.tobytes(), masks.tobytes()
    _prepared(test, x).statistic(masks)
    if (x.tobytes(), masks.tobytes()) != before:
        _broken(test, "rows or masks were changed in place")


def gives_the_same_result_for_the_same_seed(test: Any) -> None:
    """The same seed gives the same p-value and null distribution, whatever ran before."""
    x = _rows()
    one, other = (
        two_sample_test(x[:N_P], x[N_P:], test, n_resamples=39, rng=SEED) for _ in range(2)
    )
    if one.null_distribution.tobytes() != other.null_distribution.tobytes():
        _broken(test, "the same seed gives another null distribution; use the rng that is given")


def survives_a_pickle(test: Any) -> None:
    """It can be sent to a worker process, and gives the same numbers there."""
    try:
        again = pickle.loads(pickle.dumps(test))
    except Exception as error:
        _broken(test, f"it cannot be pickled ({one_line(str(error))})")
    masks = _masks(_tested(test), _BLOCKS, N_P // 2)
    before, after = (_prepared(one, _rows()).statistic(masks) for one in (test, again))
    if not np.array_equal(before, after):
        _broken(test, "after a pickle it gives other numbers")


def holds_its_level(test: Any) -> None:
    """On 100 true nulls at .05 it rejects at most 13 times, as a valid test does 999 times in 1000.

    The rows of the samples are drawn alike. Run more draws in a power study before you publish.
    """
    rng = np.random.default_rng(SEED)
    found = 0
    for draw in range(100):
        x = rng.normal(size=(N, 2))
        found += two_sample_test(x[:N_P], x[N_P:], test, n_resamples=19, rng=draw).pvalue <= 0.05
    if found > 13:
        _broken(test, f"it rejects {found} of 100 true nulls at .05")


CONTRACTS: dict[str, Callable[[Any], None]] = {
    "one finite number per mask": gives_one_finite_number_per_mask,
    "each mask alone": depends_on_each_mask_alone,
    "complement": is_the_same_for_the_complement,
    "swap": is_blind_to_the_labels,
    "inputs": leaves_its_inputs_alone,
    "seed": gives_the_same_result_for_the_same_seed,
    "pickle": survives_a_pickle,
    "level": holds_its_level,
}
"""Every contract by its name: a function of the test, which raises `ContractError`."""


def check_contracts(test: Any) -> None:
    """Check a test against all contracts; the first one that it breaks is raised.

    Examples
    --------
    >>> from rdiv.discrepancies import Energy
    >>> check_contracts(Energy())
    """
    for contract in CONTRACTS.values():
        contract(test)


def _rows() -> NDArray[np.float64]:
    """Rows in two columns, some of them twice, none of them alike on purpose."""
    x = np.random.default_rng(1).normal(size=(N, 2))
    x[-2:] = x[:2]
    return x


def _masks(n: int, b: int, n_p: int) -> NDArray[np.bool_]:
    return random_subsets(np.random.default_rng(2), b, n, n_p)


def _tested(test: Any) -> int:
    """How many of the rows are tested: all, or the half that a learner did not learn on."""
    return N if not how_it_learns(test) else _prepared_rows(test, _rows())[1]


def _prepared(test: Any, x: NDArray[np.float64]) -> Prepared:
    if not is_discrepancy(test):
        _broken(test, "it has neither prepare(pool, rng) nor learn(pool, is_p, rng)")
    return _prepared_rows(test, x)[0]


def _prepared_rows(test: Any, x: NDArray[np.float64]) -> tuple[Prepared, int]:
    """What a test prepares for rows of which the first are p, and how many rows it tests."""
    pooled = pool_samples(x[:N_P], x[N_P:], rng=SEED)
    pool, ready = pooled.pool, checked(test, _name(test))
    if how_it_learns(test):
        learn, rest = halves_of(pool, pooled.is_p, pooled.stream("halves"))
        ready = ready.learn(pool.take(learn), pooled.is_p[learn], pooled.stream("learn"))
        pool = pool.take(rest)
    return prepare(ready, pool, pooled.stream("fit")), len(pool)


def _name(test: Any) -> str:
    return type(test).__name__


def _broken(test: Any, how: str) -> None:
    raise ContractError(f"{_name(test)}: {how}.")
