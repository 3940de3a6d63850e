"""Imports look upstream only: each stage may use those before it, and nothing uses the commands."""

import ast
from pathlib import Path

import pytest

import rdiv

ROOT = Path(rdiv.__file__).parent
ORDER = ["threads", "progress", "spelling", "ties", "samples", "losses", "models"]
ORDER += [
    "discrepancies",
    "masks",
    "permutation",
    "results",
    "halving",
    "two_sample",
    "everything else",
    "cli",
]
FRONT_DOORS = {ROOT / "__init__.py", ROOT / "__main__.py"}  # they may name everything


def place(module: str) -> int:
    stage = [*module.split("."), "everything else"][1]
    return ORDER.index(stage if stage in ORDER else "everything else")


def imports(path: Path, module: str) -> list[str]:
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, node.module] if node.module else base
            found += [".".join([*base, alias.name]) for alias in node.names]
    return [name for name in found if name.split(".")[0] == "rdiv"]


@pytest.mark.parametrize("path", sorted({*ROOT.rglob("*.py")} - FRONT_DOORS), ids=lambda p: p.stem)
def test_imports_look_upstream(path: Path) -> None:
    module = ".".join(["rdiv", *path.relative_to(ROOT).with_suffix("").parts])
    module = module.removesuffix(".__init__")
    backward = [name for name in imports(path, module) if place(name) > place(module)]
    assert not backward, f"{module} imports {backward}, which come after it"
