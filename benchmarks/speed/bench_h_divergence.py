"""H-divergence against refitting a model to both sides of every permutation; warm against cold.

    python benchmarks/speed/bench_h_divergence.py [--pairs 12] [--study]

One thread. With a KDE: 1000 rows per side, d = 2, 99 permutations, against 100 pairs of
scikit-learn's KDE (99 permutations and the observed split). With a Gaussian mixture: whole tests of
null pairs, stopped early and warm-started, against 99 pairs of cold fits; where a test stops is a
matter of chance, so the times of several pairs are added up. Every fit that is counted is run.
Warm fits beside those of scikit-learn from the same start, also at the paper's size of HDGM (2000
rows per side, d = 10), and a draw of its table whose tests share them beside one test at a time.
`--study` compares level and power of warm and cold starts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture as Mixture
from sklearn.neighbors import KernelDensity

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import Seconds, once, ratio, show, take_turns

from rdiv import power_study
from rdiv.discrepancies import CrossRisk, HDivergence
from rdiv.models import GaussianMixture
from rdiv.models import KernelDensity as OwnKernelDensity
from rdiv.models.gaussian_mixture import FittedGaussianMixture
from rdiv.models.protocol import FittedModel
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.sources import Hdgm
from rdiv.two_sample import two_sample_test

MIXTURE = GaussianMixture(4)
Refit = Callable[[Pool, np.random.Generator], FittedModel]


def kernel_density() -> None:
    """One kernel matrix against 100 pairs of kernel densities."""
    x = np.random.default_rng(0).normal(size=(2000, 2))
    factor = 2000 ** (-1 / 6)

    def refits() -> None:
        rng = np.random.default_rng(1)
        for _ in range(100):
            rows = rng.permutation(2000)
            for side in (x[rows[:1000]], x[rows[1000:]]):
                KernelDensity(bandwidth=factor).fit(side).score_samples(side)

    def test() -> None:
        h_divergence = HDivergence(OwnKernelDensity(bandwidth="scott"))
        two_sample_test(x[:1000], x[1000:], h_divergence, n_resamples=99, rng=0)

    print("kde, 1000 rows per side, d = 2, 99 permutations, best of 2", flush=True)
    times = take_turns({"100 pairs of refits": refits, "h-div": test}, 2)
    for name, seconds in times.items():
        show(name, seconds)
    ratio("100 pairs of refits / h-div", times["100 pairs of refits"], times["h-div"], ">= 50")


def mixture(pairs: int) -> None:
    """Tests of null pairs as they run against 99 pairs of cold fits each; all of them run."""
    zero = Seconds(0.0, 0.0)
    names = ("h-div", "99 pairs of cold fits", "99 pairs of warm fits", "by scikit-learn")
    times = dict.fromkeys(names, zero)
    ran: list[int] = []
    for i in range(pairs):
        p, q = Hdgm(d=5).draw(300, np.random.default_rng(i), null=True)

        def test(p: Any = p, q: Any = q, seed: int = i) -> None:
            result = two_sample_test(p, q, HDivergence(MIXTURE), n_resamples=99, rng=seed)
            ran.append(len(result.null_distribution))

        x = np.concatenate([p, q])
        fitted = MIXTURE.fit(Pool(x), np.random.default_rng(i))
        runs: dict[str, Callable[[], object]] = {
            "h-div": test,
            "99 pairs of cold fits": partial(refit_pairs, MIXTURE.fit, x, i),
            "99 pairs of warm fits": partial(refit_pairs, fitted.refit, x, i),
            "by scikit-learn": partial(refit_pairs, by_scikit_learn(fitted), x, i),
        }
        times = {name: times[name] + once(run) for name, run in runs.items()}
    print(f"gmm, {pairs} null pairs, 300 rows per side, d = 5, sums over the pairs; "
          f"h-div ran {np.mean(ran):.0f} of 99 permutations on average")  # fmt: skip
    for name, seconds in times.items():
        show(name, seconds)
    cold, warm = times["99 pairs of cold fits"], times["99 pairs of warm fits"]
    ratio("cold / h-div", cold, times["h-div"], ">= 5")
    ratio("cold / warm", cold, warm)
    ratio("warm by scikit-learn / warm", times["by scikit-learn"], warm)


def paper_size() -> None:
    """Warm fits of HDGM in ten dimensions, and a draw of the table with and without sharing."""
    x = np.concatenate(Hdgm(d=10).draw(2000, np.random.default_rng(0), null=False))
    fitted = MIXTURE.fit(Pool(x), np.random.default_rng(0))
    tests = [HDivergence(MIXTURE), CrossRisk(MIXTURE)]

    def draw(share_fits: bool) -> None:
        power_study(Hdgm(d=10), tests, sizes=[2000], trials=2, rng=0, share_fits=share_fits)

    runs: dict[str, Callable[[], object]] = {
        "99 pairs by scikit-learn": partial(refit_pairs, by_scikit_learn(fitted), x, 0),
        "99 pairs of warm fits": partial(refit_pairs, fitted.refit, x, 0),
        "h-div and cross-risk, one by one": partial(draw, False),
        "h-div and cross-risk, shared fits": partial(draw, True),
    }
    print("gmm, 2000 rows per side, d = 10; tests of two draws", flush=True)
    times = take_turns(runs, 2)
    for name, seconds in times.items():
        show(name, seconds)
    before, after, apart, shared = times.values()
    ratio("warm by scikit-learn / warm", before, after)
    ratio("one by one / shared fits", apart, shared)


def by_scikit_learn(fitted: FittedGaussianMixture) -> Refit:
    """Refits from the same start by scikit-learn."""

    def refit(side: Pool, rng: np.random.Generator) -> FittedModel:
        del rng
        start = fitted.mixture
        mixture = Mixture(
            start.n_components, covariance_type=start.covariance_type, reg_covar=start.reg_covar,
            weights_init=start.weights_, means_init=start.means_, precisions_init=start.precisions_,
        )  # fmt: skip
        rows = fitted.scaling.apply(side.matrix())
        return FittedGaussianMixture(mixture.fit(rows), fitted.scaling)

    return refit


def refit_pairs(fit: Refit, x: NDArray[np.float64], seed: int) -> None:
    """Fit both sides of 99 random splits."""
    rng = np.random.default_rng(seed)
    for _ in range(99):
        for part in np.array_split(rng.permutation(len(x)), 2):
            side = Pool(x[part])
            fit(side, rng).losses(side)


def study() -> None:
    """Rejection rates of warm and cold starts, with the null beside."""
    tests = [HDivergence(GaussianMixture(2), warm=warm) for warm in (True, False)]
    print(power_study(Hdgm(d=2), tests, sizes=[300], trials=100, n_resamples=19, null=True, rng=0))


def main() -> None:
    """Print the ratios, or the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--study", action="store_true", help="level and power, warm and cold")
    parser.add_argument("--pairs", type=int, default=12, help="null pairs of the mixture")
    args = parser.parse_args()
    with one_thread():
        if args.study:
            study()
        else:
            kernel_density()
            mixture(args.pairs)
            paper_size()


if __name__ == "__main__":
    main()
