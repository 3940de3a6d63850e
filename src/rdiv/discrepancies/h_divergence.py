"""H-divergence: how much lower the risk is when each sample has its own model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.protocol import refit_seed
from rdiv.discrepancies.split_fits import SplitFits, refittable, split_fits
from rdiv.errors import InputError
from rdiv.inference.prepared import Masks, Observed, Prepared
from rdiv.models.protocol import Model, fit_model
from rdiv.samples.pool import Pool

__all__ = ["HDivergence"]


@dataclass(frozen=True)
class HDivergence:
    """Risk of the pooled model minus that of separate models (Zhao et al. 2022).

    Parameters
    ----------
    model : Model
        Fitted once on the pool, and once on each side of every split. With ``kde`` all of these
        come from one kernel matrix and one matrix product.
    phi : {"mean", "max"}
        How the two gains ``risk_u(h_u) - risk_p(h_p)`` and ``risk_u(h_u) - risk_q(h_q)`` make one
        number: their mean, weighted by the sizes (H-JS), or the larger (the literature's H-min:
        pooled risk minus the smaller of the two).
    warm : bool
        Start each refit from the pooled fit, where the model can. This holds for the observed
        split and for all others.

    Notes
    -----
    It detects what separate training would gain. A sample that is only harder for the same best
    model is a case for `r-div`: with ``pca`` four times the spread has no effect here, because the
    principal directions stay the same.

    A model that is not a kernel density is fitted twice for every permutation (in k folds, 2k
    times: boosting in 5 folds is ten trainings), and the test stops early once its decision is
    certain; the length of ``null_distribution`` says how many permutations ran.

    The fits of the two sides keep the settings of the pooled fit, so that risks are comparable: a
    kernel density keeps its bandwidth and whitening, ``gmm`` and ``pca`` keep their scaling and
    number of components. With folds all risks are out of fold. Each row keeps its fold of the pool;
    where a side has no row outside a fold, the pooled model of that fold is used.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) * [1.0, 0.2]
    >>> print(two_sample_test(p, q, HDivergence("kde"), rng=0).pvalue)
    0.001
    """

    compares = "risk of the pooled model against that of separate models"
    takes = "any"
    learning = "no"
    cost = "`kde`: one kernel matrix; others: two refits per permutation, stopped early"
    sees = "where separate training would help"
    citation = "Zhao et al. 2022"
    directed = False

    model: Model
    phi: Literal["mean", "max"] = "mean"
    warm: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", refittable(self.model, "h-div"))
        if self.phi not in ("mean", "max"):
            raise InputError(f"phi must be 'mean' or 'max', got {self.phi!r}.")

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Fit the pooled model; splits are fitted when they are asked for."""
        fitted = fit_model(self.model, pool, rng)
        seed = refit_seed(rng)
        return self.of_splits(split_fits(self.model, fitted, pool, seed, warm=self.warm))

    def of_splits(self, splits: SplitFits) -> Prepared:
        """The same from fits of the sides that are at hand."""
        return Prepared(
            statistic=lambda masks: self._gain(splits, masks),
            observed=lambda is_p: two_risks(splits.own_risks(is_p[None])),
            refits=splits.refits,
            notes={"refits": splits.cost},
        )

    def _gain(self, splits: SplitFits, masks: Masks) -> NDArray[np.float64]:
        risks = splits.own_risks(masks)
        if self.phi == "max":
            return np.asarray(splits.pooled_risk - risks.min(axis=1))
        share = masks.mean(axis=1)
        return np.asarray(splits.pooled_risk - share * risks[:, 0] - (1 - share) * risks[:, 1])


def two_risks(risks: NDArray[np.float64]) -> Observed:
    """The risks of both sides of one split, ``(1, 2)``."""
    return Observed(risk_p=float(risks[0, 0]), risk_q=float(risks[0, 1]))
