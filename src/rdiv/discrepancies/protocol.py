"""What a discrepancy is: label-blind work once, then a number for every way to split the pool."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.prepared import Prepared, Statistic
from rdiv.samples.pool import Pool

__all__ = ["Discrepancy", "Learner"]


class Discrepancy(Protocol):
    """A distance between two samples that share a pool; usually a frozen dataclass of settings.

    Those that rest on one fitted model also have ``from_fit(fitted, pool)``, so that several of
    them can share the fit.
    """

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared | Statistic:
        """Do all costly work, blind to labels; a bare function is as good as a `Prepared`."""
        ...


class Learner(Protocol):
    """A discrepancy that learns with labels on one half of each sample and is tested on the other.

    ``learns`` may depend on the settings; an object without it does not learn.
    """

    learns: bool

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Discrepancy:
        """Learn on the training half; the discrepancy returned sees only the other half."""
        ...
