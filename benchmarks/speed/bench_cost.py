"""What a whole test costs beside one fit and one pass of losses, and beside refitting.

    python benchmarks/speed/bench_cost.py

The fit alone has the same rows in the same order, one thread. The published scripts refit the
model for each permutation: here, 100 refits (99 permutations and the observed split) are run, once,
against the best of three of our tests with 99. RDIV_DATA names the folder of the ACS data.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import measure, once, ratio, show, take_turns

from rdiv.discrepancies import RDivergence
from rdiv.models import Boosting, CrossFit, GaussianMixture, KernelDensity
from rdiv.models.protocol import Model
from rdiv.parallel.threads import one_thread
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import two_sample_test


def points(n: int, d: int) -> dict[str, Any]:
    """Two samples from one cloud with four clusters."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2 * n, d)) + 2 * rng.integers(4, size=(2 * n, 1))
    return {"p": x[:n], "q": x[n:]}


def employment(n: int) -> dict[str, Any] | None:
    """ACS employment, 2015 against 2018, n rows each; None without the data."""
    path = Path(os.environ.get("RDIV_DATA", "")) / "acs_employment_ma.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as data:
        x, y, year = data["x"], data["y"], data["year"]
    rng = np.random.default_rng(0)
    rows = [rng.choice(np.flatnonzero(year == which), n, replace=False) for which in (2015, 2018)]
    return {"p": (x[rows[0]], y[rows[0]]), "q": (x[rows[1]], y[rows[1]])}


def cost_over_fit(name: str, model: Model, given: dict[str, Any], repeats: int) -> None:
    """The test with 999 permutations over its fit and losses."""
    pooled = pool_samples(**given, rng=0)

    def fit() -> None:
        with one_thread():
            model.fit(pooled.pool, pooled.stream("fit")).losses(pooled.pool)

    def test() -> None:
        two_sample_test(**given, discrepancy=RDivergence(model), n_resamples=999, rng=0)

    test()
    print(f"{name}: 999 permutations, best of {repeats}")
    times = take_turns({"test": test, "fit and losses": fit}, repeats)
    for each, seconds in times.items():
        show(each, seconds)
    ratio("test / fit and losses", times["test"], times["fit and losses"], "<= 1.05")


def gain_over_refits(name: str, model: Model, given: dict[str, Any], target: str) -> None:
    """100 fits of the permuted pool, all of them run, over our test with 99 permutations."""
    pooled = pool_samples(**given, rng=0)

    def refits() -> None:
        rng = np.random.default_rng(1)
        with one_thread():
            for _ in range(100):
                pool = pooled.pool.take(rng.permutation(len(pooled.pool)))
                model.fit(pool, rng).losses(pool)

    def test() -> None:
        two_sample_test(**given, discrepancy=RDivergence(model), n_resamples=99, rng=0)

    print(f"{name}: 99 permutations")
    ours, theirs = measure(test, 3), once(refits)
    show("100 refits", theirs)
    show("rdiv", ours)
    ratio("100 refits / rdiv", theirs, ours, target)


def main() -> None:
    """Print the times and the ratio for each claim."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    cost_over_fit("kde, 5000 rows per side, d = 4", KernelDensity(), points(5000, 4), 15)
    cost_over_fit("gmm, 4000 rows per side, d = 10", GaussianMixture(), points(4000, 10), 15)
    census = employment(10_000)
    if census is None:
        print("boosting: skipped, RDIV_DATA has no acs_employment_ma.npz")
    else:
        name = "boosting, 5 folds, ACS employment, 10000 rows per side"
        cost_over_fit(name, CrossFit(Boosting(), 5), census, 5)
    gain_over_refits("kde, 5000 rows per side, d = 4", KernelDensity(), points(5000, 4), ">= 50")
    gain_over_refits(
        "gmm, 4000 rows per side, d = 10", GaussianMixture(), points(4000, 10), ">= 80"
    )


if __name__ == "__main__":
    main()
