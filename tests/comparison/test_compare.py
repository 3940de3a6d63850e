"""compare: verdict, gaps, direction, intervals, all from the tests and agreeing with them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from tests.comparison.conftest import (
    Deployed,
    FirstColumn,
    X,
    inverted,
    quick,
    regression,
    run,
    steeper_relation,
    weaker_relation,
)

import rdiv
from rdiv.comparison import asked
from rdiv.comparison.sentences import verdict_remarks
from rdiv.discrepancies import InUse
from rdiv.inference.intervals import critical_value, gap_interval
from rdiv.inference.reach import smallest_pvalue
from rdiv.models import Frozen, Ridge

ALONE = {"model": Deployed(), "retrain": None, "drivers": False}


class TestTheVerdict:
    @pytest.mark.parametrize("n_p", [80, 100, 150])
    def test_worse_and_better(self, n_p: int) -> None:
        """The model in use is asked about where it can be trained on 50 rows."""
        reference, current = regression(noise=3.0, n_p=n_p)
        worse = quick(reference, current, model="ridge")
        better = quick(current, reference, model="ridge")
        for found, rows, word in ((worse, n_p, "worse"), (better, 200 - n_p, "better")):
            leading = "in-use" if rows >= 100 else "r-div"
            assert (found.verdict, found.direction) == ("risk shift", word)
            assert found.shifted
            assert found.leading == leading
            assert (found.gap is None) == (leading == "r-div")
            test, sign = found.results[leading], 1 if word == "worse" else -1
            assert found.leading_gap == pytest.approx(test.risk_q - test.risk_p)
            assert sign * found.leading_gap > 0
            assert sign * found.leading_interval.low > 0 < sign * found.leading_interval.high
        shared = worse.results["r-div"]
        assert worse.shared_gap == pytest.approx(shared.risk_q - shared.risk_p)
        assert better.shared_gap == pytest.approx(-worse.shared_gap)

    def test_no_shift(self) -> None:
        found = quick(*regression(n_p=100), model="ridge")
        assert (found.verdict, found.direction, found.shifted) == ("no shift", None, False)
        for low, high in (found.gap_interval, found.shared_gap_interval):
            assert low < 0 < high
        assert found.smallest_detectable_gap > 0
        text = str(found)
        assert "No shift found" in text
        assert "80 %" in text
        for word in ("equal", "same", "identical", "no difference"):
            assert word not in text.lower().replace("that is not equality", "")

    def test_a_slope_that_turns_round_is_a_risk_shift_for_the_model_in_use(self) -> None:
        """The shared line is flat and equally bad on both sides: its gap shows nothing."""
        rng = np.random.default_rng(2)
        x = rng.normal(size=(240, 2))
        y = np.where(np.arange(240) < 120, 1.0, -1.0) * x[:, 0] + 0.5 * rng.normal(size=240)
        found = quick((x[:120], y[:120]), (x[120:], y[120:]), model="ridge")
        assert (found.verdict, found.direction) == ("risk shift", "worse")
        assert found.gap == pytest.approx(4, abs=2)  # the error grows from .25 to 4.25
        assert found.shared_gap_interval.low < 0 < found.shared_gap_interval.high
        assert found.adjusted_pvalues["score"] <= 0.05

    def test_without_a_model_in_use_it_is_hidden(self) -> None:
        rng = np.random.default_rng(2)
        y = np.where(np.arange(160) < 80, 1.0, -1.0) * X[:160, 0] + 0.5 * rng.normal(size=160)
        found = quick((X[:80], y[:80]), (X[80:160], y[80:]), model="ridge")
        assert (found.verdict, found.direction, found.shifted) == ("hidden shift", None, True)
        assert found.gap is None
        assert found.shared_gap_interval.low < 0 < found.shared_gap_interval.high
        assert "would train different models" in found.headline()

    def test_hidden_by_its_score_alone(self) -> None:
        found = quick(*weaker_relation(), model="ridge")
        assert (found.verdict, found.direction, found.shifted) == ("hidden shift", None, True)
        assert found.adjusted_pvalues["score"] <= 0.05 < found.adjusted_pvalues["in-use"]
        assert found.gap_interval.low < 0 < found.gap_interval.high
        assert "would train different models" in found.headline()

    def test_hidden_with_a_gap_of_the_shared_model(self) -> None:
        found = quick(*steeper_relation(), model="ridge")
        assert found.verdict == "hidden shift"
        assert found.adjusted_pvalues["r-div"] <= 0.05 < found.adjusted_pvalues["in-use"]
        assert found.shared_gap < 0
        assert "ridge model that has seen both samples does better on current" in found.headline()
        assert found.direction is None

    @pytest.mark.parametrize("model", ["ridge", None])
    def test_the_tests_are_those_one_by_one(self, model: str | None) -> None:
        reference, current = regression(noise=2.0, n_p=100)
        found = quick(reference, current, model=model)
        assert list(found.results) == ["in-use", "r-div", "score", "omnibus"]
        for name, result in found.results.items():
            folds = None if name == "in-use" else 5
            alone = rdiv.two_sample_test(
                reference, current, name, model=model, folds=folds, n_resamples=99, rng=0
            )
            assert alone.to_json() == result.to_json()

    @pytest.mark.parametrize("share", [0.3, 0.7])
    def test_train_share_is_that_of_in_use(self, share: float) -> None:
        reference, current = regression(noise=2.0, n_p=170)
        found = quick(reference, current, model="ridge", train_share=share)
        own = InUse(Ridge(), train_share=share)
        alone = rdiv.two_sample_test(reference, current, own, n_resamples=99, rng=0)
        assert alone.to_json() == found.results["in-use"].to_json()
        assert alone.notes["rows trained on"] == round(170 * share)
        usual = quick(reference, current, model="ridge")
        assert usual.results["r-div"].to_json() == found.results["r-div"].to_json()
        assert usual.gap != found.gap

    def test_a_given_model_in_use_has_the_bytes_of_r_div(self) -> None:
        """All rows are compared, with the masks of r-div."""
        found = quick(X[:80], X[80:] + 0.2, model=Deployed(), retrain=FirstColumn())
        used, shared = found.results["in-use"], found.results["r-div"]
        assert used.null_distribution.tobytes() == shared.null_distribution.tobytes()
        assert (used.ranked, used.pvalue) == (shared.ranked, shared.pvalue)
        assert found.gap == found.shared_gap
        assert found.gap_interval == found.shared_gap_interval

    def test_a_model_without_gradients_is_not_asked_for_a_score(self) -> None:
        found = quick(X[:80], X[80:], model=FirstColumn())
        assert list(found.results) == ["r-div"]
        assert found.adjusted_pvalues == {"r-div": found.results["r-div"].pvalue}
        assert found.pvalue == found.results["r-div"].pvalue
        assert "has no gradients, so score was not asked" in str(found)
        found = quick(X[:110], X[110:], model=FirstColumn())
        assert list(found.results) == ["in-use", "r-div"]
        both = min(1.0, 2 * min(result.pvalue for result in found.results.values()))
        assert found.pvalue == both

    def test_verdict_and_global_pvalue_cannot_contradict_each_other(self) -> None:
        verdicts = set()
        for seed in range(60):
            rng = np.random.default_rng(seed)
            n_p = 30 if seed % 3 else 100
            x, noise = rng.normal(size=(n_p + 30, 1)), 1.0 + (np.arange(n_p + 30) < n_p) * 0.5
            y = x[:, 0] + noise * rng.normal(size=n_p + 30)
            found = quick((x[:n_p], y[:n_p]), (x[n_p:], y[n_p:]), model="ridge", rng=seed)
            assert found.shifted == (found.pvalue <= 0.05)
            if "in-use" not in found.results:
                assert found.pvalue == found.results["omnibus"].pvalue
            verdicts.add(found.verdict)
            if found.results[found.leading].rejected and found.verdict != "risk shift":
                assert "no risk shift is claimed" in str(found)
        assert {"no shift", "risk shift"} <= verdicts

    @pytest.mark.parametrize("folds", [None, 5])
    def test_identical_files(self, folds: int | None) -> None:
        both = regression()[0]
        found = quick(both, both, model="ridge", folds=folds)
        assert (found.verdict, found.shared_gap, found.gap) == ("no shift", 0.0, None)
        assert not np.signbit(found.shared_gap)
        assert found.results["r-div"].pvalue == found.pvalue == 1.0
        assert found.input_test.pvalue == 1.0

    def test_the_inputs_are_context_outside_the_verdict(self) -> None:
        x = np.concatenate([X[:100], X[100:] + 3])
        y = np.random.default_rng(2).normal(size=200)
        found = quick((x[:100], y[:100]), (x[100:], y[100:]), model="ridge")
        assert found.verdict == "no shift"
        assert found.input_test.rejected
        assert found.input_test.discrepancy == "inputs"
        assert "inputs alone: shift found (no model, p = 0.01); not part of the verdict" in str(
            found
        )

    def test_missing_values_in_an_array_are_looked_at_too(self) -> None:
        x, y = X.copy(), X[:, 0]
        x[150:, 1] = np.nan
        found = quick((x[:100], y[:100]), (x[100:], y[100:]))
        assert found.input_test.rejected
        assert found.input_test.notes["pvalues"]["columns"] == 0.01
        assert found.to_dict()["input_test"]["rejected"]


class TestLabelsInvertedInASlice:
    """The model in use fails; the shared one learns the change where a column tells the files."""

    @pytest.mark.parametrize("day", [False, True])
    def test_it_is_a_risk_shift(self, day: bool) -> None:
        found = quick(*inverted(200, 0, day=day), target="y")
        assert (found.verdict, found.direction) == ("risk shift", "worse")
        assert found.gap_interval.low > 0.5
        assert found.retraining.current.low > 0
        warned = [text for text in found.warnings if "'day' alone tells the files apart" in text]
        assert len(warned) == day
        if day:
            assert abs(found.shared_gap) < found.gap / 4
            assert found.adjusted_pvalues["r-div"] > 0.05
            assert "--drop day" in warned[0]
            assert "drop=['day']" in warned[0]
            assert f"warning: {warned[0]}" in str(found)

    def test_without_the_column_it_is_as_if_it_had_never_been_there(self) -> None:
        reference, current = inverted(200, 0, day=True)
        dropped = quick(reference, current, target="y", model="logistic", drop=["day"])
        never = quick(reference.drop("day"), current.drop("day"), target="y", model="logistic")
        assert dropped.to_json() == never.to_json()
        assert dropped.warnings == ()


class TestTheInterval:
    @settings(max_examples=60)
    @given(
        seed=st.integers(0, 10**6),
        sizes=st.tuples(st.integers(2, 15), st.integers(2, 15)),
        shift=st.floats(0, 3),
        digits=st.sampled_from([0, 1, 6]),
        alpha=st.sampled_from([0.05, 0.1, 0.25]),
        trained=st.booleans(),
    )
    def test_it_excludes_0_only_when_the_test_rejects_and_says_so_otherwise(
        self, seed: int, sizes: tuple[int, int], shift: float, digits: int, alpha: float,
        trained: bool,
    ) -> None:  # fmt: skip
        assume(smallest_pvalue(np.arange(sum(sizes)) < sizes[0]) <= alpha)
        rng = np.random.default_rng(seed)
        p = rng.normal(size=(sizes[0], 1)).round(digits)
        q = (rng.normal(size=(sizes[1], 1)) + shift).round(digits)
        how = {"model": FirstColumn()} if trained else ALONE
        found = quick(p, q, **how, n_resamples=39, alpha=alpha, rng=seed)
        gap, (low, high) = found.leading_gap, found.leading_interval
        assert (found.shared_gap, found.gap) == ((gap, None) if trained else (None, gap))
        assert low <= gap <= high
        test = found.results[found.leading]
        inner = gap_interval(
            gap, abs(gap) / test.ranked if 0 < test.ranked < np.inf else 0.0,
            critical_value(test.null_distribution, alpha),
        )  # fmt: skip
        assert low <= inner.low + 1e-9
        assert high >= inner.high - 1e-9
        covers = low <= 0 <= high
        assert test.rejected or covers
        said = [text for text in verdict_remarks(found) if "but its interval covers 0" in text]
        assert len(said) == (test.rejected and covers)

    def test_that_of_the_model_in_use_goes_with_its_own_test(self) -> None:
        rejected = set()
        for seed in range(12):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(160, 2))
            y = x[:, 0] + rng.normal(size=160) * np.where(np.arange(160) < 100, 1.0, 1.25)
            found = quick((x[:100], y[:100]), (x[100:], y[100:]), model="ridge", rng=seed)
            spans = {"in-use": found.gap_interval, "r-div": found.shared_gap_interval}
            for name, (low, high) in spans.items():
                assert (low > 0 or high < 0) == found.results[name].rejected
                rejected.add((name, found.results[name].rejected))
        assert len(rejected) == 4

    def test_samples_without_any_spread(self) -> None:
        """Two rows against two: p is a third at least, so nothing is said about them."""
        with pytest.raises(ValueError, match="6 distinct permutations, so no p-value is below"):
            quick([[0.0], [0.0]], [[1.0], [1.0]], **ALONE)
        found = quick([[0.0], [0.0]], [[1.0], [1.0]], **ALONE, alpha=0.4)
        assert found.verdict == "no shift" or found.pvalue <= 0.4
        assert found.smallest_detectable_gap > 0
        assert json.loads(found.to_json())["gap"] == 1.0

    def test_none_for_the_shared_model_from_losses_in_sample(self) -> None:
        found = quick(*regression(noise=3.0, n_p=100), model="ridge", folds=None)
        assert found.shared_gap_interval is None
        assert found.retraining is None
        assert "no valid interval" in found.notes["interval"]
        assert "folds" in found.notes["interval"]
        assert "in-sample losses give no valid interval" in str(found)
        assert any("shared model are in-sample" in text for text in found.warnings)
        document = found.to_dict()
        assert document["shared_gap_interval"] is document["retraining"] is None
        assert document["gap_interval"] is not None  # rows that the model in use has not seen
        assert found.verdict == "risk shift"
        leading = quick(*regression(noise=3.0), model="ridge", folds=None)
        assert (leading.gap, leading.leading_interval) == (None, None)
        assert leading.verdict == "risk shift"

    def test_of_a_frozen_model(self) -> None:
        fitted = LinearRegression().fit(X, X[:, 0])
        found = quick(*regression(), model=Frozen(fitted, trained_on="neither"))
        assert found.gap_interval is not None
        assert found.shared_gap_interval is not None
        assert "folds" not in found.notes  # they do apply to the copy that is retrained

    def test_a_smaller_alpha_gives_a_wider_one(self) -> None:
        narrow, wide = (
            quick(*regression(n_p=100), model="ridge", alpha=alpha) for alpha in (0.2, 0.02)
        )
        for name in ("gap", "shared_gap"):
            small, large = (getattr(found, f"{name}_interval") for found in (narrow, wide))
            assert large.low < small.low < small.high < large.high
            assert getattr(wide, name) == getattr(narrow, name)
        small, large = narrow.retraining.current, wide.retraining.current
        assert large.low < small.low < small.high < large.high
        assert large.value == small.value

    @pytest.mark.parametrize("trained", [False, True])
    def test_it_covers_the_gap_as_often_as_said(self, trained: bool) -> None:
        """Of a given model, and of one of which half the reference is kept from the test."""
        rng, covered, n_p = np.random.default_rng(3), 0, 100 if trained else 20
        how = {"model": FirstColumn(), "drivers": False} if trained else ALONE
        for _ in range(100):
            p, q = rng.normal(size=(n_p, 1)), 2 * rng.normal(size=(60, 1)) + 0.7
            found = run(p, q, **how, n_resamples=39, alpha=0.1, rng=rng)
            covered += found.gap_interval.low <= 0.7 <= found.gap_interval.high
        assert abs(covered / 100 - 0.9) < 4 * np.sqrt(0.09 / 100)


class TestDesigns:
    @pytest.mark.parametrize("how", [ALONE, {"model": FirstColumn(), "drivers": False}])
    def test_groups_widen_the_interval(self, how: dict[str, Any]) -> None:
        rng = np.random.default_rng(4)
        groups = np.arange(200) // 10
        x = (rng.normal(size=20)[groups] + 0.3 * rng.normal(size=200))[:, None]
        design = (groups[:80], groups[80:])
        rows = run(x[:80], x[80:], **how)
        grouped = run(x[:80], x[80:], groups=design, **how)
        assert grouped.leading_gap == pytest.approx(rows.leading_gap)
        spans = (found.leading_interval for found in (rows, grouped))
        width = [span.high - span.low for span in spans]
        assert width[1] > 1.5 * width[0]
        assert grouped.smallest_detectable_gap > 1.5 * rows.smallest_detectable_gap

    def test_groups_are_trained_on_whole(self) -> None:
        groups = np.arange(200) // 10
        design = (groups[:150], groups[150:])
        found = quick(X[:150], X[150:], model="gmm", groups=design)
        assert found.results["in-use"].notes["rows trained on"] == 70  # 7 of 15 groups

    def test_strata_give_the_gap_within(self) -> None:
        rng = np.random.default_rng(5)
        level = 20 * rng.normal(size=(50, 1))
        p, q = level + rng.normal(size=(50, 1)), level + rng.normal(size=(50, 1)) + 2
        pairs = (np.arange(50), np.arange(50))
        found = run(p, q, **ALONE, strata=pairs)
        assert found.verdict == "risk shift"
        assert found.gap == pytest.approx(float((q - p).mean()))
        assert found.gap_interval.low > 0
        assert run(p, q, **ALONE).verdict == "no shift"

    def test_pairs_leave_the_comparison_with_the_reference_that_trains(self) -> None:
        rng = np.random.default_rng(5)
        level = 20 * rng.normal(size=(120, 1))
        p, q = level + rng.normal(size=(120, 1)), level + rng.normal(size=(120, 1)) + 2
        pairs = (np.arange(120), np.arange(120))
        found = quick(p, q, model=FirstColumn(), strata=pairs)
        assert found.results["in-use"].notes["rows tested"] == 120
        assert found.gap_interval.low < 2 < found.gap_interval.high
        assert found.verdict == "risk shift"

    def test_names_of_columns(self) -> None:
        frame = pl.DataFrame(
            {"x": X[:, 0], "y": X[:, 1], "shop": np.arange(200) // 5, "day": np.arange(200) % 4}
        )
        found = quick(frame[:120], frame[120:], target="y", model="ridge", groups="shop")
        assert (found.results["in-use"].n_p, found.results["r-div"].n_p) == (120, 120)
        found = quick(frame[:120], frame[120:], target="y", model="ridge", strata="day")
        assert found.verdict in ("no shift", "risk shift")

    @pytest.mark.parametrize("design", ["groups", "strata"])
    def test_more_rows_than_the_inputs_are_looked_at(
        self, design: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The test of the inputs takes a part of the rows; designs must survive the cut."""
        monkeypatch.setattr(asked, "INPUT_ROWS", 12)
        groups = np.arange(200) // 2
        labels = {
            "groups": (groups[:20], groups[20:]),
            "strata": (np.arange(20), np.arange(180) % 20),
        }
        found = quick(X[:20], X[20:] + 5, model="pca", **{design: labels[design]})
        assert (found.input_test.n_p, found.input_test.n_q) == (12, 12)
        assert found.input_test.rejected

    def test_matched_pairs_stay_matched_in_the_inputs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(asked, "INPUT_ROWS", 20)
        pairs = (np.arange(100), np.arange(100))
        found = quick(X[:100], X[100:] + 5, model="pca", strata=pairs)
        assert found.input_test.pvalue == 0.01


