"""rdiv leaderboard: the files, the document, the plan, tests of one's own, refusals."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from rdiv.discrepancies import installed
from rdiv.results import SCHEMA

CELLS = ("--cells", "blob, 50", "--cells", "blob, 200")
FEW = ("leaderboard", *CELLS, "--trials", "10", "--resamples", "19", "--discrepancy", "energy")

OWN = """
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class FirstMean:
    def prepare(self, pool, rng):
        x = pool.matrix()[:, 0]
        return lambda masks: np.abs((masks - masks.mean(axis=1, keepdims=True)) @ x)

class Outside:
    name = "outside"

    def pvalue(self, p, q, n_resamples, seed):
        return 0.5, 0.125

class Broken:
    def prepare(self, pool, rng):
        return nowhere

energy = FirstMean()
number = 3
"""


@pytest.fixture(autouse=True)
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "board_tests.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RDIV_DATA", raising=False)
    return tmp_path


def test_it_writes_page_numbers_picture_and_rows(run: Run, tmp_path: Path) -> None:
    ran = run(*FEW, "--out", "board")
    assert ran.code == 0
    assert {path.name for path in Path("board").iterdir()} == {
        "leaderboard.md", "leaderboard.csv", "leaderboard.svg", "rows.jsonl",
    }  # fmt: skip
    page = Path("board/leaderboard.md").read_text()
    assert page in ran.out
    assert "| blob, 200 | 200 + 200 | 10 |" in page
    assert "processor hours are still to run" in ran.err
    rows = Path("board/rows.jsonl").read_bytes()
    assert run(*FEW, "--out", "board").out == ran.out
    assert Path("board/rows.jsonl").read_bytes() == rows


def test_the_document_goes_to_stdout_alone(run: Run) -> None:
    document = json.loads(run(*FEW, "--json", "-").out)
    assert document["schema"] == SCHEMA
    assert document["study"]["cells"] == ["blob, 200", "blob, 50"]
    assert [one["test"] for one in document["tests"]] == ["energy"]
    assert document["cells"][0]["trials"] == 10


def test_a_plan_lists_cells_and_costs(run: Run) -> None:
    ran = run(*FEW, "--cells", "digits source, 20", "--plan", "--out", "board")
    assert ran.code == 0
    assert "digits source, 20: Planted(table='digits'" in ran.out
    assert "energy: " in ran.out
    assert "at most" in ran.err
    assert not Path("board/leaderboard.md").exists()


def test_it_stops_after_some_minutes_and_reports(run: Run) -> None:
    ran = run(*FEW, "--minutes", "0", "--out", "board")
    assert ran.code == 0
    assert "**The study is unfinished**: 0 of 20 trials" in ran.out
    assert "No cell has enough trials yet." in Path("board/leaderboard.md").read_text()


def test_ones_own_test_stands_beside_ours(run: Run) -> None:
    ran = run(*FEW, "--method", "board_tests:FirstMean", "--method", "board_tests:Outside")
    assert ran.code == 0
    assert "| FirstMean |" in ran.out
    assert "| outside |" in ran.out
    rows = Path("leaderboard/rows.jsonl").read_text().splitlines()
    run(*FEW, "--method", "board_tests:FirstMean", "--discrepancy", "mmd-o")
    added = Path("leaderboard/rows.jsonl").read_text().splitlines()[len(rows) :]
    assert {label for row in added for label in json.loads(row)["counts"]} == {"mmd-o"}


def test_an_installed_test_is_found_by_its_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("first-mean", "board_tests:FirstMean", installed.GROUP)
    broken = metadata.EntryPoint("no-such", "board_tests:Nothing", installed.GROUP)

    def entry_points(*, group: str, name: str | None = None) -> list[metadata.EntryPoint]:
        assert group == installed.GROUP
        return [one for one in (point, broken) if name in (None, one.name)]

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    installed.installed_names.cache_clear()
    try:
        ran = run(*FEW, "--method", "first-mean")
        assert ran.code == 0
        assert "| FirstMean |" in ran.out
        again = run("power", "blob", "--sizes", "20", "--trials", "4", "--resamples", "19",
                    "--alpha", "0.05", "--discrepancy", "first-mean")  # fmt: skip
        assert again.code == 0
        assert "FirstMean" in again.out
        refused = run(*FEW, "--method", "no-such")
        assert refused.code == 2
        assert "the installed test 'no-such' (board_tests:Nothing) cannot be used" in refused.err
    finally:
        installed.installed_names.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--cells", "blob, 5"), "did you mean blob, 50?"),
        (("--cells", "nothing at all"), "no cell is called"),
        (("--method", "nowhere:Thing"), "cannot import 'nowhere'"),
        (("--method", "board_tests:Nothing"), "there is no 'Nothing'"),
        (("--method", "board_tests:number"), "must be a name or have prepare(pool, rng), got int"),
        (
            ("--method", "board_tests:FirstMean", "--method", "board_tests:energy"),
            "FirstMean twice",
        ),
        (("--discrepancy", "energy"), "got energy twice"),
        (("--method", "energ"), "did you mean 'energy'?"),
        (("--method", "board_tests:Broken"), "line 19 of board_tests.py failed (NameError"),
        (("--trials", "2"), "--trials"),
        (("--resamples", "9"), "9"),
        (("--alpha", "0"), "alpha"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_2(
    run: Run, arguments: tuple[str, ...], says: str
) -> None:
    ran = run(*FEW, *arguments)
    assert ran.code == 2
    assert says in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_cells_without_data_are_left_out(run: Run, tmp_path: Path) -> None:
    few = ("--trials", "10", "--resamples", "19", "--discrepancy", "energy")
    ran = run("leaderboard", "--cells", "blob, 50", "--cells", "census missing, 50", *few,
              "--data-dir", tmp_path / "empty")  # fmt: skip
    assert ran.code == 0
    assert "census missing, 50 is left out" in ran.err
    alone = run("leaderboard", "--cells", "census missing, 50", *few, "--data-dir", tmp_path / "e")
    assert alone.code == 2
    assert "no cell is left to run" in alone.err


def test_help_is_in_groups(run: Run) -> None:
    shown = run("leaderboard", "--help").out
    running = shown.split("Running")[1]
    assert "--minutes" in running
    assert "--plan" in running
    assert "--cells" in shown.split("Data")[1].split("Model")[0]
