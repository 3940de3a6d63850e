"""rdiv compare: a reference and a current sample, and a verdict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from rdiv.cli.display import Summary, show, stages
from rdiv.cli.options import (
    Alpha,
    Current,
    DataDir,
    Folds,
    Groups,
    Jobs,
    JsonFile,
    ModelName,
    Reference,
    Resamples,
    Seed,
    Strata,
    Target,
    Task,
)
from rdiv.cli.output import check_destination, deliver
from rdiv.cli.reading import read_sample

if TYPE_CHECKING:
    from rdiv.comparison import Comparison

__all__ = ["NOT_EQUALITY", "compare_samples", "counts"]

NOT_EQUALITY = "Not finding a difference does not show that there is none."

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


def compare_samples(
    reference: Reference,
    current: Current,
    target: Target = None,
    task: Task = None,
    folds: Folds = 5,
    groups: Groups = None,
    strata: Strata = None,
    model: ModelName = None,
    alpha: Alpha = 0.05,
    resamples: Resamples = 999,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataDir = None,
    json: JsonFile = None,
    fail_on_shift: FailOnShift = False,
    min_gap: MinGap = None,
) -> None:
    """Say whether the model does worse or better on the current sample.

    The answer is a verdict, the gap between the mean losses with its interval, and the gap that
    these samples could have shown. A test of the inputs alone stands beside it, as context.
    """
    check_destination(json, reference, current)
    _check_min_gap(min_gap, folds)
    with stages() as stage:
        stage("reading")
        p, q = read_sample(reference, data_dir), read_sample(current, data_dir)
        stage("fitting and testing")
        from rdiv.comparison import compare

        found = compare(
            p, q, model=model, target=target, task=task, folds=folds or None, groups=groups,
            strata=strata, alpha=alpha, n_resamples=resamples, rng=seed, n_jobs=jobs,
        )  # fmt: skip
    deliver(json, found.to_json(), lambda: show(_summary(found, reference, current, min_gap)))
    if fail_on_shift and counts(found, min_gap):
        raise typer.Exit(1)


def counts(found: Comparison, min_gap: float | None) -> bool:
    """Whether a comparison found a shift that matters: any, or one beyond ``min_gap``."""
    if min_gap is None or found.verdict != "risk shift" or found.gap_interval is None:
        return found.shifted
    return found.gap_interval.low > min_gap or found.gap_interval.high < -min_gap


def _check_min_gap(min_gap: float | None, folds: int) -> None:
    if min_gap is None:
        return
    if not (min_gap >= 0 and math.isfinite(min_gap)):
        raise ValueError(f"--min-gap must be a number of at least 0, got {min_gap:g}.")
    if folds == 0:
        raise ValueError(
            "--min-gap needs the interval of the gap, which in-sample losses (--folds 0) cannot "
            "give; ask for folds."
        )


def _summary(found: Comparison, reference: str, current: str, min_gap: float | None) -> Summary:
    lines = [*found.details(), f"files: {reference} (reference), {current} (current)"]
    if min_gap is not None:
        lines.append(f"--min-gap {min_gap:g}: {_weighed(found, min_gap)}")
    remarks = [str(found.notes[key]) for key in ("target", "folds") if key in found.notes]
    colours = {"worse": "red", "better": "yellow"}
    return Summary(
        "rdiv compare",
        found.headline(),
        lines,
        remarks if found.shifted else [*remarks, NOT_EQUALITY],
        colours.get(found.direction or "", "yellow" if found.shifted else "none"),
    )


def _weighed(found: Comparison, min_gap: float) -> str:
    if found.verdict != "risk shift":
        return "no risk shift to weigh"
    span = f"{-min_gap:g} to {min_gap:g}"
    if counts(found, min_gap):
        return f"the interval lies wholly outside {span}, so this shift counts"
    return f"the interval reaches into {span}, so this shift does not count"
