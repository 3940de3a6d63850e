"""Processor time of compare without labels, and with some, over that with all of them.

python benchmarks/speed/bench_labels.py [--rows 4000]
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import numpy as np

import rdiv

LIMIT = 1.3


def rows(n: int, shift: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Ten inputs of which one moves, and two classes."""
    x = rng.normal(size=(n, 10))
    x[:, 0] += shift
    return x, (x[:, 1] * np.exp(-x[:, 0]) + rng.logistic(size=n) > 0).astype(int)


def main() -> None:
    """Run all three once, boosting, with everything that compare does."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=4000, help="per sample")
    n = parser.parse_args().rows
    rng = np.random.default_rng(0)
    reference, (x, y) = rows(n, 0.0, rng), rows(n, 0.5, rng)
    few = np.where(np.arange(n) < n // 10, y.astype(float), np.nan)
    rdiv.compare((x[:200], y[:200]), (x[200:300], y[200:300]), rng=0)  # imports
    seconds = {}
    for name, current in (("all", (x, y)), ("none", x), ("some", (x, few))):
        start = process_time()
        rdiv.compare(reference, current, rng=0)
        seconds[name] = process_time() - start
    for name in ("none", "some"):
        ratio = seconds[name] / seconds["all"]
        print(f"{n} + {n} rows, labels {name} / all: {ratio:.2f} (limit {LIMIT})")


if __name__ == "__main__":
    main()
