"""plan: the rows that a comparison needs, from a pilot of one or both samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from rdiv.discrepancies.r_divergence import RDivergence
from rdiv.discrepancies.resolve import DEFAULT_FOLDS, choose
from rdiv.errors import InputError
from rdiv.models import CrossFit
from rdiv.models.protocol import fit_model, is_held_out
from rdiv.parallel.threads import one_thread
from rdiv.planning.labels import check_labels, plan_unlabelled
from rdiv.planning.pilots import plan_from_losses, rows_of_current
from rdiv.planning.result import Plan
from rdiv.planning.simulation import simulated_curve, size_with_power
from rdiv.samples.arguments import check_folds, check_settings
from rdiv.samples.fitting_rows import FIT_ROWS, SAMPLE_ROWS, prepared_on
from rdiv.samples.grouping import Design
from rdiv.samples.pilot_rows import chosen_frames
from rdiv.samples.pooling import PooledSamples, pool_alone, pool_samples
from rdiv.samples.sample import has_target
from rdiv.two_sample import check_level
from rdiv.two_sample import labels as spelled_out

__all__ = ["plan"]

IN_SAMPLE = "losses are in-sample, and vary less than those of new rows; use folds"
OPTIMISTIC = (
    "rows are drawn from the pilot with replacement, so its own noise counts as difference; the "
    "null column shows how often equal samples are rejected"
)
SAME_MODEL = (
    "the losses of the pilot are tilted to the gap; a model fitted to more rows may vary less"
)
CHOSEN = "{} of {} rows, chosen by a hash of their content, are the pilot"
ONE_TEST = (
    "this is the plan for r-div alone; the verdict of compare asks more than one question, so plan "
    "for it with half the level"
)


def plan(
    reference: Any,
    current: Any = None,
    *,
    model: Any = None,
    target: str | None = None,
    gap: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    discrepancy: Any = "r-div",
    task: str | None = None,
    folds: int | None = None,
    groups: Design = None,
    strata: Design = None,
    ratio: float | None = None,
    sizes: Sequence[int] | None = None,
    trials: int = 200,
    n_resamples: int = 199,
    labels: Literal["all", "none"] = "all",
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> Plan:
    """How many rows detect a given gap, which gap given rows detect, and with which power.

    Parameters
    ----------
    reference, current : samples
        A pilot: rows similar to those that will be compared. For R-divergence the reference alone
        is enough, and of tables in partitions (see `rdiv.scan`) the losses are read part by part.
        Of tables with more than 2 000 000 rows together, any other test, and a plan without labels,
        takes so many as the pilot, chosen by a hash of their content; the notes say so.
    model, target, task, groups, strata
        As in `rdiv.compare`. For an array as the reference alone, groups and strata are a pair of
        its labels and None.
    gap : float, optional
        Gap in mean loss to detect, in units of the loss; for R-divergence only. Negative where the
        loss on current is to be lower. Without it the plan has the smallest gap that each size
        detects.
    power, alpha : float
        Probability of detecting it; level of the test.
    discrepancy : str or Discrepancy
        R-divergence is planned from the losses of the pilot, tilted to the gap. Any other test is
        run on resampled pilots, and the difference to detect is that between the two pilots.
    folds : int, optional
        By default 5 for R-divergence, as in `rdiv.compare`, and none otherwise; 0 takes
        in-sample losses.
    ratio : float, optional
        Rows of current per row of reference; by default as in the pilot, or 1.
    sizes : sequence of int, optional
        Rows of reference for which the curve is computed.
    trials, n_resamples : int
        Tests per size and permutations per test, for a simulation. It runs twice as many tests as
        there are trials at every size: minutes for a model that takes long to fit.
    labels : {"all", "none"}
        "none": current rows will have no labels, and the test is that of the losses to be expected
        of them; the gap is then one that moved inputs make. The plan's notes say what the same
        rows with labels would need.
    rng : int or Generator, optional
    n_jobs : int, optional
        Trials at a time; the result does not depend on it.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2))
    >>> y = x[:, 0] + rng.normal(size=2000)
    >>> found = rdiv.plan((x, y), model="ridge", gap=0.3, rng=0)
    >>> low, high = found.rows_p_range
    >>> print(round(found.rows_p, -2), low < found.rows_p < high)
    400 True
    """
    check_settings(
        target=target, gap=gap, power=power, task=task, groups=groups, strata=strata, ratio=ratio,
        curve=sizes, trials=trials, rng=rng, n_jobs=n_jobs,
    )  # fmt: skip
    check_folds(folds, least=0)
    check_level(alpha, n_resamples)
    _check(gap, power, alpha, ratio, trials)
    if folds is None and discrepancy == "r-div" and not is_held_out(model):
        folds = DEFAULT_FOLDS
    folds = folds or None
    supervised = has_target(reference, target)
    alone = current is None
    check_labels(labels, alone=alone, supervised=supervised, discrepancy=discrepancy)
    choice = choose(discrepancy, model=model, folds=folds, supervised=supervised, n_jobs=n_jobs)
    given: dict[str, Any] = {
        "target": target, "task": task, "groups": groups, "strata": strata, "rng": rng,
        "kind": choice.kind,
    }  # fmt: skip
    with one_thread():
        samples = (reference,) if alone else (reference, current)
        door = pool_alone if alone else pool_samples
        pooled = door(*samples, keep_rows=SAMPLE_ROWS, **given)
        test = choice.build(pooled.pool)
        chosen = None
        if labels == "none" or not isinstance(test, RDivergence):  # they look at rows, not losses
            chosen = chosen_frames(pooled, samples, SAMPLE_ROWS)
        said = {} if chosen is None else {"pilot": CHOSEN.format(SAMPLE_ROWS, len(pooled.pool))}
        if chosen is not None:
            given["rng"] = pooled.seed
            pooled = door(*chosen, **given)
        n_p, n_q = int(pooled.is_p.sum()), int((~pooled.is_p).sum())
        share = ((n_q / n_p) or 1.0) if ratio is None else float(ratio)
        rows = _sizes(sizes, n_p)
        asked: dict[str, Any] = {"power": power, "alpha": alpha, "gap": gap}
        if isinstance(test, RDivergence) and labels == "none":
            parts = plan_unlabelled(test.model, pooled, rows, share, **asked)
        elif isinstance(test, RDivergence):
            parts = _from_losses(test, pooled, rows, share, **asked)
        else:
            _refuse(gap, alone=alone)
            curve = simulated_curve(
                test, pooled, rows, share, trials=trials, alpha=alpha, n_resamples=n_resamples,
                n_jobs=n_jobs,
            )  # fmt: skip
            parts = _from_curve(curve, power, share)
    name, spelled_model = spelled_out(test)
    if labels == "none":  # the other rows of the pilot taught the expected loss
        name, n_p = "in-use", parts.pop("n_p")
    notes = {"task": pooled.pool.task, **choice.notes, **parts.pop("notes"), **said}
    return Plan(
        discrepancy=name, model=spelled_model, n_p=n_p, n_q=n_q, seed=pooled.seed, notes=notes,
        **asked, **parts,
    )  # fmt: skip


def _from_losses(
    test: RDivergence, pooled: PooledSamples, rows: Sequence[int], ratio: float, **asked: Any
) -> dict[str, Any]:
    model, pool = test.model, prepared_on(pooled.pool, FIT_ROWS)
    if isinstance(model, CrossFit):
        model = replace(model, fit_rows=FIT_ROWS)
    fitted = fit_model(model, pool, pooled.stream("fit"), fit_rows=FIT_ROWS)
    prepared = test.from_fit(fitted, pool)
    notes = {"variance": SAME_MODEL, "verdict": ONE_TEST}
    notes |= {} if is_held_out(test.model) else {"in-sample": IN_SAMPLE}
    found = plan_from_losses(prepared, pooled, rows, ratio, **asked)
    return {**found, "notes": {**notes, **found["notes"]}}


def _from_curve(curve: dict[str, list[Any]], power: float, ratio: float) -> dict[str, Any]:
    needed = size_with_power(curve, power)
    return {
        "method": "simulation",
        "rows_p": needed,
        "rows_q": None if needed is None else rows_of_current(needed, ratio),
        "rows_p_range": None,
        "smallest_detectable_gap": None,
        "gap_range": None,
        "variance_p": None,
        "variance_q": None,
        "curve": curve,
        "notes": {"resampling": OPTIMISTIC},
    }


def _sizes(sizes: Sequence[int] | None, n_p: int) -> list[int]:
    """Sizes of the curve: those given, or from a quarter of the pilot to 16 times the pilot."""
    if sizes is None:
        return sorted({max(5, round(n_p * 2.0**power)) for power in range(-2, 5)})
    chosen = sorted({int(size) for size in sizes})
    if not chosen or chosen[0] < 2 or any(int(size) != size for size in sizes):
        raise InputError(f"sizes must be whole numbers of at least 2, got {list(sizes)}.")
    return chosen


def _check(gap: float | None, power: float, alpha: float, ratio: float | None, trials: int) -> None:
    if gap is not None and not (np.isfinite(gap) and gap != 0):
        raise InputError(f"gap must be a finite number other than 0, got {gap!r}.")
    if not alpha < power < 1:
        raise InputError(
            f"power must lie between alpha = {alpha:g} and 1, got {power!r}; 0.8 is usual."
        )
    if ratio is not None and not (np.isfinite(ratio) and ratio > 0):
        raise InputError(f"ratio must be a finite number above 0, got {ratio!r}.")
    if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < 1:
        raise InputError(f"trials must be a whole number of at least 1, got {trials!r}.")


def _refuse(gap: float | None, *, alone: bool) -> None:
    if gap is not None:
        raise InputError(
            f"only r-div is planned for a gap in loss units, got gap={gap:g} with another test; "
            "drop gap= to plan for the difference between the two pilots."
        )
    if alone:
        raise InputError(
            "only r-div is planned from one sample; any other test is planned for the difference "
            "between two pilots, so give a current sample as well."
        )
