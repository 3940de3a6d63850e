"""A Dask cluster: workers that die in the middle of compare, strangers, and schedulers that are not
there."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.errors import InputError
from rdiv.inference import tiles
from rdiv.parallel import dask_client
from rdiv.parallel.spreading import spread_over, tile_by_tile

distributed = pytest.importorskip("distributed", reason="needs the dask extra")
psutil = pytest.importorskip("psutil", reason="needs a list of processes")
ROOT = Path(__file__).parents[2]
SETTINGS: dict[str, Any] = {
    "target": "y", "model": "ridge", "rng": 0, "n_resamples": 99, "fit_rows": 300,
    "sample_rows": 400,
}  # fmt: skip


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    return pl.DataFrame({"a": a, "s": rng.integers(0, 3, rows), "y": a + rng.normal(size=rows)})


P, Q = table(700, 0), table(600, 1)


def here() -> int:
    return os.getpid()


def end_once(marker: Path, parent: int) -> None:
    """Kill this process, where it is a worker and nobody was killed before."""
    if os.getpid() == parent:
        return
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def deadly_files(folder: Path, marker: Path, pass_number: int) -> tuple[Any, Any]:
    """Both tables; the worker that reads a part for the so-many-th time dies, once."""
    parent = os.getpid()
    made = []
    for name, frame in (("p", P), ("q", Q)):
        (folder / name).mkdir()
        parts = []
        for k in range(4):
            path = folder / name / f"{k}.parquet"
            frame[200 * k : 200 * (k + 1)].write_parquet(path)

            def read(path: Path = path) -> Iterator[Any]:
                with open(f"{path}.reads", "a") as reads:
                    reads.write(".")
                if Path(f"{path}.reads").stat().st_size == pass_number:
                    end_once(marker, parent)
                yield pl.read_parquet(path)

            parts.append(rdiv.samples.partitions.Part(str(path), read))
        made.append(rdiv.samples.partitions.Partitions(name, tuple(parts)))
    return made[0], made[1]


@pytest.mark.parametrize("pass_number", [2, 3, 5])
def test_a_worker_that_dies_while_it_reads_costs_a_retry(tmp_path: Path, pass_number: int) -> None:
    marker = tmp_path / "killed"
    p, q = deadly_files(tmp_path, marker, pass_number)
    found = rdiv.compare(p, q, **SETTINGS, scheduler="local:2")
    assert marker.exists(), "no worker was killed"
    assert found.to_json() == rdiv.compare(P, Q, **SETTINGS).to_json()


class Deadly:
    """The drawing of a tile that kills the worker, once."""

    def __init__(self, drawing: Any, marker: Path) -> None:
        self.drawing, self.marker, self.parent = drawing, marker, os.getpid()
        self.compiled = drawing.compiled

    def masks(self) -> Any:
        end_once(self.marker, self.parent)
        return self.drawing.masks()


def test_a_worker_that_dies_while_it_permutes_costs_a_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "TILE_ROWS", 256)
    expected = rdiv.compare(P, Q, **SETTINGS).to_json()
    drawing = tiles.TileDraws.drawing
    monkeypatch.setattr(
        tiles.TileDraws, "drawing", lambda self, t: Deadly(drawing(self, t), tmp_path / "killed")
    )
    assert rdiv.compare(P.lazy(), Q, **SETTINGS, scheduler="local:2").to_json() == expected
    assert (tmp_path / "killed").exists(), "no tile was drawn by a worker"


@pytest.mark.parametrize("more", [{}, {"strata": "s"}], ids=["rows", "strata"])
def test_tiles_of_workers_are_those_of_one_process(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "TILE_ROWS", 256)
    expected = rdiv.compare(P, Q, **SETTINGS, **more).to_json()
    for workers in (1, 3):
        found = rdiv.compare(P, Q, **SETTINGS, **more, scheduler=f"local:{workers}")
        assert found.to_json() == expected


def where(task: int) -> tuple[int, int]:
    return task, os.getpid()


def test_tiles_run_on_the_workers_in_their_order() -> None:
    with spread_over(None, "local:2"):
        found = list(tile_by_tile(where, lambda task: task, [(k,) for k in range(20)], None))
    assert [task for task, _ in found] == list(range(20))
    assert os.getpid() not in {process for _, process in found}


def listening() -> set[tuple[str, int]]:
    """Addresses at which this process and all below it listen."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = [one for process in processes for one in process.net_connections("inet")]
    return {(one.laddr.ip, one.laddr.port) for one in found if one.status == "LISTEN"}


