"""Bad input: one sentence on the error stream, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv

TARGET = ("--target", "bought")


def refused(run: Run, folder: Path, arguments: list[Any], words: list[str]) -> str:
    """Run, check that it was refused in one sentence and left no file behind."""
    before = sorted(folder.iterdir())
    ran = run(*arguments, *([] if "--json" in arguments else ["--json", folder / "out.json"]))
    assert (ran.code, ran.out) == (2, ""), ran
    assert ran.err.startswith("rdiv: ")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    missing = [word for word in words if word not in ran.err]
    assert not missing, ran.err
    assert sorted(folder.iterdir()) == before
    return ran.err


def truncated_parquet(path: Path) -> None:
    table(40, seed=1).write_parquet(path)
    path.write_bytes(path.read_bytes()[:200])


def pickled_npz(path: Path) -> None:
    np.savez(path, x=np.array([{"a": 1}, {"b": 2}], dtype=object))


def nested(path: Path) -> None:
    path.write_text('{"a":' + "[" * 3000 + "]" * 3000 + "}\n")


def far_dates(path: Path) -> None:
    """Days that a file may hold and no calendar has; polars panics on them."""
    days = pl.Series([2**31 - 1, -(2**31)] * 20, dtype=pl.Int32).cast(pl.Date)
    table(40, seed=1).with_columns(age=days).write_parquet(path)


def huge_target(path: Path) -> None:
    path.write_text("age,bought\n" + "".join(f"{i},{(-1) ** i}e308\n" for i in range(40)))


def test_what_ended_in_a_crash(run: Run, files: Path, tmp_path: Path) -> None:
    cases: dict[str, tuple[Callable[[Path], object], list[str]]] = {
        "deep.jsonl": (nested, ["line 1 of", "is not a JSON object of plain values"]),
        "dates.parquet": (far_dates, ["column 'age' has dates outside the years 1 to 9999"]),
        "huge.csv": (huge_target, ["the target must lie within 1e+150 of 0", "got 1e+308"]),
    }
    for name, (make, words) in cases.items():
        make(tmp_path / name)
        refused(run, tmp_path, ["compare", tmp_path / name, tmp_path / name, *TARGET], words)


def test_a_link_to_nowhere(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    said = refused(
        run, tmp_path, ["compare", tmp_path / "link.csv", files / "same.csv"],
        ["link.csv is a link to", "gone.csv, which does not exist; restore"],
    )  # fmt: skip
    assert "did you mean" not in said


FILES: dict[str, tuple[str, Callable[[Path], object], list[str]]] = {
    "empty": ("q.csv", lambda f: f.write_bytes(b""), ["empty"]),
    "no rows": ("q.csv", lambda f: f.write_text("age,visits,bought\n"), ["2 rows", "0 in CURRENT"]),
    "one row": ("q.csv", lambda f: f.write_text("age,visits,bought\n1,2,no\n"), ["1 in CURRENT"]),
    "ragged": (
        "q.csv",
        lambda f: f.write_text("age,visits,bought\n1,2,no\n1,2\n"),
        ["line 3", "2 fields", "3"],
    ),
    "not UTF-8": (
        "q.csv",
        lambda f: f.write_bytes(b"age,visits,bought\n1,2,n\xe9\n3,4,no\n"),
        ["UTF-8", "line 2"],
    ),
    "truncated gzip": (
        "q.csv.gz",
        lambda f: f.write_bytes(gzip.compress(b"age,visits,bought\n1,2,no\n" * 99)[:40]),
        ["truncated"],
    ),
    "truncated parquet": ("q.parquet", truncated_parquet, ["truncated"]),
    "a directory": ("q.csv", lambda f: f.mkdir(), ["directory"]),
    "missing": ("q.csv", lambda f: None, ["there is no file", "q.csv"]),
    "pickled objects": ("q.npz", pickled_npz, ["pickled"]),
    "unknown ending": ("q.xlsx", lambda f: f.write_bytes(b"x"), [".xlsx", "csv"]),
    "duplicate columns": (
        "q.csv",
        lambda f: f.write_text("age,age,bought\n1,2,no\n3,4,yes\n"),
        ["'age'"],
    ),
    "different columns": (
        "q.csv",
        lambda f: table(40, 1).rename({"visits": "calls"}).write_csv(f),
        ["'visits' only in REFERENCE", "'calls' only in CURRENT"],
    ),
    "text for numbers": (
        "q.csv",
        lambda f: table(40, 1).with_columns(visits=pl.lit("often")).write_csv(f),
        ["'visits'", "numeric in REFERENCE", "text in CURRENT"],
    ),
    "infinite cells": (
        "q.csv",
        lambda f: table(40, 1).with_columns(visits=pl.lit(float("inf"))).write_csv(f),
        ["'visits'", "40", "infinite"],
    ),
    "no labels, and too few rows to learn from": (
        "q.csv",
        lambda f: table(40, 1).with_columns(bought=pl.lit(None, dtype=pl.String)).write_csv(f),
        ["without labels on current", "20 rows", "fewer than 50"],
    ),
    "missing target cells of the reference": (
        "p.csv",
        lambda f: [
            table(40, 1).write_csv(f.with_name("q.csv")),
            table(40, 0)
            .with_columns(bought=pl.when(pl.col("age") > 0).then(pl.col("bought")))
            .write_csv(f),
        ],
        ["the target must have no missing values in the reference", "of 40"],
    ),
    "target in the reference only": (
        "q.csv",
        lambda f: table(40, 1).drop("bought").write_csv(f),
        ["without labels on current", "20 rows"],
    ),
    "target in current only": (
        "p.csv",
        lambda f: [
            table(40, 1).write_csv(f.with_name("q.csv")),
            table(40, 0).drop("bought").write_csv(f),
        ],
        ["the target column must be in the reference", "'bought' only in current"],
    ),
    "an array": ("q.npy", lambda f: np.save(f, np.zeros((9, 2))), ["arrays", "frames"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files(run: Run, tmp_path: Path, name: str) -> None:
    file, write, words = FILES[name]
    table(40, seed=0).write_csv(tmp_path / "p.csv")
    write(tmp_path / file)
    current = tmp_path / ("q.csv" if file == "p.csv" else file)
    refused(run, tmp_path, ["compare", tmp_path / "p.csv", current, *TARGET], words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "bougth"], ["'bougth'", "in neither sample", "did you mean 'bought'?"]),
        ([*TARGET, "--alpha", "1.5"], ["alpha", "1.5"]),
        ([*TARGET, "--alpha", "nan"], ["alpha", "nan"]),
        ([*TARGET, "--resamples", "18"], ["18", "at least 19"]),
        ([*TARGET, "--model", "boost"], ["'boost'", "did you mean 'boosting'?", "kde, gmm"]),
        ([*TARGET, "--task", "ranking"], ["'ranking'", "classification"]),
        ([*TARGET, "--task", "regression"], ["regression", "text"]),
        ([*TARGET, "--model", "logistic", "--folds", "1"], ["folds", "1"]),
        ([*TARGET, "--model", "logistic", "--folds", "500"], ["500", "fewer folds"]),
        ([*TARGET, "--groups", "shop"], ["groups", "'shop'"]),
        ([*TARGET, "--groups", "bought"], ["'bought'", "target"]),
        ([*TARGET, "--strata", "age"], ["strata"]),
        (["--model", "ridge"], ["target"]),
        ([*TARGET, "--min-gap", "-1"], ["--min-gap", "-1"]),
        ([*TARGET, "--min-gap", "nan"], ["--min-gap", "nan"]),
    ],
)
def test_options_of_compare(
    run: Run, tmp_path: Path, files: Path, options: list[str], words: list[str]
) -> None:
    arguments = ["compare", files / "reference.csv", files / "same.csv", *options]
    refused(run, tmp_path, arguments, words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--discrepancy", "enrgy"], ["'enrgy'", "did you mean 'energy'?", "r-div"]),
        (["--discrepancy", "energy", "--model", "kde"], ["energy needs no model"]),
        (["--discrepancy", "energy", "--folds", "3"], ["energy needs no model", "folds"]),
        (
            ["--discrepancy", "r-div", "--discrepancy", "energy", "--model", "kde"],
            ["energy needs no model, got --model 'kde'; drop --model, or run energy by itself"],
        ),
        (
            ["--discrepancy", "r-div", "--discrepancy", "in-use", "--folds", "3"],
            ["in-use trains one model", "or run in-use by itself"],
        ),
        (
            ["--discrepancy", "energy", "--discrepancy", "r-div", "--subsample", "50"],
            ["--subsample is for", "got r-div", "or run r-div by itself"],
        ),
        (["--discrepancy", "energy", "--discrepancy", "energy"], ["energy is given twice"]),
        (["--discrepancy", "energy", "--discrepancy", "mmd"], ["unknown discrepancy 'mmd'"]),
        (["--drop", "visit"], ["--drop", "did you mean 'visits'?"]),
        (["--target", "bought", "--drop", "bought"], ["--drop cannot leave out 'bought'"]),
    ],
)
def test_options_of_the_test(
    run: Run, tmp_path: Path, files: Path, options: list[str], words: list[str]
) -> None:
    refused(run, tmp_path, ["test", files / "reference.csv", files / "same.csv", *options], words)


DATA = Path(__file__).resolve().parents[1] / "models" / "data"
CLASSES = ("--prediction", "yes=p", "--prediction", "no=rest")


def logged(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Logged predictions and losses, with something wrong in the rows from 30 on."""
    late = pl.int_range(len(frame)) >= 30
    chance = pl.lit(0.25)
    columns = {
        "p": pl.when(late).then(1.5).otherwise(chance) if name == "outside" else chance,
        "rest": pl.when(late).then(0.5).otherwise(0.75) if name == "sums" else pl.lit(0.75),
        "error": pl.lit(0.5),
        "said": pl.lit("often"),
    }
    return frame.with_columns(**columns)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        (
            "outside",
            [*TARGET, "--prediction", "p"],
            ["'p'", "between 0 and 1, got 1.5 in row 30 of CURRENT (counted from 0)", "10 such"],
        ),
        ("sums", [*TARGET, *CLASSES], ["must add up to 1", "got 0.75 in row 30 of CURRENT"]),
        (
            "right",
            [*TARGET, "--prediction", "yes=p"],
            ["--prediction needs a column for every class", "got none for 'no'", "no=COLUMN"],
        ),
        ("right", ["--loss", "said"], ["the loss column 'said' must hold numbers, got 'often'"]),
        ("right", ["--loss", "eror"], ["'eror' in neither sample", "did you mean 'error'?"]),
        ("right", [*TARGET, "--prediction", "said"], ["'often'", "'no', 'yes'"]),
        ("right", ["--prediction", "p"], ["--prediction needs the target", "--target"]),
        ("right", [*TARGET, "--prediction", "p", "--prediction", "rest"], ["write CLASS=COL"]),
        (
            "right",
            [*TARGET, "--prediction", "p", "--loss", "error"],
            ["--prediction and --loss each stand for the model in use"],
        ),
        (
            "right",
            [*TARGET, "--train", "x.csv", "--loss", "error"],
            ["--loss and --train each stand for the model in use"],
        ),
        ("right", ["--loss", "error", "--train-share", "0.3"], ["--train-share", "is given"]),
        ("right", ["--loss", "error", "--retrain", "ridge"], ["--retrain needs a target"]),
        (
            "right",
            [*TARGET, "--retrain", "ridge"],
            ["--retrain is for", "--train, --prediction or"],
        ),
        ("right", [*TARGET, "--train-share", "1"], ["--train-share must lie strictly between"]),
        ("right", [*TARGET, "--fit-rows", "5"], ["--fit-rows must be a whole number of at least"]),
        ("right", [*TARGET, "--drop", "visit"], ["--drop", "did you mean 'visits'?"]),
        ("right", [*TARGET, "--drop", "bought"], ["--drop cannot leave out", "change --target"]),
        ("right", [*TARGET, "--prediction", "p", "--drop", "p"], ["the prediction column"]),
    ],
)
def test_logged_columns(
    run: Run, tmp_path: Path, name: str, options: list[str], words: list[str]
) -> None:
    logged(table(40, 0), "right").write_csv(tmp_path / "p.csv")
    logged(table(40, 1), name).write_csv(tmp_path / "q.csv")
    refused(run, tmp_path, ["compare", tmp_path / "p.csv", tmp_path / "q.csv", *options], words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "json:decoder"], ["'json:decoder' is an object that is no model (module)"]),
        (["--model", "json:dumps"], ["needs arguments (obj)", "without arguments"]),
        (["--model", "json:nothing"], ["there is no 'nothing' in 'json'"]),
        (["--model", "no_such_module:it"], ["cannot import 'no_such_module'"]),
        (["--model", "model.pkl"], ["'model.pkl' is a pickle", "ONNX"]),
        (["--model", "nowhere.onnx"], ["the ONNX file 'nowhere.onnx' does not exist"]),
        (["--model", "kde", "--model", "kde"], ["--model kde is given twice"]),
        (["--model", "kde", "--model", "gmm", "--by", "age"], ["several --model", "--by"]),
        (["--model", "logistic", "--loss", "age"], ["--model and --loss each stand"]),
        (["--train", "nowhere.csv"], ["there is no file nowhere.csv"]),
    ],
)
def test_models(
    run: Run, tmp_path: Path, files: Path, options: list[str], words: list[str]
) -> None:
    pair = [files / "reference.csv", files / "same.csv"]
    refused(run, tmp_path, ["compare", *pair, *TARGET, *options], words)


