"""Intervals for the gap in mean loss, each with the quantity that it covers (the estimand)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.resolve import DEFAULT_FOLDS, choose
from rdiv.errors import InputError
from rdiv.inference.bootstrap import bootstrap_interval
from rdiv.inference.intervals import Interval, planned_critical, variance_of_mean
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.widened import LossShape, loss_shape, widened_interval
from rdiv.models import BY_NAME as MODELS
from rdiv.models import Logistic, Model, Ridge
from rdiv.models.linear import curvature
from rdiv.models.protocol import check_losses, fit_model, is_held_out, losses_of
from rdiv.names import spelled
from rdiv.parallel.threads import one_thread
from rdiv.pictures import draw_spans, new_axes
from rdiv.remarks import IN_SAMPLE
from rdiv.results import SCHEMA, as_json, plain, short_block
from rdiv.samples.arguments import check_settings
from rdiv.samples.grouping import Design
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.samples.sample import has_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GapEstimate", "estimate_gap", "influence_numbers"]

Floats = NDArray[np.float64]
Estimand = Literal["fitted", "population"]
Method = Literal["normal", "bootstrap"]

TARGETS = {
    "fitted": "the gap of the fitted model(s) on future rows; the fit is taken as given",
    "population": "the gap of the model that is best for the pooled population",
}


@dataclass(frozen=True, eq=False, repr=False)
class GapEstimate:
    """The gap between two mean losses, with an interval and the quantity that it covers.

    Parameters
    ----------
    gap : float
        Mean loss on current minus mean loss on reference.
    standard_error : float
    interval : Interval
    estimand : {"fitted", "population"}
    target : str
        The estimand in words.
    method : {"normal", "bootstrap"}
    alpha : float
        The interval misses its target with about this probability.
    n_p, n_q : int
    model : str
    seed : int
    notes : mapping

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 2)), 1.5 * rng.normal(size=(200, 2))
    >>> found = rdiv.estimate_gap(p, q, model="gmm", rng=0)
    >>> print(found.interval.low < found.gap < found.interval.high, found.estimand)
    True fitted
    """

    gap: float
    standard_error: float
    interval: Interval
    estimand: Estimand
    target: str
    method: Method
    alpha: float
    n_p: int
    n_q: int
    model: str
    seed: int
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        low, high = self.interval
        why = self.notes.get("asymptotic")
        return "\n".join(
            [
                f"gap {self.gap:+.4g}, {100 * (1 - self.alpha):g} % interval {low:+.4g} to "
                f"{high:+.4g} ({self.method}{'' if why is None else ', asymptotic: ' + why})",
                f"of {self.target}",
                f"{self.n_p} + {self.n_q} rows, model {self.model}, seed {self.seed}",
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headline, *lines = str(self).splitlines()
        return short_block("Estimate of a gap", headline, lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The gap with its interval.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        ax = new_axes(6.4, 1.7) if ax is None else ax
        draw_spans(ax, [("gap", self.gap, *self.interval)])
        ax.set_xlabel("difference in mean loss, current minus reference")
        ax.set_title(f"{100 * (1 - self.alpha):g} % interval, {self.method}")
        return ax

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, ready for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {"schema": SCHEMA, **plain({**fields, "interval": self.interval._asdict()})}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())


def estimate_gap(
    reference: Any,
    current: Any,
    *,
    model: Any = None,
    target: str | None = None,
    task: str | None = None,
    folds: int | None = DEFAULT_FOLDS,
    groups: Design = None,
    strata: Design = None,
    estimand: Estimand = "fitted",
    method: Method = "normal",
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> GapEstimate:
    """The gap in mean loss with a normal or a studentised bootstrap interval.

    Parameters
    ----------
    reference, current, model, target, task, folds, groups, strata, rng, n_jobs
        As in `rdiv.compare`.
    estimand : {"fitted", "population"}
        What the interval covers. "fitted": the gap of the fitted model(s) on future rows; the fit
        is taken as given. "population": the gap of the model that is best for the two populations,
        pooled in the proportions of the samples. This interval includes the variance of the fit;
        it needs ``ridge`` or ``logistic``, fitted once to the full pool.
    method : {"normal", "bootstrap"}
        Student's quantile with Welch's degrees of freedom, wider where losses are skewed, or the
        quantiles of the studentised gap of rows resampled within each sample.
    alpha : float
    n_resamples : int
        Bootstrap draws.

    Notes
    -----
    Every interval assumes independent rows (or groups). The "population" interval linearises the
    fit: losses are those of a fit to all other rows, and a row's loss is corrected by ``-(n_side /
    n) g' H^-1 (gradient of the row's loss)`` on current and by the opposite on reference, where g
    is the gap of the mean gradients and H the Hessian.

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> y = x[:, 0] + rng.normal(size=400) * np.where(np.arange(400) < 200, 1.0, 2.0)
    >>> found = rdiv.estimate_gap((x[:200], y[:200]), (x[200:], y[200:]), model="ridge", rng=0)
    >>> print(round(found.gap, 1), bool(found.interval.low > 0))
    3.1 True
    """
    check_settings(
        target=target, task=task, folds=folds, groups=groups, strata=strata, estimand=estimand,
        method=method, alpha=alpha, n_resamples=n_resamples, rng=rng, n_jobs=n_jobs,
    )  # fmt: skip
    _check(estimand, method, alpha, n_resamples, groups, strata)
    settled = None if estimand == "population" else folds
    choice = choose(
        "r-div", model=model, folds=settled, supervised=has_target(reference, target), n_jobs=n_jobs
    )
    with one_thread():
        pooled = pool_samples(
            reference, current, target=target, task=task, groups=groups, strata=strata, rng=rng,
            kind=choice.kind,
        )  # fmt: skip
        fixed: Model = choice.build(pooled.pool).model
        numbers = _numbers(fixed, pooled, estimand)
        gap, error = _gap(numbers, pooled)
        sides = numbers[pooled.is_p], numbers[~pooled.is_p]
        if method == "bootstrap":
            stream = pooled.stream("masks")
            interval = bootstrap_interval(*sides, alpha=alpha, n_resamples=n_resamples, rng=stream)
        else:
            interval = _normal(numbers, pooled, alpha)
    notes = {"task": pooled.pool.task, **choice.notes}
    if estimand == "fitted" and not is_held_out(fixed):
        notes["in-sample"] = IN_SAMPLE
    asymptotic = _shape(numbers, pooled, alpha).why_asymptotic()
    if asymptotic is not None:
        notes["asymptotic"] = asymptotic
    return GapEstimate(
        gap, error, interval, estimand, TARGETS[estimand], method, alpha, len(sides[0]),
        len(sides[1]), spelled(fixed, MODELS), pooled.seed, notes,
    )  # fmt: skip


def left_out_losses(losses: Floats, gradients: Floats, hessian: Floats) -> Floats:
    """Approximate loss of each row under a fit to all other rows, by one Newton step.

    In-sample losses are too low, and more so in the sample with more noise.

    Parameters
    ----------
    losses : (n,) array
    gradients : (n, m) array
    hessian : (m, m) array

    Examples
    --------
    >>> print(left_out_losses(np.array([1.0, 4.0]), np.array([[-2.0], [4.0]]), np.array([[4.0]])))
    [1.5 6. ]
    """
    steps = gradients @ np.linalg.pinv(hessian, hermitian=True)
    left_out: Floats = losses + np.einsum("ij,ij->i", steps, gradients) / len(losses)
    return left_out


def influence_numbers(
    losses: Floats, gradients: Floats, hessian: Floats, is_p: NDArray[np.bool_]
) -> Floats:
    """Numbers per row whose gap in means has the variance of a fitted model's gap in mean loss.

    Parameters
    ----------
    losses : (n,) array
    gradients : (n, m) array
        Gradient of each row's loss in the parameters, at the fit.
    hessian : (m, m) array
        Mean second derivatives of the training objective.
    is_p : (n,) mask

    Examples
    --------
    >>> losses = np.array([1.0, 2.0, 3.0, 4.0])
    >>> flat = np.zeros((4, 1))
    >>> print(influence_numbers(losses, flat, np.eye(1), np.array([True, True, False, False])))
    [1. 2. 3. 4.]
    """
    slope = gradients[~is_p].mean(axis=0) - gradients[is_p].mean(axis=0)
    pull = gradients @ (np.linalg.pinv(hessian, hermitian=True) @ slope)
    pull = pull - pull.mean()  # the mean is 0 at the fit, apart from the penalty
    share = float(is_p.mean())
    numbers: Floats = losses + np.where(is_p, share, share - 1) * pull
    return numbers


def _numbers(model: Model, pooled: PooledSamples, estimand: Estimand) -> Floats:
    pool = pooled.pool
    if estimand == "population" and not isinstance(model, Ridge | Logistic):
        raise InputError(
            f'estimand="population" needs model="ridge" or "logistic", got '
            f'{spelled(model, MODELS)}; use estimand="fitted".'
        )
    fitted: Any = fit_model(model, pool, pooled.stream("fit"))
    losses = check_losses(losses_of(fitted, pool), pool, "the model")
    if estimand == "fitted":
        return losses
    gradients, hessian = fitted.gradients(pool), curvature(fitted, pool)
    losses = left_out_losses(losses, gradients, hessian)
    return influence_numbers(losses, gradients, hessian, pooled.is_p)


def _gap(numbers: Floats, pooled: PooledSamples) -> tuple[float, float]:
    """Mean over current minus mean over reference, and its standard error."""
    prepared = mean_gap(numbers, groups=pooled.pool.groups, strata=pooled.pool.strata)
    observed = prepared.observe(pooled.is_p)
    assert observed.gap is not None
    assert observed.error is not None
    return observed.gap, observed.error


def _normal(numbers: Floats, pooled: PooledSamples, alpha: float) -> Interval:
    """Welch's interval of the gap, current minus reference; groups count as single units."""
    gap, error = _gap(numbers, pooled)
    units, variances = [], []
    for side in (pooled.is_p, ~pooled.is_p):
        groups = None if pooled.pool.groups is None else pooled.pool.groups[side]
        units.append(int(side.sum()) if groups is None else len(np.unique(groups)))
        of_rows = variance_of_mean(numbers[side], groups)
        variances.append(of_rows * units[-1] / int(side.sum()))
    critical = planned_critical(units[0], units[1], variances[0], variances[1], alpha)
    return widened_interval(gap, error, critical, _shape(numbers, pooled, alpha), alpha)


def _shape(numbers: Floats, pooled: PooledSamples, alpha: float) -> LossShape:
    pool = pooled.pool
    return loss_shape(numbers, pooled.is_p, alpha, groups=pool.groups, strata=pool.strata)


def _check(
    estimand: str, method: str, alpha: float, n_resamples: int, groups: Design, strata: Design
) -> None:
    if estimand not in TARGETS:
        raise InputError(f'estimand must be "fitted" or "population", got {estimand!r}.')
    if method not in ("normal", "bootstrap"):
        raise InputError(f'method must be "normal" or "bootstrap", got {method!r}.')
    if n_resamples + 1 < 2 / alpha:
        raise InputError(
            f"n_resamples={n_resamples} is too few for alpha = {alpha:g}; use at least "
            f"{int(np.ceil(2 / alpha)) - 1}."
        )
    if method == "bootstrap" and (groups is not None or strata is not None):
        raise InputError(
            'the bootstrap resamples single rows, got groups= or strata=; use method="normal".'
        )
