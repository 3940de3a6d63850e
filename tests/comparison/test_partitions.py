"""The same bytes from tables in partitions, however they are cut and wherever they are read."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.cut_tables import SETTINGS, P, Q, parts, table, without_places

import rdiv
from rdiv.errors import InputError
from rdiv.inference import tiles
from rdiv.models import Frozen, Ridge
from rdiv.monitoring import monitor, reference
from rdiv.samples import Pool
from rdiv.samples.partitioned import PartitionedRows


@pytest.fixture(scope="module")
def in_memory() -> Any:
    return rdiv.compare(P, Q, **SETTINGS)


@pytest.mark.parametrize("count", [1, 7, 50])
def test_cuts_change_nothing(in_memory: Any, count: int) -> None:
    assert (
        rdiv.compare(parts(P, count), parts(Q, count), **SETTINGS).to_json() == in_memory.to_json()
    )


def test_libraries_and_formats_change_nothing(in_memory: Any, tmp_path: Path) -> None:
    for name, frame in (("p", P), ("q", Q)):
        (tmp_path / name).mkdir()
        for k in range(3):
            frame[400 * k : 400 * (k + 1)].write_parquet(tmp_path / name / f"{k}.parquet")
    found = rdiv.compare(rdiv.scan(tmp_path / "p"), rdiv.scan(tmp_path / "q"), **SETTINGS)
    assert found.to_json() == in_memory.to_json()
    for p, q in ((P.lazy(), Q), (P.to_pandas(), parts(Q.to_pandas(), 3))):
        assert rdiv.compare(p, q, **SETTINGS).to_json() == in_memory.to_json()
    assert rdiv.compare(P.to_pandas(), Q.to_pandas(), **SETTINGS).to_json() == in_memory.to_json()


def test_the_order_of_rows_and_files_changes_nothing_but_places(in_memory: Any) -> None:
    found = rdiv.compare(parts(P, 7, seed=1), parts(Q, 5, seed=2), **SETTINGS)
    assert without_places(found) == without_places(in_memory)


@pytest.mark.parametrize(
    "more",
    [
        {"groups": "group"},
        {"strata": "b"},
        {"target": "c2", "model": "logistic"},
        {"target": None, "model": "gmm", "drop": ["c"]},
        {"target": "y", "model": "gmm", "drop": ["c"], "drivers": False},
        {"model": "boosting", "fit_rows": 200},
        {"model": None, "prediction": "a"},
        {"target": None, "model": None, "loss": "y", "drop": ["c"]},
        {"folds": None},
    ],
    ids=str,
)
def test_every_way_of_asking(more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TILE_ROWS", 256)
    p, q = (
        side.with_columns(c2=pl.col("c").fill_null("z"), y=pl.col("y").abs()) for side in (P, Q)
    )
    settings = {**SETTINGS, **more}
    found = rdiv.compare(parts(p, 3), parts(q, 2), **settings)
    assert found.to_json() == rdiv.compare(p, q, **settings).to_json()


def test_a_model_in_use_reads_blocks_of_the_table_as_they_are() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    keep = make_column_transformer(("passthrough", ["a", "b"]))
    fitted = make_pipeline(keep, LinearRegression()).fit(table(50, 3).drop("y"), np.arange(52.0))
    model = Frozen(fitted, trained_on="neither")
    settings = {**SETTINGS, "model": model, "retrain": None}
    found = rdiv.compare(parts(P, 3), parts(Q, 2), **settings)
    assert found.to_json() == rdiv.compare(P, Q, **settings).to_json()


def test_workers_change_nothing(in_memory: Any) -> None:
    pytest.importorskip("distributed")
    for where in ({"n_jobs": 2}, {"scheduler": "local:1"}, {"scheduler": "local:3"}):
        found = rdiv.compare(parts(P, 4), parts(Q, 4), **SETTINGS, **where)
        assert found.to_json() == in_memory.to_json()


@pytest.mark.parametrize("scheduler", ["nonsense", "tcp://127.0.0.1:9", "local:none"])
def test_a_scheduler_that_is_not_there(scheduler: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match=r"no Dask scheduler answers at|local:N with N workers"):
        rdiv.compare(P, Q, **SETTINGS, scheduler=scheduler)


def test_levels_may_be_in_partitions() -> None:
    days = {"one": Q[:250], "two": Q[250:]}
    settings = {**SETTINGS, "sample_rows": 300}
    whole = rdiv.compare_many(P, days, **settings)
    found = rdiv.compare_many(parts(P, 3), {k: v.lazy() for k, v in days.items()}, **settings)
    assert found.to_json() == whole.to_json()
    with pytest.raises(InputError, match="has more rows than sample_rows; give one table for each"):
        rdiv.compare_many(P, Q.lazy(), by="b", **settings)


def test_what_was_looked_at_is_said(in_memory: Any) -> None:
    rows = len(P) + len(Q)
    said = f"score, inputs and drivers looked at 400 of {rows} rows"
    assert in_memory.notes["sample rows"] == said
    assert in_memory.results["score"].notes["rows looked at"] == 400
    whole = rdiv.compare(P, Q, **{**SETTINGS, "sample_rows": rows})
    assert "sample rows" not in whole.notes
    for name in ("in-use", "r-div"):  # the gaps and their tests are those of all rows
        np.testing.assert_array_equal(
            whole.results[name].null_distribution, in_memory.results[name].null_distribution
        )
    with pytest.raises(InputError, match="sample_rows must be a whole number of at least 100"):
        rdiv.compare(P, Q, **{**SETTINGS, "sample_rows": 5})


def test_no_pass_brings_more_rows_into_memory_than_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also the columns without a value are known without the table in memory."""
    p, q = (side.with_columns(fax=pl.lit(np.nan)) for side in (P, Q))
    gathered, most = PartitionedRows._gathered, []

    def counted(rows: PartitionedRows) -> Any:
        most.append(len(rows))
        return gathered(rows)

    monkeypatch.setattr(PartitionedRows, "_gathered", counted)
    found = rdiv.compare(parts(p, 3), parts(q, 2), **SETTINGS)
    assert 0 < max(most) <= SETTINGS["sample_rows"]
    assert any("'fax'" in warning for warning in found.warnings)
    assert found.warnings == rdiv.compare(p, q, **SETTINGS).warnings


