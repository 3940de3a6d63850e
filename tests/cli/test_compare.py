"""rdiv compare: the verdict, the document, and what --fail-on-shift makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv
from rdiv.cli.compare_summary import shift_matters
from rdiv.inference.intervals import Interval
from rdiv.remarks import NOT_EQUALITY

FAST = ("--target", "bought", "--model", "logistic")


def test_prints_the_verdict_and_its_numbers(run: Run, files: Path) -> None:
    ran = run("compare", files / "reference.csv", files / "worse.csv", *FAST)
    p, q = rdiv.read(files / "reference.csv"), rdiv.read(files / "worse.csv")
    found = rdiv.compare(p, q, target="bought", model="logistic", rng=0)
    lines = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert lines[0] == found.headline()
    assert lines[1 : 1 + len(found.details())] == found.details()
    assert NOT_EQUALITY not in ran.out
    assert ran.out.isascii()  # no box characters in a pipe


def test_no_shift_is_not_called_equality(run: Run, files: Path) -> None:
    ran = run("compare", files / "reference.csv", files / "same.csv", *FAST, "--fail-on-shift")
    assert ran.code == 0
    assert ran.out.startswith("No shift found")
    assert ran.out.endswith(NOT_EQUALITY + "\n")


def test_json_to_stdout_is_the_document_and_nothing_else(run: Run, files: Path) -> None:
    ran = run("compare", files / "reference.csv", files / "worse.csv", *FAST, "--json", "-")
    p, q = rdiv.read(files / "reference.csv"), rdiv.read(files / "worse.csv")
    found = rdiv.compare(p, q, target="bought", model="logistic", rng=0)
    assert json.loads(ran.out) == found.to_dict()
    assert ran.err == ""


@pytest.mark.parametrize("command", ["compare", "test"])
def test_same_bytes_for_any_number_of_jobs(
    run: Run, files: Path, tmp_path: Path, command: str
) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    for jobs in (1, 2):
        assert run(command, *pair, *FAST, "--folds", 3, "--jobs", jobs, "--json",
                   tmp_path / f"{jobs}.json").code == 0  # fmt: skip
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


def test_options_reach_the_library(run: Run, files: Path, tmp_path: Path) -> None:
    for name, start in (("reference", 0), ("worse", 100)):
        frame = rdiv.read(files / f"{name}.csv")
        shops = [start + i // 4 for i in range(len(frame))]
        weeks = [i // 4 % 2 for i in range(len(frame))]
        frame.with_columns(shop=pl.Series(shops), week=pl.Series(weeks)).write_csv(
            tmp_path / f"{name}.csv"
        )
    pair = tmp_path / "reference.csv", tmp_path / "worse.csv"
    ran = run("compare", *pair, "--target", "bought", "--model", "logistic", "--folds", 3,
              "--task", "classification", "--groups", "shop", "--strata", "week", "--alpha", 0.2,
              "--resamples", 99, "--seed", 7, "--json", "-")  # fmt: skip
    found = rdiv.compare(
        *map(rdiv.read, pair), target="bought", model="logistic", folds=3, task="classification",
        groups="shop", strata="week", alpha=0.2, n_resamples=99, rng=7,
    )  # fmt: skip
    assert json.loads(ran.out) == found.to_dict()


def test_no_folds_means_no_interval(run: Run, files: Path) -> None:
    ran = run("compare", files / "reference.csv", files / "same.csv", *FAST, "--folds", 0)
    assert ran.code == 0
    shared = next(line for line in ran.out.splitlines() if line.startswith("shared gap"))
    assert "in-sample losses give no valid interval" in shared
    used = next(line for line in ran.out.splitlines() if line.startswith("gap in use"))
    assert "95 % interval" in used  # the model in use was judged on rows that it has not seen


def test_default_model_is_boosting(run: Run, files: Path) -> None:
    ran = run("compare", files / "reference.csv", files / "same.csv", "--target", "bought")
    assert ran.code == 0
    assert "model in use: boosting, trained on 60 reference rows" in ran.out
    assert "shared model: boosting, 5 folds, trained on both samples" in ran.out
    assert "; task: classification; seed 0" in ran.out


def test_density_model_says_that_the_target_is_not_used(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "same.csv"
    ran = run("compare", *pair, "--target", "bought", "--model", "pca")
    assert "the target is not used" in ran.out


def test_arrays_and_pairs_and_the_data_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 60, 2)), rng.normal(size=(2, 60))
    for i, name in enumerate(("p", "q")):
        np.savez(tmp_path / f"{name}.npz", x=x[i], y=y[i])
    np.savez(tmp_path / "many.npz", a=x[0], b=x[1], c=y[0])
    monkeypatch.delenv("RDIV_DATA", raising=False)
    pair = run("compare", "p.npz", "q.npz", "--data-dir", tmp_path, "--model", "ridge")
    assert (pair.code, "task: regression" in pair.out) == (0, True)
    arrays = run("compare", "many.npz::a", "many.npz::b", "--data-dir", tmp_path, "--model", "kde")
    assert (arrays.code, "task: density" in arrays.out) == (0, True)


@pytest.mark.parametrize(
    ("sample", "options", "code"),
    [
        ("worse", [], 0),
        ("worse", ["--fail-on-shift"], 1),
        ("worse", ["--fail-on-shift", "--min-gap", "0.01"], 1),
        ("worse", ["--fail-on-shift", "--min-gap", "0"], 1),
        ("worse", ["--fail-on-shift", "--min-gap", "9"], 0),
        ("worse", ["--min-gap", "0.01"], 0),
        ("same", ["--fail-on-shift"], 0),
        ("same", ["--fail-on-shift", "--min-gap", "0"], 0),
    ],
)
def test_exit_codes(run: Run, files: Path, sample: str, options: list[str], code: int) -> None:
    ran = run("compare", files / "reference.csv", files / f"{sample}.csv", *FAST, *options)
    assert ran.code == code
    assert ("--min-gap" in options) == ("--min-gap" in ran.out)


def test_min_gap_weighs_the_interval_of_a_risk_shift_only() -> None:
    rng = np.random.default_rng(0)
    found = rdiv.compare(rng.normal(size=(30, 1)), rng.normal(size=(30, 1)), model="kde", rng=0)
    shift = replace(found, verdict="risk shift", gap=0.3, gap_interval=Interval(0.2, 0.4))
    assert shift_matters(shift, None)
    assert shift_matters(shift, 0.1)
    assert not shift_matters(shift, 0.2)
    better = replace(shift, gap_interval=Interval(-0.4, -0.2))
    assert shift_matters(better, 0.1)
    assert not shift_matters(better, 0.3)
    assert shift_matters(replace(shift, verdict="hidden shift"), None)
    assert not shift_matters(replace(shift, verdict="hidden shift"), 0.1)
    assert not shift_matters(replace(shift, verdict="no shift"), 0.1)


def odd(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A pair of samples with something unusual that must simply work."""
    p, q = table(40, seed=0), table(40, seed=1)
    wide = {f"c{i}": pl.Series(np.random.default_rng(i).normal(size=40)) for i in range(60)}
    changed = {
        "emoji and HTML names": lambda f: f.rename({"age": "[red]🎈[/]", "visits": "<b>&</b>"}),
        "a constant column": lambda f: f.with_columns(one=pl.lit(1.0)),
        "duplicated rows": lambda f: pl.concat([f.head(10)] * 4),
        "more columns than rows": lambda f: f.with_columns(**wide),
        "huge and tiny scales": lambda f: f.with_columns(
            pl.col("age") * 1e250, pl.col("visits") * 1e-250
        ),
        "an all-missing column": lambda f: f.with_columns(gone=pl.lit(None, dtype=pl.Float64)),
        "missing cells and text": lambda f: f.with_columns(
            pl.when(pl.col("age") > 1).then(None).otherwise(pl.col("age")).alias("age"),
            pl.when(pl.col("visits") > 0).then(pl.lit("far")).otherwise(None).alias("where"),
        ),
        "other order of columns": lambda f: f if f is p else f.select(reversed(f.columns)),
        "a class on one side only": lambda f: f if f is p else f.with_columns(
            bought=pl.when(pl.int_range(40) < 5).then(pl.lit("maybe")).otherwise("bought")
        ),
    }  # fmt: skip
    return changed[name](p), changed[name](q)


