"""The folder of a study: what is kept, what is cut off, what is refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.test_study import study
from tests.studies.toys import Plain, Slow, shifted, timeless

import rdiv
from rdiv.studies.folder import FILES, StudyFolder, check_row
from rdiv.studies.journal import CHECKSUM, sealed

ROOT = Path(__file__).parents[2]


def run(out: Path | str, source: Any = shifted, tests: Any = "energy", **settings: Any) -> Any:
    given = {"sizes": [10], "trials": 6, "n_resamples": 19, **settings}
    return rdiv.power_study(source, tests, out=out, **given)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the six rows of a finished study."""
    run(tmp_path / "out")
    return tmp_path / "out"


def lines(folder: Path) -> list[bytes]:
    return (folder / "rows.jsonl").read_bytes().splitlines(keepends=True)


def test_what_is_written(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} <= FILES
    assert len(lines(folder)) == 6
    found = run(folder)
    assert lines(folder) == [sealed(row) for row in found.rows]
    assert json.loads((folder / "study.json").read_text()) == found.study.to_dict()
    assert (folder / "table.md").read_text() == found.to_markdown()
    assert (folder / "table.csv").read_text() == found.to_csv()
    assert not found.notices


def test_a_finished_study_runs_nothing_again(folder: Path, tmp_path: Path) -> None:
    before = (folder / "rows.jsonl").read_bytes()
    counted: list[tuple[int, int]] = []
    again = run(folder, progress=lambda done, total: counted.append((done, total)))
    assert counted == [(6, 6)]
    assert (folder / "rows.jsonl").read_bytes() == before
    assert len(again.rows) == 6


@pytest.mark.parametrize("cut", [1, 2, 40, "all but one"])
def test_a_torn_last_line_is_cut_off_and_its_trial_runs_again(folder: Path, cut: Any) -> None:
    path, whole = folder / "rows.jsonl", lines(folder)
    left = 1 if cut == "all but one" else len(whole[-1]) - cut
    path.write_bytes(b"".join(whole[:-1]) + whole[-1][:left])
    ran: list[tuple[int, int]] = []
    found = run(folder, progress=lambda done, total: ran.append((done, total)))
    assert ran == [(5, 6), (6, 6)]
    assert found.notices == (
        f"the last line of {path} was cut off and is removed; its trial runs again",
    )
    assert lines(folder)[:-1] == whole[:-1]  # what was written stays, byte by byte
    assert timeless([json.loads(lines(folder)[-1])]) == timeless([json.loads(whole[-1])])
    assert not run(folder).notices


def test_what_is_written_is_never_rewritten(tmp_path: Path) -> None:
    contents: list[bytes] = []

    def watch(done: int, total: int) -> None:
        contents.append((tmp_path / "rows.jsonl").read_bytes())

    run(tmp_path, progress=watch)
    run(tmp_path, trials=9, extend=True, progress=watch)
    assert all(later.startswith(earlier) for earlier, later in pairwise(contents))
    assert [content.count(b"\n") for content in contents] == [*range(7), *range(6, 10)]


