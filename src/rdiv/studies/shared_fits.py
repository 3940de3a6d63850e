"""Fits that several tests of one draw have in common, made once."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from rdiv.models.protocol import FittedModel, Model
from rdiv.samples.pool import Pool

__all__ = ["SharedFits"]


@dataclass(frozen=True, eq=False)
class SharedFits:
    """Models fitted to one draw, once for the same model, rows and state of the random stream.

    Tests give the same numbers as without it: what a fit draws from its stream is drawn from the
    streams of later tests too. Kept are fits to the whole pool, which r-div, score, omnibus and
    h-div of one model have in common, and those of classifiers to the half that they learn from,
    which both C2ST do.

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
        model, learns = getattr(test, "model", None), getattr(test, "learns", False)
        usual = "classifier" if learns else None
        strange = getattr(type(test), "model_role", None) != usual  # it fits in a way of its own
        if model is None or strange or not is_dataclass(test) or isinstance(test, type):
            return test
        return replace(test, model=_Shared(model, self, keep_all=learns))

    def fit(self, model: Model, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """What the model gives on these rows with this stream."""
        before = _state(rng)
        for fit in self.known:
            same = fit.before == before and (fit.model is model or fit.model == model)
            if same and _same_rows(fit.pool, pool):
                _advance(rng, fit.after)
                return fit.fitted
        fitted = model.fit(pool, rng)
        self.known.append(_Fit(model, pool, before, _state(rng), fitted))
        return fitted


_State = tuple[Any, int]  # of the bit generator, and how many streams were spawned


@dataclass(frozen=True, eq=False)
class _Fit:
    """A model, its rows, its stream before and after, and what came out."""

    model: Model
    pool: Pool
    before: _State
    after: _State
    fitted: FittedModel


@dataclass(frozen=True, eq=False)
class _Shared:
    """A model whose fits are remembered: those to the whole pool, or all of them."""

    model: Model
    fits: SharedFits
    keep_all: bool

    @property
    def task(self) -> str | None:
        """The only task that the model can do."""
        return getattr(self.model, "task", None)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        if self.keep_all or pool is self.fits.pool:
            return self.fits.fit(self.model, pool, rng)
        return self.model.fit(pool, rng)


def _same_rows(a: Pool, b: Pool) -> bool:
    """Whether two pools have the same rows and targets in the same order."""
    if a is b:
        return True
    return np.array_equal(a.numbers(), b.numbers()) and np.array_equal(a.y, b.y)  # type: ignore[arg-type]


def _state(rng: np.random.Generator) -> _State:
    """All that decides what a stream, and the streams spawned from it, give next."""
    sequence: Any = rng.bit_generator.seed_seq
    return rng.bit_generator.state, sequence.n_children_spawned


def _advance(rng: np.random.Generator, after: _State) -> None:
    """Bring a stream to where a fit that starts at its place would leave it."""
    rng.bit_generator.state, spawned = after
    rng.spawn(spawned - _state(rng)[1])