@pytest.mark.parametrize("model", ["logistic", "boosting", "gmm"])
@pytest.mark.parametrize(
    "name",
    [
        "emoji and HTML names",
        "a constant column",
        "duplicated rows",
        "more columns than rows",
        "huge and tiny scales",
        "an all-missing column",
        "missing cells and text",
        "other order of columns",
        "a class on one side only",
    ],
)
def test_odd_tables_simply_work(run: Run, tmp_path: Path, name: str, model: str) -> None:
    for frame, file in zip(odd(name), ("p", "q"), strict=True):
        frame.write_csv(tmp_path / f"{file}.csv")
    pair, out = (tmp_path / "p.csv", tmp_path / "q.csv"), tmp_path / "out"
    options = ("--target", "bought", "--model", model, "--folds", 2, "--resamples", 39)
    ran = run("compare", *pair, *options, "--json", out)
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(out.read_text())
    assert np.isfinite(document["shared_gap"])  # 40 rows: too few to train a model in use
    assert document["gap"] is None


def test_sentences_use_the_options_of_the_command(run: Run, files: Path) -> None:
    ran = run("compare", files / "reference.csv", files / "same.csv", *FAST)
    assert "that would not matter to you: --equivalence-margin G." in ran.out
    few = run("compare", files / "reference.csv", files / "same.csv", *FAST, "--train-share", 0.1)
    assert few.out.startswith("No shift found for a logistic model trained on both samples: ")
    assert "remark: no model in use was measured" in few.out