def test_rows_that_change_sides_keep_their_numbers() -> None:
    """The rows that are looked at, and all losses, are functions of the set of rows alone."""
    from rdiv.models import CrossFit
    from rdiv.models.protocol import losses_of
    from rdiv.samples.pooling import pool_samples

    everything = pl.concat([P, Q]).drop("group")
    other = np.random.default_rng(5).permutation(len(everything))
    sides = [
        (everything[: len(P)], everything[len(P) :]),
        (everything[other[: len(P)]], everything[other[len(P) :]]),
    ]
    found = []
    for p, q in sides:
        pooled = pool_samples(p.lazy(), q.lazy(), target="y", rng=0, keep_rows=100)
        model = CrossFit(Ridge(), 5, fit_rows=300)
        losses = losses_of(model.fit(pooled.pool, np.random.default_rng(0)), pooled.pool)
        found.append((pooled.looked_at(400).rows, losses))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_one_sample_with_hardly_any_row_among_those_looked_at() -> None:
    settings = {**SETTINGS, "sample_rows": 100, "drivers": False}
    with pytest.raises(InputError, match="too few of one of them; raise sample_rows"):
        rdiv.compare(P[:2], pl.concat([table(9000, 4), Q]), **settings)


def test_a_partition_with_other_columns_is_named(tmp_path: Path) -> None:
    for k, frame in enumerate((P, P.rename({"a": "d"}), P)):
        frame.write_parquet(tmp_path / f"{k}.parquet")
    with pytest.raises(InputError, match=r"1\.parquet lacks 'a' and has 'd' besides"):
        rdiv.compare(rdiv.scan(tmp_path), Q, **SETTINGS)


def test_a_pool_in_memory_is_at_hand() -> None:
    pool = Pool(P.drop("group"))
    assert pool.at_hand() is pool
    assert pool.copies_by_word() is None


