"""rdiv plan: how many rows a comparison needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.display import Summary, show, stages
from rdiv.cli.inputs import read_sample
from rdiv.cli.options import (
    Alpha,
    DataDir,
    Discrepancy,
    Groups,
    Jobs,
    JsonFile,
    MaxDecompressed,
    ModelName,
    Reference,
    Resamples,
    Seed,
    Strata,
    Target,
    Task,
)
from rdiv.cli.outputs import STANDARD_OUTPUT, check_destination, deliver
from rdiv.errors import InputError

if TYPE_CHECKING:
    from rdiv.planning.result import Plan

__all__ = ["plan_rows"]

PilotOfCurrent = Annotated[
    str | None,
    typer.Argument(
        metavar="[CURRENT]",
        help="Current sample, if there is one already: a file as above.",
        show_default=False,
    ),
]
Gap = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        help="Gap in mean loss to detect, in units of the loss; r-div only.",
        show_default=False,
    ),
]
Power = Annotated[float, typer.Option(metavar="P", help="Probability of detecting it.")]
PlanFolds = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        min=0,
        help="Folds for the losses; by default 5 for r-div; 0 takes in-sample losses.",
        show_default=False,
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Rows of CURRENT per row of REFERENCE; by default as in the pilot.",
        show_default=False,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="N,...",
        help="Rows of REFERENCE for which the curve is computed.",
        show_default=False,
    ),
]
Trials = Annotated[
    int, typer.Option(metavar="K", min=1, help="Simulated tests per size, for tests except r-div.")
]
PlannedLabels = Annotated[
    str,
    typer.Option(
        metavar="all|none",
        help="Whether rows of CURRENT will have labels; with none the plan is for the test of the "
        "losses to be expected of them, and says what labelled rows would need.",
    ),
]
Picture = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Draw the curve to FILE as svg.", show_default=False),
]


def plan_rows(
    reference: Reference,
    current: PilotOfCurrent = None,
    gap: Gap = None,
    power: Power = 0.8,
    discrepancy: Discrepancy = "r-div",
    model: ModelName = None,
    target: Target = None,
    task: Task = None,
    folds: PlanFolds = None,
    groups: Groups = None,
    strata: Strata = None,
    ratio: Ratio = None,
    sizes: Sizes = None,
    trials: Trials = 200,
    alpha: Alpha = 0.05,
    resamples: Resamples = 199,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataDir = None,
    max_decompressed: MaxDecompressed = None,
    picture: Picture = None,
    labels: PlannedLabels = "all",
    json: JsonFile = None,
) -> None:
    """Say how many rows detect a gap, or which gap the rows detect.

    REFERENCE and CURRENT are a pilot; for r-div REFERENCE alone is enough, and the answer follows
    from its losses, tilted to the gap. Any other test is run on samples drawn from the pilot, for
    the difference that the pilot has.
    """
    _check_places(picture, json, reference, current)
    rows = None if sizes is None else [_whole(text) for text in sizes.split(",")]
    with stages() as stage:
        stage("reading")
        p, q = (
            None if path is None else read_sample(path, data_dir, max_decompressed, large=True)
            for path in (reference, current)
        )
        stage("planning")
        from rdiv.planning.plan import plan

        choice: Any = labels
        found = plan(
            p, q, model=model, target=target, gap=gap, power=power, alpha=alpha,
            discrepancy=discrepancy, task=task, folds=folds, groups=groups, strata=strata,
            ratio=ratio, sizes=rows, trials=trials, n_resamples=resamples, rng=seed, n_jobs=jobs,
            labels=choice,
        )  # fmt: skip
    if picture is not None:
        deliver(picture, found.to_svg(), lambda: None)
    deliver(json, found.to_json(), lambda: show(_summary(found, reference, current)))


def _check_places(
    picture: str | None, json: str | None, reference: str, current: str | None
) -> None:
    given = [reference] if current is None else [reference, current]
    check_destination(json, *given)
    check_destination(picture, *given)
    if picture == STANDARD_OUTPUT:
        raise InputError("--picture needs the name of a file, got '-'.")
    if picture is not None and picture == json:
        raise InputError(f"--picture and --json need two files, got {json!r} for both.")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--sizes takes whole numbers such as 100,1000, got {text!r}.") from None


def _summary(found: Plan, reference: str, current: str | None) -> Summary:
    files = f"files: {reference} (reference)"
    files += "" if current is None else f", {current} (current)"
    lines = [*found.details(), *_curve(found), files]
    notes = ["inputs", "target", "folds", "in-sample", "variance", "verdict", "resampling"]
    notes += ["learned", "inputs only"]
    remarks = [_sentence(found.notes[key]) for key in notes if key in found.notes]
    return Summary("rdiv plan", found.headline(), lines, remarks)


def _curve(found: Plan) -> list[str]:
    """One line per size: the power if known, else the smallest detectable gap."""
    name = "smallest_gap" if found.method == "variance" and found.gap is None else "power"
    words = "smallest gap" if name == "smallest_gap" else "power"
    columns = (found.curve["n_p"], found.curve["n_q"], found.curve[name])
    return [
        f"{n_p} + {n_q} rows: {words} {value:.3g}" for n_p, n_q, value in zip(*columns, strict=True)
    ]


def _sentence(text: object) -> str:
    words = str(text)
    return f"{words[:1].upper()}{words[1:]}."
