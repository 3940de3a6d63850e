"""rdiv watch: a state file from start to alarm, refusals, one writer, kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv
from rdiv.cli.state_files import only_writer, read_state, write_state


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A folder with a reference, quiet days and bad ones."""
    table(400, seed=0).write_csv(tmp_path / "reference.csv")
    for day in range(4):
        table(100, seed=10 + day, turned=0.4 * (day > 1)).write_csv(tmp_path / f"day{day}.csv")
    return tmp_path


@pytest.fixture
def started(run: Run, days: Path) -> Path:
    ran = run("watch", "start", days / "reference.csv", "--state", days / "s.json", "--target",
              "bought", "--model", "logistic")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert "Nothing has been added yet" in ran.out
    return days


def test_a_directory_as_reference_and_as_batch(
    run: Run, started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read part by part from the directory, with the state that the file gives."""
    whole = pl.read_csv(started / "reference.csv")
    (started / "parts").mkdir()
    for k in range(4):
        whole[100 * k : 100 * (k + 1)].write_csv(started / "parts" / f"{k}.csv")
    (started / "day").mkdir()
    (started / "day0.csv").rename(started / "day" / "0.csv")
    monkeypatch.setattr("rdiv.monitoring.monitor.SAMPLE_ROWS", 150)
    states = []
    for name, reference in (("s.json", "reference.csv"), ("t.json", "parts")):
        if name != "s.json":
            ran = run("watch", "start", started / reference, "--state", started / name,
                      "--target", "bought", "--model", "logistic")  # fmt: skip
            assert (ran.code, ran.err) == (0, "")
        assert run("watch", "add", started / "day", "--state", started / name).code == 0
        found = json.loads((started / name).read_text())
        assert found["notes"].pop("reference") == reference
        del found["checksum"]
        states.append(found)
    assert states[0] == states[1]


def test_from_start_to_alarm(run: Run, started: Path) -> None:
    state = started / "s.json"
    ran = run("watch", "add", started / "day0.csv", started / "day1.csv", "--state", state,
              "--fail-on-alarm")  # fmt: skip
    assert ran.code == 0
    assert "No alarm in 2 batches" in ran.out
    assert "No alarm does not show that nothing has changed." in ran.out
    page = started / "page.html"
    ran = run("watch", "add", started / "day2.csv", started / "day3.csv", "--state", state,
              "--fail-on-alarm", "--html", page)  # fmt: skip
    assert ran.code == 1
    assert "Alarm: losses have changed since day2.csv, worse" in ran.out
    assert "day2.csv" in page.read_text(encoding="utf-8")
    ran = run("watch", "show", "--state", state, "--json", "-")
    assert ran.code == 0
    found = json.loads(ran.out)
    _follows_the_schema(found)
    assert found["alarm"]
    assert [look["name"] for look in found["history"]] == [f"day{i}.csv" for i in range(4)]
    ran = run("watch", "show", "--state", state, "--between", 100)
    assert "alarms with restarts:" in ran.out


def _follows_the_schema(document: dict[str, object]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    folder = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schema"
    schema = json.loads((folder / "watch-1.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert not list(validator.iter_errors(document))
    assert list(validator.iter_errors({**document, "evalue": 0}))
    assert list(validator.iter_errors({**document, "more": 1}))


def test_the_file_is_the_state_of_the_library(run: Run, started: Path) -> None:
    run("watch", "add", started / "day0.csv", "--state", started / "s.json", "--name", "monday")
    monitor = rdiv.Monitor(
        rdiv.read(started / "reference.csv"), target="bought", model="logistic", rng=0
    )
    own = monitor.update(monitor.start(), rdiv.read(started / "day0.csv"), name="monday")
    kept = read_state(str(started / "s.json"))
    assert kept.history == own.history
    assert kept.to_dict() == own.to_dict()
    assert kept.notes["reference"] == "reference.csv"


def test_several_batches_in_one_call_or_several(run: Run, started: Path) -> None:
    other = started / "t.json"
    other.write_bytes((started / "s.json").read_bytes())
    names = [started / f"day{i}.csv" for i in range(3)]
    run("watch", "add", *names, "--state", other)
    for name in names:
        run("watch", "add", name, "--state", started / "s.json")
    assert other.read_bytes() == (started / "s.json").read_bytes()


def refused(run: Run, words: str, *arguments: object) -> None:
    ran = run("watch", *arguments)
    assert ran.code == 2, ran
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_refusals_leave_the_state_alone(run: Run, started: Path) -> None:
    state = started / "s.json"
    run("watch", "add", started / "day0.csv", "--state", state)
    before = state.read_bytes()
    add = ("add", started / "day0.csv", "--state", state)
    refused(run, "a batch named 'day0.csv' is there already", *add)
    refused(run, "--name is for one batch", "add", started / "day1.csv", started / "day2.csv",
            "--name", "x", "--state", state)  # fmt: skip
    refused(run, "Nothing was added", "add", started / "day1.csv", started / "day0.csv", "--state",
            state)  # fmt: skip
    refused(run, "is there already", "start", started / "reference.csv", "--state", state)
    refused(run, "there is no state file", "show", "--state", started / "none.json")
    refused(run, "got standard input", "start", "-", "--state", started / "x.json")
    refused(run, "there is no file", "add", started / "nothing.csv", "--state", state)
    refused(run, "same columns", "add", _written(started / "odd.csv", {"age": [1.0]}), "--state",
            state)  # fmt: skip
    assert state.read_bytes() == before


def _written(path: Path, columns: dict[str, list[float]]) -> Path:
    pl.DataFrame(columns).write_csv(path)
    return path


def test_a_changed_or_moved_reference(run: Run, started: Path) -> None:
    state, reference = started / "s.json", started / "reference.csv"
    moved = started / "moved.csv"
    reference.rename(moved)
    refused(run, "--reference", "add", started / "day0.csv", "--state", state)
    assert (
        run("watch", "add", started / "day0.csv", "--state", state, "--reference", moved).code == 0
    )
    table(400, seed=5).write_csv(reference)
    refused(run, "the reference has changed", "add", started / "day1.csv", "--state", state)


def test_the_folder_may_move_as_a_whole(run: Run, started: Path, tmp_path: Path) -> None:
    new = tmp_path / "elsewhere"
    new.mkdir()
    for file in started.glob("*.*"):
        file.rename(new / file.name)
    assert run("watch", "add", new / "day0.csv", "--state", new / "s.json").code == 0


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "not the state of a monitor"),
        (lambda text: "a,b\n1,2\n", "not the state of a monitor"),
        (lambda text: text.replace('"alpha":0.05', '"alpha":0.5', 1), "was changed after"),
        (lambda text: text.replace('"schema":1', '"schema":7', 1), "another version"),
    ],
)
def test_a_bad_state_file(run: Run, started: Path, damage, words: str) -> None:
    state = started / "s.json"
    state.write_text(damage(state.read_text()))
    refused(run, words, "show", "--state", state)
    refused(run, words, "add", started / "day0.csv", "--state", state)


def test_one_writer_at_a_time(run: Run, started: Path) -> None:
    state = started / "s.json"
    with only_writer(str(state)):
        refused(run, "another rdiv watch is writing", "add", started / "day0.csv", "--state", state)
    assert run("watch", "add", started / "day0.csv", "--state", state).code == 0


def test_late_labels_and_compact(run: Run, started: Path) -> None:
    state, frame = started / "s.json", table(80, seed=30)
    frame.drop("bought").write_csv(started / "late.csv")
    ran = run("watch", "add", started / "late.csv", "--state", state, "--compact")
    assert ran.code == 0
    assert "waiting for labels: 1 batch (late.csv)" in ran.out
    frame.write_csv(started / "late.csv")
    ran = run("watch", "add", started / "late.csv", "--state", state)
    assert ran.code == 0
    assert "late.csv: labels of 80 rows" in ran.out


def test_logged_losses_units_and_gaps(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"loss": rng.exponential(size=600), "day": np.repeat(range(30), 20)})
    frame.write_csv(tmp_path / "r.csv")
    frame.head(20).drop("day").write_csv(tmp_path / "b.csv")
    common = ("start", tmp_path / "r.csv", "--loss", "loss")
    assert run("watch", *common, "--unit", "batch", "--batches", "day", "--state",
               tmp_path / "u.json").code == 0  # fmt: skip
    assert run("watch", "add", tmp_path / "b.csv", "--state", tmp_path / "u.json").code == 0
    assert run("watch", *common, "--drop", "day", "--min-gap", 0.2, "--state",
               tmp_path / "g.json").code == 0  # fmt: skip
    ran = run("watch", "add", tmp_path / "b.csv", "--state", tmp_path / "g.json")
    assert "smallest gap: 0.2" in ran.out
    refused(run, "needs --batches", *common, "--unit", "batch", "--state", tmp_path / "x.json")
    refused(run, "--min-gap must be 0 or more", *common, "--min-gap", -1, "--state",
            tmp_path / "x.json")  # fmt: skip


WRITER = """
import sys
from rdiv.cli.state_files import only_writer, read_state, write_state

one, two = read_state(sys.argv[1]), read_state(sys.argv[2])
with only_writer(sys.argv[3]):
    print("ready", flush=True)
    while True:
        for state in (one, two):
            write_state(sys.argv[3], state)
"""


def test_kill_at_any_moment_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    losses = pl.DataFrame({"loss": rng.exponential(size=30_000)})
    monitor = rdiv.Monitor(losses, loss="loss", rng=0)
    one = monitor.start()
    paths = [str(tmp_path / name) for name in ("one.json", "two.json", "state.json")]
    two = monitor.update(one, losses.head(5000))
    for path, state in zip(paths, (one, two, one), strict=True):
        write_state(path, state)
    texts = {one.to_json(), two.to_json()}
    for moment in rng.random(4) * 0.1:
        child = subprocess.Popen([sys.executable, "-c", WRITER, *paths], stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(moment)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert read_state(paths[2]).to_json() in texts
        with only_writer(paths[2]):
            pass  # the lock of a killed process is gone
