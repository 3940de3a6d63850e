"""The questions: when the model in use is asked about, and what retraining would win."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.comparison.conftest import Deployed, FirstColumn, X, Zero, quick, regression
from tests.inference.slow_widened import slow_mean

from rdiv.comparison.questions import FEWEST_TRAINED
from rdiv.comparison.retraining_gain import Training
from rdiv.discrepancies import InUse
from rdiv.models import CrossFit, Frozen, Ridge
from rdiv.models.protocol import fit_model
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import split_reference

NOT_ASKED = "no model in use was measured: rdiv would train it on 49 reference rows, fewer than 50"


class TestTheModelInUse:
    def test_with_too_few_rows_to_train_it_is_not_asked_about(self) -> None:
        found = quick(*regression(noise=3.0, n_p=2 * FEWEST_TRAINED - 1), model="ridge")
        assert "in-use" not in found.results
        assert (found.gap, found.gap_interval, found.retraining) == (None, None, None)
        assert found.notes["in use"] == NOT_ASKED
        assert f"remark: {NOT_ASKED}" in str(found)
        assert (found.verdict, found.direction) == ("risk shift", "worse")  # of the shared model
        assert found.adjusted_pvalues["r-div"] <= 0.05
        assert found.leading == "r-div"
        assert found.leading_gap == found.shared_gap > 0
        assert "a ridge model trained on both samples does worse on current" in found.headline()
        assert "reference rows does" not in str(found)
        asked = quick(*regression(noise=3.0, n_p=2 * FEWEST_TRAINED), model="ridge")
        assert asked.results["in-use"].notes["rows trained on"] == FEWEST_TRAINED
        assert "in use" not in asked.notes

    def test_direction_is_that_of_the_shared_gap(self) -> None:
        reference, current = regression(noise=3.0, n_p=150)
        found = quick(current, reference, model="ridge")
        assert found.gap is None
        assert (found.verdict, found.direction) == ("risk shift", "better")
        assert found.shared_gap < 0
        assert "does better on current" in found.headline()

    def test_it_is_the_share_that_counts(self) -> None:
        pair = regression(n_p=100)
        assert quick(*pair, model="ridge", train_share=0.49).gap is None
        assert quick(*pair, model="ridge", train_share=0.6).gap is not None

    @pytest.mark.parametrize("rows", [4, 30])
    def test_a_given_model_is_asked_about_at_any_size(self, rows: int) -> None:
        fitted = LinearRegression().fit(X[150:], X[150:, 0])
        model = Frozen(fitted, trained_on="neither")
        y = 2 * X[:, 0]
        found = quick((X[:rows], y[:rows]), (X[40:100], y[40:100]), model=model)
        losses = np.square(y - fitted.predict(X))
        gap = losses[40:100].mean() - losses[:rows].mean()
        assert found.gap == pytest.approx(gap)
        assert found.results["in-use"].risk_q == pytest.approx(losses[40:100].mean())
        assert "rows trained on" not in found.results["in-use"].notes
        assert "in use" not in found.notes
        assert "the model in use (LinearRegression())" in str(found)

    def test_the_rows_it_is_trained_on_are_not_compared(self) -> None:
        """Losses of the rest of the reference and of current, by another way."""
        reference, current = regression(noise=2.0, n_p=110)
        pooled = pool_samples(reference, current, rng=0)
        split = split_reference(pooled, 0.5)
        losses = split.learned(InUse(Ridge())).losses(split.tested.pool)
        found = quick(reference, current, model="ridge")
        test = found.results["in-use"]
        assert test.risk_p == pytest.approx(losses[split.tested.is_p].mean())
        assert test.risk_q == pytest.approx(losses[~split.tested.is_p].mean())
        assert (len(split.train), int(split.tested.is_p.sum())) == (55, 55)
        assert found.losses.quantiles_q == pytest.approx(
            np.quantile(losses[~split.tested.is_p], found.losses.levels)
        )


class TestRetraining:
    def test_by_hand_for_a_given_model(self) -> None:
        """The logged forecast is wrong by 1, the model that is retrained predicts 0."""
        rng = np.random.default_rng(0)
        y, x = rng.normal(size=90), rng.normal(size=90)
        frame = pl.DataFrame({"x": x, "y": y, "forecast": y + 1})
        found = quick(frame[:30], frame[30:], target="y", prediction="forecast", retrain=Zero())
        won = 1 - np.square(y)
        assert tuple(found.retraining.current) == pytest.approx(slow_mean(won[30:]))
        assert tuple(found.retraining.reference) == pytest.approx(slow_mean(won[:30]))

    def test_by_hand_for_a_model_that_rdiv_trains(self) -> None:
        reference, current = regression(noise=2.0, n_p=110)
        pooled = pool_samples(reference, current, rng=0)
        split = split_reference(pooled, 0.5)
        used = split.learned(InUse(Ridge())).losses(split.tested.pool)
        shared = fit_model(CrossFit(Ridge(), 5), pooled.pool, pooled.stream("fit"))
        won = used - shared.losses(pooled.pool)[split.rows]
        found = quick(reference, current, model="ridge", alpha=0.1).retraining
        is_p = split.tested.is_p
        training = Training(len(split.train), len(pooled.pool), 5, 3)
        for estimate, side in ((found.current, ~is_p), (found.reference, is_p)):
            wider = training.inflation(int(side.sum()))
            assert wider > 1.1
            assert tuple(estimate) == pytest.approx(slow_mean(won[side], 0.1, wider))

    def test_it_is_what_the_mean_losses_say(self) -> None:
        found = quick(*regression(noise=2.0, n_p=100), model="ridge")
        used, shared = found.results["in-use"], found.results["r-div"]
        assert found.retraining.current.value == pytest.approx(used.risk_q - shared.risk_q)

    @pytest.mark.parametrize("design", [{}, {"groups": "g"}])
    def test_groups_widen_its_interval(self, design: dict[str, Any]) -> None:
        rng = np.random.default_rng(4)
        groups = np.arange(300) // 10
        y = (rng.normal(size=30)[groups]) + 0.2 * rng.normal(size=300)
        frame = pl.DataFrame({"x": rng.normal(size=300), "y": y, "f": y + 1.0, "g": groups})
        how = {"target": "y", "prediction": "f", "retrain": Zero()}
        found = quick(frame[:100], frame[100:], **how, **design).retraining.current
        won = 1 - np.square(y[100:])
        assert found.value == pytest.approx(won.mean())
        half = slow_mean(won)[2] - won.mean()
        if not design:
            assert found.high - found.value == pytest.approx(half)
            return
        sums = won.reshape(20, 10).sum(axis=1) - 10 * won.mean()
        error = np.sqrt(20 / 19 * np.square(sums).sum()) / 200
        assert found.high - found.value == pytest.approx(2.093 * error, rel=1e-3)  # 19 degrees
        assert found.high - found.value > 2 * half

    @pytest.mark.parametrize("folds", [None, 5])
    def test_none_from_losses_in_sample(self, folds: int | None) -> None:
        trained = quick(*regression(n_p=100), model="ridge", folds=folds)
        frozen = Frozen(LinearRegression().fit(X, X[:, 0]), trained_on="neither")
        given = quick(*regression(), model=frozen, folds=folds)
        for found in (trained, given):
            assert found.shared_gap is not None
            assert (found.retraining is None) == (folds is None)
        advice = quick(*regression(noise=4.0, n_p=100), model="ridge", folds=folds).advice
        assert ("was not measured" in advice) == (folds is None)

    def test_none_when_the_losses_differ_in_kind(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(120, 2))
        y = np.where(x[:, 0] + rng.normal(size=120) > 0, "yes", "no")
        fitted = LogisticRegression().fit(x, y)
        frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y, "said": fitted.predict(x)})
        frame = frame.with_columns(p=pl.Series(fitted.predict_proba(x)[:, 1]))
        how = {"target": "y", "retrain": "logistic"}
        labels = quick(frame[:60].drop("p"), frame[60:].drop("p"), prediction="said", **how)
        assert (labels.notes["loss"], labels.notes["shared loss"]) == ("0/1 loss", "log loss")
        assert labels.retraining is None
        assert labels.to_dict()["retraining"] is None
        assert "retraining changes" not in str(labels)
        chances = quick(frame[:60].drop("said"), frame[60:].drop("said"), prediction="p", **how)
        assert chances.retraining is not None

    def test_none_when_nobody_said_what_the_losses_are(self) -> None:
        """Two models of the user's own, each with some loss: no reason to subtract them."""
        found = quick(X[:60], X[60:], model=Deployed(), retrain=FirstColumn())
        assert (found.notes["loss"], found.notes["shared loss"]) == ("loss", "loss")
        assert found.retraining is None
        trained = quick(X[:110], X[110:], model=FirstColumn())  # one and the same model
        assert trained.retraining is not None

    def test_none_when_every_density_has_its_own_scale(self) -> None:
        """Texts as a fit sees them depend on its rows: a second fit is nothing to subtract from."""
        x = np.random.default_rng(0).normal(size=(240, 3))
        words = pl.Series([f"order {i} was {'late' if i % 3 else 'early'}" for i in range(240)])
        table = pl.DataFrame(x, schema=["a", "b", "c"]).with_columns(note=words)
        for rows, model in ((table, None), (table.drop("note"), "kde"), (x, "mixed")):
            found = quick(rows[:120], rows[120:] if model else rows[120:].reverse(), model=model)
            assert found.retraining is None
            assert "a scale of its own" in found.notes["retraining"]
        assert quick(x[:120], x[120:], model="kde").retraining is not None
        worse = quick(x[:120], 3 * x[120:], model="mixed")
        assert "was not measured: without a target, each fit" in worse.advice
