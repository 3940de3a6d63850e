"""Few dependencies, each with a reason; a new one has to be written down here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = {"joblib", "narwhals", "numpy", "scikit-learn", "scipy", "threadpoolctl"}
EXTRAS = {
    "cli": {"jinja2", "matplotlib", "polars", "rich", "typer"},
    "torch": {"safetensors", "torch"},
    "dask": {"dask"},
    "data": {"pillow", "pooch"},
    "fast": {"numba"},
    "onnx": {"onnxruntime"},
}


def project() -> dict[str, object]:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        found: dict[str, object] = tomllib.load(stream)["project"]
    return found


def names(requirements: object) -> set[str]:
    assert isinstance(requirements, list)
    return {re.split(r"[\[<>=! ]", text)[0] for text in requirements}


def test_direct_dependencies_are_those_that_are_written_down() -> None:
    found = project()
    assert names(found["dependencies"]) == CORE
    extras = found["optional-dependencies"]
    assert isinstance(extras, dict)
    assert {name: names(extras[name]) for name in extras if name not in ("all", "dev")} == EXTRAS


def test_there_are_lower_bounds_and_no_upper_ones() -> None:
    found = project()
    extras = found["optional-dependencies"]
    assert isinstance(extras, dict)
    listed = [*found["dependencies"], *(one for name in EXTRAS for one in extras[name])]  # type: ignore[misc]
    assert all(re.search(r">=\d", text) and "<" not in text for text in listed)


def test_security_names_the_core_dependencies_and_no_address() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert all(name in text for name in CORE)
    assert "@" not in text
