"""What compare costs on tables of other shapes: embeddings, mixed columns, thousands of columns.

    python benchmarks/speed/bench_tables.py [--case embeddings] [--rows 100000]

Each case runs in a new interpreter with one thread; its processor seconds and its peak memory are
printed with the most that they should be.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.speed.timing import fresh  # noqa: E402

SETUP = """
import sys
from datetime import datetime, timedelta
import numpy as np
import polars as pl
import rdiv
rdiv.compare

def embeddings(seed, target):
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).normal(size=(20, 384))
    z = 0.3 * rng.normal(size=(2000, 20)) @ mixing + rng.normal(size=(2000, 384))
    return (z, (z[:, 0] + rng.normal(size=2000) > 0).astype(int)) if target else z

def mixed(seed, rows):
    rng = np.random.default_rng(seed)
    columns = {f"n{i}": rng.normal(size=rows) for i in range(8)}
    columns |= {f"i{i}": rng.poisson(3, size=rows) for i in range(3)}
    columns |= {f"m{i}": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))
                for i in range(2)}
    columns |= {f"c{i}": rng.choice(list("abcdefgh"), rows) for i in range(4)}
    columns["many"] = [f"level {v}" for v in rng.integers(0, 200, rows)]
    columns["when"] = [datetime(2023, 1, 1) + timedelta(minutes=int(v))
                       for v in rng.integers(0, 900_000, rows)]
    words = rng.choice(["late", "early", "broken", "fine", "again", "never"], size=(rows, 4))
    columns["note"] = [f"order {i} {' '.join(row)}" for i, row in enumerate(words)]
    return pl.DataFrame(columns)

def wide(seed):
    return pl.DataFrame(np.random.default_rng(seed).normal(size=(30, 5000)),
                        schema=[f"c{i}" for i in range(5000)])
"""

CASES = {
    "embeddings": ("384 columns, 2000 + 2000 rows, no target",
                   "rdiv.compare(embeddings(0, 0), embeddings(1, 0), rng=0)", 10, None),
    "embeddings-target": ("384 columns, 2000 + 2000 rows, two classes",
                          "rdiv.compare(embeddings(0, 1), embeddings(1, 1), rng=0)", 10, None),
    "mixed": ("20 mixed columns, {rows} + {rows} rows, no target",
              "rdiv.compare(mixed(0, {rows}), mixed(1, {rows}), rng=0)", 60, 1500),
    "wide": ("5000 columns, 30 + 30 rows, no target", "rdiv.compare(wide(0), wide(1), rng=0)",
             10, None),
}  # fmt: skip


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--rows", type=int, default=100_000, help="rows per side of mixed tables")
    given = parser.parse_args()
    for case in given.case or CASES:
        about, statement, seconds, megabytes = CASES[case]
        ran = fresh(statement.format(rows=given.rows), setup=SETUP)
        most = f"{seconds} s" + ("" if megabytes is None else f" and {megabytes} MB")
        print(
            f"{about.format(rows=given.rows)}: {ran.seconds.processor:.1f} processor seconds, "
            f"{ran.megabytes:.0f} MB (at most {most})",
            flush=True,
        )


if __name__ == "__main__":
    main()
