"""H-divergence against refitting a model to both sides of every permutation; warm against cold.

    python benchmarks/bench_h_divergence.py [--study]

One thread. With a KDE: 1000 rows a side, d = 2, 99 resamples, against scikit-learn's KDE, whose
cost is measured on a few permutations and scaled to 100 (99 and the observed split). With a
Gaussian mixture: whole tests of null pairs, stopped early and warm-started, against 99 pairs of
cold fits; where a test stops is a matter of chance, so the times of several pairs are added up.
`--study` compares level and power of warm and cold starts.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.neighbors import KernelDensity

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of, report
from rdiv import power_study
from rdiv.discrepancies import HDivergence
from rdiv.models import GaussianMixture
from rdiv.models import KernelDensity as OwnKernelDensity
from rdiv.samples.pool import Pool
from rdiv.sources import Hdgm
from rdiv.threads import one_thread
from rdiv.two_sample import two_sample_test

PAIRS = 12
MIXTURE = GaussianMixture(4)


def kernel_density() -> None:
    """One kernel matrix against 100 pairs of kernel densities."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    factor = 2000 ** (-1 / 6)

    def refit() -> None:
        rows = rng.permutation(2000)
        for side in (x[rows[:1000]], x[rows[1000:]]):
            KernelDensity(bandwidth=factor).fit(side).score_samples(side)

    test = HDivergence(OwnKernelDensity(bandwidth="scott"))
    each = best_of(refit, 3)
    ours = best_of(lambda: two_sample_test(x[:1000], x[1000:], test, n_resamples=99, rng=0))
    ratio = 100 * each / ours
    report(f"99 KDE refits / h-div ({ours:.2f} s)", ratio, ">= 50", ratio >= 50)


def mixture() -> None:
    """Tests of null pairs as they run against 99 pairs of cold fits each."""
    cold = warm = ours = 0.0
    ran = 0
    for i in range(PAIRS):
        p, q = Hdgm(d=5).draw(300, np.random.default_rng(i), null=True)
        start = time.perf_counter()
        result = two_sample_test(p, q, HDivergence(MIXTURE), n_resamples=99, rng=i)
        ours += time.perf_counter() - start
        ran += len(result.null_distribution)
        cold_pair, warm_pair = _pairs(np.concatenate([p, q]), i)
        cold, warm = cold + 99 * cold_pair, warm + 99 * warm_pair
    print(f"{PAIRS} null pairs, 300 rows a side, d = 5: {ran / PAIRS:.0f} of 99 resamples ran")
    print(f"a cold pair of fits takes {cold / warm:.1f} times as long as a warm one")
    report(f"99 cold GMM refits / h-div ({ours:.1f} s)", cold / ours, ">= 5", cold / ours >= 5)


def _pairs(x: np.ndarray, seed: int) -> tuple[float, float]:
    """Seconds for both sides of a random split, from cold starts and from the pooled fit."""
    rng = np.random.default_rng(seed)
    fitted = MIXTURE.fit(Pool(x), rng)
    times = []
    for _ in range(3):
        rows = rng.permutation(len(x))
        sides = [Pool(x[part]) for part in np.array_split(rows, 2)]
        for fit in (MIXTURE.fit, fitted.refit):
            start = time.perf_counter()
            for side in sides:
                fit(side, rng).losses(side)
            times.append(time.perf_counter() - start)
    return float(np.mean(times[::2])), float(np.mean(times[1::2]))


def study() -> None:
    """Rejection rates of warm and cold starts, with the null beside."""
    tests = [HDivergence(GaussianMixture(2), warm=warm) for warm in (True, False)]
    print(power_study(Hdgm(d=2), tests, sizes=[300], trials=100, n_resamples=19, null=True, rng=0))


def main() -> None:
    """Print the ratios, or the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--study", action="store_true", help="level and power, warm and cold")
    args = parser.parse_args()
    with one_thread():
        if args.study:
            study()
        else:
            kernel_density()
            mixture()


if __name__ == "__main__":
    main()