@pytest.mark.parametrize(
    "more",
    [
        {"target": "y", "model": "ridge"},
        {"target": "y", "model": "ridge", "unit": "batch", "batches": "group", "train_share": 0.3},
        {"target": "y", "prediction": "a", "drop": ["group"]},
        {"loss": "y", "drop": ["group", "c"]},
    ],
    ids=str,
)
def test_a_monitor_may_watch_with_a_reference_in_partitions(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    p, q = (side.with_columns(y=pl.col("y").abs()) for side in (P, Q))
    for module in (monitor, reference):
        if hasattr(module, "FIT_ROWS"):
            monkeypatch.setattr(module, "FIT_ROWS", 150)
    batches = [q[:100], q[100:230], q[230:260]]
    expected = _watched(p, batches, more)
    monkeypatch.setattr(monitor, "SAMPLE_ROWS", 60)
    (tmp_path / "batch").mkdir()
    batches[1].write_parquet(tmp_path / "batch" / "1.parquet")
    read = [parts(batches[0], 3, seed=1), rdiv.scan(tmp_path / "batch"), batches[2].lazy()]
    for count in (1, 4):
        state = _watched(parts(p, count), read, more)
        assert state.to_json() == expected.to_json()
    assert _watched(p, read, more).to_json() == expected.to_json()
    gathered, most = PartitionedRows._gathered, []

    def counted(rows: PartitionedRows) -> Any:
        most.append(len(rows))
        return gathered(rows)

    monkeypatch.setattr(PartitionedRows, "_gathered", counted)
    _watched(parts(p, 3), read, more)
    assert max(most, default=0) <= 150


def _watched(rows: Any, batches: list[Any], more: dict[str, Any]) -> Any:
    watching = rdiv.Monitor(rows, rng=1, **more)
    state = watching.start()
    for batch in batches:
        name, batch = batch if isinstance(batch, tuple) else (None, batch)
        state = watching.update(state, batch, name=name)
    return state


LABELS = (
    pl.when(pl.col("y") < 0.5).then(pl.lit("low"))
    .when(pl.col("y") < 1.5).then(pl.lit("middle"))
    .otherwise(pl.lit("high"))
)  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        {"target": "y", "model": "ridge"},
        {"target": "t", "model": "logistic"},
        {"target": "y", "prediction": "a"},
        {"loss": "y"},
        {"target": "y", "model": "ridge", "unit": "batch", "batches": "group", "train_share": 0.3},
    ],
    ids=str,
)
def test_labels_of_batches_in_partitions_may_be_late(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch has none, the second some; both come again, and a class is new in one."""
    p, q = (side.with_columns(y=pl.col("y").abs()) for side in (P, Q))
    p = p.with_columns(t=LABELS.replace("high", "middle"))
    q = q.with_columns(t=LABELS)
    if "batches" not in more:
        p, q = p.drop("group"), q.drop("group")
    if "loss" in more:
        p, q = p.drop("c", "t"), q.drop("c", "t")
    label = more.get("target", "y")
    p, q = (
        side.drop([c for c in ("y", "t") if c in side.columns and c != label]) for side in (p, q)
    )
    some = q[120:240].with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col(label)).alias(label)
    )
    batches = [
        ("1", q[:120].drop(label)), ("2", some), ("3", q[240:330]), ("1", q[:120]),
        ("2", q[120:240]),
    ]  # fmt: skip
    expected = _watched(p, batches, more)
    assert expected.labels_late
    assert sum(look.late for look in expected.history) == 2
    monkeypatch.setattr(monitor, "SAMPLE_ROWS", 60)
    cut = [(name, parts(batch, 3, seed=k)) for k, (name, batch) in enumerate(batches)]
    assert _watched(p, cut, more).to_json() == expected.to_json()
    assert _watched(parts(p, 2), cut, more).to_json() == expected.to_json()


def test_batches_in_partitions_are_refused_as_those_in_memory_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(monitor, "SAMPLE_ROWS", 60)
    watching = rdiv.Monitor(P.drop("group", "c"), target="y", model="ridge", rng=1)
    state = watching.update(watching.start(), Q[:100].drop("group", "c"), name="1")
    wrong = [
        Q[:100].drop("group"),
        Q[:100].drop("group", "c", "a"),
        Q[:100].drop("group", "c").with_columns(a=pl.lit("x")),
        Q[:100].drop("group", "c").with_columns(y=pl.lit("x")),
        Q[100:200].drop("group", "c"),
    ]
    for batch in wrong:
        said = []
        for given in (batch, parts(batch, 2)):
            with pytest.raises(InputError) as error:
                watching.update(state, given, name="1")
            said.append(str(error.value))
        assert said[0] == said[1]


@pytest.mark.parametrize(
    "more",
    [{"gap": 0.3}, {"gap": 0.3, "groups": "group"}, {"current": Q}, {"folds": 0}],
    ids=["alone", "groups", "both", "in-sample"],
)
def test_plans_from_tables_in_partitions(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = importlib.import_module("rdiv.planning.plan")
    settings = {"target": "y", "model": "ridge", "rng": 0, **more}
    monkeypatch.setattr(plans, "FIT_ROWS", 200)
    expected = rdiv.plan(P, **settings).to_json()
    monkeypatch.setattr(plans, "SAMPLE_ROWS", 300)
    assert rdiv.plan(parts(P, 4), **settings).to_json() == expected


@pytest.mark.parametrize(
    "more",
    [
        {"current": Q, "discrepancy": "in-use"},
        {"current": Q, "discrepancy": "energy", "groups": "group"},
        {"labels": "none", "gap": 0.3},
    ],
    ids=["in-use", "energy", "no labels"],
)
def test_other_plans_take_some_rows_of_large_tables(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pilot is the same from memory and from partitions, in any order."""
    plans = importlib.import_module("rdiv.planning.plan")
    settings = {"target": "y", "rng": 0, "sizes": [60], "trials": 3, **more}
    if more.get("discrepancy") != "energy":
        settings["model"] = "ridge"
    monkeypatch.setattr(plans, "SAMPLE_ROWS", 300)
    expected = rdiv.plan(P, **settings)
    rows = len(P) + (len(Q) if "current" in more else 0)
    assert (
        expected.notes["pilot"]
        == f"300 of {rows} rows, chosen by a hash of their content, are the pilot"
    )
    assert expected.n_p + expected.n_q <= 300
    if "current" in more:
        settings["current"] = parts(Q, 3, seed=4)
    assert rdiv.plan(parts(P, 4, seed=3), **settings).to_json() == expected.to_json()
    monkeypatch.setattr(plans, "SAMPLE_ROWS", rows)
    assert "pilot" not in rdiv.plan(P, **{**settings, "trials": 1}).notes
