"""Lines as CSV and back: what a page is written from."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from rdiv.reproduction.protocol import Line

__all__ = ["as_csv", "read_csv"]


def as_csv(lines: Sequence[Line]) -> str:
    """Lines as CSV text.

    Examples
    --------
    >>> print(as_csv([{"cell": "1000", "rate": 0.5, "paper": None}]))
    cell,rate,paper
    1000,0.5,
    <BLANKLINE>
    """
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def read_csv(path: str | Path) -> list[Line]:
    """Lines from a file that `as_csv` wrote: numbers become numbers, nothing becomes None.

    The names of cells, methods and tests stay texts, also where they look like numbers.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return [
            {name: value if name in TEXTS else _value(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        ]


TEXTS = frozenset({"table", "scale", "cell", "method", "test", "protocol", "note"})


def _value(text: str) -> str | int | float | None:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
