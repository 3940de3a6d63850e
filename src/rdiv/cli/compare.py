"""rdiv compare: a reference against one or more current samples, with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from rdiv.cli.display import Summary, show, stages
from rdiv.cli.inputs import Input, read_input
from rdiv.cli.options import (
    Alpha,
    By,
    CorrectionName,
    Currents,
    DataDir,
    EquivalenceMargin,
    FailOnShift,
    Folds,
    Groups,
    HtmlFile,
    Jobs,
    JsonFile,
    MinGap,
    ModelName,
    NoRows,
    NotWorseThan,
    Permutations,
    Reference,
    Seed,
    Strata,
    Target,
    Task,
    check_min_gap,
    check_sources,
)
from rdiv.cli.outputs import STANDARD_OUTPUT, check_destination, deliver, write_whole
from rdiv.errors import InputError
from rdiv.remarks import NOT_EQUALITY

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison

__all__ = ["compare_samples", "shift_matters", "summary", "summary_of_many"]


def shift_matters(found: Comparison, min_gap: float | None) -> bool:
    """Whether a comparison found a shift that matters: any, or one beyond ``min_gap``."""
    if min_gap is None or found.verdict != "risk shift" or found.leading_interval is None:
        return found.shifted
    return found.leading_interval.low > min_gap or found.leading_interval.high < -min_gap


def summary(
    found: Comparison, reference: str, current: str, min_gap: float | None, html: str | None
) -> Summary:
    """One comparison as a headline, lines and remarks."""
    lines = [*found.details(), f"files: {reference} (reference), {current} (current)"]
    if min_gap is not None:
        lines.append(f"--min-gap {min_gap:g}: {_min_gap_finding(found, min_gap)}")
    lines += [] if html is None else [f"report: {html}"]
    remarks = [str(found.notes[key]) for key in ("target", "folds") if key in found.notes]
    colours = {"worse": "red", "better": "yellow"}
    shown = found.equivalence is not None and found.equivalence.shown
    return Summary(
        "rdiv compare",
        found.headline(),
        lines,
        remarks if found.shifted or shown else [*remarks, NOT_EQUALITY],
        colours.get(found.direction or "", "yellow" if found.shifted else "none"),
    )


def summary_of_many(
    found: Comparisons, files: Sequence[str], counted: bool, min_gap: float | None, html: str | None
) -> Summary:
    """Many comparisons: one line per level, how they were tested, a warning about further looks."""
    lines = [*found.details(), f"reference: {files[0]}"]
    if min_gap is not None:
        verdict = "a shift lies" if counted else "no shift lies"
        span = f"{-min_gap:g} to {min_gap:g}"
        lines.append(f"--min-gap {min_gap:g}: {verdict} entirely outside {span}")
    lines += [] if html is None else [f"report: {html}"]
    directions = {level.direction for level in found.levels}
    colour = "red" if "worse" in directions else "yellow" if found.shifted else "none"
    remarks = [found.warning()] if found.shifted else [NOT_EQUALITY, found.warning()]
    return Summary("rdiv compare", found.headline(), lines, remarks, colour)


def _min_gap_finding(found: Comparison, min_gap: float) -> str:
    if found.verdict != "risk shift":
        return "no risk shift"
    span = f"{-min_gap:g} to {min_gap:g}"
    if shift_matters(found, min_gap):
        return f"the interval lies entirely outside {span}, so this shift counts"
    return f"the interval overlaps {span}, so this shift does not count"


def compare_samples(
    context: typer.Context,
    reference: Reference,
    current: Currents,
    target: Target = None,
    task: Task = None,
    folds: Folds = 5,
    groups: Groups = None,
    strata: Strata = None,
    model: ModelName = None,
    by: By = None,
    correction: CorrectionName = "holm",
    equivalence_margin: EquivalenceMargin = None,
    not_worse_than: NotWorseThan = None,
    alpha: Alpha = 0.05,
    resamples: Permutations = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataDir = None,
    json: JsonFile = None,
    html: HtmlFile = None,
    no_rows: NoRows = False,
    fail_on_shift: FailOnShift = False,
    min_gap: MinGap = None,
) -> None:
    """Say whether the model does worse or better on the current sample.

    The answer is a verdict, the gap between the mean losses with its interval, the smallest
    detectable gap, and what carries the gap. A test of the inputs alone is added for context. With
    several current files, or --by, each of them is compared with the reference, and the verdicts
    are adjusted for all of them.
    """
    check_sources(reference, current, by)
    _check_destinations(json, html, reference, *current)
    check_min_gap(min_gap, folds)
    settings: dict[str, Any] = {
        "model": model, "target": target, "task": task, "folds": folds or None, "groups": groups,
        "strata": strata, "alpha": alpha, "equivalence_margin": equivalence_margin,
        "not_worse_than": not_worse_than, "rng": seed, "n_jobs": jobs,
    }  # fmt: skip
    with stages() as stage:
        stage("reading")
        inputs = [read_input(path, data_dir) for path in (reference, *current)]
        stage("fitting and testing")
        found = _compare(inputs, by, correction, resamples, settings)
        found = _without_rows(found) if no_rows else found
        stage("writing")
        if html is not None:
            write_whole(html, _page(found, inputs, context.find_root().obj, not no_rows))
    finding = _Finding(found, inputs, min_gap, html)
    deliver(json, found.to_json(), lambda: show(finding.summary()))
    if fail_on_shift and finding.any_shift_matters():
        raise typer.Exit(1)


def _check_destinations(json: str | None, html: str | None, *samples: str) -> None:
    check_destination(json, *samples)
    check_destination(html, *samples, *([] if json is None else [json]))
    if html == STANDARD_OUTPUT:
        raise InputError("--html needs the name of a file, got -; standard output is for --json.")
    if html is not None and html == json:
        raise InputError(f"--html and --json cannot both be {html}; choose another name for one.")


def _compare(
    inputs: Sequence[Input],
    by: str | None,
    correction: str,
    resamples: int | None,
    settings: dict[str, Any],
) -> Comparison | Comparisons:
    reference, *current = inputs
    if by is None and len(current) == 1:
        from rdiv.comparison.compare import compare

        draws = 999 if resamples is None else resamples
        return compare(reference.sample, current[0].sample, n_resamples=draws, **settings)
    from rdiv.comparison.levels import compare_many

    samples = current[0].sample if by is not None else _named(current)
    choice: Any = correction
    return compare_many(
        reference.sample, samples, by=by, correction=choice, n_resamples=resamples, **settings
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


def _page(
    found: Comparison | Comparisons, inputs: Sequence[Input], typed: Sequence[str], rows: bool
) -> str:
    from shlex import join

    from rdiv.comparison.result import Comparison
    from rdiv.report import InputFile, Provenance, comparison_page, many_page, versions

    roles = ["reference", *(["current"] * (len(inputs) - 1))]
    files = [
        InputFile(role, one.source, *one.fingerprint())
        for role, one in zip(roles, inputs, strict=True)
    ]
    provenance = Provenance(join(["rdiv", *(typed or [])]), versions(), tuple(files))
    if isinstance(found, Comparison):
        return comparison_page(found, provenance=provenance, rows=rows)
    return many_page(found, provenance=provenance, rows=rows)


class _Finding(NamedTuple):
    """A result, and what the command needs to print it."""

    found: Comparison | Comparisons
    inputs: Sequence[Input]
    min_gap: float | None
    html: str | None

    def any_shift_matters(self) -> bool:
        """Whether any shift matters to a pipeline."""
        from rdiv.comparison.result import Comparison

        if isinstance(self.found, Comparison):
            return shift_matters(self.found, self.min_gap)
        return any(
            shift_matters(replace(level.comparison, verdict=level.verdict), self.min_gap)
            for level in self.found.levels
            if level.comparison is not None and level.verdict is not None
        )

    def summary(self) -> Summary:
        """The text to print."""
        from rdiv.comparison.result import Comparison

        names = [one.source for one in self.inputs]
        if isinstance(self.found, Comparison):
            return summary(self.found, names[0], names[1], self.min_gap, self.html)
        return summary_of_many(self.found, names, self.any_shift_matters(), self.min_gap, self.html)
