"""Separation: hand-made counts, and a bound on chance that full enumeration confirms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, exp

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import hypergeom, ks_2samp

from rdiv.samples.separation import level_distance, log_chance, rank_distance, separation


def counts(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def test_ranks_are_those_of_kolmogorov_and_smirnov() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, size=30), rng.integers(2, 11, size=50)
    p, q = np.bincount(x, minlength=11), np.bincount(y, minlength=11)
    assert np.isclose(rank_distance(p, q), ks_2samp(x, y).statistic)
    assert rank_distance(q, p) == rank_distance(p, q)


def test_a_vote_leaves_the_row_itself_out() -> None:
    assert level_distance(counts(3, 0), counts(0, 5)) == 1.0
    assert level_distance(counts(3), counts(5)) == -1.0  # a constant: every vote is tied
    assert level_distance(counts(1, 1, 0), counts(0, 0, 1)) == -1.0  # nobody else has the value
    # Value 0: 4 rows of p, 1 of q; value 1: 1 of p, 4 of q. The odd ones out are wrong.
    assert np.isclose(level_distance(counts(4, 1), counts(1, 4)), 0.8 + 0.8 - 1)


def test_samples_count_the_same_whatever_their_size() -> None:
    assert np.isclose(level_distance(counts(9, 1), counts(100, 900)), 0.9 + 0.9 - 1)


@pytest.mark.parametrize(
    ("p", "q", "missing"),
    [
        ([20, 0], [0, 20], (0, 0)),
        ([0, 20], [20, 0], (0, 0)),
        ([10, 10], [0, 0], (0, 20)),  # one file has no value
        ([0, 20], [10, 0], (0, 10)),  # missing below
        ([20, 0], [0, 10], (0, 10)),  # missing above
    ],
)
def test_perfect_thresholds(p: list[int], q: list[int], missing: tuple[int, int]) -> None:
    found = separation(counts(*p), counts(*q), missing, ordered=True)
    assert found is not None
    assert found.distance == 1.0
    assert found.chance < 1e-6


def test_values_without_order_need_a_vote() -> None:
    p, q = counts(10, 0, 10, 0), counts(0, 10, 0, 10)
    found = separation(p, q, (0, 0), ordered=True)  # no threshold does it
    assert found is not None
    assert found.distance == 1.0
    assert max(rank_distance(p, q), rank_distance(q, p)) == 0.5
    assert separation(counts(1, 19), counts(10, 10), (0, 0), ordered=False) is None


def test_values_of_single_rows_count_as_one() -> None:
    ids, none = np.ones(20, dtype=np.int64), np.zeros(20, dtype=np.int64)
    assert separation(np.append(ids, none), np.append(none, ids), (0, 0), ordered=False) is None
    found = separation(ids, none, (0, 20), ordered=False)  # an id in one file, missing in the other
    assert found is not None
    assert found.distance == 1.0


def test_one_file_without_rows_says_nothing() -> None:
    assert separation(counts(3, 1), counts(0, 0), (0, 0), ordered=True) is None


@pytest.mark.parametrize(("m", "n"), [(5, 5), (6, 9), (3, 40)])
@pytest.mark.parametrize("distance", [0.6, 0.9, 1.0])
def test_no_fixed_set_beats_the_bound(m: int, n: int, distance: float) -> None:
    k = np.arange(1, m + n)
    first = np.ceil(m * (distance * n + k) / (m + n) - 1e-9)
    exact = hypergeom.sf(first - 1, m + n, k, m).max()
    bound = exp(log_chance(distance, m, n))
    assert exact <= bound * (1 + 1e-9)
    if distance == 1.0:
        assert np.isclose(bound, 1 / comb(m + n, m))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "codes",
    [range(12), np.arange(12) // 2, np.arange(12) // 3, [0] * 5 + [1] * 5 + [2, 3], [0, 1] * 6],
)
@pytest.mark.parametrize("m", [4, 6])
def test_the_chance_holds_over_all_splits(codes: Sequence[int], m: int, ordered: bool) -> None:
    rows = np.array(codes)
    chances = []
    for chosen in combinations(range(12), m):
        is_p = np.isin(np.arange(12), chosen)
        p, q = (np.bincount(rows[own], minlength=12) for own in (is_p, ~is_p))
        found = separation(p[1:], q[1:], (int(p[0]), int(q[0])), ordered=ordered, least=0.3)
        chances.append(1.0 if found is None else found.chance)
    ranked = np.sort(chances)
    share = np.searchsorted(ranked, ranked, side="right") / len(ranked)
    assert (share <= ranked + 1e-9).all()
