"""Sentences: every verdict names its model and loss, and none says more than was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.conftest import (
    X,
    quick,
    regression,
    run,
    steeper_relation,
    weaker_relation,
    wider_and_narrower,
)

from rdiv.comparison.questions import Retraining
from rdiv.comparison.sentences import NOTHING_TO_DO, badge, tone
from rdiv.comparison.verdicts import VERDICTS
from rdiv.inference.intervals import Estimate

TRAINED = "a ridge model trained on {} reference rows"


def shown(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half)


class TestHeadlines:
    @pytest.mark.parametrize(
        ("pair", "verdict", "rows"),
        [
            (regression(noise=3.0, n_p=100), "risk shift", 50),
            (regression(n_p=100), "no shift", 50),
            (weaker_relation(), "hidden shift", 200),
            (steeper_relation(), "hidden shift", 200),
        ],
        ids=["risk", "none", "hidden by score", "hidden by r-div"],
    )
    def test_they_name_the_model_and_the_loss(self, pair: Any, verdict: str, rows: int) -> None:
        found = quick(*pair, model="ridge")
        assert found.verdict == verdict
        assert TRAINED.format(rows) in found.headline()
        assert "squared error" in found.headline()
        assert str(found).splitlines()[0] == found.headline()

    @pytest.mark.parametrize("verdict", VERDICTS)
    @pytest.mark.parametrize("n_p", [80, 100])
    def test_so_does_every_verdict(self, verdict: Any, n_p: int) -> None:
        """Also without a model in use, and for a verdict that is rare."""
        found = quick(*regression(n_p=n_p), model="ridge")
        direction = "worse" if verdict == "risk shift" else None
        line = replace(found, verdict=verdict, direction=direction).headline()
        named = "ridge model trained on both samples" if n_p == 80 else TRAINED.format(50)
        assert named in line
        assert "squared error" in line
        assert "folds" not in line
        words = {"no shift": "No shift found", "risk shift": "Risk shift: "}
        assert line.startswith(words.get(verdict, verdict.capitalize()))

    def test_numbers_of_a_risk_shift(self) -> None:
        found = quick(*regression(noise=3.0, n_p=100), model="ridge")
        test = found.results["in-use"]
        numbers = f"squared error {test.risk_p:.4g} -> {test.risk_q:.4g}."
        assert found.headline() == f"Risk shift: {TRAINED.format(50)} does worse on current: " + (
            numbers
        )

    def test_a_density_is_surprised(self) -> None:
        found = quick(X[:100], 3 * X[100:], model="gmm")
        assert found.headline().startswith(
            "Risk shift: current rows surprise a gmm model trained on 50 reference rows more: "
            "negative log density "
        )
        narrow = quick(3 * X[:100], X[100:], model="gmm")
        assert "reference rows less: " in narrow.headline()

    def test_a_given_model_and_its_own_loss(self) -> None:
        frame = pl.DataFrame({"pinball": np.abs(X[:, 0]) * np.where(np.arange(200) < 90, 1, 4)})
        found = quick(frame[:90], frame[90:], loss="pinball")
        assert found.headline().startswith(
            "Risk shift: the model in use (losses in column pinball) does worse on current: pinball"
        )
        assert "density" not in str(found)

    def test_nothing_is_said_of_a_model_that_was_not_measured(self) -> None:
        few = str(quick(*regression(), model="ridge")).replace("no model in use was measured", "")
        assert "in use" not in few
        frame = pl.DataFrame({"a": X[:, 0], "error": np.abs(X[:, 1])})
        alone = str(quick(frame[:90], frame[90:], loss="error"))
        assert "shared" not in alone
        assert "retraining" not in alone

    def test_it_is_short(self) -> None:
        found = run(*regression(noise=3.0, n_p=100), model="ridge")
        assert len(str(found).splitlines()) <= 16
        names = [line.split(":")[0] for line in str(found).splitlines()[1:9]]
        assert names == [
            "advice", "gap in use", "model in use", "shared gap", "shared model",
            "why", "retraining", "p-values",
        ]  # fmt: skip


class TestAdvice:
    found = quick(*regression(noise=3.0, n_p=100), model="ridge")

    def retrained(self, current: Estimate, reference: Estimate) -> str:
        return replace(self.found, retraining=Retraining(current, reference)).advice

    def test_retraining(self) -> None:
        """Gains are said with their interval, losses on reference too."""
        helps = self.retrained(shown(0.5), shown(0.0))
        assert helps == (
            "Check that the current data are right. Retraining on both samples helps: it lowers "
            "the squared error on current by 0.5 (0.4 to 0.6)."
        )
        assert "raises it on reference by 0.3" in self.retrained(shown(0.5), shown(-0.3))
        more_rows = self.retrained(shown(0.5), shown(0.2))
        assert "part of that comes from training on more rows" in more_rows
        worse = self.retrained(shown(-0.5), shown(0.0))
        assert "would not help: the squared error on current is higher by 0.5" in worse
        unclear = self.retrained(shown(0.05), shown(0.0))
        assert "was not shown: the squared error on current changes by -0.05 (-0.15 to +0.05)" in (
            unclear
        )

    def test_better(self) -> None:
        advice = replace(self.found, direction="better").advice
        assert "easier" in advice
        assert "leaks" in advice
        assert "Retraining" not in advice

    def test_hidden(self) -> None:
        found = quick(*weaker_relation(), model="ridge")
        assert found.advice.startswith("Look at the columns that changed.")

    @pytest.mark.parametrize("verdict", [v for v in VERDICTS if v != "no shift"])
    def test_only_without_a_shift_there_is_nothing_to_do(self, verdict: Any) -> None:
        direction = "worse" if verdict == "risk shift" else None
        found = replace(self.found, verdict=verdict, direction=direction)
        assert "nothing" not in found.advice.lower()

    def test_no_shift(self) -> None:
        found = quick(*regression(n_p=100), model="ridge")
        assert found.advice.startswith(NOTHING_TO_DO)
        assert "equivalence margin" in found.advice
        settled = quick(*regression(n_p=100), model="ridge", equivalence_margin=5.0)
        assert settled.equivalence.shown
        assert settled.advice == (
            "Nothing was found to act on, and the gap was shown to lie within your margin."
        )

    @pytest.mark.parametrize("margin", [None, 5.0])
    def test_never_nothing_above_a_confirmed_slice(self, margin: float | None) -> None:
        found = run(*wider_and_narrower(), model="ridge", equivalence_margin=margin)
        assert found.verdict == "no shift"
        slices = found.drivers.confirmed_slices()
        assert slices
        assert slices[0].condition.startswith("column 1")
        assert f"the loss did change where {slices[0].condition}" in found.advice
        assert "nothing" not in str(found).lower()


class TestWarnedNoShift:
    def test_a_column_that_tells_the_files_apart_stands_beside_no_shift(self) -> None:
        for seed in range(4):
            rng = np.random.default_rng(seed)
            frame = pl.DataFrame({"a": rng.normal(size=160), "y": rng.normal(size=160)})
            frame = frame.with_columns(day=pl.int_range(160) // 80)
            found = quick(frame[:80], frame[80:], target="y", model="ridge", rng=seed)
            warned = [text for text in str(found).splitlines() if text.startswith("warning: ")]
            assert any("'day' alone tells the files apart" in text for text in warned)
            if found.verdict == "no shift":
                break
        assert found.verdict == "no shift"
        assert str(found).index("warning: ") < str(found).index("advice: ")

    def test_identical_files_are_said_to_be_identical(self) -> None:
        (x, y), _ = regression(n_p=120)
        found = run((x, y), (x[::-1], y[::-1]), model="ridge")
        assert found.notes["identical"] is True
        assert found.headline() == "No shift found: the two samples hold the same rows."
        assert found.advice == (
            "There is nothing to compare. Check that the right files were given."
        )
        assert found.shared_gap == 0
        assert found.retraining is not None
        nearly = run((x, y), (x[:-1], y[:-1]), model="ridge")
        assert "identical" not in nearly.notes


def test_remarks_say_why_a_test_alone_differs() -> None:
    found = quick(*regression(noise=1.35, n_p=100), model="ridge")
    alone = replace(found.results["in-use"], pvalue=0.03)
    found = replace(
        found,
        verdict="no shift",
        direction=None,
        results=found.results | {"in-use": alone},
        adjusted_pvalues={**found.adjusted_pvalues, "in-use": 0.06},
    )
    remark = "in-use alone would reject, so its interval excludes 0, but over all questions the "
    assert f"remark: {remark}evidence is p = 0.06: no risk shift is claimed" in str(found)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_badges_and_tones_differ(verdict: str) -> None:
    others = [other for other in VERDICTS if other != verdict]
    assert tone(verdict, None) not in {tone(other, None) for other in others}
    assert badge(verdict, None)[0] not in {badge(other, None)[0] for other in others}
