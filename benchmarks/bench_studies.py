"""What the study engine costs over the bare tests, and what a second process gains.

    python benchmarks/bench_studies.py

Overhead, with every row written to a folder, counted twice. Within a study: what a trial takes
beyond its draw and its test (as the rows have it), and what opening the folder and making the
tables take; medians over the trials, so that a busy machine does not count. Between runs: processor
time of the study over that of a loop of draws and `two_sample_test`, the fastest of several each.

Speed-up: 200 tests, each of 50 ms of processor time. The worker processes are started by a small
study before the clock is: starting them takes a second or two, once in a session.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rdiv
from benchmarks.timing import best_of, report
from rdiv.samples import Pool
from rdiv.sources import Hdgm

TRIALS, RUNS = 200, 9


@dataclass
class Clocked:
    """A source that knows how long its draws took."""

    source: Any
    seconds: list[float] = field(default_factory=list)

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> Any:
        start = time.perf_counter()
        pair = self.source.draw(n, rng, null)
        self.seconds.append(time.perf_counter() - start)
        return pair

    def __str__(self) -> str:
        return "clocked"


@dataclass(frozen=True)
class Spinning:
    """A test that keeps a processor busy for a while."""

    seconds: float

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            pass
        x = pool.matrix()[:, 0]
        return lambda masks: np.abs(masks @ x)


def study(source: Any, test: Any, n: int, **settings: Any) -> Any:
    """A study that writes its rows to a folder."""
    with TemporaryDirectory() as folder:
        return rdiv.power_study(source, test, sizes=[n], trials=TRIALS, out=folder, **settings)


def note(ticks: list[float], *_: int) -> None:
    """What time it is."""
    ticks.append(time.perf_counter())


def overhead_within(test: Any, n: int) -> tuple[float, float]:
    """Percent beyond tests and draws, and milliseconds of a test."""
    percents, each = [], []
    for _ in range(RUNS):
        source, ticks = Clocked(Hdgm()), [time.perf_counter()]
        found = study(source, test, n, progress=partial(note, ticks))
        note(ticks)
        tests = np.array([row["seconds"] for row in found.rows])
        inside = tests + source.seconds
        opening, *trials, closing = np.diff(ticks)
        beyond = np.median(trials - inside) + (opening + closing) / TRIALS
        percents.append(100 * beyond / np.median(inside))
        each.append(1000 * np.median(tests))
    best = int(np.argmin(percents))
    return float(percents[best]), float(each[best])


def processor_seconds(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def overhead_between(name: str, n: int) -> float:
    """Percent of processor time beyond a bare loop, run in turn."""
    source = Hdgm()

    def bare() -> None:
        for trial in range(TRIALS):
            p, q = source.draw(n, np.random.default_rng(trial))
            rdiv.two_sample_test(p, q, name, model=model, n_resamples=99, rng=trial)

    model = "kde" if name == "r-div" else None
    engine, loop = [], []
    for _ in range(RUNS):
        engine.append(processor_seconds(lambda: study(source, name, n)))
        loop.append(processor_seconds(bare))
    return 100 * (min(engine) / min(loop) - 1)


def main() -> None:
    """Print one line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.parse_args()
    overhead_within("energy", 20)  # load what is loaded once
    for name, n in (("energy", 260), ("r-div", 150)):
        within, each = overhead_within(name, n)
        report(f"overhead within a study of {name}, {each:.1f} ms a test, %", within, "< 3",
               within < 3)  # fmt: skip
        between = overhead_between(name, n)
        report("the same against a loop of two_sample_test, %", between, "< 3", between < 3)
    test = Spinning(0.05)
    study(Hdgm(), Spinning(0.001), 20, n_jobs=2)  # starts the workers
    one, two = (
        best_of(lambda jobs=jobs: study(Hdgm(), test, 20, n_jobs=jobs), 2) for jobs in (1, 2)
    )
    ratio = one / two
    report("two processes against one, 200 tests of 50 ms", ratio, ">= 1.7", ratio >= 1.7)


if __name__ == "__main__":
    main()
