"""rdiv test: one p-value per discrepancy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.display import Summary, show, stages
from rdiv.cli.inputs import read_sample
from rdiv.cli.options import (
    DISCREPANCIES,
    Alpha,
    Current,
    DataDir,
    Drop,
    Folds,
    Groups,
    Jobs,
    JsonFile,
    MaxDecompressed,
    ModelText,
    Reference,
    Resamples,
    Seed,
    Strata,
    Target,
    Task,
)
from rdiv.cli.outputs import check_destination, deliver
from rdiv.cli.own_code import reporting_user_errors
from rdiv.errors import InputError
from rdiv.remarks import NOT_EQUALITY

if TYPE_CHECKING:
    from rdiv.results import TwoSampleResult

__all__ = ["run_two_sample_test"]

DEFAULT = "r-div"

Discrepancies = Annotated[
    list[str] | None,
    typer.Option(
        "--discrepancy",
        metavar="NAME",
        help=f"How to compare the samples: {DISCREPANCIES}. By default {DEFAULT}. May be repeated: "
        "then all are run, and their p-values are adjusted together by Holm.",
        show_default=False,
    ),
]
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
    discrepancy: Discrepancies = None,
    model: ModelText = None,
    target: Target = None,
    drop: Drop = None,
    task: Task = None,
    folds: Folds = 0,
    groups: Groups = None,
    strata: Strata = None,
    alpha: Alpha = 0.05,
    resamples: Resamples = 999,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataDir = None,
    max_decompressed: MaxDecompressed = None,
    json: JsonFile = None,
    subsample: Subsample = None,
) -> None:
    """Test whether two samples come from one distribution.

    The answer is the discrepancy between the samples and its p-value; of several discrepancies,
    each with its own and one that is adjusted for all of them. For a verdict with a direction and
    an interval, use rdiv compare.
    """
    check_destination(json, reference, current)
    names = discrepancy or [DEFAULT]
    settings: dict[str, Any] = {
        "target": target, "task": task, "folds": folds or None, "groups": groups,
        "strata": strata, "alpha": alpha, "n_resamples": resamples, "rng": seed, "n_jobs": jobs,
    }  # fmt: skip
    own = [] if model is None or ":" not in model else [model]
    with stages() as stage, reporting_user_errors(*own):
        stage("reading")
        tests = _tests(names, subsample)
        settings["model"] = _model(model)
        _check(tests, settings)
        p, q = (read_sample(path, data_dir, max_decompressed) for path in (reference, current))
        p, q = _without_columns(p, q, drop or (), settings)
        from rdiv.two_sample import two_sample_test

        results = {}
        for name, test in tests.items():
            stage("fitting and testing" if len(tests) == 1 else f"{name}: fitting and testing")
            results[name] = two_sample_test(p, q, test, **settings)
    files = f"p is {reference}, q is {current}"
    if len(results) == 1:
        result = results[names[0]]
        deliver(json, result.to_json(), lambda: show(_summary(result, files)))
        return
    adjusted = _adjusted(results)
    document = _document(results, adjusted)
    deliver(json, document, lambda: show(_summary_of_several(results, adjusted, files)))


def _tests(names: Sequence[str], subsample: int | None) -> dict[str, Any]:
    """The tests by their names: a name, or an object that uses only so many rows."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"--discrepancy {twice[0]} is given twice; give every test once.")
    from rdiv.discrepancies import BY_NAME
    from rdiv.discrepancies.installed import is_installed
    from rdiv.names import chosen

    classes = {
        name: None if is_installed(name) else chosen(name, BY_NAME, "discrepancy") for name in names
    }
    if subsample is None:
        return {name: name for name in names}
    tests = {}
    for name, cls in classes.items():
        if cls is None or "subsample" not in {field.name for field in fields(cls)}:
            raise InputError(
                "--subsample is for tests that compare all pairs of rows (mmd-o, mmd-d, energy), "
                f"got {name}; drop --subsample{_or_without(name, names)}."
            )
        tests[name] = cls(subsample=subsample)
    return tests


def _or_without(name: str, names: Sequence[str]) -> str:
    return "" if len(names) == 1 else f", or run {name} by itself"


def _model(text: str | None) -> Any:
    """A named model stays a name; other texts are read."""
    from rdiv.cli.models import model_from
    from rdiv.models import BY_NAME

    return text if text is None or text in BY_NAME else model_from(text)


def _check(tests: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse, before any test is run, settings that one of several does not take."""
    from rdiv.discrepancies.resolve import choose

    if len(tests) == 1:
        return  # the test itself says it
    for name, test in tests.items():
        try:
            choose(test, model=settings["model"], folds=settings["folds"], supervised=True)
        except InputError as error:
            raise InputError(
                f"{str(error).rstrip('.')}{_or_without(name, list(tests))}."
            ) from error


def _without_columns(
    p: Any, q: Any, drop: Sequence[str], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    from rdiv.samples.dropping import drop_columns

    taken = {role: settings[role] for role in ("target", "groups", "strata")}
    return drop_columns(p, q, drop, taken)


def _adjusted(results: Mapping[str, TwoSampleResult]) -> dict[str, float]:
    """P-values that bound the probability of any false alarm, by Holm."""
    from rdiv.inference.multiplicity import holm

    adjusted = holm([result.pvalue for result in results.values()]).tolist()
    return dict(zip(results, adjusted, strict=True))


def _document(results: Mapping[str, TwoSampleResult], adjusted: Mapping[str, float]) -> str:
    from rdiv.results import SCHEMA, as_json

    documents = {name: result.to_dict() for name, result in results.items()}
    return as_json({"schema": SCHEMA, "results": documents, "adjusted_pvalues": dict(adjusted)})


def _summary(result: TwoSampleResult, files: str) -> Summary:
    headline, *lines = str(result).splitlines()
    remarks = _notes(result)
    return Summary(
        "rdiv test",
        headline,
        [*lines, files],
        remarks if result.rejected else [*remarks, NOT_EQUALITY],
        "yellow" if result.rejected else "none",
    )


def _summary_of_several(
    results: Mapping[str, TwoSampleResult], adjusted: Mapping[str, float], files: str
) -> Summary:
    """One line per test, with its own p-value and the adjusted one."""
    first = next(iter(results.values()))
    found = [name for name, pvalue in adjusted.items() if pvalue <= first.alpha]
    none = f"None of {len(results)} tests found a difference"
    some = f"{len(found)} of {len(results)} tests found a difference"
    headline = f"{some if found else none} at level {first.alpha:g}, adjusted for all of them by "
    headline += f"Holm{': ' if found else ''}{', '.join(found)}."
    lines = [f"{name}: {_line(result, adjusted[name])}" for name, result in results.items()]
    rows = f"{first.n_p} + {first.n_q} rows, {first.n_resamples} permutations, seed {first.seed}"
    remarks = list(dict.fromkeys(note for one in results.values() for note in _notes(one)))
    return Summary(
        "rdiv test",
        headline,
        [*lines, f"rows: {rows}", f"files: {files}"],
        remarks if found else [*remarks, NOT_EQUALITY],
        "yellow" if found else "none",
    )


def _line(result: TwoSampleResult, adjusted: float) -> str:
    from rdiv.comparison.sentences import short_label

    model = "" if result.model is None else f"; model {short_label(result.model)}"
    return f"{result.statistic:.4g}, p = {result.pvalue:.3g}, adjusted {adjusted:.3g}{model}"


def _notes(result: TwoSampleResult) -> list[str]:
    return [str(result.notes[key]) for key in ("inputs", "target", "folds") if key in result.notes]
