"""The two-sample test, from samples to result: pool, fit, numbers per row, permutations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies import BY_NAME
from rdiv.discrepancies.members import combined
from rdiv.discrepancies.protocol import FromFit, how_it_learns, model_of, train_share_of
from rdiv.discrepancies.r_divergence import RDivergence
from rdiv.discrepancies.resolve import choose
from rdiv.discrepancies.score import Score, has_gradients
from rdiv.errors import InputError
from rdiv.inference.engine import (
    Null,
    PermutationSettings,
    allowed_exceedances,
    permutation_pvalue,
    permute,
)
from rdiv.inference.halving import Halves, halves, mask_digest
from rdiv.inference.packed import KeptMasks
from rdiv.inference.prepared import Prepared
from rdiv.inference.reach import check_reach
from rdiv.inference.reference_part import reference_part, rows_to_compare
from rdiv.models import BY_NAME as MODELS
from rdiv.models import Model
from rdiv.models.cross_fit import PlannedFits
from rdiv.models.protocol import (
    FittedModel,
    fit_model,
    gradients_of,
    most_rows,
    residuals_of,
)
from rdiv.names import spelled
from rdiv.parallel.threads import one_thread
from rdiv.results import TwoSampleResult
from rdiv.row_blocks import place_type
from rdiv.samples.arguments import check_settings
from rdiv.samples.fitting_rows import prepared_on
from rdiv.samples.grouping import FEWEST_UNITS, Design
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.pool import Pool
from rdiv.samples.pooled import LookedAt
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.samples.sample import has_target

__all__ = [
    "ReferenceSplit",
    "check_level",
    "check_samples",
    "labels",
    "part_of_reference",
    "prepare",
    "r_divergence",
    "run_fitted",
    "run_learned",
    "run_model_tests",
    "run_test",
    "split_reference",
    "two_sample_test",
]


def two_sample_test(
    p: Any,
    q: Any,
    discrepancy: Any = "r-div",
    *,
    model: Any = None,
    target: str | None = None,
    task: str | None = None,
    folds: int | None = None,
    groups: Design = None,
    strata: Design = None,
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> TwoSampleResult:
    """Test whether two samples come from one distribution, by one discrepancy.

    Parameters
    ----------
    p, q : array, frame, tensor, dataset, or pair (X, y)
        The samples; sizes may differ. Columns of frames are matched by name.
    discrepancy : str or Discrepancy
        A name in ``rdiv.discrepancies.BY_NAME`` or an object.
    model : str, Model or estimator, optional
        The model to fit, for a discrepancy that has one; see `rdiv.models.as_model`. By default
        boosting in 5 folds when there is a target, else the density of mixed tables (pca for
        images).
    target : str, optional
        Name of the target column of frames.
    task : {"classification", "regression"}, optional
        Overrides the guess from the target.
    folds : int, optional
        Use out-of-fold losses from this many folds; None is the paper's in-sample loss.
    groups, strata : str or pair of arrays, optional
        Groups: rows that belong together and are permuted as one unit. Strata: rows are permuted
        within each stratum only.
    alpha : float
        Level of the test.
    n_resamples : int
        Random permutations.
    rng : int or Generator, optional
        Seed; the same seed gives the same result. None draws one and records it.
    n_jobs : int, optional
        Tasks at a time; the result does not depend on it.

    Returns
    -------
    TwoSampleResult

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 2)), rng.normal(size=(150, 2)) * [1.0, 1.5]
    >>> result = rdiv.two_sample_test(p, q, model="kde", rng=1)
    >>> print(result.rejected, result.pvalue)
    True 0.002
    """
    check_settings(
        target=target, task=task, folds=folds, groups=groups, strata=strata, rng=rng, n_jobs=n_jobs
    )
    check_level(alpha, n_resamples)
    settings = PermutationSettings(alpha, n_resamples, n_jobs)
    supervised = has_target(p, target)
    choice = choose(discrepancy, model=model, folds=folds, supervised=supervised, n_jobs=n_jobs)
    with one_thread():
        pooled = pool_samples(
            p, q, target=target, task=task, groups=groups, strata=strata, rng=rng, kind=choice.kind
        )
        test = choice.build(pooled.pool)
        return run_test(test, pooled, settings, notes=choice.notes)[0]


def r_divergence(
    p: Any,
    q: Any,
    *,
    model: Any = None,
    target: str | None = None,
    task: str | None = None,
    folds: int | None = None,
    rng: int | np.random.Generator | None = None,
) -> float:
    """R-divergence of two samples: the gap of one pooled model's mean losses (Algorithm 1).

    Parameters are those of `rdiv.two_sample_test`, whose ``statistic`` this is.

    Examples
    --------
    >>> import rdiv
    >>> from sklearn.linear_model import LinearRegression
    >>> p = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> q = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 4.0])
    >>> print(round(rdiv.r_divergence(p, q, model=LinearRegression(), rng=0), 3))
    0.5
    """
    check_settings(target=target, task=task, folds=folds, rng=rng)
    choice = choose("r-div", model=model, folds=folds, supervised=has_target(p, target))
    with one_thread():
        pooled = pool_samples(p, q, target=target, task=task, rng=rng, kind=choice.kind)
        prepared = prepare(choice.build(pooled.pool), pooled.pool, pooled.stream("fit"))
    statistic = prepared.observe(pooled.is_p).statistic
    assert statistic is not None
    return statistic


def run_test(
    discrepancy: Any,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    notes: Mapping[str, Any] | None = None,
) -> tuple[TwoSampleResult, Prepared]:
    """Test a pool; return the result and the numbers per row."""
    how = how_it_learns(discrepancy)
    if how == "reference":
        split = split_reference(pooled, train_share_of(discrepancy))
        check_samples(split.tested, settings.alpha)
        learned = split.learned(discrepancy)
        return run_learned(discrepancy, learned, split, pooled, settings, notes=notes)
    text, model = labels(discrepancy)
    directed = getattr(discrepancy, "directed", True)  # a test of your own may take sides
    said, tested = {**_basics(pooled.pool), **(notes or {})}, pooled
    if how == "halves":
        learn, test = halves_of(pooled.pool, pooled.is_p, pooled.stream("halves"))
        rows = pooled.part(learn)
        tested = pooled.part(test, (*pooled.entropy, _learned(learn, pooled.is_p)))
        check_samples(tested, settings.alpha, directed=directed)
        discrepancy = discrepancy.learn(rows.pool, rows.is_p, pooled.stream("learn"))
        said["rows tested"] = len(test)
    check_samples(tested, settings.alpha, directed=directed)
    prepared = prepare(discrepancy, tested.pool, tested.stream("fit"))
    run = _Run(pooled, tested, settings, said)
    return run.result(prepared, run.permuted(prepared), text, model), prepared


def run_fitted(
    discrepancy: FromFit,
    fitted: FittedModel,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    notes: Mapping[str, Any] | None = None,
    keep: bool = False,
) -> tuple[TwoSampleResult, Prepared]:
    """Test a discrepancy whose model is fitted already; `keep` keeps its permutations."""
    text, model = labels(discrepancy)
    run = _Run(pooled, pooled, settings, {**_basics(pooled.pool), **(notes or {})})
    return run.tested_by(discrepancy.from_fit(fitted, pooled.pool), text, model, keep=keep)


def run_learned(
    discrepancy: Any,
    learned: Any,
    split: ReferenceSplit,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    notes: Mapping[str, Any] | None = None,
    keep: bool = False,
) -> tuple[TwoSampleResult, Prepared]:
    """Test what a discrepancy has learned from part A on the rows that are left.

    With `keep` the permutations are kept, for other numbers of the same rows.
    """
    text, model = labels(discrepancy)
    counts = {"rows trained on": len(split.train), "rows tested": len(split.rows)}
    own = getattr(discrepancy, "model", None)
    most = most_rows(getattr(own, "model", own), getattr(discrepancy, "fit_rows", None))
    if most is not None and most < len(split.train):
        counts["rows fitted to"] = most
    run = _Run(pooled, split.tested, settings, {**_basics(pooled.pool), **(notes or {}), **counts})
    prepared = prepare(learned, split.tested.pool, split.tested.stream("fit"))
    return run.tested_by(prepared, text, model, keep=keep)


def _basics(pool: Pool) -> dict[str, Any]:
    """Notes of every result: the task, and the columns that could not be read."""
    return {"task": pool.task, **({"left out": list(pool.left_out)} if pool.left_out else {})}


def run_model_tests(
    model: Model,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    notes: Mapping[str, Any] | None = None,
    fit_rows: int | None = None,
    looked: LookedAt | None = None,
    keep: bool = False,
    last: bool = False,
    planned: PlannedFits | None = None,
) -> tuple[dict[str, TwoSampleResult], dict[str, Prepared]]:
    """R-div, score and omnibus of one model, from one fit and the same permutations.

    A model without gradients has r-div alone. The results are the same as those of separate tests;
    the numbers per row are returned with them. Where only some rows are looked at, score has the
    gradients of those, and the masks of all rows restricted to them. With `keep` r-div keeps the
    permutations. With `last` no rows in partitions are chosen by their keys any more, so that most
    keys are let go before the losses need memory. Fits that were `planned` are not planned again.
    """
    pool = pooled.pool
    if planned is None:
        fitted = fit_model(model, pool, pooled.stream("fit"), fit_rows=fit_rows)
    else:
        fitted = planned.fit()
    fitted_again = gradients_of(fitted) is not None and residuals_of(fitted) is None
    if last and not fitted_again and isinstance(pool.rows, PartitionedRows):
        pool.rows.table.forget_keys()
    tests: list[Any] = [RDivergence(model)]
    prepared = {labels(tests[0])[0]: tests[0].from_fit(fitted, pool)}
    if has_gradients(fitted):
        tests.append(Score(model))
        prepared[labels(tests[1])[0]] = _score(tests[1], fitted, pool, looked)
    del fitted  # numbers per row are all that is needed from here on
    together = combined(prepared)
    run = _Run(pooled, pooled, settings, {**_basics(pool), **(notes or {})})
    null = run.permuted(together, keep=keep)
    prepared["r-div"] = replace(prepared["r-div"], masks=null.masks)
    text = labels(tests[0])[1]
    results, start = {}, 0
    for name, part in prepared.items():
        stop = start + part.columns
        results[name] = run.result(part, null.of(part, slice(start, stop)), name, text)
        start = stop
    if len(prepared) > 1:
        results["omnibus"] = run.result(together, null, "omnibus", text)
    return results, prepared


def _score(test: Score, fitted: FittedModel, pool: Pool, looked: LookedAt | None) -> Prepared:
    """The score test of all rows, or of those that are looked at."""
    if looked is None or looked.whole:
        return test.from_fit(fitted, pool)
    found = test.from_fit(fitted, pool, rows=looked.rows, part=looked.samples.pool)
    return replace(found, notes={**found.notes, "rows looked at": len(looked.rows)})


@dataclass(frozen=True, eq=False)
class ReferenceSplit:
    """Part A of the reference, and the rows that are compared: the rest of it and the current.

    Parameters
    ----------
    train : Pool
        Part A, with a preparation of its own.
    tested : PooledSamples
        All other rows, with streams that depend on both parts and the seed.
    rows : (m,) integers
        Places of the tested rows in the whole pool.
    """

    train: Pool
    tested: PooledSamples
    rows: NDArray[np.intp]

    def learned(self, discrepancy: Any) -> Any:
        """A discrepancy that has learned from part A."""
        is_p = np.ones(len(self.train), dtype=bool)
        return discrepancy.learn(self.train, is_p, self.tested.stream("learn"))


def part_of_reference(pooled: PooledSamples, share: float) -> NDArray[np.intp]:
    """Places of part A: a share of the reference that depends on it and the seed alone."""
    pool = pooled.pool
    return reference_part(
        pooled.reference_order(), share, pooled.reference_stream(), groups=pool.groups,
        strata=pool.strata,
    )  # fmt: skip


def split_reference(
    pooled: PooledSamples,
    share: float,
    part: NDArray[np.intp] | None = None,
    *,
    fit_rows: int | None = None,
) -> ReferenceSplit:
    """Set part A of the reference apart from the rows that are compared.

    Parameters
    ----------
    pooled : PooledSamples
    share : float
        Share of the reference that part A gets.
    part : (m,) integers, optional
        Places of part A, where they are known already.
    fit_rows : int, optional
        Most rows of part A that its preparation is learned from.
    """
    pool = pooled.pool
    part = part_of_reference(pooled, share) if part is None else part
    rows = rows_to_compare(pooled.is_p, part, pool.strata)
    if pool.in_partitions:
        part, rows = (at.astype(place_type(len(pool)), copy=False) for at in (part, rows))
    _check_parts(pooled, part, rows)
    digests = [pool.digest_of(at) for at in (part, rows)]
    train = prepared_on(pooled.with_labels(part, anew=True), fit_rows)
    return ReferenceSplit(train, pooled.part(rows, (pooled.seed, *digests)), rows)


def _check_parts(pooled: PooledSamples, part: NDArray[np.intp], rows: NDArray[np.intp]) -> None:
    groups, left = pooled.pool.groups, rows[pooled.is_p[rows]]
    counts = [len(at) if groups is None else len(np.unique(groups[at])) for at in (part, left)]
    if min(counts) < FEWEST_UNITS:
        what = "rows" if groups is None else "groups"
        raise InputError(
            f"a model in use needs at least {FEWEST_UNITS} {what} of the reference to train on and "
            f"as many to compare, got {counts[0]} and {counts[1]}; give more rows, another "
            "train_share, or a model that is already fitted."
        )


@dataclass(frozen=True, eq=False)
class _Run:
    """All rows, those that are tested, and the settings that all results of one run share."""

    pooled: PooledSamples
    tested: PooledSamples
    settings: PermutationSettings
    notes: Mapping[str, Any]

    def permuted(
        self, prepared: Prepared, *, keep: bool = False, known: KeptMasks | None = None
    ) -> Null:
        rng, pool = self.tested.stream("masks"), self.tested.pool
        return permute(
            prepared, self.tested.is_p, self.settings, rng=rng, groups=pool.groups,
            strata=pool.strata, keep=keep or bool(prepared.draws), known=known,
        )  # fmt: skip

    def tested_by(
        self, prepared: Prepared, discrepancy: str, model: str | None, *, keep: bool
    ) -> tuple[TwoSampleResult, Prepared]:
        """The result, and the prepared numbers with their permutations, if these are kept."""
        null = self.permuted(prepared, keep=keep)
        result = self.result(prepared, null, discrepancy, model)
        return result, replace(prepared, masks=null.masks)

    def result(
        self, prepared: Prepared, null: Null, discrepancy: str, model: str | None
    ) -> TwoSampleResult:
        observed = prepared.observe(self.tested.is_p)
        return TwoSampleResult(
            statistic=null.ranked if observed.statistic is None else observed.statistic,
            ranked=null.ranked,
            null_distribution=null.null_distribution,
            pvalue=null.pvalue,
            alpha=self.settings.alpha,
            n_p=int(self.pooled.is_p.sum()),
            n_q=int((~self.pooled.is_p).sum()),
            n_resamples=self.settings.n_resamples,
            discrepancy=discrepancy,
            model=model,
            seed=self.pooled.seed,
            risk_p=observed.risk_p,
            risk_q=observed.risk_q,
            notes={
                **self.notes,
                **prepared.notes,
                **part_pvalues(prepared, null),
                **self._fold_draws(prepared, null.masks),
            },
        )

    def _fold_draws(self, prepared: Prepared, known: KeptMasks | None) -> dict[str, Any]:
        """A note with the p-value that every single draw of the folds would have given."""
        if not prepared.draws:
            return {}
        together = combined({str(place): test for place, test in enumerate(prepared.draws)})
        found = part_pvalues(together, self.permuted(together, known=known))["pvalues"]
        return {"fold draws": {"draws": len(found), "pvalues": list(found.values())}}


def part_pvalues(prepared: Prepared, null: Null) -> dict[str, dict[str, float]]:
    """A note with the p-value of every named part of a combined statistic."""
    if not prepared.parts:
        return {}
    pairs = zip(prepared.parts, null.parts.T, strict=True)
    return {"pvalues": {name: permutation_pvalue(part[0], part[1:]) for name, part in pairs}}


def prepare(discrepancy: Any, pool: Pool, rng: np.random.Generator) -> Prepared:
    """Run `prepare` of a discrepancy, which sees no labels; a function becomes a `Prepared`."""
    prepared = discrepancy.prepare(pool, rng)
    return prepared if isinstance(prepared, Prepared) else Prepared(prepared)


def halves_of(pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Halves:
    """Rows of a pool to learn on and rows to test on; see `rdiv.inference.halving.halves`."""
    plain = pool.groups is None and pool.strata is None
    copies = pool.first_copy if plain else None
    return halves(is_p, rng, first_copy=copies, groups=pool.groups, strata=pool.strata)


def _learned(learn: NDArray[np.intp], is_p: NDArray[np.bool_]) -> int:
    """One number for the rows of a pool that a test learned on, and their labels.

    Masks for the other rows are seeded by it too: with one set of masks for all splits of a pool,
    chance in these masks would raise or lower the level for all of them.
    """
    learns = np.zeros(len(is_p), dtype=bool)
    learns[learn] = True
    return mask_digest(learns, learns & (is_p == is_p[learn[0]]))  # the same for (q, p)


def check_samples(samples: PooledSamples, alpha: float, *, directed: bool = False) -> None:
    """Refuse samples with too few rows, or groups, for any p-value to reach alpha."""
    pool = samples.pool
    check_reach(samples.is_p, pool.groups, pool.strata, alpha, directed=directed)


def check_level(alpha: float, n_resamples: int) -> None:
    """Refuse settings with which no test could ever reject."""
    check_settings(alpha=alpha, n_resamples=n_resamples)
    if allowed_exceedances(alpha, int(n_resamples)) < 1:
        raise InputError(
            f"n_resamples={n_resamples} can never reach alpha = {alpha:g}, as the smallest p-value "
            f"is 1/{n_resamples + 1}; use at least {int(np.ceil(1 / alpha - 1e-9)) - 1}."
        )


def labels(discrepancy: Any) -> tuple[str, str | None]:
    """A discrepancy and its model as text."""
    model = model_of(discrepancy)
    return spelled(discrepancy, BY_NAME, without=("model",)), (
        None if model is None else spelled(model, MODELS)
    )
