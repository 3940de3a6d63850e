"""One training for two tests that learn: a model that remembers what it was fitted to last."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from rdiv.models import BY_NAME
from rdiv.models.protocol import FittedModel, Model
from rdiv.samples.pool import Pool
from rdiv.spelling import spelled
from rdiv.studies.shared_fits import State, advance, stream_state

__all__ = ["SharedFit"]

REMEMBERED = 2  # the pool of the trial that runs, and one more

_fits: OrderedDict[str, tuple[FittedModel, State]] = OrderedDict()


@dataclass(frozen=True)
class SharedFit:
    """A model whose last fits are kept, so that tests that learn from the same rows share them.

    Studies share the fits of tests that do not learn by themselves (``share_fits``); this does the
    same for the classifier of both C2ST.

    A fit is a function of the rows, the model and the state of its generator. A second fit of all
    three is looked up, and leaves the generator where the first one did: p-values are those of the
    model itself, to the last bit.

    Parameters
    ----------
    model : Model

    Examples
    --------
    >>> from rdiv.models import KernelDensity
    >>> pool = Pool(np.random.default_rng(0).normal(size=(20, 2)))
    >>> once, again = (
    ...     SharedFit(KernelDensity()).fit(pool, np.random.default_rng(1)) for _ in range(2)
    ... )
    >>> print(once is again, SharedFit(KernelDensity()))
    True kde
    """

    model: Model

    def __str__(self) -> str:
        return spelled(self.model, BY_NAME)

    @property
    def task(self) -> str | None:
        """The only task that the model can do."""
        return getattr(self.model, "task", None)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """Fit, or find the same fit."""
        name = f"{self.model!r} {stream_state(rng)} {_digest(pool)}"
        if name in _fits:
            fitted, after = _fits[name]
            advance(rng, after)
            return fitted
        fitted = self.model.fit(pool, rng)
        _fits[name] = fitted, stream_state(rng)
        while len(_fits) > REMEMBERED:
            _fits.popitem(last=False)
        return fitted


def _digest(pool: Pool) -> str:
    """The rows and targets of a pool in their order."""
    found = hashlib.blake2b(digest_size=16)
    for part in (pool.numbers(), pool.y):
        if part is not None:
            values = np.ascontiguousarray(part)
            found.update(f"{values.shape} {values.dtype}".encode())
            found.update(values.tobytes())
    return found.hexdigest()
