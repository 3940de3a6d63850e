"""What a model is: something that is fitted to a pool and gives one loss per row."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.samples.pool import Pool

__all__ = ["FittedModel", "Model"]


@runtime_checkable
class FittedModel(Protocol):
    """A hypothesis: it says how badly it does on each row.

    Five more methods are optional. ``probabilities(pool)`` gives those of every class, ``(n, K)``,
    for a classifier. ``gradients(pool)`` gives the derivatives of each row's loss in
    the parameters, ``(n, m)``; ``residuals(pool)`` those in the predictions, ``(n, r)``.
    ``refit(pool, rng)`` fits again on other rows, starting here, and ``fit_anew(pool, rng)`` from
    nothing; both keep what was settled on the whole pool, such as a scaling.
    """

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        ...


@runtime_checkable
class Model(Protocol):
    """A learning rule and its settings; fitting returns a new object and changes nothing.

    Two attributes are optional. ``task`` names the only task the model can do
    (``"classification"``, ``"regression"`` or ``"density"``). ``held_out`` is True when its fitted
    object gives losses of rows that it was not trained on.

    Examples
    --------
    A model in six lines: the distance to the pooled mean.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Centre:
    ...     mean: object = None
    ...
    ...     def fit(self, pool, rng):
    ...         return Centre(pool.numbers().mean(axis=0))
    ...
    ...     def losses(self, pool):
    ...         return ((pool.numbers() - self.mean) ** 2).sum(axis=1)
    >>> import rdiv
    >>> p, q = np.zeros((4, 1)), np.full((4, 1), 3.0)
    >>> print(rdiv.r_divergence(p, q, model=Centre(), rng=0))
    0.0
    """

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """Fit to the rows of a pool, blind to which sample each row came from."""
        ...
