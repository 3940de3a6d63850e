"""What a whole test costs beside one fit and one pass of losses, and beside refitting.

    python benchmarks/bench_cost.py

The fit alone has the same rows in the same order, one thread. The published scripts refit the
model for each permutation; their cost is measured on a few refits and scaled to 99.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of, best_ratio, report
from rdiv.discrepancies import RDivergence
from rdiv.models import Boosting, CrossFit, GaussianMixture, KernelDensity
from rdiv.samples.pooling import pool_samples
from rdiv.threads import one_thread
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


def cost_over_fit(name: str, model: Any, given: dict[str, Any], repeats: int) -> None:
    """Time of the test over time of its fit and losses."""
    pooled = pool_samples(**given, rng=0)

    def fit() -> None:
        with one_thread():
            model.fit(pooled.pool, pooled.stream("fit")).losses(pooled.pool)

    def test() -> None:
        two_sample_test(**given, discrepancy=RDivergence(model), n_resamples=999, rng=0)

    test()
    ratio = best_ratio(test, fit, repeats)
    report(f"test / fit, {name}", ratio, "<= 1.05", ratio <= 1.05)


def gain_over_refits(name: str, model: Any, given: dict[str, Any], target: float) -> None:
    """99 permutations with a refit each, over our test with 99."""
    pooled = pool_samples(**given, rng=0)
    rng = np.random.default_rng(1)

    def refit() -> None:
        rows = rng.permutation(len(pooled.pool))
        with one_thread():
            pool = pooled.pool.take(rows)
            model.fit(pool, rng).losses(pool)

    each = sum(best_of(refit, 1) for _ in range(5)) / 5
    ours = best_of(
        lambda: two_sample_test(**given, discrepancy=RDivergence(model), n_resamples=99, rng=0)
    )
    ratio = 100 * each / ours  # the observed split is fitted too
    report(f"99 refits / rdiv, {name}", ratio, f">= {target:g}", ratio >= target)


def main() -> None:
    """Print one line for each claim."""
    cost_over_fit("kde, 5000 a side, d = 4", KernelDensity(), points(5000, 4), 15)
    cost_over_fit("gmm, 4000 a side, d = 10", GaussianMixture(), points(4000, 10), 15)
    census = employment(10_000)
    if census is None:
        print("test / fit, boosting: skipped, RDIV_DATA has no acs_employment_ma.npz")
    else:
        name = "boosting, 5 folds, ACS, 10000 a side"
        cost_over_fit(name, CrossFit(Boosting(), 5), census, 5)
    gain_over_refits("kde, 5000 a side, d = 4", KernelDensity(), points(5000, 4), 50)
    gain_over_refits("gmm, 4000 a side, d = 10", GaussianMixture(), points(4000, 10), 80)


if __name__ == "__main__":
    main()
