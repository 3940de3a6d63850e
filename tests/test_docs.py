"""The documentation names all there is, is fresh, and holds no path of anybody's machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import rdiv.discrepancies
import rdiv.models
import rdiv.sources
from rdiv.cli import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
COMMANDS = [n for n, c in typer.main.get_command(app).commands.items() if not c.hidden]
MACHINE_PATH = re.compile(r"(?<![.A-Za-z0-9])/(?:work|tmp|root|farm|home|Users)/[A-Za-z.]")


@pytest.mark.parametrize("name", sorted(rdiv.models.BY_NAME))
def test_every_model_is_documented(name: str) -> None:
    assert f"| `{name}` |" in DOCS, f"add a row for {name} to docs/which.md"


@pytest.mark.parametrize("name", sorted(rdiv.discrepancies.BY_NAME))
def test_every_discrepancy_is_documented(name: str) -> None:
    assert f"| `{name}` |" in DOCS, f"add a row for {name} to docs/which.md"


@pytest.mark.parametrize("name", sorted(rdiv.sources.BY_NAME))
def test_every_source_is_documented(name: str) -> None:
    assert f"| `{name}` |" in DOCS, f"add a row for {name} to docs/sources.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"`rdiv {name}`" in DOCS, f"run `make docs` and name rdiv {name} in a page"
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"cli/{name}.md" in navigation, f"add cli/{name}.md to the navigation in mkdocs.yml"


def test_command_pages_are_fresh() -> None:
    check = [sys.executable, str(ROOT / "tools" / "cli_pages.py"), "--check"]
    run = subprocess.run(check, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_table_of_discrepancies_is_fresh() -> None:
    check = [sys.executable, str(ROOT / "tools" / "discrepancy_table.py"), "--check"]
    run = subprocess.run(check, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def tracked_files() -> list[Path]:
    listing = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_no_machine_paths_in_tracked_files() -> None:
    files = tracked_files()
    if not files:
        pytest.skip("not a git checkout with tracked files")
    found = []
    for path in files:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        at = path.relative_to(ROOT)
        found += [f"{at}:{i}" for i, line in enumerate(lines, 1) if MACHINE_PATH.search(line)]
    assert not found, f"absolute paths of a machine at {found}"


@pytest.mark.trains
def test_the_picture_of_the_readme_is_fresh() -> None:
    check = [sys.executable, str(ROOT / "tools" / "readme_picture.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
