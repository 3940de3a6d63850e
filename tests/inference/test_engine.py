"""The engine: one p-value formula, one stopping rule, the same result for any number of jobs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import rdiv
from rdiv.discrepancies import Prepared
from rdiv.inference import tiles
from rdiv.inference.engine import (
    Null,
    PermutationSettings,
    allowed_exceedances,
    permutation_pvalue,
    permute,
)
from rdiv.inference.mean_gaps import mean_gap

EPS = np.finfo(float).eps


def run(prepared: Prepared, is_p: np.ndarray, seed: int = 0, **how: Any) -> Null:
    how = {"n_resamples": 99} | how
    chosen = {name: how.pop(name) for name in ("alpha", "n_resamples", "n_jobs") if name in how}
    return permute(
        prepared, is_p, PermutationSettings(**chosen), rng=np.random.default_rng(seed), **how
    )


def all_splits(n: int, n_p: int) -> np.ndarray:
    masks = np.zeros((0, n), dtype=bool)
    for chosen in combinations(range(n), n_p):
        masks = np.vstack([masks, np.isin(np.arange(n), chosen)])
    return masks


@pytest.mark.parametrize(
    ("observed", "null", "expected"),
    [
        (2.0, [0.0, 1.0, 2.0], 2 / 4),  # a tie counts
        (2.5, [0.0, 1.0, 2.0], 1 / 4),  # never 0
        (0.0, [0.0, 0.0, 0.0], 1.0),
        (-1.0, [0.0, 1.0, 2.0], 1.0),
        (np.inf, [0.0, np.inf, 1e300], 2 / 4),
        (np.inf, [0.0, 1.0, 2.0], 1 / 4),
        (1.0, [np.inf, -np.inf, 0.0], 2 / 4),
        (1.0, [], 1.0),
        (1.0, [1.0 - 50 * EPS], 1.0),  # a tie up to rounding
        (1.0, [1.0 - 1e-9], 1 / 2),  # not a tie
        (1e300, [1e300 * (1 - 50 * EPS), 1e299], 2 / 3),
        (1e-300, [1e-300 * (1 - 50 * EPS), 1e-301], 2 / 3),
    ],
)
def test_the_pvalue_by_hand(observed: float, null: list[float], expected: float) -> None:
    assert permutation_pvalue(observed, np.array(null)) == expected


numbers = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([np.inf, -np.inf]))


@given(observed=numbers, null=st.lists(numbers, max_size=40))
def test_the_pvalue_lies_between_one_share_and_one(observed: float, null: list[float]) -> None:
    pvalue = permutation_pvalue(observed, np.array(null))
    assert 1 / (len(null) + 1) <= pvalue <= 1


@given(pair=st.tuples(numbers, numbers), null=st.lists(numbers, max_size=40))
def test_the_pvalue_falls_as_the_statistic_grows(
    pair: tuple[float, float], null: list[float]
) -> None:
    low, high = (permutation_pvalue(value, np.array(null)) for value in sorted(pair))
    assert low >= high


def test_how_many_may_exceed() -> None:
    assert allowed_exceedances(0.05, 99) == 5
    assert allowed_exceedances(0.05, 19) == 1
    assert allowed_exceedances(0.05, 18) == 0
    assert allowed_exceedances(0.1, 999) == 100
    assert allowed_exceedances(0.29, 99) == 29  # 0.29 * 100 is 28.999999999999996


@given(alpha=st.floats(0.001, 0.999), n_resamples=st.integers(1, 2000))
def test_one_more_exceedance_loses_the_decision(alpha: float, n_resamples: int) -> None:
    allowed = allowed_exceedances(alpha, n_resamples)
    assert allowed / (n_resamples + 1) <= alpha * (1 + 1e-9)
    assert (allowed + 1) / (n_resamples + 1) > alpha


@pytest.mark.parametrize("studentize", [True, False])
@pytest.mark.parametrize("observed", [0, 7, 13])
def test_the_sampled_null_agrees_with_all_splits_of_six_rows(
    studentize: bool, observed: int
) -> None:
    losses = np.array([0.1, 0.4, 1.5, 2.5, 2.7, 9.0])
    prepared = mean_gap(losses, studentize=studentize)
    splits = all_splits(6, 3)
    every = prepared.statistic(splits)
    exact = np.mean(every >= every[observed] * (1 - 1e-12))
    draws = 4999
    null = run(prepared, splits[observed], n_resamples=draws)
    exceeding = round(null.pvalue * (draws + 1)) - 1
    assert binom.cdf(exceeding, draws, exact) > 1e-4
    assert binom.sf(exceeding - 1, draws, exact) > 1e-4
    shares = [np.mean(np.isclose(null.null_distribution, value)) for value in every]
    weights = [np.mean(np.isclose(every, value)) for value in every]
    np.testing.assert_allclose(shares, weights, atol=5 * np.sqrt(0.25 / draws))


@pytest.mark.parametrize("n_p", [2, 3])
def test_all_splits_of_a_tiny_sample_give_the_exact_pvalue(n_p: int) -> None:
    """Each split once as the observed one: the p-values of the whole test come out as counted."""
    rows = np.array([[0.3], [0.5], [1.1], [1.4], [3.0], [5.2]])
    losses = np.square(rows[:, 0] - rows[:, 0].mean())
    splits = all_splits(6, n_p)
    every = mean_gap(losses).statistic(splits)
    exact = np.array([np.mean(every >= t * (1 - 1e-12)) for t in every])
    sampled = np.array(
        [
            rdiv.two_sample_test(
                rows[s], rows[~s], model="pca", n_resamples=1999, alpha=0.4, rng=3
            ).pvalue
            for s in splits
        ]
    )
    np.testing.assert_allclose(sampled, exact, atol=4.5 * np.sqrt(0.25 / 1999))
    for alpha in (0.05, 0.1, 0.3, 0.5):
        assert np.mean(exact <= alpha) <= alpha  # exact at this tiny size


def test_a_null_keeps_what_it_compared() -> None:
    losses = np.random.default_rng(1).normal(size=40)
    prepared = mean_gap(losses)
    null = run(prepared, np.arange(40) < 15)
    assert null.parts.shape == (100, 1)
    assert null.parts[0, 0] == null.ranked
    assert null.parts[1:, 0].tobytes() == null.null_distribution.tobytes()
    assert null.pvalue == permutation_pvalue(null.ranked, null.null_distribution)


@pytest.mark.parametrize("design", [None, "groups", "strata"])
def test_jobs_change_no_bit(design: str | None) -> None:
    losses = np.random.default_rng(2).normal(size=300)
    how: dict[str, Any] = {} if design is None else {design: np.arange(300) // 6}
    is_p = np.arange(300) % 2 == 0 if design == "strata" else np.arange(300) < 120
    prepared = mean_gap(losses, **how)
    first = run(prepared, is_p, n_resamples=999, **how)
    for n_jobs in (1, 2, -1):
        null = run(prepared, is_p, n_resamples=999, n_jobs=n_jobs, **how)
        assert null.parts.tobytes() == first.parts.tobytes()
        assert null.pvalue == first.pvalue


def test_more_resamples_keep_the_whole_blocks_before() -> None:
    prepared = mean_gap(np.random.default_rng(3).normal(size=50))
    few = run(prepared, np.arange(50) < 20, n_resamples=512)
    more = run(prepared, np.arange(50) < 20, n_resamples=999)
    assert few.parts.tobytes() == more.parts[:513].tobytes()


REFUSED = {
    "one number for all masks": (lambda masks: np.ones(3), "one number"),
    "a number per row": (lambda masks: masks.astype(float).T, "one number"),
    "a single number": (lambda masks: 1.0, "one number"),
    "three axes": (lambda masks: np.ones((len(masks), 2, 2)), "one number"),
    "parts without combine": (lambda masks: np.ones((len(masks), 2)), "combine"),
    "NaN": (lambda masks: np.full(len(masks), np.nan), "NaN"),
    "NaN for some splits": (lambda masks: np.where(masks[:, 0], np.nan, 1.0), "NaN"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("refits", [False, True])
def test_the_engine_refuses_what_is_not_a_statistic(case: str, refits: bool) -> None:
    statistic, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        run(Prepared(statistic, refits=refits), np.arange(8) < 3)


@pytest.mark.parametrize(
    "combine",
    [
        lambda parts: parts.max(axis=0),  # over the masks, not over the parts
        lambda parts: parts,
        lambda parts: parts.max(),
        lambda parts: np.full(len(parts), np.nan),
        lambda parts: np.where(np.arange(len(parts)) == 0, 1.0, np.nan),
    ],
    ids=["wrong axis", "two columns", "one number", "NaN", "NaN but for the observed split"],
)
def test_the_engine_refuses_what_is_not_a_combination(combine: Any) -> None:
    """Compared with NaN nothing exceeds, and every test would reject."""
    prepared = Prepared(lambda masks: np.ones((len(masks), 2)), combine=combine)
    with pytest.raises(ValueError, match="combine"):
        run(prepared, np.arange(8) < 3)


class Refits:
    """A statistic that counts how often it was asked, one mask at a time."""

    def __init__(self, losses: np.ndarray, is_p: np.ndarray) -> None:
        self.measure = mean_gap(losses).statistic
        self.asked = 0

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        assert masks.shape[0] == 1
        self.asked += 1
        return self.measure(masks)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8, 3.0])
def test_stopping_early_decides_as_the_full_run(alpha: float, shift: float) -> None:
    is_p = np.arange(40) < 15
    losses = np.random.default_rng(5).normal(size=40) + shift * is_p
    full = run(mean_gap(losses), is_p, alpha=alpha)
    counting = Refits(losses, is_p)
    early = run(Prepared(counting, refits=True), is_p, alpha=alpha)
    ran, allowed = len(early.null_distribution), allowed_exceedances(alpha, 99)
    assert early.null_distribution.tolist() == pytest.approx(full.null_distribution[:ran].tolist())
    assert (early.pvalue <= alpha) == (full.pvalue <= alpha)
    assert counting.asked == 1 + ran
    assert early.parts.shape == (1 + ran, 1)
    exceeds = early.null_distribution >= early.ranked * (1 - 1e-12)
    if full.pvalue <= alpha:
        assert ran == 99
        assert early.pvalue == full.pvalue
    else:
        assert exceeds.sum() == allowed
        assert exceeds[-1]  # it stops at the exceedance that decides, in the order of the masks
        assert early.pvalue == allowed / ran > alpha


def test_stopping_at_the_last_draw_does_not_reject() -> None:
    """The decisive exceedance at draw B itself: h / B, just above alpha."""
    values = iter([1.0] + [0.0] * 15 + [2.0] * 4)
    prepared = Prepared(lambda masks: np.array([next(values)]), refits=True)
    null = run(prepared, np.arange(8) < 3, n_resamples=19, alpha=0.2)
    assert len(null.null_distribution) == 19
    assert null.pvalue == 4 / 19 > 0.2


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_jobs_change_no_bit_of_a_test_that_refits(
    shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdiv.inference.engine._WORTH_PROCESSES", 0.0)
    is_p = np.arange(40) < 15
    losses = np.random.default_rng(6).normal(size=40) + shift * is_p
    prepared = Prepared(mean_gap(losses).statistic, refits=True)
    one, two = (run(prepared, is_p, n_resamples=39, alpha=0.1, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.parts.tobytes() == two.parts.tobytes()
    assert one.pvalue == two.pvalue


@pytest.mark.parametrize(("seconds", "parallel"), [(0.1, False), (0.2, True)])
def test_processes_start_only_where_they_pay(
    seconds: float, parallel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """39 refits, each as long as the first, against the 5 seconds that processes need to pay."""
    clock = iter([10.0, 10.0 + seconds])
    monkeypatch.setattr("rdiv.inference.engine.monotonic", lambda: next(clock))
    waves = []

    def wave(prepared: Prepared, masks: list[np.ndarray], n_jobs: int | None) -> list[float]:
        waves.append((len(masks), n_jobs))
        return [0.0] * len(masks)

    monkeypatch.setattr("rdiv.inference.engine._refit_wave", wave)
    prepared = Prepared(lambda masks: np.ones(len(masks)), refits=True)
    null = run(prepared, np.arange(8) < 3, n_resamples=39, n_jobs=2)
    assert len(null.null_distribution) == 39
    assert waves[0] == ((2, 2) if parallel else (1, None))


def test_a_test_that_refits_is_never_combined() -> None:
    prepared = Prepared(
        lambda masks: np.ones((1, 2)), combine=lambda parts: parts.max(axis=1), refits=True
    )
    with pytest.raises(ValueError, match="refits cannot be combined"):
        run(prepared, np.arange(8) < 3)


def smallest_p(parts: np.ndarray) -> np.ndarray:
    """Rank every row among all alike; the best rank wins."""
    ranks = (parts[None] >= parts[:, None]).mean(axis=1)
    return -ranks.min(axis=1)


@pytest.mark.parametrize("combine", [lambda parts: parts.max(axis=1), smallest_p])
def test_parts_are_combined_with_the_observed_split_in_row_0(combine: Any) -> None:
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=(30, 4))
    is_p = np.arange(30) < 12
    numbers[is_p, 2] += 2
    gaps = [mean_gap(column).statistic for column in numbers.T]
    prepared = Prepared(lambda masks: np.stack([g(masks) for g in gaps], axis=1), combine=combine)
    null = run(prepared, is_p)
    assert null.parts.shape == (100, 4)
    combined = combine(null.parts)
    assert null.ranked == combined[0]
    assert null.null_distribution.tobytes() == combined[1:].tobytes()
    assert null.pvalue == permutation_pvalue(combined[0], combined[1:]) <= 0.05
    # Equivariant: had another row been the observed one, the same numbers would be compared.
    order = rng.permutation(100)
    assert combine(null.parts[order]).tobytes() == combined[order].tobytes()
    for part, gap in enumerate(gaps):  # p-values per part are read off the same masks
        alone = run(Prepared(gap), is_p)
        assert permutation_pvalue(null.parts[0, part], null.parts[1:, part]) == alone.pvalue


def test_identical_samples_always_have_p_1() -> None:
    losses = np.tile(np.random.default_rng(8).normal(size=10), 2)
    for studentize in (True, False):
        null = run(mean_gap(losses, studentize=studentize), np.arange(20) < 10)
        assert (null.ranked, null.pvalue) == (0.0, 1.0)


@pytest.mark.parametrize("design", ["rows", "groups", "strata"])
@pytest.mark.parametrize("tile", [1 << 16, 64])
def test_kept_masks_serve_other_numbers(
    monkeypatch: pytest.MonkeyPatch, design: str, tile: int
) -> None:
    """Another statistic gets from kept permutations what it gets from the same stream."""
    monkeypatch.setattr(tiles, "TILE_ROWS", tile)
    rng, n = np.random.default_rng(0), 300
    codes = {"groups": np.arange(n) // 2, "strata": np.arange(n) % 3}
    own = {design: codes[design]} if design in codes else {}
    is_p = (np.arange(n) // 2) % 3 == 0
    first, second = (mean_gap(rng.normal(size=n), **own) for _ in range(2))
    settings = PermutationSettings(n_resamples=300)

    def run(prepared: Prepared, **how: Any) -> Any:
        return permute(prepared, is_p, settings, rng=np.random.default_rng(1), **own, **how)

    kept = run(first, keep=True)
    np.testing.assert_array_equal(kept.parts, run(first).parts)
    assert (kept.masks is None) == (design == "strata")
    monkeypatch.setattr("rdiv.inference.engine.MOST_KEPT", n * 300 - 1)
    assert run(first, keep=True).masks is None
    expected = run(second).parts
    if kept.masks is not None:
        assert kept.masks.tiled == (tile < n // 2)
        monkeypatch.setattr("rdiv.inference.engine.mask_sampler", lambda *_: None)
        monkeypatch.setattr(tiles, "packed_subsets", None)
    np.testing.assert_array_equal(run(second, known=kept.masks).parts, expected)


def test_kept_masks_of_another_number_are_not_used() -> None:
    prepared, is_p = mean_gap(np.arange(30.0) ** 2), np.arange(30) < 10
    few, many = (PermutationSettings(n_resamples=count) for count in (99, 199))
    kept = permute(prepared, is_p, few, rng=np.random.default_rng(0), keep=True).masks
    found = permute(prepared, is_p, many, rng=np.random.default_rng(0), known=kept)
    assert len(found.null_distribution) == 199
