"""Sentences about missing labels: each says what was computed, and names the assumption."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.answers import given
from tests.comparison.test_unlabelled import Second, rows

import rdiv
from rdiv.comparison.sentences import badge, tone, verdict_remarks
from rdiv.errors import InputError

ALONE: dict[str, Any] = {"model": given(Second()), "retrain": None, "n_resamples": 99, "rng": 0}


@pytest.fixture(scope="module")
def worse() -> Any:
    return rdiv.compare(rows(800), rows(500, 1.0)[0], **ALONE)


def test_worse(worse: Any) -> None:
    assert worse.headline().startswith("Expected risk shift: the model in use (")
    assert "if the relation between inputs and target holds" in worse.headline()
    text = str(worse)
    assert "assumption: this is the gap if the relation" in text
    assert "support:" in text
    assert "label some current rows, drawn at random" in worse.advice
    assert "predictions moved" not in text  # its predictions do not depend on the moved column
    assert "gap in use" not in text
    assert "(expected loss " in text
    assert "r-div and score were not asked" in " ".join(verdict_remarks(worse))
    assert badge(worse.verdict, worse.direction).endswith("Expected risk shift, worse")
    assert tone(worse.verdict, worse.direction) == "expected worse"


def test_better() -> None:
    found = rdiv.compare(rows(800, 1.0), rows(500)[0], **ALONE, drivers=False)
    assert (found.verdict, found.direction) == ("expected risk shift", "better")
    assert "look easier" in found.advice


def test_no_shift() -> None:
    found = rdiv.compare(rows(800), rows(500)[0], **ALONE, drivers=False)
    assert found.verdict == "no shift"
    assert found.direction is None
    assert "cannot be seen without labels" in found.headline()
    assert "That is not equality" in found.advice


def test_rows_that_the_reference_lacks_are_not_said_to_be_fine() -> None:
    far, _ = rows(500)
    far[:, 0] += 50.0  # the predictions of the model do not depend on it
    found = rdiv.compare(rows(800), far, **ALONE, drivers=False)
    assert found.gap is None
    assert "do not overlap enough" in found.headline()
    assert "Label some of them" in found.advice
    assert "support: 100 % of current" in str(found)


def test_strata_have_no_expected_gap_and_no_word_of_overlap() -> None:
    weeks = np.arange(800) % 4, np.arange(500) % 4
    found = rdiv.compare(rows(800), rows(500)[0], **ALONE, drivers=False, strata=weeks)
    assert found.gap is None
    assert "overlap" not in found.headline() + found.advice


def test_the_page(worse: Any, tmp_path: Any) -> None:
    worse.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Expected gap of the model in use", "Outside what the reference covers",
                  "Predictions that moved", "No current row has a label"):  # fmt: skip
        assert words in text
    assert "different losses" not in text


def test_a_margin_needs_labels() -> None:
    with pytest.raises(InputError, match="a margin is about the gap of labelled rows"):
        rdiv.compare(rows(200), rows(100)[0], **ALONE, equivalence_margin=1.0)


def frame(sample: Any, day: str | None = None) -> pl.DataFrame:
    x, y = sample
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})
    return table if day is None else table.with_columns(day=pl.lit(day))


def test_levels_without_labels() -> None:
    days = [frame(rows(200, shift, seed=3), day) for day, shift in (("a", 0.0), ("b", 1.2))]
    days.append(frame(rows(200, 0.0, seed=4), "c"))
    current = pl.concat(days).drop("y")
    found = rdiv.compare_many(frame(rows(800)), current, by="day", target="y", model="ridge", rng=0,
                              drivers=False)  # fmt: skip
    assert [level.verdict for level in found.levels] == [
        "no shift",
        "expected risk shift",
        "no shift",
    ]
    assert found.levels[1].direction == "worse"
    assert found.verdict == "expected risk shift"
    assert "b (expected worse)" in found.headline()
    assert "not tested, because there are rows without labels" in str(found)
    assert "expected gap" in found.levels[1].line()


def test_some_levels_have_labels() -> None:
    reference = frame(rows(600))
    current = {"old": frame(rows(150, seed=5)), "new": frame(rows(150, 1.2, seed=6)).drop("y")}
    found = rdiv.compare_many(reference, current, target="y", model="ridge", rng=0, drivers=False)
    labels = [
        None if level.comparison is None else level.comparison.labels for level in found.levels
    ]
    assert labels == ["all", "none"]


def test_several_models_without_labels(tmp_path: Any) -> None:
    found = rdiv.compare_models(
        rows(400), rows(200, 1.0)[0], {"a": "ridge", "b": "boosting"}, rng=0, drivers=False
    )
    assert {level.verdict for level in found.levels} <= {"expected risk shift", "no shift"}
    found.to_html(tmp_path / "many.html")
    assert np.isfinite(found.levels[0].comparison.gap)  # type: ignore[union-attr, arg-type]
