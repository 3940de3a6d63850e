"""Many comparisons, of current samples or of models, with verdicts that hold for all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.compare import admit, compare
from rdiv.comparison.level_runs import LevelRun, joined, judge_runs, why_no_runs
from rdiv.comparison.levels_result import Comparisons, Level
from rdiv.comparison.models import SAME
from rdiv.comparison.questions import leading_answer
from rdiv.comparison.result import Comparison
from rdiv.comparison.verdicts import verdict_of
from rdiv.discrepancies.resolve import DEFAULT_FOLDS
from rdiv.errors import InputError, InputTypeError, OutOfReachError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.multiplicity import CORRECTIONS, Correction
from rdiv.names import chosen_from
from rdiv.progress import counting
from rdiv.samples.arguments import check_settings
from rdiv.samples.fitting_rows import FIT_ROWS, SAMPLE_ROWS
from rdiv.samples.frames import as_frame, is_frame, python_values
from rdiv.samples.grouping import FEWEST_UNITS, Design
from rdiv.samples.logged import Prediction
from rdiv.samples.partition_pooling import in_memory_if_small
from rdiv.samples.partitions import Partitions
from rdiv.samples.pooling import resolve_seed
from rdiv.samples.sample import as_sample
from rdiv.threads import one_thread

__all__ = ["FEWEST_ROWS", "Family", "compare_many", "compare_models", "permutations_for"]

FEWEST_ROWS = 20
"""A level with fewer rows is skipped: no test of so few rows is informative."""

DEFAULT_RESAMPLES = 999


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
    reference, samples = _levels(reference, current, by, (target, groups, strata))
    samples = {name: in_memory_if_small(one, name, sample_rows) for name, one in samples.items()}
    sizes = {name: _rows_of(sample, name) for name, sample in samples.items()}
    short = {name: _shortage(samples[name], rows, groups) for name, rows in sizes.items()}
    tested = [name for name in sizes if short[name] is None]
    if not tested:
        reasons = ", ".join(f"{name} has {why}" for name, why in list(short.items())[:3])
        raise InputError(f"there is no level to compare: {reasons}; give larger ones.")
    own = {name: samples[name] for name in tested}
    whole, no_runs = _in_a_row(own, groups, strata)
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
            whole, _ = _in_a_row({name: own[name] for name in found}, groups, strata)
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


@dataclass(frozen=True)
class Family:
    """Comparisons that are judged together.

    Parameters
    ----------
    size : int
        How many there are; the runs of levels count as one more.
    alpha : float
        Level of all of them together.
    correction : {"holm", "bh"}
    asked : int, optional
        Permutations asked for; as many as are needed without it.
    seed : int
    """

    size: int
    alpha: float
    correction: Correction
    asked: int | None
    seed: int

    def __post_init__(self) -> None:
        chosen_from(CORRECTIONS, self.correction, "correction")

    @property
    def n_resamples(self) -> int:
        """Permutations of each comparison."""
        return permutations_for(self.size, self.alpha, self.asked)

    def settings(self) -> dict[str, Any]:
        """What each comparison is run with."""
        share = self.alpha / self.size
        return {"alpha": share, "n_resamples": self.n_resamples, "rng": self.seed}

    def judged(
        self, found: Mapping[str, Comparison], run: LevelRun | None = None
    ) -> dict[str, Level]:
        """A level for each comparison, with p-values and a verdict that hold for all together."""
        lines = self._adjusted(list(found.values()), run)
        return {
            name: _level(name, one, adjusted, self.alpha)
            for (name, one), adjusted in zip(found.items(), lines, strict=True)
        }

    def adjusted_run(
        self, found: Mapping[str, Comparison], run: LevelRun | None
    ) -> LevelRun | None:
        """The run of levels with its p-value adjusted for all levels."""
        if run is None:
            return None
        whole = self._wholes(list(found.values()), run)
        return replace(run, adjusted_pvalue=float(whole[-1]), alpha=self.alpha)

    def _wholes(self, found: Sequence[Comparison], run: LevelRun | None) -> NDArray[np.float64]:
        """Adjusted p-values of all levels, and last that of the runs where these are tested."""
        pvalues = [one.pvalue for one in found]
        if self.size > len(pvalues):
            pvalues.append(1.0 if run is None else run.pvalue)
        return CORRECTIONS[self.correction](pvalues)

    def _adjusted(
        self, found: Sequence[Comparison], run: LevelRun | None
    ) -> list[dict[str, float]]:
        """P-values of every level, adjusted for all levels and questions, by question.

        Whether a level shifted at all is decided by the p-value of all its questions,
        ``"together"``, adjusted over the levels (and the runs of them, as one more member). Its
        questions are then judged by its own closed testing, at alpha over the number of members (so
        that no question of any level is claimed wrongly with more than probability alpha), or, when
        Benjamini and Hochberg select R of L members, at R / L of alpha (Benjamini and Bogomolov
        2014).
        """
        whole = self._wholes(found, run)
        selected = 1 if self.correction == "holm" else max(int((whole <= self.alpha).sum()), 1)
        factor = len(whole) / selected
        return [
            {"together": float(value)}
            | {
                name: float(min(1.0, max(factor * pvalue, value)))
                for name, pvalue in one.adjusted_pvalues.items()
            }
            for one, value in zip(found, whole, strict=False)
        ]

    def together(self, levels: Sequence[Level], by: str | None) -> Comparisons:
        """The result of all levels, those that were skipped included."""
        draws = self.n_resamples
        raised = self.asked is None and draws > DEFAULT_RESAMPLES
        return Comparisons(
            tuple(levels), self.correction, self.alpha, draws, self.seed, by, raised,
            no_runs="one pair of samples",
        )  # fmt: skip


def permutations_for(levels: int, alpha: float, asked: int | None) -> int:
    """Number of permutations with which a shift can be found in each of that many levels.

    Examples
    --------
    >>> print(permutations_for(4, 0.05, None), permutations_for(40, 0.05, None))
    999 3999
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1, got {alpha}.")
    least = ceil(levels / alpha - 1e-9) - 1
    if (
        asked is None
    ):  # five times the minimum, so that a p-value above the smallest possible one can reject too
        return max(DEFAULT_RESAMPLES, 5 * (least + 1) - 1)
    if asked < least:
        raise InputError(
            f"{asked} permutations can never find a shift among {levels} tests at alpha = "
            f"{alpha:g}; use at least {least}, or leave the number out."
        )
    return asked


