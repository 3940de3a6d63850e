"""Gaps of some rows on permutations of all: those of the restricted masks, tile by tile too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from rdiv.inference import tiles
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap, mean_gaps
from rdiv.inference.prepared import Prepared
from rdiv.inference.sampled_gaps import sampled_gaps

RNG = np.random.default_rng
N, ROWS = 36, np.flatnonzero(RNG(1).random(36) < 0.6)


def squares(ratios: Any) -> Any:
    return np.einsum("ij,ij->i", ratios, ratios)


@pytest.mark.parametrize("studentize", [False, True])
@pytest.mark.parametrize("design", [(), ("groups",), ("strata",), ("groups", "strata")])
@pytest.mark.parametrize("m", [1, 3])
def test_tiles_give_the_statistic_of_the_same_masks(
    monkeypatch: pytest.MonkeyPatch, design: tuple[str, ...], m: int, studentize: bool
) -> None:
    """The masks of the tiles are found out by a second test of all rows, whose sums name them."""
    monkeypatch.setattr(tiles, "TILE_ROWS", 5)
    how: dict[str, Any] = {"groups": None, "strata": None}
    if "groups" in design:
        how["groups"] = np.arange(N) // 2
    if "strata" in design:
        how["strata"] = np.arange(N) // 18
    is_p = RNG(2).permutation(18)[np.arange(N) // 2] % 5 < 2
    numbers = RNG(3).exponential(size=(len(ROWS), m))
    gaps = sampled_gaps(numbers, ROWS, N, studentize=studentize, **how)
    prepared = Prepared(lambda masks: squares(gaps(masks)), sums=gaps.sums(squares))
    settings = PermutationSettings(n_resamples=150)
    found = permute(prepared, is_p, settings, rng=RNG(4), **how)
    masks = all_masks(is_p, how, settings)
    if not design:
        assert len(set(masks[:, ROWS].sum(axis=1))) > 1  # counted per mask
    np.testing.assert_allclose(found.null_distribution, squares(gaps(masks)), rtol=1e-7, atol=1e-9)
    part = {name: None if codes is None else codes[ROWS] for name, codes in how.items()}
    alone = mean_gaps(numbers, studentize=studentize, **part)
    np.testing.assert_array_equal(gaps(masks), alone(masks[:, ROWS]))


def all_masks(is_p: Any, how: dict[str, Any], settings: PermutationSettings) -> Any:
    """Every row's place in every mask, from gaps of indicators of one row (or group) each."""
    masks = np.empty((settings.n_resamples, N), dtype=bool)
    for i in range(N):
        own = np.arange(N) == i if how["groups"] is None else how["groups"] == how["groups"][i]
        gap = mean_gap(own.astype(float), studentize=False, signed=True, **how)
        null = permute(gap, is_p, settings, rng=RNG(4), **how).null_distribution
        masks[:, i] = null < 0  # in p, a mean of p above that of q
    return masks


def test_the_level_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nulls in tiles of 8, of rows chosen by their content."""
    monkeypatch.setattr(tiles, "TILE_ROWS", 8)
    count = 0
    for seed in range(300):
        rng = RNG([5, seed])
        losses, is_p = rng.exponential(size=40), rng.permutation(40) < 14
        rows = np.flatnonzero(losses > np.median(losses) / 2)
        gaps = sampled_gaps(losses[rows, None], rows, 40, studentize=True)
        prepared = Prepared(lambda masks, g=gaps: squares(g(masks)), sums=gaps.sums(squares))
        null = permute(prepared, is_p, PermutationSettings(n_resamples=19), rng=rng)
        count += null.pvalue <= 0.1
    assert count <= binom.ppf(1 - 1e-3, 300, 0.1)
