"""The trials of a study: draw, test, and one row about each; fits in common are made once."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from rdiv.discrepancies.protocol import how_it_learns, model_of
from rdiv.discrepancies.resolve import Choice
from rdiv.inference.engine import PermutationSettings
from rdiv.models import BY_NAME as MODELS
from rdiv.names import spelled
from rdiv.parallel.threads import one_thread
from rdiv.results import TwoSampleResult
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.samples.sample import has_target
from rdiv.studies.one_fit import by_model, learned, with_one_fit
from rdiv.studies.own_tests import checked
from rdiv.studies.study import Key, Study
from rdiv.two_sample import run_test

__all__ = ["Row", "Unit", "drawn_pool", "run_draw", "run_trial", "run_unit", "units_of"]

Row = dict[str, Any]

_TEST, _TRAINING = 0, 1


@dataclass(frozen=True, eq=False)
class Unit:
    """Trials that run one after another in one process.

    Parameters
    ----------
    draws : list of list of Key
        The trials of each draw; tests of one draw that have a model in common share its fit.
    fresh : bool
        Whether their tests learn from a separate draw first, once for all of these trials.
    """

    draws: list[list[Key]]
    fresh: bool = False

    def __len__(self) -> int:
        return sum(map(len, self.draws))


def units_of(study: Study, keys: Iterable[Key], n_jobs: int = 1) -> Iterator[Unit]:
    """The work of a study in units: one draw, or one training and all trials of it.

    Where tests share fits the trials of a draw are one unit, else each is its own. A training
    belongs to the trials of one repeat of a cell. If there are fewer trainings than jobs, each is
    made several times, for some of its trials.
    """
    plain: list[Key] = []
    fresh: list[Key] = []
    for key in keys:
        (fresh if study.is_fresh(key) else plain).append(key)
    trainings = _trainings(study, fresh)
    pieces = -(-n_jobs // len(trainings)) if trainings else 1
    for draws in trainings:
        for first in range(min(pieces, len(draws))):
            yield Unit(draws[first::pieces], fresh=True)
    yield from (Unit([draw]) for draw in _draws(study, plain))


def _trainings(study: Study, keys: Iterable[Key]) -> list[list[list[Key]]]:
    """Draws whose tests learn from the same training."""
    found: dict[Key, list[list[Key]]] = {}
    for draw in _draws(study, keys):
        test = 0 if study.share_fits else draw[0].test
        found.setdefault(replace(draw[0], trial=0, test=test), []).append(draw)
    return list(found.values())


def _draws(study: Study, keys: Iterable[Key]) -> Iterator[list[Key]]:
    if not study.share_fits:
        return ([key] for key in keys)
    return (list(draw) for _, draw in groupby(keys, lambda key: replace(key, test=0)))


def run_unit(study: Study, unit: Unit) -> Iterator[Row]:
    """Run the trials of a unit, a row for each as it finishes."""
    trained = _trained(study, unit) if unit.fresh else {}
    for draw in unit.draws:
        yield from run_draw(study, draw, trained)


def run_trial(study: Study, key: Key) -> Row:
    """Run one trial; a pure function of the study and the key, but for the seconds it took."""
    return next(run_unit(study, Unit([[key]], fresh=study.is_fresh(key))))


@dataclass(frozen=True, eq=False)
class _Trained:
    """A test that has learned from a draw of its own, and what each trial counts of the seconds."""

    test: Any
    seconds: float


def run_draw(
    study: Study, keys: Sequence[Key], trained: Mapping[int, _Trained] | None = None
) -> Iterator[Row]:
    """Run the trials of one draw, a row for each as it finishes.

    All tests see the same draws: a trial's data depend on the source, the size, the null and the
    numbers of repeat and trial, never on the test.

    Parameters
    ----------
    trained : mapping, optional
        Tests that have learned already, by their numbers in the study.
    """
    with one_thread():  # for the draw too: a row's last bits decide its place in the pool
        draw = _drawn(study, keys[0], _TEST)
        trials = [_built(study, key, draw) for key in keys]
    settings = PermutationSettings(max(study.alphas), study.n_resamples)
    for group in by_model(trials):
        start = time.perf_counter()
        with one_thread():
            tests = _ready(group, trained or {})
        for trial, test in zip(group, tests, strict=True):
            label = study.labels[trial.key.source, trial.key.test][1]
            with one_thread():
                result, _ = run_test(checked(test, label), trial.pooled, settings)
            before = trial.seconds + _seconds(trained, trial.key)
            yield _row(study, trial, result, before + time.perf_counter() - start)
            start = time.perf_counter()


def drawn_pool(study: Study, key: Key) -> PooledSamples:
    """The pool of a trial, for a test that is no part of the study but shall see its draws."""
    with one_thread():
        draw = _drawn(study, key, _TEST)
        return pool_samples(draw.p, draw.q, rng=draw.seed)


def _ready(group: Sequence[_Trial], trained: Mapping[int, _Trained]) -> list[Any]:
    """The tests of a group as they run: after their training, or with one fit for all."""
    if group[0].key.test in trained:
        return [trained[trial.key.test].test for trial in group]
    return with_one_fit(group)


def _seconds(trained: Mapping[int, _Trained] | None, key: Key) -> float:
    return trained[key.test].seconds if trained and key.test in trained else 0.0


def _row(study: Study, trial: _Trial, result: TwoSampleResult, seconds: float) -> Row:
    key, model = trial.key, model_of(trial.test)
    protocol = study.train if how_it_learns(trial.test) else "whole"
    return {
        **study.identity(key),
        "discrepancy": study.tests[key.test].names(study.sources[key.source])[0],
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
    """The data of one trial, and the pools that its tests have in common."""

    p: Any
    q: Any
    seed: int
    supervised: bool
    pools: dict[str | None, PooledSamples] = field(default_factory=dict)

    def pool(self, choice: Choice) -> PooledSamples:
        """The two samples as one pool, for the task of this test."""
        kind = choice.kind if self.supervised else None
        if kind not in self.pools:
            self.pools[kind] = pool_samples(self.p, self.q, rng=self.seed, kind=kind)
        return self.pools[kind]


@dataclass(frozen=True, eq=False)
class _Trial:
    """A test and the pool that it gets; the seconds that making both took."""

    key: Key
    test: Any
    pooled: PooledSamples
    seconds: float


def _built(study: Study, key: Key, draw: _Draw) -> _Trial:
    start = time.perf_counter()
    source = study.sources[key.source]
    choice = study.tests[key.test].choice(source, supervised=draw.supervised)
    pooled = draw.pool(choice)
    test = choice.build(pooled.pool)
    return _Trial(key, test, pooled, time.perf_counter() - start)


def _drawn(study: Study, key: Key, role: int) -> _Draw:
    stream = _stream(study, key, role)
    p, q = study.sources[key.source].draw(key.n, stream, null=key.null)
    return _Draw(p, q, int(stream.integers(2**53)), has_target(p, None))


def _stream(study: Study, key: Key, role: int) -> np.random.Generator:
    """Randomness of a trial, the same for every test and whatever else the study holds."""
    prefix = _words(study.seed, study.labels[key.source, key.test][0])
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


def _trained(study: Study, unit: Unit) -> dict[int, _Trained]:
    """The tests of a unit, each trained on the draw of this repeat of their cell."""
    trials_of = Counter(key.test for draw in unit.draws for key in draw)
    cell = replace(unit.draws[0][0], trial=0)
    found = {}
    with one_thread():
        draw = _drawn(study, cell, _TRAINING)
        trials = [_built(study, replace(cell, test=number), draw) for number in trials_of]
        for group in by_model(trials):
            start = time.perf_counter()
            tests = learned(group)
            seconds = (time.perf_counter() - start) / len(tests)
            for trial, test in zip(group, tests, strict=True):
                number = trial.key.test
                found[number] = _Trained(test, (trial.seconds + seconds) / trials_of[number])
    return found
