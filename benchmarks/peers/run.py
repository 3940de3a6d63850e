"""MMD in rdiv and in other packages, side by side: the same permutations, ratios from one run.

    python benchmarks/peers/run.py [--peers NAME ...] [--sizes 500 2000] [--threads 1 2]

README.md beside this file says what is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.speed.timing import Seconds, worker_seconds  # noqa: E402

SOURCE = HERE.parents[1] / "src"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
RESAMPLES = 999


@dataclass(frozen=True)
class Peer:
    """What to install for a peer, and how to time it.

    `resamples` is how many permutations both sides run: 999, or fewer where 999 of the peer would
    take minutes.
    """

    needs: tuple[str, ...]
    resamples: int = RESAMPLES
    fewer_from: int = 0  # rows per side from which on `resamples` holds; 999 below
    against: str = "rdiv"


GITHUB = "git+https://github.com/"
PEERS = {
    "torch-two-sample": Peer(
        ("torch", "numpy", "cython", "setuptools", "wheel", GITHUB + "josipd/torch-two-sample"),
        99,
        2000,
    ),
    "mmdfuse": Peer(("jax", "numpy", "setuptools", "wheel", GITHUB + "antoninschrab/mmdfuse")),
    "mmdfuse-smallest": Peer(
        ("jax", "numpy", "setuptools", "wheel", GITHUB + "antoninschrab/mmdfuse")
    ),
    "alibi-detect": Peer(("alibi-detect[torch]",), 99, 2000),
    "frouros": Peer(("frouros",), 49),
    "hyppo": Peer(("hyppo",), 15),
    "dcor": Peer(("dcor",), 99, 2000, against="rdiv-energy"),
    "scipy": Peer(("scipy",), 99, 2000),
}


def environment(name: str, needs: tuple[str, ...], cache: Path) -> Path | None:
    """The interpreter of a peer's virtual environment, made when missing; None if that fails."""
    folder = cache / name.removesuffix("-smallest")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if not done.exists():
        print(f"{name}: installing {' '.join(needs)}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        local = [need for need in needs if need.startswith("git+") or Path(need).is_dir()]
        first = [need for need in needs if need not in local]
        for step in (first, ["--no-build-isolation", "--no-deps", *local] if local else []):
            if not step:
                continue
            found = subprocess.run([*pip, *step], capture_output=True, text=True, check=False)
            if found.returncode:
                last = (found.stderr.strip().splitlines() or ["no message"])[-1]
                print(f"{name}: cannot be installed here: {last}")
                return None
        done.touch()
    return python


@contextmanager
def worker(python: Path, name: str, rows: int, threads: int) -> Iterator[subprocess.Popen[str]]:
    """A process that answers a number of resamples with the seconds they took."""
    variables = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    if name.startswith("rdiv"):
        variables["PYTHONPATH"] = str(SOURCE)
    command = [str(python), str(HERE / "worker.py"), name, str(rows), str(threads)]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=said, env=variables, text=True
        ) as process,
    ):
        try:
            yield process
        except RuntimeError as error:
            process.kill()
            said.seek(0)
            last = (said.read().strip().splitlines() or ["no message"])[-1]
            raise RuntimeError(last) from error


def ask(process: subprocess.Popen[str], resamples: int) -> Seconds:
    """Seconds of one test, those of the processes it starts included."""
    assert process.stdin is not None
    assert process.stdout is not None
    before = worker_seconds(process.pid)
    try:
        process.stdin.write(f"{resamples}\n")
        process.stdin.flush()
        clock, processor = process.stdout.readline().split()
    except (BrokenPipeError, ValueError) as error:
        raise RuntimeError("the process ended before it answered") from error
    return Seconds(float(clock), float(processor) + worker_seconds(process.pid) - before)


def compare(name: str, python: Path, rows: int, threads: int, repeats: int) -> str:
    """One line of the table."""
    peer = PEERS[name]
    resamples = peer.resamples if rows >= peer.fewer_from else RESAMPLES
    with (
        worker(python, name, rows, threads) as theirs,
        worker(Path(sys.executable), peer.against, rows, threads) as ours,
    ):
        for process in (theirs, ours):
            ask(process, resamples)  # compilers, caches: does not count
        runs = [(ask(theirs, resamples), ask(ours, resamples)) for _ in range(repeats)]
    peer_best = reduce(Seconds.best, (run[0] for run in runs))
    own_best = reduce(Seconds.best, (run[1] for run in runs))
    return (
        f"{name:<17} {rows:>6} {resamples:>12} {threads:>7} "
        f"{peer_best.processor:>9.2f} {own_best.processor:>8.3f} "
        f"{peer_best.processor / own_best.processor:>7.1f} "
        f"{peer_best.wall:>9.2f} {own_best.wall:>8.3f} {peer_best.wall / own_best.wall:>7.1f}"
    )


def main() -> None:
    """Print the table, line by line."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    asked.add_argument("--sizes", nargs="+", type=int, default=[500, 2000])
    asked.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "rdiv-peers")
    asked.add_argument("--source", action="append", default=[], metavar="NAME=FOLDER")
    given = asked.parse_args()
    folders = dict(pair.split("=", 1) for pair in given.source)
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        print(f"load over the last minute: {load:.1f} on {os.cpu_count()} cores")
    print(
        f"{'':<17} {'rows':>6} {'':>12} {'':>7} {'processor seconds':<26} {'wall seconds':<26}\n"
        f"{'peer':<17} {'a side':>6} {'permutations':>12} {'threads':>7} {'peer':>9} {'rdiv':>8} "
        f"{'ratio':>7} {'peer':>9} {'rdiv':>8} {'ratio':>7}",
        flush=True,
    )
    for name in given.peers:
        folder = folders.get(name.removesuffix("-smallest"))
        needs = tuple(
            str(Path(folder).resolve()) if folder and need.startswith("git+") else need
            for need in PEERS[name].needs
        )
        python = environment(name, needs, given.cache)
        if python is None:
            continue
        for rows in given.sizes:
            for threads in given.threads:
                try:
                    print(compare(name, python, rows, threads, given.repeats), flush=True)
                except RuntimeError as error:
                    print(f"{name:<17} {rows:>6} {'':>12} {threads:>7} failed: {error}", flush=True)


if __name__ == "__main__":
    main()
