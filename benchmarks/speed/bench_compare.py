"""What the three questions and their reasons cost, beside the shared questions alone.

    python benchmarks/speed/bench_compare.py --rows 100000 [--against CHECKOUT]

Two tables of so many rows, 20 columns and a yes/no target, boosting, one thread, each run in a new
interpreter. The shared questions are r-div and score of one model in 5 folds and the test of the
inputs, which is what compare did before it asked about the model in use. With --against, compare of
another checkout of rdiv runs on the same tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.speed.timing import fresh, ratio, show  # noqa: E402

SETUP = """
import sys
import numpy as np
import polars as pl
import rdiv
rdiv.compare
def side(seed, rows=int(sys.argv[1])):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 20))
    yes = x[:, 0] + 0.5 * x[:, 1] + (1 + 0.02 * seed) * rng.normal(size=rows) > 0
    frame = pl.DataFrame({f"c{i}": x[:, i] for i in range(20)})
    return frame.with_columns(y=pl.Series(np.where(yes, "yes", "no")))
p, q = side(0), side(1)
"""
COMPARE = "rdiv.compare(p, q, target='y', rng=0, drivers={drivers})"
SHARED = """
from rdiv.comparison.compare import _input_test
from rdiv.inference.engine import PermutationSettings
from rdiv.models import Boosting, CrossFit
from rdiv.samples.pooling import pool_samples
from rdiv.parallel.threads import one_thread
from rdiv.two_sample import run_model_tests
with one_thread():
    pooled = pool_samples(p, q, target="y", rng=0)
    _input_test(pooled, PermutationSettings())
    run_model_tests(CrossFit(Boosting(), 5), pooled, PermutationSettings())
"""


def main() -> None:
    """Print one line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000, help="rows per side")
    parser.add_argument("--against", type=Path, help="another checkout of rdiv")
    given = parser.parse_args()
    rows = str(given.rows)
    shared = fresh(SHARED, rows, setup=SETUP)
    asked = fresh(COMPARE.format(drivers=False), rows, setup=SETUP)
    whole = fresh(COMPARE.format(drivers=True), rows, setup=SETUP)
    show(f"shared questions alone, {shared.megabytes:.0f} MB", shared.seconds)
    show(f"compare without reasons, {asked.megabytes:.0f} MB", asked.seconds)
    show(f"compare, {whole.megabytes:.0f} MB", whole.seconds)
    ratio("compare without reasons / shared alone", asked.seconds, shared.seconds, "<= 1.6")
    ratio("compare / shared alone", whole.seconds, shared.seconds)
    if given.against is None:
        return
    os.environ["PYTHONPATH"] = str(given.against / "src")
    for drivers, ours, target in ((False, asked, "<= 1.6"), (True, whole, "<= 2.2")):
        theirs = fresh(COMPARE.format(drivers=drivers), rows, setup=SETUP)
        name = "with reasons" if drivers else "without reasons"
        show(f"the other checkout, {name}", theirs.seconds)
        ratio(f"ours / theirs, {name}", ours.seconds, theirs.seconds, target)


if __name__ == "__main__":
    main()
