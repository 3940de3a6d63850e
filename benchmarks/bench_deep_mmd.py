"""Where the time of MMD-D goes: training, kernel, permutations.

    python benchmarks/bench_deep_mmd.py

500 rows a side, d = 10, 999 resamples, one thread. Half of the rows train the kernel, the other
half is compared. Each stage is the fastest of three runs; shares are of the sum of the stages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of, report
from rdiv.discrepancies import DeepMmd
from rdiv.inference.engine import permute
from rdiv.inference.halving import halves
from rdiv.samples.pooling import pool_samples
from rdiv.threads import one_thread
from rdiv.two_sample import two_sample_test

N, D, RESAMPLES = 500, 10, 999


def main() -> None:
    """Print seconds of each stage and the share of the permutations."""
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(N, D)), rng.normal(size=(N, D))
    test, pooled = DeepMmd(), pool_samples(p, q, rng=0)
    learn, held_out = halves(pooled.pool, pooled.is_p, pooled.stream("halves"))
    train_pool, test_pool = pooled.pool.take(learn), pooled.pool.take(held_out)
    learned = test.learn(train_pool, pooled.is_p[learn], pooled.stream("learn"))
    prepared = learned.prepare(test_pool, pooled.stream("fit"))
    stages = {
        "training": lambda: test.learn(train_pool, pooled.is_p[learn], pooled.stream("learn")),
        "kernel of the held-out rows": lambda: learned.prepare(test_pool, pooled.stream("fit")),
        "permutations": lambda: permute(
            prepared, pooled.is_p[held_out], n_resamples=RESAMPLES, rng=pooled.stream("masks")
        ),
    }
    with one_thread():
        seconds = {name: best_of(stage) for name, stage in stages.items()}
    total = sum(seconds.values())
    whole = best_of(lambda: two_sample_test(p, q, test, n_resamples=RESAMPLES, rng=0))
    for name, value in seconds.items():
        print(f"{name:<40} {value:8.3f} s {value / total:8.2%}", flush=True)
    print(f"{'whole test, timed by itself':<40} {whole:8.3f} s", flush=True)
    share = 100 * seconds["permutations"] / total
    report("permutations, % of the three stages", share, "< 2", share < 2)


if __name__ == "__main__":
    main()
