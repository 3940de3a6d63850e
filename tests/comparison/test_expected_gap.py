"""The expected gap: right under covariate shift, honest without overlap, and its support."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.comparison.answers import Line, given
from tests.comparison.test_unlabelled import Odds, Second, asked, rows

import rdiv
from rdiv.comparison.expected_gap import ExpectedLosses, expected_gap, noise_in_mean
from rdiv.comparison.support import support_of
from rdiv.errors import InputError
from rdiv.inference.intervals import Estimate
from rdiv.samples.pooling import pool_samples

ALONE: dict[str, Any] = {"retrain": None, "n_resamples": 99, "rng": 0}


def known_losses(seed: int, n: int = 400) -> tuple[ExpectedLosses, Any]:
    """Losses that are g plus noise, and samples whose first input moved."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 2))
    x[n:, 0] += 0.7
    samples = pool_samples(x[:n], x[n:], rng=0)
    inputs = samples.pool.matrix()
    g = 1 + 0.5 * inputs[:, 0]
    losses = g[samples.is_p] + 0.5 * rng.normal(size=n)
    return ExpectedLosses(g, inputs, losses, squared=False), samples


def test_theta_by_hand() -> None:
    """With weights of one the gap is mean g on current plus mean (loss - g) minus the mean loss."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    samples = pool_samples(x[:100], x[100:], rng=0)
    g = rng.exponential(size=200)
    losses = rng.exponential(size=100)
    flat = np.zeros((200, 1))  # nothing tells the samples apart, so all weights are 1
    found = expected_gap(ExpectedLosses(g, flat, losses, False), samples, None, 0.05, rng).gap
    assert found is not None
    on_p, on_q = g[samples.is_p], g[~samples.is_p]
    by_hand = on_q.mean() + (losses - on_p).mean() - losses.mean()
    assert found.value == pytest.approx(by_hand)
    error = np.sqrt(on_p.var(ddof=1) / 100 + on_q.var(ddof=1) / 100)
    assert found.high - found.value == pytest.approx(1.98 * error, rel=0.03)


@lru_cache(maxsize=1)
def sixty_gaps() -> list[Estimate]:
    """Expected gaps of as many draws; the truth is 0.35."""
    gaps = []
    for seed in range(60):
        known, samples = known_losses(seed)
        gap = expected_gap(known, samples, None, 0.05, np.random.default_rng(seed)).gap
        assert gap is not None
        gaps.append(gap)
    return gaps


def test_coverage_in_sixty_draws() -> None:
    hits = sum(gap.low <= 0.35 <= gap.high for gap in sixty_gaps())
    assert stats.binomtest(hits, 60, 0.95).pvalue > 1e-3


def test_a_wrong_g_is_corrected_by_the_weights() -> None:
    """Doubly robust: with g = 0 the weights alone find the gap; a plug-in g says 0."""
    values = []
    for seed in range(12):
        known, samples = known_losses(seed, 1000)
        wrong = ExpectedLosses(0 * known.values, known.features, known.losses, squared=False)
        gap = expected_gap(wrong, samples, None, 0.05, np.random.default_rng(seed)).gap
        assert gap is not None
        values.append(gap.value)
    error = np.std(values, ddof=1) / np.sqrt(12)
    assert np.mean(values) == pytest.approx(0.35, abs=4 * error + 0.05)


def test_the_value_is_nearer_the_truth_than_the_middle_of_the_interval() -> None:
    """With a good g the correction is noise, and the value leaves most of it out."""
    gaps = sixty_gaps()
    assert all(gap.low <= gap.value <= gap.high for gap in gaps)
    of_values = np.array([gap.value - 0.35 for gap in gaps]) ** 2
    of_middles = np.array([(gap.low + gap.high) / 2 - 0.35 for gap in gaps]) ** 2
    won = of_middles - of_values
    assert won.mean() > won.std(ddof=1) / np.sqrt(60)


@pytest.mark.parametrize("mean", [0.0, 0.5, 0.99, 1.5, 4.0])
def test_noise_in_a_mean_by_hand(mean: float) -> None:
    """All of a mean within its standard error, and error^2 / mean beyond."""
    numbers = np.array([-1.0, 1.0, -1.0, 1.0]) * np.sqrt(3) + mean  # the standard error is 1
    expected = mean if mean <= 1 else 1 / mean
    assert noise_in_mean(numbers) == pytest.approx(expected)
    assert noise_in_mean(-numbers) == pytest.approx(-expected)


def test_noise_in_a_mean_counts_groups() -> None:
    """Rows of one group are one unit: the error, and what is left out, is larger."""
    numbers = np.repeat([0.2, 1.0, 0.6, 0.2], 25)
    groups = np.repeat(np.arange(4), 25)
    assert noise_in_mean(numbers, groups) > 20 * noise_in_mean(numbers)


@pytest.mark.parametrize("model", ["ridge", given(Second())])
def test_no_overlap_gives_no_number(model: Any) -> None:
    reference, current = rows(600), rows(300)[0] + np.array([30.0, 0.0, 0.0])
    found, pooled = asked(reference, current, model)
    expected = found.expected(pooled, 0.05)
    assert expected.gap is None
    assert expected.covered_gap is None
    assert "no overlap" in str(expected.note)
    assert expected.outside == 1.0


def test_a_verdict_without_overlap_says_so() -> None:
    reference, current = rows(600), rows(300)[0] + np.array([30.0, 0.0, 0.0])
    found = rdiv.compare(reference, current, model=given(Second()), **ALONE)
    assert found.gap is None
    assert found.gap_interval is None
    assert found.direction is None
    assert found.expected is not None
    text = str(found)
    assert "no overlap" in text
    if found.shifted:
        assert "do not overlap enough to say by how much" in found.headline()


def test_rows_outside_are_counted_and_the_rest_has_a_gap() -> None:
    reference = rows(2000)
    near, far = rows(700, 0.3)[0], rows(300)[0] + np.array([0.0, 0.0, 25.0])
    found, pooled = asked(reference, np.concatenate([near, far]), given(Second()))
    expected = found.expected(pooled, 0.05)
    assert expected.outside == pytest.approx(0.3, abs=0.03)
    assert expected.outside_reference is not None
    assert expected.outside_reference <= 0.011
    assert expected.covered_rows == pytest.approx(700, abs=25)
    alone, alone_pool = asked(reference, near, given(Second()))
    own = alone.expected(alone_pool, 0.05).gap
    assert own is not None
    if expected.covered_gap is not None:
        half = own.high - own.value
        assert expected.covered_gap.value == pytest.approx(own.value, abs=1.5 * half)


def test_support_is_calibrated_and_blind_to_the_sample() -> None:
    """Of rows like the reference about one in a hundred is outside; a swap changes no row."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"a": rng.normal(size=1500), "b": rng.lognormal(size=1500),
         "c": rng.choice(["x", "y", "z"], size=1500)}
    )  # fmt: skip
    pooled = pool_samples(table[:1000], table[1000:], rng=0)
    part = np.flatnonzero(pooled.is_p)[:500]
    rest = np.setdiff1d(np.arange(1500), part)
    found = support_of(pooled, part, rest, np.random.default_rng(0))
    assert found is not None
    assert found.reference <= 0.012
    chance = stats.binom.ppf(0.9999, 500, 0.02) / 500
    assert found.current <= chance
    unseen = table[1000:].with_columns(c=pl.lit("new"))
    new = pool_samples(table[:1000], unseen, rng=0)
    part = np.flatnonzero(new.is_p)[:500]
    level = support_of(new, part, np.setdiff1d(np.arange(1500), part), np.random.default_rng(0))
    assert level is not None
    assert level.current == 1.0


