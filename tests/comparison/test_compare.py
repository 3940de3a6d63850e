"""compare: verdict, gap, direction, interval, all from one test and agreeing with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import rdiv
from rdiv.comparison import compare as comparison
from rdiv.models import Frozen
from rdiv.samples import Pool

KEYS = {
    "schema", "verdict", "results", "adjusted_pvalues", "gap", "gap_interval", "direction",
    "smallest_detectable_gap", "inputs", "drivers",
}  # fmt: skip
X = np.random.default_rng(0).normal(size=(200, 2))


@dataclass(frozen=True)
class FirstColumn:
    """A deployed model whose loss is the first input."""

    held_out = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> FirstColumn:
        return self

    def losses(self, pool: Pool) -> np.ndarray:
        return pool.numbers()[:, 0].astype(float)


def regression(noise: float = 1.0, n_p: int = 80) -> tuple[Any, Any]:
    """A target with noise 1 on reference and `noise` on current."""
    rng = np.random.default_rng(1)
    y = X[:, 0] + rng.normal(size=200) * np.where(np.arange(200) < n_p, 1.0, noise)
    return (X[:n_p], y[:n_p]), (X[n_p:], y[n_p:])


def run(reference: Any, current: Any, **how: Any) -> rdiv.Comparison:
    return rdiv.compare(reference, current, **({"n_resamples": 99, "rng": 0} | how))


class TestTheVerdict:
    @pytest.mark.parametrize("n_p", [80, 100, 150])
    def test_worse_and_better(self, n_p: int) -> None:
        reference, current = regression(noise=3.0, n_p=n_p)
        worse = run(reference, current, model="ridge")
        assert (worse.verdict, worse.direction) == ("risk shift", "worse")
        assert worse.shifted
        assert worse.gap > 0
        assert worse.gap_interval.low > 0
        test = worse.results["r-div"]
        assert worse.gap == pytest.approx(test.risk_q - test.risk_p)
        better = run(current, reference, model="ridge")
        assert (better.verdict, better.direction) == ("risk shift", "better")
        assert better.gap == pytest.approx(-worse.gap)
        assert better.gap_interval.high < 0

    def test_no_shift(self) -> None:
        found = run(*regression(), model="ridge")
        assert (found.verdict, found.direction, found.shifted) == ("no shift", None, False)
        assert found.gap_interval.low < 0 < found.gap_interval.high
        assert found.smallest_detectable_gap > 0
        text = str(found)
        assert "No shift found" in text
        assert "80 %" in text
        for word in ("equal", "same", "identical", "no difference"):
            assert word not in text.lower()

    def test_hidden_shift(self) -> None:
        """A slope that turns round: the pooled line is flat and equally bad on both sides."""
        rng = np.random.default_rng(2)
        y = np.where(np.arange(200) < 100, 1.0, -1.0) * X[:, 0] + 0.5 * rng.normal(size=200)
        found = run((X[:100], y[:100]), (X[100:], y[100:]), model="ridge")
        assert (found.verdict, found.direction, found.shifted) == ("hidden shift", None, True)
        assert found.gap_interval.low < 0 < found.gap_interval.high
        assert "would train different models" in str(found)

    def test_the_tests_are_those_one_by_one(self) -> None:
        reference, current = regression(noise=2.0)
        found = run(reference, current, model="ridge")
        for name, result in found.results.items():
            alone = rdiv.two_sample_test(
                reference, current, name, model="ridge", folds=5, n_resamples=99, rng=0
            )
            assert alone.to_json() == result.to_json()

    def test_a_model_without_gradients_has_r_div_alone(self) -> None:
        found = run(X[:80], X[80:], model=FirstColumn())
        assert list(found.results) == ["r-div"]
        assert found.adjusted_pvalues == {"r-div": found.results["r-div"].pvalue}
        assert "hidden shifts were not looked for" in str(found)

    def test_verdict_and_omnibus_cannot_contradict_each_other(self) -> None:
        verdicts = set()
        for seed in range(60):
            rng = np.random.default_rng(seed)
            x, noise = rng.normal(size=(60, 1)), 1.0 + (np.arange(60) < 30) * 0.5
            y = x[:, 0] + noise * rng.normal(size=60)
            found = run((x[:30], y[:30]), (x[30:], y[30:]), model="ridge", rng=seed)
            assert found.shifted == found.results["omnibus"].rejected
            verdicts.add(found.verdict)
            if found.results["r-div"].rejected and found.verdict == "no shift":
                assert "no risk shift is claimed" in str(found)
        assert {"no shift", "risk shift"} <= verdicts

    def test_identical_files(self) -> None:
        both = regression()[0]
        for folds in (None, 5):
            found = run(both, both, model="ridge", folds=folds)
            assert (found.verdict, found.gap) == ("no shift", 0.0)
            assert not np.signbit(found.gap)
            assert found.results["r-div"].pvalue == 1.0
            assert found.inputs.pvalue == 1.0

    def test_the_inputs_are_context_outside_the_verdict(self) -> None:
        x = np.concatenate([X[:100], X[100:] + 3])
        y = np.random.default_rng(2).normal(size=200)
        found = run((x[:100], y[:100]), (x[100:], y[100:]), model="ridge")
        assert found.verdict == "no shift"
        assert found.inputs.rejected
        assert found.inputs.discrepancy == "energy(scaled=True)"
        assert "not part of the verdict): shift found" in str(found)

    def test_inputs_with_missing_values_in_an_array_are_left_out(self) -> None:
        x = np.where(X > 2, np.nan, X)
        y = X[:, 0]
        found = run((x[:80], y[:80]), (x[80:], y[80:]))
        assert found.inputs is None
        assert found.to_dict()["inputs"] is None
        assert "inputs alone" not in str(found)


class TestTheInterval:
    @settings(max_examples=60)
    @given(
        seed=st.integers(0, 10**6),
        sizes=st.tuples(st.integers(2, 15), st.integers(2, 15)),
        shift=st.floats(0, 3),
        digits=st.sampled_from([0, 1, 6]),
        alpha=st.sampled_from([0.05, 0.1, 0.25]),
    )
    def test_it_excludes_0_exactly_when_the_test_rejects(
        self, seed: int, sizes: tuple[int, int], shift: float, digits: int, alpha: float
    ) -> None:
        rng = np.random.default_rng(seed)
        p = rng.normal(size=(sizes[0], 1)).round(digits)
        q = (rng.normal(size=(sizes[1], 1)) + shift).round(digits)
        found = run(p, q, model=FirstColumn(), n_resamples=39, alpha=alpha, rng=seed)
        low, high = found.gap_interval
        assert low <= found.gap <= high
        assert (low > 0 or high < 0) == found.results["r-div"].rejected

    def test_samples_without_any_spread(self) -> None:
        """Two rows against two: p is a third, so no interval may exclude 0."""
        found = run([[0.0], [0.0]], [[1.0], [1.0]], model=FirstColumn())
        assert found.verdict == "no shift"
        assert found.gap_interval.low <= 0 <= found.gap_interval.high
        assert found.smallest_detectable_gap > 0
        assert json.loads(found.to_json())["gap"] == 1.0

    def test_none_from_losses_in_sample(self) -> None:
        found = run(*regression(noise=3.0), model="ridge", folds=None)
        assert found.gap_interval is None
        assert "no valid interval" in found.notes["interval"]
        assert "folds" in found.notes["interval"]
        assert "in-sample losses give no valid interval" in str(found)
        assert found.to_dict()["gap_interval"] is None
        assert found.verdict == "risk shift"

    def test_one_without_folds_for_a_frozen_model(self) -> None:
        fitted = LinearRegression().fit(X, X[:, 0])
        found = run(*regression(), model=Frozen(fitted, trained_on="neither"))
        assert found.gap_interval is not None
        assert "folds do not apply" in found.notes["folds"]

    def test_a_smaller_alpha_gives_a_wider_one(self) -> None:
        narrow, wide = (run(*regression(), model="ridge", alpha=alpha) for alpha in (0.2, 0.02))
        assert wide.gap_interval.low < narrow.gap_interval.low
        assert wide.gap_interval.high > narrow.gap_interval.high
        assert wide.gap == narrow.gap

    def test_it_covers_the_gap_as_often_as_said(self) -> None:
        rng, covered = np.random.default_rng(3), 0
        for _ in range(150):
            p, q = rng.normal(size=(20, 1)), 2 * rng.normal(size=(60, 1)) + 0.7
            low, high = run(
                p, q, model=FirstColumn(), n_resamples=39, alpha=0.1, rng=rng
            ).gap_interval
            covered += low <= 0.7 <= high
        assert abs(covered / 150 - 0.9) < 4 * np.sqrt(0.09 / 150)


class TestDesigns:
    def test_groups_widen_the_interval(self) -> None:
        rng = np.random.default_rng(4)
        groups = np.arange(200) // 10
        x = (rng.normal(size=20)[groups] + 0.3 * rng.normal(size=200))[:, None]
        design = (groups[:80], groups[80:])
        rows = run(x[:80], x[80:], model=FirstColumn())
        grouped = run(x[:80], x[80:], model=FirstColumn(), groups=design)
        assert grouped.gap == pytest.approx(rows.gap)
        width = [found.gap_interval.high - found.gap_interval.low for found in (rows, grouped)]
        assert width[1] > 1.5 * width[0]
        assert grouped.smallest_detectable_gap > 1.5 * rows.smallest_detectable_gap

    def test_strata_give_the_gap_within(self) -> None:
        rng = np.random.default_rng(5)
        level = 20 * rng.normal(size=(50, 1))
        p, q = level + rng.normal(size=(50, 1)), level + rng.normal(size=(50, 1)) + 2
        pairs = (np.arange(50), np.arange(50))
        found = run(p, q, model=FirstColumn(), strata=pairs)
        assert found.verdict == "risk shift"
        assert found.gap == pytest.approx(float((q - p).mean()))
        assert found.gap_interval.low > 0
        assert run(p, q, model=FirstColumn()).verdict == "no shift"

    def test_names_of_columns(self) -> None:
        frame = pl.DataFrame(
            {"x": X[:, 0], "y": X[:, 1], "shop": np.arange(200) // 5, "day": np.arange(200) % 4}
        )
        found = run(frame[:80], frame[80:], target="y", model="ridge", groups="shop")
        assert found.results["r-div"].n_p == 80
        found = run(frame[:80], frame[80:], target="y", model="ridge", strata="day")
        assert found.verdict in ("no shift", "risk shift")

    @pytest.mark.parametrize("design", ["groups", "strata"])
    def test_more_rows_than_the_inputs_are_looked_at(
        self, design: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The test of the inputs takes a part of the rows; designs must survive the cut."""
        monkeypatch.setattr(comparison, "INPUT_ROWS", 12)
        groups = np.arange(200) // 2
        labels = {
            "groups": (groups[:20], groups[20:]),
            "strata": (np.arange(20), np.arange(180) % 20),
        }
        found = run(X[:20], X[20:] + 5, model="pca", **{design: labels[design]})
        assert (found.inputs.n_p, found.inputs.n_q) == (12, 12)
        assert found.inputs.rejected

    def test_matched_pairs_stay_matched_in_the_inputs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(comparison, "INPUT_ROWS", 20)
        pairs = (np.arange(100), np.arange(100))
        found = run(X[:100], X[100:] + 5, model="pca", strata=pairs)
        assert found.inputs.pvalue == 0.01


