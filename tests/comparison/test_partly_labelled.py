"""Some labels on current: tests of the labelled rows, the gap of all of them, and more labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.answers import given

import rdiv
from rdiv.inference.prediction_powered import powered_gap


class Second:
    """A regression that was trained elsewhere."""

    def predict(self, x: Any) -> Any:
        return np.asarray(x)[:, 1]


def rows(n: int, shift: float = 0.0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, n, int(10 * shift)])
    x = rng.normal(size=(n, 3)) + np.array([shift, 0.0, 0.0])
    return x, x[:, 1] + np.exp(0.8 * x[:, 0]) * rng.normal(size=n)


def some(sample: tuple[Any, Any], known: Any) -> tuple[Any, Any]:
    x, y = sample
    return x, np.where(known, y, np.nan)


ALONE: dict[str, Any] = {"model": given(Second()), "retrain": None, "n_resamples": 199, "rng": 0}


def test_the_tests_are_those_of_the_labelled_rows() -> None:
    reference, current = rows(400), rows(300, 0.5)
    known = np.arange(300) % 3 == 0
    found = rdiv.compare(reference, some(current, known), **ALONE)
    alone = rdiv.compare(reference, (current[0][known], current[1][known]), **ALONE)
    assert found.labels == "some"
    assert found.results["in-use"].pvalue == alone.results["in-use"].pvalue
    assert found.verdict == alone.verdict
    assert found.labelled is not None
    assert (found.labelled.rows, found.labelled.unlabelled_rows) == (100, 200)
    assert found.labelled.labelled_gap is not None
    assert found.labelled.labelled_gap.value == alone.gap
    assert found.gap != alone.gap


def test_the_gap_is_that_of_ppi_by_hand() -> None:
    """A logged loss that g knows exactly: all current rows count as if they had a label."""
    rng = np.random.default_rng(1)
    level = rng.integers(4, size=1500)
    table = pl.DataFrame({"level": level, "loss": level * 1.0})
    known = pl.int_range(pl.len(), eager=False) < 40
    current = table[900:].with_columns(loss=pl.when(known).then(pl.col("loss")))
    found = rdiv.compare(table[:900], current, loss="loss", rng=0, n_resamples=199)
    truth = level[900:].mean() - level[:900].mean()
    weight = 560 / 600  # what makes the variance smallest
    by_hand = weight * level[940:].mean() + (1 - weight) * level[900:940].mean()
    assert found.labelled is not None
    assert found.labelled.weight == pytest.approx(weight, abs=0.1)
    assert found.gap == pytest.approx(by_hand - level[:900].mean(), abs=0.05)
    assert found.gap == pytest.approx(truth, abs=0.05)
    gap, own = found.gap_interval, found.labelled.labelled_gap
    assert gap is not None
    assert own is not None
    assert gap.high - gap.low < 0.6 * (own.high - own.low)
    parts = (level[part] * 1.0 for part in (slice(900), *[slice(900, 940)] * 2, slice(940, None)))
    assert powered_gap(*parts, 0.05).gap.value == pytest.approx(found.gap, abs=0.05)


def test_labels_that_are_not_missing_at_random_are_reported() -> None:
    reference, current = rows(400), rows(400)
    chosen = current[0][:, 2] > 0
    found = rdiv.compare(reference, some(current, chosen), **ALONE, drivers=False)
    assert "labels are not missing at random" in found.warnings[0]
    random = np.random.default_rng(0).random(400) < 0.5
    fair = rdiv.compare(reference, some(current, random), **ALONE, drivers=False)
    assert not any("at random" in text for text in fair.warnings)
    assert fair.labelled is not None
    assert fair.labelled.input_test is not None


def test_more_labels_find_smaller_gaps() -> None:
    reference, current = rows(2000), rows(400, 0.2)
    found = rdiv.compare(reference, some(current, np.arange(400) < 100), **ALONE, drivers=False)
    assert found.labelled is not None
    needed = found.labelled.needed
    assert needed is not None
    smallest = found.smallest_detectable_gap
    asked = [needed.labels(factor * smallest) for factor in (1.0, 0.8, 0.6)]
    assert None not in asked
    assert asked == sorted(asked)  # type: ignore[type-var]
    assert asked[0] == pytest.approx(100, rel=0.1)
    assert needed.more(2 * smallest) == 0
    assert needed.more(1e-9) is None


def test_a_handful_of_labels_is_not_used() -> None:
    reference, current = rows(300), rows(200)
    found = rdiv.compare(reference, some(current, np.arange(200) < 4), **ALONE, drivers=False)
    assert found.labels == "none"
    assert found.warnings[0].startswith("Only 4 of 200 current rows have a label")


def test_groups_and_strata() -> None:
    reference, current = rows(400), rows(200)
    known = np.arange(200) % 2 == 0
    groups = (np.arange(400) // 4, 1000 + np.arange(200) // 4)
    found = rdiv.compare(reference, some(current, known), groups=groups, **ALONE, drivers=False)
    assert found.labelled is not None
    assert found.labelled.input_test is None
    assert found.labelled.weight is not None
    strata = (np.arange(400) % 5, np.arange(200) % 5)
    within = rdiv.compare(reference, some(current, known), strata=strata, **ALONE, drivers=False)
    assert within.labelled is not None
    assert within.labelled.weight is None
    assert "within strata" in str(within.labelled.note)


def test_documents_survive_json() -> None:
    import json

    reference, current = rows(400), rows(300, 0.5)
    known = np.arange(300) < 100
    for labels, given_rows in (("some", some(current, known)), ("none", current[0])):
        found = rdiv.compare(reference, given_rows, **ALONE)
        document = json.loads(found.to_json())
        assert document["labels"] == labels
        assert (document["labelled"] is None) == (labels == "none")
        assert (document["expected"] is None) == (labels == "some")
        assert document["prediction_columns"][0]["name"] == "prediction"
        assert str(found)
        assert found.to_frame() is not None
