"""Imports look upstream only: a package may use those before it; nothing uses the commands."""

import ast
from pathlib import Path

import pytest

import rdiv

ROOT = Path(rdiv.__file__).parent
ORDER = [
    "errors",
    "parallel",
    "row_blocks",
    "pictures",
    "progress",
    "whole_files",
    "names",
    "remarks",
    "samples",
    "losses",
    "models",
    "inference",
    "discrepancies",
    "results",
    "two_sample",
    "drivers",
    "comparison",
    "monitoring",
    "planning",
    "sources",
    "studies",
    "noisy_labels",
    "theory",
    "reproduction",
    "report",
    "cli",
]
BLIND = {"inference": {"samples", "losses", "models"}}
"""What a package may not use although it comes later: masks and numbers know no model."""

ON_REQUEST = {
    ("rdiv.comparison.result", "report"),
    ("rdiv.comparison.levels_result", "report"),
    ("rdiv.monitoring.state", "report"),
}
"""A result opens its own page when it is asked to, and loads the report no earlier."""

FRONT_DOORS = {ROOT / "__init__.py", ROOT / "__main__.py"}  # they may name everything
FILES = sorted({*ROOT.rglob("*.py")} - FRONT_DOORS)


def module_name(path: Path) -> str:
    name = ".".join(["rdiv", *path.relative_to(ROOT).with_suffix("").parts])
    return name.removesuffix(".__init__")


def stage(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> list[str]:
    """Every module of rdiv that a file imports, at its top or inside a function."""
    package = module_name(path).split(".")[: None if path.name == "__init__.py" else -1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, node.module] if node.module else base
            found += [".".join([*base, alias.name]) for alias in node.names]
    return [name for name in found if name.startswith("rdiv.") and stage(name) != "__version__"]


def test_every_package_has_its_place() -> None:
    there = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    there -= {"__init__", "__main__", "__pycache__", "py"}
    assert there == set(ORDER)
    assert len([name for name in ORDER if (ROOT / f"{name}.py").exists()]) <= 11


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_look_upstream(path: Path) -> None:
    module = module_name(path)
    own = stage(module)
    for name in imports(path):
        if (module, stage(name)) in ON_REQUEST:
            continue
        assert ORDER.index(stage(name)) <= ORDER.index(own), f"{module} imports {name}, after it"
        assert stage(name) not in BLIND.get(own, ()), f"{module} imports {name}, unknown to it"


def test_what_is_opened_on_request_is_not_loaded_before() -> None:
    for module, package in ON_REQUEST:
        path = ROOT / Path(*module.split(".")[1:]).with_suffix(".py")
        top = [n for n in ast.parse(path.read_text("utf-8")).body if isinstance(n, ast.ImportFrom)]
        assert not [n for n in top if (n.module or "").startswith(f"rdiv.{package}")]
