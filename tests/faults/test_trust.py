"""What SECURITY.md and the page on safety say, where no other test does."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from tests.fuzz.promise import run

import rdiv
from rdiv.monitoring.packing import sealed
from rdiv.studies.journal import Journal

FEW = ["--target", "y", "--model", "ridge", "--resamples", "39"]


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for seed, name in enumerate(("p.csv", "q.csv")):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=120)
        frame = pl.DataFrame({"a": a, "y": a + rng.normal(size=120), "error": rng.random(120)})
        frame.write_csv(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_is_sent_anywhere(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    page = ["--html", "page.html", "--json", "out.json"]
    assert run(["compare", "p.csv", "q.csv", *FEW, *page], "trust", samples)[0] == 0


def test_a_state_that_is_shown_imports_nothing(samples: Path) -> None:
    """Its model is the user's code; only `watch add` needs it."""
    (samples / "planted.py").write_text("open('ran', 'w').close()\nmodel = None\n")
    started = ["watch", "start", "p.csv", "--loss", "error", "--state", "s.json"]
    assert run(started, "trust", samples)[0] == 0
    body = json.loads((samples / "s.json").read_text())
    del body["checksum"]
    body["notes"]["options"]["model"] = "planted:model"
    (samples / "s.json").write_text(sealed(body, body["schema"]))
    assert run(["watch", "show", "--state", "s.json"], "trust", samples)[0] == 0
    assert not (samples / "ran").exists()


def test_standard_input_is_copied_for_its_owner_alone(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, list[str]]] = []
    real = tempfile.TemporaryDirectory.cleanup

    def cleanup(folder: Any) -> None:
        files = os.listdir(folder.name)
        seen.append((stat.S_IMODE(os.stat(folder.name).st_mode), files))
        real(folder)

    monkeypatch.setattr(tempfile.TemporaryDirectory, "cleanup", cleanup)
    typed = TextIOWrapper(BytesIO((samples / "q.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", typed)
    assert run(["test", "p.csv", "-", *FEW], "trust", samples)[0] == 0
    assert (0o700, ["standard input.csv"]) in seen


def test_samples_and_global_random_states_are_left_alone(samples: Path) -> None:
    import random

    frames = [rdiv.read(samples / name) for name in ("p.csv", "q.csv")]
    copies = [frame.clone() for frame in frames]
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    rdiv.compare(*frames, target="y", model="boosting", n_resamples=39, rng=None)
    assert before == (random.getstate(), str(np.random.get_state()))  # noqa: NPY002
    assert all(frame.equals(copy) for frame, copy in zip(frames, copies, strict=True))


def test_a_journal_that_was_forged_is_believed_and_one_that_was_damaged_is_not(
    tmp_path: Path,
) -> None:
    """Both are said in SECURITY.md: a checksum finds damage, not forgery."""
    from rdiv.studies.journal import sealed as as_line

    path = tmp_path / "rows.jsonl"
    path.write_bytes(as_line({"x": 1}))
    with Journal(path) as journal:
        assert journal.rows == [{"x": 1}]
    path.write_bytes(as_line({"x": 1}).replace(b"1", b"2", 1) + as_line({"x": 3}))
    with pytest.raises(ValueError, match="line 1"):
        Journal(path)


@pytest.mark.skipif(joblib.cpu_count() < 2, reason="one core starts no workers")
def test_a_worker_that_dies_is_one_sentence_and_the_rows_stay(samples: Path) -> None:
    """The third draw ends its process, as the system does when memory runs out."""
    (samples / "deadly.py").write_text(
        "import os\n"
        "from pathlib import Path\n"
        "class Deadly:\n"
        "    def prepare(self, pool, rng):\n"
        "        if Path('die').exists():\n"
        "            os._exit(1)\n"
        "        return lambda masks: masks[:, 0] * 1.0\n"
    )
    words = ["power", "blob", "--sizes", "20", "--resamples", "39", "--method", "deadly:Deadly"]
    words += ["--jobs", "2", "--out", "study"]

    def command(*more: str) -> subprocess.CompletedProcess[str]:
        """A process of its own: workers that other tests have started do not know this folder."""
        asked = [sys.executable, "-m", "rdiv", *words, *more]
        return subprocess.run(asked, capture_output=True, text=True, cwd=samples, check=False)

    assert command("--trials", "2").returncode == 0
    rows = (samples / "study" / "rows.jsonl").read_bytes()
    (samples / "die").touch()
    died = command("--trials", "6", "--extend")
    assert died.returncode == 2
    assert "a worker process died" in died.stderr
    assert (samples / "study" / "rows.jsonl").read_bytes().startswith(rows)
