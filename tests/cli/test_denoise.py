"""rdiv denoise: the document of the library, a clean copy, and an input that stays as it was."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table
from tests.cli.test_process import ALERT

import rdiv
from rdiv.cli import denoise
from rdiv.noisy_labels import LabelNoiseDetector, flip_labels

pytestmark = pytest.mark.trains


@pytest.fixture
def data(tmp_path: Path) -> Path:
    frame = table(200, seed=0)
    wrong = flip_labels(frame["bought"], "symmetric", 0.1, rng=0)
    path = tmp_path / "data.csv"
    frame.with_columns(bought=pl.Series(wrong)).write_csv(path)
    return path


def test_json_is_the_document_of_the_library(run: Run, data: Path) -> None:
    ran = run("denoise", data, "--target", "bought", "--model", "logistic", "--seed", 3, "--json",
              "-")  # fmt: skip
    found = LabelNoiseDetector("logistic").fit(rdiv.read(data), target="bought", rng=3)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == found.to_dict()


def test_the_panel_lists_rows_and_says_what_they_are(run: Run, data: Path) -> None:
    ran = run("denoise", data, "--target", "bought", "--model", "logistic", "--noise-rate", 0.1)
    assert ran.code == 0
    assert "20 of 200 labels are suspected to be wrong (10 % of the rows, as given)" in ran.out
    assert ran.out.count("given yes, suggested no") + ran.out.count("given no, suggested yes") == 10
    assert "and 10 more" in ran.out
    assert "A suspected label may be right" in ran.out


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "csv.gz", "parquet", "feather"])
def test_the_clean_copy_has_the_other_rows(
    run: Run, data: Path, tmp_path: Path, ending: str
) -> None:
    before, out = data.read_bytes(), tmp_path / f"clean.{ending}"
    ran = run("denoise", data, "--target", "bought", "--model", "logistic", "--noise-rate", 0.1,
              "--out", out)  # fmt: skip
    assert ran.code == 0
    found = LabelNoiseDetector("logistic", 0.1).fit(rdiv.read(data), target="bought", rng=0)
    assert rdiv.read(out).equals(rdiv.read(data).filter(~found.suspected))
    assert data.read_bytes() == before
    assert "kept rows: 180" in ran.out


def test_arrays_with_labels_need_no_target(run: Run, tmp_path: Path) -> None:
    frame = table(120, seed=1)
    y = (frame["bought"] == "yes").to_numpy().astype(int)
    np.savez(tmp_path / "data.npz", x=frame.select("age", "visits").to_numpy(), y=y)
    ran = run("denoise", tmp_path / "data.npz", "--model", "logistic", "--noise-rate", 0.05,
              "--out", tmp_path / "clean.npz")  # fmt: skip
    assert ran.code == 0
    x, kept = rdiv.read(tmp_path / "clean.npz")
    assert x.shape == (114, 2)
    assert kept.shape == (114,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "bougt"), "no column 'bougt'; did you mean 'bought'?"),
        ((), "--target must name the column of labels"),
        (("--target", "age"), "labels must be classes, got continuous numbers"),
        (("--target", "bought", "--noise-rate", 1), "noise_rate must be a share of at least 0"),
        (("--target", "bought", "--noise-rate", "few"), "--noise-rate takes a share such as 0.1"),
        (("--target", "bought", "--model", "kde"), "a model for classification, got kde"),
        (("--target", "bought", "--out", "data.csv"), "it is one of the samples"),
        (("--target", "bought", "--out", "clean.xlsx"), "must end in .csv, .tsv"),
        (("--target", "bought", "--out", "-"), "--out needs the name of a file"),
        (("--target", "bought", "--out", "a.csv", "--json", "./a.csv"), "need two files"),
        (("--target", "bought", "--out", "no/such/folder.csv"), "there is no folder"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], words: str
) -> None:
    monkeypatch.chdir(data.parent)
    ran = run("denoise", "data.csv", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert os.listdir(data.parent) == ["data.csv"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a"] * 30, "two classes or more, got one class in 30 rows"),
        (["a"] * 15 + [None] + ["b"] * 14, "must have no missing values, got 1 of 30"),
        (["a"] * 28 + ["b"] * 2, "as many rows as there are folds (5), got 2 of class b"),
    ],
)
def test_labels_that_cannot_be_judged_are_one_sentence(
    run: Run, tmp_path: Path, labels: list[str | None], words: str
) -> None:
    pl.DataFrame({"age": range(30), "label": labels}).write_csv(tmp_path / "d.csv")
    ran = run("denoise", tmp_path / "d.csv", "--target", "label")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_an_interrupt_leaves_the_input_and_nothing_else(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = data.read_bytes()

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("rdiv.cli.denoise.kept_rows", interrupted)
    ran = run("denoise", data, "--target", "bought", "--model", "logistic", "--out",
              data.parent / "clean.csv", "--json", data.parent / "found.json")  # fmt: skip
    assert ran.code == 130
    assert "interrupted" in ran.err
    assert os.listdir(data.parent) == ["data.csv"]
    assert data.read_bytes() == before


def test_a_real_interrupt_while_fitting(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(20000, 20))
    np.savez(tmp_path / "data.npz", x=x, y=(x[:, 0] > 0).astype(int))
    before = (tmp_path / "data.npz").read_bytes()
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", ALERT, "denoise", "data.npz", "--out", "clean.npz"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        while b"judging the labels" not in seen:
            seen += os.read(ours, 1024)
        time.sleep(1.5)  # past the imports, some of which swallow any exception
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
    os.close(ours)
    assert os.listdir(tmp_path) == ["data.npz"]
    assert (tmp_path / "data.npz").read_bytes() == before


def test_the_page_lists_the_suspected_rows(run: Run, data: Path) -> None:
    pytest.importorskip("rdiv.report.pages")
    page = data.parent / "page.html"
    ran = run("denoise", data, "--target", "bought", "--model", "logistic", "--html", page)
    assert ran.code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "labels are suspected to be wrong" in text
    assert "<script" not in text
    assert "rdiv denoise" in text
    assert text.count("<tr>") > denoise.SHOWN
