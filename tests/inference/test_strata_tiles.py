"""Permutations within strata, tile by tile: uniform, exact, and those of whole masks."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chisquare

from rdiv.discrepancies.omnibus import combined
from rdiv.inference import tiles
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap, mean_gaps
from rdiv.inference.prepared import Prepared

RNG = np.random.default_rng
SIZES, P = (2, 3, 7, 1, 2), (1, 1, 3, 1, 2)  # pairs, small, larger than a tile, all of one sample


def small_tiles(monkeypatch: pytest.MonkeyPatch, rows: int = 4) -> None:
    monkeypatch.setattr(tiles, "TILE_ROWS", rows)


def design(sizes: Sequence[int], p: Sequence[int]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Strata in mixed order, and a split with so many rows of p in each."""
    strata = np.repeat(np.arange(len(sizes)), sizes)
    is_p = np.concatenate([np.arange(n) < k for n, k in zip(sizes, p, strict=True)])
    order = RNG(0).permutation(len(strata))
    return strata[order], is_p[order]


def decoded(gaps: NDArray[np.float64], strata: NDArray[Any], is_p: Any) -> NDArray[np.bool_]:
    """Masks from gaps of the numbers 1, 2, 4, ...: a gap within strata gives the sum over p."""
    n, codes = len(strata), np.unique(strata)
    numbers = 2.0 ** np.arange(n)
    whole, weight = 0.0, 0.0
    for code in codes:
        own = strata == code
        k = int(is_p[own].sum())
        whole += k * numbers[own].sum() / own.sum()
        weight += k * (own.sum() - k) / own.sum()
    sums = np.rint(whole - weight * gaps).astype(np.int64)
    return ((sums[:, None] >> np.arange(n)) & 1).astype(bool)


def drawn_masks(
    strata: NDArray[Any], is_p: NDArray[np.bool_], draws: int, seed: int
) -> NDArray[np.bool_]:
    gap = mean_gap(2.0 ** np.arange(len(strata)), studentize=False, signed=True, strata=strata)
    settings = PermutationSettings(n_resamples=draws)
    null = permute(gap, is_p, settings, rng=RNG(seed), strata=strata).null_distribution
    return decoded(null, strata, is_p)


def share_of_subsets(monkeypatch: pytest.MonkeyPatch, draws: int) -> float:
    """P-value of the hypothesis that all splits within strata are equally likely."""
    small_tiles(monkeypatch)
    strata, is_p = design(SIZES, P)
    masks = drawn_masks(strata, is_p, draws, 1)
    for code, k in enumerate(P):
        assert (masks[:, strata == code].sum(axis=1) == k).all()
    cells = np.unique(masks, axis=0, return_counts=True)[1]
    possible = int(np.prod([comb(n, k) for n, k in zip(SIZES, P, strict=True)]))
    assert possible == 210
    counts = np.concatenate([cells, np.zeros(possible - len(cells))])
    return float(chisquare(counts).pvalue)


def test_all_splits_within_strata_are_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    assert share_of_subsets(monkeypatch, 21_000) > 1e-4


def fixed_counts(rng: Any, sizes: Sequence[int], n_p: int, b: int) -> NDArray[np.int64]:
    """Deliberately broken: every tile gets its mean number of p, as near as that is possible."""
    ends = np.rint(np.cumsum([0, *sizes]) * n_p / sum(sizes)).astype(np.int64)
    return np.tile(np.diff(ends), (b, 1))


def test_counts_fixed_at_their_mean_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "tile_counts", fixed_counts)
    assert share_of_subsets(monkeypatch, 2_100) < 1e-6


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("studentize", [False, True])
def test_statistics_are_those_of_the_same_masks(
    monkeypatch: pytest.MonkeyPatch, grouped: bool, studentize: bool
) -> None:
    small_tiles(monkeypatch, 6)
    sizes, p = (2, 2, 2, 3, 5, 9, 13, 1), (1, 1, 1, 1, 2, 4, 6, 1)
    strata, is_p = design(sizes, p)
    masks = drawn_masks(strata, is_p, 300, 5)
    numbers = RNG(2).exponential(size=(len(strata), 3))
    groups = None
    if grouped:  # the same units, of one to three rows
        rows = RNG(3).integers(1, 4, size=len(strata))
        groups = np.repeat(np.arange(len(strata)), rows)
        strata, is_p, masks = strata[groups], is_p[groups], masks[:, groups]
        numbers = RNG(4).exponential(size=(len(strata), 3))
    gaps = mean_gaps(numbers, studentize=studentize, groups=groups, strata=strata)

    def first(found: Any) -> Any:
        return found[:, 0]

    prepared = Prepared(lambda masks: first(gaps(masks)), sums=gaps.sums(first))
    settings = PermutationSettings(n_resamples=300)
    null = permute(prepared, is_p, settings, rng=RNG(5), strata=strata, groups=groups)
    np.testing.assert_allclose(null.null_distribution, gaps(masks)[:, 0], rtol=1e-8, atol=1e-10)


