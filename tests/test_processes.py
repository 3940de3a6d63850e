"""Worker processes are started afresh and never forked: a forked child with polars frames hangs."""

from __future__ import annotations

import ast
import multiprocessing
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest

import rdiv

ROOT = Path(rdiv.__file__).parent
SAFE = ("'loky'", "'threading'")


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    return pl.DataFrame({"x": x, "at": rng.choice(["sea", "land"], rows), "y": x + seed})


@pytest.mark.skipif(joblib.cpu_count() < 2, reason="one core starts no workers")
def test_polars_frames_reach_the_workers() -> None:
    p, q = table(40, 0), table(30, 1)

    def found(jobs: int | None) -> str:
        return rdiv.two_sample_test(
            p, q, model="ridge", target="y", folds=2, n_resamples=19, rng=0, n_jobs=jobs
        ).to_json()

    assert found(2) == found(None)
    assert any("Loky" in child.name for child in multiprocessing.active_children())


def test_a_fork_would_be_noticed_in_any_test() -> None:
    """Deliberately broken variant: the start method that forks. conftest.py refuses it."""
    forking = multiprocessing.get_context("fork")
    with pytest.raises(AssertionError, match="a process was forked"):
        forking.Process(target=print).start()


def forks(source: str) -> list[str]:
    """What in a source text could start a process by a fork."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="multiprocessing", names=names):
                found += [n.name for n in names if n.name != "current_process"]
            case ast.Import(names=names):
                found += [n.name for n in names if n.name.startswith("multiprocessing")]
            case ast.Attribute(value=ast.Name(id="os"), attr="fork" | "forkpty"):
                found.append(node.attr)
            case ast.Name(id="ProcessPoolExecutor") | ast.alias(name="ProcessPoolExecutor"):
                found.append("ProcessPoolExecutor")
            case ast.Call(func=ast.Name(id="Parallel" | "parallel_config"), keywords=given):
                chosen = [k.value for k in given if k.arg in ("backend", "prefer")]
                found += [ast.unparse(value) for value in chosen if ast.unparse(value) not in SAFE]
    return found


def test_no_module_can_fork() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    found = {path: forks(text) for path, text in texts.items()}
    assert not {path: ways for path, ways in found.items() if ways}


def test_one_module_starts_processes() -> None:
    """Where they are tied to their parent; others may use threads."""
    found = {path for path in ROOT.rglob("*.py") if starts_processes(path)}
    assert found == {ROOT / "parallel" / "workers.py"}


def starts_processes(path: Path) -> bool:
    calls = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
    parallel = [call for call in calls if ast.unparse(call.func) == "Parallel"]
    return any("backend='threading'" not in map(ast.unparse, call.keywords) for call in parallel)


@pytest.mark.parametrize(
    "source",
    [
        "import multiprocessing",
        "from multiprocessing import Pool",
        "os.fork()",
        "from concurrent.futures import ProcessPoolExecutor",
        "Parallel(n_jobs=2, backend='multiprocessing')",
        "Parallel(n_jobs=2, backend=chosen)",
    ],
)
def test_every_way_to_fork_is_noticed(source: str) -> None:
    assert forks(source)


def test_a_local_cluster_does_not_fork() -> None:
    pytest.importorskip("distributed")
    import dask

    assert dask.config.get("distributed.worker.multiprocessing-method") == "spawn"