def test_rows_are_there_as_soon_as_their_trial_is_done(tmp_path: Path) -> None:
    counts = []

    def watch(done: int, total: int) -> None:
        counts.append((done, len(lines(tmp_path))))

    run(tmp_path, progress=watch)
    assert counts == [(done, done) for done in range(7)]


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (2, b"\n"),
        (1, b"{not json}\n"),
        (3, b"[1, 2]\n"),
        (4, b"\xff\xfe\x00\n"),
        (6, b'{"source": "shifted"}\n'),
        (5, b'{"source": "shifted", "test": "energy", "n": 10, "null": false, "repeat": 0,'
            b' "trial": 4, "pvalue": 0.5}\n'),
        (2, b"\0" * 50 + b"\n"),
    ],
)  # fmt: skip
def test_a_damaged_line_is_refused_by_its_number(folder: Path, number: int, line: bytes) -> None:
    whole = lines(folder)
    content = b"".join([*whole[: number - 1], line, *whole[number:]])
    (folder / "rows.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=f"line {number} of .*rows.jsonl is damaged; remove"):
        run(folder)
    assert (folder / "rows.jsonl").read_bytes() == content
    (folder / "rows.jsonl").write_bytes(b"".join([*whole[: number - 1], *whole[number:]]))
    assert len(run(folder).rows) == 6  # following the advice


def test_a_pvalue_that_no_test_gives_is_damage(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"line 1 of .* is damaged"):
        run(forged(folder, pvalue=0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pvalue", True),
        ("pvalue", "0.5"),
        ("seconds", "abc"),
        ("seconds", None),
        ("statistic", False),
        ("trial", 0.0),
        ("n_p", "10"),
        ("null", 0),
        ("test", 3),
        ("model", 1.5),
    ],
)
def test_a_field_of_another_type_is_damage(folder: Path, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"line 1 of .* is damaged; remove that line"):
        run(forged(folder, **{name: value}))


def forged(folder: Path, **changes: Any) -> Path:
    """The folder with fields of its first row changed, and a checksum that matches them."""
    row = {**json.loads(lines(folder)[0]), **changes}
    del row[CHECKSUM]
    (folder / "rows.jsonl").write_bytes(b"".join([sealed(row), *lines(folder)[1:]]))
    return folder


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_changed_row_does_not_match_its_checksum(folder: Path, number: int) -> None:
    whole = lines(folder)
    row = json.loads(whole[number - 1])
    line = (json.dumps({**row, "pvalue": row["pvalue"] / 2}) + "\n").encode()
    content = b"".join([*whole[: number - 1], line, *whole[number:]])
    (folder / "rows.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=rf"line {number} of .*was changed after it was written"):
        run(folder)
    assert (folder / "rows.jsonl").read_bytes() == content


def test_rows_of_an_older_version(folder: Path) -> None:
    rows = [json.loads(line) for line in lines(folder)]
    old = [{name: row[name] for name in row if name != CHECKSUM} for row in rows]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in old))
    (folder / ".lock").touch()
    with pytest.raises(ValueError, match=r"was written by an older version of rdiv, without check"):
        run(folder)


def test_rows_of_a_study_pass_their_own_check(folder: Path) -> None:
    for row in run(folder, tests=["energy", "r-div:gmm"], extend=True).rows:
        check_row(row)


def test_every_row_is_on_the_disk_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle)))
    run(tmp_path)
    rows = (tmp_path / "rows.jsonl").stat().st_ino
    sizes = [len(b"".join(lines(tmp_path)[:count])) for count in range(1, 7)]
    assert [file.st_size for file in synced if file.st_ino == rows] == sizes


def test_a_row_that_is_there_twice(folder: Path) -> None:
    with open(folder / "rows.jsonl", "ab") as file:
        file.write(lines(folder)[2])
    with pytest.raises(ValueError, match=r"line 7 of .* repeats the trial of line 3; remove one"):
        run(folder)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("\\documentclass{book}")
    with pytest.raises(ValueError, match=r"holds 'thesis.tex', which no study wrote; choose"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_rows_without_their_study(folder: Path) -> None:
    (folder / "study.json").unlink()
    with pytest.raises(ValueError, match=r"has rows but no study\.json; choose another folder"):
        run(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"a": "\\'])
def test_a_damaged_description(folder: Path, content: bytes) -> None:
    (folder / "study.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"study.json is damaged; restore it or use another"):
        run(folder)
    assert (folder / "study.json").read_bytes() == content


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"rng": 1}, "seed"),
        ({"n_resamples": 39}, "n_resamples"),
        ({"alpha": 0.2}, "alphas"),
        ({"train": "fresh"}, "train"),
        ({"tests": ["energy", Plain()]}, "tests"),
        ({"source": "blob"}, "sources"),
        ({"sizes": [10, 20], "trials": 7}, "sizes, trials"),
        ({"null": True, "repeats": 2}, "repeats, null"),
        ({"rng": 2, "trials": 9}, "trials, seed"),
    ],
)
def test_a_changed_study_does_not_mix(folder: Path, change: dict[str, Any], fields: str) -> None:
    before = (folder / "rows.jsonl").read_bytes(), (folder / "study.json").read_bytes()
    sentence = f"holds rows of a study with other {fields}; use another folder"
    with pytest.raises(ValueError, match=sentence) as caught:
        run(folder, **change)
    grows = {*fields.split(", ")} <= {"tests", "sizes", "trials", "null", "repeats"}
    assert ("extend=True" in str(caught.value)) == grows
    assert ((folder / "rows.jsonl").read_bytes(), (folder / "study.json").read_bytes()) == before


