"""A run that was killed or interrupted goes on where it stopped and finds the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.reproduction.rehearsal import in_miniature

from rdiv.reproduction import Line, reproduce

ROOT = Path(__file__).parents[2]
NAME = "hdgm-size"
TABLE = in_miniature(NAME)
# The command with that table in the place of the full one, slow enough to be killed.
START = f"""
import sys
from tests.reproduction.rehearsal import in_miniature
from rdiv.cli import main
from rdiv.reproduction.tables import hdgm

hdgm.BY_SIZE = in_miniature("{NAME}", seconds=0.2)
sys.exit(main())
"""


@pytest.fixture(scope="module")
def undisturbed() -> list[Line]:
    return timeless(reproduce(TABLE, scale="smoke").lines)


def timeless(lines: list[Line]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def rows(folder: Path) -> int:
    found = folder.glob("trials/*/rows.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in found)


def test_killed_and_continued(tmp_path: Path, undisturbed: list[Line]) -> None:
    command = [sys.executable, "-c", START, "reproduce", NAME, "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while rows(tmp_path) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None, "it was done before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = rows(tmp_path)
    assert before >= 5
    assert not (tmp_path / f"{NAME}.csv").exists()

    seen: list[int] = []
    found = reproduce(
        TABLE, scale="smoke", out=tmp_path, progress=lambda done, total: seen.append(done)
    )
    assert seen[0] == before, "finished trials are not run again"
    assert timeless(found.lines) == undisturbed


def test_interrupted_in_a_later_part(tmp_path: Path, undisturbed: list[Line]) -> None:
    total = sum(part.draws * len(part.tests) for part in TABLE.scales["smoke"].parts)

    def stop(done: int, asked: int) -> None:
        assert asked == total
        if done == total - 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(TABLE, scale="smoke", out=tmp_path, progress=stop)
    assert total - 3 <= rows(tmp_path) < total
    found = reproduce(TABLE, scale="smoke", out=tmp_path, n_jobs=2)
    assert timeless(found.lines) == undisturbed


def test_another_seed_is_another_folder(tmp_path: Path) -> None:
    reproduce(TABLE, scale="smoke", out=tmp_path)
    with pytest.raises(ValueError, match="rows of a study with other seed"):
        reproduce(TABLE, scale="smoke", out=tmp_path, seed=1)
