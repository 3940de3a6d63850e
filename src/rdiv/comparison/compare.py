"""compare: whether a model does as well on a current table as on a reference, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.asked import Asked, input_test, require_held_out
from rdiv.comparison.expected_comparison import check_learnable, compare_unlabelled, has_inputs
from rdiv.comparison.loss_summary import summarise_losses
from rdiv.comparison.margins import check_margins, margin_tests
from rdiv.comparison.models import SAME, Models, choose_models
from rdiv.comparison.partly_labelled import with_unlabelled_rows
from rdiv.comparison.questions import Answer, Answers, ask, limited_fits
from rdiv.comparison.result import Comparison
from rdiv.comparison.sensitivity import detectable_gap
from rdiv.comparison.sentences import USERS_WORD
from rdiv.comparison.verdicts import closed_testing, verdict_of
from rdiv.comparison.warnings import data_warnings
from rdiv.comparison.why import Why, explain
from rdiv.discrepancies.resolve import DEFAULT_FOLDS
from rdiv.drivers import (
    SearchedRows,
    find_drivers,
    moved_columns,
    rows_to_search,
    unusual_rows,
)
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.intervals import Interval, critical_value
from rdiv.inference.widened import widened_interval
from rdiv.models import Frozen, Trained
from rdiv.parallel.spreading import spread_over
from rdiv.parallel.threads import one_thread
from rdiv.remarks import IN_SAMPLE
from rdiv.results import TwoSampleResult
from rdiv.samples.arguments import check_settings
from rdiv.samples.copies import identical
from rdiv.samples.dropping import drop_columns
from rdiv.samples.fitting_rows import FIT_ROWS, SAMPLE_ROWS, prepared_on
from rdiv.samples.grouping import Design
from rdiv.samples.logged import Prediction
from rdiv.samples.missing_labels import Labels, labels_in_tables, separate_labels
from rdiv.samples.partition_pooling import surveyed, tables_of, whole_frames
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.pooled import LookedAt
from rdiv.samples.pooling import (
    PooledSamples,
    pool_samples,
    pool_surveyed,
    pool_unlabelled,
    resolve_seed,
)
from rdiv.samples.sample import has_target
from rdiv.two_sample import check_level, check_samples

__all__ = ["Admitted", "Comparison", "admit", "compare", "compare_admitted"]


@dataclass(frozen=True, eq=False)
class Admitted:
    """The models of a comparison, and its samples.

    Parameters
    ----------
    models : Models
    pooled : PooledSamples
        The reference and the current rows that have labels; all current rows where none has one.
    labels : {"all", "some", "none"}, optional
    known : (n_q,) mask, optional
        Which rows of current have a label, where some lack one.
    everything : PooledSamples, optional
        Reference and all current rows, blind to labels, where some rows lack one.
    """

    models: Models
    pooled: PooledSamples
    labels: Labels | None
    known: NDArray[np.bool_] | None = None
    everything: PooledSamples | None = None


def compare(
    reference: Any,
    current: Any,
    *,
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
    groups: Design = None,
    strata: Design = None,
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    equivalence_margin: float | None = None,
    not_worse_than: float | None = None,
    drivers: bool = True,
) -> Comparison:
    """Compare two datasets for your model: does it do worse, and what would retraining change.

    Three questions are asked and judged together. *In use*: does a model that knows the reference
    only do worse on current? *R-div*: is current harder even for one model trained on both?
    *Score*: would the two samples still train different models?

    Current rows may lack the target (or the logged loss): the column may be absent or have empty
    cells, and beside a pair (X, y) current may be X alone or have a y with missing values. Where no
    row has a label, the loss to be expected of the model in use is compared; where some have one,
    the questions are asked of these, and the gap is that of all rows.

    Parameters
    ----------
    reference, current : array, frame, tensor, dataset, pair (X, y), or table in partitions
        The data that the model was built for, and the data that it gets now. Tables that do not
        fit into memory: `rdiv.scan`, a polars LazyFrame, a Dask DataFrame, a pyarrow Dataset, or a
        function that returns an iterator of Arrow batches.
    model : str, Model or estimator, optional
        A name in ``rdiv.models.BY_NAME``, an estimator or a torch module: rdiv trains it, on part
        of the reference for the first question and on both samples for the others. Or the model in
        use itself: ``rdiv.models.Frozen(model, trained_on="neither")``. By default boosting when
        there is a target, else the density of mixed tables (pca for images).
    target : str, optional
        Name of the target column of frames.
    prediction : str or mapping, optional
        The model in use by its logged predictions: a column of values (regression), of
        probabilities of the last class (two classes) or of predicted classes; or a mapping of
        every class to its column of probabilities. It is not an input.
    loss : str, optional
        The model in use by its logged losses: the column that holds the loss of each row. It is
        not an input. Without a target only the first question is asked.
    retrain : str, Model, estimator or None
        The model of the shared questions when the model in use is given: ``"same"`` (an unfitted
        copy where that is possible, else the default), a name or a model. None does not ask them.
    drop : str or sequence of str
        Columns to leave out, such as dates and ids.
    task : {"classification", "regression"}, optional
        Overrides the guess from the target.
    folds : int or None
        Folds of the shared model, whose losses are out of fold. None takes in-sample losses, which
        give no interval.
    train_share : float
        Share of the reference that trains the model in use, where rdiv trains it; the rest is
        compared with current. With fewer than 50 rows to train on this question is not asked.
    fit_rows : int
        Of more rows than this, models are fitted to so many, chosen by a hash of their content
        (``kde`` to at most 20 000); all rows are still judged. Folds then follow from the rows'
        keys, or those of their groups.
    sample_rows : int
        Of more rows than this, so many, chosen in the same way, are kept in memory and looked at
        for the score question, the inputs and what carries the shift. The gaps, their tests and
        their intervals are those of all rows; without labels on current, the test is, and the gap
        to be expected is that of the rows that are looked at.
    groups, strata : str or pair of arrays, optional
        Groups: rows that belong together and are permuted as one unit. Strata: rows are permuted
        within each stratum only.
    alpha : float
        Level of the verdict, for all questions together.
    n_resamples : int
        Random permutations.
    rng : int or Generator, optional
        Seed; the same seed gives the same result. None draws one and records it.
    n_jobs : int, optional
        Tasks at a time; the result does not depend on it.
    scheduler : str, optional
        Address of a Dask scheduler whose workers read tables in partitions, compute losses and
        permute; ``local:N`` starts N workers here. The result does not depend on it.
    equivalence_margin : float, optional
        Test whether the gap lies between minus this margin and this margin, in units of the loss.
    not_worse_than : float, optional
        Test whether the loss on current is higher by less than this margin.
    drivers : bool
        Say why: split the gap into the part that moved inputs explain and the part that a changed
        relation does, and look for the rows, slices and columns that carry it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> print(rdiv.compare(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), rng=0).verdict)
    no shift

    Without labels on current:

    >>> x = rng.normal(size=(900, 2))
    >>> y = np.exp(x[:, 0]) * rng.normal(size=900)  # harder to predict where x is large
    >>> found = rdiv.compare((x[:600], y[:600]), x[600:] + [1, 0], model="ridge", rng=0)
    >>> print(found.labels, found.verdict, found.direction)
    none expected risk shift worse
    """
    check_settings(
        target=target, task=task, folds=folds, groups=groups, strata=strata, rng=rng,
        n_jobs=n_jobs, equivalence_margin=equivalence_margin, not_worse_than=not_worse_than,
        drivers=drivers, drop=drop, loss=loss, train_share=train_share, fit_rows=fit_rows,
        sample_rows=sample_rows, scheduler=scheduler,
    )  # fmt: skip
    check_level(alpha, n_resamples)
    check_margins(equivalence_margin, not_worse_than)
    with one_thread(), spread_over(n_jobs, scheduler):
        admitted = admit(
            reference, current, model=model, target=target, prediction=prediction, loss=loss,
            retrain=retrain, drop=drop, task=task, folds=folds, groups=groups, strata=strata,
            rng=rng, n_jobs=n_jobs, fit_rows=fit_rows, sample_rows=sample_rows,
        )  # fmt: skip
        asked = Asked(
            PermutationSettings(alpha, n_resamples, n_jobs), train_share, equivalence_margin,
            not_worse_than, drivers, sample_rows,
        )  # fmt: skip
        return compare_admitted(admitted, asked)


def admit(
    reference: Any,
    current: Any,
    *,
    model: Any,
    target: str | None,
    prediction: Prediction,
    loss: str | None,
    retrain: Any,
    drop: str | Sequence[str],
    task: str | None,
    folds: int | None,
    groups: Design,
    strata: Design,
    rng: int | np.random.Generator | None,
    n_jobs: int | None,
    fit_rows: int | None = None,
    sample_rows: int | None = None,
) -> Admitted:
    """The models of a comparison, and its two samples as one pool; settings as in `compare`."""
    models = choose_models(
        model, prediction=prediction, loss=loss, retrain=retrain, folds=folds,
        supervised=has_target(reference, target), n_jobs=n_jobs,
    )  # fmt: skip
    taken = {"target": target, "groups": groups, "strata": strata, "loss": loss}
    reference, current = drop_columns(reference, current, drop, {**taken, "prediction": prediction})
    settings: dict[str, Any] = {
        "task": task, "prediction": prediction, "loss": loss, "rng": resolve_seed(rng),
        "kind": models.kind,
    }  # fmt: skip

    def admitted(pooled: PooledSamples, *labels: Any) -> Admitted:
        pool = prepared_on(pooled.pool, fit_rows)
        return Admitted(replace(models, fit_rows=fit_rows), replace(pooled, pool=pool), *labels)

    tables = tables_of(reference, current)
    if tables is not None:
        few = SAMPLE_ROWS if sample_rows is None else sample_rows
        named = {"target": target, "loss": loss}
        sides = surveyed(tables, few, tuple(name for name in named.values() if name is not None))
        if sides[0].frames is None:
            labels = labels_in_tables(*sides, named)
            if labels == "none":
                check_learnable(models.given, bool(set(sides[0].columns) - {target, loss}))
            pools = pool_surveyed(
                *sides, "all" if labels is None else labels, target=target, groups=groups,
                strata=strata, **settings,
            )  # fmt: skip
            pooled, everything = pools.pooled, pools.everything
            if len(pooled.pool) <= few:  # those with labels may be few
                pooled = pooled.at_hand()
            if labels == "all" and pooled.pool.y is None:
                labels = None
            return admitted(pooled, labels, pools.known, everything)
        reference, current = whole_frames(*sides)
    found = separate_labels(
        reference, current, target=target, loss=loss, groups=groups, strata=strata
    )
    if found is None or found.labels == "all":
        pooled = pool_samples(
            reference, current, target=target, groups=groups, strata=strata, **settings
        )
        return admitted(pooled, None if pooled.pool.y is None else "all")
    if found.labels == "none":
        check_learnable(models.given, has_inputs(found.current))
        pooled = pool_unlabelled(
            found.reference, found.current, groups=groups, strata=strata, **settings
        )
        return admitted(pooled, "none", found.known)
    own_groups, own_strata = found.designs
    pooled = pool_samples(
        found.reference, found.labelled, groups=own_groups, strata=own_strata, **settings
    )
    places = np.where(pooled.is_p, 0, pooled.places)
    places = np.where(pooled.is_p, pooled.places, np.flatnonzero(found.known)[places])
    pooled = replace(pooled, places=places)  # in the table that was given
    settings["task"] = None if pooled.pool.task == "density" else pooled.pool.task
    everything = pool_unlabelled(
        found.reference, found.current, groups=groups, strata=strata,
        classes=pooled.pool.classes, **settings,
    )  # fmt: skip
    return admitted(pooled, "some", found.known, everything)


def compare_admitted(admitted: Admitted, asked: Asked) -> Comparison:
    """Compare samples that have come through the door, whatever labels current has."""
    if admitted.labels == "none":
        return compare_unlabelled(admitted.models, admitted.pooled, asked, admitted.known)
    return compare_pooled(admitted, asked)


def compare_pooled(admitted: Admitted, asked: Asked) -> Comparison:
    """Compare samples of which both have labels, or neither needs any."""
    models, pooled, settings = admitted.models, admitted.pooled, asked.settings
    check_samples(pooled, settings.alpha)
    looked = pooled.looked_at(asked.sample_rows)
    inputs = input_test(looked.samples, settings)  # its distances go before gradients come
    answers = ask(
        models, pooled, settings, train_share=asked.train_share, looked=looked,
        drivers=asked.drivers,
        last=admitted.everything is None and not isinstance(models.given, Frozen | Trained),
    )  # fmt: skip
    leading = answers.leading
    seen = leading.within(looked) if asked.drivers else None
    searched = None
    if seen is not None:
        searched = rows_to_search(seen.samples, answers.score, answers.score_rows(seen))
    answers = replace(answers, score=None)  # the gradients of all rows are not needed any more
    said = data_warnings(pooled, answers, models, looked.samples)
    if isinstance(pooled.pool.rows, PartitionedRows) and admitted.everything is None:
        pooled.pool.rows.table.forget_keys()  # what follows needs memory of its own
    found = replace(
        _judge(answers, pooled, settings.alpha),
        input_test=inputs,
        warnings=said,
        labels=admitted.labels,
    )
    notes = limited_fits(models, pooled, answers)
    if not looked.whole:
        notes["sample rows"] = (
            f"score, inputs and drivers looked at {len(looked.rows)} of {looked.total} rows"
        )
    if models.given is not None and not isinstance(models.given, Trained):
        notes["trained on"] = USERS_WORD
    found = replace(found, notes={**found.notes, **notes})
    if asked.margins:
        require_held_out(leading.held_out)
        shown = margin_tests(
            leading.prepared, leading.samples, settings.alpha,
            equivalence_margin=asked.equivalence_margin, not_worse_than=asked.not_worse_than,
        )  # fmt: skip
        found = replace(found, equivalence=shown[0], not_worse=shown[1])
    if admitted.everything is not None and admitted.known is not None:
        found = with_unlabelled_rows(
            found, answers, admitted.everything, admitted.known, settings,
            moved=asked.sample_rows if asked.drivers else None,
        )  # fmt: skip
    if seen is None or searched is None:
        return found
    why = explain(None if answers.in_use is None else seen, settings.alpha)
    return _explained(found, seen, why, searched, looked, settings)


def _explained(
    found: Comparison,
    leading: Answer,
    why: Why,
    searched: SearchedRows,
    looked: LookedAt,
    settings: PermutationSettings,
) -> Comparison:
    """The same with what carries the shift: inputs or relation, columns, slices and rows."""
    pooled = looked.samples
    carriers = find_drivers(
        leading.losses, leading.samples, settings, held_out=leading.held_out, searched=searched,
        expected=why.expected, columns=why.columns, masks=leading.prepared.masks,
        row_weights=None if why.split is None else why.split.weights,
    )  # fmt: skip
    unusual, said = unusual_rows(pooled, settings)
    about = dict(carriers.notes) | ({} if said is None else {"unusual": said})
    carriers = replace(carriers, unusual=unusual, notes=about)
    notes = dict(found.notes) | ({} if why.note is None else {"split": why.note})
    moved = moved_columns(pooled, settings)
    return replace(found, drivers=carriers, split=why.split, input_columns=moved, notes=notes)


def _judge(answers: Answers, pooled: PooledSamples, alpha: float) -> Comparison:
    """The verdict over all questions, and the gaps with their intervals."""
    results, leading = answers.results, answers.leading
    name = "r-div" if answers.in_use is None else "in-use"
    adjusted, together = closed_testing(results)
    verdict = verdict_of(adjusted, together, alpha, name)
    gap = leading.gap()[0]
    used = _gap(answers.in_use, results.get("in-use"), alpha)
    shared = _gap(answers.shared, results.get("r-div"), alpha)
    return Comparison(
        verdict=verdict,
        pvalue=together,
        gap=used[0],
        gap_interval=used[1],
        shared_gap=shared[0],
        shared_gap_interval=shared[1],
        retraining=answers.retraining(alpha),
        direction=("worse" if gap > 0 else "better") if verdict == "risk shift" else None,
        smallest_detectable_gap=detectable_gap(answers, name, alpha),
        results=results,
        adjusted_pvalues=adjusted,
        losses=summarise_losses(leading.losses, leading.samples.is_p),
        notes=_notes(answers, pooled, alpha),
    )


def _gap(
    answer: Answer | None, result: TwoSampleResult | None, alpha: float
) -> tuple[float | None, Interval | None]:
    """The gap of one question, and its interval where the losses are held out."""
    if answer is None or result is None:
        return None, None
    gap, error = answer.gap()
    if not answer.held_out:
        return gap, None
    critical = critical_value(result.null_distribution, alpha)
    return gap, widened_interval(gap, error, critical, answer.shape(alpha), alpha)


def _notes(answers: Answers, pooled: PooledSamples, alpha: float) -> dict[str, Any]:
    notes = {"task": pooled.pool.task, **answers.notes, "loss": answers.leading.loss}
    asymptotic = _asymptotic(answers, alpha)
    if asymptotic:
        notes["asymptotic"] = asymptotic
    if answers.shared is not None:
        notes["shared loss"] = answers.shared.loss
        if not answers.shared.held_out:
            notes["interval"] = IN_SAMPLE
    if pooled.pool.classes is not None:
        notes["classes"] = [str(label) for label in pooled.pool.classes.tolist()]
    if identical(pooled):
        notes["identical"] = True
    return notes


def _asymptotic(answers: Answers, alpha: float) -> dict[str, str]:
    """The intervals that are asymptotic, with the reason: a small or a very skewed side."""
    asked = {"gap_interval": answers.in_use, "shared_gap_interval": answers.shared}
    return {
        name: why
        for name, answer in asked.items()
        if answer is not None
        and answer.held_out
        and (why := answer.shape(alpha).why_asymptotic()) is not None
    }
