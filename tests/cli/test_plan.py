"""rdiv plan: the document of the library, a picture and a panel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import rdiv


def test_json_is_the_document_of_the_library(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "same.csv"
    ran = run("plan", *pair, "--target", "bought", "--model", "logistic", "--gap", 0.1, "--power",
              0.9, "--ratio", 2, "--seed", 3, "--json", "-")  # fmt: skip
    found = rdiv.plan(
        *map(rdiv.read, pair), target="bought", model="logistic", gap=0.1, power=0.9, ratio=2,
        rng=3,
    )  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == found.to_dict()


def test_the_panel_and_the_picture(run: Run, files: Path, tmp_path: Path) -> None:
    pair, picture = (files / "reference.csv", files / "same.csv"), tmp_path / "plan.svg"
    ran = run("plan", *pair, "--target", "bought", "--model", "logistic", "--picture", picture)
    assert ran.code == 0
    assert "120 + 100 rows find a gap of" in ran.out
    assert "120 + 100 rows: smallest gap" in ran.out
    assert "The losses of the pilot are tilted to the gap" in ran.out
    assert picture.read_text().lstrip().startswith("<?xml")


def test_another_test_is_simulated(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    ran = run("plan", *pair, "--discrepancy", "energy", "--target", "bought", "--sizes", "10,20",
              "--trials", 5, "--resamples", 19)  # fmt: skip
    assert ran.code == 0
    assert "20 + 17 rows: power" in ran.out
    assert "Rows are drawn from the pilot with replacement" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gap", 0), "gap must be a finite number other than 0"),
        (("--sizes", "few"), "--sizes takes whole numbers"),
        (("--picture", "-"), "--picture needs the name of a file"),
        (("--picture", "no/such/folder.svg"), "there is no folder"),
        (("--discrepancy", "energy", "--gap", 1), "only r-div is planned for a gap"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, files: Path, arguments: tuple[object, ...], words: str
) -> None:
    ran = run("plan", files / "reference.csv", files / "same.csv", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
