"""What the study engine costs over the bare tests, and what a second process gains.

    python benchmarks/speed/bench_studies.py

Overhead: a study that writes every row to a folder, against a loop of the same draws and the same
`two_sample_test`, in turn.

Speed-up: 200 tests, each of 50 ms of processor time, in one process and in two. A small study
starts the worker processes before they are timed: that takes a second or two, once in a session.
Processor time includes that of the workers. Two processes gain wall time only where two cores are
idle; their ratio of processor time, which should stay near 1, can be measured on any machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import ratio, report, show, take_turns

import rdiv
from rdiv.discrepancies import Prepared
from rdiv.samples import Pool
from rdiv.sources import Hdgm

TRIALS = 200


@dataclass(frozen=True)
class Spinning:
    """A test that keeps a processor busy for a while."""

    seconds: float

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            pass
        x = pool.matrix()[:, 0]
        return Prepared(lambda masks: np.abs(masks @ x))


def study(test: Any, n: int, n_jobs: int = 1) -> None:
    """A study that writes its rows to a folder."""
    with TemporaryDirectory() as folder:
        rdiv.power_study(Hdgm(), test, sizes=[n], trials=TRIALS, out=folder, n_jobs=n_jobs)


def loop(name: str, n: int) -> None:
    """The draws and the tests alone."""
    model = "kde" if name == "r-div" else None
    for trial in range(TRIALS):
        p, q = Hdgm().draw(n, np.random.default_rng(trial))
        rdiv.two_sample_test(p, q, name, model=model, n_resamples=99, rng=trial)


def overhead(name: str, n: int, repeats: int) -> None:
    """The study over the bare loop."""
    print(
        f"{TRIALS} tests {name}, {n} rows per side, 99 permutations, best of {repeats}", flush=True
    )
    times = take_turns({"study": partial(study, name, n), "loop": partial(loop, name, n)}, repeats)
    for which, seconds in times.items():
        show(which, seconds)
    ratio("study / loop", times["study"], times["loop"], "< 1.03")


def second_process() -> None:
    """One process against two, by both clocks."""
    for jobs in (1, 2):
        study(Spinning(0.001), 20, jobs)  # starts the workers
    print(f"{TRIALS} tests of 50 ms of processor time, best of 2", flush=True)
    runs = {f"{jobs} processes": partial(study, Spinning(0.05), 20, jobs) for jobs in (1, 2)}
    times = take_turns(runs, 2, workers=True)
    for name, seconds in times.items():
        show(name, seconds)
    one, two = times["1 processes"], times["2 processes"]
    ratio("2 processes / 1", two, one, "<= 1.1")
    if hasattr(os, "getloadavg"):
        print(f"  load over the last minute {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    report("1 / 2 processes, wall, needs two idle cores", one.wall / two.wall, ">= 1.7")


def main() -> None:
    """Print the times and the ratio for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    study("energy", 20)  # load what is loaded once
    for name, n in (("energy", 260), ("r-div", 150)):
        overhead(name, n, repeats)
    second_process()


if __name__ == "__main__":
    main()
