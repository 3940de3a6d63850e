"""rdiv test: one discrepancy, printed and as a document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

import rdiv
from rdiv.discrepancies import BY_NAME, Energy
from rdiv.inference.multiplicity import holm
from rdiv.remarks import NOT_EQUALITY


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


@pytest.mark.parametrize("name", BY_NAME)
def test_every_discrepancy_runs_by_its_name(run: Run, tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(0)
    pair = tmp_path / "p.npy", tmp_path / "q.npy"
    np.save(pair[0], rng.normal(size=(60, 2)))
    np.save(pair[1], rng.normal(size=(50, 2)) * 4)
    ran = run("test", *pair, "--discrepancy", name, "--resamples", 19, "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found["discrepancy"] == name
    assert found["rejected"]


SEVERAL = ("--discrepancy", "in-use", "--discrepancy", "energy", "--discrepancy", "r-div")


def test_several_discrepancies_are_all_run(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    ran = run("test", *pair, "--target", "bought", *SEVERAL, "--json", "-")
    document = json.loads(ran.out)
    alone = {
        name: rdiv.two_sample_test(*map(rdiv.read, pair), name, target="bought", rng=0)
        for name in ("in-use", "energy", "r-div")
    }
    assert list(document) == ["schema", "results", "adjusted_pvalues"]
    assert document["results"] == {name: one.to_dict() for name, one in alone.items()}
    assert list(document["results"]) == list(alone)  # in the order asked
    raw = [one.pvalue for one in alone.values()]
    assert list(document["adjusted_pvalues"].values()) == pytest.approx(holm(raw).tolist())


def test_several_discrepancies_in_words(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    lines = run("test", *pair, "--target", "bought", *SEVERAL).out.splitlines()
    found = "at level 0.05, adjusted for all of them by Holm: in-use, r-div."
    assert lines[0] == f"2 of 3 tests found a difference {found}"
    labels = [line.partition(":")[0] for line in lines[1:6]]
    assert labels == ["in-use", "energy", "r-div", "rows", "files"]
    assert all(", adjusted " in line for line in lines[1:4])
    assert lines[6] == "energy looks at the inputs only, not at the target"
    same = files / "reference.csv", files / "same.csv"
    none = run("test", *same, "--discrepancy", "energy", "--discrepancy", "me").out
    assert none.startswith("None of 2 tests found a difference at level 0.05")
    assert none.endswith(NOT_EQUALITY + "\n")


def test_columns_are_left_out(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    dropped = run("test", *pair, "--discrepancy", "energy", "--drop", "visits", "--drop", "bought",
                  "--json", "-")  # fmt: skip
    p, q = (rdiv.read(path).select("age") for path in pair)
    assert json.loads(dropped.out) == rdiv.two_sample_test(p, q, "energy", rng=0).to_dict()


def test_a_subsample_for_tests_of_all_pairs(run: Run, files: Path) -> None:
    pair = files / "reference.csv", files / "worse.csv"
    options = ("--discrepancy", "energy", "--subsample", 50, "--json", "-")
    found = json.loads(run("test", *pair, "--target", "bought", *options).out)
    alone = rdiv.two_sample_test(
        *map(rdiv.read, pair), Energy(subsample=50), target="bought", rng=0
    )
    assert found == alone.to_dict()
    refused = run("test", *pair, "--target", "bought", "--subsample", 50)
    assert refused.code == 2
    assert "--subsample is for tests that compare all pairs" in refused.err
    both = ("--discrepancy", "energy", "--discrepancy", "mmd-o", "--subsample", 50, "--json", "-")
    several = json.loads(run("test", *pair, "--target", "bought", *both).out)
    assert several["results"]["energy"] == alone.to_dict()
