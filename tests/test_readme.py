"""The README shows what the command prints, and every file that it links to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rdiv.cli import main
from rdiv.cli.demo import digit_cases, save_cases

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TEXT):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_command_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.search(r"\$ rdiv compare tables/(.*?)\n(.*?)\n\.\.\.\n```", TEXT, re.DOTALL)
    assert block is not None
    monkeypatch.chdir(tmp_path)
    save_cases(digit_cases(0), "tables")
    assert main(["compare", *f"tables/{block[1]}".split()]) == 0
    shown, printed = block[2].splitlines(), capsys.readouterr().out.splitlines()
    for line, found in zip(shown, printed, strict=False):
        assert _without_digits(line) == _without_digits(found)
    assert len(shown) >= 5


def _without_digits(line: str) -> str:
    """The last digits of a fit differ between machines; words and leading digits do not."""
    return re.sub(r"(\d\.\d)\d+", r"\1", line)
