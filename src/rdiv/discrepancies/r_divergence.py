"""R-divergence: the gap between the mean losses of one model fitted on the pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.prepared import Observed, Prepared
from rdiv.models.adapters import as_model
from rdiv.models.cross_fit import FittedCrossFit
from rdiv.models.protocol import (
    FittedModel,
    Model,
    check_losses,
    fit_model,
    is_held_out,
    losses_of,
)
from rdiv.samples.pool import Pool

__all__ = ["BalancedFit", "Distance", "RDivergence"]

Distance = Literal["absolute", "signed", "relative"]


@dataclass(frozen=True)
class RDivergence:
    """Gap between the mean losses of one model fitted on the pooled data.

    Parameters
    ----------
    model : Model
        Model to fit, or anything that `rdiv.models.as_model` accepts. It is fitted once;
        permutations reuse its losses.
    studentize : bool, default True
        Rank the gap over its standard error, so that the level also holds, for large samples, when
        only the risks are equal.
        False ranks the gap itself, as the paper does.
    distance : {"absolute", "signed", "relative"}
        ``"absolute"`` is the paper's. ``"signed"`` is the mean loss of q minus that of p and makes
        the test directed: only a higher loss on q is evidence. ``"relative"`` divides the absolute
        gap by the mean loss over the pool, for losses that are never negative; the pool does not
        change when labels are permuted, so its p-value is that of ``"absolute"``.
    mixture : {"pool", "balanced"}
        ``"pool"`` gives every row the same weight, so the larger sample has the larger part in the
        fit. ``"balanced"`` fits the model to as many rows of p as of q. Which rows these are
        depends on the labels, so they are taken from one half of each sample, and the gap is
        tested on the other half.

    Notes
    -----
    The estimator is the paper's Algorithm 1 (Zhao and Cao 2023): the reported ``statistic`` is the
    absolute gap in units of the model's loss, also where the studentised gap is ranked.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> from rdiv.models import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(80, 3)), 1.6 * rng.normal(size=(60, 3))
    >>> print(two_sample_test(p, q, RDivergence(GaussianMixture()), rng=1).pvalue)
    0.001
    >>> signed = RDivergence(GaussianMixture(), distance="signed")
    >>> print(two_sample_test(q, p, signed, rng=1).pvalue)
    1.0
    """

    compares = "mean losses of one model fitted on the pool"
    takes = "any"
    learning = "no"
    cost = "one fit"
    sees = "what changes the model's average loss"
    citation = "Zhao and Cao 2023"
    directed = False

    model: Model
    studentize: bool = True
    distance: Distance = "absolute"
    mixture: Literal["pool", "balanced"] = "pool"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))
        if self.distance not in ("absolute", "signed", "relative"):
            raise InputError(
                f"distance must be 'absolute', 'signed' or 'relative', got {self.distance!r}."
            )
        if self.mixture not in ("pool", "balanced"):
            raise InputError(f"mixture must be 'pool' or 'balanced', got {self.mixture!r}.")
        if self.mixture == "balanced" and is_held_out(self.model):
            raise InputError(
                "mixture='balanced' fits the model on one half and tests it on the other, so it "
                "takes neither folds nor a model that is fitted already; pass the plain model."
            )
        if self.distance == "signed":
            object.__setattr__(self, "directed", True)

    @property
    def learns(self) -> Literal[False, "halves"]:
        """One half of each sample for a balanced mixture, else nothing."""
        return "halves" if self.mixture == "balanced" else False

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> BalancedFit:
        """Fit the model to as many rows of p as of q, drawn from these rows."""
        sides = [rng.permutation(np.flatnonzero(side)) for side in (is_p, ~is_p)]
        count = min(len(side) for side in sides)
        rows = np.sort(np.concatenate([side[:count] for side in sides]))
        fitted = fit_model(self.model, pool.take(rows), rng)
        return BalancedFit(fitted, replace(self, mixture="pool"))

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Fit the model to the pool and keep its losses."""
        return self.from_fit(fit_model(self.model, pool, rng), pool)

    def from_fit(self, fitted: FittedModel, pool: Pool) -> Prepared:
        """The same from an already fitted model, so that several tests can share a fit."""
        gap = self._gap(fitted, pool)
        if not isinstance(fitted, FittedCrossFit) or not fitted.others:
            return gap
        return replace(gap, draws=tuple(self._gap(draw, pool) for draw in fitted.draws))

    def _gap(self, fitted: FittedModel, pool: Pool) -> Prepared:
        losses = check_losses(losses_of(fitted, pool), pool, "the model")
        prepared = mean_gap(
            losses, studentize=self.studentize, groups=pool.groups, strata=pool.strata,
            signed=self.distance == "signed",
        )  # fmt: skip
        if self.distance != "relative":
            return prepared
        return replace(prepared, observed=_relative(prepared, _pooled_risk(losses)))


@dataclass(frozen=True, eq=False)
class BalancedFit:
    """A model fitted to as many rows of p as of q, as a test of other rows.

    Parameters
    ----------
    fitted : FittedModel
    how : RDivergence
        How the gap is taken and ranked.
    """

    fitted: FittedModel
    how: RDivergence

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """The gap on rows that did not train the model."""
        del rng
        return self.how.from_fit(self.fitted, pool)


def _pooled_risk(losses: NDArray[np.float64]) -> float:
    if (losses < 0).any():
        raise InputError(
            f"distance='relative' divides by the mean loss and needs losses of at least 0, got "
            f"{int((losses < 0).sum())} negative ones (a log density can have them); use "
            "distance='absolute'."
        )
    return float(losses.mean())


def _relative(prepared: Prepared, risk: float) -> Callable[[NDArray[np.bool_]], Observed]:
    """The observed numbers, with the gap in units of the pooled risk as the statistic."""

    def observed(is_p: NDArray[np.bool_]) -> Observed:
        found = prepared.observe(is_p)
        gap = 0.0 if found.gap is None else abs(found.gap)
        return replace(found, statistic=gap / risk if risk > 0 else 0.0)

    return observed
