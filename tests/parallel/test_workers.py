"""Worker processes: as many as are of use, and none that outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import joblib
import pytest

from rdiv.parallel.workers import in_order, useful_jobs
from rdiv.studies.execution import spread

psutil = pytest.importorskip("psutil", reason="needs a list of processes")
ROOT = Path(__file__).parents[2]


def which(shared: None, task: int) -> int:
    time.sleep(0.05)
    return os.getpid()


@pytest.mark.parametrize(
    ("asked", "cores", "tasks", "wanted"),
    [(40, 8, 100, 8), (40, 64, 3, 3), (None, 8, 9, 1), (1, 8, 9, 1), (2, 8, 0, 1), (3, 1, 9, 1)],
)
def test_jobs_beyond_cores_and_tasks_are_of_no_use(
    asked: int | None, cores: int, tasks: int, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    assert useful_jobs(asked, tasks) == wanted


def test_no_jobs_at_all() -> None:
    with pytest.raises(ValueError, match="n_jobs must be at least 1, or -1 for all cores, got 0"):
        useful_jobs(0, 5)


def test_no_more_processes_than_cores() -> None:
    processes = {*spread(which, None, range(20), n_jobs=40)}
    assert len(processes) <= joblib.cpu_count()


@pytest.mark.skipif(joblib.cpu_count() < 2, reason="one core starts no workers")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
def test_workers_end_with_the_command(tmp_path: Path, ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "rdiv", "power", "tests.studies.toys:shifted"]
    command += ["--method", "tests.studies.toys:SLEEPY", "--sizes", "10", "--trials", "500"]
    command += ["--jobs", "2", "--out", str(tmp_path)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet)
    rows = tmp_path / "rows.jsonl"
    until(lambda: rows.exists() and rows.stat().st_size > 0, 60)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    os.kill(process.pid, ending)
    process.wait(timeout=30)
    until(lambda: not [child for child in children if alive(child)], 15)


@pytest.mark.skipif(joblib.cpu_count() < 2, reason="one core starts no workers")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
def test_workers_of_folds_end_with_their_parent(tmp_path: Path, ending: signal.Signals) -> None:
    """No more of them than cores, although forty were asked for."""
    script = (
        "import sys, time\n"
        "from rdiv.parallel.workers import in_order, useful_jobs\n"
        "from tests.parallel.test_workers import wait_for\n"
        "in_order(wait_for, [(sys.argv[1], i) for i in range(40)], useful_jobs(40, 40))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT)
    until(lambda: len([*tmp_path.iterdir()]) >= 2, 60)
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in children if "popen_loky" in " ".join(child.cmdline())]
    assert len(workers) == min(joblib.cpu_count(), 40)
    os.kill(process.pid, ending)
    process.wait(timeout=30)
    until(lambda: not [child for child in children if alive(child)], 15)


def wait_for(folder: str, task: int) -> None:
    (Path(folder) / str(task)).touch()
    time.sleep(120)


def die(task: int) -> None:
    os._exit(1)


@pytest.mark.skipif(joblib.cpu_count() < 2, reason="one core starts no workers")
def test_a_worker_that_dies() -> None:
    with pytest.raises(ChildProcessError, match=r"a worker process died.*use fewer n_jobs"):
        in_order(die, [(1,), (2,)], 2)


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; what ended and was not reaped by anyone yet does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def until(happens: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
