"""The documentation names all there is, is fresh, and holds no path of anybody's machine."""

import inspect
import re
import subprocess
from dataclasses import astuple
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main
from tools.docs import GENERATORS, main

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
    assert f"| `{name}` |" in DOCS, "run `make docs`"


@pytest.mark.parametrize("name", sorted(rdiv.discrepancies.BY_NAME))
def test_every_discrepancy_is_documented(name: str) -> None:
    assert f"| `{name}` |" in DOCS, "run `make docs`"


@pytest.mark.parametrize("name", sorted(rdiv.sources.BY_NAME))
def test_every_source_is_documented(name: str) -> None:
    assert f"| `{name}` |" in DOCS, "run `make docs`"


@pytest.mark.parametrize("package", [rdiv.models, rdiv.discrepancies, rdiv.sources])
def test_every_class_says_what_it_is(package: ModuleType) -> None:
    for found in package.describe():
        for text in astuple(found):
            assert text, f"{found.name} leaves something unsaid"
            assert not {"\n", "|"} & {*text}, f"{text!r} does not fit into a table"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"`rdiv {name}`" in DOCS, f"run `make docs` and name rdiv {name} in a page"
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"cli/{name}.md" in navigation, f"add cli/{name}.md to the navigation in mkdocs.yml"


@pytest.mark.parametrize("name", sorted({*GENERATORS} - {"tutorials"}))  # test_tutorials has those
def test_what_is_generated_is_fresh(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", name]) == 0, capsys.readouterr().err


def test_every_generator_is_known() -> None:
    """A tool that can check what it wrote is run by `make docs` and by the test above."""
    checking = {
        path.stem for path in (ROOT / "tools").glob("*.py") if "--check" in path.read_text()
    }
    assert checking - {"docs"} == set(GENERATORS)


@pytest.mark.parametrize("name", ["demo_picture", "contact_sheet"])
def test_what_is_stale_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = import_module(f"tools.{name}")
    monkeypatch.setattr(tool, "TARGET", tmp_path / tool.TARGET.name)
    if name == "demo_picture":
        monkeypatch.setattr(tool, "picture", lambda: "<text>new</text>")
        tool.TARGET.write_text("<text>old</text>")
    else:
        sheet = tool.sheet()
        monkeypatch.setattr(tool, "sheet", lambda: sheet)
        sheet.rotate(180).save(tool.TARGET)
    assert tool.main(["--check"]) == 1
    assert f"{tool.TARGET.name} is stale" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0


def test_a_stale_table_of_names_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = import_module("tools.name_tables")
    monkeypatch.setattr(tool, "DOCS", tmp_path)
    for place, blocks in tool.BLOCKS.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        old = "".join(f"<!-- {name} -->\nold\n<!-- end of {name} -->\n" for name in blocks)
        (tmp_path / place).write_text(old)
    assert tool.main(["--check"]) == 1
    assert "a table in which.md is stale" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0


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


PACKAGES = (
    "", ".samples", ".models", ".discrepancies", ".monitoring", ".noisy_labels", ".report",
    ".reproduction", ".sources", ".studies", ".theory", ".errors",
)  # fmt: skip
BORROWED = re.compile(r"[Pp]arameters (?:and condition )?are (?:those of|the same)")


def public_things() -> dict[str, Any]:
    """Every public class and function, by the place of its code."""
    found = {}
    for name in PACKAGES:
        package = import_module(f"rdiv{name}")
        for public in package.__all__:
            thing = getattr(package, public)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def test_every_public_name_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (\S+)", page, flags=re.M)
    absent = [
        name
        for name in public_things()
        if not any(name == entry or name.startswith(f"{entry}.") for entry in listed)
    ]
    assert not absent, f"add to docs/reference/api.md: {absent}"


@pytest.mark.parametrize("name", sorted(public_things()))
def test_docstrings_are_complete(name: str) -> None:
    """An example (but for errors and protocols), every parameter, a sentence on every member."""
    thing = public_things()[name]
    text = inspect.getdoc(thing) or ""
    if getattr(thing, "_is_protocol", False) or issubclass_of(thing, Exception):
        assert text
        return
    borrowed = BORROWED.search(text)
    for parameter in inspect.signature(thing).parameters:
        assert borrowed or re.search(rf"^(?:.*, )?{parameter}\b", text, flags=re.M), parameter
    assert ">>>" in text or "safetensors file" in text, f"{name} has no example"
    members = vars(thing).items() if inspect.isclass(thing) else ()
    for own, member in members:
        code = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if inspect.isfunction(code) and not own.startswith("_"):
            assert inspect.getdoc(code), f"{name}.{own} has no docstring"


def issubclass_of(thing: Any, kind: type) -> bool:
    return inspect.isclass(thing) and issubclass(thing, kind)


def test_every_measured_page_has_a_line_of_finding() -> None:
    index = (ROOT / "docs" / "measured" / "index.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"^\| \[[^]]+\]\((\w+\.md)\) \| (.+) \|$", index, flags=re.M))
    pages = {path.name for path in (ROOT / "docs" / "measured").glob("*.md")} - {"index.md"}
    assert pages <= set(found), f"{sorted(pages - set(found))} have no line of their own"
    assert all(text.endswith(".") for text in found.values()), "a finding is a sentence"


def test_the_navigation_fits_on_one_screen() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    first = re.findall(
        r"^  - ", text[text.index("nav:") : text.index("markdown_extensions:")], re.M
    )
    assert 5 < len(first) <= 12
