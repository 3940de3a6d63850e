"""Measure a table and write what was found: lines, a page, a picture."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from rdiv.errors import InputError, InputFileError
from rdiv.names import chosen_from
from rdiv.reproduction.protocol import Line, Run, Scale, Table, as_scale
from rdiv.whole_files import make_folder, write_whole_file

__all__ = ["Reproduced", "as_csv", "command", "narrowed", "read_csv", "reproduce", "write"]


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


TEXTS = frozenset({"table", "scale", "part", "cell", "method", "test", "protocol", "note"})


def _value(text: str) -> str | int | float | None:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


TRIALS = "trials"


@dataclass(frozen=True, eq=False)
class Reproduced:
    """A table that was measured.

    Parameters
    ----------
    table : Table
    run : Run
    lines : list of dict
        One for each test in each cell, the paper's number beside ours.

    Examples
    --------
    >>> import rdiv
    >>> table = rdiv.reproduction.BY_NAME["blob"]
    >>> print(Reproduced(table, Run(seed=7), []).to_dict()["seed"])
    7
    """

    table: Table
    run: Run
    lines: list[Line]

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """The page with its title and the command that made it."""
        made = f"Made by `{command_of(self.table.name, self.run)}`."
        return f"# {self.table.about}\n\n{made}\n\n{self.table.markdown(self.lines)}"

    def _repr_html_(self) -> str:
        from rdiv.results import html_table

        names = self.lines[0] if self.lines else ()
        columns = {name: [line[name] for line in self.lines] for name in names}
        return f"<p>{escape(self.table.about)}</p>{html_table(columns)}"

    def to_csv(self) -> str:
        """The lines as CSV text."""
        return as_csv(self.lines)

    def to_svg(self) -> str:
        """The table as a picture, as SVG text."""
        return self.table.figure(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """The lines as a document; times are left out, so that a seed gives the same bytes."""
        lines = [{k: v for k, v in line.items() if k != "seconds"} for line in self.lines]
        names = {"table": self.table.name, "scale": self.run.scale, "seed": self.run.seed}
        return {"schema": 1, **names, "lines": lines}


def reproduce(
    table: str | Table,
    *,
    scale: str = "smoke",
    out: str | Path | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    data_dir: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: Sequence[str] = (),
    sizes: Sequence[int] = (),
) -> Reproduced:
    """Measure a table of the paper again.

    Parameters
    ----------
    table : str or Table
        A name in `rdiv.reproduction.BY_NAME`.
    scale : {"smoke", "laptop", "paper"}
        Seconds, at most about half an hour on two cores, or the paper's own sizes.
    out : path, optional
        Folder for the page, the lines and the picture. Trials are kept there as they finish, and
        the same call continues what is there.
    seed : int
    n_jobs : int, optional
        Worker processes.
    scheduler : str, optional
        Address of a Dask scheduler, or ``local:N``.
    data_dir : path, optional
        Folder of the data files.
    progress : callable, optional
        Called with the number of finished trials and of all trials.
    parts : sequence of str
        Names of parts, as its plan has them; without, all of them.
    sizes : sequence of int
        Rows a side, instead of those of the scale.

    Returns
    -------
    Reproduced

    Examples
    --------
    >>> found = reproduce("blob", scale="smoke")
    >>> print(found.lines[0]["method"], found.lines[0]["trials"])
    R-Div 3
    """
    from rdiv.studies.execution import check_scheduler

    size = as_scale(scale)
    chosen = narrowed(_table(table), size, parts, sizes)
    check_scheduler(scheduler)
    run = Run(
        size, seed, n_jobs, scheduler,
        None if data_dir is None else Path(data_dir),
        None if out is None else Path(out) / TRIALS,
        progress, tuple(parts), tuple(sizes),
    )  # fmt: skip
    found = Reproduced(chosen, run, chosen.measure(run))
    if out is not None:
        write(found, out)
    return found


def write(found: Reproduced, folder: str | Path) -> None:
    """Write lines, page and picture; each file is replaced whole."""
    texts = {
        f"{found.table.name}.csv": found.to_csv(),
        f"{found.table.name}.md": found.to_markdown(),
        f"{found.table.name}.svg": found.to_svg(),
    }
    try:
        make_folder(folder)
        for name, text in texts.items():
            write_whole_file(Path(folder) / name, text.encode())
    except OSError as error:
        raise InputFileError(
            f"cannot write to {folder}: {error.strerror}; the finished trials are kept, and the "
            "same command continues once that is mended."
        ) from error


def narrowed(table: Table, scale: Scale, parts: Sequence[str], sizes: Sequence[int]) -> Table:
    """A table with some of its parts or at other sizes; one that has no parts says so.

    Examples
    --------
    >>> from rdiv.reproduction import BY_NAME
    >>> print(narrowed(BY_NAME["noisy-pair"], "smoke", ["memorises"], []).parts)
    ('memorises',)
    """
    if not parts and not sizes:
        return table
    if not hasattr(table, "narrowed"):
        raise InputError(f"{table.name} is measured as a whole; leave out --part and --sizes.")
    narrow: Table = table.narrowed(scale, parts, sizes)
    return narrow


def command(
    name: str, scale: str, seed: int, parts: Sequence[str] = (), sizes: Sequence[int] = ()
) -> str:
    """The command that measures a table.

    Examples
    --------
    >>> print(command("blob", "laptop", 7))
    rdiv reproduce blob --scale laptop --seed 7
    >>> print(command("higgs", "laptop", 0, ["one-fit"], [500, 1000]))
    rdiv reproduce higgs --scale laptop --part one-fit --sizes 500,1000 --seed 0
    """
    some = "".join(f" --part {part}" for part in parts)
    some += f" --sizes {','.join(map(str, sizes))}" if sizes else ""
    return f"rdiv reproduce {name} --scale {scale}{some} --seed {seed}"


def command_of(name: str, run: Run) -> str:
    """The command behind a run."""
    return command(name, run.scale, run.seed, run.parts, run.sizes)


def _table(given: str | Table) -> Table:
    from rdiv.reproduction import BY_NAME

    return chosen_from(BY_NAME, given, "table") if isinstance(given, str) else given
