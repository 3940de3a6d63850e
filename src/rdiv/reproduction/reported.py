"""The numbers that the paper prints, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Printed", "Reported", "paired", "printed"]

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
