"""The trials of a study: draw, test, and one row about each; fits in common are made once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.c2st import fit_classifier
from rdiv.discrepancies.resolve import Choice
from rdiv.inference.engine import PermutationSettings
from rdiv.models import BY_NAME as MODELS
from rdiv.models.protocol import FittedModel, Model
from rdiv.names import spelled
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.samples.sample import has_target
from rdiv.studies.own_tests import checked
from rdiv.studies.study import Key, Study
from rdiv.threads import one_thread
from rdiv.two_sample import run_test

__all__ = ["Fits", "draws_of", "run_draw", "run_trial"]


@dataclass(frozen=True, eq=False)
class Fits:
    """Models fitted to one draw: one fit for all tests of the same model.

    Shared are fits to the whole pool, which r-div, score, omnibus and h-div of one model need, and
    those of a classifier to the half that it learns from, which both C2ST need. The streams of a
    stage start alike for every test of a draw, so each gets the numbers that it would find alone.

    Examples
    --------
    >>> from rdiv.discrepancies import RDivergence, Score
    >>> pool = Pool(np.random.default_rng(0).normal(size=(60, 2)))
    >>> fits = Fits()
    >>> for test in (RDivergence("gmm"), Score("gmm")):
    ...     prepared = fits.shared(test).prepare(pool, np.random.default_rng(1))
    >>> print(len(fits.pooled))
    1
    """

    pooled: list[_Fit] = field(default_factory=list)
    classifiers: list[_Fit] = field(default_factory=list)

    def shared(self, test: Any) -> Any:
        """The same test, whose model is not fitted again if it was already."""
        if getattr(test, "model", None) is None:
            return test
        if hasattr(test, "from_classifier"):
            return _SharedClassifier(test, self.classifiers)
        one_fit = hasattr(test, "from_fit") or hasattr(test, "after_fit")
        alone = not one_fit or getattr(test, "learns", False)
        return test if alone else _SharedFit(test, self.pooled)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A model, what its fit gave, and the stream as the fit left it."""

    model: Model
    fitted: FittedModel
    stream: np.random.Generator


def _known(model: Model, fits: list[_Fit]) -> _Fit | None:
    return next((fit for fit in fits if fit.model is model or fit.model == model), None)


@dataclass(frozen=True, eq=False)
class _SharedFit:
    """A test that takes the fit of its model from another test of the draw."""

    test: Any
    known: list[_Fit]

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        fit = _known(self.test.model, self.known)
        if fit is None:
            fit = _Fit(self.test.model, self.test.model.fit(pool, rng), rng)
            self.known.append(fit)
        if hasattr(self.test, "from_fit"):
            return self.test.from_fit(fit.fitted, pool)
        return self.test.after_fit(fit.fitted, pool, deepcopy(fit.stream))


@dataclass(frozen=True, eq=False)
class _SharedClassifier:
    """A C2ST that takes its classifier from the other one."""

    test: Any
    known: list[_Fit]

    learns = True

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Any:
        fit = _known(self.test.model, self.known)
        if fit is None:
            fit = _Fit(self.test.model, fit_classifier(self.test.model, pool, is_p, rng), rng)
            self.known.append(fit)
        return self.test.from_classifier(fit.fitted, is_p)


Row = dict[str, Any]

_TEST, _TRAINING = 0, 1


def draws_of(study: Study, keys: Iterable[Key]) -> Iterator[list[Key]]:
    """Trials that run together: those of one draw where its tests share fits, else each alone."""
    if not study.share_fits:
        return ([key] for key in keys)
    return (list(draw) for _, draw in groupby(keys, lambda key: replace(key, contender=0)))


def run_draw(study: Study, keys: Sequence[Key]) -> Iterator[Row]:
    """Run the trials of one draw, a row for each as it finishes.

    All tests see the same draws: a trial's data depend on the source, the size, the null and the
    numbers of repeat and trial, never on the test.
    """
    with one_thread():  # for the draw too: a row's last bits decide its place in the pool
        draw = _drawn(study, keys[0], _TEST)
    for key in keys:
        yield _tested(study, key, draw)


def run_trial(study: Study, key: Key) -> Row:
    """Run one trial; a pure function of the study and the key, but for the seconds it took."""
    return next(run_draw(study, [key]))


def _tested(study: Study, key: Key, draw: _Draw) -> Row:
    source, contender = study.sources[key.source], study.contenders[key.contender]
    start = time.perf_counter()
    with one_thread():
        choice = contender.choice(source, supervised=draw.supervised)
        pooled, fits = draw.pool(choice)
        discrepancy = choice.build(pooled.pool)
        model = getattr(discrepancy, "model", None)
        protocol, test = _as_agreed(study, key, discrepancy, fits)
        test = checked(test, study.texts[key.source, key.contender][1])
        settings = PermutationSettings(max(study.alphas), study.n_resamples)
        result, _ = run_test(test, pooled, settings)
    seconds = time.perf_counter() - start
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
    supervised: bool
    pools: dict[str | None, tuple[PooledSamples, Fits]] = field(default_factory=dict)

    def pool(self, choice: Choice) -> tuple[PooledSamples, Fits]:
        """The two samples as one pool, for the task of this test, and models fitted to it."""
        kind = choice.kind if self.supervised else None
        if kind not in self.pools:
            self.pools[kind] = pool_samples(self.p, self.q, rng=self.seed, kind=kind), Fits()
        return self.pools[kind]


def _drawn(study: Study, key: Key, role: int) -> _Draw:
    stream = _stream(study, key, role)
    p, q = study.sources[key.source].draw(key.n, stream, null=key.null)
    return _Draw(p, q, int(stream.integers(2**53)), has_target(p, None))


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


def _as_agreed(study: Study, key: Key, discrepancy: Any, fits: Fits) -> tuple[str, Any]:
    """The protocol by which a test gets its rows, and the test as it runs under it."""
    test = fits.shared(discrepancy) if study.share_fits else discrepancy
    if not getattr(discrepancy, "learns", False):
        return "whole", test
    return study.train, _trained(study, key) if study.train == "fresh" else test


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
        draws[place] = _drawn(study, key, _TRAINING)
    choice = contender.choice(source, supervised=draws[place].supervised)
    pooled, fits = draws[place].pool(choice)
    discrepancy = choice.build(pooled.pool)
    test = fits.shared(discrepancy) if study.share_fits else discrepancy
    return test.learn(pooled.pool, pooled.is_p, pooled.stream("learn"))
