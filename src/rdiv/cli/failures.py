"""From an exception to one sentence on the error stream and an exit code."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from rdiv.cli.outputs import printable
from rdiv.errors import InputError

__all__ = ["CRASH", "INTERRUPTED", "MISUSE", "report"]

MISUSE, CRASH, INTERRUPTED = 2, 3, 130

_EXTRAS = dict.fromkeys(("typer", "rich", "polars", "jinja2", "matplotlib"), "cli")


def report(error: BaseException, *, files: bool = True) -> int:
    """Say what went wrong and return the exit code for it.

    Parameters
    ----------
    error : BaseException
        Whatever ended the command.
    files : bool
        Whether the samples p and q are files that the user named.
    """
    if isinstance(error, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        return 0  # nobody reads the help to its end
    if hasattr(error, "format_message"):
        _say(_usage(error))
        return MISUSE
    root = (getattr(error, "name", None) or "").split(".")[0]
    if isinstance(error, ModuleNotFoundError) and root in _EXTRAS:
        _say(f'this command needs {root}; install it with pip install "rdiv[{_EXTRAS[root]}]"')
        return MISUSE
    if isinstance(error, InputError):
        _say(_with_names(str(error)) if files else str(error))
        return MISUSE
    return _crash(error)


def _say(message: str) -> None:
    print(f"rdiv: {printable(' '.join(message.split()))}", file=sys.stderr)


def _usage(error: Any) -> str:
    """The parser's complaint, and where to read on."""
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "rdiv"
    return f"{message[:1].lower()}{message[1:]} (see {path} --help)"


def _with_names(message: str) -> str:
    """A sentence of the library, which calls the samples p and q, for somebody who named files."""
    if not re.search(r"(?<!['\"\w])[pq](?!['\"\w])", message):
        return message
    return f"{message.rstrip('.')} (p is REFERENCE, q is CURRENT)."


def _crash(error: BaseException) -> int:
    if os.environ.get("RDIV_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    _say(
        f"this is a bug in rdiv, not in your data ({what}); "
        "please report it with what RDIV_TRACEBACK=1 in the environment makes the command print."
    )
    return CRASH
