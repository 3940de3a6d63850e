"""How results are printed: a panel in a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rdiv.cli.outputs import write_out
from rdiv.names import visible
from rdiv.progress import progress_sent_to

__all__ = ["WIDEST", "Summary", "panel", "show", "show_renderable", "stages", "terminal"]

WIDEST = 100
"""Largest width of a panel, in columns."""

_LABEL = 26  # largest width of the labels before the first colon of a line
_STRESSED = {"warning": "bold yellow", "advice": "bold"}  # labels of what to read first


@dataclass(frozen=True)
class Summary:
    """A finding in words and numbers.

    Parameters
    ----------
    title : str
        The command.
    headline : str
        The finding in one sentence.
    lines : sequence of str
        The numbers behind it, ``label: value`` where there is a label.
    remarks : sequence of str
        Sentences about what the finding does not show.
    colour : str
        Colour of the frame. It repeats what the headline says in words.
    """

    title: str
    headline: str
    lines: Sequence[str]
    remarks: Sequence[str] = ()
    colour: str = "none"

    def __str__(self) -> str:
        return "\n".join(map(visible, [self.headline, *self.lines, *self.remarks]))


def show(summary: Summary) -> None:
    """Print a summary to standard output, in the form that suits the reader."""
    console = terminal()
    if console is None:
        write_out(str(summary) + "\n")
    else:
        show_renderable(console, panel(summary))


def terminal() -> Any:
    """A rich console for standard output if that is a terminal, else None."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    return console if console.is_terminal else None


def show_renderable(console: Any, *parts: Any, widest: int = WIDEST) -> None:
    """Lay out with rich, write with `write_out`, which tolerates a closed pipe."""
    with console.capture() as capture:
        for part in parts:
            console.print(part, width=min(console.width, widest))
    write_out(capture.get())


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Give a function that shows the current stage, on the error stream of a terminal only.

    The progress of long fits is shown beside it.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("starting")) as status:
        now = "starting"

        def enter(stage: str) -> None:
            nonlocal now
            now = stage
            status.update(Text(now))

        with progress_sent_to(lambda text: status.update(Text(f"{now}: {text}" if text else now))):
            yield enter


def panel(summary: Summary) -> Any:
    """A summary as a framed block of text for rich."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    parts: list[Any] = [Text(visible(summary.headline), style="bold"), Text(), _table(summary)]
    for remark in summary.remarks:
        parts += [Text(), Text(visible(remark), style="italic")]
    return Panel(
        Group(*parts),
        title=Text(summary.title),
        title_align="left",
        border_style=summary.colour,
        padding=(1, 2),
    )


def _table(summary: Summary) -> Any:
    """Labels and values in two columns; lines without a label take the full width."""
    from rich.table import Table
    from rich.text import Text

    pairs = [tuple(visible(line).partition(": ")[::2]) for line in summary.lines]
    labelled = any(value for _, value in pairs)
    table = Table.grid(padding=(0, 2))
    if labelled:
        table.add_column(max_width=_LABEL, overflow="fold")
    table.add_column(overflow="fold")
    for place, (label, value) in enumerate(pairs):
        style = _STRESSED.get(label, "")
        table.add_row(*([Text(label, style), Text(value)] if labelled else [Text(label)]))
        following = pairs[place + 1][0] if place + 1 < len(pairs) else label
        if style and following != label:
            table.add_row()
    return table