def _levels(
    reference: Any, current: Any, by: str | None, taken: Sequence[str | None]
) -> tuple[Any, Mapping[str, Any]]:
    """The reference and the current samples by name, without the column of levels."""
    if by is None:
        if not isinstance(current, Mapping) or not current:
            raise InputTypeError(
                "current must be a mapping of names to samples, or a frame and by= the name of a "
                f"column, got {type(current).__name__}."
            )
        return reference, {str(name): sample for name, sample in current.items()}
    if isinstance(current, Partitions):
        raise InputError(
            f"by={by!r} splits a current table in memory, and this one has more rows than "
            "sample_rows; give one table for each level instead."
        )
    if not is_frame(current) or not (is_frame(reference) or isinstance(reference, Partitions)):
        raise InputTypeError(f"by={by!r} names a column of a frame, got arrays; pass frames.")
    if by in taken:
        raise InputError(f"by={by!r} is the target, groups or strata column; choose another one.")
    if isinstance(reference, Partitions):
        return reference.without([by]), _split(as_frame(current), by)
    reference = as_frame(reference)
    reference = reference.drop(by) if by in reference.columns else reference
    return reference.to_native(), _split(as_frame(current), by)


def _split(current: Any, by: str) -> dict[str, Any]:
    if by not in current.columns:
        raise InputError(f"the column {by!r} of by= is not in current; check the name.")
    places: dict[Any, list[int]] = {}
    for row, value in enumerate(python_values(current[by])):
        places.setdefault(value, []).append(row)
    ordered = [*sorted(value for value in places if value is not None)]
    ordered += [None] if None in places else []
    inputs = current.drop(by)
    return {_name(value): inputs[np.array(places[value])].to_native() for value in ordered}


def _rows_of(sample: Any, name: str) -> int:
    if isinstance(sample, Partitions) and sample.rows is not None:
        return sample.rows
    return len(as_sample(sample, name).x)


def _name(value: Any) -> str:
    if value is None:
        return "(missing)"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _compare(what: str, reference: Any, current: Any, settings: dict[str, Any]) -> Comparison:
    try:
        return compare(reference, current, **settings)
    except OutOfReachError:
        raise
    except ValueError as error:
        raise InputError(f"{what}: {error}") from error


def _in_a_row(
    samples: Mapping[str, Any], groups: str | None, strata: str | None
) -> tuple[Any, str | None]:
    """All levels as one sample, or why they are not tested in a row."""
    why = why_no_runs(samples, groups=groups, strata=strata)
    if why is not None:
        return None, why
    try:
        return joined(list(samples.values())), None
    except ValueError:
        return None, "levels with different columns or types"


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
        models, pooled = admit(
            reference, whole,
            task=settings["task"] if task == "density" else task, **given,
        )  # fmt: skip
        share = settings["train_share"]
        answer = leading_answer(models, pooled, permutations, train_share=share)
        return judge_runs(answer, sizes, permutations)


def _level(name: str, one: Comparison, adjusted: dict[str, float], alpha: float) -> Level:
    questions = {name: pvalue for name, pvalue in adjusted.items() if name != "together"}
    verdict = verdict_of(questions, adjusted["together"], alpha, one.leading)
    rows = one.results[one.leading].n_q
    return Level(name, rows, verdict=verdict, adjusted_pvalues=adjusted, comparison=one)


def _shortage(sample: Any, rows: int, groups: str | None) -> str | None:
    """Why a level is too small to be compared, if it is."""
    if rows < FEWEST_ROWS:
        return f"{rows} rows, fewer than the {FEWEST_ROWS} that a level needs"
    if groups is None or not is_frame(sample) or groups not in as_frame(sample).columns:
        return None
    units = as_frame(sample)[groups].n_unique()
    if units < FEWEST_UNITS:
        return f"{units} group, fewer than the {FEWEST_UNITS} that a level needs"
    return None
