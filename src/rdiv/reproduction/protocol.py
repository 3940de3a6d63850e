"""What a table of the paper is, for the command that measures it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from rdiv.errors import InputError

__all__ = ["SCALES", "Line", "Plan", "PlanLine", "Run", "Scale", "Table", "as_scale", "duration"]

Scale = Literal["smoke", "laptop", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)

Line = dict[str, Any]
"""One line of a result: names to numbers, texts or None, the same names in every line."""


@dataclass(frozen=True)
class Run:
    """How to measure a table.

    Parameters
    ----------
    scale : {"smoke", "laptop", "paper"}
    seed : int
    n_jobs : int, optional
        Worker processes.
    scheduler : str, optional
        Address of a Dask scheduler, or ``local:N``.
    data_dir : Path, optional
        Folder of the data files.
    kept : Path, optional
        Folder for what has been measured so far; the same run continues there.
    progress : callable, optional
        Called with the number of trials done and asked for.
    """

    scale: Scale = "smoke"
    seed: int = 0
    n_jobs: int | None = None
    scheduler: str | None = None
    data_dir: Path | None = None
    kept: Path | None = None
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True)
class PlanLine:
    """One piece of the work: what, how many trials, and about how long one takes on one core."""

    what: str
    trials: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a table takes at a scale.

    Examples
    --------
    >>> print(Plan("t", "smoke", "small", (PlanLine("r-div at 100", 20, 0.5),)).hours)
    0.002777777777777778
    """

    table: str
    scale: Scale
    about: str
    lines: tuple[PlanLine, ...]

    @property
    def hours(self) -> float:
        """About how many hours of one core all of it takes."""
        return sum(line.trials * line.seconds for line in self.lines) / 3600

    def __str__(self) -> str:
        head = [f"{self.table} at {self.scale} scale: {self.about}"]
        width = max(len(line.what) for line in self.lines)
        body = [
            f"  {line.what.ljust(width)}  {line.trials:5d} trials of about {duration(line.seconds)}"
            for line in self.lines
        ]
        return "\n".join([*head, *body, f"about {duration(3600 * self.hours)} on one core"])


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    Examples
    --------
    >>> print(duration(0.25), duration(600), duration(3600 * 30), sep=", ")
    0.25 seconds, 10 minutes, 30 hours
    """
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.2g} seconds" if seconds < 10 else f"{seconds:.0f} seconds"


@runtime_checkable
class Table(Protocol):
    """A table or figure of the paper that can be measured again.

    Whatever it does inside, it turns a `Run` into lines, and lines into a page and a picture. Lines
    are written as CSV and read back, so a page never holds a number that its lines do not.
    """

    @property
    def name(self) -> str:
        """What the command calls it."""
        ...

    @property
    def title(self) -> str:
        """What it shows, in one line."""
        ...

    def plan(self, scale: Scale) -> Plan:
        """What a run at a scale consists of, and what it costs."""
        ...

    def measure(self, run: Run) -> list[Line]:
        """Do the work, or what of it is not in ``run.kept`` yet."""
        ...

    def markdown(self, lines: Sequence[Line]) -> str:
        """The page, without a title: the paper's numbers beside ours, nulls beside both."""
        ...

    def figure(self, lines: Sequence[Line]) -> str:
        """The same as SVG text."""
        ...


def as_scale(given: str) -> Scale:
    """Check the name of a scale.

    Examples
    --------
    >>> print(as_scale("laptop"))
    laptop
    """
    for scale in SCALES:
        if given == scale:
            return scale
    raise InputError(f"a scale is {', '.join(SCALES[:-1])} or {SCALES[-1]}, got {given!r}.")
