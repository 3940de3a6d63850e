"""A full disk, a reader that leaves, kill -9 at every write: nothing is lost, one sentence."""

from __future__ import annotations

import ast
import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.promise import run
from tests.fuzz.tables import Recipe, made

import rdiv
from rdiv.studies.journal import Journal
from rdiv.whole_files import write_whole_file

ROOT = Path(__file__).parents[2]
FEW = ["--target", "y", "--model", "ridge", "--resamples", "39"]
BOARD = ["--cells", "blob, 50", "--trials", "4", "--trained-trials", "0", "--resamples", "39"]
WRITES: dict[str, list[str]] = {
    "document": ["compare", "p.csv", "q.csv", *FEW, "--json", "out"],
    "page": ["compare", "p.csv", "q.csv", *FEW, "--html", "out"],
    "test": ["test", "p.csv", "q.csv", *FEW, "--json", "out"],
    "curve": ["plan", "p.csv", *FEW, "--gap", "1", "--picture", "out.svg"],
    "labels": ["denoise", "p.csv", "--target", "c", "--model", "logistic", "--out", "out.csv"],
    "bound": ["bound", "--complexity-p", "0.1", "--json", "out"],
    "levels": ["compare", "p.csv", "q.csv", *FEW, "--by", "c", "--html", "out"],
    "labels page": ["denoise", "p.csv", "--target", "c", "--model", "logistic", "--html", "out"],
    "new state": ["watch", "start", "p.csv", "--loss", "a2", "--state", "out"],
    "state": ["watch", "add", "q.csv", "--state", "watched.json"],
    "watch page": ["watch", "show", "--state", "watched.json", "--html", "out"],
    "leaderboard": ["leaderboard", *BOARD, "--out", "board"],
}
NO_OLD = {"state", "new state", "leaderboard"}
"""Commands that have written their file before, or write to a new one alone."""


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    columns = (("a", "normal"), ("c", "classes"), ("y", "normal"))
    for seed, file in enumerate(("p.csv", "q.csv")):
        frame = made(Recipe(columns, 40, seed))
        frame.with_columns(a2=frame["a"] ** 2).write_csv(tmp_path / file)
    return tmp_path


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.trains
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_keeps_the_old_file(
    samples: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    words = WRITES[name]
    if "watched.json" in words:
        started = ["watch", "start", "p.csv", "--loss", "a2", "--state", "watched.json"]
        assert run(started, "fault", samples)[0] == 0
    if name == "leaderboard":
        assert run(words, "fault", samples)[0] == 0
    if name not in NO_OLD:
        (samples / words[-1]).write_text("old")
    before = contents(samples)
    monkeypatch.setattr(os, step, full)
    code, _, said = run(words, "fault", samples)
    assert code == 2
    assert "No space left on device" in said
    assert contents(samples) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; locks aside, which are empty."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_a_full_disk_keeps_the_rows_of_a_study(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third row does not fit; the command goes on from the second once there is room."""
    words = ["power", "blob", "--sizes", "20", "--trials", "4", "--discrepancy", "energy"]
    words += ["--resamples", "39", "--out", "study"]
    left, append = [3], Journal.append

    def appended(journal: Journal, row: dict[str, Any]) -> None:
        left[0] -= 1
        with pytest.MonkeyPatch.context() as inner:
            if left[0] == 0:
                inner.setattr(os, "fsync", full)
            append(journal, row)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", appended)
        code, _, said = run(words, "fault", samples)
    assert code == 2
    assert "2 rows written so far are kept" in said
    rows = (samples / "study" / "rows.jsonl").read_bytes()
    assert rows.count(b"\n") == 2
    assert run(words, "fault", samples)[0] == 0
    assert (samples / "study" / "rows.jsonl").read_bytes().startswith(rows)


def test_a_page_of_a_result_is_written_whole(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [rdiv.read(samples / name) for name in ("p.csv", "q.csv")]
    found = rdiv.compare(*frames, target="y", model="ridge", n_resamples=39, rng=0, drop="c")
    page = samples / "page.html"
    page.write_text("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        found.to_html(page)
    assert page.read_text() == "old"


def test_content_is_on_the_disk_before_the_name_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        kind = "folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file"
        done.append(f"{kind} {os.fstat(handle).st_size if kind == 'file' else ''}".strip())
        sync(handle)

    def replaced(draft: Any, place: Any) -> None:
        done.append("name")
        replace(draft, place)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_whole_file(tmp_path / "a", b"12345")
    assert done == ["file 5", "name", "folder"]


KILLS = '''
import builtins, io, json, os, signal, sys, tempfile
from pathlib import Path
from rdiv.studies.journal import Journal
from rdiv.whole_files import write_whole_file

left = [0]
def event(part=lambda: None):
    """kill -9 at the event that was chosen, after a part of it was done."""
    left[0] -= 1
    if left[0] == 0:
        part()
        os.kill(os.getpid(), signal.SIGKILL)

class Cut(io.FileIO):
    def write(self, data):
        event(lambda: io.FileIO.write(self, bytes(data)[: len(data) // 2]))
        return io.FileIO.write(self, data)

def hooked(real):
    def call(*given, **options):
        event()
        return real(*given, **options)
    return call

def opened(real):
    def call(path, mode="r", *given, **options):
        if isinstance(path, int) or not set(mode) & set("wax"):
            return real(path, mode, *given, **options)
        event()
        return Cut(path, mode.replace("b", ""))
    return call

def work(folder, told):
    with Journal(folder / "rows.jsonl") as journal:
        for x in range(len(journal.rows), 4):
            journal.append({"x": x})
            os.write(told, b"r")
    for text in (b"first" * 99, b"second" * 99):
        write_whole_file(folder / "page", text)
        os.write(told, text[:1])
    for text in (b"third" * 99, b"last" * 99):  # a state, which only one process writes
        write_whole_file(folder / "state", text, alone=True)
        os.write(told, text[:1])

def child(folder, kill, told):
    for name in ("fsync", "replace", "truncate", "unlink"):
        setattr(os, name, hooked(getattr(os, name)))
    builtins.open = opened(builtins.open)
    left[0] = kill
    work(folder, told)
    os._exit(0)

def one(kill):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(folder, kill, told)
        os.close(told)
        acknowledged = os.read(reader, 99)
        while more := os.read(reader, 99):
            acknowledged += more
        os.close(reader)
        ended = os.waitpid(pid, 0)[1]
        page = folder / "page"
        content = page.read_bytes() if page.exists() else b""
        assert content in (b"", b"first" * 99, b"second" * 99), content
        assert b"f" not in acknowledged or content, "a page that was reported is lost"
        assert b"s" not in acknowledged or content.startswith(b"second")
        state = folder / "state"
        content = state.read_bytes() if state.exists() else b""
        assert content in (b"", b"third" * 99, b"last" * 99), content
        assert b"t" not in acknowledged or content, "a state that was reported is lost"
        assert b"l" not in acknowledged or content.startswith(b"last")
        with Journal(folder / "rows.jsonl") as journal:
            rows = [row["x"] for row in journal.rows]
        assert rows == list(range(len(rows))) and len(rows) >= acknowledged.count(b"r"), rows
        work(folder, os.open(os.devnull, os.O_WRONLY))
        with Journal(folder / "rows.jsonl") as journal:
            assert [row["x"] for row in journal.rows] == [0, 1, 2, 3]
        return ended

kill = 1
while one(kill) != 0:
    kill += 1
print(kill - 1)
'''


def test_kill_9_at_every_write_of_journal_and_files() -> None:
    """What was reported as written is there, whole; what was cut off is written again."""
    ran = subprocess.run(
        [sys.executable, "-c", KILLS], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= 30  # opens, writes, syncs and renames of four rows and four files


READER = """
import subprocess, sys
command = [sys.executable, "-m", "rdiv", *sys.argv[1:]]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
process.stdout.read(1000)
process.stdout.close()
print(process.stderr.read(), process.wait())
"""


@pytest.mark.parametrize("name", ["document", "rows"])
def test_a_reader_that_stops_half_way_is_no_error(samples: Path, name: str) -> None:
    """Both documents are longer than what a pipe holds."""
    words = ["test", "p.csv", "q.csv", *FEW[:-1], "9999", "--json", "-"]
    if name == "rows":
        made(Recipe((("a", "normal"), ("c", "classes")), 9000)).write_csv(samples / "long.csv")
        words = ["denoise", "long.csv", "--target", "c", "--model", "logistic", "--json", "-"]
    ran = subprocess.run(
        [sys.executable, "-c", READER, *words],
        cwd=samples, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.stdout.strip() == "b'' 0", ran


def test_input_that_ends_half_way_is_named(samples: Path) -> None:
    """A writer that dies in the middle of a line, on standard input."""
    half = (samples / "q.csv").read_bytes()
    half = half[: half.rindex(b",")]
    ran = subprocess.run(
        [sys.executable, "-m", "rdiv", "test", "p.csv", "-", *FEW],
        cwd=samples, input=half, capture_output=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"rdiv: ")
    assert ran.stderr.count(b"\n") == 1


def test_no_duration_is_measured_with_a_clock_that_jumps() -> None:
    """Durations come from monotonic clocks; the date is only printed."""
    package = Path(rdiv.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                name = f"{called.value.id}.{called.attr}"
                assert name not in ("time.time", "datetime.now", "datetime.utcnow"), path
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                assert not {"time", "time_ns"} & {one.name for one in node.names}, path


def test_a_clock_that_jumps_changes_no_result(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set back by a day at every look: the rows of a study, their seconds aside, are the same."""
    words = ["power", "blob", "--sizes", "20", "--trials", "2", "--discrepancy", "energy"]
    words += ["--resamples", "39"]
    assert run([*words, "--out", "steady"], "fault", samples)[0] == 0
    now = [time.time()]

    def set_back() -> float:
        now[0] -= 86_400
        return now[0]

    monkeypatch.setattr(time, "time", set_back)
    assert run([*words, "--out", "jumping"], "fault", samples)[0] == 0
    rows = [
        [json.loads(line) for line in (samples / name / "rows.jsonl").read_text().splitlines()]
        for name in ("steady", "jumping")
    ]
    assert all(row["seconds"] >= 0 for row in rows[1])
    assert [row["pvalue"] for row in rows[0]] == [row["pvalue"] for row in rows[1]]