def test_matched_pairs_and_a_single_small_stratum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variances between strata, and that of one small stratum among large ones."""
    for sizes, p in (((2,) * 12, (1,) * 12), ((3, 8, 9), (1, 4, 4)), ((2, 9), (1, 3))):
        strata, is_p = design(sizes, p)
        numbers = RNG(6).exponential(size=len(strata))
        small_tiles(monkeypatch, 4)
        masks = drawn_masks(strata, is_p, 99, 7)
        prepared = mean_gap(numbers, strata=strata)
        settings = PermutationSettings(n_resamples=99)
        null = permute(prepared, is_p, settings, rng=RNG(7), strata=strata)
        expected = prepared.statistic(masks)
        np.testing.assert_allclose(null.null_distribution, expected, rtol=1e-7, atol=1e-9)


def test_members_of_a_combination_share_the_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    small_tiles(monkeypatch, 5)
    strata, is_p = design((2, 3, 8, 4), (1, 1, 3, 2))
    numbers = RNG(8).normal(size=(len(strata), 2))
    alone = [mean_gap(numbers[:, j], strata=strata) for j in range(2)]
    together = combined({"a": alone[0], "b": alone[1]})
    settings = PermutationSettings(n_resamples=59)
    both = permute(together, is_p, settings, rng=RNG(9), strata=strata).parts
    for j, one in enumerate(alone):
        single = permute(one, is_p, settings, rng=RNG(9), strata=strata).parts
        np.testing.assert_array_equal(both[:, j], single[:, 0])


def test_the_number_of_workers_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    small_tiles(monkeypatch, 16)
    strata = RNG(10).integers(0, 9, size=400) ** 2 // 6
    is_p, prepared = RNG(11).random(400) < 0.4, mean_gap(RNG(12).normal(size=400), strata=strata)
    found = [
        permute(prepared, is_p, PermutationSettings(n_jobs=jobs), rng=RNG(13), strata=strata).parts
        for jobs in (1, 2)
    ]
    assert found[0].tobytes() == found[1].tobytes()


def rejections(draws: int, groups: bool, spoil: float = 0.0) -> int:
    """How often samples that are alike within strata are rejected at level .1, tiles of 8."""
    count = 0
    for seed in range(draws):
        rng = RNG([14, seed])
        strata = np.repeat(np.arange(6), [2, 2, 2, 3, 5, 18])
        units = np.zeros(32, dtype=bool)
        for code, k in enumerate((1, 1, 1, 1, 2, 7)):
            units[rng.choice(np.flatnonzero(strata == code), k, replace=False)] = True
        codes = np.repeat(np.arange(32), rng.integers(1, 4, size=32)) if groups else None
        is_p = units if codes is None else units[codes]
        losses = rng.exponential(size=32) + 3 * strata
        losses[-18:-10] += spoil  # one tile of the large stratum
        if codes is not None:
            strata, losses = strata[codes], losses[codes] + rng.exponential(size=len(codes))
        prepared = mean_gap(losses, groups=codes, strata=strata)
        settings = PermutationSettings(n_resamples=19)
        null = permute(prepared, is_p, settings, rng=rng, groups=codes, strata=strata)
        count += null.pvalue <= 0.1
    return count


@pytest.mark.parametrize("groups", [False, True])
def test_the_level_holds(monkeypatch: pytest.MonkeyPatch, groups: bool) -> None:
    small_tiles(monkeypatch, 8)
    assert rejections(300, groups) <= binom.ppf(1 - 1e-3, 300, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [False, True])
def test_the_level_holds_at_length(monkeypatch: pytest.MonkeyPatch, groups: bool) -> None:
    small_tiles(monkeypatch, 8)
    low, high = binom.ppf([1e-3, 1 - 1e-3], 5000, 0.1)
    assert low <= rejections(5000, groups) <= high


def test_counts_fixed_at_their_mean_lose_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    small_tiles(monkeypatch, 8)
    monkeypatch.setattr(tiles, "tile_counts", fixed_counts)
    assert rejections(300, False, spoil=20.0) > binom.ppf(1 - 1e-6, 300, 0.1)


def test_a_large_pool_agrees_with_whole_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real tiles, some strata larger than one: the null has the spread that whole masks give."""
    rng = RNG(15)
    strata = np.concatenate([np.zeros(80_000, dtype=int), 1 + np.arange(30_000) // 4])
    is_p, losses = rng.random(len(strata)) < 0.3, rng.exponential(size=len(strata))
    prepared, settings = mean_gap(losses, strata=strata), PermutationSettings(n_resamples=199)
    found = permute(prepared, is_p, settings, rng=rng, strata=strata).null_distribution
    monkeypatch.setattr(tiles, "TILE_ROWS", 10**9)
    whole = permute(prepared, is_p, settings, rng=rng, strata=strata).null_distribution
    error = np.sqrt(2 * (1 - 2 / np.pi) / 199)  # of the difference of two means of abs(t)
    assert abs(found.mean() - whole.mean()) < 4 * error
