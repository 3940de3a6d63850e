"""Where the time of MMD-D goes: training, kernel, permutations.

    python benchmarks/speed/bench_deep_mmd.py

500 rows per side, d = 10, 999 permutations, one thread. Half of the rows train the kernel, the
other half is compared. Each stage is the best of three runs, in turn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import measure, ratio, show, take_turns

from rdiv.discrepancies import DeepMmd
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.parallel.threads import one_thread
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import halves_of, two_sample_test

N, D, RESAMPLES = 500, 10, 999


def main() -> None:
    """Print seconds of each stage and the share of the permutations."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(N, D)), rng.normal(size=(N, D))
    test, pooled = DeepMmd(), pool_samples(p, q, rng=0)
    learn, held_out = halves_of(pooled.pool, pooled.is_p, pooled.stream("halves"))
    train_pool, test_pool = pooled.pool.take(learn), pooled.pool.take(held_out)
    learned = test.learn(train_pool, pooled.is_p[learn], pooled.stream("learn"))
    prepared = learned.prepare(test_pool, pooled.stream("fit"))
    stages: dict[str, Callable[[], object]] = {
        "training": lambda: test.learn(train_pool, pooled.is_p[learn], pooled.stream("learn")),
        "kernel of the held-out rows": lambda: learned.prepare(test_pool, pooled.stream("fit")),
        "permutations": lambda: permute(
            prepared,
            pooled.is_p[held_out],
            PermutationSettings(n_resamples=RESAMPLES),
            rng=pooled.stream("masks"),
        ),
    }
    print(f"MMD-D, {N} rows per side, d = {D}, {RESAMPLES} permutations, best of 3")
    with one_thread():
        times = take_turns(stages, 3)
    for name, seconds in times.items():
        show(name, seconds)
    show("whole test", measure(lambda: two_sample_test(p, q, test, n_resamples=RESAMPLES, rng=0)))
    stages_sum = times["training"] + times["kernel of the held-out rows"] + times["permutations"]
    ratio("permutations / the three stages", times["permutations"], stages_sum, "< 0.02")


if __name__ == "__main__":
    main()
