"""Masked mean gaps against slow loops, in every design, at every scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind, ttest_rel

import rdiv
from rdiv.discrepancies import Prepared
from rdiv.inference import masked_sums, packed, tiles
from rdiv.inference.engine import PermutationSettings, permutation_pvalue, permute
from rdiv.inference.masks import mask_sampler, random_subsets
from rdiv.inference.mean_gaps import mean_gap, mean_gaps
from rdiv.models.protocol import check_losses
from rdiv.parallel.loops import compiled_loops
from rdiv.samples import Pool

RNG = np.random.default_rng(0)


def gap_of(prepared: Prepared, mask: np.ndarray) -> tuple[float, float]:
    found = prepared.observe(mask)
    return found.gap, found.error


def plain_gaps(numbers: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return np.array([numbers[~m].mean(axis=0) - numbers[m].mean(axis=0) for m in masks])


def welch(numbers: np.ndarray, masks: np.ndarray) -> np.ndarray:
    rows = []
    for mask in masks:
        sides = numbers[mask], numbers[~mask]
        error = np.sqrt(sum(side.var(axis=0, ddof=1) / len(side) for side in sides))
        rows.append((sides[1].mean(axis=0) - sides[0].mean(axis=0)) / error)
    return np.array(rows)


def clustered(numbers: np.ndarray, groups: np.ndarray, mask: np.ndarray) -> tuple[float, float]:
    """Gap and cluster-robust standard error by loops over groups."""
    means, variance = [], 0.0
    for side in (mask, ~mask):
        mean = numbers[side].mean()
        codes = np.unique(groups[side])
        residuals = [sum(v - mean for v in numbers[groups == g]) for g in codes]
        g, n = len(codes), int(side.sum())
        variance += g / (g - 1) * sum(r * r for r in residuals) / n**2
        means.append(mean)
    return means[1] - means[0], float(np.sqrt(variance))


def stratified(numbers: np.ndarray, strata: np.ndarray, mask: np.ndarray) -> tuple[float, float]:
    """Weighted within-stratum gap and Neyman's standard error, for strata of two rows a side."""
    weights, gaps, variances = [], [], []
    for code in np.unique(strata):
        p, q = numbers[mask & (strata == code)], numbers[~mask & (strata == code)]
        if not len(p) or not len(q):
            continue
        weights.append(len(p) * len(q) / (len(p) + len(q)))
        gaps.append(q.mean() - p.mean())
        variances.append(p.var(ddof=1) / len(p) + q.var(ddof=1) / len(q))
    w = np.array(weights) / sum(weights)
    return float(w @ gaps), float(np.sqrt(w**2 @ variances))


@pytest.mark.parametrize("n_p", [2, 11, 38])
@pytest.mark.parametrize("m", [1, 3])
def test_gaps_and_ratios_equal_the_loops(n_p: int, m: int) -> None:
    numbers = RNG.normal(size=(40, m)) * [1.0, 5.0, 0.1][:m] + [0.0, 100.0, -3.0][:m]
    masks = random_subsets(np.random.default_rng(1), 25, 40, n_p)
    gaps = mean_gaps(numbers, studentize=False)(masks)
    assert gaps.shape == (25, m)
    np.testing.assert_allclose(gaps, plain_gaps(numbers, masks), rtol=1e-10)
    ratios = mean_gaps(numbers, studentize=True)(masks)
    np.testing.assert_allclose(ratios, welch(numbers, masks), rtol=1e-10)


def test_the_ratio_is_welchs_t() -> None:
    losses, mask = RNG.normal(size=30), np.arange(30) < 12
    expected = ttest_ind(losses[~mask], losses[mask], equal_var=False).statistic
    assert mean_gaps(losses[:, None], studentize=True)(mask[None])[0, 0] == pytest.approx(expected)
    prepared = mean_gap(losses)
    assert prepared.statistic(mask[None])[0] == pytest.approx(abs(expected))
    risks = losses[mask].mean(), losses[~mask].mean()
    found = prepared.observe(mask)
    assert (found.risk_p, found.risk_q) == pytest.approx(risks)
    assert found.gap == pytest.approx(risks[1] - risks[0])
    assert found.statistic == abs(found.gap)
    assert found.gap / found.error == pytest.approx(expected)