@pytest.mark.parametrize(
    "more",
    [
        {"tests": [Plain(), "energy"]},
        {"source": ["blob", shifted]},
        {"sizes": [8, 10]},
        {"trials": 8},
        {"repeats": 2},
        {"null": True},
    ],
    ids=lambda more: next(iter(more)),
)
def test_extend_accepts_more(folder: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    before = (folder / "rows.jsonl").read_bytes()
    found = run(folder, extend=True, **more)
    assert (folder / "rows.jsonl").read_bytes().startswith(before)
    assert timeless(found.rows) == timeless(run(tmp_path / "other", **more).rows)
    assert len(run(folder, **more).rows) == len(found.rows)  # now this is the study of the folder


@pytest.mark.parametrize(
    "less",
    [
        {"trials": 5},
        {"tests": [Plain()]},
        {"sizes": [20]},
        {"source": "blob"},
        {"rng": 1},
        {"trials": 9, "sizes": [11]},
    ],
    ids=str,
)
def test_extend_refuses_less_and_other(folder: Path, less: dict[str, Any]) -> None:
    before = (folder / "study.json").read_bytes()
    with pytest.raises(ValueError, match="use another folder") as caught:
        run(folder, extend=True, **less)
    assert "extend=True" not in str(caught.value)
    assert (folder / "study.json").read_bytes() == before


def test_other_data_under_the_same_name(tmp_path: Path) -> None:
    x = np.arange(40.0)
    run(tmp_path, (x, x))
    assert len(run(tmp_path, (x.copy(), x)).rows) == 6
    for extend in (False, True):
        with pytest.raises(ValueError, match="other data; use another folder"):
            run(tmp_path, (x, x + 1), extend=extend)


def test_names_beyond_ascii(tmp_path: Path) -> None:
    source = rdiv.sources.Pair(np.arange(40.0), np.arange(40.0), name="Prüfung № 1")
    first = run(tmp_path, source, Plain("größer"))
    assert timeless(run(tmp_path, source, Plain("größer")).rows) == timeless(first.rows)
    assert "Prüfung № 1" in (tmp_path / "study.json").read_text(encoding="utf-8")
    assert "größer" in (tmp_path / "table.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("inside", ["", "sub/folder"])
def test_a_folder_that_cannot_be(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot use .*file.* for a study: .*; choose another"):
        run(tmp_path / "file" / inside)


def test_an_unwritable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ordinary user sees it; root may write anywhere, so the answer is made up."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OSError, match=r"cannot write to .*; choose another folder"):
        run(tmp_path)


@pytest.mark.parametrize("name", ["rows.jsonl", "table.md"])
def test_a_folder_in_place_of_a_file(tmp_path: Path, name: str) -> None:
    if name == "rows.jsonl":
        run(tmp_path)
        (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(OSError, match=r"cannot (write to|read) .*; (choose another|the \d rows)"):
        run(tmp_path)


def test_a_full_disk_takes_back_half_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A file on a disk with room for three and a half rows."""

        def __init__(self, *args: Any, **settings: Any) -> None:
            self.file, self.left = open(*args, **settings), 3  # noqa: SIM115

        def write(self, line: bytes) -> int:
            self.left -= 1
            if self.left < 0:
                self.file.write(line[: len(line) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self.file.write(line)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    with monkeypatch.context() as patch:
        patch.setattr("rdiv.studies.journal.open", Full, raising=False)
        with pytest.raises(OSError, match="No space left on device; the 3 rows written") as caught:
            run(tmp_path)
    assert "the same command continues" in str(caught.value)
    kept = (tmp_path / "rows.jsonl").read_bytes()
    assert kept.count(b"\n") == 3
    assert kept.endswith(b"\n")
    found = run(tmp_path)
    assert not found.notices
    assert (tmp_path / "rows.jsonl").read_bytes().startswith(kept)
    assert timeless(found.rows) == timeless(run(tmp_path / ".." / "whole").rows)


@pytest.mark.parametrize("name", ["study.json", "table.md"])
def test_a_full_disk_beside_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    replace = os.replace

    def full(draft: Path, path: Path) -> None:
        if Path(path).name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(draft, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match=rf"cannot write to .*{name}: No space left") as caught:
            run(tmp_path)
    assert f"the {6 if name == 'table.md' else 0} rows written so far are kept" in str(caught.value)
    assert not list(tmp_path.glob(".rdiv-*"))
    assert len(run(tmp_path).rows) == 6


STUDY = """
import resource, sys
import rdiv
from tests.studies.toys import Slow, shifted

out, seconds, limit = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
found = rdiv.power_study(
    shifted, Slow(seconds), sizes=[10], trials=40, n_resamples=19, out=out
)
print(len(found.rows))
"""


def start(out: Path, seconds: float = 0.0, limit: int = 0) -> subprocess.Popen[str]:
    """The same study in another process, under a limit on the size of files if one is given."""
    return subprocess.Popen(
        [sys.executable, "-c", STUDY, str(out), str(seconds), str(limit)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_real_limit_on_the_disk(tmp_path: Path) -> None:
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN  # as Python starts
    limit = 4000
    stopped = start(tmp_path, limit=limit)
    error = stopped.communicate(timeout=60)[1]
    kept = (tmp_path / "rows.jsonl").read_bytes()
    rows = kept.count(b"\n")
    assert stopped.returncode == 1
    assert 5 < rows < 40
    assert kept.endswith(b"\n")
    assert limit - 300 < len(kept) <= limit
    last = error.strip().splitlines()[-1]
    assert f"the {rows} rows written so far are kept, and the same command continues" in last
    again = start(tmp_path)
    assert again.communicate(timeout=60)[0].strip() == "40"
    assert (tmp_path / "rows.jsonl").read_bytes().startswith(kept)
    whole = rdiv.power_study(shifted, Slow(), sizes=[10], trials=40, n_resamples=19)
    found = [json.loads(line) for line in lines(tmp_path)]
    assert timeless(found) == timeless(whole.rows)


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Path]:
    """A folder that another process is writing to."""
    process = start(tmp_path, seconds=1.0)
    deadline = time.monotonic() + 60
    while not (tmp_path / "rows.jsonl").exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield tmp_path
    process.kill()
    process.communicate()


def test_two_processes_do_not_share_a_folder(busy: Path) -> None:
    with pytest.raises(ValueError, match=r"another run is writing to .*; wait for it"):
        run(busy, shifted, Slow(), trials=40)


def test_two_studies_of_one_process_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        StudyFolder(tmp_path, study()),
        pytest.raises(ValueError, match="another run is writing"),
    ):
        StudyFolder(tmp_path, study())
    StudyFolder(tmp_path, study()).__exit__(None, None, None)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert len(run(tmp_path).rows) == 6


def test_a_refused_folder_is_let_go(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="other seed"):
            run(folder, rng=3)
    assert len(run(folder).rows) == 6
