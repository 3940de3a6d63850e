"""Distance between the loss distributions of two samples under the pooled fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.masked_sums import mask_counts
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.prepared import Masks, Observed, Prepared, Statistic
from rdiv.models.adapters import as_model
from rdiv.models.protocol import FittedModel, Model, check_losses, fit_model, losses_of
from rdiv.samples.pool import Pool

__all__ = ["LossDistribution"]


@dataclass(frozen=True)
class LossDistribution:
    """Kolmogorov-Smirnov or Wasserstein distance between the losses of one pooled fit.

    R-divergence compares mean losses; this detects any change of their distribution, such as a few
    rows that got much worse while the others got a little better.

    Parameters
    ----------
    model : Model
        Model to fit once on the pool, or anything that `rdiv.models.as_model` accepts.
    distance : {"ks", "wasserstein"}
        Largest gap between the distribution functions, or the area between them.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 1)), rng.choice([-1.0, 1.0], size=(200, 1))
    >>> print(two_sample_test(p, q, LossDistribution("gmm"), rng=0).pvalue)
    0.001
    """

    compares = "the distributions of the losses under the pooled fit"
    takes = "any"
    learning = "no"
    cost = "one fit and a sort"
    sees = "changes in the losses, also where their mean stays"
    citation = "Kolmogorov 1933; Smirnov 1948"
    directed = False

    model: Model
    distance: Literal["ks", "wasserstein"] = "ks"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))
        if self.distance not in ("ks", "wasserstein"):
            raise InputError(f"distance must be 'ks' or 'wasserstein', got {self.distance!r}.")

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Fit the model to the pool and sort its losses."""
        return self.from_fit(fit_model(self.model, pool, rng), pool)

    def from_fit(self, fitted: FittedModel, pool: Pool) -> Prepared:
        """The same from an already fitted model."""
        losses = check_losses(losses_of(fitted, pool), pool, "the model")
        means = mean_gap(losses)

        def observed(is_p: NDArray[np.bool_]) -> Observed:
            risks = means.observe(is_p)
            return Observed(risk_p=risks.risk_p, risk_q=risks.risk_q)

        return Prepared(_distances(losses, self.distance), observed=observed, losses=losses)


def _distances(losses: NDArray[np.float64], kind: str) -> Statistic:
    order = np.argsort(losses, kind="stable")
    ordered = losses[order]
    steps = np.diff(ordered)
    ends = np.flatnonzero(
        np.append(steps > 0, False)
    )  # the last row of every value except the largest
    widths = steps[ends]
    ranks = ends + 1.0

    def statistic(masks: Masks) -> NDArray[np.float64]:
        n_p = mask_counts(masks)[:, None]
        n_q = masks.shape[1] - n_p
        below = np.cumsum(masks[:, order], axis=1, dtype=np.int32)[:, ends]
        gaps = np.abs(below / n_p - (ranks - below) / n_q)
        area: NDArray[np.float64] = gaps @ widths
        largest: NDArray[np.float64] = gaps.max(axis=1, initial=0.0)
        return area if kind == "wasserstein" else largest

    return statistic