def test_groups_equal_a_slow_cluster_robust_computation() -> None:
    groups = np.repeat(np.arange(12), [1, 4, 2, 3, 5, 1, 1, 6, 2, 2, 3, 4])
    order = np.random.default_rng(2).permutation(len(groups))
    groups = groups[order]
    losses = RNG.normal(size=len(groups)) + groups
    masks = mask_sampler(np.isin(groups, [0, 3, 4, 7, 9]), groups)(np.random.default_rng(3), 30)
    expected = np.array([clustered(losses, groups, mask) for mask in masks])
    for studentize, wanted in ((True, expected[:, 0] / expected[:, 1]), (False, expected[:, 0])):
        found = mean_gaps(losses[:, None], studentize=studentize, groups=groups)(masks)[:, 0]
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    prepared = mean_gap(losses, groups=groups)
    np.testing.assert_allclose([gap_of(prepared, mask) for mask in masks], expected, rtol=1e-10)


def test_groups_of_one_row_are_rows() -> None:
    losses, masks = RNG.normal(size=20), random_subsets(np.random.default_rng(4), 9, 20, 8)
    alone = mean_gap(losses, groups=np.random.default_rng(4).permutation(20)).statistic(masks)
    np.testing.assert_allclose(alone, mean_gap(losses).statistic(masks), rtol=1e-10)


def test_large_strata_equal_a_slow_weighted_computation() -> None:
    rng = np.random.default_rng(5)
    strata = np.repeat([0, 1, 2, 3], [9, 14, 25, 6])[rng.permutation(54)]
    is_p = np.zeros(54, dtype=bool)
    for code, n_p in enumerate((2, 10, 12, 4)):
        is_p[np.flatnonzero(strata == code)[:n_p]] = True
    losses = rng.normal(size=54) + 3 * strata
    masks = mask_sampler(is_p, strata=strata)(rng, 30)
    expected = np.array([stratified(losses, strata, mask) for mask in masks])
    ratios = mean_gaps(losses[:, None], studentize=True, strata=strata)(masks)[:, 0]
    np.testing.assert_allclose(ratios, expected[:, 0] / expected[:, 1], rtol=1e-10)
    gaps = mean_gaps(losses[:, None], studentize=False, strata=strata)(masks)[:, 0]
    np.testing.assert_allclose(gaps, expected[:, 0], rtol=1e-10)
    prepared = mean_gap(losses, strata=strata)
    np.testing.assert_allclose([gap_of(prepared, mask) for mask in masks], expected, rtol=1e-10)
    assert prepared.observe(masks[0]).statistic == pytest.approx(abs(expected[0, 0]))


def test_matched_pairs_give_the_paired_t() -> None:
    rng = np.random.default_rng(6)
    level = 10 * rng.normal(size=15)
    p, q = level + rng.normal(size=15), level + rng.normal(size=15) + 0.3
    losses, strata = np.concatenate([p, q]), np.tile(np.arange(15), 2)
    mask = np.arange(30) < 15
    ratio = mean_gaps(losses[:, None], studentize=True, strata=strata)(mask[None])[0, 0]
    assert ratio == pytest.approx(ttest_rel(q, p).statistic)
    gap, error = gap_of(mean_gap(losses, strata=strata), mask)
    assert gap == pytest.approx((q - p).mean())
    assert error == pytest.approx((p - q).std(ddof=1) / np.sqrt(15))


