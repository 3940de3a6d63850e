"""The result of compare as a document, as a frame and as a picture."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.conftest import Deployed, FirstColumn, X, quick, regression, run

from rdiv.models import Boosting
from rdiv.results import SCHEMA

KEYS = {
    "schema", "verdict", "direction", "pvalue", "gap", "gap_interval", "shared_gap",
    "shared_gap_interval", "retraining", "split", "labels", "expected", "labelled", "advice",
    "warnings", "prediction_columns",
    "smallest_detectable_gap", "adjusted_pvalues", "alpha", "n_p", "n_q", "model", "shared_model",
    "seed", "results", "input_test", "input_columns", "equivalence", "not_worse", "drivers",
    "losses", "notes",
}  # fmt: skip


class TestTheDocument:
    found = run(*regression(noise=3.0, n_p=100), model="ridge")

    def test_it_has_the_names_of_the_contract(self) -> None:
        document = self.found.to_dict()
        assert set(document) == KEYS
        assert document["schema"] == SCHEMA == 2
        for name in ("gap_interval", "shared_gap_interval"):
            assert set(document[name]) == {"low", "high"}
        assert set(document["retraining"]) == {"current", "reference"}
        assert set(document["retraining"]["current"]) == {"value", "low", "high"}
        assert list(document["results"]) == ["in-use", "r-div", "score", "omnibus"]
        assert list(document["adjusted_pvalues"]) == ["in-use", "r-div", "score"]
        assert all("schema" not in result for result in document["results"].values())
        parts = [document["split"][name]["value"] for name in ("inputs", "relation")]
        assert sum(parts) == pytest.approx(document["gap"])
        assert len(document["input_columns"]) == 2
        assert (document["model"], document["shared_model"]) == ("ridge", "ridge, 5 folds")
        assert document["labels"] == "all"
        assert json.loads(self.found.to_json()) == document

    def test_values_are_those_of_the_object(self) -> None:
        document = self.found.to_dict()
        for name in ("verdict", "pvalue", "gap", "shared_gap", "advice", "direction"):
            assert document[name] == getattr(self.found, name)
        assert document["warnings"] == list(self.found.warnings)
        assert document["gap_interval"]["low"] == self.found.gap_interval.low
        assert document["retraining"]["current"]["high"] == self.found.retraining.current.high

    def test_what_was_not_asked_is_null_or_absent(self) -> None:
        few = quick(*regression(), model="ridge").to_dict()
        assert set(few) == KEYS
        assert few["gap"] is few["gap_interval"] is few["retraining"] is few["drivers"] is None
        assert (few["model"], few["shared_model"]) == ("ridge, 5 folds", "ridge, 5 folds")
        assert "in-use" not in few["results"]
        alone = quick(X[:60], X[60:], model=Deployed(), retrain=None).to_dict()
        assert set(alone) == KEYS
        assert alone["shared_gap"] is alone["shared_gap_interval"] is alone["shared_model"] is None
        assert list(alone["results"]) == ["in-use"]
        assert alone["labels"] is None

    @pytest.mark.parametrize("model", ["ridge", "boosting"])
    def test_the_same_seed_gives_the_same_bytes_for_any_jobs(self, model: str) -> None:
        pair = regression(n_p=120)
        texts = {run(*pair, model=model, n_jobs=n).to_json() for n in (None, 1, 2)}
        assert len(texts) == 1

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_every_fit_is_made_once(self, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
        """The shared model in three draws of five folds, that in use once and without its rows."""
        sizes, plain = [], Boosting.fit

        def counted(model: Boosting, pool: Any, rng: Any) -> Any:
            sizes.append(len(pool))
            return plain(model, pool, rng)

        monkeypatch.setattr(Boosting, "fit", counted)
        run(*regression(n_p=120), model="boosting", n_jobs=jobs)
        assert sorted(sizes) == sorted(15 * [160] + [60] + 3 * [40])

    def test_order_of_rows_does_not_matter(self) -> None:
        (x, y), current = regression(n_p=100)
        one = quick((x, y), current, model="ridge").to_json()
        assert quick((x[::-1], y[::-1]), current, model="ridge").to_json() == one

    def test_html_is_escaped(self) -> None:
        assert self.found.headline().split(":")[0] in self.found._repr_html_()

        class Odd(FirstColumn):
            def __str__(self) -> str:
                return "<script>"

        page = run(X[:80], X[80:], model=Odd())._repr_html_()
        assert "<script>" not in page
        assert "&lt;script&gt;" in page


class TestTheFrame:
    def test_one_row_per_question(self) -> None:
        found = quick(*regression(noise=2.0, n_p=100), model="ridge")
        frame = found.to_frame()
        assert isinstance(frame, pl.DataFrame)
        assert frame["question"].to_list() == ["in-use", "r-div", "score"]
        assert frame["model"].to_list() == ["ridge", "ridge, 5 folds", "ridge, 5 folds"]
        assert frame["gap"].to_list() == [found.gap, found.shared_gap, None]
        for row, span in enumerate([found.gap_interval, found.shared_gap_interval]):
            assert (frame["low"][row], frame["high"][row]) == tuple(span)
        difference = frame["mean_loss_current"] - frame["mean_loss_reference"]
        assert difference[:2].to_list() == pytest.approx(frame["gap"][:2].to_list())
        names = frame["question"].to_list()
        assert frame["pvalue"].to_list() == [found.results[name].pvalue for name in names]
        assert frame["adjusted_pvalue"].to_list() == [found.adjusted_pvalues[k] for k in names]

    def test_without_intervals(self) -> None:
        frame = quick(*regression(), model="ridge", folds=None).to_frame()
        assert frame["question"].to_list() == ["r-div", "score"]
        assert frame["low"].to_list() == frame["high"].to_list() == [None, None]


class TestThePicture:
    def test_it_shows_the_gaps_and_what_retraining_wins(self) -> None:
        found = quick(*regression(noise=3.0, n_p=100), model="ridge")
        ax = found.plot()
        labels = [text.get_text() for text in ax.get_yticklabels()]
        assert labels == [
            "gap of the model in use",
            "gap of the shared model",
            "retraining wins on current",
            "retraining wins on reference",
        ]
        points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
        won = found.retraining
        assert points == [found.gap, found.shared_gap, won.current.value, won.reference.value]
        spans = [tuple(line.get_xdata()) for line in ax.lines if line.get_linewidth() == 2]
        spans = [span for span in spans if len(span) == 2]
        assert spans[0] == tuple(found.gap_interval)
        assert spans[2] == (won.current.low, won.current.high)
        assert ax.get_xlabel() == "difference in squared error"
        assert "Risk shift, worse" in ax.get_title()

    def test_on_axes_that_are_given(self) -> None:
        from matplotlib.figure import Figure

        ax = Figure().subplots()
        found = quick(*regression(), model="ridge", folds=None)
        assert found.plot(ax) is ax
        assert [text.get_text() for text in ax.get_yticklabels()] == ["gap of the shared model"]
        assert np.isfinite(ax.get_xlim()).all()
