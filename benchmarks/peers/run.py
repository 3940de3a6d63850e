"""MMD in rdiv and in other packages, side by side: 999 resamples, ratios from one run.

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
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
RESAMPLES = 999


@dataclass(frozen=True)
class Peer:
    """What to install for a peer, and how to time it.

    `few` are two small numbers of resamples from which its time is extended; None runs all.
    """

    needs: tuple[str, ...]
    few: tuple[int, int] | None = None
    few_from: int = 0  # rows a side from which on `few` is used
    against: str = "rdiv"
    kernel: bool = True


GITHUB = "git+https://github.com/"
PEERS = {
    "torch-two-sample": Peer(
        ("torch", "numpy", "cython", "setuptools", "wheel", GITHUB + "josipd/torch-two-sample"),
        (49, 99),
        2000,
    ),
    "mmdfuse": Peer(("jax", "numpy", "setuptools", "wheel", GITHUB + "antoninschrab/mmdfuse")),
    "mmdfuse-smallest": Peer(
        ("jax", "numpy", "setuptools", "wheel", GITHUB + "antoninschrab/mmdfuse")
    ),
    "alibi-detect": Peer(("alibi-detect[torch]",), (49, 99), 2000),
    "frouros": Peer(("frouros",), (19, 49), 0),
    "hyppo": Peer(("hyppo",), (5, 15), 0),
    "dcor": Peer(("dcor",), (49, 99), 2000, against="rdiv-energy", kernel=False),
    "scipy": Peer(("scipy",), (49, 99), 2000),
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


def ask(process: subprocess.Popen[str], resamples: int) -> tuple[float, float]:
    """Seconds on the clock and in the processor of one test."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{resamples}\n")
        process.stdin.flush()
        clock, processor = process.stdout.readline().split()
    except (BrokenPipeError, ValueError) as error:
        raise RuntimeError("the process ended before it answered") from error
    return float(clock), float(processor)


def whole(process: subprocess.Popen[str], few: tuple[int, int] | None) -> tuple[float, float]:
    """The seconds of `RESAMPLES`, run or extended by a straight line."""
    if few is None:
        return ask(process, RESAMPLES)
    low, high = (ask(process, b) for b in few)
    steps = (RESAMPLES - few[1]) / (few[1] - few[0])
    return high[0] + steps * (high[0] - low[0]), high[1] + steps * (high[1] - low[1])


def compare(name: str, python: Path, rows: int, threads: int, repeats: int) -> str:
    """One line of the table."""
    peer = PEERS[name]
    few = peer.few if rows >= peer.few_from else None
    with (
        worker(python, name, rows, threads) as theirs,
        worker(Path(sys.executable), peer.against, rows, threads) as ours,
    ):
        ask(theirs, RESAMPLES if few is None else few[0])  # compilers, caches: does not count
        ask(ours, RESAMPLES)
        runs = [(whole(theirs, few), ask(ours, RESAMPLES)) for _ in range(repeats)]
    clocks = [median(run[side][0] for run in runs) for side in (0, 1)]
    processors = [median(run[side][1] for run in runs) for side in (0, 1)]
    note = "" if few is None else f"  extended from {few[0]} and {few[1]} resamples"
    return (
        f"{name:<17} {rows:>6} {threads:>7} {clocks[0]:>9.2f} {clocks[1]:>8.3f} "
        f"{clocks[0] / clocks[1]:>7.1f} {processors[0]:>9.2f} {processors[1]:>8.3f} "
        f"{processors[0] / processors[1]:>7.1f}{note}"
    )


def main() -> None:
    """Print the table, line by line."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
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
        f"{'':<17} {'rows':>6} {'':>7} {'clock':>9} {'clock':>8} {'':>7} {'cpu':>9} {'cpu':>8}\n"
        f"{'peer':<17} {'a side':>6} {'threads':>7} {'peer s':>9} {'rdiv s':>8} {'ratio':>7} "
        f"{'peer s':>9} {'rdiv s':>8} {'ratio':>7}",
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
                    print(f"{name:<17} {rows:>6} {threads:>7} failed: {error}", flush=True)


if __name__ == "__main__":
    main()
