"""rdiv compare and rdiv plan where current rows lack labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)

    def table(n: int, shift: float) -> pl.DataFrame:
        x = rng.normal(size=(n, 2)) + np.array([shift, 0.0])
        y = x[:, 1] + np.exp(0.4 * x[:, 0]) * rng.normal(size=n)
        return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})

    table(900, 0.0).write_csv(tmp_path / "reference.csv")
    later = table(300, 1.0)
    later.drop("y").write_csv(tmp_path / "none.csv")
    later.with_columns(y=pl.when(pl.int_range(pl.len()) < 60).then("y")).write_csv(
        tmp_path / "some.csv"
    )
    later.with_columns(y=pl.lit(None, pl.Float64)).write_csv(tmp_path / "empty.csv")
    return tmp_path


def test_the_exit_code_counts_an_expected_risk_shift(files: Path, run: Run) -> None:
    given = ["compare", str(files / "reference.csv"), str(files / "none.csv"), "--target", "y"]
    given += ["--model", "ridge", "--resamples", "99"]
    found = run(*given, "--json", str(files / "out.json"), "--fail-on-shift")
    document = json.loads((files / "out.json").read_text(encoding="utf-8"))
    assert document["labels"] == "none"
    assert document["verdict"] == "expected risk shift"
    assert found.code == 1
    assert run(*given, "--fail-on-shift", "--min-gap", "100").code == 0


@pytest.mark.parametrize(("name", "labels"), [("some", "some"), ("empty", "none")])
def test_empty_cells(files: Path, run: Run, name: str, labels: str) -> None:
    found = run(
        "compare", str(files / "reference.csv"), str(files / f"{name}.csv"), "--target", "y",
        "--model", "ridge", "--resamples", "99", "--json", "-",
    )  # fmt: skip
    assert found.code == 0
    assert json.loads(found.out)["labels"] == labels


def test_a_reference_without_labels_is_refused(files: Path, run: Run) -> None:
    found = run("compare", str(files / "some.csv"), str(files / "none.csv"), "--target", "y")
    assert found.code == 2
    assert "no missing values in the reference" in found.err
    turned = run("compare", str(files / "none.csv"), str(files / "some.csv"), "--target", "y")
    assert turned.code == 2
    assert "must be in the reference" in turned.err


def test_a_plan_for_rows_without_labels(files: Path, run: Run) -> None:
    found = run(
        "plan", str(files / "reference.csv"), "--target", "y", "--model", "ridge", "--gap", "1",
        "--labels", "none",
    )  # fmt: skip
    assert found.code == 0
    assert "without labels" in found.out
    wrong = run("plan", str(files / "reference.csv"), "--target", "y", "--labels", "few")
    assert wrong.code == 2
