"""Fits that several tests of one draw have in common, made once."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from rdiv.models.protocol import FittedModel, Model
from rdiv.samples.pool import Pool

__all__ = ["SharedFits", "advance", "stream_state"]


@dataclass(frozen=True, eq=False)
class SharedFits:
    """Models fitted to one pool; a model is fitted once for each state of its random stream.

    Tests give the same numbers as without it: what a fit draws from its stream is drawn from the
    streams of later tests too.

    Examples
    --------
    >>> from rdiv.discrepancies import RDivergence, Score
    >>> pool = Pool(np.random.default_rng(0).normal(size=(60, 2)))
    >>> fits = SharedFits(pool)
    >>> for test in (RDivergence("gmm"), Score("gmm")):
    ...     prepared = fits.shared(test).prepare(pool, np.random.default_rng(1))
    >>> print(len(fits.known))
    1
    """

    pool: Pool
    known: list[_Fit] = field(default_factory=list)

    def shared(self, test: Any) -> Any:
        """The same test, with a model that is not fitted again if it was already."""
        model = getattr(test, "model", None)
        learns = getattr(test, "learns", False) or hasattr(type(test), "model_role")
        if model is None or learns or not is_dataclass(test) or isinstance(test, type):
            return test
        return replace(test, model=_Shared(model, self))

    def fit(self, model: Model, rng: np.random.Generator) -> FittedModel:
        """What the model gives on the pool with this stream."""
        before = stream_state(rng)
        for fit in self.known:
            if fit.before == before and (fit.model is model or fit.model == model):
                advance(rng, fit.after)
                return fit.fitted
        fitted = model.fit(self.pool, rng)
        self.known.append(_Fit(model, before, stream_state(rng), fitted))
        return fitted


State = tuple[Any, int]  # of the bit generator, and how many streams were spawned


@dataclass(frozen=True, eq=False)
class _Fit:
    """A model, its stream before and after, and what came out."""

    model: Model
    before: State
    after: State
    fitted: FittedModel


@dataclass(frozen=True, eq=False)
class _Shared:
    """A model whose fit to the shared pool is remembered."""

    model: Model
    fits: SharedFits

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        if pool is self.fits.pool:
            return self.fits.fit(self.model, rng)
        return self.model.fit(pool, rng)


def stream_state(rng: np.random.Generator) -> State:
    """All that decides what a stream, and the streams spawned from it, give next."""
    sequence: Any = rng.bit_generator.seed_seq
    return rng.bit_generator.state, sequence.n_children_spawned


def advance(rng: np.random.Generator, after: State) -> None:
    """Bring a stream to where a fit that starts at its place would leave it."""
    rng.bit_generator.state, spawned = after
    rng.spawn(spawned - stream_state(rng)[1])