def test_all_rows_alike() -> None:
    x, y = np.zeros((200, 1)), np.random.default_rng(0).normal(size=200)
    with pytest.raises(InputError, match="cannot teach which loss to expect"):
        rdiv.compare((x, y), x[:50], model="ridge", rng=0, n_resamples=99)
    found = rdiv.compare((x, y), x[:50], model=given(Line()), **ALONE)
    assert found.verdict == "no shift"
    assert found.gap is None
    assert "all rows have the same inputs" in str(found)


def test_before_and_after_labels_can_be_set_side_by_side() -> None:
    """The expected gap before is the inputs part after, within their intervals."""
    reference, current = rows(1500), rows(800, 0.5)
    model = given(Second())
    before = rdiv.compare(reference, current[0], model=model, **ALONE)
    after = rdiv.compare(reference, current, model=model, **ALONE)
    assert after.split is not None
    assert before.gap is not None
    assert before.gap_interval is not None
    inputs: Estimate = after.split.inputs
    assert before.gap == pytest.approx(inputs.value, abs=(inputs.high - inputs.low) / 2)
    assert after.labels == "all"
    fields = set(before.to_dict())
    assert fields == set(after.to_dict())


def test_classes_by_logged_predictions_and_labels() -> None:
    x, y = rows(900, 0.0, "classification")
    more = rows(500, 1.0, "classification")[0]
    chance = Odds().predict_proba(x)[:, 1]
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "p": chance, "y": y})
    later = pl.DataFrame({"a": more[:, 0], "b": more[:, 1], "p": Odds().predict_proba(more)[:, 1]})
    found = rdiv.compare(table, later, target="y", prediction="p", **ALONE)
    assert (found.verdict, found.direction, found.notes["loss"]) == (
        "expected risk shift", "worse", "log loss",
    )  # fmt: skip
    said = [frame.with_columns(p=(pl.col("p") > 0.5).cast(int)) for frame in (table, later)]
    wrong = rdiv.compare(*said, target="y", prediction="p", **ALONE)
    assert wrong.notes["loss"] == "0/1 loss"
    assert wrong.gap is not None
    assert wrong.gap > 0
