"""Many comparisons, of current samples or of models, with verdicts that hold for all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rdiv.comparison.compare import admit, compare
from rdiv.comparison.family import DEFAULT_RESAMPLES, Family
from rdiv.comparison.level_runs import LevelRun, joined, judge_runs, why_no_runs
from rdiv.comparison.level_samples import level_samples, rows_of, shortage
from rdiv.comparison.levels_result import Comparisons, Level
from rdiv.comparison.models import SAME
from rdiv.comparison.questions import leading_answer
from rdiv.comparison.result import Comparison
from rdiv.discrepancies.resolve import DEFAULT_FOLDS
from rdiv.errors import InputError, InputTypeError, OutOfReachError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.multiplicity import Correction
from rdiv.parallel.threads import one_thread
from rdiv.progress import counting
from rdiv.samples.arguments import check_settings
from rdiv.samples.fitting_rows import FIT_ROWS, SAMPLE_ROWS
from rdiv.samples.grouping import Design
from rdiv.samples.logged import Prediction
from rdiv.samples.missing_labels import separate_labels
from rdiv.samples.partition_pooling import in_memory_if_small
from rdiv.samples.partitions import Partitions
from rdiv.samples.pooling import resolve_seed

__all__ = ["compare_many", "compare_models"]


def compare_many(
    reference: Any,
    current: Any,
    *,
    by: str | None = None,
    correction: Correction = "holm",
    model: Any = None,
    target: str | None = None,
    prediction: Prediction = None,
    loss: str | None = None,
    retrain: Any = SAME,
    drop: str | Sequence[str] = (),
    task: str | None = None,
    folds: int | None = DEFAULT_FOLDS,
    train_share: float = 0.5,
    fit_rows: int = FIT_ROWS,
    sample_rows: int = SAMPLE_ROWS,
    groups: str | None = None,
    strata: str | None = None,
    alpha: float = 0.05,
    n_resamples: int | None = None,
    equivalence_margin: float | None = None,
    not_worse_than: float | None = None,
    drivers: bool = True,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
) -> Comparisons:
    """Compare many current samples with one reference, and judge them together.

    Parameters are those of `rdiv.compare` and apply to each level. Three or more levels are also
    tested together: consecutive levels whose mean losses all lie on one side of the reference are
    compared with it as one sample. Every level is tested at ``alpha`` divided by the number of
    levels (plus one where runs of levels are tested), so the intervals hold for all at once.

    Parameters
    ----------
    reference : sample
    current : mapping of samples, or a frame
        The current samples by name; with ``by``, one frame that holds all of them.
    by : str, optional
        Column of ``current`` whose values are the levels. It is not an input of the model.
    correction : {"holm", "bh"}
        How the p-values of the levels are adjusted: to bound the probability of any false alarm
        (Holm), or the expected share of false alarms among all alarms (Benjamini and Hochberg).
    n_resamples : int, optional
        Permutations per level. By default 999, or more where the number of levels needs more; a
        number too small to ever reject is refused.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> days = {"mon": rng.normal(size=(80, 2)), "tue": 3 * rng.normal(size=(80, 2))}
    >>> found = rdiv.compare_many(rng.normal(size=(100, 2)), days, model="gmm", rng=0)
    >>> print({level.name: level.verdict for level in found.levels})
    {'mon': 'no shift', 'tue': 'risk shift'}
    """
    check_settings(
        by=by, correction=correction, target=target, task=task, folds=folds, groups=groups,
        strata=strata, alpha=alpha, rng=rng, n_jobs=n_jobs, drop=drop, loss=loss, fit_rows=fit_rows,
        sample_rows=sample_rows, scheduler=scheduler,
        n_resamples=DEFAULT_RESAMPLES if n_resamples is None else n_resamples,
    )  # fmt: skip
    reference = in_memory_if_small(reference, "reference", sample_rows)
    if by is not None:
        current = in_memory_if_small(current, "current", sample_rows)
    reference, samples = level_samples(reference, current, by, (target, groups, strata))
    samples = {name: in_memory_if_small(one, name, sample_rows) for name, one in samples.items()}
    sizes = {name: rows_of(sample, name) for name, sample in samples.items()}
    short = {name: shortage(samples[name], rows, groups) for name, rows in sizes.items()}
    tested = [name for name in sizes if short[name] is None]
    if not tested:
        reasons = ", ".join(f"{name} has {why}" for name, why in list(short.items())[:3])
        raise InputError(f"there is no level to compare: {reasons}; give larger ones.")
    own = {name: samples[name] for name in tested}
    labels = (reference, target, loss)
    whole, no_runs = _in_a_row(own, labels, groups, strata)
    members = len(tested) + (no_runs is None)
    family = Family(members, alpha, correction, n_resamples, resolve_seed(rng))
    settings: dict[str, Any] = {
        "model": model, "target": target, "prediction": prediction, "loss": loss,
        "retrain": retrain, "drop": drop, "task": task, "folds": folds,
        "train_share": train_share, "fit_rows": fit_rows, "sample_rows": sample_rows,
        "groups": groups, "strata": strata, "drivers": drivers,
        "equivalence_margin": equivalence_margin, "not_worse_than": not_worse_than,
        "n_jobs": n_jobs, "scheduler": scheduler, **family.settings(),
    }  # fmt: skip
    found = {}
    with counting("level", len(tested)) as at:
        for place, name in enumerate(tested, 1):
            at(place)
            try:
                found[name] = _compare(f"level {name}", reference, samples[name], settings)
            except OutOfReachError as error:
                short[name] = str(error).rstrip(".")
    if not found:
        raise OutOfReachError(f"there is no level to compare: {next(iter(short.values()))}")
    run = None
    if no_runs is None:
        tested_sizes = {name: sizes[name] for name in found}
        if len(found) < len(tested):
            whole, _ = _in_a_row({name: own[name] for name in found}, labels, groups, strata)
        run = _run_of_levels(reference, whole, tested_sizes, settings, next(iter(found.values())))
    judged = family.judged(found, run)
    levels = [judged.get(name, Level(name, sizes[name], skipped=short[name])) for name in sizes]
    together = family.together(levels, by)
    return replace(together, run=family.adjusted_run(found, run), no_runs=no_runs)


def compare_models(
    reference: Any,
    current: Any,
    models: Mapping[str, Any],
    *,
    correction: Correction = "holm",
    target: str | None = None,
    retrain: Any = SAME,
    drop: str | Sequence[str] = (),
    task: str | None = None,
    folds: int | None = DEFAULT_FOLDS,
    train_share: float = 0.5,
    fit_rows: int = FIT_ROWS,
    sample_rows: int = SAMPLE_ROWS,
    groups: Design = None,
    strata: Design = None,
    alpha: float = 0.05,
    n_resamples: int | None = None,
    equivalence_margin: float | None = None,
    not_worse_than: float | None = None,
    drivers: bool = True,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
) -> Comparisons:
    """Compare two samples for several models: they may be the same for one and not for another.

    Parameters are those of `rdiv.compare` and apply to each model. The models are judged together:
    each is tested at ``alpha`` divided by their number.

    Parameters
    ----------
    reference, current : samples
    models : mapping
        Anything that `rdiv.compare` takes as ``model=``, by a name of your choice.
    correction : {"holm", "bh"}
        As for `compare_many`, over the models.

    Returns
    -------
    Comparisons
        One level per model; ``by`` is ``"model"``.

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) * [1.0, 1.6]
    >>> found = rdiv.compare_models(p, q, {"kde": "kde", "gmm": "gmm"}, rng=0)
    >>> print({level.name: level.verdict for level in found.levels})
    {'kde': 'risk shift', 'gmm': 'risk shift'}
    """
    check_settings(
        correction=correction, target=target, task=task, folds=folds, groups=groups,
        strata=strata, alpha=alpha, rng=rng, n_jobs=n_jobs, drop=drop, fit_rows=fit_rows,
        sample_rows=sample_rows, scheduler=scheduler,
        n_resamples=DEFAULT_RESAMPLES if n_resamples is None else n_resamples,
    )  # fmt: skip
    if not isinstance(models, Mapping) or not models:
        raise InputTypeError(
            "models must be a mapping of names to models, such as {'a': 'boosting', 'b': 'ridge'}, "
            f"got {type(models).__name__}."
        )
    family = Family(len(models), alpha, correction, n_resamples, resolve_seed(rng))
    settings: dict[str, Any] = {
        "target": target, "retrain": retrain, "drop": drop, "task": task, "folds": folds,
        "train_share": train_share, "fit_rows": fit_rows, "sample_rows": sample_rows,
        "groups": groups, "strata": strata, "drivers": drivers,
        "equivalence_margin": equivalence_margin, "not_worse_than": not_worse_than,
        "n_jobs": n_jobs, "scheduler": scheduler, **family.settings(),
    }  # fmt: skip
    found = {}
    with counting("model", len(models)) as at:
        for place, (name, model) in enumerate(models.items(), 1):
            at(place)
            own = {**settings, "model": model}
            found[str(name)] = _compare(f"model {name}", reference, current, own)
    return family.together(list(family.judged(found).values()), "model")


def _compare(what: str, reference: Any, current: Any, settings: dict[str, Any]) -> Comparison:
    try:
        return compare(reference, current, **settings)
    except OutOfReachError:
        raise
    except ValueError as error:
        raise InputError(f"{what}: {error}") from error


def _in_a_row(
    samples: Mapping[str, Any],
    labels: tuple[Any, str | None, str | None],
    groups: str | None,
    strata: str | None,
) -> tuple[Any, str | None]:
    """All levels as one sample, or why they are not tested in a row."""
    why = why_no_runs(samples, groups=groups, strata=strata)
    if why is not None:
        return None, why
    try:
        whole = joined(list(samples.values()))
    except ValueError:
        return None, "levels with different columns or types"
    reference, target, loss = labels
    if isinstance(reference, Partitions):
        reference = reference.first().to_native()
    found = separate_labels(reference, whole, target=target, loss=loss)
    if found is not None and found.labels != "all":
        return None, "rows without labels"
    return whole, None


def _run_of_levels(
    reference: Any,
    whole: Any,
    sizes: Mapping[str, int],
    settings: Mapping[str, Any],
    one: Comparison,
) -> LevelRun | None:
    """Test consecutive levels together, by the model that the verdict of a level is about."""
    task = one.notes["task"]
    names = ("model", "target", "prediction", "loss", "retrain", "drop", "folds", "groups")
    given = {
        name: settings[name]
        for name in (*names, "strata", "rng", "n_jobs", "fit_rows", "sample_rows")
    }
    permutations = PermutationSettings(settings["alpha"], settings["n_resamples"])
    with one_thread():
        admitted = admit(
            reference, whole,
            task=settings["task"] if task == "density" else task, **given,
        )  # fmt: skip
        share, pooled = settings["train_share"], admitted.pooled
        answer = leading_answer(admitted.models, pooled, permutations, train_share=share)
        return judge_runs(answer, sizes, permutations)
