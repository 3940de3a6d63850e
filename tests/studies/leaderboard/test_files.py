"""The page, the numbers, the picture and the document of a leaderboard."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import numpy as np
import pytest

from rdiv.sources import Blob
from rdiv.studies.leaderboard import (
    Board,
    Cell,
    as_board,
    as_document,
    as_files,
    finished,
    standings,
)

CELLS = (Cell("easy, 20", Blob(), 20, trained=True), Cell("hard, 30", Blob(), 30))
LABELS = ("omnibus", "energy", "Plain(name='new')", "c2st-l:logistic")
RATES = {
    "omnibus": (0.9, 0.2), "energy": (0.5, 0.3), "Plain(name='new')": (0.3, 0.1),
    "c2st-l:logistic": (0.4, 0.0),
}  # fmt: skip


def board(trials: int = 40) -> Board:
    from tests.studies.toys import Plain

    tests = ["omnibus", "energy", "c2st-l:logistic"]
    return as_board(CELLS, [Plain("new")], tests, trials=trials, trained_trials=20, n_resamples=19)


def rows(trials: int = 40) -> list[dict[str, Any]]:
    """What a journal would hold, by known rates."""
    rng, found = np.random.default_rng(0), []
    for i, cell in enumerate(CELLS):
        place = {"cell": cell.name, "source": str(cell.drawn), "seed": 0, "resamples": 19}
        one = {label: [20] for label in LABELS}
        seconds = dict.fromkeys(LABELS, 0.125)
        found.append({**place, "null": False, "first": 2**20, "trials": 1, "counts": one,
                      "seconds": seconds})  # fmt: skip
        for null in (False, True):
            for first in range(0, trials, 10):
                counts = {
                    label: [1 if r < (0.05 if null else RATES[label][i]) else 20
                            for r in rng.random(10)]
                    for label in LABELS
                }  # fmt: skip
                if not cell.trained or first >= 20:
                    del counts["c2st-l:logistic"]
                found.append({**place, "null": null, "first": first, "trials": 10,
                              "counts": counts})  # fmt: skip
    return found


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return as_files(board(), rows(), note="a note", command="do it again")


def test_the_page_has_its_parts_in_order(files: dict[str, str]) -> None:
    page = files["leaderboard.md"]
    parts = [
        "# Leaderboard", "<!-- a note -->", "is complete: 40 trials", "`do it again`", "## Tests",
        "![Power of every test in every cell](leaderboard.svg)", "## The goal for omnibus",
        "Lead over Plain(name='new')", "## Tests that train", "## What no test sees",
        "## Every cell", "## Every null",
    ]  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "4 tests on 2 cells" in page


def test_tests_are_sorted_by_mean_regret(files: dict[str, str]) -> None:
    table = files["leaderboard.md"].split("## Tests\n")[1].split("\n\n")[0].strip().splitlines()
    names = [line.split("|")[1].strip() for line in table[2:]]
    assert names == [one.test for one in standings(board(), finished(board(), rows())).tests]
    assert {line.split("|")[-2].strip() for line in table[2:]} == {"0.125"}


def test_what_no_test_sees_is_named(files: dict[str, str]) -> None:
    part = files["leaderboard.md"].split("## What no test sees")[1].split("##")[0]
    assert "- hard, 30: " in part
    assert "easy" not in part


def test_every_cell_says_its_trials(files: dict[str, str]) -> None:
    part = files["leaderboard.md"].split("## Every cell")[1].split("##")[0]
    assert "| easy, 20 | 20 + 20 | 40 |" in part
    trained = files["leaderboard.md"].split("## Tests that train")[1].split("##")[0]
    assert "| easy, 20 | 20 + 20 | 20 |" in trained
    assert "hard" not in trained


def test_an_unfinished_study_says_so() -> None:
    page = as_files(board(trials=200), rows())["leaderboard.md"]
    assert "**The study is unfinished**: 80 of 400 trials" in page
    assert "Trials per cell so far: 40." in page
    assert " so far." in page.split("## The goal")[1]
    half = [row for row in rows() if row["cell"] != "hard, 30" or row["first"] != 30]
    assert "Trials per cell so far: 30 to 40." in as_files(board(), half)["leaderboard.md"]


def test_a_journal_without_trials_gives_a_page_too() -> None:
    files = as_files(board(), [])
    assert "No cell has enough trials yet." in files["leaderboard.md"]
    assert "leaderboard.svg" not in files


def test_the_numbers_are_those_of_the_standings(files: dict[str, str]) -> None:
    table = [*csv.DictReader(StringIO(files["leaderboard.csv"]))]
    found = standings(board(), finished(board(), rows()))
    assert len(table) == 2 * 3 * 2 + 1 * 4 * 2  # cells, tests, nulls; and the cell of all four
    for line in table:
        lines = found.cells if line["tests"] == "untrained" else found.trained_cells
        cell = next(one for one in lines if one.name == line["cell"])
        null = line["null"] == "True"
        rate = (cell.null if null else cell.power)[line["test"]]
        assert int(line["rejections"]) == rate.rejections
        assert float(line["rate"]) == pytest.approx(rate.value, abs=1e-4)
        assert (line["regret"] == "") == null
        if not null:
            assert float(line["regret"]) == pytest.approx(cell.regret[line["test"]].value, abs=1e-4)


def test_the_document_has_no_times() -> None:
    found = standings(board(), finished(board(), rows()))
    document = as_document(board(), found)
    assert document["study"]["tests"] == list(board().labels)
    assert [one["test"] for one in document["tests"]] == [one.test for one in found.tests]
    assert [cell["name"] for cell in document["cells"]] == ["easy, 20", "hard, 30"]
    assert [cell["trials"] for cell in document["trained_cells"]] == [20]
    assert "seconds" not in str(document)


def test_the_picture_names_tests_and_cells(files: dict[str, str]) -> None:
    picture = files["leaderboard.svg"]
    for text in ("omnibus", "energy", "easy, 20", "hard, 30", "mean regret"):
        assert text in picture
    assert picture == as_files(board(), rows())["leaderboard.svg"]
