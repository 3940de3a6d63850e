"""rdiv power: the table, the document, the folder of rows, a method of one's own, refusals."""

from __future__ import annotations

import io
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.cli.conftest import Run
from tests.cli.test_process import ALERT, START, process

import rdiv
from rdiv.cli import power
from rdiv.cli.own_code import imported
from rdiv.cli.study_options import SOURCES
from rdiv.cli.study_parts import source_of
from rdiv.results import SCHEMA
from rdiv.sources import Drawn, Hdgm, Higgs
from rdiv.studies.folder import ROWS

FAST = ("--discrepancy", "energy", "--sizes", "30", "--trials", "4")
STUDY = ("power", "blob", *FAST)

OWN = """
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class FirstMean:
    column: int = 0

    def prepare(self, pool, rng):
        x = pool.numbers()[:, self.column]
        return lambda masks: np.abs((masks - masks.mean(axis=1, keepdims=True)) @ x)

second = FirstMean(1)
number = 3

class Needy:
    def __init__(self, something):
        pass

class Narrow:
    def prepare(self, pool):
        pass

class Broken:
    def prepare(self, pool, rng):
        return nowhere

class Wordy:
    def prepare(self, pool, rng):
        return "no difference"

class Letters:
    def prepare(self, pool, rng):
        return lambda masks: ["a"] * len(masks)

class Leaving:
    def prepare(self, pool, rng):
        raise SystemExit(0)

def leaving(n, rng, null):
    raise SystemExit(0)

def moved(n, rng, null):
    p, q = rng.normal(size=(2, n, 2))
    return p, q + 2 * (not null)

def narrow(n, rng):
    pass

def lonely(n, rng, null):
    return rng.normal(size=n)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the current directory, and nowhere else."""
    name = f"own_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(OWN)
    (tmp_path / f"{name}_zero.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / ROWS).read_text().splitlines()]
    for row in rows:
        del row["seconds"], row["checksum"]
    return sorted(rows, key=str)


def test_help_lists_every_source() -> None:
    assert SOURCES.split(", ") == list(rdiv.sources.BY_NAME)


def test_prints_the_table_of_the_library(run: Run) -> None:
    ran = run("power", "hdgm:d=3", "--discrepancy", "energy", "--discrepancy", "r-div:gmm",
              "--sizes", "30,40", "--trials", 3, "--repeats", 2, "--null", "--alpha", "0.05,0.2",
              "--resamples", 19, "--seed", 5, "--ratio", 1.5, "--json", "-")  # fmt: skip
    found = rdiv.power_study(
        Hdgm(d=3, ratio=1.5), ["energy", "r-div:gmm"], sizes=[30, 40], trials=3, repeats=2,
        null=True, alpha=[0.05, 0.2], n_resamples=19, rng=5,
    )  # fmt: skip
    document = json.loads(ran.out)
    table = found.table()
    del table["seconds"]
    assert (ran.code, ran.err) == (0, "")
    assert document == {"schema": SCHEMA, "study": found.study.to_dict(), "table": table}
    assert set(table["n_q"]) == {45, 60}


def test_plain_table_in_a_pipe(run: Run) -> None:
    ran = run(*STUDY)
    lines = ran.out.splitlines()
    assert (ran.code, ran.err, len(lines)) == (0, "", 3)
    assert lines[2].startswith("| blob | energy |  | 30 + 30 | whole | 0.05 | 0.")


@pytest.mark.parametrize("width", [60, 140])
def test_table_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], run: Run, width: int
) -> None:
    console = Console(force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(power, "terminal", lambda: console)
    monkeypatch.setattr(Higgs, "caveat", lambda self, n: "look here", raising=False)
    monkeypatch.setattr("rdiv.sources.blob.Blob.caveat", Higgs.caveat, raising=False)
    ran = run(*STUDY, "--null")
    assert "|" not in ran.out
    assert all(len(line) <= width for line in ran.out.splitlines())
    assert "blob, n = 30: look here." in ran.out
    assert width == 60 or "type-I" in ran.out


def test_progress_with_the_time_left_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with power.trial_progress() as silent:
        assert silent is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with power.trial_progress() as progress:
        assert progress is not None
        for done in range(5):
            progress(3 + done, 7)
    assert "7/7" in sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "left" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_model_is_for_names_without_one(run: Run) -> None:
    tests = [x for name in ("r-div", "energy", "r-div:kde") for x in ("--discrepancy", name)]
    options = "--model", "gmm", "--sizes", 30, "--trials", 1, "--json", "-"
    ran = run("power", "blob", *tests, *options)
    assert json.loads(ran.out)["table"]["model"] == ["gmm", None, "kde"]


def test_same_bytes_for_any_number_of_jobs(run: Run, tmp_path: Path) -> None:
    for jobs in (1, 2):
        assert run(*STUDY, "--null", "--jobs", jobs, "--json", tmp_path / f"{jobs}").code == 0
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_pair_of_files_is_a_source(run: Run, files: Path) -> None:
    pair = "--pair", files / "reference.csv", files / "worse.csv"
    ran = run("power", *pair, *FAST, "--null", "--json", "-")
    table = json.loads(ran.out)["table"]
    assert table["n_p"] == [30, 30]
    assert table["source"] == ["reference.csv + worse.csv"] * 2
    many = run("power", *pair, "--discrepancy", "energy", "--sizes", 130)
    assert (many.code, "ask for fewer rows" in many.err) == (2, True)
    assert "REFERENCE" not in many.err


def test_rows_of_changed_files_are_not_mixed(run: Run, files: Path, tmp_path: Path) -> None:
    q, out = tmp_path / "q.csv", tmp_path / "out"
    for name, code in (("same", 0), ("same", 0), ("worse", 2)):
        q.write_bytes((files / f"{name}.csv").read_bytes())
        ran = run("power", "--pair", files / "reference.csv", q, *FAST, "--out", out)
        assert (ran.code, "holds rows of a study" in ran.err) == (code, code == 2)


def test_rows_are_kept_and_continued(run: Run, tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    assert run(*STUDY, "--out", whole).code == 0
    assert run(*STUDY, "--out", out).code == 0
    kept = (out / ROWS).read_bytes()
    (out / ROWS).write_bytes(kept[:-20])
    torn = run(*STUDY, "--out", out)
    assert torn.code == 0
    assert torn.err.startswith("rdiv: the last line of ")
    assert "was cut off" in torn.err
    assert rows_of(out) == rows_of(whole)
    more = run("power", "blob", *FAST[:-1], 6, "--out", out)
    assert (more.code, "--extend" in more.err) == (2, True)
    assert run("power", "blob", *FAST[:-1], 6, "--out", out, "--extend").code == 0
    assert len(rows_of(out)) == 6


def test_picture_and_document_have_places_of_their_own(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(*STUDY, "--out", out, "--json", tmp_path / "a.json").code == 0
    again = run(*STUDY, "--out", out, "--plot", out / "power.svg")
    assert again.code == 0
    assert (out / "power.svg").read_text().startswith("<?xml")
    assert run(*STUDY, "--out", out).code == 0  # the picture is not foreign
    for option, name in (("--json", "rows.jsonl"), ("--json", "a"), ("--plot", "b.svg")):
        ran = run(*STUDY, "--out", out, option, out / name)
        assert (ran.code, "only the study may write to" in ran.err) == (2, True)


def test_a_method_of_ones_own(run: Run, own: str) -> None:
    tests = "--method", f"{own}:FirstMean", "--method", f"{own}:second"
    ran = run("power", f"{own}:moved", *tests, *FAST, "--json", "-")
    table = json.loads(ran.out)["table"]
    assert table["discrepancy"] == ["energy", "FirstMean", "FirstMean(column=1)"]
    assert table["source"] == ["moved"] * 3
    assert table["rate"] == [1.0] * 3


def test_a_method_of_ones_own_in_worker_processes(own: str) -> None:
    study = "power", f"{own}:moved", *FAST, "--jobs", "2"  # a new process: its workers are new too
    good = process(*study, "--method", f"{own}:FirstMean")
    assert (good.returncode, good.stderr) == (0, b"")
    assert b"| moved | FirstMean |" in good.stdout
    bad = process(*study, "--method", f"{own}:Broken")
    assert (bad.returncode, bad.stdout, bad.stderr.count(b"\n")) == (2, b"", 1)
    assert b"line 26 of" in bad.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "{}:FirstMaen"], ["no 'FirstMaen'", "did you mean 'FirstMean'?"]),
        (["--method", "{}_zero:Thing"], ["cannot import", "ZeroDivisionError"]),
        (["--method", "{}_missing:Thing"], ["cannot import", "No module named"]),
        (["--method", "{}"], ["package.module:Thing"]),
        (["--method", "{}:number"], ["prepare(pool, rng)", "got int"]),
        (["--method", "{}:Needy"], ["without arguments", "something"]),
        (["--method", "{}:Narrow"], ["must take (pool, rng)"]),
        (["--method", "{}:Broken"], ["line 26 of", "nowhere"]),
        (["--method", "{}:Wordy"], ["of Wordy must return a function of masks, got str"]),
        (["--method", "{}:Letters"], ["Letters must give numbers for masks"]),
        (["--method", "{}:Leaving"], ["Leaving ended the program (SystemExit: 0)"]),
    ],
)
def test_faults_of_a_method_are_one_sentence(
    run: Run, own: str, arguments: list[str], words: list[str]
) -> None:
    given = [argument.format(own) for argument in arguments]
    ran = run("power", "blob", "--sizes", 30, "--trials", 2, *given)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert all(word in ran.err for word in words), ran.err


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("narrow", "must take (n, rng, null)"),
        ("lonely", "must return a pair"),
        ("x", "no 'x'"),
        ("leaving", "failed (SystemExit: 0); fix it."),
    ],
)
def test_faults_of_a_source_are_one_sentence(run: Run, own: str, function: str, words: str) -> None:
    ran = run("power", f"{own}:{function}", *FAST)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


