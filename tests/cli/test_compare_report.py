"""rdiv compare --html: where the page goes, what it says of its making, what it leaves out."""

from __future__ import annotations

import hashlib
import json
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run

FAST = ("--target", "bought", "--model", "logistic", "--folds", 2, "--resamples", 99)


def test_the_page_says_how_to_do_it_again(run: Run, files: Path, tmp_path: Path) -> None:
    pair, page = (files / "reference.csv", files / "worse.csv"), tmp_path / "a report.html"
    ran = run("compare", *pair, *FAST, "--html", page, "--equivalence-margin", 0.2)
    text = unescape(page.read_text(encoding="utf-8"))
    assert (ran.code, ran.err) == (0, "")
    assert f"report: {page}" in ran.out
    assert f"rdiv compare {pair[0]} {pair[1]} --target bought" in text
    assert f"--html '{page}'" in text  # as a shell would read it
    for file in pair:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert "numpy" in text
    assert "0.2" in text


def test_the_files_are_named_at_the_top(run: Run, files: Path, tmp_path: Path) -> None:
    pair, page = (files / "reference.csv", files / "worse.csv"), tmp_path / "r.html"
    run("compare", *pair, *FAST, "--html", page)
    text = page.read_text(encoding="utf-8")
    top = text[text.index("<main") : text.index("<header")]
    assert "reference.csv" in top
    assert "worse.csv" in top
    assert "log loss" in top
    assert str(files) not in top


def test_a_page_beside_the_document(run: Run, files: Path, tmp_path: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    ran = run("compare", *pair, *FAST, "--html", tmp_path / "r.html", "--json", "-")
    document = json.loads(ran.out)  # nothing else is on standard output
    assert document["verdict"] in (tmp_path / "r.html").read_text().lower()
    assert str(files) not in ran.out
    assert "version" not in document


def test_no_rows_in_page_and_document(run: Run, files: Path, tmp_path: Path) -> None:
    pair, out = (files / "reference.csv", files / "worse.csv"), tmp_path / "r.html"
    kept = json.loads(run("compare", *pair, *FAST, "--json", "-").out)["drivers"]["rows"]
    ran = run("compare", *pair, *FAST, "--html", out, "--json", "-", "--no-rows")
    assert kept
    assert json.loads(ran.out)["drivers"]["rows"] == []
    assert f"{kept[0]['sample']} {kept[0]['index']}<" not in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("-", "--html needs the name of a file"),
        ("no/folder/r.html", "there is no folder"),
        ("reference.csv", "it is one of the samples"),
        ("same.html", "cannot both be"),
    ],
)
def test_places_that_cannot_be_written_are_refused_before_any_work(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, html: str, words: str
) -> None:
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    ran = run("compare", "reference.csv", "worse.csv", *FAST, "--html", html,
              *(["--json", "same.html"] if html == "same.html" else []))  # fmt: skip
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert sorted(files.iterdir()) == before


def test_a_missing_package_is_named(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from rdiv.report import pages

    pages._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    ran = run("compare", files / "reference.csv", files / "same.csv", *FAST, "--html",
              tmp_path / "r.html")  # fmt: skip
    assert (ran.code, ran.out) == (2, "")
    assert 'jinja2; install it with pip install "rdiv[cli]"' in ran.err
    assert not (tmp_path / "r.html").exists()


def test_what_the_page_says_about_its_own_promises(run: Run, tmp_path: Path) -> None:
    """A small side makes intervals asymptotic; every family spends alpha; folds were drawn anew."""
    rng = np.random.default_rng(6)
    frames = [
        pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": rng.normal(size=n)})
        for n in (60, 24)
    ]
    for frame, name in zip(frames, ("p", "q"), strict=True):
        pl.concat([frame, frame.head(3)]).write_csv(tmp_path / f"{name}.csv")
    given = ("compare", tmp_path / "p.csv", tmp_path / "q.csv", "--target", "y", "--model", "ridge")
    ran = run(*given, "--html", tmp_path / "page.html")
    document = json.loads(run(*given, "--json", "-").out)
    page = unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "(asymptotic: only 27 current rows)" in ran.out
    assert "(asymptotic: only 27 current rows)" in page
    assert document["notes"]["asymptotic"] == {"shared_gap_interval": "only 27 current rows"}
    assert "each spend alpha: each family is held to 0.05 by itself" in page
    assert "means over 3 draws of the folds" in ran.out
    assert "Losses in folds are means over 3 draws of the folds" in page
    assert len(document["results"]["r-div"]["notes"]["fold draws"]["pvalues"]) == 3
    assert "repeat a row of their own sample" in page
