"""The arguments and options of rdiv watch."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "BatchColumn",
    "BatchName",
    "Batches",
    "Between",
    "Compact",
    "FailOnAlarm",
    "OtherReference",
    "SmallestGap",
    "State",
    "Unit",
    "WatchedLevel",
    "WatchedLoss",
    "WatchedReference",
    "WatchedShare",
]

WatchedReference = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE",
        help="The rows that batches are compared with: csv, tsv, jsonl (each also .gz), parquet, "
        "feather, npy or npz; FILE.npz::NAME is one array of several. A directory, a pattern, an "
        "address of parquet files, or FILE.db::QUERY of an SQLite file is read part by part.",
        show_default=False,
    ),
]
WatchedLoss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        metavar="COL",
        help="The model in use by its logged losses, one per row. It is not an input.",
        show_default=False,
    ),
]
WatchedShare = Annotated[
    float | None,
    typer.Option(
        "--train-share",
        metavar="S",
        help="Share of REFERENCE that trains the model, where rdiv trains it; batches are compared "
        "with the rest. By default 0.5.",
        show_default=False,
    ),
]
WatchedLevel = Annotated[
    float,
    typer.Option(
        "--alpha", metavar="LEVEL", help="The chance of ever raising a false alarm, at any look."
    ),
]
State = Annotated[
    str,
    typer.Option("--state", metavar="FILE", help="The file of the monitor.", show_default=False),
]
Unit = Annotated[
    str,
    typer.Option(
        metavar="row|batch",
        help="What is ranked: rows, which must be exchangeable across batches, or means of whole "
        "batches, where days have effects of their own.",
    ),
]
BatchColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="With --unit batch: the column that names the batches of REFERENCE. It is not an "
        "input.",
        show_default=False,
    ),
]
SmallestGap = Annotated[
    float | None,
    typer.Option(
        "--min-gap",
        metavar="G",
        help="Raise the alarm only for a mean loss above that of REFERENCE by more than G.",
        show_default=False,
    ),
]
Batches = Annotated[
    list[str],
    typer.Argument(
        metavar="BATCH",
        help="The rows of one batch, with the columns of the reference; the target may be missing. "
        "Several are added in this order.",
        show_default=False,
    ),
]
OtherReference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="Where REFERENCE is now, if it has moved; its rows must be the same.",
        show_default=False,
    ),
]
BatchName = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name of the batch, if there is one; by default the name of its file.",
        show_default=False,
    ),
]
FailOnAlarm = Annotated[
    bool,
    typer.Option("--fail-on-alarm", help="Exit with code 1 if the alarm has been raised."),
]
Compact = Annotated[
    bool,
    typer.Option(
        "--compact",
        help="Keep the state small: rank later rows among about 4000 intervals instead of all "
        "numbers so far. It stays so.",
    ),
]
Between = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="Also list the alarms of a detector that starts again after each of them, with at "
        "least N batches between false alarms in the mean.",
        show_default=False,
    ),
]