def test_a_stratum_of_one_sample_carries_no_weight() -> None:
    losses = np.concatenate([RNG.normal(size=20), [50.0, 60.0, 70.0]])
    strata = np.repeat([0, 1], [20, 3])
    mask = np.arange(23) < 8
    mask[20:] = True
    with_it = gap_of(mean_gap(losses, strata=strata), mask)
    without = gap_of(mean_gap(losses[:20], strata=strata[:20]), mask[:20])
    assert with_it == pytest.approx(without)


def test_one_row_against_many_in_the_only_shared_stratum_is_still_ranked() -> None:
    """No spread can be estimated on its own side or between strata; its gap must still count."""
    rng = np.random.default_rng(7)
    losses = np.concatenate([[30.0], rng.normal(size=40), rng.normal(size=5)])
    strata = np.repeat([0, 1], [41, 5])
    mask = np.isin(np.arange(46), [0, 41, 42, 43, 44, 45])
    null = permute(
        mean_gap(losses, strata=strata),
        mask,
        PermutationSettings(n_resamples=399),
        rng=rng,
        strata=strata,
    )
    assert null.pvalue < 0.06  # the largest of 41 rows: 1 / 41 in the limit


def test_groups_within_strata_are_finite_and_signed() -> None:
    rng = np.random.default_rng(8)
    groups, strata = np.repeat(np.arange(16), 3), np.repeat([0, 1], 24)
    mask = np.isin(groups, [0, 1, 2, 8, 9, 10, 11])
    losses = rng.normal(size=48) + 5 * strata + 2.0 * ~mask
    ratios = mean_gaps(losses[:, None], studentize=True, groups=groups, strata=strata)(mask[None])
    assert np.isfinite(ratios).all()
    assert ratios[0, 0] > 3
    slow = [clustered(losses[strata == s], groups[strata == s], mask[strata == s]) for s in (0, 1)]
    weights = np.array([9 * 15 / 24, 12 * 12 / 24])
    gap = weights @ [gap for gap, _ in slow] / weights.sum()
    error = np.sqrt(weights**2 @ [error**2 for _, error in slow]) / weights.sum()
    assert ratios[0, 0] == pytest.approx(gap / error)


def test_nothing_over_nothing_is_zero_and_a_gap_over_nothing_infinite() -> None:
    masks = np.array([[True, True, False, False], [True, False, True, False]])
    step = mean_gaps(np.array([[1.0], [1.0], [2.0], [2.0]]), studentize=True)(masks)
    assert step.tolist() == [[np.inf], [0.0]]
    flat = mean_gaps(np.full((4, 1), 0.1), studentize=True)(masks)
    assert flat.tolist() == [[0.0], [0.0]]
    assert mean_gaps(np.zeros((4, 1)), studentize=True)(masks).tolist() == [[0.0], [0.0]]
    both = np.array([[1.0, 7.0], [1.0, 7.0], [2.0, 7.0], [2.0, 7.0]])  # one column constant
    assert mean_gaps(both, studentize=True)(masks).tolist() == [[np.inf, 0.0], [0.0, 0.0]]
    assert mean_gap(np.full(4, 3.3)).statistic(masks).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", [1e300, 1e150, 1e-150, 1e-300])
