"""Settings from rdiv.toml and pyproject.toml: below flags, above defaults, refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

FAST = ("--model", "logistic", "--resamples", 99, "--json", "-")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(run: Run, files: Path, *options: Any) -> dict[str, Any]:
    ran = run("compare", files / "reference.csv", files / "worse.csv", *FAST, *options)
    assert ran.err == ""
    found: dict[str, Any] = json.loads(ran.out)
    return found


def alpha_of(found: dict[str, Any]) -> Any:
    return found["results"]["r-div"]["alpha"]


def test_settings_are_defaults(run: Run, files: Path, folder: Path) -> None:
    (folder / "rdiv.toml").write_text('target = "bought"\nalpha = 0.1\n')
    found = document(run, files)
    assert found == document(run, files, "--target", "bought", "--alpha", 0.1)
    assert alpha_of(found) == 0.1
    assert alpha_of(document(run, files, "--alpha", 0.2)) == 0.2


def test_the_own_file_comes_first(run: Run, files: Path, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.rdiv]\ntarget = "bought"\nalpha = 0.1\n')
    assert alpha_of(document(run, files)) == 0.1
    (folder / "rdiv.toml").write_text('target = "bought"\nalpha = 0.2\n')
    assert alpha_of(document(run, files)) == 0.2


def test_a_table_of_a_command_wins(run: Run, files: Path, folder: Path) -> None:
    text = 'alpha = 0.1\n[compare]\ntarget = "bought"\nalpha = 0.2\nfail-on-shift = true\n'
    (folder / "rdiv.toml").write_text(text)
    ran = run("compare", files / "reference.csv", files / "worse.csv", *FAST)
    assert ran.code == 1
    assert alpha_of(json.loads(ran.out)) == 0.2


def test_lists_for_options_that_may_be_repeated(run: Run, files: Path, folder: Path) -> None:
    (folder / "rdiv.toml").write_text('target = "bought"\ndrop = ["age"]\n')
    assert document(run, files) == document(run, files, "--drop", "age")


def test_the_page_says_the_settings_as_flags(run: Run, files: Path, folder: Path) -> None:
    (folder / "rdiv.toml").write_text('target = "bought"\ndrop = ["age"]\nalpha = 0.1\n')
    pair = (files / "reference.csv", files / "worse.csv")
    assert run("compare", *pair, *FAST, "--alpha", 0.2, "--html", "page.html").code == 0
    page = (folder / "page.html").read_text()
    assert "--target bought --drop age</" in page
    assert "--alpha 0.1" not in page


def test_other_projects_are_left_alone(run: Run, files: Path, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "mine"\n[tool.ruff]\nline = 3\n')
    assert alpha_of(document(run, files, "--target", "bought")) == 0.05


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('tagret = "bought"', "'tagret' in rdiv.toml is no option of rdiv; did you mean target?"),
        ("[compare]\nmodle = 3", "'compare.modle' in rdiv.toml is no option of rdiv; did you mean"),
        ("alpha = [0.1, 0.2]", "'alpha' in rdiv.toml must be one value"),
        ("alpha = true", "'alpha' in rdiv.toml must be a text or a number"),
        ("fail-on-shift = 3", "'fail_on_shift' in rdiv.toml must be true or false"),
        ("compare = 3", "'compare' in rdiv.toml must be a table"),
        ("alpha = ", "rdiv.toml is not TOML"),
        ('alpha = "high"', "'--alpha'"),
    ],
)
def test_mistakes_are_one_sentence(
    run: Run, files: Path, folder: Path, text: str, words: str
) -> None:
    (folder / "rdiv.toml").write_text(text)
    ran = run("compare", files / "reference.csv", files / "worse.csv", *FAST)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1
