"""The rdiv command: parse, call the library, print. One module per command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdiv.cli.application import app

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``rdiv``; by default the arguments of the process. An empty list prints the
        help.

    Returns
    -------
    int
        0 ran; 1 a shift and ``--fail-on-shift``; 2 bad input; 3 a bug in rdiv; 130 interrupted.

    Examples
    --------
    >>> from rdiv.cli import main
    >>> main(["--version"])
    rdiv ...
    0
    """
    from rdiv.cli.failures import INTERRUPTED, Interrupts, report

    given = list(sys.argv[1:] if arguments is None else arguments)
    files = given[:1] not in (["power"], ["leaderboard"], ["bound"], ["denoise"])
    with Interrupts() as interrupts:
        try:
            code = _run(given)
        except BaseException as error:  # a traceback and exit code 1 would read as "a shift"
            return report(error, files=files, interrupted=interrupts.came)
    if interrupts.came or code == INTERRUPTED:
        return report(KeyboardInterrupt())
    return code


def _run(given: list[str]) -> int:
    """Parse and run. Warnings of numpy are hidden: an error message follows where one is needed."""
    import warnings

    from rdiv.cli.completion import completion_asked, run_completion

    if completion_asked():
        return run_completion(given)
    from rdiv.cli.application import command, default_settings
    from rdiv.cli.settings_files import spelled_out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        root = command()
        defaults = default_settings(root)
        whole = spelled_out(given, defaults, root.commands)  # a report says how to reproduce it
        ran = root.main(
            given or ["--help"], prog_name="rdiv", standalone_mode=False, obj=whole,
            default_map=defaults,
        )  # fmt: skip
        return int(ran or 0)


def __getattr__(name: str) -> Any:
    """Load the application on first use, so that `main` can report a missing cli extra."""
    if name == "app":
        from rdiv.cli.application import app

        return app
    raise AttributeError(f"module 'rdiv.cli' has no attribute {name!r}")
