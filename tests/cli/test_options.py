"""Help, version, and the names that the help lists."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from tests.cli.conftest import Run
from typer.testing import CliRunner

import rdiv
from rdiv.cli import app
from rdiv.cli.options import DISCREPANCIES, MODELS, Reference
from rdiv.samples.files import FORMATS, read


def test_help_lists_every_model_and_discrepancy() -> None:
    assert MODELS.split(", ") == list(rdiv.models.BY_NAME)
    assert DISCREPANCIES.split(", ") == list(rdiv.discrepancies.BY_NAME)


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"rdiv {rdiv.__version__}\n", "")
    assert run() == run("--help")
    for command in ("compare", "test", "demo"):
        ran = run(command, "--help")
        assert ran.code == 0
        assert "--json FILE" in ran.out


def test_help_says_that_a_named_object_runs_code(run: Run) -> None:
    for command in ("compare", "test"):
        told = " ".join(run(command, "--help").out.split())
        assert "from the current folder too, which runs its code" in told
        assert "must not have been trained on either sample" in told
        assert "Pickles are not read" in told


def test_help_of_compare_names_every_way_to_give_a_model(run: Run) -> None:
    told = " ".join(run("compare", "--help").out.split())
    for option in ("--model NAME|FILE.onnx|module:object", "--prediction COL|CLASS=COL",
                   "--loss COL", "--train FILE", "--retrain NAME|none", "--train-share S",
                   "--drop COL", "--fit-rows N"):  # fmt: skip
        assert option in told


def test_application_can_be_run_by_typer() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"rdiv {rdiv.__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from rdiv.cli import main; main(['--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert not {"numpy", "rich", "polars", "sklearn", "rdiv.comparison.compare"} & loaded


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare"], ["missing argument 'REFERENCE'", "see rdiv compare --help"]),
        (["compare", "a", "b", "c"], ["c"]),
        (["compare", "a", "b", "--fold", "3"], ["--fold", "--folds"]),
        (["compare", "a", "b", "--folds", "many"], ["--folds", "integer"]),
        (["compare", "a", "b", "--folds", "-1"], ["--folds", "0"]),
        (["compare", "a", "b", "--jobs", "0"], ["--jobs", "1"]),
        (["compare", "a", "b", "--seed", "-1"], ["--seed", "0"]),
        (["compare", "a", "b", "--json"], ["--json"]),
        (["comprae"], ["comprae", "compare"]),
    ],
)
def test_misuse_is_one_line(run: Run, arguments: list[str], words: list[str]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("rdiv: ")
    assert all(word in ran.err for word in words), ran.err


def test_the_help_names_every_format_that_is_read() -> None:
    """Written out there, because importing the reader would slow down --help."""
    told = Reference.__metadata__[0].help  # type: ignore[attr-defined]
    plain = FORMATS.replace("(each also as .gz)", "(each also .gz)").replace(" and ", " or ")
    assert plain in told
    assert read.__doc__ is not None
    endings = FORMATS.replace(" (each also as .gz)", "").replace(" and ", ", ").split(", ")
    assert all(f"``.{ending}``" in read.__doc__ for ending in endings)


def test_help_is_in_groups(run: Run) -> None:
    told = run("compare", "--help").out
    places = [told.index(f"\n{name}:\n") for name in ("Data", "Model", "Decision", "Output")]
    assert places == sorted(places)
    assert told.index("--target COL") < places[1] < told.index("--model NAME") < places[2]
    assert told.count("--alpha LEVEL") == 1


def test_every_group_names_options_that_exist() -> None:
    from typer.main import get_command

    from rdiv.cli.help_groups import GROUPS

    known: set[str] = set()
    waiting: list[Any] = [get_command(app)]
    while waiting:
        command = waiting.pop()
        known |= {param.name for param in command.params}
        waiting += getattr(command, "commands", {}).values()
    listed = [name for names in GROUPS.values() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) <= known
