"""Running a board: the journal, its blocks, any number of processes, and tests added later."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.toys import Learning, Plain, shifted

import rdiv
from rdiv.errors import InputError
from rdiv.sources import Drawn
from rdiv.studies.leaderboard import Board, Cell, as_board, finished, run_board
from rdiv.studies.leaderboard.running import BLOCK

Rows = list[dict[str, Any]]


def turned(n: int, rng: np.random.Generator, null: bool) -> tuple[np.ndarray, np.ndarray]:
    """A source: the sign of a correlation."""
    p, q = rng.normal(size=(2, n, 2))
    p[:, 1] += p[:, 0]
    q[:, 1] += q[:, 0] if null else -q[:, 0]
    return p, q


CELLS = (Cell("shifted, 12", Drawn(shifted), 12, trained=True), Cell("turned, 8", Drawn(turned), 8))


@dataclass(frozen=True)
class Given:
    """A test with its own p-value, from the first column."""

    name = "given"

    def pvalue(
        self, p: np.ndarray, q: np.ndarray, n_resamples: int, seed: int
    ) -> tuple[float, float]:
        del n_resamples, seed
        return float(np.clip(abs(p[:, 0].mean() - q[:, 0].mean()), 0.01, 1)), 0.25


def board(*tests: Any, trials: int = 20, methods: tuple[Any, ...] = (), **counts: Any) -> Board:
    chosen = tests or (Plain("a"), Plain("b"))
    return as_board(
        CELLS, methods, chosen, trials=trials, **{"n_resamples": 19, "seed": 5, **counts}
    )


def trials_of(rows: Rows) -> Rows:
    """The rows of trials, in one order; those that measure the cost have times."""
    kept = [row for row in rows if "seconds" not in row]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


def test_every_test_runs_on_every_cell_and_its_null(tmp_path: Path) -> None:
    rows = run_board(board(), tmp_path / "rows.jsonl")
    places = [(row["cell"], row["null"], row["first"]) for row in rows if "seconds" not in row]
    assert sorted(places) == sorted(
        (cell.name, null, first) for cell in CELLS for null in (False, True) for first in (0, 10)
    )
    assert [first for *_, first in places] == [0] * 4 + [10] * 4  # all cells in turn
    assert all(len(row["counts"]["Plain(name='a')"]) == BLOCK for row in trials_of(rows))


def test_the_pvalues_are_those_of_a_power_study(tmp_path: Path) -> None:
    rows = run_board(board("energy"), tmp_path / "rows.jsonl")
    study = rdiv.power_study(
        Drawn(shifted), ["energy"], sizes=12, trials=20, n_resamples=19, null=True, rng=5
    )
    expected = {(row["null"], row["trial"]): round(20 * row["pvalue"]) for row in study.rows}
    found = {
        (row["null"], row["first"] + i): count
        for row in trials_of(rows)
        if row["cell"] == "shifted, 12"
        for i, count in enumerate(row["counts"]["energy"])
    }
    assert found == expected


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = run_board(board(), tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "part.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:30])  # cut off
    again = run_board(board(), tmp_path / "part.jsonl")
    assert trials_of(again) == trials_of(whole)
    assert run_board(board(), tmp_path / "part.jsonl") == again
    assert len((tmp_path / "part.jsonl").read_bytes().splitlines()) == len(lines)


def test_more_trials_run_only_what_is_missing(tmp_path: Path) -> None:
    few = run_board(board(trials=10), tmp_path / "rows.jsonl")
    more = run_board(board(trials=30), tmp_path / "rows.jsonl")
    assert more[: len(few)] == few
    assert {row["first"] for row in more[len(few) :]} == {10, 20}
    assert trials_of(more) == trials_of(run_board(board(trials=30), tmp_path / "other.jsonl"))


def test_a_test_added_later_runs_alone_on_the_same_draws(tmp_path: Path) -> None:
    before = run_board(board(Plain("a")), tmp_path / "rows.jsonl")
    after = run_board(board(Plain("a"), Plain("b")), tmp_path / "rows.jsonl")
    assert {label for row in after[len(before) :] for label in row["counts"]} == {"Plain(name='b')"}
    both = board(Plain("a"), Plain("b"))
    together = finished(both, run_board(both, tmp_path / "whole.jsonl")).rejected
    assert finished(both, after).rejected == together


def test_another_seed_or_number_of_permutations_is_another_study(tmp_path: Path) -> None:
    rows = run_board(board(), tmp_path / "rows.jsonl")
    assert finished(board(seed=6), rows).rejected == {}
    assert finished(board(n_resamples=39), rows).rejected == {}
    assert len(run_board(board(seed=6), tmp_path / "rows.jsonl")) == 2 * len(rows)


def test_the_rows_are_the_same_in_several_processes(tmp_path: Path) -> None:
    one = run_board(board("energy", "r-div:gmm", methods=(Given(),)), tmp_path / "one.jsonl")
    two = run_board(
        board("energy", "r-div:gmm", methods=(Given(),)), tmp_path / "two.jsonl", n_jobs=2
    )
    assert trials_of(one) == trials_of(two)


def test_tests_that_learn_run_in_the_cells_marked_for_them(tmp_path: Path) -> None:
    both = board(Plain("a"), Learning(), trials=30, trained_trials=12)
    counts = finished(both, run_board(both, tmp_path / "rows.jsonl"))
    label = next(one for one in both.labels if one.startswith("Learning"))
    done = {(cell, null): len(found) for (cell, null, test), found in counts.rejected.items()
            if test == label}  # fmt: skip
    assert both.learners == {label}
    assert done == {("shifted, 12", False): 12, ("shifted, 12", True): 12}


def test_a_test_may_bring_its_own_pvalue(tmp_path: Path) -> None:
    with_given = board(Plain("a"), methods=(Given(),))
    rows = run_board(with_given, tmp_path / "rows.jsonl")
    counts = finished(with_given, rows)
    assert with_given.labels == ("Plain(name='a')", "given")
    assert counts.seconds["turned, 8", "given"] == 0.25
    rng_rows = [row for row in trials_of(rows) if not row["null"] and row["cell"] == "shifted, 12"]
    large = [count for row in rng_rows for count in row["counts"]["given"]]
    assert min(large) > 1  # its p-value grows with the shift
    assert not any(counts.rejected["shifted, 12", False, "given"].values())


def test_a_pvalue_of_exactly_alpha_rejects(tmp_path: Path) -> None:
    one = board(Plain("a"), trials=10)
    rows = run_board(one, tmp_path / "rows.jsonl")
    row = trials_of(rows)[0] | {"counts": {"Plain(name='a')": [1, 2, 20, *[20] * 7]}}
    found = finished(one, [row]).rejected[row["cell"], row["null"], "Plain(name='a')"]
    assert [found[i] for i in range(3)] == [True, False, False]  # 1 of 20 is .05


def test_a_plan_says_the_cost_and_runs_no_trial(tmp_path: Path) -> None:
    said: list[dict[str, float]] = []
    rows = run_board(
        board(methods=(Given(),)), tmp_path / "rows.jsonl", announce=said.append, plan=True
    )
    assert trials_of(rows) == []
    (left,) = said
    assert left["given"] == pytest.approx(2 * 2 * 20 * 0.25)  # cells, nulls, trials, seconds
    assert all(seconds > 0 for seconds in left.values())
    run_board(board(methods=(Given(),)), tmp_path / "rows.jsonl", announce=said.append)
    run_board(board(methods=(Given(),)), tmp_path / "rows.jsonl", announce=said.append)
    assert said[1] == left
    assert set(said[2].values()) == {0.0}


def test_a_run_can_stop_after_a_time(tmp_path: Path) -> None:
    assert run_board(board(), tmp_path / "rows.jsonl", seconds=0) == []


def test_the_cost_is_that_of_the_test_without_the_draw(tmp_path: Path) -> None:
    def slow(n: int, rng: np.random.Generator, null: bool) -> Any:
        for _ in range(200):
            np.sort(rng.random(20_000))
        return shifted(n, rng, null)

    cell = Cell("slow, 12", Drawn(slow), 12)
    one = as_board([cell], (), [Plain("a")], trials=10, n_resamples=19)
    rows = run_board(one, tmp_path / "rows.jsonl", plan=True)
    assert rows[0]["seconds"]["Plain(name='a')"] < 0.1


def test_a_row_that_was_changed_is_refused(tmp_path: Path) -> None:
    run_board(board(trials=10), tmp_path / "rows.jsonl")
    text = (tmp_path / "rows.jsonl").read_text()
    (tmp_path / "rows.jsonl").write_text(text.replace('"trials": 10', '"trials": 11', 1))
    with pytest.raises(InputError, match="checksum"):
        run_board(board(trials=10), tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    ("tests", "methods", "says"),
    [
        (("energy", "energy"), (), "got energy twice"),
        (("energy",), (Given(), Given()), "got given twice"),
        ((), (), "no test is left"),
        (("enrgy",), (), "did you mean 'energy'"),
        ((Plain,), (), r"add \(\)"),
    ],
)
def test_mistakes_are_named(tests: Any, methods: Any, says: str) -> None:
    with pytest.raises((InputError, TypeError), match=says):
        as_board(CELLS, methods, tests)


def test_no_cells_are_refused() -> None:
    with pytest.raises(InputError, match="no cell is left"):
        as_board([], (), ["energy"])
