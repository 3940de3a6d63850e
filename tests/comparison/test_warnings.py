"""Warnings about the data: columns, copies, few rows, losses in-sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.conftest import Deployed, X, quick, regression

from rdiv.models import Frozen

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
        stand = "stands" if copies == 1 else "stand"
        assert about(found, f"{copies} of {40 + copies} current rows {stand} in the reference too")
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


class TestRepeatedRows:
    def tables(self, **more: Any) -> list[pl.DataFrame]:
        rng = np.random.default_rng(3)
        made = []
        for rows in (60, 50):
            frame = pl.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
            made.append(pl.concat([frame, frame.head(12)]).with_columns(**more))
        return made

    def test_their_share_is_said_and_groups_are_suggested(self) -> None:
        found = quick(*self.tables(), model="gmm")
        text = "17.9 % of the rows (24 of 134) repeat a row of their own sample."
        assert about(found, text)
        assert about(found, "give that column as groups")

    def test_not_where_groups_are_given_or_values_are_few(self) -> None:
        p, q = self.tables()
        p, q = (
            one.with_columns(who=pl.Series(np.arange(len(one)) // 4 + start))
            for one, start in ((p, 0), (q, 100))
        )
        assert not about(quick(p, q, model="gmm", groups="who"), "repeat a row")
        few = np.random.default_rng(0).integers(0, 3, size=(2, 80, 2)).astype(float)
        assert not about(quick(few[0], few[1], model="gmm"), "repeat a row")


class TestAFrozenModelThatIsTooGood:
    def drawn(self, seed: int, on_reference: bool) -> Any:
        from sklearn.neighbors import KNeighborsRegressor

        rng = np.random.default_rng(seed)
        x = rng.normal(size=(400, 2))
        y = x[:, 0] + rng.normal(size=400)
        rows = slice(0, 120) if on_reference else slice(280, 400)
        model = KNeighborsRegressor(3).fit(x[rows], y[rows])
        frozen = Frozen(model, trained_on="neither")
        return quick((x[:120], y[:120]), (x[120:200], y[120:200]), model=frozen, retrain=None)

    def test_one_that_was_trained_on_the_reference_gives_itself_away(self) -> None:
        found = self.drawn(0, on_reference=True)
        assert about(found, "gives itself away")
        assert "of a copy that was trained on other reference rows" in str(found)

    def test_others_do_not(self) -> None:
        assert not any(about(self.drawn(s, False), "gives itself away") for s in range(4))

    def test_its_word_is_repeated(self) -> None:
        found = self.drawn(1, on_reference=False)
        assert "is your word" in found.notes["trained on"]
        assert "remark: that the model in use was trained on neither sample is your word" in str(
            found
        )
        x = np.random.default_rng(0).normal(size=(120, 2))
        assert "trained on" not in quick(x[:60], x[60:], model="gmm").notes
