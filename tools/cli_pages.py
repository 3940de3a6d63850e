"""Write the pages of docs/reference/cli from the commands' own help; --check names stale ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from rdiv.cli import app

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli"
WIDTH = 88
NOTE = "<!-- Generated from --help by tools/cli_pages.py: run `make docs` instead of editing. -->"


def main(arguments: list[str] | None = None) -> int:
    """Rewrite the pages, or with ``--check`` only report the stale ones."""
    parser = argparse.ArgumentParser(description="Pages of docs/reference/cli, made from --help.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    check = parser.parse_args(arguments).check
    pages = render()
    stale = [name for name, text in pages.items() if not is_fresh(FOLDER / name, text)]
    extra = sorted({path.name for path in FOLDER.glob("*.md")} - set(pages))
    if check:
        for name in stale + extra:
            print(
                f"docs/reference/cli/{name} does not match --help; run `make docs`.",
                file=sys.stderr,
            )
        return int(bool(stale or extra))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (FOLDER / name).write_text(pages[name], encoding="utf-8")
    for name in extra:
        (FOLDER / name).unlink()
    return 0


def is_fresh(path: Path, text: str) -> bool:
    """Whether the file is there and holds exactly this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


def render() -> dict[str, str]:
    """The text of every page by file name: one a command, and an index."""
    root = typer.main.get_command(app)
    commands = visible(root)
    pages = {f"{name}.md": page(name, command) for name, command in commands.items()}
    lines = [f"- [`rdiv {name}`]({name}.md): {summary(c)}" for name, c in commands.items()]
    body = [NOTE, "# Commands", *sections("rdiv", root, depth=0), "\n".join(lines)]
    pages["index.md"] = "\n\n".join(body) + "\n"
    return pages


def page(name: str, command: Any) -> str:
    """One command: its help, then that of its own commands."""
    path = f"rdiv {name}"
    return "\n\n".join([NOTE, f"# {path}", *sections(path, command)]) + "\n"


def sections(path: str, command: Any, depth: int = 2) -> Iterator[str]:
    """The help of a command and, up to `depth` levels down, of the commands below it."""
    yield f"```text\n{plain_help(path, command)}\n```"
    for name, below in visible(command).items() if depth else ():
        yield f"## {path} {name}"
        yield from sections(f"{path} {name}", below, depth - 1)


def visible(command: Any) -> dict[str, Any]:
    """The commands below this one that are not hidden, in the order of the help."""
    return {name: c for name, c in getattr(command, "commands", {}).items() if not c.hidden}


def plain_help(path: str, command: Any) -> str:
    """What ``--help`` prints, as plain text whose width does not depend on the terminal."""
    command.rich_markup_mode = None
    context = command.context_class(
        command, info_name=path, terminal_width=WIDTH, max_content_width=WIDTH, color=False
    )
    lines = command.get_help(context).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def summary(command: Any) -> str:
    """The first sentence of a command's help."""
    return str(command.get_short_help_str(limit=WIDTH))


if __name__ == "__main__":
    sys.exit(main())
