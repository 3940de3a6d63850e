"""rdiv data: what is there, where, and how it gets there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

from rdiv.sources import fetching
from rdiv.sources.data_files import DATA_FILES, DataFile, arrays_digest

ARRAYS = {"x": np.arange(4.0)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one data file that is whole and one that is not."""
    for name in ("good", "bad", "gone"):
        known = DataFile(f"{name}.npz", f"a file called {name}", arrays_digest(ARRAYS))
        monkeypatch.setitem(DATA_FILES, name, known)
    np.savez(tmp_path / "good.npz", **ARRAYS)
    np.savez(tmp_path / "bad.npz", x=np.zeros(4))
    monkeypatch.setenv("RDIV_DATA", str(tmp_path))
    return tmp_path


def test_list_says_what_is_there(run: Run, folder: Path) -> None:
    ran = run("data", "list")
    lines = [line.split(maxsplit=3) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    ours = [name for name in DATA_FILES if name not in ("good", "bad", "gone")]
    assert ours == [
        "higgs", "mnist", "fake-mnist", "cifar10", "pacs", "imagenet", "census", "bikes"
    ]  # fmt: skip
    assert lines[:-1] == [
        *([name, DATA_FILES[name].file, "absent", DATA_FILES[name].about] for name in ours),
        ["good", "good.npz", "whole", "a file called good"],
        ["bad", "bad.npz", "damaged", "a file called bad"],
        ["gone", "gone.npz", "absent", "a file called gone"],
    ]
    assert ran.out.endswith(f"folder: {folder}\n")


def test_list_looks_where_it_is_told(run: Run, folder: Path, tmp_path: Path) -> None:
    ran = run("data", "list", "--data-dir", folder / "elsewhere")
    assert ran.code == 0
    assert "whole" not in ran.out
    assert ran.out.endswith(f"folder: {folder / 'elsewhere'}\n")


def test_path(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("data", "path", "good") == (0, f"{folder / 'good.npz'}\n", "")
    monkeypatch.delenv("RDIV_DATA")
    assert run("data", "path", "good", "--data-dir", folder).out == f"{folder / 'good.npz'}\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone", ["gone.npz is not in", "rdiv data fetch gone"]),
        ("bad", ["wrong checksum", "rdiv data fetch bad"]),
        ("goood", ["unknown data file 'goood'", "'good'"]),
    ],
)
def test_path_of_what_cannot_be_used(run: Run, folder: Path, name: str, words: list[str]) -> None:
    ran = run("data", "path", name)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert all(word in ran.err for word in words), ran.err


def test_fetch_prints_the_path(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = fetching.Recipe({}, lambda pieces: dict(ARRAYS))
    monkeypatch.setitem(fetching.RECIPES, "gone", recipe)
    assert run("data", "fetch", "gone") == (0, f"{folder / 'gone.npz'}\n", "")
    assert run("data", "path", "gone").code == 0
    there = run("data", "fetch", "gone", "--data-dir", folder / "new")
    assert there.out == f"{folder / 'new' / 'gone.npz'}\n"


def test_failed_fetch_is_one_sentence(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("RDIV_DATA_ORIGIN", "http://127.0.0.1:1")
    ran = run("data", "fetch", "higgs")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "could not be downloaded" in ran.err
    assert run("data", "fetch", "hgigs").code == 2


def test_what_cannot_be_fetched_is_one_sentence(run: Run, folder: Path) -> None:
    ran = run("data", "fetch", "fake-mnist")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "cannot be fetched, because" in ran.err


def test_no_command_is_one_sentence(run: Run) -> None:
    assert run("data") == (2, "", "rdiv: missing command (see rdiv data --help)\n")
