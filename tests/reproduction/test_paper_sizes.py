"""The study at the paper's sizes: its journals survive a stop, and its page says what it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.studies import paper_sizes
from benchmarks.studies.paper_sizes import JOBS, Job, Pace, lines_of, main, named, read
from tools import results_page

from rdiv.reproduction import BY_NAME, Line, reproduce
from rdiv.reproduction.tables.overfitting import METHODS
from rdiv.studies.journal import sealed

SIZE = Job("size", "hdgm-size", "gmm-one-fit", (24, 26), scale="smoke", seed=3)
SPREAD = Job("spread", "blob", "gmm-repeats", trials=2, scale="smoke")
TINY = (SIZE, SPREAD)
LARGEST = 5_000_000  # bytes of a file that is committed


def timeless(found: Any) -> list[Any]:
    return sorted(
        json.dumps([key, {name: x for name, x in result.items() if name != "seconds"}])
        for key, result in found
    )


def without_seconds(lines: list[Line]) -> list[Line]:
    return [{name: x for name, x in line.items() if name != "seconds"} for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journals of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(["--rows", str(folder)], TINY) == 0
    return folder


def test_its_lines_are_those_of_the_command(whole: Path) -> None:
    lines = lines_of([SIZE], whole)["hdgm-size"]
    told = reproduce("hdgm-size", scale="smoke", seed=3, parts=["gmm-one-fit"], sizes=[24, 26])
    assert without_seconds(lines) == without_seconds(told.lines)


def test_stopped_and_continued(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, real = [], paper_sizes.timed

    def stops(call: Any, key: Any) -> Any:
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(key)
        return real(call, key)

    monkeypatch.setattr(paper_sizes, "timed", stops)
    assert main(["--rows", str(tmp_path)], TINY) == 130
    assert "goes on here" in capsys.readouterr().err
    file = tmp_path / "size.jsonl"
    file.write_bytes(file.read_bytes()[:-9])  # killed while it wrote the fifth draw
    monkeypatch.setattr(paper_sizes, "timed", real)
    assert len(read(SIZE, tmp_path)) == 4
    assert main(["--rows", str(tmp_path), "--trials", "1"], TINY) == 0
    assert main(["--rows", str(tmp_path)], TINY) == 0
    for job in TINY:
        assert timeless(read(job, tmp_path)) == timeless(read(job, whole))
        assert len(read(job, tmp_path)) == len(job.work().keys)
    assert {k: without_seconds(v) for k, v in lines_of(TINY, tmp_path).items()} == {
        k: without_seconds(v) for k, v in lines_of(TINY, whole).items()
    }


def test_no_draw_begins_after_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rows", str(tmp_path), "--minutes", "0"], TINY) == 0
    assert "the time is over before size" in capsys.readouterr().out
    assert main(["--rows", str(tmp_path), "--minutes", "0.001"], TINY) == 0
    assert not read(SIZE, tmp_path), "a draw is guessed to take longer than that"


def test_the_plan_has_what_is_done_and_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--rows", str(tmp_path), "--only", "size", "--pilot"], TINY) == 0
    assert len(read(SIZE, tmp_path)) == 4, "both sizes, with and without a difference"
    capsys.readouterr()
    assert main(["--rows", str(tmp_path), "--plan"], TINY) == 0
    _, first, second, last = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["size", "8", "4"]
    assert second.split()[:3] == ["spread", "8", "0"]
    assert second.endswith("(guessed)")
    assert last.startswith("together 0.0 processor hours done")


def test_a_cell_without_draws_is_expected_to_cost_what_the_others_do() -> None:
    pace = Pace(7.0)
    assert pace.expected("a") == 7.0, "before any draw it is the guess of the part"
    pace.seconds["a"] += [1.0, 2.0]
    assert (pace.expected("a"), pace.expected("b")) == (1.5, 1.5)


def test_a_page_of_half_finished_jobs_says_how_many_trials_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results_page, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(results_page, "PAGE", tmp_path / "results.md")
    rows = ["--rows", str(tmp_path / "journals")]
    assert main([*rows, "--only", "size", "--trials", "1"], TINY) == 0
    assert main([*rows, "--page"], TINY) == 0
    assert "size: 6 of 6 rows have fewer than 20 trials" in capsys.readouterr().out
    rows += ["--least", "1"]
    assert main([*rows, "--page"], TINY) == 0
    assert "6 lines of 1 tables" in capsys.readouterr().out
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "Part `gmm-one-fit` at smoke scale has 1 of its 2 trials a cell." in page
    assert "of 1 |" in page
    assert main(rows, TINY) == 0
    assert main([*rows, "--page"], TINY) == 0
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "of its 2 trials" not in page
    assert results_page.main(["--check"]) == 0


def test_a_draw_without_its_null_and_a_repeat_that_is_not_whole_do_not_count(whole: Path) -> None:
    work, found = SPREAD.work(), read(SPREAD, whole)
    (line, *_) = work.lines(found)
    assert (line["trials"], line["repeats"], line["null_trials"]) == (4, 2, 4)
    (line, *_) = work.lines(found[:-1])
    assert (line["trials"], line["repeats"], line["null_trials"]) == (2, 1, 2)
    (line, *_) = work.lines(found[:3])
    assert (line["trials"], line["repeats"], line["null_trials"]) == (1, 1, 1)
    assert not work.lines(found[:1])


def test_draws_of_another_study_are_refused(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "size.jsonl").write_bytes((whole / "size.jsonl").read_bytes())
    other = Job("size", "hdgm-size", "gmm-one-fit", (24, 26), scale="smoke", seed=4)
    assert main(["--rows", str(tmp_path)], [other]) == 2
    assert "holds draws with other seed than size has now" in capsys.readouterr().err
    assert main(["--rows", str(tmp_path), "--only", "sice"], TINY) == 2
    assert "no job begins with 'sice'; there are size, spread." in capsys.readouterr().err


def test_a_name_is_one_job_even_where_another_begins_with_it() -> None:
    def chosen(*names: str) -> list[str]:
        return [job.name for job in named(JOBS, names)]

    assert chosen("higgs-kde") == ["higgs-kde"]
    assert chosen("higgs-k") == ["higgs-kde", "higgs-kde-double"]
    assert chosen("pacs", "higgs-s") == ["higgs-scott", "pacs"]
    assert chosen() == [job.name for job in JOBS]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_job_has_work_and_a_journal_small_enough_to_commit(job: Job) -> None:
    work = job.work()
    assert job.table in BY_NAME
    key = work.keys[-1]
    result = {"pvalues": [0.3333333333333333] * 7, "seconds": 12.345}
    assert len(work.keys) * len(sealed({"key": key, "result": result})) < LARGEST
    assert {work.trial(key) for key in work.keys} == set(range(len(work.keys) // _a_trial(work)))


def _a_trial(work: Any) -> int:
    return sum(work.trial(key) == 0 for key in work.keys)


def test_jobs_have_names_of_their_own_and_the_cells_that_decide() -> None:
    assert len({job.name for job in JOBS}) == len(JOBS)
    cells = {
        (job.table, key.get("source"), key.get("n")) for job in JOBS for key in job.work().keys
    }
    for d in (3, 5, 10, 15, 20):
        assert {("hdgm-dimension", f"d = {d}", n) for n in (2000, 4000)} <= cells
    assert {("hdgm-size", "d = 10", n) for n in (500, 1000, 1500, 2500)} <= cells
    for n in (1000, 2000, 3000, 5000, 8000, 10000):
        assert {("higgs", "higgs", n // 2), ("higgs", "higgs", n)} <= cells
    assert sum(key[0] == "mnist" and key[2] == 100 for key in cells) == 4


def test_a_draw_of_overfitting_counts_when_all_pairs_have_it() -> None:
    work = Job("gaps", "overfitting", scale="paper", trials=3).work()
    risks = {method: [100.0, 90.0] for method in METHODS}
    found: Any = [(key, {**risks, "pvalue": 0.01, "seconds": 1.0}) for key in work.keys]
    assert len(found) == 12
    lines = work.lines(found[:-1])
    assert {(line["draws"], line["gap"]) for line in lines} == {(2, 10.0)}
    assert {line["rejections"] for line in lines if line["method"] == "R-Div"} == {2}
    assert not work.lines(found[:4]), "one draw has no spread"


@pytest.mark.data
def test_a_trial_of_noisy_labels_counts_when_it_is_whole(tmp_path: Path, data_dir: Path) -> None:
    del data_dir
    jobs = (Job("labels", "noisy-pair", "memorises", scale="smoke"),)
    assert main(["--rows", str(tmp_path)], jobs) == 0
    work, found = jobs[0].work(), read(jobs[0], tmp_path)
    assert not work.lines(found[:-1])
    lines = work.lines(found)
    assert [(line["method"], line["share"]) for line in lines] == [
        ("complementary", 0.2), ("complementary", 0.4), ("complementary", 0.6),
        ("weighted", 0.4), ("difference", 0.4),
    ]  # fmt: skip
    assert all(0 < line["detection_accuracy"] < 1 and line["trials"] == 1 for line in lines)
