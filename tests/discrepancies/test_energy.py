"""Energy distance against double loops and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import energy_distance

import rdiv
from rdiv.discrepancies import Energy, gram
from rdiv.inference.masks import random_subsets
from rdiv.samples import Pool

RNG = np.random.default_rng(0)


def double_loop(p: np.ndarray, q: np.ndarray) -> float:
    def mean_distance(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.mean([[np.linalg.norm(x - y) for y in b] for x in a]))

    return 2 * mean_distance(p, q) - mean_distance(p, p) - mean_distance(q, q)


@pytest.mark.parametrize(("n_p", "d"), [(2, 1), (9, 3), (18, 5)])
def test_equals_the_double_loop(n_p: int, d: int) -> None:
    x = RNG.normal(size=(20, d)) * np.arange(1, d + 1)
    x[:n_p] += 0.5
    found = rdiv.two_sample_test(x[:n_p], x[n_p:], "energy", n_resamples=19, rng=0)
    expected = double_loop(x[:n_p], x[n_p:])
    assert found.statistic == pytest.approx(expected)
    prepared = Energy().prepare(Pool(x), np.random.default_rng(0))
    masks = random_subsets(np.random.default_rng(1), 15, 20, n_p)
    slow = np.array([double_loop(x[m], x[~m]) for m in masks])
    # Ranked: the distance times n_p n_q / (n_p + n_q), in units that do not matter to a rank.
    ranked = prepared.statistic(masks)
    unit = ranked[0] / slow[0]
    np.testing.assert_allclose(ranked, unit * slow, rtol=1e-9)
    assert [prepared.observe(m).statistic for m in masks] == pytest.approx(slow.tolist())


@pytest.mark.parametrize("n_p", [5, 30])
def test_equals_the_square_of_scipys_in_one_dimension(n_p: int) -> None:
    """scipy gives sqrt(2 * integral (F - G)^2), whose square is 2 E|X-Y| - E|X-X'| - E|Y-Y'|."""
    x = RNG.exponential(size=40)
    found = rdiv.two_sample_test(x[:n_p], x[n_p:], "energy", n_resamples=19, rng=0).statistic
    assert found == pytest.approx(energy_distance(x[:n_p], x[n_p:]) ** 2)


@pytest.mark.parametrize("copies", [1, 3])
def test_identical_files_have_distance_0_and_p_1(copies: int) -> None:
    x = RNG.normal(size=(25, 4)) * [1.0, 1e3, 1e-6, 1.0]
    q = np.concatenate([x[RNG.permutation(25)] for _ in range(copies)])
    result = rdiv.two_sample_test(x, q, "energy", n_resamples=39, rng=0)
    assert (result.statistic, result.ranked, result.pvalue) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_any_scale(scale: float) -> None:
    p, q = RNG.normal(size=(15, 2)), RNG.normal(size=(12, 2)) + 2
    plain, scaled = (
        rdiv.two_sample_test(p * s, q * s, Energy(), n_resamples=19, rng=0) for s in (1.0, scale)
    )
    assert scaled.statistic / scale == pytest.approx(plain.statistic)
    assert plain.rejected
    assert scaled.rejected


def test_constant_inputs_do_not_differ() -> None:
    result = rdiv.two_sample_test(np.full((5, 2), 3.0), np.full((4, 2), 3.0), "energy", rng=0)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_a_subsample_is_blind_and_noted() -> None:
    p, q = RNG.normal(size=(60, 2)), RNG.normal(size=(40, 2)) + 2
    result = rdiv.two_sample_test(p, q, Energy(subsample=50), n_resamples=99, rng=0)
    assert result.notes["rows compared"] == 50
    assert (result.n_p, result.n_q) == (60, 40)
    assert result.discrepancy == "energy(subsample=50)"
    assert result.rejected
    whole = rdiv.two_sample_test(p, q, Energy(subsample=500), n_resamples=99, rng=0)
    assert "rows compared" not in whole.notes
    assert whole.statistic == pytest.approx(rdiv.two_sample_test(p, q, "energy", rng=0).statistic)


def test_too_many_rows_are_refused_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram, "MOST_ROWS", 30)
    x = RNG.normal(size=(40, 1))
    with pytest.raises(ValueError, match=r"all pairs of rows, got 40 rows.*subsample"):
        rdiv.two_sample_test(x[:20], x[20:], "energy", rng=0)
    assert rdiv.two_sample_test(x[:20], x[20:], Energy(subsample=30), rng=0).pvalue > 0


def test_missing_values_are_refused() -> None:
    x = np.array([[1.0, np.nan], [2.0, 3.0], [0.0, np.inf], [1.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"energy needs finite inputs, got 4 NaN.*column 1"):
        rdiv.two_sample_test(x, x, "energy", rng=0)


def test_images_are_compared_as_vectors() -> None:
    images = RNG.random((12, 1, 4, 4))
    flat = images.reshape(12, -1)
    first = rdiv.two_sample_test(images[:5], images[5:], "energy", rng=0).statistic
    assert first == pytest.approx(double_loop(flat[:5], flat[5:]))