def test_models_for_one_pair_only(run: Run, tmp_path: Path, files: Path) -> None:
    three = [files / "reference.csv", files / "same.csv", files / "worse.csv"]
    options = [*TARGET, "--model", "kde", "--model", "gmm"]
    words = ["several --model are for one pair of files, got 2 CURRENT files"]
    refused(run, tmp_path, ["compare", *three, *options], words)


def test_a_training_table_needs_something_to_train(run: Run, tmp_path: Path, files: Path) -> None:
    command = ["compare", files / "reference.csv", files / "same.csv", "--train"]
    train = [files / "worse.csv"]
    for options in ([], ["--model", "logistic"]):
        refused(run, tmp_path, [*command, *train, *options], ["--train needs --target"])
    for path in ("-", files / "worse.csv"):
        words = ["one of the samples"] if path != "-" else ["only one table"]
        given = ["compare", "-" if path == "-" else path, files / "same.csv", "--train", path]
        refused(run, tmp_path, [*given, "--json", files / "worse.csv"], words)


def test_an_onnx_file_for_other_columns(run: Run, tmp_path: Path, files: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pair = [files / "reference.csv", files / "same.csv"]
    options = [*TARGET, "--model", DATA / "columns.onnx"]
    words = ["wants 3 inputs ('size', 'age', 'kind')", "2 columns ('age', 'visits')"]
    refused(run, tmp_path, ["compare", *pair, *options], words)
    train = [*options, "--train", files / "worse.csv"]
    words = ["--train trains a model", "columns.onnx is fitted already"]
    refused(run, tmp_path, ["compare", *pair, *train], words)


def test_one_class_in_the_pool(run: Run, tmp_path: Path) -> None:
    for seed, name in enumerate(("p.csv", "q.csv")):
        table(20, seed).with_columns(bought=pl.lit("no")).write_csv(tmp_path / name)
    words = ["two classes", "no"]
    refused(run, tmp_path, ["compare", tmp_path / "p.csv", tmp_path / "q.csv", *TARGET], words)


def test_group_in_both_samples(run: Run, tmp_path: Path) -> None:
    for seed, name in enumerate(("p.csv", "q.csv")):
        table(20, seed).with_columns(shop=pl.int_range(20) // 2).write_csv(tmp_path / name)
    arguments = ["compare", tmp_path / "p.csv", tmp_path / "q.csv", *TARGET, "--groups", "shop"]
    refused(run, tmp_path, arguments, ["group", "in both", "strata"])


@pytest.mark.parametrize("jobs", [1, 2])  # a worker process must refuse in the same words
def test_arrays_with_holes(run: Run, tmp_path: Path, jobs: int) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    y = (x[:, 0] > 0).astype(int)
    np.savez(tmp_path / "p.npz", x=x, y=y)
    np.savez(tmp_path / "q.npz", x=np.where(x > 2, np.nan, x), y=y)
    bad = int((x > 2).sum())
    arguments = ["compare", tmp_path / "p.npz", tmp_path / "q.npz", "--model", "logistic"]
    words = [f"got {bad} NaN or infinite value", "column", "boosting"]
    refused(run, tmp_path, [*arguments, "--jobs", jobs, "--folds", 2], words)
    refused(run, tmp_path, [*arguments, "--target", "y"], ["target", "(X, y)"])


class Broken:
    """A model whose losses come back wrong."""

    losses_given: Any = None
    task = "density"

    def fit(self, pool: Any, rng: np.random.Generator) -> Broken:
        return self

    def losses(self, pool: Any) -> Any:
        return self.losses_given(len(pool))


@pytest.mark.parametrize(
    ("losses", "words"),
    [(lambda n: np.full(n, np.nan), ["NaN"]), (lambda n: np.zeros(n + 1), ["one", "per row"])],
)
def test_model_with_wrong_losses(
    run: Run,
    tmp_path: Path,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    losses: Any,
    words: list[str],
) -> None:
    model = type("Broken", (Broken,), {"losses_given": staticmethod(losses)})
    monkeypatch.setitem(rdiv.models.BY_NAME, "broken", model)
    pair = [files / "reference.csv", files / "same.csv"]
    refused(run, tmp_path, ["test", *pair, "--model", "broken"], words)


@pytest.mark.parametrize("command", ["compare", "test", "demo"])
def test_output_path_is_checked_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    samples = [] if command == "demo" else ["p.csv", "q.csv"]  # absent: they are not reached
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    for path, words in (
        (tmp_path / "folder", ["directory"]),
        ("", ["cannot be written"]),
        (tmp_path / "absent" / "out.json", ["no folder", "absent"]),
        (tmp_path / "file" / "out.json", ["no folder"]),
        (tmp_path / ("x" * 300), ["too long"]),
    ):
        refused(run, tmp_path, [command, *samples, "--json", path], ["cannot be written", *words])
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_places(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "kept").chmod(0o444)
    (tmp_path / "closed").mkdir(mode=0o555)
    for path in (tmp_path / "kept", tmp_path / "closed" / "out.json"):
        refused(run, tmp_path, ["demo", "--json", path], ["cannot be written"])


def test_samples_are_not_overwritten(run: Run, tmp_path: Path) -> None:
    table(20, 0).write_csv(tmp_path / "p.csv")
    text = (tmp_path / "p.csv").read_text()
    arguments = ["compare", tmp_path / "p.csv", tmp_path / "p.csv", "--json", tmp_path / "p.csv"]
    refused(run, tmp_path, arguments, ["one of the samples"])
    assert (tmp_path / "p.csv").read_text() == text
