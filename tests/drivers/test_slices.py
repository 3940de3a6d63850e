"""Slices: the gaps by hand, the search, and the test on the other half."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.drivers import slices
from rdiv.drivers.bins import input_columns
from rdiv.drivers.result import Drivers
from rdiv.drivers.slice_moments import slice_gaps
from rdiv.drivers.slice_search import search_slices
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.samples import Pool


def gap_and_variance(losses: np.ndarray, is_p: np.ndarray) -> tuple[float, float]:
    sides = losses[~is_p], losses[is_p]
    variance = sum(side.var(ddof=1) / len(side) for side in sides)
    return float(sides[0].mean() - sides[1].mean()), float(variance)


class TestGaps:
    def test_by_hand(self) -> None:
        rng = np.random.default_rng(0)
        n, k = 300, 3
        inside, losses = rng.random((n, k)) < [0.1, 0.3, 0.8], 5 + rng.exponential(size=n)
        masks = rng.random((6, n)) < 0.4
        found = slice_gaps(inside, losses)(masks)
        for b in range(6):
            for j in range(k):
                s = inside[:, j]
                gap, within = gap_and_variance(losses[s], masks[b, s])
                outer, without = gap_and_variance(losses[~s], masks[b, ~s])
                assert found.gap_inside[b, j] == pytest.approx(gap)
                assert found.gap_outside[b, j] == pytest.approx(outer)
                assert found.error_inside[b, j] == pytest.approx(within**0.5)
                assert found.inside[b, j] == pytest.approx(gap / within**0.5)
                assert found.excess[b, j] == pytest.approx(
                    (gap - outer) / (within + without) ** 0.5
                )

    def test_groups_by_hand(self) -> None:
        """The variance of ratios of group sums, which may reach into a slice and out of it."""
        rng = np.random.default_rng(1)
        group = np.repeat(np.arange(80), rng.integers(1, 6, size=80))
        inside = (rng.random((len(group), 1)) < 0.4)[:, 0]
        losses = rng.normal(size=80)[group] + 0.2 * rng.normal(size=len(group))
        is_p = (np.arange(80) < 35)[group]
        variance = 0.0
        for side in (is_p, ~is_p):
            parts = []
            for s in (inside & side, ~inside & side):
                off = np.where(s, losses - losses[s].mean(), 0.0) / s.sum()
                sums = np.bincount(group, off, 80)[np.unique(group[side])]
                units = len(np.unique(group[s]))
                parts.append((sums, units / (units - 1)))
            (a, f), (c, g) = parts
            variance += f * (a**2).sum() + g * (c**2).sum() - 2 * (a * c).sum()
        found = slice_gaps(inside[:, None], losses, group)(is_p[None])
        gap = found.gap_inside[0, 0] - found.gap_outside[0, 0]
        assert found.excess[0, 0] == pytest.approx(gap / variance**0.5)
        alone = slice_gaps(inside[:, None], losses)(is_p[None])
        assert abs(alone.excess[0, 0] - found.excess[0, 0]) > 0.01

    def test_an_empty_side_says_nothing(self) -> None:
        inside = np.zeros((10, 1), dtype=bool)
        inside[:3] = True
        found = slice_gaps(inside, np.arange(10.0))(np.arange(10)[None] < 3)
        assert found.excess[0, 0] == found.inside[0, 0] == 0


class TestTheSearch:
    def test_two_conditions(self) -> None:
        rng = np.random.default_rng(0)
        n = 4000
        frame = pl.DataFrame(
            {"age": rng.integers(18, 90, size=n), "region": rng.choice(list("NSEW"), size=n)}
        )
        is_p = rng.random(n) < 0.5
        inside = (frame["age"].to_numpy() >= 60) & (frame["region"] == "W").to_numpy()
        losses = rng.exponential(size=n) * np.where(inside & ~is_p, 3, 1)
        inputs = input_columns(Pool(frame))
        first = search_slices(inputs, losses, is_p)[0]
        assert first.ratio > 0
        rows = first.inside(inputs)
        assert (rows & inside).sum() > 0.8 * (rows | inside).sum()
        assert [clause.split()[0] for clause in first.clauses(inputs)] == ["age", "region"]

    def test_a_gap_everywhere_is_concentrated_nowhere(self) -> None:
        rng = np.random.default_rng(0)
        x, is_p = rng.normal(size=(3000, 3)), np.arange(3000) < 1500
        losses = np.where(is_p, 0.0, 1.0) + 1e-6 * rng.normal(size=3000)
        inputs = input_columns(Pool(x))
        for found in search_slices(inputs, losses, is_p):
            assert abs(found.ratio) < 6  # the gap itself has a ratio of millions

    def test_few_rows(self) -> None:
        x, is_p = np.arange(30.0)[:, None], np.arange(30) % 2 == 0
        assert search_slices(input_columns(Pool(x)), x[:, 0] * ~is_p, is_p) == []


def compared(reference: Any, current: Any, **how: Any) -> rdiv.Comparison:
    return rdiv.compare(
        reference, current, **({"n_resamples": 99, "rng": 0, "model": "ridge"} | how)
    )


def planted(n: int = 1500) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2 * n, 3))
    y = x[:, 0] + rng.normal(size=2 * n)
    far = (np.arange(2 * n) >= n) & (x[:, 1] > 1.2)
    y[far] += rng.choice([-4, 4], size=far.sum())
    return (x[:n], y[:n]), (x[n:], y[n:])


class TestDrivers:
    def test_a_planted_slice(self) -> None:
        reference, current = planted()
        found = compared(reference, current).drivers
        first = found.confirmed_slices()[0]
        assert first.clauses[0].startswith("column 1 >= 1.")
        assert first.interval.low > 8 < first.gap < first.interval.high  # 16 by construction
        assert first.interval.low < 16 < first.interval.high
        assert abs(first.gap_outside) < 1
        inside = current[0][:, 1] >= float(first.clauses[0].split()[-1])
        assert first.share_q == pytest.approx(inside.mean(), abs=0.04)
        assert "where column 1" in str(compared(reference, current))

    def test_groups_and_strata(self) -> None:
        reference, current = planted()
        codes = np.arange(1500) // 3
        grouped = compared(reference, current, groups=(codes, codes + 1000)).drivers
        assert grouped.confirmed_slices()
        strata = compared(reference, current, strata=(codes % 5, codes % 5)).drivers
        assert strata.slices == ()
        assert "strata" in strata.notes["slices"]
        assert strata.relation_slices == ()
        assert strata.columns is None
        assert strata.weights

    def test_copies_stay_in_one_half(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row that was searched is never tested, whichever sample its copy is in."""
        seen = []

        def spying(pool: Pool, *rest: Any) -> Any:
            parts = slices_halves(pool, *rest)
            seen.append([set(map(bytes, pool.keys[part])) for part in parts])
            return parts

        slices_halves = slices.halves_of
        monkeypatch.setattr(slices, "halves_of", spying)
        (x, y), _ = planted(300)
        compared((x, y), (x, y))
        assert len(seen) == 1  # for slices of the gap and of the relation alike
        for one, other in seen:
            assert not one & other

    def test_families_share_permutations(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One run each way for both, and the slices of a family are those that it has alone."""
        runs = []

        def spying(*given: Any, **how: Any) -> Any:
            runs.append(permute(*given, **how))
            return runs[-1]

        monkeypatch.setattr(slices, "permute", spying)
        rng = np.random.default_rng(0)
        x, is_p = rng.normal(size=(1200, 2)), np.arange(1200) < 600
        losses = rng.exponential(size=1200) * np.where(~is_p & (x[:, 1] > 0.5), 3, 1)
        both = [slices.Family(losses), slices.Family(losses - x[:, 0] ** 2)]

        def found(families: list[slices.Family]) -> list[list[tuple[Any, ...]]]:
            pool, stream = Pool(x), np.random.default_rng(1)
            answers = slices.driving_slices(
                pool, input_columns(pool), families, is_p, PermutationSettings(), rng=stream,
                held_out=True,
            )  # fmt: skip
            return [[(s.clauses, s.pvalue, s.interval) for s in answer] for answer in answers]

        together = found(both)
        assert len(runs) == slices.WAYS
        assert together[0]
        for family, own in zip(both, together, strict=True):
            (alone,) = found([family])
            assert alone == own

    def test_in_sample_losses_have_no_interval(self) -> None:
        few = 0.03  # too few rows to train a model in use, so the shared losses are looked at
        found = compared(*planted(), folds=None, train_share=few).drivers
        assert found.slices
        assert all(s.interval is None for s in found.slices)
        assert "in-sample" in found.notes["intervals"]
        used = compared(*planted(), folds=None).drivers  # rows that the model in use has not seen
        assert all(s.interval is not None for s in used.slices)
        assert "intervals" not in used.notes

    def test_too_few_rows(self) -> None:
        rng = np.random.default_rng(0)
        found = compared(rng.normal(size=(6, 2)), rng.normal(size=(6, 2)), model="gmm", folds=None)
        assert found.drivers.slices == ()
        assert found.drivers.notes["slices"]


class TestWeighted:
    """Slices of the relation are confirmed only where the weighted gap agrees."""

    def test_by_hand(self) -> None:
        rng = np.random.default_rng(3)
        inside, is_p = rng.random(80) < 0.5, np.arange(80) < 50
        losses, weights = rng.exponential(size=80), rng.uniform(0.5, 1.5, size=80)
        family = slices.Family(losses, weights)
        found = slices._Half([], [family], is_p, None)._weighted(family, inside, 0.05)
        assert found is not None
        mine = [i for i in range(80) if inside[i] and is_p[i]]
        total = sum(weights[i] for i in mine)
        mean = sum(weights[i] * losses[i] for i in mine) / total
        assert found.value == pytest.approx(losses[inside & ~is_p].mean() - mean)
        error = sum((weights[i] * (losses[i] - mean)) ** 2 for i in mine) / total**2
        error += losses[inside & ~is_p].var(ddof=1) / (inside & ~is_p).sum()
        assert (found.high - found.value) / error**0.5 == pytest.approx(2.1, abs=0.2)

    def test_a_misfit_that_weights_mend_is_not_confirmed(self) -> None:
        """The residual grows with a column that moved inside the slice: no relation changed."""
        confirmed = np.zeros(2, dtype=int)
        for seed in range(12):
            rng = np.random.default_rng([4, seed])
            x = rng.uniform(size=(3000, 2))
            is_p = np.arange(3000) < 1500
            keep = is_p | (x[:, 0] < 0.5) | (rng.random(3000) < (x[:, 0] - 0.5) * 2)
            x, is_p = x[keep], is_p[keep]
            losses = 3 * np.maximum(x[:, 0] - 0.5, 0) + 0.3 * rng.exponential(size=len(x))
            ratio = np.where(x[:, 0] < 0.5, 1.0, (x[:, 0] - 0.5) * 2)
            pool, weights = Pool(x), np.where(is_p, ratio / ratio[is_p].mean(), 1.0)
            settings = PermutationSettings()
            (found,) = slices.driving_slices(
                pool, input_columns(pool), [slices.Family(losses, weights)], is_p, settings,
                rng=rng, held_out=True,
            )  # fmt: skip
            shown = Drivers((), (), found, None, (), 0.05)
            confirmed += [
                any(s.pvalue <= 0.05 for s in found),
                bool(shown.confirmed_relation_slices()),
            ]
        assert confirmed[0] >= 10  # the exact test alone finds the misfit
        assert confirmed[1] <= 3