@pytest.mark.parametrize(
    "design", [{}, {"groups": np.arange(24) // 2}, {"strata": np.arange(24) % 3}]
)
def test_any_scale_gives_the_same_ratios(scale: float, design: dict[str, Any]) -> None:
    losses = np.random.default_rng(9).normal(size=24)
    is_p = np.arange(24) < 10
    masks = mask_sampler(is_p, **design)(np.random.default_rng(10), 20)
    expected = mean_gap(losses, **design)
    found = mean_gap(losses * scale, **design)
    np.testing.assert_allclose(found.statistic(masks), expected.statistic(masks), rtol=1e-9)
    np.testing.assert_allclose(
        np.divide(gap_of(found, is_p), scale), gap_of(expected, is_p), rtol=1e-9
    )
    plain = mean_gap(losses * scale, studentize=False, **design).statistic(masks) / scale
    np.testing.assert_allclose(
        plain, mean_gap(losses, studentize=False, **design).statistic(masks), rtol=1e-9
    )


@given(
    losses=st.lists(st.integers(-50, 50), min_size=8, max_size=8),
    shift=st.integers(-1000, 1000),
    scale=st.sampled_from([0.001, 0.5, 3.0, 1e6]),
)
def test_shift_and_scale_change_no_ratio(losses: list[int], shift: int, scale: float) -> None:
    numbers = np.array(losses, dtype=float)
    masks = random_subsets(np.random.default_rng(0), 10, 8, 3)
    first = mean_gap(numbers).statistic(masks)
    second = mean_gap(scale * numbers + shift).statistic(masks)
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9)


def test_identical_samples_have_a_gap_of_exactly_zero() -> None:
    losses = RNG.normal(size=501) * 10.0 ** RNG.integers(-8, 8, size=501)
    both = np.concatenate([losses, losses[RNG.permutation(501)]])
    mask = np.arange(1002) < 501
    for studentize in (True, False):
        prepared = mean_gap(both, studentize=studentize)
        assert prepared.statistic(mask[None]).tolist() == [0.0]
        assert prepared.observe(mask).statistic == 0.0
        assert prepared.observe(mask).risk_p == prepared.observe(mask).risk_q


@pytest.mark.parametrize(
    "design", [{}, {"groups": np.arange(24) // 2}, {"strata": np.arange(24) % 3}]
)
def test_the_statistic_of_many_masks_is_that_of_each(design: dict[str, Any]) -> None:
    losses = RNG.normal(size=24)
    masks = mask_sampler(np.arange(24) < 10, **design)(np.random.default_rng(11), 15)
    statistic = mean_gap(losses, **design).statistic
    single = np.concatenate([statistic(mask[None]) for mask in masks])
    np.testing.assert_allclose(statistic(masks), single, rtol=1e-12)


@pytest.mark.parametrize("columns", [1, 4])
def test_masked_sums_equal_the_product(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    masks, numbers = RNG.random((6, 3000)) < 0.4, RNG.normal(size=(3000, columns))
    expected = masks.astype(float) @ numbers
    for tile_bytes in (1 << 12, 1 << 22):
        monkeypatch.setattr(masked_sums, "_TILE_BYTES", tile_bytes)
        np.testing.assert_allclose(masked_sums.masked_sums(masks, numbers), expected, rtol=1e-12)


def test_with_and_without_numba_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    losses = np.random.default_rng(12).exponential(size=5000)
    is_p = np.arange(5000) < 2100

    def test() -> Any:
        return permute(
            mean_gap(losses),
            is_p,
            PermutationSettings(n_resamples=199),
            rng=np.random.default_rng(13),
        )

    monkeypatch.setattr(tiles, "TILE_ROWS", 1000)
    without = test()
    calls = []
    kernels = compiled_loops(masked_sums.LOOPS)

    def counted(module: str) -> Any:
        calls.append(module)
        return kernels

    monkeypatch.setattr(tiles, "COMPILED_FROM", 0)
    monkeypatch.setattr(packed, "compiled_loops", counted)
    compiled_null = test()
    assert calls  # the compiled path did run
    np.testing.assert_allclose(compiled_null.parts, without.parts, rtol=1e-12, atol=1e-12)
    assert compiled_null.pvalue == without.pvalue


@pytest.mark.parametrize("studentize", [True, False])
def test_equal_sums_are_ties_however_they_were_added(studentize: bool) -> None:
    """Losses of 0 and 1: the statistic is a function of how many ones p has, counted exactly."""
    n, n_p, n_ones = 20_000, 6000, 900
    losses = np.random.default_rng(17).permutation((np.arange(n) < n_ones).astype(float))
    measure, ones = mean_gap(losses, studentize=studentize).statistic, []

    def statistic(masks: np.ndarray) -> np.ndarray:
        ones.extend(masks[:, losses > 0].sum(axis=1).tolist())
        return measure(masks)

    for seed in range(3):
        ones.clear()
        is_p = random_subsets(np.random.default_rng(seed), 1, n, n_p)[0]
        null = permute(
            Prepared(statistic),
            is_p,
            PermutationSettings(n_resamples=399),
            rng=np.random.default_rng(seed),
        )
        k = np.array(ones, dtype=float)
        expected = np.abs(k * n - n_ones * n_p) / (n_p * (n - n_p))  # whole numbers, rounded once
        if studentize:
            risks = ((k / n_p, n_p), ((n_ones - k) / (n - n_p), n - n_p))
            variances = (r * (1 - r) / (m - 1) for r, m in risks)
            expected /= np.sqrt(sum(variances))
        assert null.pvalue == permutation_pvalue(expected[0], expected[1:])


@pytest.mark.slow
def test_the_level_holds_for_equal_risks_alone() -> None:
    """Equal mean losses, spread 3 against 1, 50 + 400 rows: only the studentised test is right."""
    rng, is_p, draws = np.random.default_rng(14), np.arange(450) < 50, 2000
    rejected = np.zeros(2)
    for _ in range(draws):
        losses = rng.normal(size=450) * np.where(is_p, 3.0, 1.0)
        both = [mean_gaps(losses[:, None], studentize=s) for s in (True, False)]

        def parts(masks: np.ndarray, both: Any = both) -> np.ndarray:
            return np.abs(np.hstack([gaps(masks) for gaps in both]))

        prepared = Prepared(parts, combine=lambda parts: parts[:, 0])
        null = permute(prepared, is_p, PermutationSettings(n_resamples=99), rng=rng).parts
        rejected += [permutation_pvalue(null[0, k], null[1:, k]) <= 0.05 for k in (0, 1)]
    studentised, plain = rejected / draws
    assert studentised <= 0.07
    assert plain > 0.25


def test_with_equal_sizes_both_tests_have_one_pvalue() -> None:
    losses, is_p = RNG.exponential(size=60), np.arange(60) < 30
    pvalues = {
        permute(
            mean_gap(losses, studentize=s),
            is_p,
            PermutationSettings(n_resamples=199),
            rng=np.random.default_rng(15),
        ).pvalue
        for s in (True, False)
    }
    assert len(pvalues) == 1


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (np.zeros(4), "one loss per row.*shape .4,. for 5 rows"),
        (np.zeros((5, 1)), "one loss per row"),
        (0.0, "one loss per row"),
        ([0.0, np.nan, 1.0, np.inf, 2.0], "finite losses, got 2 NaN or infinite of 5"),
    ],
)
def test_losses_that_are_not_are_refused(losses: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_losses(losses, Pool(np.arange(5.0)[:, None]), "the model")


def test_rows_with_one_content_get_one_loss() -> None:
    pool = Pool(np.array([[1.0], [2.0], [1.0]]))
    assert check_losses([5.0, 6.0, 7.0], pool, "the model").tolist() == [5.0, 6.0, 5.0]


def test_groups_and_strata_reach_the_statistic_of_a_test() -> None:
    rng = np.random.default_rng(16)
    x = rng.normal(size=(60, 1))
    codes = np.arange(30) // 3
    grouped = rdiv.two_sample_test(
        x[:30], x[30:], model="pca", groups=(codes, codes + 10), n_resamples=19, rng=0
    )
    plain = rdiv.two_sample_test(x[:30], x[30:], model="pca", n_resamples=19, rng=0)
    assert grouped.statistic == pytest.approx(plain.statistic)
    assert grouped.ranked != pytest.approx(plain.ranked)


def test_constant_losses_of_unequal_samples_have_no_gap() -> None:
    """Three times 3.518 over three is not 3.518; that is no difference."""
    found = mean_gap(np.full(5, 3.518)).observe(np.arange(5) < 2)
    assert (found.gap, found.statistic, found.error) == (0.0, 0.0, 0.0)
