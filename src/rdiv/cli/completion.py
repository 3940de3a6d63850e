"""Completion of commands and options in bash, zsh, fish and PowerShell."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rdiv.errors import InputError

__all__ = ["VARIABLE", "completion_asked", "run_completion"]

VARIABLE = "_RDIV_COMPLETE"
"""A shell asks for completion by this environment variable: ``bash_source`` asks for the script."""

_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_STEPS = ("source", "complete")


def completion_asked() -> bool:
    """Whether a shell asks for completion, not for a command."""
    return bool(os.environ.get(VARIABLE))


def run_completion(given: Sequence[str]) -> int:
    """Print the script that a shell sources, or the words that may come next.

    Parameters
    ----------
    given : sequence of str
        The arguments of the process.
    """
    from typer import completion

    from rdiv.cli.application import command

    asked = os.environ[VARIABLE]
    words = set(asked.split("_"))
    shell = next((name for name in _SHELLS if name in words), None)
    step = next((name for name in _STEPS if name in words), None)
    if shell is None or step is None or len(words) != 2:
        raise InputError(
            f"{VARIABLE} must be a shell and a step such as bash_source, got {asked!r}; the shells "
            f"are {', '.join(_SHELLS)}."
        )
    completion.completion_init()  # type: ignore[attr-defined]
    os.environ[VARIABLE] = f"{step}_{shell}"  # the order that typer knows
    try:
        command().main([*given], prog_name="rdiv", standalone_mode=False, complete_var=VARIABLE)
    except SystemExit as done:
        return int(done.code or 0)
    finally:
        os.environ[VARIABLE] = asked
    return 0
