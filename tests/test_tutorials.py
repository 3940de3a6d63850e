"""The tutorials print what their pages show; where the data are missing they are left alone."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tools import tutorials

ROOT = Path(__file__).resolve().parents[1]


def stale(name: str) -> int:
    """Run a page here; what warns a reader is for the page to show, not an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return tutorials.main(["--check", name])


@pytest.mark.trains
def test_scanner(capsys: pytest.CaptureFixture[str]) -> None:
    assert not stale("scanner"), capsys.readouterr().err
    page = (ROOT / "docs" / "guide" / "tutorials" / "scanner.md").read_text(encoding="utf-8")
    report = (ROOT / "docs" / "guide" / "tutorials" / "scanner_report.html").read_text(
        encoding="utf-8"
    )
    verdict = next(line for line in page.splitlines() if line.startswith("broken: "))
    told = verdict.removeprefix("broken: ").replace("->", "\u2192")
    assert told in report  # the page that is linked is of this run


@pytest.mark.trains
def test_customers(capsys: pytest.CaptureFixture[str]) -> None:
    assert not stale("customers"), capsys.readouterr().err


@pytest.mark.trains
@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_employment(capsys: pytest.CaptureFixture[str]) -> None:
    assert not stale("employment"), capsys.readouterr().err


def test_without_data_a_page_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RDIV_DATA", raising=False)
    assert not stale("employment")
    assert "left as it is" in capsys.readouterr().err


def test_a_stale_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tutorials, "FOLDER", tmp_path)
    page = tmp_path / "sum.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert tutorials.main(["--check", "sum"]) == 1
    assert tutorials.main(["sum"]) == 0
    assert page.read_text() == "```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n"
    assert tutorials.main(["--check"]) == 0
