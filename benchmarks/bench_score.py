"""What score and omnibus cost beside r-div of the same model, 999 relabellings, one thread.

python benchmarks/bench_score.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench_cost import points
from benchmarks.timing import best_of, report
from rdiv.discrepancies import Omnibus, RDivergence, Score
from rdiv.models import GaussianMixture, Logistic
from rdiv.two_sample import two_sample_test

ROUNDS = 7


def answers(n: int, d: int) -> dict[str, Any]:
    """Two samples with a binary target that depends on five of d inputs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2 * n, d))
    y = (x[:, :5].sum(axis=1) + rng.logistic(size=2 * n) > 0).astype(int)
    return {"p": (x[:n], y[:n]), "q": (x[n:], y[n:])}


def compare_costs(name: str, model: Any, given: dict[str, Any]) -> None:
    """Times of the three tests, in turn, and their ratios."""
    tests = {"r-div": RDivergence(model), "score": Score(model), "omnibus": Omnibus(model)}
    times = {key: float("inf") for key in tests}
    for _ in range(ROUNDS):
        for key, test in tests.items():
            once = best_of(lambda test=test: two_sample_test(**given, discrepancy=test, rng=0), 1)  # type: ignore[misc]
            times[key] = min(times[key], once)
    ratio = times["score"] / times["r-div"]
    report(f"score / r-div, {name}", ratio, "<= 1.3", ratio <= 1.3)
    parts = times["omnibus"] / (times["r-div"] + times["score"])
    report(f"omnibus / (r-div + score), {name}", parts, "<= 1.1", parts <= 1.1)


def main() -> None:
    """Print two lines for each model."""
    compare_costs("gmm, 4000 a side, d = 10", GaussianMixture(), points(4000, 10))
    compare_costs("gmm, 1000 a side, d = 10", GaussianMixture(), points(1000, 10))
    compare_costs("logistic, 4000 a side, d = 50", Logistic(), answers(4000, 50))
    compare_costs("logistic, 1000 a side, d = 50", Logistic(), answers(1000, 50))


if __name__ == "__main__":
    main()
