"""What score and omnibus cost beside r-div of the same model, 999 permutations, one thread.

python benchmarks/speed/bench_score.py

For a density of table rows the omnibus also runs the tests of the inputs, whose cost has no limit.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.bench_cost import points
from benchmarks.speed.timing import ratio, show, take_turns

from rdiv.discrepancies import Omnibus, RDivergence, Score
from rdiv.discrepancies.protocol import Discrepancy
from rdiv.models import GaussianMixture, Logistic
from rdiv.models.protocol import Model
from rdiv.two_sample import two_sample_test

ROUNDS = 7


def answers(n: int, d: int) -> dict[str, Any]:
    """Two samples with a binary target that depends on five of d inputs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2 * n, d))
    y = (x[:, :5].sum(axis=1) + rng.logistic(size=2 * n) > 0).astype(int)
    return {"p": (x[:n], y[:n]), "q": (x[n:], y[n:])}


def compare_costs(name: str, model: Model, given: dict[str, Any]) -> None:
    """Times of the three tests, in turn, and their ratios."""
    tests: dict[str, Discrepancy] = {
        "r-div": RDivergence(model),
        "score": Score(model),
        "omnibus": Omnibus(model),
    }
    print(f"{name}, 999 permutations, best of {ROUNDS}", flush=True)
    times = take_turns(
        {key: partial(two_sample_test, **given, discrepancy=test, rng=0)
         for key, test in tests.items()},
        ROUNDS,
    )  # fmt: skip
    for key, seconds in times.items():
        show(key, seconds)
    ratio("score / r-div", times["score"], times["r-div"], "<= 1.3")
    parts = times["r-div"] + times["score"]
    limit = "<= 1.1" if isinstance(model, Logistic) else None
    ratio("omnibus / (r-div + score)", times["omnibus"], parts, limit)


def main() -> None:
    """Print times and two ratios for each model."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    compare_costs("gmm, 4000 rows per side, d = 10", GaussianMixture(), points(4000, 10))
    compare_costs("gmm, 1000 rows per side, d = 10", GaussianMixture(), points(1000, 10))
    compare_costs("logistic, 4000 rows per side, d = 50", Logistic(), answers(4000, 50))
    compare_costs("logistic, 1000 rows per side, d = 50", Logistic(), answers(1000, 50))


if __name__ == "__main__":
    main()
