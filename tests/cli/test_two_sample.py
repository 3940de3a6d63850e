"""rdiv test: one discrepancy, printed and as a document."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

import rdiv
from rdiv.cli.compare import NOT_EQUALITY


def test_prints_the_result(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    ran = run("test", *pair, "--target", "bought", "--model", "logistic")
    result = rdiv.two_sample_test(*map(rdiv.read, pair), target="bought", model="logistic", rng=0)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(str(result))
    assert f"p is {pair[0]}, q is {pair[1]}" in ran.out


def test_discrepancy_without_a_model_says_what_it_looks_at(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    ran = run("test", *pair, "--target", "bought", "--discrepancy", "energy")
    assert ran.code == 0
    assert "energy looks at the inputs only" in ran.out
    assert NOT_EQUALITY in ran.out


def test_json_is_the_document_of_the_library(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    ran = run("test", *pair, "--target", "bought", "--folds", 2, "--model", "logistic", "--alpha",
              0.1, "--resamples", 99, "--seed", 3, "--json", "-")  # fmt: skip
    result = rdiv.two_sample_test(
        *map(rdiv.read, pair), target="bought", folds=2, model="logistic", alpha=0.1,
        n_resamples=99, rng=3,
    )  # fmt: skip
    assert json.loads(ran.out) == result.to_dict()
    assert ran.err == ""
