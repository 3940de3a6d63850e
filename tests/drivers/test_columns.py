"""Columns: contributions add up to the gap, and gradients belong to the columns they came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.discrepancies import Score
from rdiv.drivers import columns as additive
from rdiv.drivers import find as finding
from rdiv.drivers.bins import input_columns
from rdiv.drivers.columns import driving_columns, fit_additive
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.models import CrossFit, Logistic
from rdiv.samples import Pool


def losses_of(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """They depend on columns 0 and 2."""
    return 2.0 * (x[:, 0] > 0) + np.abs(x[:, 2]) + rng.exponential(size=len(x))


def found_in(x: np.ndarray, losses: np.ndarray, is_p: np.ndarray, **pool: Any) -> Any:
    pool = Pool(x, **pool)
    settings, rng = PermutationSettings(n_resamples=99), np.random.default_rng(0)
    inputs = input_columns(pool)
    return driving_columns(pool, inputs, losses, {}, is_p, settings, rng=rng, held_out=True)


class TestContributions:
    @pytest.mark.parametrize("design", [{}, {"groups": True}, {"strata": True}])
    def test_they_add_up_to_the_gap(self, design: dict[str, bool]) -> None:
        rng = np.random.default_rng(0)
        x, is_p = rng.normal(size=(1200, 4)), np.arange(1200) % 3 == 0
        x[~is_p, 0] += 0.5
        losses = losses_of(x, rng)
        codes = {name: np.arange(1200) // 3 % 7 for name in design}
        if "groups" in design:
            codes = {"groups": np.where(is_p, 0, 1000) + np.arange(1200) // 6}
        found = found_in(x, losses, is_p, **codes)
        gap = losses[~is_p].mean() - losses[is_p].mean()
        if "strata" in design:
            gap = sum(column.contribution for column in found.columns) + found.rest
            assert gap == pytest.approx(losses[~is_p].mean() - losses[is_p].mean(), abs=0.05)
        total = sum(column.contribution for column in found.columns) + found.rest
        assert total == pytest.approx(gap)
        named = {column.name: column for column in found.columns}
        first = named["column 0"]
        expected = 2 * ((x[~is_p, 0] > 0).mean() - (x[is_p, 0] > 0).mean())
        assert first.contribution == pytest.approx(expected, abs=0.08)
        assert first.interval.low < expected < first.interval.high
        assert first.pvalue == 0.01
        assert first.share == pytest.approx(first.contribution / total)
        assert named["column 1"].contribution == 0  # it does not go with the loss
        assert named["column 1"].interval is None
        assert named["column 2"].pvalue > 0.05

    def test_which_columns_are_seen(self) -> None:
        """All that matter, none of the others; a copy of a column shares its heights."""
        rng = np.random.default_rng(1)
        x = rng.normal(size=(3000, 4))
        losses = losses_of(x, rng)
        assert fit_additive(input_columns(Pool(x)), losses).columns == (0, 2)
        twice = np.concatenate([x, x[:, :1]], axis=1)
        found = fit_additive(input_columns(Pool(twice)), losses)
        heights = dict(zip(found.columns, found.heights, strict=True))
        if 4 in heights:
            np.testing.assert_allclose(heights[0], heights[4])

    def test_many_columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(additive, "MOST_COLUMNS", 3)
        rng = np.random.default_rng(1)
        x = rng.normal(size=(2000, 9))
        assert fit_additive(input_columns(Pool(x)), losses_of(x, rng)).columns == (0, 2)

    @pytest.mark.parametrize("matters", [0.0, 1.5])
    def test_a_column_that_moved_and_contributes_the_same(self, matters: float) -> None:
        """Noise of the heights is no contribution.

        The column loses its negative half, and its size alone goes with the loss, or nothing does.
        Without the variance of the heights 14 of 60 would alarm, and 31 without a look at which
        columns go with the loss.
        """
        alarms = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            x, is_p = rng.normal(size=(1000, 1)), np.arange(1000) < 500
            x[~is_p] = np.abs(x[~is_p])
            losses = matters * (np.abs(x[:, 0]) > 0.7) + 2 * rng.exponential(size=1000)
            found = found_in(x, losses, is_p)
            assert not matters or found.columns[0].interval is not None
            alarms += found.columns[0].pvalue <= 0.05
        assert alarms <= 9  # 3 expected; binomial, 0.1 %

    def test_a_bin_of_few_rows(self) -> None:
        """A level with one row must not look certain."""
        rng = np.random.default_rng(0)
        x = np.zeros((400, 1))
        x[:3] = 1
        found = fit_additive(input_columns(Pool(x)), rng.exponential(size=400))
        assert found.columns == ()


@pytest.mark.parametrize(("n_p", "leading"), [(90, "r-div"), (100, "in-use")])
def test_the_masks_are_those_of_the_verdict(
    monkeypatch: pytest.MonkeyPatch, n_p: int, leading: str
) -> None:
    """Where no column goes with the loss, what is left over is the loss: the same null."""
    seen = []

    def spying(*given: Any, **how: Any) -> Any:
        seen.append(permute(*given, **how))
        return seen[-1]

    monkeypatch.setattr("rdiv.drivers.columns.permute", spying)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    found = rdiv.compare((x[:n_p], y[:n_p]), (x[n_p:], y[n_p:]), model="ridge", rng=0)
    assert all(column.contribution == 0 for column in found.drivers.columns)
    assert found.drivers.rest == pytest.approx(found.leading_gap)
    assert found.leading == leading
    np.testing.assert_allclose(seen[0].parts[1:, 0], found.results[leading].null_distribution)


class TestScores:
    def test_they_belong_to_their_columns(self) -> None:
        """A slope that turns round in one column, in a table with levels and missing cells."""
        rng = np.random.default_rng(2)
        n = 2000
        is_p = np.arange(n) < n // 2
        town = rng.choice(["A", "B", "C"], size=n)
        x = rng.normal(size=n)
        y = np.where(is_p, 1, -1) * (town == "B") + rng.normal(size=n)
        frame = pl.DataFrame(
            {"x": np.where(rng.random(n) < 0.1, None, x), "town": town, "z": x + rng.normal(size=n)}
        )
        found = rdiv.compare(
            (frame[: n // 2], y[: n // 2]), (frame[n // 2 :], y[n // 2 :]), model="ridge", rng=0,
            n_resamples=99,
        )  # fmt: skip
        assert [column.name for column in found.drivers.confirmed_columns()] == ["town"]
        named = {column.name: column for column in found.drivers.columns}
        assert named["town"].score > 5 > named["x"].score
        assert "input: town " in str(found)

    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("folds", [None, 3])
    def test_gradients_say_which_column_they_belong_to(
        self, classes: int, folds: int | None
    ) -> None:
        """Moving one column changes the gradients that belong to it, and no others of that row."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(3, 2, size=(400, 2)), np.arange(400) % classes
        pool = Pool(x, y=y, task="classification", classes=np.arange(classes))
        model = Logistic() if folds is None else CrossFit(Logistic(), folds)
        prepared = Score(model).prepare(pool, np.random.default_rng(1))
        outputs = 1 if classes == 2 else classes
        assert prepared.gradient_owners == (None, "column 0", "column 1") * outputs
        table = prepared.gradients.reshape(400, outputs, 3)
        scale = (x - x.mean(axis=0)) / x.std(axis=0)
        for j, own in enumerate((1, 2)):
            np.testing.assert_allclose(table[..., own], table[..., 0] * scale[:, j, None])

    def test_gradients_are_split_by_their_owners(self) -> None:
        own = np.random.default_rng(0).normal(size=(5, 6))
        owners = (None, "a", "b") * 2
        scores, _ = finding._scores_by_column(own, owners, None)
        np.testing.assert_array_equal(scores["b"], own[:, 2::3])
        other, remark = finding._scores_by_column(own, None, None)
        assert other == {}
        assert "parameters" in remark
        assert finding._scores_by_column(None, None, None)[0] == {}

    def test_a_density_model_has_no_score_by_column(self) -> None:
        rng = np.random.default_rng(0)
        found = rdiv.compare(
            rng.normal(size=(80, 2)), rng.normal(size=(80, 2)), model="gmm", rng=0, n_resamples=39
        )
        assert all(column.score is None for column in found.drivers.columns)
        assert all(column.smallest_pvalue == column.pvalue for column in found.drivers.columns)
