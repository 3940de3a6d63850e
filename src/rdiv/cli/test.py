"""rdiv test: one discrepancy, one p-value."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.display import Summary, show, stages
from rdiv.cli.inputs import read_sample
from rdiv.cli.options import (
    Alpha,
    Current,
    DataDir,
    Discrepancy,
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
from rdiv.cli.outputs import check_destination, deliver
from rdiv.errors import InputError
from rdiv.remarks import NOT_EQUALITY

if TYPE_CHECKING:
    from rdiv.results import TwoSampleResult

__all__ = ["run_two_sample_test"]

Subsample = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=8,
        help="Use this many rows, chosen at random from the pool, in a test of all pairs of rows.",
        show_default=False,
    ),
]


def run_two_sample_test(
    reference: Reference,
    current: Current,
    discrepancy: Discrepancy = "r-div",
    model: ModelName = None,
    target: Target = None,
    task: Task = None,
    folds: Folds = 0,
    groups: Groups = None,
    strata: Strata = None,
    alpha: Alpha = 0.05,
    resamples: Resamples = 999,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataDir = None,
    json: JsonFile = None,
    subsample: Subsample = None,
) -> None:
    """Test whether two samples come from one distribution.

    The answer is the discrepancy between the samples and its p-value. For a verdict with a
    direction and an interval, use rdiv compare.
    """
    check_destination(json, reference, current)
    with stages() as stage:
        stage("reading")
        p, q = read_sample(reference, data_dir), read_sample(current, data_dir)
        stage("fitting and testing")
        from rdiv.two_sample import two_sample_test

        result = two_sample_test(
            p, q, _limited(discrepancy, subsample), model=model, target=target, task=task,
            folds=folds or None, groups=groups, strata=strata, alpha=alpha, n_resamples=resamples,
            rng=seed, n_jobs=jobs,
        )  # fmt: skip
    deliver(json, result.to_json(), lambda: show(_summary(result, reference, current)))


def _limited(name: str, subsample: int | None) -> Any:
    """The test by its name, or as an object that uses only so many rows."""
    if subsample is None:
        return name
    from rdiv.discrepancies import BY_NAME
    from rdiv.names import chosen

    cls = chosen(name, BY_NAME, "discrepancy")
    if "subsample" not in {field.name for field in fields(cls)}:
        raise InputError(
            f"--subsample is for tests that compare all pairs of rows (mmd-o, mmd-d, energy), got "
            f"{name}; drop --subsample."
        )
    return cls(subsample=subsample)


def _summary(result: TwoSampleResult, reference: str, current: str) -> Summary:
    headline, *lines = str(result).splitlines()
    notes = ("inputs", "target", "folds")
    remarks = [str(result.notes[key]) for key in notes if key in result.notes]
    return Summary(
        "rdiv test",
        headline,
        [*lines, f"p is {reference}, q is {current}"],
        remarks if result.rejected else [*remarks, NOT_EQUALITY],
        "yellow" if result.rejected else "none",
    )
