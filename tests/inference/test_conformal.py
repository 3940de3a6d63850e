"""Conformal p-values: independent and uniform, whatever the numbers are."""

from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from scipy.stats import kstest

from rdiv.inference.conformal import RankedNumbers, conformal_pvalues, earlier_counts


def slow_pvalues(reference, stream, draws):
    known, found = list(reference), []
    for value, draw in zip(stream, draws, strict=True):
        above = sum(other > value for other in known)
        equal = 1 + sum(other == value for other in known)
        known.append(value)
        found.append((above + draw * equal) / len(known))
    return np.array(found)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [3, 40, 10**9])
def test_pvalues_are_those_of_a_slow_count(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    reference, stream = (rng.integers(levels, size=n).astype(float) for n in (17, 60))
    draws = 1 - rng.random(60)
    found = conformal_pvalues(reference, stream, draws)
    assert np.array_equal(found, slow_pvalues(reference, stream, draws))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("levels", [1, 2, 7, 500])
def test_earlier_counts_are_those_of_a_slow_count(compiled: bool, levels: int) -> None:
    codes = np.random.default_rng(levels).integers(levels, size=200)
    less, equal = earlier_counts(codes, compiled=compiled)
    assert less.tolist() == [int((codes[:t] < codes[t]).sum()) for t in range(200)]
    assert equal.tolist() == [int((codes[:t] == codes[t]).sum()) for t in range(200)]


def test_nothing_has_no_earlier_counts() -> None:
    assert [len(part) for part in earlier_counts(np.empty(0, np.int64))] == [0, 0]


def test_ranks_of_a_stream_are_independent_and_uniform() -> None:
    # All orders of five numbers: the first two are the reference, ranks are p-values at draw 1.
    found = [
        tuple(conformal_pvalues(np.array(order[:2]), np.array(order[2:]), np.ones(3)))
        for order in permutations([0.0, 1.0, 2.0, 3.0, 4.0])
    ]
    cells, counts = np.unique(np.array(found).round(9), axis=0, return_counts=True)
    assert len(cells) == 3 * 4 * 5
    assert set(counts) == {2}


@pytest.mark.parametrize("levels", [2, 5])
def test_ties_are_broken_by_the_draws(levels: int) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(levels, size=(4000, 8)).astype(float)
    found = np.array([conformal_pvalues(row[:5], row[5:], 1 - rng.random(3)) for row in numbers])
    for column in found.T:
        assert kstest(column, "uniform").pvalue > 0.001
    assert np.abs(np.corrcoef(found.T)[np.triu_indices(3, 1)]).max() < 4 / sqrt(4000)


def test_batches_give_the_pvalues_of_the_whole_stream() -> None:
    rng = np.random.default_rng(1)
    reference, stream = rng.normal(size=50).round(1), rng.normal(size=90).round(1)
    draws = 1 - rng.random(90)
    known, found = RankedNumbers(np.sort(reference)), []
    for part in (slice(0, 1), slice(1, 40), slice(40, 90)):
        found.append(known.pvalues(stream[part], draws[part]))
        known = known.joined(stream[part])
    assert np.array_equal(np.concatenate(found), conformal_pvalues(reference, stream, draws))
    assert np.array_equal(known.values, np.sort(np.concatenate([reference, stream])))


def test_counted_numbers_rank_as_the_numbers_do() -> None:
    rng = np.random.default_rng(2)
    reference, stream = rng.integers(9, size=80).astype(float), rng.integers(12, size=70) * 1.0
    known, draws = RankedNumbers(np.sort(reference)), 1 - rng.random(70)
    counted = known.compacted(50)
    assert counted.counts is not None
    assert not counted.spread.any()
    assert len(counted) == 80
    assert np.array_equal(counted.pvalues(stream, draws), known.pvalues(stream, draws))
    more = counted.joined(stream)
    assert len(more) == 150
    later = rng.integers(15, size=20) * 1.0
    exact = known.joined(stream)
    assert np.array_equal(more.pvalues(later, draws[:20]), exact.pvalues(later, draws[:20]))


def test_a_compacted_multiset_is_bounded_and_keeps_its_count() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.exponential(size=9000), np.zeros(1000)])
    small = RankedNumbers(np.sort(values)).compacted(200)
    assert len(small.values) <= 250
    assert len(small) == 10_000
    assert small.counts[0] == 1000  # a frequent value stays by itself
    again = small.joined(rng.exponential(size=5000)).compacted(200)
    assert len(again) == 15_000
    assert len(again.values) <= 250


def test_pvalues_among_compacted_numbers_are_independent_and_uniform() -> None:
    rng = np.random.default_rng(4)
    found = []
    for _ in range(4000):
        numbers = rng.random(34)
        known = RankedNumbers(np.sort(numbers[:20])).compacted(6)
        first = known.pvalues(numbers[20:27], 1 - rng.random(7))
        known = known.joined(numbers[20:27]).compacted(6)
        found.append([*first, *known.pvalues(numbers[27:], 1 - rng.random(7))])
    columns = np.array(found)
    for column in columns.T:
        assert kstest(column, "uniform").pvalue > 0.0005
    assert np.abs(np.corrcoef(columns.T)[np.triu_indices(14, 1)]).max() < 4.5 / sqrt(4000)


def test_a_fixed_reference_is_caught() -> None:
    # Deliberately broken: p-values among a reference that does not grow depend on one another.
    rng = np.random.default_rng(5)
    broken, right = [], []
    for _ in range(600):
        numbers, draws = rng.random(30), 1 - rng.random(20)
        known = RankedNumbers(np.sort(numbers[:10]))
        pairs = zip(numbers[10:, None], draws[:, None], strict=True)
        broken.append(np.mean([known.pvalues(*pair) for pair in pairs]))
        right.append(known.pvalues(numbers[10:], draws).mean())
    expected = 1 / 12 / 20  # variance of the mean of 20 independent uniform numbers
    error = expected * sqrt(2 / 600)
    assert abs(np.var(right) - expected) < 5 * error
    assert np.var(broken) > expected + 10 * error
