"""Cross-risk: how badly the model of one sample does on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.h_divergence import two_risks
from rdiv.discrepancies.protocol import refit_seed
from rdiv.discrepancies.split_fits import SplitFits, refittable, split_fits
from rdiv.inference.prepared import Masks, Prepared
from rdiv.models.protocol import Model, fit_model
from rdiv.samples.pool import Pool

__all__ = ["CrossRisk"]


@dataclass(frozen=True)
class CrossRisk:
    """``|risk_p(h_q) - risk_u(h_u)| + |risk_q(h_p) - risk_u(h_u)|``.

    The statistic of the scripts published with the R-divergence paper for Blob and HDGM: three
    models are fitted, and each sample is evaluated with the model of the other.

    Parameters
    ----------
    model : Model
        As for `HDivergence`; with ``kde`` one kernel matrix serves all splits. In folds, the risk
        of a sample is the mean over the models of all folds of the other.
    warm : bool
        Start each refit from the pooled fit, where the model can.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) * [1.0, 0.2]
    >>> print(two_sample_test(p, q, CrossRisk("kde"), rng=0).pvalue)
    0.001
    """

    compares = "risk of each sample under the model of the other"
    takes = "any"
    learning = "no"
    cost = "as `h-div`"
    sees = "as `h-div`, and more of a change in scale"
    citation = "the scripts published with Zhao and Cao 2023"
    directed = False

    model: Model
    warm: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", refittable(self.model, "cross-risk"))

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Fit the pooled model; splits are fitted when they are asked for."""
        fitted = fit_model(self.model, pool, rng)
        seed = refit_seed(rng)
        return self.of_splits(split_fits(self.model, fitted, pool, seed, warm=self.warm))

    def of_splits(self, splits: SplitFits) -> Prepared:
        """The same from fits of the sides that are at hand."""

        def statistic(masks: Masks) -> NDArray[np.float64]:
            excess = np.abs(splits.crossed_risks(masks) - splits.pooled_risk)
            return np.asarray(excess.sum(axis=1))

        return Prepared(
            statistic=statistic,
            observed=lambda is_p: two_risks(splits.crossed_risks(is_p[None])),
            refits=splits.refits,
            notes={"refits": splits.cost},
        )
