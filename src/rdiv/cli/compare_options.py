"""The options that only rdiv compare has."""

from __future__ import annotations

import math
from typing import Annotated

import typer

__all__ = [
    "By",
    "CorrectionName",
    "Currents",
    "EquivalenceMargin",
    "FailOnShift",
    "HtmlFile",
    "MinGap",
    "NoRows",
    "NotWorseThan",
    "Relabellings",
    "check_min_gap",
    "check_sources",
]

Currents = Annotated[
    list[str],
    typer.Argument(
        metavar="CURRENT",
        help="What the model sees now, with the same columns in any order; several files are each "
        "compared with REFERENCE and judged together.",
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
        "wholly outside -G to G.",
        show_default=False,
    ),
]
EquivalenceMargin = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="Ask whether the gap can be shown to lie between -G and G, in units of the loss.",
        show_default=False,
    ),
]
NotWorseThan = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="Ask whether current can be shown to be worse by less than G.",
        show_default=False,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Compare each value of this column of CURRENT (a month, a region) with the whole "
        "REFERENCE. It is not an input.",
        show_default=False,
    ),
]
CorrectionName = Annotated[
    str,
    typer.Option(
        "--correction",
        metavar="NAME",
        help="With several levels: holm limits any false alarm among them, bh the share of false "
        "ones among the alarms.",
    ),
]
Relabellings = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        metavar="B",
        help="Random relabellings; the p-value is at least 1 / (B + 1). By default 999, or as many "
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
    """Refuse a gap that is none, or one that no interval could be held against."""
    if min_gap is None:
        return
    if not (min_gap >= 0 and math.isfinite(min_gap)):
        raise ValueError(f"--min-gap must be a number of at least 0, got {min_gap:g}.")
    if folds == 0:
        raise ValueError(
            "--min-gap needs the interval of the gap, which in-sample losses (--folds 0) cannot "
            "give; ask for folds."
        )


def check_sources(reference: str, current: list[str], by: str | None) -> None:
    """Refuse what would read standard input twice, or split several files."""
    if [reference, *current].count("-") > 1:
        raise ValueError("only one sample may come from standard input (-); name a file.")
    if by is not None and len(current) > 1:
        raise ValueError(
            f"--by splits one CURRENT file, got {len(current)}; give one file, or leave --by out."
        )
