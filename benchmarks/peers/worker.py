"""One side of a comparison: times one test each time a line comes in.

    python worker.py NAME ROWS THREADS

Each line of standard input is a number of resamples; each line of output its seconds on the clock
and in the processor.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Run = Callable[[int], Any]
BANDWIDTH = 4.3  # about the median distance of standard normal rows in 10 columns


def rdiv_test(p: np.ndarray, q: np.ndarray, threads: int, name: str) -> Run:
    import rdiv

    return lambda b: rdiv.two_sample_test(p, q, name, n_resamples=b, rng=0, n_jobs=threads).pvalue


def alibi_detect(p: np.ndarray, q: np.ndarray, threads: int) -> Run:
    import torch
    from alibi_detect.cd import MMDDrift

    torch.set_num_threads(threads)
    p, q = p.astype(np.float32), q.astype(np.float32)

    def run(b: int) -> Any:
        detector = MMDDrift(p, backend="pytorch", n_permutations=b, device="cpu")
        return detector.predict(q)["data"]["p_val"]

    return run


def torch_two_sample(p: np.ndarray, q: np.ndarray, threads: int) -> Run:
    import torch
    from torch_two_sample.statistics_diff import MMDStatistic

    torch.set_num_threads(threads)
    mmd = MMDStatistic(len(p), len(q))
    first, second = (torch.as_tensor(x, dtype=torch.float32) for x in (p, q))

    def run(b: int) -> Any:
        kernels = mmd(first, second, [1 / (2 * BANDWIDTH**2)], ret_matrix=True)[1]
        return mmd.pval(kernels, n_permutations=b)

    return run


def mmdfuse(p: np.ndarray, q: np.ndarray, threads: int, **kernels: Any) -> Run:
    import jax
    from mmdfuse import mmdfuse

    del threads  # by the affinity of the process

    def run(b: int) -> Any:
        key = jax.random.PRNGKey(0)
        found = mmdfuse(p, q, key, number_permutations=b, return_p_val=True, **kernels)
        return float(found[1])

    return run


def frouros(p: np.ndarray, q: np.ndarray, threads: int) -> Run:
    from frouros.callbacks import PermutationTestDistanceBased
    from frouros.detectors.data_drift import MMD
    from frouros.utils.kernels import rbf_kernel

    def run(b: int) -> Any:
        test = PermutationTestDistanceBased(num_permutations=b, num_jobs=threads, random_state=0)
        detector = MMD(kernel=partial(rbf_kernel, sigma=BANDWIDTH), callbacks=test)
        detector.fit(X=p)
        return next(iter(detector.compare(X=q)[1].values()))["p_value"]

    return run


def hyppo(p: np.ndarray, q: np.ndarray, threads: int) -> Run:
    from hyppo.ksample import MMD

    return lambda b: MMD().test(p, q, reps=b, workers=threads, auto=False)[1]


def dcor(p: np.ndarray, q: np.ndarray, threads: int) -> Run:
    from dcor.homogeneity import energy_test

    return lambda b: energy_test(p, q, num_resamples=b, random_state=0, n_jobs=threads).pvalue


def scipy(p: np.ndarray, q: np.ndarray, threads: int) -> Run:
    """What one writes oneself: a kernel matrix, and `permutation_test` over row numbers."""
    from scipy.spatial.distance import cdist
    from scipy.stats import permutation_test

    del threads
    x, rows = np.concatenate([p, q]), np.arange(len(p) + len(q))

    def run(b: int) -> Any:
        gram = np.exp(-cdist(x, x, "sqeuclidean") / (2 * BANDWIDTH**2))
        np.fill_diagonal(gram, 0.0)

        def mmd(one: np.ndarray, other: np.ndarray) -> float:
            within = [gram[np.ix_(s, s)].sum() / (len(s) * (len(s) - 1)) for s in (one, other)]
            return float(sum(within) - 2 * gram[np.ix_(one, other)].mean())

        sides = rows[: len(p)], rows[len(p) :]
        return permutation_test(
            sides, mmd, n_resamples=b, vectorized=False, alternative="greater", rng=0
        ).pvalue

    return run


SIDES: dict[str, Callable[..., Run]] = {
    "rdiv": partial(rdiv_test, name="mmd-o"),
    "rdiv-energy": partial(rdiv_test, name="energy"),
    "torch-two-sample": torch_two_sample,
    "mmdfuse": mmdfuse,
    "mmdfuse-smallest": partial(mmdfuse, kernels=("gaussian",), number_bandwidths=2),
    "alibi-detect": alibi_detect,
    "frouros": frouros,
    "hyppo": hyppo,
    "dcor": dcor,
    "scipy": scipy,
}


def main() -> None:
    """Serve runs until the input ends; only times go to standard output."""
    name, rows, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints is not an answer
    p, q = np.random.default_rng(0).normal(size=(2, rows, 10))
    run = SIDES[name](p, q, threads)
    for line in sys.stdin:
        clock, processor = time.perf_counter(), time.process_time()
        run(int(line))
        print(
            time.perf_counter() - clock, time.process_time() - processor, file=answers, flush=True
        )


if __name__ == "__main__":
    main()
