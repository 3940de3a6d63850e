"""The arguments and options of rdiv compare."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from rdiv.cli.models import MODEL_HELP
from rdiv.cli.options import MODELS
from rdiv.errors import InputError

__all__ = [
    "By",
    "CorrectionName",
    "Currents",
    "EquivalenceMargin",
    "FailOnShift",
    "FitRows",
    "HtmlFile",
    "LossColumn",
    "MinGap",
    "ModelTexts",
    "NoRows",
    "NotWorseThan",
    "Permutations",
    "Predictions",
    "Retrain",
    "SampleRows",
    "Scheduler",
    "TrainFile",
    "TrainShare",
    "check_min_gap",
    "check_sources",
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
ModelTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME|FILE.onnx|module:object",
        help=f"The model. A name is trained here: {MODELS}. By default boosting when there is a "
        f"target, else mixed (pca for images). {MODEL_HELP} Several "
        "--model are compared one by one, and judged together.",
        show_default=False,
    ),
]
Predictions = Annotated[
    list[str] | None,
    typer.Option(
        "--prediction",
        metavar="COL|CLASS=COL",
        help="The model in use by its logged predictions: a column of values, of probabilities of "
        "the last class (of two, sorted) or of predicted classes; or CLASS=COL for every class, "
        "the column of its probabilities. It is not an input.",
        show_default=False,
    ),
]
LossColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The model in use by its logged losses, one per row. It is not an input. Without "
        "--target nothing is asked about retraining.",
        show_default=False,
    ),
]
TrainFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Train the model in use on this third table, which must not hold rows of the two "
        "samples, instead of on part of REFERENCE.",
        show_default=False,
    ),
]
Retrain = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|none",
        help="When the model in use is given: the model that is trained on both samples, to see "
        "what retraining would change. By default the same kind of model where that is possible, "
        "else boosting or a density model. none does not ask.",
        show_default=False,
    ),
]
TrainShare = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Share of REFERENCE that trains the model in use, where rdiv trains it; the rest is "
        "compared with CURRENT. By default 0.5.",
        show_default=False,
    ),
]
FitRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Of more than N rows, fit models to N, chosen by a hash of their content (kde to at "
        "most 20000); all rows are still judged. By default 1000000.",
        show_default=False,
    ),
]
SampleRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Of more than N rows, look at N, chosen in the same way, for the score question, the "
        "inputs and what carries the shift; gaps and their tests are those of all rows. By default "
        "2000000.",
        show_default=False,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local:N",
        help="Read tables in partitions and compute losses on the Dask cluster at this address; "
        "local:N starts N workers here. The result is the same.",
        show_default=False,
    ),
]
FailOnShift = Annotated[
    bool,
    typer.Option(
        "--fail-on-shift", help="Exit with code 1 if a shift of any kind is found, better or worse."
    ),
]
MinGap = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="With --fail-on-shift, only a risk shift, or an expected one, counts, and only when "
        "the interval of its gap lies entirely outside -G to G.",
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
        help="With several levels or models: holm bounds the probability of any false alarm, bh "
        "the expected share of false alarms among all alarms.",
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        metavar="B",
        help="Random permutations; the p-value is at least 1 / (B + 1). By default 999, or as many "
        "as the number of levels or models needs.",
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


def check_min_gap(min_gap: float | None) -> None:
    """Refuse a gap that is negative or no number."""
    if min_gap is not None and not (min_gap >= 0 and math.isfinite(min_gap)):
        raise InputError(f"--min-gap must be a number of at least 0, got {min_gap:g}.")


def check_sources(reference: str, current: list[str], by: str | None, train: str | None) -> None:
    """Refuse to read standard input twice, or to split several files by --by."""
    if [reference, *current, train].count("-") > 1:
        raise InputError("only one table may come from standard input (-); name a file.")
    if by is not None and len(current) > 1:
        raise InputError(
            f"--by splits one CURRENT file, got {len(current)}; give one file, or leave --by out."
        )
