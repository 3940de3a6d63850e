"""Serial, worker processes and Dask give the same rows, and a killed worker costs a retry only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.test_study import study
from tests.studies.toys import Killing, Learning, Slow, Travelling, shifted, timeless

import rdiv
from rdiv.parallel import dask_client as clusters
from rdiv.sources import Hdgm, Pair
from rdiv.studies import execution
from rdiv.studies.execution import run_keys
from rdiv.studies.trial import units_of

distributed = pytest.importorskip("distributed", reason="needs the dask extra")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A real cluster of two processes; killed ones come back."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def asked() -> dict[str, Any]:
    """A study of everything: sources, kinds of tests, nulls, repeats."""
    rng = np.random.default_rng(0)
    pair = Pair(rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 1)
    return {
        "source": [Hdgm(d=10, rotated=True), shifted, pair],
        "discrepancies": ["r-div:gmm", "energy", Learning()],
        "sizes": [12, 20], "trials": 2, "repeats": 2, "n_resamples": 19, "null": True,
        "train": "fresh",
    }  # fmt: skip


@pytest.fixture(scope="module")
def serial(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return rdiv.power_study(**asked).rows


def test_processes_give_the_same_rows(asked: dict[str, Any], serial: Any, tmp_path: Path) -> None:
    found = rdiv.power_study(**asked, n_jobs=2, out=tmp_path)
    assert len(found.rows) == 3 * 3 * 2 * 2 * 2 * 2
    assert timeless(found.rows) == timeless(serial)
    assert [row["test"] for row in found.rows] == [row["test"] for row in serial]  # in one order


def test_a_local_cluster_gives_the_same_rows(asked: dict[str, Any], serial: Any) -> None:
    assert timeless(rdiv.power_study(**asked, scheduler="local:2").rows) == timeless(serial)


def test_an_existing_cluster_gives_the_same_rows(
    asked: dict[str, Any], serial: Any, cluster: Any
) -> None:
    found = rdiv.power_study(**asked, scheduler=cluster.scheduler_address)
    assert timeless(found.rows) == timeless(serial)
    assert len(cluster.scheduler_info["workers"]) == 2  # it is left as it was


def test_functions_that_no_worker_could_import(cluster: Any) -> None:
    def local(n: int, rng: np.random.Generator, null: bool) -> Any:
        return rng.normal(size=n), rng.normal(size=n)

    rows = timeless(rdiv.power_study(local, "energy", sizes=10, trials=3).rows)
    for where in ({"n_jobs": 2}, {"scheduler": cluster.scheduler_address}):
        assert timeless(rdiv.power_study(local, "energy", sizes=10, trials=3, **where).rows) == rows


@pytest.mark.parametrize("where", [{"n_jobs": 2}, {"scheduler": "cluster"}], ids=str)
def test_a_worker_unpacks_the_study_once(
    where: dict[str, Any], cluster: Any, tmp_path: Path
) -> None:
    if "scheduler" in where:
        where = {"scheduler": cluster.scheduler_address}
    file = tmp_path / "unpacked"
    source = Travelling(str(file))
    rdiv.power_study(source, Slow(0.05), sizes=10, trials=20, n_resamples=19, **where)
    processes = file.read_text().split()
    assert 1 <= len({*processes}) <= 2
    # Dask's broadcast may copy an object to a worker that just got it; a task never brings its own.
    times = 2 if "scheduler" in where else 1
    assert max(processes.count(each) for each in processes) <= times
    assert str(os.getpid()) not in processes


def test_large_data_are_sent_once(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study whose source is large travels as one scattered object, not with every task."""
    scattered, submitted = [], []
    scatter, submit = distributed.Client.scatter, distributed.Client.submit

    def watched_scatter(self: Any, data: Any, **settings: Any) -> Any:
        scattered.append(settings)
        return scatter(self, data, **settings)

    def watched_submit(self: Any, function: Any, *args: Any, **settings: Any) -> Any:
        submitted.append(args)
        return submit(self, function, *args, **settings)

    monkeypatch.setattr(distributed.Client, "scatter", watched_scatter)
    monkeypatch.setattr(distributed.Client, "submit", watched_submit)
    large = np.random.default_rng(0).normal(size=(200_000, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Dask warns of large tasks
        rdiv.power_study(
            (large, large), "energy", sizes=10, trials=30, scheduler=cluster.scheduler_address
        )
    assert [settings["broadcast"] for settings in scattered] == [True]
    assert len(submitted) >= 3
    assert {type(args[0]) for args in submitted} == {distributed.Future}


def killed_while_running(
    cluster: Any, tmp_path: Path, kill: Any, *, trials: int = 30
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Run a study of tests of 0.2 s; after its first rows call `kill`; what ran, and how often."""
    file = tmp_path / "ran"
    started = threading.Event()

    def progress(done: int, total: int) -> None:
        if done >= 4:
            started.set()

    def killer() -> None:
        assert started.wait(60)
        kill()

    thread = threading.Thread(target=killer)
    thread.start()
    found = rdiv.power_study(
        shifted, Slow(0.2, str(file)), sizes=[10], trials=trials, n_resamples=19,
        scheduler=cluster.scheduler_address, progress=progress, out=tmp_path / "out",
    )  # fmt: skip
    thread.join()
    assert started.is_set()
    return found.rows, Counter(line.split()[1] for line in file.read_text().splitlines())


def kill(pid: int) -> None:
    assert pid not in (os.getpid(), os.getppid(), 0, 1)
    os.kill(pid, signal.SIGKILL)


def test_a_killed_worker_costs_a_retry(cluster: Any, tmp_path: Path) -> None:
    def kill_one() -> None:
        time.sleep(0.05)
        kill(next(iter(cluster.workers.values())).pid)

    rows, runs = killed_while_running(cluster, tmp_path, kill_one)
    quick = rdiv.power_study(shifted, Slow(), sizes=[10], trials=30, n_resamples=19)
    assert timeless(rows) == timeless(quick.rows)
    assert len(runs) == 30
    again = sum(runs.values()) - 30
    assert again >= 1, "no trial was running on the worker that was killed"
    assert again <= 6  # what it was at and had not handed over, no more
    assert (tmp_path / "out" / "rows.jsonl").read_bytes().count(b"\n") == 30


def test_all_workers_killed_at_once_cost_a_retry(cluster: Any, tmp_path: Path) -> None:
    """With the last copy of the study lost the scheduler gives up its tasks; they are sent anew."""

    def kill_all() -> None:
        for worker in [*cluster.workers.values()]:
            kill(worker.pid)

    rows, runs = killed_while_running(cluster, tmp_path, kill_all, trials=16)
    quick = rdiv.power_study(shifted, Slow(), sizes=[10], trials=16, n_resamples=19)
    assert timeless(rows) == timeless(quick.rows)
    assert sum(runs.values()) > len(runs) == 16


def test_a_test_that_kills_every_worker(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)  # else three more are tried
    with pytest.raises(ChildProcessError, match="ended several Dask workers"):
        rdiv.power_study(
            shifted, Killing(os.getpid()), sizes=[10], trials=1,
            scheduler=cluster.scheduler_address,
        )  # fmt: skip


@pytest.mark.parametrize("where", [{"n_jobs": 2}, {"scheduler": "cluster"}], ids=str)
def test_an_error_in_a_trial_is_not_swallowed(where: dict[str, Any], cluster: Any) -> None:
    if "scheduler" in where:
        where = {"scheduler": cluster.scheduler_address}
    pair = np.arange(5.0), np.arange(5.0)
    with pytest.raises(ValueError, match=r"pair has 5 \+ 5 rows, got a draw of 9 \+ 9"):
        rdiv.power_study(pair, "energy", sizes=[9], trials=5, **where)


@pytest.mark.parametrize("where", [{"n_jobs": 2}, {"scheduler": "cluster"}], ids=str)
def test_stopping_early_is_quiet(where: dict[str, Any], cluster: Any) -> None:
    """What a full disk or Ctrl-C does: the rows are no longer asked for."""
    if "scheduler" in where:
        where = {"scheduler": cluster.scheduler_address}
    asked = study(shifted, Slow(0.05), trials=100)
    finished = run_keys(asked, asked.all_keys(), **where)
    next(finished)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finished.close()


@pytest.mark.parametrize(
    ("scheduler", "sentence"),
    [
        ("tcp://127.0.0.1:9", "no Dask scheduler answers at 'tcp://127.0.0.1:9'; check the"),
        ("nonsense", "no Dask scheduler answers at 'nonsense'"),
        ("foo://somewhere:1", "no Dask scheduler answers at"),
        ("local", "local:N with N workers, got 'local'"),
        ("local:", "local:N with N workers, got 'local:'"),
        ("local:0", "local:N with N workers, got 'local:0'"),
        ("local:two", "local:N with N workers, got 'local:two'"),
    ],
)
def test_a_scheduler_that_is_not_there(
    scheduler: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert clusters.CONNECT <= 10
    monkeypatch.setattr(clusters, "CONNECT", 3)
    start = time.monotonic()
    with pytest.raises(ValueError, match=sentence):
        rdiv.power_study(shifted, "energy", sizes=[10], trials=2, scheduler=scheduler)
    assert time.monotonic() - start < 3 + 5


@pytest.mark.parametrize("scheduler", ["nonsense", "foo://somewhere:1"])
def test_a_text_that_is_no_address_ends_at_once_and_says_so_alone(scheduler: str) -> None:
    """A client of such a text would time out when the program ends, and write a traceback."""
    command = ["power", "hdgm", "--discrepancy", "energy", "--sizes", "10", "--trials", "2"]
    found = subprocess.run(
        [sys.executable, "-m", "rdiv", *command, "--scheduler", scheduler],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert found.returncode == 2
    (sentence,) = found.stderr.splitlines()
    assert sentence.startswith(f"rdiv: no Dask scheduler answers at '{scheduler}'")


def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "PATIENCE", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(ConnectionError, match="is gone or has no workers; start them"),
    ):
        rdiv.power_study(
            shifted, "energy", sizes=[10], trials=2, scheduler=cluster.scheduler_address
        )


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "rdiv\[dask\]"'):
        rdiv.power_study(shifted, "energy", sizes=[10], trials=2, scheduler="local:2")


def test_jobs_and_a_scheduler_are_two_ways() -> None:
    with pytest.raises(ValueError, match="choose n_jobs or scheduler"):
        rdiv.power_study(shifted, "energy", sizes=[10], trials=2, scheduler="local:2", n_jobs=2)


def test_files_are_read_once_in_every_mode() -> None:
    reads = []

    class Stored:
        def loaded(self) -> Any:
            reads.append(1)
            return rdiv.sources.Drawn(shifted)

        def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> Any:
            raise AssertionError("the loaded source is the one that draws")

    rdiv.power_study(Stored(), "energy", sizes=[10], trials=5)
    assert reads == [1]


def test_chunks_grow_to_a_fifth_of_a_second() -> None:
    pace = execution._Pace()
    asked = study(trials=1000)
    chunks = pace.chunks(units_of(asked, asked.all_keys()))
    assert len(next(chunks)) == 1
    for seconds, size in ((0.02, 10), (0.05, 4), (1.0, 1), (1e-9, execution.LARGEST_CHUNK)):
        pace.trials, pace.seconds = 100, 100 * seconds
        assert len(next(chunks)) == size
    rest = sum(len(unit) for chunk in chunks for unit in chunk)
    assert rest == 1000 - 1 - 10 - 4 - 1 - 64


def test_a_test_that_kills_its_process() -> None:
    with pytest.raises(ChildProcessError, match=r"a worker process died.*same command continues"):
        rdiv.power_study(shifted, Killing(os.getpid()), sizes=[10], trials=4, n_jobs=2)
