"""kill -9 at random moments, again and again: the rows are those of a run that nobody disturbed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from tests.studies.toys import Slow, shifted, timeless

import rdiv

ROOT = Path(__file__).parents[2]
KILLS, TRIALS = 5, 75
TOTAL = TRIALS * 2 * 2  # two sizes, each with its null: 300 tests of 30 ms

STUDY = f"""
import sys
import rdiv
from tests.studies.toys import Slow, shifted

found = rdiv.power_study(
    shifted, Slow(float(sys.argv[2])), sizes=[10, 14], trials={TRIALS}, n_resamples=19, null=True,
    n_jobs=int(sys.argv[3]), out=sys.argv[1],
)
print(len(found.rows), *found.notices, sep="\\n")
"""


def start(out: Path, seconds: float, jobs: int) -> subprocess.Popen[str]:
    """The study in a session of its own, so that killing its group ends its workers too."""
    return subprocess.Popen(
        [sys.executable, "-c", STUDY, str(out), str(seconds), str(jobs)], cwd=ROOT,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def written(out: Path) -> int:
    """Rows on disk."""
    path = out / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed_mid_run(out: Path, wait: float, jobs: int) -> bool:
    """Kill the study's whole group a moment after its first new row; whether it was mid-run."""
    before, process = written(out), start(out, 0.03, jobs)
    deadline = time.monotonic() + 60
    while written(out) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(wait)
    running = process.poll() is None
    group = os.getpgid(process.pid) if running else process.pid
    assert group != os.getpgid(0)
    if running:
        os.killpg(group, signal.SIGKILL)
    process.communicate()
    return running and before < written(out) < TOTAL


def test_killed_five_times_and_resumed(tmp_path: Path) -> None:
    rng, out, landed = np.random.default_rng(20), tmp_path / "out", 0
    kept = b""
    for place, wait in enumerate(rng.uniform(0.0, 0.9, size=KILLS)):
        landed += killed_mid_run(out, wait, jobs=2 if place == 2 else 1)
        content = (out / "rows.jsonl").read_bytes()
        assert content.startswith(kept)  # what was written stays as it was
        kept = content[: content.rfind(b"\n") + 1]
    assert landed >= 3, f"only {landed} of {KILLS} kills hit a running study"

    finishing = start(out, 0.0, jobs=1)
    output, errors = finishing.communicate(timeout=120)
    assert finishing.returncode == 0, errors
    assert output.splitlines()[0] == str(TOTAL)
    content = (out / "rows.jsonl").read_bytes()
    assert content.startswith(kept)
    undisturbed = rdiv.power_study(
        shifted, Slow(), sizes=[10, 14], trials=TRIALS, n_resamples=19, null=True
    )
    rows = [json.loads(line) for line in content.splitlines()]
    assert len(rows) == TOTAL
    assert timeless(rows) == timeless(undisturbed.rows)
