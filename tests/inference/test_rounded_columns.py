"""Columns in single precision: their masked sums are exact, and next to nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.checks import GivenGradients as Given

from rdiv.discrepancies import Score
from rdiv.inference import masked_sums as sums
from rdiv.inference.masked_sums import masked_sums, rounded, squared, standardized
from rdiv.inference.masks import random_subsets
from rdiv.parallel.loops import compiled_loops
from rdiv.samples import Pool

RNG = np.random.default_rng
N = 5000


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "FEWEST_SINGLE", 0)


def numbers() -> np.ndarray:
    """Normal, heavy-tailed, one row far from all others, two values, constant."""
    rng = RNG(0)
    x = np.stack([rng.normal(size=N), rng.standard_t(1.5, size=N), np.zeros(N), np.zeros(N),
                  np.ones(N)], axis=1)  # fmt: skip
    x[17, 2] = 1.0
    x[: N // 2, 3] = 1.0
    return x


def in_whole_units(columns: np.ndarray) -> tuple[np.ndarray, float]:
    unit = 2.0 ** (np.ceil(np.log2(np.sqrt(512 * N))) - 23)
    units = columns.astype(np.float64) / unit
    assert np.array_equal(units, np.rint(units))
    return units.astype(np.int64), unit


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_are_exact_in_any_block(order: str) -> None:
    scaled = np.asarray(standardized(numbers())[0], order=order)
    single = rounded(scaled)
    assert single.dtype == np.float32
    units, unit = in_whole_units(single)
    assert np.abs(single - scaled).max() <= unit / 2
    masks = random_subsets(RNG(1), 40, N, N // 3)
    expected = masks.astype(np.int64) @ units * unit
    assert np.array_equal(masked_sums(masks, single), expected)
    for mask, own in zip(masks, expected, strict=True):
        assert np.array_equal(masked_sums(mask[None], single)[0], own)


@pytest.mark.parametrize("n", [N, N - 3, 512, 31, 1])
@pytest.mark.parametrize("m", [1, 8, 21])
def test_compiled_loops_change_no_bit(monkeypatch: pytest.MonkeyPatch, n: int, m: int) -> None:
    pytest.importorskip("numba")
    single = rounded(standardized(RNG(5).standard_t(2, size=(n, m)))[0])
    masks = RNG(6).random((100, n)) < 0.4
    monkeypatch.setattr(sums, "LOADED_FROM", np.inf)
    plain = masked_sums(masks, single)
    calls = []

    def counted(module: str) -> Any:
        calls.append(module)
        return compiled_loops(module)

    monkeypatch.setattr(sums, "LOADED_FROM", 0)
    monkeypatch.setattr(sums, "compiled_loops", counted)
    assert np.array_equal(masked_sums(masks, single), plain)
    assert calls  # the compiled path did run
    assert np.array_equal(masked_sums(masks[:99], single), plain[:99])
    assert len(calls) == 1  # few masks are not worth a table


def test_loops_are_loaded_once_there_is_enough_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    single, calls = rounded(standardized(numbers())[0]), []
    masks = RNG(7).random((100, N)) < 0.5
    monkeypatch.setattr(sums, "_made", [0])
    monkeypatch.setattr(sums, "LOADED_FROM", 2 * masks.size * single.shape[1])
    monkeypatch.setattr(sums, "compiled_loops", calls.append)
    found = [masked_sums(masks, single) for _ in range(3)]
    assert len(calls) == 2
    assert np.array_equal(found[0], found[2])  # and nothing fails where there are none


def test_a_unit_that_is_too_small_loses_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: single precision as it is."""
    scaled = standardized(numbers())[0]
    single = np.asarray(scaled, dtype=np.float32)
    masks = random_subsets(RNG(1), 40, N, N // 3)
    expected = masks @ single.astype(np.float64)
    assert not np.array_equal(masked_sums(masks, single), expected)


@pytest.mark.parametrize("n_p", [N // 2, N // 5])
def test_the_score_hardly_changes(monkeypatch: pytest.MonkeyPatch, n_p: int) -> None:
    x = RNG(2).normal(size=(N, 6)) @ RNG(3).normal(size=(6, 6))
    masks = random_subsets(RNG(4), 50, N, n_p)
    single = Score(Given()).prepare(Pool(x), RNG(0)).statistic(masks)
    monkeypatch.setattr(sums, "FEWEST_SINGLE", x.size + 1)
    double = Score(Given()).prepare(Pool(x), RNG(0)).statistic(masks)
    assert not np.array_equal(single, double)
    # A ratio changes by less than unit / 2 sqrt(n), here .01, and by far less on average.
    np.testing.assert_allclose(np.sqrt(single[:, 0]), np.sqrt(double[:, 0]), atol=0.002)


def test_what_stays_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = standardized(numbers())[0]
    assert squared(rounded(scaled)).dtype == np.float64
    monkeypatch.setattr(sums, "_MOST_SINGLE", N - 1)
    assert rounded(scaled) is scaled
    monkeypatch.setattr(sums, "_MOST_SINGLE", N)
    monkeypatch.setattr(sums, "FEWEST_SINGLE", scaled.size + 1)
    assert rounded(scaled) is scaled


def test_swapping_rows_changes_no_number_per_row() -> None:
    """Rounding sees the pool only: rows in another order have the same multiples."""
    scaled = standardized(numbers())[0]
    order = RNG(5).permutation(N)
    assert np.array_equal(rounded(scaled)[order], rounded(scaled[order]))
