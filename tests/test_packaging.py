"""What is published: one version, builds that repeat, a wheel that needs no extra, an action."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.oldest_versions import oldest

import rdiv

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = ("typer", "rich", "polars", "jinja2", "matplotlib", "torch", "dask", "numba", "pandas")


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_version_is_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert read_yaml("CITATION.cff")["version"] == rdiv.__version__
    recipe = read_yaml("packaging/conda/recipe.yaml")
    assert recipe["context"]["version"] == rdiv.__version__


def test_the_recipe_needs_what_the_project_needs() -> None:
    wanted = {
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["cli"],
    }
    there = read_yaml("packaging/conda/recipe.yaml")["requirements"]["run"]
    listed = {line.replace("matplotlib-base", "matplotlib").replace(" ", "") for line in there}
    assert listed == {one.replace(" ", "") for one in wanted} | {"python>=3.11"}


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    pins = dict(line.split("==") for line in oldest())
    assert pins["numpy"] == "2.0"
    assert pins["torch"] == "2.4"
    assert "pytest" not in pins


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel, built twice from copies of the checkout in different places."""
    found = []
    for number in (1, 2):
        folder = tmp_path_factory.mktemp(f"build{number}")
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, folder)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        found += folder.glob("*.whl")
    return found


def test_two_builds_are_equal(wheels: list[Path]) -> None:
    hashes = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
    assert len(wheels) == 2
    assert len(hashes) == 1
    assert wheels[0].name.startswith(f"rdiv-{rdiv.__version__}-py3")


def test_the_wheel_works_without_extras(wheels: list[Path], tmp_path: Path) -> None:
    shutil.unpack_archive(wheels[0], tmp_path, "zip")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError("No module named " + name)
sys.meta_path.insert(0, Absent())
import numpy as np
import rdiv
assert rdiv.__file__.startswith({str(tmp_path)!r})
x = np.random.default_rng(0).normal(size=(200, 2))
print(rdiv.compare((x[:100], x[:100, 0]), (x[100:], x[100:, 0] + 3), model="ridge", rng=0).verdict)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("risk shift\n", "")


@pytest.mark.parametrize("name", ["ci", "docs", "release"])
def test_workflows_can_be_read(name: str) -> None:
    found = read_yaml(f".github/workflows/{name}.yml")
    assert found["jobs"]
    for job in found["jobs"].values():
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("shift", "code"), [(0.0, 0), (3.0, 1)])
def test_the_action_writes_the_verdict(tmp_path: Path, shift: float, code: int) -> None:
    rows = [(k % 17 / 17, k % 5) for k in range(120)]
    for name, moved in (("reference", 0.0), ("current", shift)):
        lines = [f"{a},{b},{a + 0.1 * b + moved}" for a, b in rows]
        (tmp_path / f"{name}.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    action = read_yaml("action.yml")
    step = action["runs"]["steps"][1]
    chosen = {"reference": "reference.csv", "current": "current.csv"}
    chosen["arguments"] = "--target y --model ridge --resamples 99 --fail-on-shift"
    inputs = {
        name: chosen.get(name, given.get("default")) for name, given in action["inputs"].items()
    }
    environment = {
        name: inputs[re.sub(r"\$\{\{ inputs\.(\w+) \}\}", r"\1", value)]
        for name, value in step["env"].items()
    }
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "rdiv"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m rdiv "$@"\n')
    command.chmod(0o755)
    environment |= {
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]], cwd=tmp_path, check=False,
        env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    verdict = "risk shift" if code else "no shift"
    assert (tmp_path / "output").read_text() == f"verdict={verdict}\n"
    assert "### rdiv compare" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "rdiv-report.html").exists()
