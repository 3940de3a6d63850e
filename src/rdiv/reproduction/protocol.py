"""What a table of the paper is, and the numbers that the paper prints, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from rdiv.errors import InputError

__all__ = [
    "SCALES",
    "Line",
    "Plan",
    "PlanLine",
    "Printed",
    "Reported",
    "Run",
    "Scale",
    "Table",
    "as_scale",
    "duration",
    "paired",
    "printed",
]


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
        Called with the number of finished trials and of all trials.
    parts : tuple of str
        The parts that were asked for; none means all.
    sizes : tuple of int
        The rows a side that were asked for; none means those of the scale.

    Examples
    --------
    >>> print(Run(scale="laptop", sizes=(200,)).seed)
    0
    """

    scale: Scale = "smoke"
    seed: int = 0
    n_jobs: int | None = None
    scheduler: str | None = None
    data_dir: Path | None = None
    kept: Path | None = None
    progress: Callable[[int, int], None] | None = None
    parts: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlanLine:
    """One piece of the work: what, how many trials, and about how long one takes on one core.

    Parameters
    ----------
    what : str
    trials : int
    seconds : float
        Of one trial.

    Examples
    --------
    >>> print(PlanLine("r-div at 100", 20, 0.5).trials)
    20
    """

    what: str
    trials: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a table takes at a scale.

    Parameters
    ----------
    table : str
    scale : {"smoke", "laptop", "paper"}
    about : str
    lines : tuple of PlanLine

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
    def about(self) -> str:
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


AVERAGE = ("Avg.", "Ave.")
WIDEST = 8


@dataclass(frozen=True)
class Reported:
    """One number of the paper, with the standard error where it has one."""

    rate: float
    se: float | None = None

    def __str__(self) -> str:
        return f"{self.rate:.3f}" if self.se is None else f"{self.rate:.3f} ± {self.se:.3f}"


@dataclass(frozen=True)
class Printed:
    """A table of the paper: methods down, cells across, an average at the end or none.

    Parameters
    ----------
    cells : tuple of str
    methods : tuple of str
    numbers : mapping from (method, cell) to Reported
    averages : mapping from method to float
    """

    cells: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    numbers: Mapping[tuple[str, str], Reported] = field(default_factory=dict)
    averages: Mapping[str, float] = field(default_factory=dict)

    def get(self, method: str, cell: str) -> Reported | None:
        """What the paper has for a method in a cell; ``H-Div (max)`` is a form of ``H-Div``."""
        return self.numbers.get((method.partition(" (")[0], cell))

    def misprints(self) -> list[str]:
        """Averages that are not the means of their row, to the third digit."""
        found = []
        for method, average in self.averages.items():
            row = [self.numbers[method, cell].rate for cell in self.cells]
            mean = sum(row) / len(row)
            if abs(mean - average) > 0.0011:
                found.append(
                    f"The average of {method} is printed as {average:.3f}; its {len(row)} numbers "
                    f"have the mean {mean:.3f}."
                )
        return found

    def markdown(self) -> list[str]:
        """The table as it is printed, cells down where there are many of them."""
        if not self.cells:
            return []
        if len(self.cells) > WIDEST:
            head = [
                f"| cell | {' | '.join(self.methods)} |",
                "|---" * (1 + len(self.methods)) + "|",
            ]
            return head + [
                f"| {cell} | {' | '.join(str(self.numbers[m, cell]) for m in self.methods)} |"
                for cell in self.cells
            ]
        last = ["Avg."] if self.averages else []
        lines = [
            f"| method | {' | '.join([*self.cells, *last])} |",
            "|---" * (1 + len(self.cells) + len(last)) + "|",
        ]
        for method in self.methods:
            row = [str(self.numbers[method, cell]) for cell in self.cells]
            row += [f"{self.averages[method]:.3f}"] if method in self.averages else [""] * len(last)
            lines.append(f"| {method} | {' | '.join(row)} |")
        return lines


def printed(text: str) -> Printed:
    """Read a table written as text: a header of cells, then a line a method; ``±`` is optional.

    Examples
    --------
    >>> table = printed('''
    ... N      1000         2000   Avg.
    ... R-Div  0.500±0.010  1.000  0.750
    ... ''')
    >>> print(table.get("R-Div", "1000"), table.averages, table.misprints())
    0.500 ± 0.010 {'R-Div': 0.75} []
    """
    header, *rows = (line.split() for line in text.strip().splitlines())
    averaged = header[-1] in AVERAGE
    cells = tuple(header[1:-1] if averaged else header[1:])
    numbers, averages = {}, {}
    for method, *values in rows:
        for cell, value in zip(cells, values[: len(cells)], strict=True):
            rate, _, se = value.partition("±")
            numbers[method, cell] = Reported(float(rate), float(se) if se else None)
        if averaged:
            averages[method] = float(values[-1])
    return Printed(cells, tuple(row[0] for row in rows), numbers, averages)


def paired(text: str, cell: str) -> Printed:
    r"""Read a table whose entries are ``H-Div/R-Div``; `cell` joins ``{row}`` and ``{column}``.

    Examples
    --------
    >>> table = paired("N ResNet18 ViT\n1000 0.1/0.2 0.3/0.4", "{column}-{row}")
    >>> print(table.cells, table.get("R-Div", "ViT-1000"))
    ('ResNet18-1000', 'ViT-1000') 0.400
    """
    header, *rows = (line.split() for line in text.strip().splitlines())
    numbers = {}
    for row, *values in rows:
        for column, value in zip(header[1:], values, strict=True):
            for method, rate in zip(("H-Div", "R-Div"), value.split("/"), strict=True):
                numbers[method, cell.format(row=row, column=column)] = Reported(float(rate))
    cells = tuple(dict.fromkeys(name for _, name in numbers))
    return Printed(cells, ("H-Div", "R-Div"), numbers)
