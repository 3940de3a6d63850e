"""One trial of a study: draw, test, and one row about it; fits in common are made once."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, is_dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rdiv.inference.engine import PermutationSettings
from rdiv.models import BY_NAME as MODELS
from rdiv.models.protocol import FittedModel, Model
from rdiv.names import spelled
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.samples.sample import has_target
from rdiv.sources import Source
from rdiv.studies.own_tests import checked
from rdiv.studies.study import Key, Study, StudyTest
from rdiv.threads import one_thread
from rdiv.two_sample import run_test

__all__ = ["SharedFits", "run_trial"]


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


Row = dict[str, Any]

_TEST, _TRAINING = 0, 1


def run_trial(study: Study, key: Key) -> Row:
    """Run one trial; a pure function of the study and the key, but for the seconds it took.

    All tests see the same draws: a trial's data depend on the source, the size, the null and the
    numbers of repeat and trial, never on the test.
    """
    source, contender = study.sources[key.source], study.contenders[key.contender]
    start = time.perf_counter()
    with one_thread():  # for the draw too: a row's last bits decide its place in the pool
        before = time.perf_counter()
        draw = _draw(study, key)
        drawing = time.perf_counter() - before
        pooled, fits = draw.pool(contender, source)
        discrepancy = contender.build(source, pooled.pool)
        model = getattr(discrepancy, "model", None)
        shared = fits.shared(discrepancy) if study.share_fits else discrepancy
        protocol, test = _as_agreed(study, key, shared)
        test = checked(test, study.texts[key.source, key.contender][1])
        settings = PermutationSettings(max(study.alphas), study.n_resamples)
        result, _ = run_test(test, pooled, settings)
    seconds = time.perf_counter() - start - drawing
    return {
        **study.identity(key),
        "discrepancy": contender.texts(source)[0],
        "model": None if model is None else spelled(model, MODELS),
        "n_p": result.n_p,
        "n_q": result.n_q,
        "protocol": protocol,
        "pvalue": result.pvalue,
        "statistic": float(result.statistic) if np.isfinite(result.statistic) else None,
        "seconds": round(seconds, 6),
    }


@dataclass(frozen=True, eq=False)
class _Draw:
    """The data of one trial, and what its tests have in common."""

    p: Any
    q: Any
    seed: int
    pools: dict[str | None, tuple[PooledSamples, SharedFits]] = field(default_factory=dict)

    def pool(self, contender: StudyTest, source: Source) -> tuple[PooledSamples, SharedFits]:
        """The two samples as one pool, for the task of this test, and models fitted to it."""
        kind = contender.kind(source) if has_target(self.p, None) else None
        if kind not in self.pools:
            pooled = pool_samples(self.p, self.q, rng=self.seed, kind=kind)
            self.pools[kind] = pooled, SharedFits(pooled.pool)
        return self.pools[kind]


_latest: dict[tuple[str, Key], _Draw] = {}


def _draw(study: Study, key: Key) -> _Draw:
    """The data of a trial; where tests share fits, this process remembers what it drew last."""
    place = (study.token, replace(key, contender=0))
    if study.share_fits and place in _latest:
        return _latest[place]
    draw = _fresh_draw(study, key, _TEST)
    _latest.clear()
    if study.share_fits:
        _latest[place] = draw
    return draw


def _fresh_draw(study: Study, key: Key, role: int) -> _Draw:
    stream = _stream(study, key, role)
    p, q = study.sources[key.source].draw(key.n, stream, null=key.null)
    return _Draw(p, q, int(stream.integers(2**53)))


def _stream(study: Study, key: Key, role: int) -> np.random.Generator:
    """Randomness of a trial, the same for every test and whatever else the study holds."""
    prefix = _words(study.seed, study.texts[key.source, key.contender][0])
    words = [*prefix, key.n, key.null, key.repeat, key.trial, role]
    return np.random.default_rng(np.random.SeedSequence(np.array(words, dtype=np.uint32)))


@lru_cache(maxsize=64)
def _words(seed: int, source: str) -> list[int]:
    """The seed and a digest of the source's name in 32-bit words, lowest first.

    `SeedSequence` would cut whole numbers up in the same way, at four times the cost.
    """
    name = int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8).digest())
    return [
        value >> shift & 0xFFFFFFFF
        for value in (seed, name)
        for shift in range(0, max(value.bit_length(), 1), 32)
    ]


def _as_agreed(study: Study, key: Key, discrepancy: Any) -> tuple[str, Any]:
    """The protocol by which a test gets its rows, and the test as it runs under it."""
    if not getattr(discrepancy, "learns", False):
        return "whole", discrepancy
    return study.train, _trained(study, key) if study.train == "fresh" else discrepancy


def _trained(study: Study, key: Key) -> Any:
    """The discrepancy trained on a draw of its own, once for each repeat of a cell."""
    known, cell = _trainings(study.token, key.repeat), replace(key, trial=0)
    if cell not in known.tests:
        known.tests[cell] = _train(study, cell, known.draws)
    return known.tests[cell]


@dataclass(frozen=True, eq=False)
class _Trainings:
    """The draws that tests learn from in one repeat of a study, and what they learned."""

    draws: dict[Key, _Draw] = field(default_factory=dict)
    tests: dict[Key, Any] = field(default_factory=dict)


@lru_cache(maxsize=2)
def _trainings(token: str, repeat: int) -> _Trainings:
    """What this process trained in one repeat of a study; two repeats are remembered."""
    del token, repeat
    return _Trainings()


def _train(study: Study, key: Key, draws: dict[Key, _Draw]) -> Any:
    source, contender = study.sources[key.source], study.contenders[key.contender]
    place = replace(key, contender=0)
    if place not in draws:
        draws[place] = _fresh_draw(study, key, _TRAINING)
    pooled, fits = draws[place].pool(contender, source)
    discrepancy = contender.build(source, pooled.pool)
    test = fits.shared(discrepancy) if study.share_fits else discrepancy
    return test.learn(pooled.pool, pooled.is_p, pooled.stream("learn"))
