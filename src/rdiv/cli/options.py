"""The arguments and options of commands, each described once."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated

import typer

import rdiv
from rdiv.cli.models import MODEL_HELP

__all__ = [
    "DISCREPANCIES",
    "MODELS",
    "Alpha",
    "Current",
    "DataDir",
    "Discrepancy",
    "Drop",
    "Folds",
    "Groups",
    "Jobs",
    "JsonFile",
    "MaxDecompressed",
    "ModelName",
    "ModelText",
    "Reference",
    "Resamples",
    "Seed",
    "Strata",
    "Target",
    "Task",
    "known_names",
]


def known_names(package: str) -> list[str]:
    """The keys of ``BY_NAME`` in a package of rdiv, in order.

    They are read from its source, because importing models and sources would slow down --help.

    Examples
    --------
    >>> print(known_names("sources")[:2])
    ['blob', 'hdgm']
    """
    source = Path(rdiv.__file__).with_name(package) / "__init__.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.value, ast.Dict):
            continue
        if isinstance(node.target, ast.Name) and node.target.id == "BY_NAME":
            return [str(ast.literal_eval(key)) for key in node.value.keys if key is not None]
    raise LookupError(f"no BY_NAME in rdiv.{package}")


MODELS = ", ".join(known_names("models"))
DISCREPANCIES = ", ".join(known_names("discrepancies"))

Reference = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE",
        help="The data that the model was built for: csv, tsv, jsonl (each also .gz), parquet, "
        "feather, npy or npz. FILE.npz::NAME is one array of several; an npz file of x and y "
        "includes its target. Also a directory, a pattern such as 'days/*.parquet', the address "
        "(s3://, https://) of parquet files, or FILE.db::TABLE and FILE.db::'select ...' of an "
        "SQLite file. One sample may be - for standard input.",
        show_default=False,
    ),
]
Current = Annotated[
    str,
    typer.Argument(
        metavar="CURRENT",
        help="The data that the model gets now, with the same columns in any order.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column that the model predicts. Without it, a density model is fitted to the "
        "inputs.",
        show_default=False,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="classification or regression, in case the guess from the target is wrong.",
        show_default=False,
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        metavar="K",
        min=0,
        help="Compute the loss of each row with a model fitted to the other K - 1 folds; 0 takes "
        "in-sample losses. The default model for a target always has folds.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the group of each row (a patient, a shop): rows of one group stay "
        "together. It is not an input.",
        show_default=False,
    ),
]
Strata = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the stratum of each row (a week, a pair): rows are permuted within strata. "
        "It stays an input.",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="Leave this column out, such as a date or an id; may be repeated.",
        show_default=False,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"The model: {MODELS}. By default boosting when there is a target, else mixed "
        "(pca for images).",
        show_default=False,
    ),
]
ModelText = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FILE.onnx|module:object",
        help=f"The model: {MODELS}. By default boosting when there is a target, else mixed "
        f"(pca for images). {MODEL_HELP}",
        show_default=False,
    ),
]
Discrepancy = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"How to compare the samples: {DISCREPANCIES}."),
]
Alpha = Annotated[
    float,
    typer.Option(metavar="LEVEL", help="Level of the test: its false-alarm rate."),
]
Resamples = Annotated[
    int,
    typer.Option(metavar="B", help="Random permutations; the p-value is at least 1 / (B + 1)."),
]
Seed = Annotated[
    int,
    typer.Option(metavar="SEED", min=0, help="The same seed gives the same result."),
]
Jobs = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Tasks at a time; the result does not depend on it."),
]
DataDir = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder to search for files that are not found; by default the one in RDIV_DATA.",
        show_default=False,
    ),
]
MaxDecompressed = Annotated[
    int | None,
    typer.Option(
        metavar="BYTES",
        min=1,
        help="Refuse compressed files that hold more than this; by default 4 GiB.",
        show_default=False,
    ),
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the full result to FILE as JSON; - writes it to standard output, alone.",
        show_default=False,
    ),
]
