"""One trial of a study: draw, test, and one row about it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rdiv.models import BY_NAME as MODELS
from rdiv.samples.pooling import Pooled, pool_samples
from rdiv.samples.sample import has_target
from rdiv.sources import Source
from rdiv.spelling import spelled
from rdiv.studies.study import Contender, Key, Study
from rdiv.threads import one_thread
from rdiv.two_sample import examine

__all__ = ["run_trial"]

Row = dict[str, Any]

_TEST, _TRAINING = 0, 1


def run_trial(study: Study, key: Key) -> Row:
    """Run one trial; a pure function of the study and the key, but for the seconds it took.

    All tests see the same draws: a trial's data depend on the source, the size, the null and the
    numbers of repeat and trial, never on the test.
    """
    source, contender = study.sources[key.source], study.contenders[key.contender]
    stream = _stream(study, key, _TEST)
    start = time.perf_counter()
    with one_thread():  # for the draw too: a row's last bits decide its place in the pool
        before = time.perf_counter()
        p, q = source.draw(key.n, stream, null=key.null)
        seed = int(stream.integers(2**53))
        drawing = time.perf_counter() - before
        pooled = _pool(p, q, contender, source, seed)
        discrepancy = contender.build(source, pooled.pool)
        model = getattr(discrepancy, "model", None)
        protocol, test = _as_agreed(study, key, discrepancy)
        result, _ = examine(test, pooled, alpha=max(study.alphas), n_resamples=study.n_resamples)
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


def _pool(p: Any, q: Any, contender: Contender, source: Source, seed: int) -> Pooled:
    kind = contender.kind(source)
    if not has_target(p, None):
        return pool_samples(p, q, rng=seed)
    return pool_samples(p, q, rng=seed, kind=kind)


def _as_agreed(study: Study, key: Key, discrepancy: Any) -> tuple[str, Any]:
    """The protocol by which a test gets its rows, and the test as it runs under it."""
    if not getattr(discrepancy, "learns", False):
        return "whole", discrepancy
    return study.train, _trained(study, key) if study.train == "fresh" else discrepancy


def _trained(study: Study, key: Key) -> Any:
    """The discrepancy trained on a draw of its own, once for each repeat of a cell."""
    known, cell = _trainings(study.token, key.repeat), replace(key, trial=0)
    if cell not in known:
        known[cell] = _train(study, cell)
    return known[cell]


@lru_cache(maxsize=2)
def _trainings(token: str, repeat: int) -> dict[Key, Any]:
    """What this process trained in one repeat of a study; two repeats are remembered."""
    del token, repeat
    return {}


def _train(study: Study, key: Key) -> Any:
    source, contender = study.sources[key.source], study.contenders[key.contender]
    stream = _stream(study, key, _TRAINING)
    p, q = source.draw(key.n, stream, null=key.null)
    pooled = _pool(p, q, contender, source, int(stream.integers(2**53)))
    discrepancy = contender.build(source, pooled.pool)
    return discrepancy.learn(pooled.pool, pooled.is_p, pooled.stream("learn"))
