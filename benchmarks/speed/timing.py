"""Shared by the benchmarks: wall and processor time, and ratios from one run.

Other work on a machine stretches wall time and hardly changes processor time. So ratios are those
of processor time, with those of wall time beside them. A short run is repeated and the best counts,
what is compared takes turns, and no figure is extrapolated: all were run at the size printed.
"""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce

_MEETS = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
# What a new interpreter runs. Only modules that every interpreter has loaded anyway come before the
# clock starts, so that the statement pays for its own imports.
_CHILD = """
import os, sys, time
setup, statement = sys.argv[1:3]
del sys.argv[1:3]
scope = {"__name__": "__main__"}
def processor():
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system
exec(setup, scope)
wall, used = time.perf_counter(), processor()
exec(statement, scope)
used, wall = processor() - used, time.perf_counter() - wall
try:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak /= 1e6 if sys.platform == "darwin" else 1e3
except ImportError:
    peak = float("nan")
print("\\n", wall, used, peak)
"""


@dataclass(frozen=True)
class Seconds:
    """How long something took, on the wall clock and in processor time."""

    wall: float
    processor: float

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall + other.wall, self.processor + other.processor)

    def best(self, other: Seconds) -> Seconds:
        """The smaller of each: other work only ever makes a run slower."""
        return Seconds(min(self.wall, other.wall), min(self.processor, other.processor))


@dataclass(frozen=True)
class Fresh:
    """What a statement took in a new interpreter, and the peak of all that the interpreter held."""

    seconds: Seconds
    megabytes: float


def once(function: Callable[[], object], *, workers: bool = False) -> Seconds:
    """Seconds of one call; with `workers`, also what child processes computed during it."""
    before = worker_seconds() if workers else 0.0
    wall, processor = time.perf_counter(), time.process_time()
    function()
    processor, wall = time.process_time() - processor, time.perf_counter() - wall
    return Seconds(wall, processor + (worker_seconds() - before if workers else 0.0))


def measure(function: Callable[[], object], repeats: int = 3, *, workers: bool = False) -> Seconds:
    """Seconds of the best of some calls."""
    return take_turns({"": function}, repeats, workers=workers)[""]


def take_turns(
    functions: Mapping[str, Callable[[], object]], repeats: int = 3, *, workers: bool = False
) -> dict[str, Seconds]:
    """Best seconds of each function; each round runs all of them, so drift meets all alike."""
    timers = {name: partial(once, each, workers=workers) for name, each in functions.items()}
    return _rounds(timers, repeats)


def fresh(statement: str, *arguments: str, setup: str = "") -> Fresh:
    """Run a statement in a new interpreter, with one thread and nothing loaded but by `setup`.

    The clock runs inside that interpreter, around the statement alone. `arguments` are its
    ``sys.argv[1:]``. On Linux a process inherits the peak memory of the one that starts it: keep
    large arrays out of a benchmark that reports megabytes.
    """
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, setup, statement, *arguments],
        env={**os.environ, **threads}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    wall, processor, megabytes = map(float, done.stdout.splitlines()[-1].split())
    return Fresh(Seconds(wall, processor), megabytes)


def take_turns_fresh(
    statements: Mapping[str, str], repeats: int = 3, *, setup: str = ""
) -> dict[str, Seconds]:
    """Best seconds of each statement, every run in a new interpreter, in turn."""

    def run(statement: str) -> Seconds:
        return fresh(statement, setup=setup).seconds

    return _rounds({name: partial(run, each) for name, each in statements.items()}, repeats)


def worker_seconds(pid: int | None = None) -> float:
    """Processor seconds so far of the children of a process, this one by default.

    Counts children that ended and children that are still there, as the workers of joblib are.
    """
    import psutil

    process = psutil.Process(pid)
    own = process.cpu_times()
    living = [child.cpu_times() for child in process.children(recursive=True)]
    ended = own.children_user + own.children_system
    return float(ended + sum(used.user + used.system for used in living))


def show(name: str, seconds: Seconds) -> None:
    """One line: what ran, and both of its times."""
    print(f"  {name:<48} {seconds.processor:10.4f} s processor {seconds.wall:10.4f} s wall",
          flush=True)  # fmt: skip


def ratio(name: str, over: Seconds, under: Seconds, target: str | None = None) -> None:
    """One line: the ratio of processor time, that of wall time, the target and whether it is met.

    `target` is a comparison and a number, such as ``<= 1.05``; None promises nothing.
    """
    by_processor, by_wall = over.processor / under.processor, over.wall / under.wall
    print(f"  {name:<48} {by_processor:10.4g}   processor {by_wall:10.4g}   wall   "
          f"{_judged(by_processor, target)}", flush=True)  # fmt: skip


def report(name: str, value: float, target: str | None = None) -> None:
    """One line for what is not a ratio of times: the value, the target and whether it is met."""
    print(f"  {name:<48} {value:10.4g} {'':>31} {_judged(value, target)}", flush=True)


def _judged(value: float, target: str | None) -> str:
    if target is None:
        return ""
    sign, number = target.split()
    return f"{target:<8} {'met' if _MEETS[sign](value, float(number)) else 'MISSED'}"


def _rounds(timers: Mapping[str, Callable[[], Seconds]], repeats: int) -> dict[str, Seconds]:
    rounds = [{name: timer() for name, timer in timers.items()} for _ in range(repeats)]
    return {name: reduce(Seconds.best, (each[name] for each in rounds)) for name in timers}