class TestTheDocument:
    found = run(*regression(noise=3.0), model="ridge")

    def test_it_has_the_names_of_the_contract(self) -> None:
        document = self.found.to_dict()
        assert set(document) >= KEYS
        assert set(document["gap_interval"]) == {"low", "high"}
        assert list(document["results"]) == ["r-div", "score", "omnibus"]
        raw = {name: result["pvalue"] for name, result in document["results"].items()}
        assert document["adjusted_pvalues"] == {
            name: max(raw[name], raw["omnibus"]) for name in ("r-div", "score")
        }
        assert "schema" not in document["results"]["r-div"]
        assert document["schema"] == 1
        assert json.loads(self.found.to_json()) == document

    def test_the_same_seed_gives_the_same_bytes_for_any_jobs(self) -> None:
        texts = {run(*regression(), model="ridge", n_jobs=n).to_json() for n in (None, 1, 2)}
        assert len(texts) == 1

    def test_the_text_is_short_and_html_is_escaped(self) -> None:
        text = str(self.found)
        assert text.splitlines()[0].startswith("Risk shift: the model does worse on current, by ")
        assert len(text.splitlines()) <= 9
        assert text.splitlines()[0] in self.found._repr_html_()

        class Odd(FirstColumn):
            def __str__(self) -> str:
                return "<script>"

        page = run(X[:80], X[80:], model=Odd())._repr_html_()
        assert "<script>" not in page
        assert "&lt;script&gt;" in page

    def test_defaults(self) -> None:
        found = run(*regression())
        assert found.results["r-div"].model == "boosting, 5 folds"
        density = run(X[:80], X[80:])
        assert density.results["r-div"].model.endswith(", 5 folds")
        assert density.gap_interval is not None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"alpha": 0.0}, "alpha must lie strictly between"),
        ({"n_resamples": 5}, "can never reach alpha"),
        ({"model": "nothing"}, "unknown model"),
        ({"folds": 1}, "folds must be a whole number"),
        ({"rng": -1}, "rng must be 0 or larger"),
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
