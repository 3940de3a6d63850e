"""rdiv compare: a reference against one or more current samples, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from rdiv.cli.compare_options import (
    By,
    CorrectionName,
    Currents,
    EquivalenceMargin,
    FailOnShift,
    FitRows,
    HtmlFile,
    LossColumn,
    MinGap,
    ModelTexts,
    NoRows,
    NotWorseThan,
    Permutations,
    Predictions,
    Retrain,
    SampleRows,
    Scheduler,
    TrainFile,
    TrainShare,
    check_min_gap,
    check_sources,
)
from rdiv.cli.compare_summary import (
    any_shift_matters,
    require_interval,
    summary,
    summary_of_many,
)
from rdiv.cli.display import Summary, show, stages
from rdiv.cli.inputs import Input, read_input
from rdiv.cli.model_in_use import AskedModel
from rdiv.cli.options import (
    Alpha,
    DataDir,
    Drop,
    Folds,
    Groups,
    Jobs,
    JsonFile,
    MaxDecompressed,
    Reference,
    Seed,
    Strata,
    Target,
    Task,
)
from rdiv.cli.outputs import STANDARD_OUTPUT, check_destination, deliver, write_whole
from rdiv.cli.own_code import reporting_user_errors
from rdiv.errors import InputError

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison

__all__ = ["compare_samples"]


def compare_samples(
    context: typer.Context,
    reference: Reference,
    current: Currents,
    target: Target = None,
    model: ModelTexts = None,
    prediction: Predictions = None,
    loss: LossColumn = None,
    train: TrainFile = None,
    drop: Drop = None,
    retrain: Retrain = None,
    train_share: TrainShare = None,
    task: Task = None,
    folds: Folds = 5,
    fit_rows: FitRows = None,
    sample_rows: SampleRows = None,
    groups: Groups = None,
    strata: Strata = None,
    by: By = None,
    correction: CorrectionName = "holm",
    equivalence_margin: EquivalenceMargin = None,
    not_worse_than: NotWorseThan = None,
    alpha: Alpha = 0.05,
    resamples: Permutations = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    data_dir: DataDir = None,
    max_decompressed: MaxDecompressed = None,
    json: JsonFile = None,
    html: HtmlFile = None,
    no_rows: NoRows = False,
    fail_on_shift: FailOnShift = False,
    min_gap: MinGap = None,
) -> None:
    """Say whether the model does worse on current, and what to do.

    Three questions are asked and judged together. In use: does a model that knows REFERENCE only
    do worse on CURRENT? Shared: is CURRENT harder even for one model trained on both samples?
    Score: would the two samples still train different models? The answer is a verdict with advice,
    the gaps with their intervals, what retraining would change, and what carries the gap.

    Rows of CURRENT may lack the target: without any label the loss to be expected is compared, with
    some the questions are asked of the labelled rows.

    The model in use is trained on half of REFERENCE, unless you give your own: --model FILE.onnx or
    module:object, --prediction, --loss or --train. With several CURRENT files, --by or several
    --model, each is compared, and the verdicts are adjusted for all of them.

    REFERENCE and CURRENT may be directories or patterns of files, and addresses of parquet files;
    tables that do not fit into memory are read part by part, with the same result.
    """
    asked = AskedModel(model or (), prediction or (), loss, train, retrain, train_share)
    check_sources(reference, current, by, train)
    asked.check(len(current), by)
    tables = [reference, *current, *([] if train is None else [train])]
    _check_destinations(json, html, *tables)
    check_min_gap(min_gap)
    settings: dict[str, Any] = {
        "target": target, "task": task, "folds": folds or None, "groups": groups,
        "strata": strata, "alpha": alpha, "rng": seed, "n_jobs": jobs,
        "scheduler": scheduler,
        "equivalence_margin": equivalence_margin, "not_worse_than": not_worse_than,
    }  # fmt: skip
    for name, rows in (("fit_rows", fit_rows), ("sample_rows", sample_rows)):
        if rows is not None:
            settings[name] = rows
    with stages() as stage:
        stage("reading")
        hashed = html is not None
        inputs = [
            read_input(path, data_dir, max_decompressed, hashed=hashed, large=path != train)
            for path in tables
        ]
        samples, table = inputs[: 1 + len(current)], inputs[1 + len(current) :]
        settings |= asked.settings(_columns(samples))
        settings["drop"] = _dropped(drop or [], samples, table)
        unused = [*(drop or ()), *(column for column in (groups, by) if column is not None)]
        models = asked.built(table[0].sample if table else None, target, unused)
        stage("fitting and testing")
        with reporting_user_errors(*(text for text in asked.models if ":" in text)):
            found = _compare(samples, models, (by, correction, resamples), settings)
        require_interval(found, min_gap)
        found = _without_rows(found) if no_rows else found
        stage("writing")
        if html is not None:
            files = [*zip(_roles(len(current)), samples, strict=True)]
            files += [("training", one) for one in table]
            write_whole(html, _page(found, files, context.find_root().obj, not no_rows))
    names = [one.source for one in samples]
    deliver(json, found.to_json(), lambda: show(_summary(found, names, min_gap, html)))
    if fail_on_shift and any_shift_matters(found, min_gap):
        raise typer.Exit(1)


def _check_destinations(json: str | None, html: str | None, *samples: str) -> None:
    check_destination(json, *samples)
    check_destination(html, *samples, *([] if json is None else [json]))
    if html == STANDARD_OUTPUT:
        raise InputError("--html needs the name of a file, got -; standard output is for --json.")
    if html is not None and html == json:
        raise InputError(f"--html and --json cannot both be {html}; choose another name for one.")


def _columns(inputs: Sequence[Input]) -> set[str]:
    """Names of the columns of all tables."""
    found: set[str] = set()
    for one in inputs:
        x = one.sample[0] if isinstance(one.sample, tuple) else one.sample
        found |= set(getattr(x, "columns", ()))
    return found


def _dropped(drop: Sequence[str], samples: Sequence[Input], table: Sequence[Input]) -> list[str]:
    """The columns to leave out of the samples; some may be in the training table alone."""
    there, elsewhere = _columns(samples), _columns(table)
    return [column for column in drop if column in there or column not in elsewhere]


def _compare(
    inputs: Sequence[Input],
    models: Mapping[str, Any],
    family: tuple[str | None, str, int | None],
    settings: dict[str, Any],
) -> Comparison | Comparisons:
    """Compare one pair, several levels, or several models.

    `family` is the column of levels, the correction and the permutations that were asked for.
    """
    reference, *current = (one.sample for one in inputs)
    by, correction, resamples = family
    choice: Any = correction
    if len(models) > 1:
        from rdiv.comparison.levels import compare_models

        return compare_models(
            reference, current[0], models, correction=choice, n_resamples=resamples, **settings
        )
    settings = {**settings, "model": next(iter(models.values()), None)}
    if by is None and len(current) == 1:
        from rdiv.comparison.compare import compare

        draws = 999 if resamples is None else resamples
        return compare(reference, current[0], n_resamples=draws, **settings)
    from rdiv.comparison.levels import compare_many

    samples = current[0] if by is not None else _named(inputs[1:])
    return compare_many(
        reference, samples, by=by, correction=choice, n_resamples=resamples, **settings
    )


def _named(inputs: Sequence[Input]) -> dict[str, Any]:
    """Samples by file name; when two file names are equal, the second gets a number."""
    samples: dict[str, Any] = {}
    for one in inputs:
        name, number = one.name, 2
        while name in samples:
            name, number = f"{one.name} ({number})", number + 1
        samples[name] = one.sample
    return samples


def _without_rows(found: Comparison | Comparisons) -> Any:
    """The same result without any row of the data."""
    from rdiv.comparison.result import Comparison

    if isinstance(found, Comparison):
        drivers = found.drivers
        return found if drivers is None else replace(found, drivers=drivers.without_rows())
    levels = [
        level
        if level.comparison is None
        else replace(level, comparison=_without_rows(level.comparison))
        for level in found.levels
    ]
    return replace(found, levels=tuple(levels))


def _roles(n_current: int) -> list[str]:
    return ["reference", *(["current"] * n_current)]


def _page(
    found: Comparison | Comparisons,
    files: Sequence[tuple[str, Input]],
    typed: Sequence[str],
    rows: bool,
) -> str:
    from datetime import date
    from shlex import join

    from rdiv.comparison.result import Comparison
    from rdiv.report import InputFile, Provenance, comparison_page, many_page, versions

    named = [
        InputFile(role, one.source, *one.fingerprint)
        for role, one in files
        if one.fingerprint is not None
    ]
    command, today = join(["rdiv", *(typed or [])]), date.today().isoformat()
    provenance = Provenance(command, versions(), tuple(named), date=today)
    if isinstance(found, Comparison):
        return comparison_page(found, provenance=provenance, rows=rows)
    return many_page(found, provenance=provenance, rows=rows)


def _summary(
    found: Comparison | Comparisons, names: Sequence[str], min_gap: float | None, html: str | None
) -> Summary:
    from rdiv.comparison.result import Comparison

    if isinstance(found, Comparison):
        return summary(found, names[0], names[1], min_gap, html)
    return summary_of_many(found, names, min_gap, html)
