"""The split by loss is the exact maximiser of R-Div for its share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiv.noisy_labels import split_by_loss
from rdiv.noisy_labels.splitting import SHARES, paper_share, part_gap, top_rows


@given(st.lists(st.floats(0, 30, width=32), min_size=3, max_size=8), st.integers(1, 7))
def test_no_other_split_of_the_size_is_further_apart(losses: list[float], count: int) -> None:
    count = min(count, len(losses) - 1)
    values = np.array(losses, dtype=np.float64)
    noisy = split_by_loss(values, count / len(values))
    assert noisy.sum() == count
    gaps = []
    for chosen in combinations(range(len(values)), count):
        mask = np.zeros(len(values), dtype=bool)
        mask[list(chosen)] = True
        gaps.append(part_gap(values, mask))
    assert part_gap(values, noisy) >= max(gaps) - 1e-9


def test_equal_losses_go_by_their_order() -> None:
    assert split_by_loss([1.0, 1.0, 1.0, 0.0], 0.5).tolist() == [True, True, False, False]


def test_the_gap_of_a_part_without_rows_is_not_a_number() -> None:
    assert np.isnan(part_gap(np.ones(3), np.zeros(3, dtype=bool)))


def test_the_share_of_the_paper_has_the_mean_discrepancy() -> None:
    losses = np.random.default_rng(0).exponential(size=400)
    gaps = {share: part_gap(losses, top_rows(losses, share)) for share in SHARES}
    chosen = paper_share(losses)
    mean = np.mean(list(gaps.values()))
    assert abs(gaps[chosen] - mean) == min(abs(gap - mean) for gap in gaps.values())


@pytest.mark.parametrize("rate", [1.0, -0.2, 1.7, "many", None, float("nan")])
def test_a_rate_that_is_no_share_is_refused(rate: object) -> None:
    with pytest.raises(ValueError, match="noise_rate must be a share of at least 0 and below 1"):
        split_by_loss([0.0, 1.0], rate)  # type: ignore[arg-type]


@pytest.mark.parametrize("losses", [[[0.0, 1.0]], [0.0, float("inf")]])
def test_losses_must_be_finite_numbers(losses: object) -> None:
    with pytest.raises(ValueError, match="losses must be finite numbers, one per row"):
        split_by_loss(losses, 0.5)
