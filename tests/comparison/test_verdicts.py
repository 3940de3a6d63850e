"""Closed testing: the adjusted p-values of every intersection by slow code, and the verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.comparison.conftest import FirstColumn, quick

from rdiv.comparison.verdicts import VERDICTS, closed_testing, verdict_of
from rdiv.samples import Pool


@dataclass(frozen=True)
class TwoColumns(FirstColumn):
    """The first input is the loss, the second the gradient."""

    def gradients(self, pool: Pool) -> np.ndarray:
        return pool.numbers()[:, 1:2].astype(float)


PVALUES = st.integers(1, 1000).map(lambda k: k / 1000)


def as_results(raw: dict[str, float]) -> Any:
    return {name: SimpleNamespace(pvalue=pvalue) for name, pvalue in raw.items()}


def by_hand(raw: dict[str, float]) -> tuple[dict[str, float], float]:
    """Every set of questions as a number in binary, its p-value written out case by case."""
    asked = [name for name in raw if name != "omnibus"]
    largest = dict.fromkeys(asked, 0.0)
    pvalue = 0.0
    for bits in range(1, 2 ** len(asked)):
        chosen = {name for place, name in enumerate(asked) if bits >> place & 1}
        if chosen == {"in-use"}:
            pvalue = raw["in-use"]
        elif chosen == {"r-div"}:
            pvalue = raw["r-div"]
        elif chosen == {"score"}:
            pvalue = raw["score"]
        elif chosen == {"r-div", "score"}:
            pvalue = raw["omnibus"]
        elif chosen == {"in-use", "r-div"}:
            pvalue = min(2 * raw["in-use"], 2 * raw["r-div"], 1.0)
        elif chosen == {"in-use", "score"}:
            pvalue = min(2 * raw["in-use"], 2 * raw["score"], 1.0)
        else:
            pvalue = min(2 * raw["in-use"], 2 * raw["omnibus"], 1.0)
        for name in chosen:
            largest[name] = max(largest[name], pvalue)
    return largest, pvalue  # the last set holds all


ASKED = [
    ("in-use", "r-div", "score", "omnibus"),
    ("in-use", "r-div"),
    ("r-div", "score", "omnibus"),
    ("in-use",),
    ("r-div",),
]


class TestClosedTesting:
    @settings(max_examples=300)
    @given(asked=st.sampled_from(ASKED), pvalues=st.tuples(PVALUES, PVALUES, PVALUES, PVALUES))
    def test_against_every_intersection(
        self, asked: tuple[str, ...], pvalues: tuple[float, ...]
    ) -> None:
        raw = dict(zip(asked, pvalues, strict=False))
        adjusted, together = closed_testing(as_results(raw))
        expected, overall = by_hand(raw)
        assert list(adjusted) == [name for name in asked if name != "omnibus"]
        assert adjusted == expected
        assert together == overall
        for name, pvalue in adjusted.items():
            assert raw[name] <= pvalue <= 1
            assert pvalue >= together  # no question is claimed without the global test

    def test_in_any_order(self) -> None:
        raw = {"omnibus": 0.03, "score": 0.02, "r-div": 0.4, "in-use": 0.6}
        adjusted, together = closed_testing(as_results(raw))
        assert adjusted == {"in-use": 0.8, "r-div": 0.8, "score": 0.06}
        assert together == 0.06

    def test_false_claims_are_rare_when_one_question_alone_is_real(self) -> None:
        """In-use has a tiny p-value, the others are uniform and the same: claimed at most alpha."""
        rng, trials, false = np.random.default_rng(0), 2000, 0
        for pvalue in rng.random(trials):
            raw = {"in-use": 1e-9, "r-div": pvalue, "score": pvalue, "omnibus": pvalue}
            adjusted, _ = closed_testing(as_results(raw))
            assert adjusted["in-use"] <= 0.05
            false += min(adjusted["r-div"], adjusted["score"]) <= 0.05
        assert binom.ppf(0.001, trials, 0.05) <= false <= binom.ppf(0.999, trials, 0.05)


class TestTheVerdict:
    @pytest.mark.parametrize("leading", ["in-use", "r-div"])
    @pytest.mark.parametrize(
        ("own", "other", "together", "expected"),
        [
            (0.05, 0.9, 0.05, "risk shift"),
            (0.01, 0.01, 0.01, "risk shift"),
            (0.0501, 0.05, 0.05, "hidden shift"),
            (0.9, 0.001, 0.001, "hidden shift"),
            (0.0501, 0.06, 0.05, "shift, kind not established"),
            (0.9, 0.9, 0.0501, "no shift"),
            (1.0, 1.0, 1.0, "no shift"),
        ],
    )
    def test_all_cases(
        self, own: float, other: float, together: float, expected: str, leading: str
    ) -> None:
        adjusted = {"score": other, leading: own}
        assert verdict_of(adjusted, together, 0.05, leading) == expected

    @settings(max_examples=200)
    @given(
        asked=st.sampled_from(ASKED),
        pvalues=st.tuples(PVALUES, PVALUES, PVALUES, PVALUES),
        alpha=st.sampled_from([0.01, 0.05, 0.2]),
    )
    def test_a_shift_is_said_exactly_when_the_global_test_rejects(
        self, asked: tuple[str, ...], pvalues: tuple[float, ...], alpha: float
    ) -> None:
        raw = dict(zip(asked, pvalues, strict=False))
        adjusted, together = closed_testing(as_results(raw))
        verdict = verdict_of(adjusted, together, alpha, asked[0])
        assert (verdict == "no shift") == (together > alpha)
        assert (verdict == "risk shift") == (adjusted[asked[0]] <= alpha)
        assert verdict in VERDICTS

    def test_the_kind_may_not_be_established(self) -> None:
        """r-div and score are both small, their combination is smaller, and none is enough."""
        raw = {"in-use": 0.5, "r-div": 0.03, "score": 0.03, "omnibus": 0.02}
        adjusted, together = closed_testing(as_results(raw))
        assert (together, min(adjusted.values())) == (0.04, 0.06)
        assert verdict_of(adjusted, together, 0.05, "in-use") == "shift, kind not established"

    def test_it_happens(self) -> None:
        """Four rows with a loss of 1 and four with a gradient of 1, all of them in current.

        Each alone has p = 2 C(40, 4) / C(80, 4) = .115, and both at once about the square of it.
        """
        x = np.random.default_rng(0).normal(size=(80, 3))
        x[:, :2] = 0
        x[40:44, 0] = x[50:54, 1] = 1
        found = quick(x[:40], x[40:], model=TwoColumns(), n_resamples=999)
        assert found.verdict == "shift, kind not established"
        assert found.pvalue <= 0.03
        assert min(found.adjusted_pvalues.values()) > 0.07
        assert found.shifted
        assert found.direction is None
        assert "none of them does alone" in found.headline()
        assert "not enough is known to say what" in found.advice


def test_pvalue_is_that_of_all_questions() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = x[:, 0] + rng.normal(size=200)
    asked = quick((x[:100], y[:100]), (x[100:], y[100:]), model="ridge")
    raw = {name: result.pvalue for name, result in asked.results.items()}
    assert asked.pvalue == min(1.0, 2 * min(raw["in-use"], raw["omnibus"]))
    assert asked.adjusted_pvalues == by_hand(raw)[0]
    fewer = quick((x[:90], y[:90]), (x[90:], y[90:]), model="ridge")
    assert fewer.pvalue == fewer.results["omnibus"].pvalue
