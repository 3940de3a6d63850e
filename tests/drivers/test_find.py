"""Drivers as a whole: from one fit, blind, the same for any number of jobs, in every output."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.drivers import find as finding
from rdiv.drivers import row_choice
from rdiv.results import plain
from rdiv.samples.pooling import pool_samples


def table(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"age": rng.integers(18, 90, size=n), "town": rng.choice(["A", "B"], n)})
    noise = rng.normal(size=n) * np.where(frame["age"].to_numpy() >= 60, 2 + seed, 1)
    return frame.with_columns(y=pl.Series(frame["age"].to_numpy() / 20 + noise))


def compared(reference: Any, current: Any, **how: Any) -> rdiv.Comparison:
    settings = {"target": "y", "model": "ridge", "rng": 0, "n_resamples": 99}
    return rdiv.compare(reference, current, **(settings | how))


NOT_TRAINED = {"train_share": 0.1}
"""A share with too few rows to train a model in use: the shared one leads."""

LOGGED = {"model": None, "prediction": "said", "retrain": "ridge"}


@pytest.mark.parametrize("how", [NOT_TRAINED, LOGGED], ids=["shared", "given"])
def test_identical_files(how: dict[str, Any]) -> None:
    """No shift, p = 1 everywhere."""
    frame = table(400, 0)
    if "prediction" in how:
        frame = frame.with_columns(said=pl.col("age") / 20)
    found = compared(frame, frame, **how)
    assert (found.verdict, found.leading_gap, found.shared_gap) == ("no shift", 0, 0)
    assert all(result.pvalue == 1 for result in found.results.values())
    assert found.input_test.pvalue == 1
    assert found.drivers.weights
    assert all(column.pvalue == 1 for column in found.drivers.weights)
    assert all(part.pvalue == 1 for part in found.drivers.slices)
    assert not found.drivers.confirmed_relation_slices()
    assert all(row.share is None for row in found.drivers.rows)


def test_identical_files_and_a_model_that_is_trained() -> None:
    """Half of the reference trains, and its copies in current are no evidence of anything."""
    for seed in range(8):
        frame = table(300, seed)
        found = compared(frame, frame, rng=seed)
        assert found.results["in-use"].notes["rows trained on"] == 150
        assert found.verdict == "no shift"
        assert found.shared_gap == 0
        assert found.results["r-div"].pvalue == found.results["score"].pvalue == 1


def test_identical_files_with_few_distinct_rows() -> None:
    """Too many copies to keep together: what one half shows, the other shows reversed."""
    rng = np.random.default_rng(0)
    x = rng.integers(3, size=(600, 2)).astype(float)
    y = x[:, 0] + rng.integers(-1, 2, size=600)
    for seed in range(5):
        found = compared((x, y), (x, y), target=None, task="regression", rng=seed).drivers
        assert not found.confirmed_slices()
        assert not found.confirmed_relation_slices()
        assert not found.confirmed_weights()


def test_the_same_for_any_number_of_jobs_and_order_of_rows() -> None:
    reference, current = table(500, 0), table(400, 1)
    one = compared(reference, current)
    assert one.drivers.confirmed_slices()
    assert compared(reference, current, n_jobs=2).to_json() == one.to_json()
    turned = compared(reference.reverse(), current).drivers
    assert turned.slices == one.drivers.slices
    assert turned.relation_slices == one.drivers.relation_slices
    assert turned.columns == one.drivers.columns
    assert turned.weights == one.drivers.weights
    places = [499 - row.index for row in turned.rows if row.sample == "reference"]
    assert places == [row.index for row in one.drivers.rows if row.sample == "reference"]


def test_the_document() -> None:
    found = compared(table(500, 0), table(400, 1)).drivers
    document = json.loads(json.dumps(plain(found.fields()), allow_nan=False))
    assert set(document) == {
        "rows", "slices", "relation_slices", "columns", "weights", "unusual", "alpha", "notes"
    }  # fmt: skip
    first = document["slices"][0]
    assert first["condition"] == " and ".join(first["clauses"])
    assert set(first["interval"]) == {"low", "high"}
    assert {group["name"] for group in document["columns"]["groups"]} == {"age", "town"}
    assert {column["name"] for column in document["weights"]} == {"age", "town"}
    assert {"rows", "slices", "relation", "columns", "weights"} <= set(document["notes"])
    assert "cause" in document["notes"]["columns"]


def test_large_samples_are_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_ROWS", 300)
    found = compared(table(900, 0), table(250, 3))
    assert "300 reference and 250 current rows" in found.drivers.notes["sampled"]
    assert found.drivers.confirmed_slices()[0].clauses[0].startswith("age >=")
    assert found.drivers.rows[0].index < 250
    again = compared(table(900, 0), table(250, 3))
    assert again.to_json() == found.to_json()


def test_identical_files_stay_so_when_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_ROWS", 100)
    frame = table(400, 0)
    found = compared(frame, frame, **NOT_TRAINED).drivers
    assert "100 reference and 100 current rows" in found.notes["sampled"]
    assert found.weights
    assert all(column.pvalue == 1 for column in found.weights)


def test_groups_are_drawn_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_choice, "_FEWEST_GROUPS", 5)
    group = np.repeat(np.arange(100), 3)
    x = np.random.default_rng(0).normal(size=(300, 2))
    pooled = pool_samples(x[:180], x[180:], groups=(group[:180], group[180:]), rng=0)
    rows = row_choice.choose_rows(pooled, 60, np.random.default_rng(0))
    assert rows is not None
    assert pooled.pool.groups is not None
    codes = pooled.pool.groups[rows]
    assert np.bincount(codes)[np.unique(codes)].tolist() == [3] * 40
    assert pooled.is_p[rows].sum() == 60


def test_left_out() -> None:
    found = compared(table(200, 0), table(200, 1), drivers=False)
    assert found.drivers is None
    assert found.to_dict()["drivers"] is None


def test_the_panel_names_the_rows_of_the_worse_sample() -> None:
    reference, current = table(400, 0), table(400, 3)
    worse, better = compared(reference, current), compared(current, reference)
    assert (worse.direction, better.direction) == ("worse", "better")
    assert "of current carry most (counted from 0)" in str(worse)
    assert "of reference carry most (counted from 0)" in str(better)
    assert "rows of" not in str(compared(reference, table(400, 0)))


def test_a_slice_of_the_relation_is_one_of_the_loss_at_equal_inputs() -> None:
    """More old people is a slice of nothing; noise that grew among them is one of the relation."""
    rng = np.random.default_rng(0)
    reference = table(3000, 0)
    many = reference.filter(pl.col("age") >= 60).sample(800, seed=1)
    current = pl.concat([many, reference.sample(400, seed=2)])
    noise = pl.Series(rng.normal(size=1200))
    moved = compared(reference.with_columns(pl.col("y") + 0.0), current.with_columns(
        y=pl.col("age") / 20 + noise * pl.when(pl.col("age") >= 60).then(2).otherwise(1)
    ))  # fmt: skip
    assert moved.drivers.columns.groups[0].members[0] == "age"
    assert not moved.drivers.confirmed_relation_slices()
    changed = compared(reference, table(1200, 2)).drivers
    assert changed.confirmed_relation_slices()[0].clauses[0].startswith("age >=")
    assert any(line.startswith("relation: where age >=") for line in changed.lines())
