"""rdiv data: the files that sources read, where they are, how to get them."""

from __future__ import annotations

from typing import Annotated

import typer

from rdiv.cli.display import stages
from rdiv.cli.help_groups import GroupedCommand
from rdiv.cli.outputs import printable, write_out

__all__ = ["data_app"]

data_app = typer.Typer(
    help="List, fetch and find the data files that sources read.",
    rich_markup_mode=None,
)

FileName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The data file, as rdiv data list calls it.", show_default=False
    ),
]
Folder = Annotated[
    str | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="The folder of data files; by default the one in RDIV_DATA, then ~/.cache/rdiv.",
        show_default=False,
    ),
]


@data_app.command("list", cls=GroupedCommand)
def list_files(data_dir: Folder = None) -> None:
    """List the data files and say which are present and complete."""
    from rdiv.sources.data_files import DATA_FILES
    from rdiv.sources.data_files import data_dir as chosen_folder

    lines = [
        (name, known.file, _state(name, data_dir), known.about)
        for name, known in DATA_FILES.items()
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        write_out("  ".join(cells).rstrip() + "\n")
    write_out(printable(f"folder: {chosen_folder(data_dir)}") + "\n")


@data_app.command("fetch", cls=GroupedCommand)
def fetch_file(name: FileName, data_dir: Folder = None) -> None:
    """Download a data file, check it, and print its path.

    It is made from what its public origin offers. One that is there already and whole is left
    alone. RDIV_DATA_ORIGIN in the environment names another host to download from.
    """
    with stages() as stage:
        stage(f"fetching {name}")
        from rdiv.sources.fetching import fetch

        path = fetch(name, data_dir)
    write_out(f"{path}\n")


@data_app.command("path", cls=GroupedCommand)
def show_path(name: FileName, data_dir: Folder = None) -> None:
    """Print the path of a data file that is there and whole."""
    from rdiv.sources.data_files import data_file

    write_out(f"{data_file(name, data_dir)}\n")


def _state(name: str, folder: str | None) -> str:
    from rdiv.sources.data_files import data_file

    try:
        data_file(name, folder)
    except FileNotFoundError:
        return "absent"
    except ValueError:
        return "damaged"
    return "whole"
