"""What rdiv promises for any input, and how one run or one call is held to it.

A run of the command ends with exit code 0, 1 or 2, within a time and without a traceback; exit
code 2 comes with one sentence on the error stream and leaves no file behind. A public function
returns, or raises an `rdiv.errors.InputError`. Neither takes more memory than is stated here.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.arguments import commands

from rdiv.cli import main
from rdiv.errors import InputError

SECONDS, WAIT = 60, 600
"""Most processor time of one run or one call of small inputs, and most time on a busy machine."""

MEMORY = 1_500
"""Most MB by which the process may grow over one run of a file of some KB."""

KNOWN = {name.split()[0] for name in commands()}

RAN: Counter[str] = Counter()
"""Runs and calls so far, by kind and by outcome; `tools/fuzz.py` adds them up."""


class BrokenPromise(AssertionError):
    """What was run, and what came instead of what is promised."""


def run(arguments: Sequence[str], kind: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run the command in this process and check what every run must keep."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with _limits(arguments), _inside(cwd), streams[0], streams[1]:
        code = main([str(argument) for argument in arguments])
    said = [_text(out), _text(err)]
    RAN[f"{kind}, {_word(arguments)}, exit {code}"] += 1
    RAN["too few permutations"] += "can never reach alpha" in said[1]
    notices = int(len(arguments) > 0 and arguments[0] == "leaderboard")
    problem = _problem(code, said[1], notices)
    if problem:
        raise BrokenPromise(f"{problem}\n  rdiv {' '.join(map(repr, arguments))}\n  {said[1]}")
    return code, said[0], said[1]


def call(function: Callable[..., Any], *given: Any, kind: str, **options: Any) -> Any:
    """Call a public function; None where it refused the input in a sentence of our own."""
    with _limits((function, given, options)):
        try:
            found = function(*given, **options)
        except InputError as error:
            RAN[f"{kind}, refused"] += 1
            if not str(error).strip() or "\n" in str(error).strip():
                raise BrokenPromise(f"no single sentence: {error!s}") from error
            return None
        except Exception as error:
            trace = "".join(traceback.format_exception(error)[-4:])
            raise BrokenPromise(
                f"{type(error).__name__} of another library from {function!r:.300}, options "
                f"{options!r:.500}\n{trace}"
            ) from error
    RAN[f"{kind}, answered"] += 1
    return found


def _word(arguments: Sequence[str]) -> str:
    """The command that was asked for; a word that is none is not kept."""
    word = str(arguments[0]) if arguments else ""
    return word if word in KNOWN else "no command"


def _problem(code: int, said: str, notices: int = 0) -> str | None:
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if "Traceback" in said:
        return "a traceback"
    lines = said.splitlines()[-notices - 1 :]  # a leaderboard says first how long it takes
    if code == 2 and (not lines or said.count("\n") != len(lines) or not _ours(lines)):
        return "exit code 2 without one sentence"
    return None


def _ours(lines: list[str]) -> bool:
    return all(line.startswith("rdiv: ") for line in lines)


@contextlib.contextmanager
def _limits(what: object) -> Iterator[None]:
    """Stop what takes too long, and refuse what takes too much memory."""

    def late(*_: object) -> None:
        raise BrokenPromise(f"longer than {SECONDS} s: {what!r:.3000}")

    before = {which: signal.signal(which, late) for which in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(WAIT)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for which, handler in before.items():
            signal.signal(which, handler)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most) / 1024
    if grown > MEMORY:
        raise BrokenPromise(f"{grown:.0f} MB more memory: {what!r:.3000}")


@contextlib.contextmanager
def _inside(folder: Path | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    with contextlib.chdir(folder):
        yield


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one example; hypothesis runs many in one test."""
    with tempfile.TemporaryDirectory(prefix="rdiv-fuzz-") as name:
        yield Path(os.path.realpath(name))


def examples(few: int) -> int:
    """How many inputs a test draws: ``few`` of them, or what FUZZ_EXAMPLES asks for."""
    return int(os.environ.get("FUZZ_EXAMPLES", few))
