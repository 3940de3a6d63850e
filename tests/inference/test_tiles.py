"""Tiles: uniform over all subsets, the same sums by every way, and tests that keep their level."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chisquare

from rdiv.discrepancies.members import combined
from rdiv.inference import tiles
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.masked_sums import words_by_place
from rdiv.inference.mean_gaps import mean_gap, mean_gaps
from rdiv.inference.packed import PackedMasks, packed_subsets, packed_sums
from rdiv.inference.prepared import Prepared
from rdiv.inference.tiles import TileDraws, tiled_statistics

SETTINGS = PermutationSettings(n_resamples=199)


def small_tiles(monkeypatch: pytest.MonkeyPatch, rows: int = 8) -> None:
    monkeypatch.setattr(tiles, "TILE_ROWS", rows)


def whole_masks(draws: TileDraws) -> NDArray[np.bool_]:
    """All tiles side by side, ``(b, n)``."""
    parts = [next(draws.drawing(t).masks().blocks(10**6)) for t in range(draws.counts.shape[1])]
    return np.concatenate(parts, axis=1)


def share_of_subsets(masks: NDArray[np.bool_], n_p: int) -> float:
    """p-value that all subsets are equally likely."""
    n = masks.shape[1]
    places = {subset: i for i, subset in enumerate(combinations(range(n), n_p))}
    seen = np.zeros(len(places))
    for mask in masks:
        seen[places[tuple(np.flatnonzero(mask))]] += 1
    return float(chisquare(seen).pvalue)


class TestSubsets:
    @pytest.mark.parametrize(("n", "n_p"), [(7, 3), (8, 2)])
    def test_all_are_equally_likely(
        self, monkeypatch: pytest.MonkeyPatch, n: int, n_p: int
    ) -> None:
        small_tiles(monkeypatch, 3)
        masks = whole_masks(TileDraws.plan(n, n_p, 7000, np.random.default_rng(0)))
        assert share_of_subsets(masks, n_p) > 1e-3

    def test_counts_fixed_at_their_mean_are_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        small_tiles(monkeypatch, 4)
        draws = TileDraws.plan(8, 4, 7000, np.random.default_rng(0))
        fixed = TileDraws(8, 4, np.full_like(draws.counts, 2), draws.streams)
        assert share_of_subsets(whole_masks(fixed), 4) < 1e-6

    def test_every_row_and_pair_of_rows_of_a_large_tile(self) -> None:
        """Shares of rows and of neighbours, for a share of p that is no binary fraction."""
        n, b = 1000, 2000
        counts = np.full(b, 137)
        drawn = next(packed_subsets(np.random.default_rng(1), counts, n, 0.137).blocks(b))
        assert (drawn.sum(axis=1) == 137).all()
        rows = chisquare(drawn.sum(axis=0)).statistic * (n - 1) / n / (1 - 0.137)
        assert abs(rows - n) < 5 * (2 * n) ** 0.5
        both = (drawn[:, :-1] & drawn[:, 1:]).sum()
        expected = b * (n - 1) * 137 * 136 / (n * (n - 1))
        assert abs(both - expected) < 6 * expected**0.5

    def test_compiled_loops_draw_the_same(self) -> None:
        pytest.importorskip("numba")
        counts = np.random.default_rng(2).integers(0, 300, size=150)
        drawn = [
            packed_subsets(np.random.default_rng(3), counts, 300, 0.4, compiled=compiled).octets
            for compiled in (False, True)
        ]
        assert (drawn[0] == drawn[1]).all()


class TestSums:
    @pytest.mark.parametrize("m", [1, 2, 5, 24, 70])
    @pytest.mark.parametrize("compiled", [False, True])
    def test_against_a_product(self, m: int, compiled: bool) -> None:
        rng = np.random.default_rng(m)
        masks, columns = rng.random((130, 77)) < 0.3, rng.normal(size=(77, m))
        found = packed_sums(PackedMasks(np.packbits(masks, axis=1), 77), columns, compiled=compiled)
        assert found == pytest.approx(masks.astype(float) @ columns, abs=1e-12)

    @pytest.mark.parametrize("size", [4, 8])
    @pytest.mark.parametrize("octets", [4095, 4096, 4097, 8192])
    def test_masks_whole_pages_apart_are_turned_like_others(self, octets: int, size: int) -> None:
        masks = np.random.default_rng(0).integers(256, size=(9, octets), dtype=np.uint8)
        words = words_by_place(masks, size)
        assert words.shape == (-(-octets // size), 9)
        turned = words.astype(f"<u{size}").T.copy().view(np.uint8)
        np.testing.assert_array_equal(turned[:, :octets], masks)
        assert not turned[:, octets:].any()

    @pytest.mark.parametrize("n_p", [20, 30])
    @pytest.mark.parametrize("groups", [False, True])
    def test_statistics_are_those_of_the_same_masks(
        self, monkeypatch: pytest.MonkeyPatch, groups: bool, n_p: int
    ) -> None:
        small_tiles(monkeypatch)
        rng = np.random.default_rng(4)
        codes = np.repeat(np.arange(60), 3) if groups else None
        n = 180 if groups else 60
        is_p = (np.arange(60) < n_p) if codes is None else (np.arange(60) < n_p)[codes]
        losses, gradients = rng.exponential(size=n), rng.normal(size=(n, 3))
        ratios = mean_gaps(gradients, studentize=True, groups=codes)
        both = combined(
            {
                "r-div": mean_gap(losses, groups=codes),
                "score": Prepared(
                    lambda masks: (ratios(masks) ** 2).sum(axis=1),
                    sums=ratios.sums(lambda t: (t**2).sum(axis=1)),
                ),
            }
        )
        found = tiled_statistics(both.sums, is_p, 50, rng=np.random.default_rng(5))
        masks = whole_masks(TileDraws.plan(60, n_p, 50, np.random.default_rng(5)))
        slow = both.statistic(masks if codes is None else masks[:, codes])
        assert found == pytest.approx(slow, rel=1e-9)

    def test_the_number_of_workers_changes_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        small_tiles(monkeypatch)
        losses = np.random.default_rng(6).exponential(size=100)
        prepared = mean_gap(losses)
        found = [
            permute(
                prepared, np.arange(100) < 40, PermutationSettings(n_resamples=300, n_jobs=jobs),
                rng=np.random.default_rng(7),
            ).parts
            for jobs in (1, 2)
        ]  # fmt: skip
        assert (found[0] == found[1]).all()

    def test_other_statistics_are_permuted_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        small_tiles(monkeypatch)
        monkeypatch.setattr(tiles, "tiled_statistics", None)
        is_p = np.arange(40) % 2 == 0
        numbers = np.random.default_rng(8).normal(size=40)
        rng = np.random.default_rng(9)
        permute(Prepared(lambda masks: np.abs(masks @ numbers)), is_p, SETTINGS, rng=rng)
        with pytest.raises(TypeError):
            permute(mean_gap(numbers), is_p, SETTINGS, rng=rng)


def rejections(draws: int, groups: bool, spoil: Any = None) -> int:
    """How often equal samples are rejected at level .1, in tiles of 8 units."""
    count = 0
    for seed in range(draws):
        rng = np.random.default_rng([11, seed])
        codes = np.repeat(np.arange(30), rng.integers(1, 4, size=30)) if groups else None
        units = rng.permutation(30) < 12
        is_p = units if codes is None else units[codes]
        losses = rng.exponential(size=len(is_p))
        if codes is not None:
            losses += rng.exponential(size=30)[codes]
        if spoil is not None:
            losses = losses + spoil(is_p)
        null = permute(
            mean_gap(losses, groups=codes), is_p, PermutationSettings(n_resamples=19),
            rng=rng, groups=codes,
        )  # fmt: skip
        count += null.pvalue <= 0.1
    return count


@pytest.mark.parametrize("groups", [False, True])
def test_the_level_holds(monkeypatch: pytest.MonkeyPatch, groups: bool) -> None:
    small_tiles(monkeypatch)
    assert rejections(400, groups) <= binom.ppf(1 - 1e-3, 400, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [False, True])
def test_the_level_holds_at_length(monkeypatch: pytest.MonkeyPatch, groups: bool) -> None:
    small_tiles(monkeypatch)
    low, high = binom.ppf([1e-3, 1 - 1e-3], 5000, 0.1)
    assert low <= rejections(5000, groups) <= high


def test_counts_fixed_at_their_mean_lose_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles that differ in their mean loss, as a canonical order that says something would."""
    small_tiles(monkeypatch)

    def plan(n: int, n_p: int, b: int, rng: np.random.Generator) -> TileDraws:
        sizes = np.array([8, 8, 8, 6])
        counts = np.tile(np.array([3, 3, 3, 3]), (b, 1))
        return TileDraws(n, n_p, counts, rng.spawn(len(sizes)))

    monkeypatch.setattr(TileDraws, "plan", staticmethod(plan))

    def spoil(is_p: NDArray[np.bool_]) -> NDArray[np.float64]:
        return 10.0 * (np.arange(len(is_p)) < 8)

    assert rejections(400, False, spoil) > binom.ppf(1 - 1e-6, 400, 0.1)