def test_sources_as_words(own: str) -> None:
    assert source_of("hdgm") == Hdgm()
    assert source_of("hdgm:d=20,rotated=TRUE,ratio=.5") == Hdgm(20, True, 0.5)
    assert source_of("hdgm:rotated=false", ratio=3.0) == Hdgm(ratio=3.0)
    assert isinstance(source_of(f"{own}:moved"), Drawn)
    assert imported(f"{own}:FirstMean.column", "thing") == 0


def test_settings_of_real_data(data_dir: Path) -> None:
    source = source_of("higgs:columns=0+1+5", data_dir=str(data_dir))
    assert source == Higgs(columns=(0, 1, 5))
    assert source.rows is not None  # read once, before the study starts
    assert source_of("higgs:columns=3", data_dir=str(data_dir)).rows[0].shape[1] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["blob", "--sizes", "9"], ["--discrepancy", "--method"]),
        (FAST, ["SOURCE", "--pair", "neither"]),
        (["blob", "--pair", "a", "b", *FAST], ["SOURCE", "--pair", "both"]),
        (["blbo", *FAST], ["unknown source 'blbo'", "'blob'"]),
        (["hdgm:20", *FAST], ["'20'", "hdgm:SETTING=VALUE", "rotated"]),
        (["hdgm:d=ten", *FAST], ["d of hdgm", "int", "'ten'"]),
        (["hdgm:rotated=1", *FAST], ["rotated of hdgm", "bool", "'1'"]),
        (["hdgm:rows=1", *FAST], ["'rows=1'"]),
        (["higgs:data_dir=x", *FAST], ["'data_dir=x'", "columns, ratio"]),
        (["hdgm:d=1", *FAST], ["at least 2 columns"]),
        (["pyproject.toml", *FAST], ["is a file", "--pair P Q"]),
        (["blob", "--discrepancy", "enrgy", "--sizes", "9"], ["'enrgy'", "'energy'"]),
        (["blob", *FAST, "--model", "kde"], ["--model kde", "drop it"]),
        (["blob", "--discrepancy", "energy", "--sizes", "9;10"], ["--sizes", "'9;10'"]),
        (["blob", "--discrepancy", "energy", "--sizes", "0"], ["sizes", "at least 1"]),
        (["blob", "--discrepancy", "energy"], ["missing option '--sizes'"]),
        (["blob", *FAST, "--alpha", "0.05,x"], ["--alpha", "'0.05,x'"]),
        (["blob", *FAST, "--alpha", "0.001"], ["n_resamples", "0.001"]),
        (["blob", *FAST, "--train", "twice"], ["'half' or 'fresh'", "'twice'"]),
        (["blob", *FAST, "--ratio", "0"], ["ratio must be positive"]),
        (["blob", *FAST, "--ratio", "inf"], ["ratio must be positive and finite, got inf"]),
        (["blob", "--discrepancy", "energy", "--sizes", "1" + "0" * 13], ["sizes must be at most"]),
        (["blob", *FAST, "--extend"], ["--extend", "--out"]),
        (["blob", *FAST, "--jobs", "2", "--scheduler", "local:2"], ["--jobs", "--scheduler"]),
        (["blob", *FAST, "--scheduler", "local:no"], ["local:N", "'local:no'"]),
        (["blob", *FAST, "--plot", "a.png"], ["SVG", "'a.png'"]),
        (["blob", *FAST, "--json", "a.svg", "--plot", "a.svg"], ["choose two files"]),
        (["blob", *FAST, "--json", "no/such/folder"], ["cannot be written"]),
    ],
)
def test_misuse_is_one_line(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()
    ran = run("power", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    assert ran.err.startswith("rdiv: ")
    assert all(word in ran.err for word in words), ran.err


def test_absent_data_file_is_one_line(run: Run, tmp_path: Path) -> None:
    ran = run("power", "higgs", *FAST, "--data-dir", tmp_path, "--out", tmp_path / "out")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "rdiv data fetch higgs" in ran.err
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_found_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run(*STUDY, "--plot", tmp_path / "a.svg", "--out", tmp_path / "out")
    assert (ran.code, 'pip install "rdiv[cli]"' in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_keeps_the_rows_and_the_same_command_continues(run: Run, tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    study = [*STUDY[:-1], "12"]

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    command = [sys.executable, "-B", "-c", START, *study, "--out", str(out)]
    full = subprocess.run(
        command, capture_output=True, text=True, timeout=120, preexec_fn=little_room
    )
    assert (full.returncode, full.stdout, full.stderr.count("\n")) == (2, "", 1)
    assert "are kept" in full.stderr
    kept = (out / ROWS).read_text()
    assert 0 < len(kept.splitlines()) < 12
    assert run(*study, "--out", out).code == 0
    assert (out / ROWS).read_text().startswith(kept)
    assert run(*study, "--out", whole).code == 0
    assert rows_of(out) == rows_of(whole)


def test_unwritable_tables_are_bad_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rdiv.studies.folder.write_whole_file", fail)
    ran = run(*STUDY, "--out", tmp_path)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "No space left on device" in ran.err


def test_interrupt_says_that_the_same_command_continues(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    study = [*STUDY[:-1], "100000", "--out", str(out)]
    child = subprocess.Popen(
        [sys.executable, "-c", ALERT, *study], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with child:
        while not (out / ROWS).exists() or not (out / ROWS).stat().st_size:
            assert child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        printed, said = child.communicate(timeout=60)
    assert (child.returncode, printed) == (130, b"")
    assert said.decode().splitlines() == [
        f"rdiv: the rows written so far are kept in {out}; the same command continues.",
        "rdiv: interrupted",
    ]
    assert len(rows_of(out)) > 0
