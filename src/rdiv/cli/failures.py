"""From an exception to one sentence on the error stream and an exit code."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from types import FrameType
from typing import Any

from rdiv.cli.outputs import printable
from rdiv.errors import InputError

__all__ = ["CRASH", "INTERRUPTED", "MISUSE", "Interrupts", "report"]

MISUSE, CRASH, INTERRUPTED = 2, 3, 130

_EXTRAS = dict.fromkeys(("typer", "rich", "polars", "jinja2", "matplotlib"), "cli")


class Interrupts:
    """Remembers an interrupt inside a block, even if its exception is replaced by another.

    Compiled code and imports may turn a KeyboardInterrupt into another exception. A handler that
    other code has set is left alone, and so is a thread, which has none.
    """

    came = False

    def __enter__(self) -> Interrupts:
        own = threading.current_thread() is threading.main_thread()
        self._before = signal.getsignal(signal.SIGINT) if own else None
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)


def report(error: BaseException, *, files: bool = True, interrupted: bool = False) -> int:
    """Print what went wrong and return the exit code for it.

    Parameters
    ----------
    error : BaseException
        The exception that ended the command.
    files : bool
        Whether the samples p and q are files that the user named.
    interrupted : bool
        Whether an interrupt came before the error.
    """
    if interrupted or _comes_from_interrupt(error):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        return 0  # the reader of the help has closed the pipe
    if hasattr(error, "format_message"):
        _say(_usage(error))
        return MISUSE
    root = (getattr(error, "name", None) or "").split(".")[0]
    if isinstance(error, ModuleNotFoundError) and root in _EXTRAS:
        _say(f'this command needs {root}; install it with pip install "rdiv[{_EXTRAS[root]}]"')
        return MISUSE
    if isinstance(error, MemoryError) and not isinstance(error, InputError):
        _say(_out_of_memory(error))
        return MISUSE
    if isinstance(error, InputError):
        _say(_with_names(str(error)) if files else str(error))
        return MISUSE
    return _crash(error)


def _out_of_memory(error: MemoryError) -> str:
    """What could not be allocated, and what to do."""
    what = str(error).strip().rstrip(".")
    return (
        f"there is not enough memory{f' ({what[0].lower()}{what[1:]})' if what else ''}; use fewer "
        "rows or columns, fewer --jobs, or a machine with more memory."
    )


def _comes_from_interrupt(error: BaseException) -> bool:
    """Whether an interrupt is among the exceptions that led to this one."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        if isinstance(one, KeyboardInterrupt):
            return True
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
    return False


def _say(message: str) -> None:
    print(f"rdiv: {printable(' '.join(message.split()))}", file=sys.stderr)


def _usage(error: Any) -> str:
    """The message of the parser, and how to get help."""
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "rdiv"
    return f"{message[:1].lower()}{message[1:]} (see {path} --help)"


_SAMPLES = {"p": "REFERENCE", "q": "CURRENT"}
_SAME = (
    *("target", "task", "folds", "groups", "strata", "model", "by", "alpha", "prediction", "loss"),
    *("drop", "retrain", "correction", "unit", "batches"),
)
_OPTIONS = {
    **{name: f"--{name}" for name in _SAME},
    "max_decompressed": "--max-decompressed",
    "train_share": "--train-share",
    "fit_rows": "--fit-rows",
    "sample_rows": "--sample-rows",
    "min_gap": "--min-gap",
    "scheduler": "--scheduler",
    "equivalence_margin": "--equivalence-margin",
    "not_worse_than": "--not-worse-than",
    "n_resamples": "--resamples",
    "n_jobs": "--jobs",
    "rng": "--seed",
}
_PHRASES = {
    "pass each sample as a pair (X, y)": "give npz files of x and y",
    "(Frozen, prediction= or loss=)": "(a fitted --model, --train, --prediction or --loss)",
    "pass frames, or wrap the fitted model in rdiv.models.Frozen": (
        "give tables, such as csv files, or the fitted model with --model"
    ),
    "; leave those columns out of the arrays, or pass frames": "; give tables, such as csv files",
    "names a column of a frame, got arrays": "names a column of a table, got arrays",
    "names columns of a frame, got arrays": "names columns of a table, got arrays",
}
_ALONE = {name: option for name, option in _OPTIONS.items() if "_" in name}


def _with_names(message: str) -> str:
    """A message of the library, with the argument and option names of the command.

    Names in quotes, p-values and parts of paths are left alone.
    """
    for phrase, other in _PHRASES.items():
        message = message.replace(phrase, other)
    message = re.sub(
        r"(?<!['\"\w./-])([pq])(?!['\"\w/-]|\.\w| [=<])", lambda found: _SAMPLES[found[1]], message
    )
    message = re.sub(r"\b(row \d+ of (?:REFERENCE|CURRENT))\b", r"\1 (counted from 0)", message)
    names = "|".join(_OPTIONS)
    message = re.sub(rf"\b({names})=(?=['\"\w-])", lambda found: f"{_OPTIONS[found[1]]} ", message)
    message = re.sub(rf"\b({names})=", lambda found: _OPTIONS[found[1]], message)
    alone = "|".join(_ALONE)
    return re.sub(rf"(?<!['\"\w-])({alone})\b(?!['\"])", lambda found: _ALONE[found[1]], message)


def _crash(error: BaseException) -> int:
    if os.environ.get("RDIV_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    _say(
        f"this is a bug in rdiv, not in your data ({what}); "
        "please report it with the output of the same command under RDIV_TRACEBACK=1."
    )
    return CRASH
