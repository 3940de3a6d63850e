"""The arguments and options of commands, each described once."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Annotated

import typer

import rdiv
from rdiv.errors import InputError

__all__ = [
    "DISCREPANCIES",
    "MODELS",
    "Alpha",
    "By",
    "CorrectionName",
    "Current",
    "Currents",
    "DataDir",
    "Discrepancy",
    "EquivalenceMargin",
    "FailOnShift",
    "Folds",
    "Groups",
    "HtmlFile",
    "Jobs",
    "JsonFile",
    "MinGap",
    "ModelName",
    "NoRows",
    "NotWorseThan",
    "Permutations",
    "Reference",
    "Resamples",
    "Seed",
    "Strata",
    "Target",
    "Task",
    "check_min_gap",
    "check_sources",
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
        "includes its target. One sample may be - for standard input.",
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
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"The model: {MODELS}. By default boosting when there is a target, else a density "
        "model chosen by the shape of the data.",
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
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the full result to FILE as JSON; - writes it to standard output, alone.",
        show_default=False,
    ),
]


Currents = Annotated[
    list[str],
    typer.Argument(
        metavar="CURRENT",
        help="The data that the model gets now, with the same columns in any order. With several "
        "files, each is compared with REFERENCE, and the verdicts are adjusted for all of them.",
        show_default=False,
    ),
]
FailOnShift = Annotated[
    bool, typer.Option("--fail-on-shift", help="Exit with code 1 if a shift is found.")
]
MinGap = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="With --fail-on-shift, a risk shift counts only when the interval of the gap lies "
        "entirely outside -G to G.",
        show_default=False,
    ),
]
EquivalenceMargin = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="Test whether the gap lies between -G and G, in units of the loss.",
        show_default=False,
    ),
]
NotWorseThan = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="Test whether the loss on current is higher by less than G.",
        show_default=False,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Compare the rows of CURRENT with each value of this column (a month, a region) with "
        "all of REFERENCE. It is not an input.",
        show_default=False,
    ),
]
CorrectionName = Annotated[
    str,
    typer.Option(
        "--correction",
        metavar="NAME",
        help="With several levels: holm bounds the probability of any false alarm, bh the expected "
        "share of false alarms among all alarms.",
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        metavar="B",
        help="Random permutations; the p-value is at least 1 / (B + 1). By default 999, or as many "
        "as the number of levels needs.",
        show_default=False,
    ),
]
HtmlFile = Annotated[
    str | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write a report to FILE: one page that needs no network.",
        show_default=False,
    ),
]
NoRows = Annotated[
    bool,
    typer.Option(
        "--no-rows", help="Leave the rows that carry the gap out of the report and the JSON."
    ),
]


def check_min_gap(min_gap: float | None, folds: int) -> None:
    """Refuse a negative gap, or any gap when there is no interval to compare it with."""
    if min_gap is None:
        return
    if not (min_gap >= 0 and math.isfinite(min_gap)):
        raise InputError(f"--min-gap must be a number of at least 0, got {min_gap:g}.")
    if folds == 0:
        raise InputError(
            "--min-gap needs the interval of the gap, which in-sample losses (--folds 0) cannot "
            "give; use folds."
        )


def check_sources(reference: str, current: list[str], by: str | None) -> None:
    """Refuse to read standard input twice, or to split several files by --by."""
    if [reference, *current].count("-") > 1:
        raise InputError("only one sample may come from standard input (-); name a file.")
    if by is not None and len(current) > 1:
        raise InputError(
            f"--by splits one CURRENT file, got {len(current)}; give one file, or leave --by out."
        )
