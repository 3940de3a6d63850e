"""The tutorials print what their pages show; where the data are missing they are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import tutorials

ROOT = Path(__file__).resolve().parents[1]


def check(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "tutorials.py"), "--check", name]
    inherited = {key: value for key, value in os.environ.items() if key != "RDIV_DATA"}
    return subprocess.run(command, capture_output=True, text=True, env={**inherited, **environment})


@pytest.mark.trains
def test_scanner() -> None:
    done = check("scanner")
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "guide" / "tutorials" / "scanner.md").read_text(encoding="utf-8")
    report = (ROOT / "docs" / "guide" / "tutorials" / "scanner_report.html").read_text(
        encoding="utf-8"
    )
    verdict = next(line for line in page.splitlines() if line.startswith("broken: "))
    assert verdict.removeprefix("broken: ") in report  # the page that is linked is of this run


@pytest.mark.trains
@pytest.mark.data
def test_employment(data_dir: Path) -> None:
    done = check("employment", RDIV_DATA=str(data_dir))
    assert done.returncode == 0, done.stderr


def test_without_data_a_page_is_left_alone() -> None:
    done = check("employment")
    assert done.returncode == 0
    assert "left as it is" in done.stderr


def test_a_stale_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tutorials, "FOLDER", tmp_path)
    page = tmp_path / "sum.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert tutorials.main(["--check", "sum"]) == 1
    assert tutorials.main(["sum"]) == 0
    assert page.read_text() == "```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n"
    assert tutorials.main(["--check"]) == 0
