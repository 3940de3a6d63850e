"""Warnings about the data: columns, copies, few rows, losses in-sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.conftest import Deployed, X, quick, regression

ALONE: dict[str, Any] = {"model": Deployed(), "retrain": None}
FAR = np.array([0.0, 20.0])


def about(found: Any, words: str) -> list[str]:
    return [text for text in found.warnings if words in text]


class TestCopies:
    def test_identical_files(self) -> None:
        found = quick(X[:60], X[:60][::-1], **ALONE)
        assert found.warnings[0] == "The two samples hold the same rows."
        assert not about(found, "stand in the reference too")

    @pytest.mark.parametrize("copies", [1, 7])
    def test_rows_in_both_files_are_counted(self, copies: int) -> None:
        current = np.concatenate([X[60:100], X[:copies]])
        found = quick(X[:60], current, **ALONE)
        assert about(found, f"{copies} of {40 + copies} current rows stand in the reference too")
        assert f"warning: {copies} of {40 + copies}" in str(found)

    def test_the_target_counts(self) -> None:
        """The same inputs with another target are another row."""
        (x, y), _ = regression(n_p=80)
        assert not about(quick((x, y), (x, y + 1), model="ridge"), "stand in the reference")

    def test_none(self) -> None:
        assert quick(X[:60], X[60:], **ALONE).warnings == ()


class TestFewRows:
    @pytest.mark.parametrize(("n_p", "n_q", "warned"), [(19, 60, 1), (60, 19, 1), (20, 20, 0)])
    def test_below_20_a_side(self, n_p: int, n_q: int, warned: int) -> None:
        found = quick(X[:n_p], X[100 : 100 + n_q], **ALONE)
        text = f"Only {n_p} reference and {n_q} current rows were compared: the p-value holds, but "
        assert len(about(found, text + "the size of the gap is unreliable.")) == warned
        assert ("unreliable" in str(found)) == bool(warned)

    def test_rows_that_train_do_not_count(self) -> None:
        found = quick(*regression(n_p=120), model="ridge", train_share=0.85)
        assert about(found, "Only 18 reference and 80 current rows were compared")


class TestColumns:
    def test_dates_and_ids_are_named(self) -> None:
        rng = np.random.default_rng(0)
        days = pl.Series(np.datetime64("2024-01-01") + rng.integers(0, 90, size=120))
        frame = pl.DataFrame({"a": X[:120, 0], "when": days, "row id": rng.permutation(120) + 7000})
        found = quick(frame[:60], frame[60:], model="gmm")
        assert about(found, "Column 'when' holds dates")
        assert about(found, "--drop when")
        assert about(found, "Column 'row id' looks like an id")
        assert about(found, "--drop 'row id'")
        left = quick(frame[:60], frame[60:], model="gmm", drop=["when", "row id"])
        assert left.warnings == ()

    def test_an_array_has_no_name_to_drop(self) -> None:
        x = np.concatenate([X[:60], X[60:120] + FAR])
        found = quick(x[:60], x[60:], **ALONE)
        (text,) = about(found, "tells the files apart")
        assert text.startswith("Column 1 alone")
        assert "--drop" not in text

    def test_drivers_do_not_decide_about_them(self) -> None:
        x = np.concatenate([X[:60], X[60:120] + FAR])
        told = [quick(x[:60], x[60:], **ALONE, drivers=on).warnings for on in (True, False)]
        assert told[0] == told[1] != ()


def test_losses_in_sample() -> None:
    words = "The losses of the shared model are in-sample"
    assert about(quick(*regression(), model="ridge", folds=None), words)
    assert not about(quick(*regression(), model="ridge"), words)


def test_a_model_that_was_trained_on_compared_rows() -> None:
    """A given model may say how many of the rows it has seen."""

    class Seen(Deployed):
        def overlap(self, pool: Any) -> int:
            return int((pool.numbers()[:, 0] > 1).sum())

    count = int((X[:, 0] > 1).sum())
    found = quick(X[:60], X[60:], model=Seen(), retrain=None)
    assert about(
        found, f"{count} rows of the table that the model was trained on stand in the compared"
    )
