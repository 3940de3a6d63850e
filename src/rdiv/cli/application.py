"""All commands under one name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rdiv.cli.bound import show_bounds
from rdiv.cli.compare import compare_samples
from rdiv.cli.data import data_app
from rdiv.cli.demo import show_demo
from rdiv.cli.denoise import denoise_labels
from rdiv.cli.help_groups import GroupedCommand
from rdiv.cli.leaderboard import show_leaderboard
from rdiv.cli.plan import plan_rows
from rdiv.cli.power import run_power_study
from rdiv.cli.reproduce import reproduce_table
from rdiv.cli.test import run_two_sample_test
from rdiv.cli.watch import watch_app

__all__ = ["app", "command", "default_settings"]

HELP = """Are these two datasets the same for your model?

Start with: rdiv compare REFERENCE CURRENT --target COLUMN. It says whether your model, or one that
rdiv trains on the reference, does worse on the current rows, why, and what to do. rdiv demo shows
three comparisons. Tests permute rows between the two samples at random, so that their p-values
hold at every sample size.

Options may stand in rdiv.toml, or in [tool.rdiv] of pyproject.toml, of the current folder; those
that are given win. Completion in bash: eval "$(_RDIV_COMPLETE=bash_source rdiv)"; zsh and fish
likewise.

Exit codes: 0 it ran; 1 a shift was found and --fail-on-shift was given, or an alarm and
--fail-on-alarm; 2 bad input, one sentence on the error stream says what to do; 3 a bug in rdiv;
130 interrupted.
"""

# Plain help: formatting it with rich takes longer than the rest of `rdiv --help`.
app = typer.Typer(
    name="rdiv",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compare", cls=GroupedCommand)(compare_samples)
app.add_typer(watch_app, name="watch")
app.command("test", cls=GroupedCommand)(run_two_sample_test)
app.command("power", cls=GroupedCommand)(run_power_study)
app.command("leaderboard", cls=GroupedCommand)(show_leaderboard)
app.command("reproduce", cls=GroupedCommand)(reproduce_table)
app.command("plan", cls=GroupedCommand)(plan_rows)
app.command("bound", cls=GroupedCommand)(show_bounds)
app.command("denoise", cls=GroupedCommand)(denoise_labels)
app.add_typer(data_app, name="data")
app.command("demo", cls=GroupedCommand)(show_demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        from rdiv import __version__

        typer.echo(f"rdiv {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def take_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that come before a command."""


def command() -> Any:
    """The application as the object that parses arguments."""
    from typer.main import get_command

    return get_command(app)


def default_settings(root: Any) -> dict[str, dict[str, Any]]:
    """Defaults of the commands from the settings file of the current folder."""
    from pathlib import Path

    from rdiv.cli.settings_files import defaults_for, find_settings

    found = find_settings(Path.cwd())
    return {} if found is None else defaults_for(found, root.commands)
