"""Part A: uniform over units, whole groups, strata by their own counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from rdiv.inference.reference_part import reference_part, rows_to_compare


def drawn(seed: int, *args: object, **how: object) -> tuple[int, ...]:
    return tuple(reference_part(*args, rng=np.random.default_rng(seed), **how).tolist())  # type: ignore[arg-type]


def test_every_subset_is_equally_likely() -> None:
    reference = np.array([7, 2, 9, 4, 5])
    subsets = dict.fromkeys(combinations(sorted(reference.tolist()), 2), 0)
    for seed in range(2000):
        subsets[drawn(seed, reference, 0.5)] += 1
    assert chisquare(list(subsets.values())).pvalue > 1e-3


@pytest.mark.parametrize(("share", "count"), [(0.5, 5), (0.29, 2), (0.7, 7), (0.99, 9), (0.1, 1)])
def test_the_share_is_rounded_down(share: float, count: int) -> None:
    assert len(drawn(0, np.arange(10), share)) == count


def test_groups_stay_whole() -> None:
    groups = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 4])
    for seed in range(20):
        chosen = drawn(seed, np.arange(10), 0.5, groups=groups)
        inside = set(groups[list(chosen)].tolist())
        assert len(inside) == 2  # floor of half of five
        assert chosen == tuple(np.flatnonzero(np.isin(groups, list(inside))).tolist())


def test_every_stratum_gives_its_own_share_and_single_units_half_of_theirs() -> None:
    strata = np.array([0] * 6 + [1] * 4 + [2, 3, 4, 5])
    for seed in range(20):
        chosen = np.array(drawn(seed, np.arange(14), 0.5, strata=strata))
        counts = np.bincount(strata[chosen], minlength=6)
        assert counts[:2].tolist() == [3, 2]
        assert counts[2:].sum() == 2


def test_current_rows_of_a_stratum_without_reference_rows_leave_the_test() -> None:
    is_p = np.array([True, True, True, False, False, False])
    strata = np.array([0, 1, 1, 0, 1, 2])
    assert rows_to_compare(is_p, np.array([0]), strata).tolist() == [1, 2, 4, 5]
    assert rows_to_compare(is_p, np.array([1]), strata).tolist() == [0, 2, 3, 4, 5]
