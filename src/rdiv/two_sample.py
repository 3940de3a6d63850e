"""The one function that joins the pipeline: samples, pool, fit, numbers, permutations, result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies import BY_NAME
from rdiv.discrepancies.choosing import choose
from rdiv.discrepancies.protocol import Prepared
from rdiv.models import BY_NAME as MODELS
from rdiv.permutation import allowed_exceedances, permute
from rdiv.results import TwoSampleResult
from rdiv.samples.designs import Design
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import Pooled, pool_samples
from rdiv.samples.sample import has_target
from rdiv.spelling import spelled
from rdiv.threads import one_thread

__all__ = ["check_level", "examine", "prepare", "r_divergence", "two_sample_test"]

FEWEST_HALVES = 4


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
    """Test whether two samples come from one distribution, as one discrepancy sees it.

    Parameters
    ----------
    p, q : array, frame, tensor, dataset, or pair (X, y)
        The samples; sizes may differ. Columns of frames are matched by name.
    discrepancy : str or Discrepancy
        A name in ``rdiv.discrepancies.BY_NAME`` or an object.
    model : str, Model or estimator, optional
        What a model-based discrepancy fits; see `rdiv.models.as_model`. By default boosting in 5
        folds when there is a target, else a density model chosen by the shape of the data.
    target : str, optional
        Name of the target column of frames.
    task : {"classification", "regression"}, optional
        Overrides what is guessed from the target.
    folds : int, optional
        Use out-of-fold losses from this many folds; None is the paper's in-sample loss.
    groups, strata : str or pair of arrays, optional
        Rows that belong together and move together; parts within which rows may be exchanged.
    alpha : float
        Level of the test.
    n_resamples : int
        Random relabellings.
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
    check_level(alpha, n_resamples)
    supervised = has_target(p, target)
    choice = choose(discrepancy, model=model, folds=folds, supervised=supervised, n_jobs=n_jobs)
    with one_thread():
        pooled = pool_samples(
            p, q, target=target, task=task, groups=groups, strata=strata, rng=rng, kind=choice.kind
        )
        test = choice.build(pooled.pool)
        return examine(
            test, pooled, alpha=alpha, n_resamples=n_resamples, n_jobs=n_jobs, notes=choice.notes
        )[0]


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

    Parameters are those of `two_sample_test`, whose ``statistic`` this is.

    Examples
    --------
    >>> import rdiv
    >>> from sklearn.linear_model import LinearRegression
    >>> p = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> q = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 4.0])
    >>> print(round(rdiv.r_divergence(p, q, model=LinearRegression(), rng=0), 3))
    0.5
    """
    choice = choose("r-div", model=model, folds=folds, supervised=has_target(p, target))
    with one_thread():
        pooled = pool_samples(p, q, target=target, task=task, rng=rng, kind=choice.kind)
        prepared = prepare(choice.build(pooled.pool), pooled.pool, pooled.stream("fit"))
    assert prepared.value is not None
    return prepared.value(pooled.is_p)


def examine(
    discrepancy: Any,
    pooled: Pooled,
    *,
    alpha: float,
    n_resamples: int,
    n_jobs: int | None = None,
    notes: Mapping[str, Any] | None = None,
) -> tuple[TwoSampleResult, Prepared]:
    """Test a pool that is made already; the numbers per row come back beside the result."""
    pool, is_p = pooled.pool, pooled.is_p
    said = {"task": pool.task, **(notes or {})}
    text, model = _texts(discrepancy)
    if getattr(discrepancy, "learns", False):
        learn, test = halves(pool, is_p, pooled.stream("halves"))
        discrepancy = discrepancy.learn(pool.take(learn), is_p[learn], pooled.stream("learn"))
        pool, is_p = pool.take(test), is_p[test]
        said["rows tested"] = len(test)
    prepared = prepare(discrepancy, pool, pooled.stream("fit"))
    null = permute(
        prepared,
        is_p,
        groups=pool.groups,
        strata=pool.strata,
        n_resamples=n_resamples,
        rng=pooled.stream("masks"),
        n_jobs=n_jobs,
        alpha=alpha,
    )
    risks = (None, None) if prepared.risks is None else prepared.risks(is_p)
    result = TwoSampleResult(
        statistic=null.ranked if prepared.value is None else prepared.value(is_p),
        ranked=null.ranked,
        null_distribution=null.null_distribution,
        pvalue=null.pvalue,
        alpha=alpha,
        n_p=int(pooled.is_p.sum()),
        n_q=int((~pooled.is_p).sum()),
        n_resamples=n_resamples,
        discrepancy=text,
        model=model,
        seed=pooled.seed,
        risk_p=risks[0],
        risk_q=risks[1],
        notes={**said, **prepared.notes},
    )
    return result, prepared


def prepare(discrepancy: Any, pool: Pool, rng: np.random.Generator) -> Prepared:
    """The label-blind work of a discrepancy; a bare function becomes a `Prepared`."""
    prepared = discrepancy.prepare(pool, rng)
    return prepared if isinstance(prepared, Prepared) else Prepared(prepared)


def check_level(alpha: float, n_resamples: int) -> None:
    """Refuse settings with which no test could ever reject."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1, got {alpha}.")
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int | np.integer):
        raise TypeError(f"n_resamples must be a whole number, got {n_resamples!r}.")
    if allowed_exceedances(alpha, int(n_resamples)) < 1:
        raise ValueError(
            f"n_resamples={n_resamples} can never reach alpha = {alpha:g}, as the smallest p-value "
            f"is 1/{n_resamples + 1}; use at least {int(np.ceil(1 / alpha - 1e-9)) - 1}."
        )


def halves(
    pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn on and rows to test on: a random half of each sample.

    Groups stay whole and strata are halved one by one.
    """
    codes = np.arange(len(pool)) if pool.groups is None else pool.groups
    first, unit = np.unique(codes, return_index=True, return_inverse=True)[1:]
    cell = is_p[first].astype(np.intp)
    if pool.strata is not None:
        cell = cell + 2 * pool.strata[first]
    fewest = min(np.bincount(is_p[first].astype(np.intp), minlength=2))
    if fewest < FEWEST_HALVES:
        raise ValueError(
            f"a test that learns on one half needs at least {FEWEST_HALVES} "
            f"{'rows' if pool.groups is None else 'groups'} in each sample, got {fewest}."
        )
    order = rng.permutation(len(first))
    order = order[np.argsort(cell[order], kind="stable")]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    learns = np.empty(len(order), dtype=bool)
    learns[order] = (rank + _offsets(pool, first, rng)[order]) % 2 == 1
    return np.flatnonzero(learns[unit]), np.flatnonzero(~learns[unit])


def _offsets(pool: Pool, first: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Which half an odd unit of a stratum falls into: by chance, a matched pair together."""
    if pool.strata is None:
        return np.zeros(len(first), dtype=np.intp)
    strata = pool.strata[first]
    return rng.integers(2, size=int(strata.max()) + 1)[strata]


def _texts(discrepancy: Any) -> tuple[str, str | None]:
    model = getattr(discrepancy, "model", None)
    return spelled(discrepancy, BY_NAME, without=("model",)), (
        None if model is None else spelled(model, MODELS)
    )