class TestDefaults:
    def test_with_a_target(self) -> None:
        found = quick(*regression(n_p=100))
        assert found.results["in-use"].model == "boosting"
        assert found.results["r-div"].model == "boosting, 5 folds"

    def test_without(self) -> None:
        found = quick(X[:100], X[100:])
        named = found.results["in-use"].model
        assert named in rdiv.models.BY_NAME
        assert found.results["r-div"].model == f"{named}, 5 folds"
        assert found.gap_interval is not None
        assert found.shared_gap_interval is not None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"alpha": 0.0}, "alpha must lie strictly between"),
        ({"n_resamples": 5}, "can never reach alpha"),
        ({"model": "nothing"}, "unknown model"),
        ({"folds": 1}, "folds must be a whole number"),
        ({"rng": -1}, "rng must be 0 or larger"),
        ({"train_share": 0.0}, "train_share must lie strictly between 0 and 1, got 0.0"),
        ({"train_share": 1}, "train_share must lie strictly between 0 and 1, got 1"),
        ({"drop": "day"}, "drop= names columns of a frame"),
        ({"loss": "error"}, "loss= names a column of a frame"),
        ({"prediction": "forecast"}, "prediction= names a column of a frame"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run(*regression(), **how)


def test_names_of_columns_cannot_forge_lines() -> None:
    """What str() prints has one line a fact, whatever a column is called."""
    rng = np.random.default_rng(0)
    evil = "age\nverdict: no shift\u202e"
    x, y = rng.normal(size=(2000, 2)), rng.normal(size=2000)
    y[1500:][x[1500:, 1] > 1] += 3
    table = pl.DataFrame({"a": x[:, 0], evil: x[:, 1], "y": y + x[:, 0]})
    found = rdiv.compare(table[:1000], table[1000:], target="y", model="ridge", rng=0)
    text = str(found)
    assert "where age\\nverdict: no shift\\u202e >= " in text
    assert len(text.splitlines()) == 1 + len(found.details())


@pytest.mark.parametrize("role", ["prediction", "loss"])
def test_nor_can_those_of_logged_columns(role: str) -> None:
    evil = "age\nverdict: no shift\u202e"
    table = pl.DataFrame({"a": X[:, 0], evil: X[:, 1], "y": X[:, 0]})
    found = quick(table[:100], table[100:] + 1, target="y", retrain="ridge", **{role: evil})
    text = str(found)
    assert "age\\nverdict: no shift\\u202e" in text
    assert len(text.splitlines()) == 1 + len(found.details())
