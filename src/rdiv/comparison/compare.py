"""compare: whether a model does as well on a current table as on a reference, and by how much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.margins import check_margins, margin_tests
from rdiv.comparison.result import Comparison, Verdict, summarise_losses
from rdiv.discrepancies.energy import Energy
from rdiv.discrepancies.resolve import DEFAULT_FOLDS, choose
from rdiv.drivers import find_drivers
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.intervals import critical_value, gap_interval, smallest_detectable_gap
from rdiv.inference.prepared import Prepared
from rdiv.models.protocol import is_held_out
from rdiv.remarks import IN_SAMPLE
from rdiv.results import TwoSampleResult
from rdiv.samples.arguments import check_settings
from rdiv.samples.grouping import Design
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.samples.sample import has_target
from rdiv.threads import one_thread
from rdiv.two_sample import check_level, run_model_tests, run_test

__all__ = ["Comparison", "compare"]

INPUT_ROWS = 2000  # rows per sample that the test of the inputs uses


def compare(
    reference: Any,
    current: Any,
    *,
    model: Any = None,
    target: str | None = None,
    task: str | None = None,
    folds: int | None = DEFAULT_FOLDS,
    groups: Design = None,
    strata: Design = None,
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    equivalence_margin: float | None = None,
    not_worse_than: float | None = None,
    drivers: bool = True,
) -> Comparison:
    """Compare two datasets for your model: does it do as well, would retraining change it.

    Parameters are those of `rdiv.two_sample_test`; losses are out of fold by default.

    Parameters
    ----------
    reference, current : samples
        The data that the model was built for, and the data that it gets now.
    folds : int or None
        None takes in-sample losses; the comparison then has no interval.
    equivalence_margin : float, optional
        Test whether the gap lies between minus this margin and this margin, in units of the loss.
    not_worse_than : float, optional
        Test whether the loss on current is higher by less than this margin.
    drivers : bool
        Look for the rows, slices and columns that carry the shift.

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> print(rdiv.compare(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), rng=0).verdict)
    no shift
    """
    check_settings(
        target=target, task=task, folds=folds, groups=groups, strata=strata, rng=rng,
        n_jobs=n_jobs, equivalence_margin=equivalence_margin, not_worse_than=not_worse_than,
        drivers=drivers,
    )  # fmt: skip
    check_level(alpha, n_resamples)
    settings = PermutationSettings(alpha, n_resamples, n_jobs)
    check_margins(equivalence_margin, not_worse_than)
    choice = choose(
        "r-div", model=model, folds=folds, supervised=has_target(reference, target), n_jobs=n_jobs
    )
    with one_thread():
        pooled = pool_samples(
            reference, current, target=target, task=task, groups=groups, strata=strata, rng=rng,
            kind=choice.kind,
        )  # fmt: skip
        model = choice.build(pooled.pool).model
        inputs = _inputs(pooled, settings)  # first: its distances are gone when gradients come
        results, prepared = run_model_tests(model, pooled, settings, notes=choice.notes)
        held_out = is_held_out(model)
        found = _judge(results, prepared["r-div"], pooled, inputs, held_out)
        if equivalence_margin is not None or not_worse_than is not None:
            _require_held_out(held_out)
            shown = margin_tests(
                prepared["r-div"], pooled, alpha, equivalence_margin=equivalence_margin,
                not_worse_than=not_worse_than,
            )  # fmt: skip
            found = replace(found, equivalence=shown[0], not_worse=shown[1])
        if drivers:
            found = replace(
                found, drivers=find_drivers(prepared, pooled, settings, held_out=held_out)
            )
    return found


def _require_held_out(held_out: bool) -> None:
    if not held_out:
        raise InputError(
            "a margin needs out-of-fold losses, got in-sample losses (folds=None); ask for folds."
        )


def _inputs(pooled: PooledSamples, settings: PermutationSettings) -> TwoSampleResult | None:
    """The energy test of the inputs, on the first rows of each side of the shuffled pool."""
    rows = _input_rows(pooled)
    pool = pooled.pool.take(rows)
    if not np.isfinite(pool.matrix()).all():
        return None  # an array with missing values, for a model that takes them
    part = replace(pooled, pool=pool, is_p=pooled.is_p[rows], places=pooled.places[rows])
    return run_test(Energy(scaled=True), part, settings)[0]


def _input_rows(pooled: PooledSamples) -> NDArray[np.intp]:
    """At most `INPUT_ROWS` random rows per sample, drawn within strata so that pairs stay whole."""
    order = np.arange(len(pooled.pool))
    if pooled.pool.strata is not None:
        order = np.argsort(pooled.pool.strata, kind="stable")
    sides = (order[pooled.is_p[order]], order[~pooled.is_p[order]])
    return np.sort(np.concatenate([side[:INPUT_ROWS] for side in sides]))


def _judge(
    results: dict[str, TwoSampleResult],
    prepared: Prepared,
    pooled: PooledSamples,
    inputs: TwoSampleResult | None,
    held_out: bool,
) -> Comparison:
    observed = prepared.observe(pooled.is_p)
    gap, error = observed.gap, observed.error
    assert gap is not None
    assert error is not None
    result = results["r-div"]
    adjusted = _closed(results)
    verdict = _verdict(adjusted, result.alpha)
    critical = critical_value(result.null_distribution, result.alpha)
    notes = {} if held_out else {"interval": IN_SAMPLE}
    return Comparison(
        verdict=verdict,
        gap=gap,
        gap_interval=gap_interval(gap, error, critical) if held_out else None,
        direction=("worse" if gap > 0 else "better") if verdict == "risk shift" else None,
        smallest_detectable_gap=smallest_detectable_gap(error, critical),
        results=results,
        adjusted_pvalues=adjusted,
        inputs=inputs,
        losses=summarise_losses(prepared.losses, pooled.is_p),
        notes={**result.notes, **notes},
    )


def _closed(results: dict[str, TwoSampleResult]) -> dict[str, float]:
    """Closed testing: reject a part when its own p-value and that of both together are small."""
    together = results["omnibus"].pvalue if "omnibus" in results else 0.0
    return {name: max(r.pvalue, together) for name, r in results.items() if name != "omnibus"}


def _verdict(adjusted: dict[str, float], alpha: float) -> Verdict:
    if adjusted["r-div"] <= alpha:
        return "risk shift"
    return "hidden shift" if adjusted.get("score", 1.0) <= alpha else "no shift"
