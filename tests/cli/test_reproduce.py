"""rdiv reproduce: the list, the plan, files, the document, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.reproduction.rehearsal import in_miniature

from rdiv.reproduction import BY_NAME

SMOKE = ("reproduce", "hdgm-size")


def test_all_tables_are_listed(run: Run) -> None:
    code, out, _ = run("reproduce")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(BY_NAME)


def test_a_plan_runs_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("reproduce", "higgs", "--scale", "paper", "--plan")
    assert code == 0
    assert out.startswith("higgs at paper scale: K = 100, Z = 100;")
    assert "on one core" in out.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_one_part_at_its_own_sizes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    some = (*SMOKE, "--part", "gmm-one-fit", "--sizes", "24,20")
    code, out, _ = run(*some, "--plan")
    assert code == 0
    assert out.splitlines()[1].startswith("  gmm-one-fit: R-Div, score, omnibus at 24, 20 a side ")
    assert not list(tmp_path.iterdir())
    code, out, _ = run(*some, "--json", "-")
    assert code == 0
    assert {line["n_p"] for line in json.loads(out)["lines"]} == {20, 24}
    folder = tmp_path / "reproduced" / "hdgm-size-smoke-gmm-one-fit-24-20"
    assert (folder / "hdgm-size.csv").exists()


def test_files_and_document(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rdiv.reproduction.tables.hdgm.BY_SIZE", in_miniature("hdgm-size"))
    code, out, _ = run(*SMOKE, "--json", "-")
    assert code == 0
    document = json.loads(out)
    assert (document["table"], document["scale"], document["seed"]) == ("hdgm-size", "smoke", 0)
    assert "seconds" not in document["lines"][0]
    folder = tmp_path / "reproduced" / "hdgm-size-smoke"
    names = {path.name for path in folder.iterdir()}
    assert names == {"hdgm-size.csv", "hdgm-size.md", "hdgm-size.svg", "trials"}
    code, again, _ = run(*SMOKE, "--out", tmp_path / "other", "--jobs", "2", "--json", "-")
    assert again == out, "the same bytes for any number of processes"
    code, shown, _ = run(*SMOKE)
    assert code == 0
    assert shown.startswith((folder / "hdgm-size.md").read_text(encoding="utf-8")[:40])
    assert shown.endswith("written to reproduced/hdgm-size-smoke\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("reproduce", "blop"), "unknown table 'blop'; did you mean 'blob'?"),
        ((*SMOKE, "--scale", "huge"), "a scale is smoke, laptop or paper, got 'huge'."),
        ((*SMOKE, "--jobs", "2", "--scheduler", "local:2"), "choose one of them."),
        ((*SMOKE, "--part", "learners"), "unknown part of hdgm-size at smoke scale 'learners';"),
        ((*SMOKE, "--sizes", "many"), "--sizes are whole numbers separated by commas"),
        (
            ("reproduce", "noisy-pair", "--part", "x"),
            "unknown part of noisy-pair at smoke scale 'x'",
        ),
        (("reproduce", "noisy-pair", "--sizes", "9"), "belongs to the parts of noisy-pair;"),
        (("reproduce", "overfitting", "--sizes", "9"), "as the script; leave out --sizes."),
    ],
)
def test_refusals(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert not out
    assert sentence in err


@pytest.mark.parametrize("table", ["noisy-pair", "overfitting", "blob"])
def test_no_table_ignores_the_scheduler(run: Run, table: str, tmp_path: Path) -> None:
    code, _, err = run("reproduce", table, "--scheduler", "local:none", "--out", str(tmp_path))
    assert code == 2
    assert "a local scheduler is local:N" in err
