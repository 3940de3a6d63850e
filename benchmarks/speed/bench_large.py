"""compare with boosting on large tables: its time beside reading and all fits, its peak, and jobs.

    python benchmarks/speed/bench_large.py --rows 1000000 [--columns 10] [--one-job]

Two parquet files of so many rows and a yes/no target, everything at its default. Reading, all fits
and the whole are timed in one run of a new interpreter, so that other work on the machine meets all
of them alike; 20,000 rows are compared before, which loads libraries and compiled loops. An earlier
interpreter compiles them on 100,000 rows: time and memory that are met once after an installation.
Fits are those of the model in use, of the shared model (both with the rows that they turn into a
matrix), of the expected loss and of the density ratio, trees and logistic regressions; one line
counts what scikit-learn's boosting alone takes of them. All predictions by trees are timed too:
reading, fits and predictions together, over reading and fits, are what the ratio would be if all
else took no time. The ratio of one job to two is that of wall time and means something on a quiet
machine only; both processor times are printed beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.speed.timing import Seconds, report, show  # noqa: E402

MAKE = """
import sys
import numpy as np
import polars as pl
rows, columns, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for seed in (0, 1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    yes = x[:, 0] + 0.5 * x[:, 1] + (1 + 0.02 * seed) * rng.normal(size=rows) > 0
    frame = pl.DataFrame({f"c{i}": x[:, i] for i in range(columns)})
    frame.with_columns(y=pl.Series(np.where(yes, "yes", "no"))).write_parquet(
        f"{folder}/{seed}.parquet"
    )
"""
RUN = """
import functools, resource, sys, time
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline
import rdiv
from rdiv.models import Boosting
from rdiv.models.quick_trees import QuickTrees
rdiv.compare
used = {"boosting": 0.0, "fit": 0.0, "predict": 0.0}
inside = set()
def timed(method, kind):
    @functools.wraps(method)
    def call(*given, **named):
        if kind in inside:
            return method(*given, **named)
        inside.add(kind)
        start = time.process_time()
        try:
            return method(*given, **named)
        finally:
            used[kind] += time.process_time() - start
            inside.discard(kind)
    return call
for cls in (HistGradientBoostingClassifier, HistGradientBoostingRegressor):
    cls.fit = timed(timed(cls.fit, "boosting"), "fit")
for cls in (Boosting, Pipeline):
    cls.fit = timed(cls.fit, "fit")
QuickTrees.predict_proba = timed(QuickTrees.predict_proba, "predict")
QuickTrees.predict = timed(QuickTrees.predict, "predict")
files = [f"{sys.argv[1]}/{seed}.parquet" for seed in (0, 1)]
first = [rdiv.read(file).head(100_000 if sys.argv[2] == "0" else 20_000) for file in files]
rdiv.compare(*first, target="y", rng=0)
del first
if sys.argv[2] == "0":
    sys.exit()
used = dict.fromkeys(used, 0.0)
wall, begin = time.perf_counter(), time.process_time()
p, q = map(rdiv.read, files)
read = time.process_time() - begin
rdiv.compare(p, q, target="y", rng=0, n_jobs=int(sys.argv[2]))
whole, wall = time.process_time() - begin, time.perf_counter() - wall
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak /= 1e6 if sys.platform == "darwin" else 1e3
print(read, *used.values(), whole, wall, peak)
"""


def run(folder: str, jobs: int) -> tuple[float, float, float, float, Seconds, float]:
    """Seconds of reading, fits by trees, all fits, predictions, everything; the peak in MB."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, folder, str(jobs)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    read, trees, fits, predictions, whole, wall, peak = map(float, done.stdout.split())
    return read, trees, fits, predictions, Seconds(wall, whole), peak


def main() -> None:
    """Print one line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000, help="rows per side")
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--one-job", action="store_true", help="leave out the run with two jobs")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        made = [str(given.rows), str(given.columns), folder]
        subprocess.run([sys.executable, "-c", MAKE, *made], check=True)
        subprocess.run([sys.executable, "-c", RUN, folder, "0"], check=True)
        read, trees, fits, predictions, whole, peak = run(folder, 1)
        report("reading, processor seconds", read)
        report("scikit-learn's boosting, processor seconds", trees)
        report("all fits, processor seconds", fits)
        report("all predictions, processor seconds", predictions)
        report("(read + fits + predictions) / (read + fits)", 1 + predictions / (read + fits))
        show("read and compare, one job", whole)
        large = given.rows >= 1_000_000  # of smaller tables nothing is promised
        report("all / (read + scikit-learn's boosting)", whole.processor / (read + trees))
        report("all / (read + fits)", whole.processor / (read + fits), "<= 1.5" if large else None)
        report("peak, MB", peak, "<= 1200" if large else None)
        if given.one_job:
            return
        *_, two, peak = run(folder, 2)
        show("read and compare, two jobs", two)
        report("peak with two jobs, MB", peak)
        report("one job / two jobs, wall", whole.wall / two.wall, ">= 1.45" if large else None)


if __name__ == "__main__":
    main()
