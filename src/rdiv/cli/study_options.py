"""The arguments and options of rdiv power."""

from __future__ import annotations

from typing import Annotated

import typer

from rdiv.cli.options import DISCREPANCIES, MODELS, known_names

__all__ = [
    "SOURCES",
    "DataFolder",
    "Discrepancies",
    "Extend",
    "Levels",
    "Methods",
    "Null",
    "Out",
    "PairOfFiles",
    "Plot",
    "Ratio",
    "Repeats",
    "Scheduler",
    "ShareFits",
    "Sizes",
    "SourceText",
    "StudyModel",
    "Train",
    "Trials",
]

SOURCES = ", ".join(known_names("sources"))

SourceText = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help=f"Where samples come from: {SOURCES}, with settings as in hdgm:d=20,rotated=true or "
        "higgs:columns=all (column numbers as 0+1+5) or "
        "cifar10-corrupted:kind=snow,fraction=0.02, or a function of your own as "
        "package.module:function.",
        show_default=False,
    ),
]
PairOfFiles = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--pair",
        metavar="P Q",
        help="Two files instead of SOURCE: samples are drawn from both, nulls from P alone.",
        show_default=False,
    ),
]
Discrepancies = Annotated[
    list[str] | None,
    typer.Option(
        "--discrepancy",
        metavar="NAME[:MODEL]",
        help=f"A test to study; repeat the option for more: {DISCREPANCIES}; with its model as in "
        "r-div:gmm.",
        show_default=False,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="MODULE:THING",
        help="Your own test; repeat the option for more: package.module:Thing, an object with "
        "prepare(pool, rng) or its class. The current directory is searched too.",
        show_default=False,
    ),
]
StudyModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"The model for discrepancies named without one: {MODELS}. By default the one that "
        "the paper used for the source.",
        show_default=False,
    ),
]
Sizes = Annotated[
    str,
    typer.Option(metavar="N,N,...", help="Rows of p in each draw.", show_default=False),
]
Trials = Annotated[int, typer.Option(metavar="K", min=1, help="Draws per test and size.")]
Repeats = Annotated[
    int,
    typer.Option(metavar="R", min=1, help="Repeat all trials; their spread is the standard error."),
]
Null = Annotated[
    bool, typer.Option("--null", help="Measure the type-I error too, on as many true nulls.")
]
ShareFits = Annotated[
    bool,
    typer.Option(
        "--share-fits",
        help="Fit a model once for all tests of a draw; the time of a test then excludes what an "
        "earlier test computed.",
    ),
]
Train = Annotated[
    str,
    typer.Option(
        metavar="half|fresh",
        help="Where tests that learn get their training rows: half of each draw, or a separate "
        "draw of the same size for each repeat.",
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Rows of q per row of p; by default that of the source.",
        show_default=False,
    ),
]
Levels = Annotated[
    str, typer.Option(metavar="LEVEL,...", help="Levels, all applied to the same p-values.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the Dask cluster at this address; local:N starts one of N processes here.",
        show_default=False,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Write one row per finished trial to DIR; the same command continues there.",
        show_default=False,
    ),
]
Extend = Annotated[
    bool,
    typer.Option(
        "--extend",
        help="Add tests, sizes, trials, repeats or nulls to the rows that --out already holds.",
    ),
]
DataFolder = Annotated[
    str | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Folder of data files; by default the one in RDIV_DATA, then ~/.cache/rdiv.",
        show_default=False,
    ),
]
Plot = Annotated[
    str | None,
    typer.Option(metavar="FILE.svg", help="Draw power against rows.", show_default=False),
]