def test_a_large_pool_agrees_with_whole_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real tiles: the null has the mean and spread that whole masks give."""
    rng = np.random.default_rng(12)
    losses, is_p = rng.exponential(size=150_000), np.arange(150_000) < 50_000
    prepared = mean_gap(losses)
    found = permute(prepared, is_p, SETTINGS, rng=rng).null_distribution
    monkeypatch.setattr(tiles, "TILE_ROWS", 10**9)
    whole = permute(prepared, is_p, SETTINGS, rng=rng).null_distribution
    spread = (found.var() / 199 + whole.var() / 199) ** 0.5
    assert abs(found.mean() - whole.mean()) < 4 * spread


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "numba"])
def test_equal_sums_are_ties(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Losses of 0 and 1: the gap is a function of how many ones p has, counted exactly."""
    if compiled:
        pytest.importorskip("numba")
    small_tiles(monkeypatch, 500)
    monkeypatch.setattr(tiles, "COMPILED_FROM", 0 if compiled else 10**18)
    n, n_p, n_ones = 4000, 1500, 300
    losses = np.random.default_rng(17).permutation((np.arange(n) < n_ones).astype(float))
    is_p = np.random.default_rng(18).permutation(n) < n_p
    null = permute(
        mean_gap(losses, studentize=False), is_p, SETTINGS, rng=np.random.default_rng(19)
    )
    masks = whole_masks(TileDraws.plan(n, n_p, 199, np.random.default_rng(19)))
    ones = np.abs(np.r_[losses[is_p].sum(), masks @ losses] * n - n_ones * n_p)
    assert null.pvalue == (1 + (ones[1:] >= ones[0]).sum()) / 200
