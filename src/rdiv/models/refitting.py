"""Fit a model again to some rows of the pool, so that its losses compare with the pooled ones."""

from __future__ import annotations

import numpy as np

from rdiv.models.protocol import FittedModel, Model
from rdiv.samples.pool import Pool

__all__ = ["fit_again"]


def fit_again(
    model: Model, fitted: FittedModel, pool: Pool, rng: np.random.Generator, *, warm: bool
) -> FittedModel:
    """Fit to a part of the pool, keeping what the pooled fit decided about units and shape.

    Parameters
    ----------
    model : Model
        What is fitted when the pooled fit offers nothing better.
    fitted : FittedModel
        The pooled fit. Its ``refit(pool, rng)`` starts from its own parameters; its
        ``fit_anew(pool, rng)`` starts afresh. Both keep choices made on the whole pool, such as
        a scaling or a number of components, without which losses would have different units.
    warm : bool
        Which of the two to use.

    Examples
    --------
    >>> from rdiv.models import PrincipalComponents
    >>> rng = np.random.default_rng(0)
    >>> pool = Pool(rng.normal(size=(40, 3)))
    >>> model = PrincipalComponents(1)
    >>> fitted = model.fit(pool, rng)
    >>> side = fit_again(model, fitted, pool.take(np.arange(15)), rng, warm=True)
    >>> print(side.scaling is fitted.scaling)
    True
    """
    again = getattr(fitted, "refit" if warm else "fit_anew", None)
    side: FittedModel = model.fit(pool, rng) if again is None else again(pool, rng)
    return side
