"""compare: a reference and a current table, a verdict with its size and its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.choosing import DEFAULT_FOLDS, choose
from rdiv.discrepancies.energy import Energy
from rdiv.discrepancies.protocol import Prepared
from rdiv.planning import Interval, critical_value, gap_interval, smallest_detectable_gap
from rdiv.results import SCHEMA, TwoSampleResult, as_json, plain
from rdiv.samples.designs import Design
from rdiv.samples.pooling import Pooled, pool_samples
from rdiv.samples.sample import has_target
from rdiv.threads import one_thread
from rdiv.two_sample import check_level, examine, examine_model

__all__ = ["Comparison", "compare"]

Verdict = Literal["risk shift", "hidden shift", "no shift"]
Direction = Literal["worse", "better"]

INPUT_ROWS = 2000  # rows a side that the context test of the inputs looks at


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What comparing a current sample with a reference found.

    Parameters
    ----------
    verdict : {"risk shift", "hidden shift", "no shift"}
        "risk shift": the mean losses of the model differ. "hidden shift": the samples differ in a
        direction that would change the fitted model, while a difference in mean loss was not
        shown. Not finding a shift does not show that there is none: `smallest_detectable_gap` says
        what would have been found.
    gap : float
        Mean loss on current minus mean loss on reference; positive is worse.
    gap_interval : Interval, optional
        Confidence interval of the gap of the fitted model(s) on future rows. None when losses are
        in-sample, which give no honest interval.
    direction : {"worse", "better"}, optional
        Where the risk moved, if it did.
    smallest_detectable_gap : float
        The gap that would be found with 80 % probability.
    results : dict of TwoSampleResult
        Raw tests by name, r-div, score and omnibus, from one fit and the same relabellings; p is
        the reference, q the current sample. A model without gradients has r-div alone.
    adjusted_pvalues : dict of float
        p-values that hold for r-div and score together, by closed testing: the larger of a test's
        own and that of omnibus.
    inputs : TwoSampleResult, optional
        A model-free test of the inputs: context, outside the verdict.
    drivers : mapping, optional
        What carries the shift.
    notes : mapping

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> y = x[:, 0] + rng.normal(size=400) * np.where(np.arange(400) < 200, 1.0, 2.0)
    >>> found = rdiv.compare((x[:200], y[:200]), (x[200:], y[200:]), model="ridge", rng=0)
    >>> print(found.verdict, found.direction, round(found.gap, 1))
    risk shift worse 3.1
    """

    verdict: Verdict
    gap: float
    gap_interval: Interval | None
    direction: Direction | None
    smallest_detectable_gap: float
    results: dict[str, TwoSampleResult]
    adjusted_pvalues: dict[str, float]
    inputs: TwoSampleResult | None = None
    drivers: Mapping[str, Any] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shifted(self) -> bool:
        """Whether any shift was found."""
        return self.verdict != "no shift"

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.details()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.verdict == "no shift":
            return (
                f"No shift found: a gap of {self.smallest_detectable_gap:.3g} in mean loss would "
                "have been found with 80 % probability."
            )
        if self.verdict == "hidden shift":
            return (
                "Hidden shift: the samples would train different models, while a difference in "
                "mean loss was not shown."
            )
        return (
            f"Risk shift: the model does {self.direction} on current, "
            f"by {abs(self.gap):.3g} in mean loss."
        )

    def details(self) -> list[str]:
        """The numbers behind the verdict, one line each."""
        test = self.results["r-div"]
        level = f"{100 * (1 - test.alpha):g} %"
        interval = (
            "no honest interval from in-sample losses; use folds"
            if self.gap_interval is None
            else f"{level} interval {self.gap_interval.low:+.4g} to {self.gap_interval.high:+.4g}"
        )
        return [
            f"gap (current - reference): {self.gap:+.4g}, {interval}",
            f"mean loss: {test.risk_p:.4g} on reference, {test.risk_q:.4g} on current",
            f"r-div: p = {test.pvalue:.3g}, {test.n_resamples} relabellings",
            *self._together(),
            f"model: {test.model}; task: {test.notes['task']}",
            f"rows: {test.n_p} reference, {test.n_q} current; seed {test.seed}",
            *self._context(),
        ]

    def _together(self) -> list[str]:
        """The other tests of the verdict, and why it may differ from the interval."""
        if "score" not in self.results:
            return ["score: not available for this model, so hidden shifts were not looked for"]
        score, omnibus = self.results["score"], self.results["omnibus"]
        lines = [f"score: p = {score.pvalue:.3g}; with r-div (omnibus) p = {omnibus.pvalue:.3g}"]
        if self.results["r-div"].rejected and self.verdict != "risk shift":
            lines.append(
                f"why no risk shift: r-div alone would reject, so the interval excludes 0, but "
                f"together with score the evidence is p = {omnibus.pvalue:.3g}"
            )
        return lines

    def _context(self) -> list[str]:
        if self.inputs is None:
            return []
        moved = "moved" if self.inputs.rejected else "no move found"
        return [
            f"inputs alone (energy, outside the verdict): {moved}, p = {self.inputs.pvalue:.3g}"
        ]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, ready for JSON."""
        test = self.results["r-div"]
        interval = None if self.gap_interval is None else self.gap_interval._asdict()
        return {
            "schema": SCHEMA,
            **plain(
                {
                    "verdict": self.verdict,
                    "direction": self.direction,
                    "gap": self.gap,
                    "gap_interval": interval,
                    "smallest_detectable_gap": self.smallest_detectable_gap,
                    "adjusted_pvalues": self.adjusted_pvalues,
                    "alpha": test.alpha,
                    "n_p": test.n_p,
                    "n_q": test.n_q,
                    "model": test.model,
                    "seed": test.seed,
                    "results": {name: result.fields() for name, result in self.results.items()},
                    "inputs": None if self.inputs is None else self.inputs.fields(),
                    "drivers": self.drivers,
                    "notes": self.notes,
                }
            ),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())


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
) -> Comparison:
    """Compare two datasets for your model: does it do as well, and would it be the same model.

    Parameters are those of `rdiv.two_sample_test`; losses are out of fold by default.

    Parameters
    ----------
    reference, current : samples
        What the model is used to, and what it sees now.
    folds : int or None
        None takes in-sample losses; the comparison then has no interval.

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> print(rdiv.compare(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), rng=0).verdict)
    no shift
    """
    check_level(alpha, n_resamples)
    choice = choose(
        "r-div", model=model, folds=folds, supervised=has_target(reference, target), n_jobs=n_jobs
    )
    settings: dict[str, Any] = {"alpha": alpha, "n_resamples": n_resamples, "n_jobs": n_jobs}
    with one_thread():
        pooled = pool_samples(
            reference, current, target=target, task=task, groups=groups, strata=strata, rng=rng,
            kind=choice.kind,
        )  # fmt: skip
        model = choice.build(pooled.pool).model
        results, prepared = examine_model(model, pooled, notes=choice.notes, **settings)
        inputs = _inputs(pooled, settings)
    honest = bool(getattr(model, "held_out", False))
    return _judge(results, prepared["r-div"], pooled, inputs, honest)


def _inputs(pooled: Pooled, settings: dict[str, Any]) -> TwoSampleResult | None:
    """The energy test of the inputs, on the first rows of each side of the shuffled pool."""
    rows = _input_rows(pooled)
    pool = pooled.pool.take(rows)
    if not np.isfinite(pool.matrix()).all():
        return None  # an array with missing values, for a model that takes them
    part = replace(pooled, pool=pool, is_p=pooled.is_p[rows], places=pooled.places[rows])
    return examine(Energy(scaled=True), part, **settings)[0]


def _input_rows(pooled: Pooled) -> NDArray[np.intp]:
    """At most `INPUT_ROWS` rows a side, by chance; stratum by stratum, so that pairs stay pairs."""
    order = np.arange(len(pooled.pool))
    if pooled.pool.strata is not None:
        order = np.argsort(pooled.pool.strata, kind="stable")
    sides = (order[pooled.is_p[order]], order[~pooled.is_p[order]])
    return np.sort(np.concatenate([side[:INPUT_ROWS] for side in sides]))


def _judge(
    results: dict[str, TwoSampleResult],
    prepared: Prepared,
    pooled: Pooled,
    inputs: TwoSampleResult | None,
    honest: bool,
) -> Comparison:
    assert prepared.gap is not None
    result = results["r-div"]
    adjusted = _closed(results)
    verdict = _verdict(adjusted, result.alpha)
    ahead, error = prepared.gap(pooled.is_p)  # p is the reference: the gap reported is q minus p
    gap = 0.0 - ahead
    critical = critical_value(result.null_distribution, result.alpha)
    notes = {} if honest else {"interval": "in-sample losses give no honest interval; use folds"}
    return Comparison(
        verdict=verdict,
        gap=gap,
        gap_interval=gap_interval(gap, error, critical) if honest else None,
        direction=("worse" if gap > 0 else "better") if verdict == "risk shift" else None,
        smallest_detectable_gap=smallest_detectable_gap(error, critical),
        results=results,
        adjusted_pvalues=adjusted,
        inputs=inputs,
        notes={**result.notes, **notes},
    )


def _closed(results: dict[str, TwoSampleResult]) -> dict[str, float]:
    """Closed testing: a part counts when its own p-value and that of both together are small."""
    together = results["omnibus"].pvalue if "omnibus" in results else 0.0
    return {name: max(r.pvalue, together) for name, r in results.items() if name != "omnibus"}


def _verdict(adjusted: dict[str, float], alpha: float) -> Verdict:
    if adjusted["r-div"] <= alpha:
        return "risk shift"
    return "hidden shift" if adjusted.get("score", 1.0) <= alpha else "no shift"
