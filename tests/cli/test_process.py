"""What only a process of its own shows: exit codes, signals, pipes, terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

START = "import sys; from rdiv.cli import main; sys.exit(main())"
BOUND = ["bound", "--complexity-p", "0.1", "--complexity-q", "0.1"]
# A test run in the background hands its children an ignored SIGINT.
ALERT = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {START}"


def process(
    *arguments: object, code: str = START, **options: object
) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, **options)  # type: ignore[call-overload]


def test_shift_exits_1_with_a_pure_document(files: Path) -> None:
    ran = process("compare", files / "reference.csv", files / "worse.csv", "--target", "bought",
                  "--model", "logistic", "--fail-on-shift", "--json", "-")  # fmt: skip
    assert (ran.returncode, ran.stderr) == (1, b"")
    assert json.loads(ran.stdout)["verdict"] == "risk shift"


def test_bad_input_exits_2(tmp_path: Path) -> None:
    ran = process("compare", "a.csv", "b.csv", "--fail-on-shift", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, b"")
    # Where RDIV_DATA is set, the sentence says that its folder was looked into too.
    assert re.fullmatch(
        rb"rdiv: there is no file a\.csv( \(nor in .*\))?; check the path\.\n", ran.stderr
    )


def test_missing_cli_extra_is_one_sentence() -> None:
    ran = process("--help", code=f"import sys; sys.modules['typer'] = None; {START}")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert (
        ran.stderr == b'rdiv: this command needs typer; install it with pip install "rdiv[cli]"\n'
    )


@pytest.mark.parametrize(
    "arguments", [["--help"], BOUND, [*BOUND, "--json", "-"]], ids=["help", "text", "document"]
)
def test_reader_who_leaves_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", START, *arguments],
            stdout=writer, stderr=subprocess.PIPE, timeout=120,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["compare"], b"fitting and testing"),
        (["test", "--model", "vae"], b"fitting and testing: epoch "),
    ],
    ids=["boosting", "network"],
)
def test_progress_and_interrupt_on_a_terminal(
    command: list[str], said: bytes, tmp_path: Path
) -> None:
    if "vae" in command:
        pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(3000 if "vae" in command else 60000, 20))
    for name in ("p.npz", "q.npz"):
        np.savez(tmp_path / name, x=x, y=x[:, 0])
    ours, theirs = pty.openpty()
    start, *options = command
    files = ["p.npz", "q.npz", "--json", "out.json"]
    call = [sys.executable, "-c", ALERT, start, *files, *options]
    with subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        while said not in seen:
            seen += os.read(ours, 1024)
        time.sleep(1.5)  # past the imports, some of which swallow any exception
        child.send_signal(signal.SIGINT)
        try:
            while part := os.read(ours, 1024):
                seen += part
        except OSError:  # how a pty on Linux says that the other end is closed
            pass
        out, _ = child.communicate(timeout=60)
    os.close(ours)
    assert (child.returncode, out) == (130, b"")
    assert b"fitting and testing" in seen  # reading may be too quick to be seen
    assert seen.rstrip().endswith(b"rdiv: interrupted")
    assert b"Traceback" not in seen
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.npz", "q.npz"]
