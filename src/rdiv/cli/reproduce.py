"""rdiv reproduce: a table or figure of the paper, measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rdiv.cli.display import terminal
from rdiv.cli.options import Jobs, JsonFile, Seed
from rdiv.cli.outputs import check_destination, deliver, printable, write_out
from rdiv.cli.power import saying_where_rows_are, trial_progress
from rdiv.cli.study_options import DataFolder, Scheduler
from rdiv.errors import InputError
from rdiv.reproduction import BY_NAME

if TYPE_CHECKING:
    from rdiv.reproduction import Reproduced

__all__ = ["TABLES", "reproduce_table"]

TABLES = ", ".join(BY_NAME)

TableName = Annotated[
    str | None,
    typer.Argument(
        metavar="TABLE",
        help=f"The table: {TABLES}. Without it, all are listed.",
        show_default=False,
    ),
]
ScaleName = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="smoke|laptop|paper",
        help="smoke: seconds, to check that it runs; laptop: at most about half an hour on two "
        "cores; paper: the paper's sizes and networks, for a cluster.",
    ),
]
OutFolder = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for the page, the numbers, the picture and finished trials; the same command "
        "continues there. By default reproduced/TABLE-SCALE, with the parts and sizes asked for "
        "at its end.",
        show_default=False,
    ),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--part",
        metavar="NAME",
        help="Only this part of the table, as --plan names them; give it again for another.",
        show_default=False,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="ROWS[,ROWS...]",
        help="Rows a side, separated by commas, instead of those of the scale. What the paper "
        "calls N is twice that.",
        show_default=False,
    ),
]
PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Say what would run and about how long it takes, then stop.")
]


def reproduce_table(
    table: TableName = None,
    *,
    scale: ScaleName = "smoke",
    part: Parts = None,
    sizes: Sizes = None,
    out: OutFolder = None,
    plan: PlanOnly = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    data_dir: DataFolder = None,
    json: JsonFile = None,
) -> None:
    """Measure a table or figure of the paper again.

    Every cell has the paper's number, ours with its 95 % interval, and the type-I error on true
    nulls, from the same trials for all tests. TABLE.md, TABLE.csv and TABLE.svg are written to DIR.
    """
    from rdiv.names import chosen_from
    from rdiv.reproduction import reproduce
    from rdiv.reproduction.protocol import as_scale
    from rdiv.reproduction.running import narrowed

    size = as_scale(scale)
    if table is None:
        _list_tables()
        return
    chosen, parts, rows = chosen_from(BY_NAME, table, "table"), part or [], _numbers(sizes)
    narrow = narrowed(chosen, size, parts, rows)
    if plan:
        write_out(printable(str(narrow.plan(size))) + "\n")
        return
    check_destination(json)
    if scheduler is not None and jobs != 1:
        raise InputError("--jobs are processes here, --scheduler a cluster; choose one of them.")
    folder = out or "reproduced/" + "-".join([table, scale, *parts, *map(str, rows)])
    with saying_where_rows_are(folder), trial_progress() as progress:
        found = reproduce(
            chosen, scale=size, out=folder, seed=seed, n_jobs=jobs, scheduler=scheduler,
            data_dir=data_dir, progress=progress, parts=parts, sizes=rows,
        )  # fmt: skip
    _report(found, folder, json)


def _numbers(sizes: str | None) -> list[int]:
    """Whole numbers between commas."""
    try:
        return [int(text) for text in sizes.split(",")] if sizes is not None else []
    except ValueError:
        raise InputError(
            f"--sizes are whole numbers separated by commas, such as 500,1000, got {sizes!r}."
        ) from None


def _list_tables() -> None:
    width = max(map(len, BY_NAME))
    for name, table in BY_NAME.items():
        write_out(f"{name.ljust(width)}  {table.about}\n")


def _report(found: Reproduced, folder: str, json: str | None) -> None:
    from rdiv.results import as_json, plain

    def show() -> None:
        console, text = terminal(), printable(found.to_markdown())
        if console is None:
            write_out(text)
        else:
            from rich.markdown import Markdown

            console.print(Markdown(text))
        write_out(printable(f"written to {folder}") + "\n")

    deliver(json, as_json(plain(found.to_dict())), show)
