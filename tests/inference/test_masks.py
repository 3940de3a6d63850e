"""Random permutations: exactly uniform, whole groups together, strata kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from rdiv.inference import masks as masks_module
from rdiv.inference.masks import block_sizes, mask_sampler, random_subsets

LEVEL = 1e-3
Draw = Callable[[np.random.Generator, int, int, int], np.ndarray]


def check_uniform(draw: Draw, n: int, k: int, *, draws: int = 6000, seed: int = 0) -> None:
    """All C(n, k) subsets are equally likely (chi-square at level 1e-3)."""
    masks = draw(np.random.default_rng(seed), draws, n, k)
    assert (masks.sum(axis=1) == k).all(), "a subset has the wrong size"
    codes = masks @ (1 << np.arange(n))
    subsets = [sum(1 << i for i in chosen) for chosen in combinations(range(n), k)]
    counts = np.array([(codes == subset).sum() for subset in subsets])
    assert chisquare(counts).pvalue > LEVEL, "subsets are not equally likely"


def check_inclusion(draw: Draw, n: int, k: int, *, draws: int = 3000, seed: int = 0) -> None:
    """Every row is in a subset with probability k / n (chi-square at level 1e-3)."""
    masks = draw(np.random.default_rng(seed), draws, n, k)
    assert (masks.sum(axis=1) == k).all(), "a subset has the wrong size"
    share = k / n
    deviation = masks.sum(axis=0) - draws * share
    # Counts have variance v and covariance -v / (n - 1): this is chi-square with n - 1 degrees.
    statistic = np.square(deviation).sum() / (draws * share * (1 - share)) * (n - 1) / n
    assert LEVEL / 2 < chi2.sf(statistic, n - 1) < 1 - LEVEL / 2, "rows are not equally likely"


@pytest.mark.parametrize("n", [2, 5, 63, 64, 65, 66, 127, 128, 129, 1000, 20_001])
def test_subsets_have_exactly_k_rows(n: int) -> None:
    for k in sorted({0, 1, 2, n // 10, n // 3, n // 2, n - 2, n - 1, n}):
        if 0 <= k <= n:
            masks = random_subsets(np.random.default_rng(n + k), 5, n, k)
            assert masks.shape == (5, n)
            assert masks.dtype == np.bool_
            assert (masks.sum(axis=1) == k).all()


@given(n=st.integers(1, 300), share=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_any_size_and_share(n: int, share: float, seed: int) -> None:
    k = round(share * n)
    masks = random_subsets(np.random.default_rng(seed), 3, n, k)
    assert masks.shape == (3, n)
    assert (masks.sum(axis=1) == k).all()


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("small", [64, 0], ids=["keys", "bits"])
def test_subsets_of_six_are_uniform(k: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks_module, "_SMALL", small)
    check_uniform(random_subsets, 6, k)


@pytest.mark.parametrize(
    ("n", "k"), [(500, 37), (500, 463), (100, 9), (65, 1), (66, 65), (200, 100)]
)
def test_rows_are_included_equally_often(n: int, k: int) -> None:
    check_inclusion(random_subsets, n, k)


@pytest.mark.parametrize("small", [64, 0], ids=["keys", "bits"])
def test_draws_of_one_block_are_independent(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks_module, "_SMALL", small)
    masks = random_subsets(np.random.default_rng(1), 12_000, 4, 2)
    kinds = np.unique(masks @ (1 << np.arange(4)), return_inverse=True)[1]
    pairs = np.bincount(6 * kinds[:-1:2] + kinds[1::2], minlength=36)
    assert chisquare(pairs).pvalue > LEVEL


def bits_without_repair(rng: np.random.Generator, b: int, n: int, k: int) -> np.ndarray:
    """Deliberately broken variant: an independent coin for each row."""
    return rng.random((b, n)) < k / n


def repaired_at_the_front(rng: np.random.Generator, b: int, n: int, k: int) -> np.ndarray:
    """Deliberately broken variant: the surplus is switched off at the first rows, not at random."""
    masks = bits_without_repair(rng, b, n, k)
    for mask in masks:
        surplus = int(mask.sum()) - k
        mask[np.flatnonzero(mask == (surplus > 0))[: abs(surplus)]] = surplus < 0
    return masks


def test_the_checks_reject_broken_samplers() -> None:
    for check, n, k in ((check_uniform, 6, 3), (check_inclusion, 500, 37)):
        with pytest.raises(AssertionError, match="wrong size"):
            check(bits_without_repair, n, k)
        with pytest.raises(AssertionError, match="not equally likely"):
            check(repaired_at_the_front, n, k)


def test_right_marginals_are_not_enough() -> None:
    """Deliberately broken variant: a cyclic shift of one subset has the right sizes and margins."""

    def shifts(rng: np.random.Generator, b: int, n: int, k: int) -> np.ndarray:
        first = rng.integers(n, size=b)
        return (np.arange(n) - first[:, None]) % n < k

    check_inclusion(shifts, 500, 37)
    with pytest.raises(AssertionError, match="not equally likely"):
        check_uniform(shifts, 6, 3)


def test_groups_stay_whole_and_their_number_is_fixed() -> None:
    groups = np.array([0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 1])
    is_p = np.isin(groups, [0, 3])
    masks = mask_sampler(is_p, groups)(np.random.default_rng(0), 3000)
    for group in range(5):
        assert (masks[:, groups == group].sum(axis=1) % (groups == group).sum() == 0).all()
    _, first = np.unique(groups, return_index=True)
    chosen = masks[:, first]
    assert (chosen.sum(axis=1) == 2).all()
    assert len(set(masks.sum(axis=1))) > 1  # the number of rows is not fixed
    kinds, counts = np.unique(chosen @ (1 << np.arange(5)), return_counts=True)
    assert len(kinds) == comb(5, 2)
    assert chisquare(counts).pvalue > LEVEL


def test_strata_keep_their_counts() -> None:
    rng = np.random.default_rng(2)
    strata = rng.integers(0, 6, size=400)
    is_p = rng.random(400) < 0.1 + 0.12 * strata
    masks = mask_sampler(is_p, strata=strata)(np.random.default_rng(3), 200)
    for stratum in range(6):
        inside = strata == stratum
        assert (masks[:, inside].sum(axis=1) == is_p[inside].sum()).all()
        assert (masks[:, inside].any(axis=0) & ~masks[:, inside].all(axis=0)).all()


def test_strata_of_one_shape_are_drawn_apart() -> None:
    strata = np.repeat([0, 1], 3)
    is_p = np.tile([True, False, False], 2)
    masks = mask_sampler(is_p, strata=strata)(np.random.default_rng(4), 4500)
    counts = np.bincount(3 * masks[:, :3].argmax(axis=1) + masks[:, 3:].argmax(axis=1), minlength=9)
    assert chisquare(counts).pvalue > LEVEL


def test_whole_groups_within_strata() -> None:
    groups = np.repeat(np.arange(8), 2)
    strata = np.repeat([0, 1], 8)
    is_p = np.isin(groups, [0, 4, 5])
    masks = mask_sampler(is_p, groups, strata)(np.random.default_rng(5), 100)
    assert (masks[:, ::2] == masks[:, 1::2]).all()
    assert (masks[:, :8].sum(axis=1) == 2).all()
    assert (masks[:, 8:].sum(axis=1) == 4).all()


def test_a_stratum_of_one_side_never_changes() -> None:
    strata = np.array([0, 0, 1, 1, 2, 2])
    is_p = np.array([True, True, False, False, True, False])
    masks = mask_sampler(is_p, strata=strata)(np.random.default_rng(6), 50)
    assert (masks[:, :4] == is_p[:4]).all()
    assert set(masks[:, 4]) == {True, False}


def test_many_pairs_are_quick() -> None:
    pairs = 20_000
    strata, is_p = np.repeat(np.arange(pairs), 2), np.tile([True, False], pairs)
    sampler = mask_sampler(is_p, strata=strata)
    start = time.perf_counter()
    masks = sampler(np.random.default_rng(7), 50)
    assert time.perf_counter() - start < 5  # a loop over strata takes minutes
    assert (masks[:, ::2] != masks[:, 1::2]).all()
    flips = masks[:, ::2].mean()
    assert abs(flips - 0.5) < 5 * 0.5 / (50 * pairs) ** 0.5


@given(n=st.integers(1, 10**7), n_resamples=st.integers(1, 20_000))
def test_blocks_cover_all_resamples_in_bounded_memory(n: int, n_resamples: int) -> None:
    sizes = block_sizes(n, n_resamples)
    assert sum(sizes) == n_resamples
    assert min(sizes) > 0
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) == 1 or max(sizes) * n <= 1 << 25