def test_strangers_cannot_send_tasks_to_local_workers() -> None:
    """Every socket asks for the certificate of this run: plain text and another one are refused."""
    before = listening()
    with dask_client.cluster_client("local:2") as client:
        assert client.submit(here).result() != os.getpid()
        opened = listening() - before
        assert len(opened) >= 3  # a scheduler, two workers
        assert {ip for ip, _ in opened} == {"127.0.0.1"}
        for security, kind in ((None, "tcp"), (dask_client._own_certificate(), "tls")):
            for ip, port in opened:
                assert not connects(f"{kind}://{ip}:{port}", security)
        own = client.scheduler.address
        assert connects(own, client.security)


def connects(address: str, security: Any) -> bool:
    """Whether a listener at an address takes a connection, and answers on it."""

    async def ask() -> bool:
        settings = {} if security is None else security.get_connection_args("client")
        try:
            comm = await distributed.comm.connect(address, timeout=3, **settings)
            await comm.write({"op": "identity", "reply": True})
            await asyncio.wait_for(comm.read(), 3)
        except (OSError, TimeoutError):
            return False
        return True

    return asyncio.run(ask())


def test_a_certificate_may_come_from_the_settings_of_dask() -> None:
    """As the guide says for clusters whose connections are encrypted."""
    import dask

    with dask_client.cluster_client("local:1") as client:
        seal = client.security
        known = {
            "distributed.comm.tls.ca-file": seal.tls_ca_file,
            "distributed.comm.tls.client.cert": seal.tls_client_cert,
            "distributed.comm.tls.client.key": seal.tls_client_key,
        }
        address = client.scheduler.address
        with dask.config.set(known), dask_client.cluster_client(address) as other:
            assert other.submit(here).result() != os.getpid()


def test_without_a_certificate_nothing_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_client, "_own_certificate", lambda: None)
    before = listening()
    with dask_client.cluster_client("local:2") as client:
        assert client.submit(here).result() == os.getpid()
        assert listening() <= before


@pytest.mark.parametrize(
    "scheduler",
    ["nonsense", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:port", "tcp://127.0.0.1:9",
     "tcp://no.such.host.invalid:8786", "a:b:c", "ftp://127.0.0.1:1", "local:0", "local:"],
)  # fmt: skip
def test_a_scheduler_that_is_not_there(scheduler: str) -> None:
    with pytest.raises(InputError, match=r"no Dask scheduler answers at|local:N with N workers"):
        rdiv.compare(P, Q, **SETTINGS, scheduler=scheduler)


SLOW = """
import sys, time
import polars as pl, rdiv
from rdiv.samples.partitions import Part, Partitions

def compare(folder):
    def part(k):
        def read():
            open(f"{folder}/reading-{k}", "w").close()
            time.sleep(600)
            yield pl.DataFrame({"a": [1.0]})
        return Part(str(k), read)

    first = Part("0", lambda: iter([pl.DataFrame({"a": [float(k) for k in range(300)]})]))
    table = Partitions("p", (first, part(1), part(2)))
    rdiv.samples.survey.survey(table, 100)

if __name__ == "__main__":
    from rdiv.parallel.spreading import spread_over

    with spread_over(None, "local:2"):
        compare(sys.argv[1])
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL],
                         ids=lambda s: s.name)  # fmt: skip
def test_workers_end_with_the_comparison(tmp_path: Path, ending: signal.Signals) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, str(file), str(tmp_path)], cwd=ROOT, stdout=quiet, stderr=quiet
    )
    until(lambda: process.poll() is not None or bool(list(tmp_path.glob("reading-*"))), 120)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    os.kill(process.pid, ending)
    process.wait(timeout=60)
    until(lambda: not [child for child in children if alive(child)], 60)


def until(true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def alive(process: Any) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
