"""A report of large samples: seconds, peak memory and size of the page, beside the bare work.

    python benchmarks/bench_report.py --rows 1000000 --columns 20

Each side is a parquet file of so many rows, with a yes/no target. The bare work is reading both
files and fitting the same model in the same folds on all rows, with one thread, in a process of its
own; the whole is ``rdiv compare --html`` in another. Seconds are those of computing, which other
work on the machine does not change. Peak memory is the largest resident size of
that process, interpreter and libraries included; the data are the numbers of both files as floats.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.timing import report  # noqa: E402

BARE = """
import sys
import numpy as np
from rdiv.models import BY_NAME, CrossFit
from rdiv.samples.pool import Pool
from rdiv.samples.files import read
from rdiv.threads import one_thread
import polars as pl
with one_thread():
    frame = pl.concat([read(sys.argv[1]), read(sys.argv[2])])
    y = (frame["y"] == "yes").to_numpy().astype(np.intp)
    pool = Pool(frame.drop("y").to_numpy(), y, "classification", classes=np.array(["no", "yes"]))
    CrossFit(BY_NAME[sys.argv[3]](), 5).fit(pool, np.random.default_rng(0)).losses(pool)
"""
WHOLE = "import sys; from rdiv.cli import main; sys.exit(main(sys.argv[1:]))"


def write(path: Path, rows: int, columns: int, seed: int) -> None:
    """One side: normal inputs, a target that follows two of them, a little noisier in current."""
    import polars as pl

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    yes = x[:, 0] + 0.5 * x[:, 1] + (1 + 0.02 * seed) * rng.normal(size=rows) > 0
    frame = pl.DataFrame({f"c{i}": x[:, i] for i in range(columns)})
    frame.with_columns(y=pl.Series(np.where(yes, "yes", "no"))).write_parquet(path)


def measured(code: str, *arguments: str) -> tuple[float, float]:
    """Seconds of computing and peak megabytes of a process of one thread."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **threads}
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the process ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def main() -> None:
    """Print one line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows a side")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--model", default="boosting")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("p.parquet", "q.parquet")]
        for seed, file in enumerate(files):
            write(file, given.rows, given.columns, seed)
        pair, page = [str(file) for file in files], Path(folder) / "report.html"
        idle = measured(
            "import rdiv.comparison.compare, rdiv.report.pages, matplotlib, polars, jinja2"
        )[1]
        bare = measured(BARE, *pair, given.model)
        options = ["--target", "y", "--model", given.model, "--html", str(page)]
        whole = measured(WHOLE, "compare", *pair, *options)
        size = page.stat().st_size / 1e6
    data = 2 * given.rows * given.columns * 8 / 1e6
    print(f"{given.rows} x {given.columns} a side, {given.model} in 5 folds: read and fit "
          f"{bare[0]:.1f} s, {bare[1]:.0f} MB; all of it {whole[0]:.1f} s, {whole[1]:.0f} MB; "
          f"data {data:.0f} MB, libraries alone {idle:.0f} MB")  # fmt: skip
    ratio, memory = whole[0] / bare[0], whole[1] / data
    report("read, test and write / read and fit", ratio, "<= 3", ratio <= 3)
    report("peak memory / data", memory, "< 4", memory < 4)
    print(f"peak memory without the libraries / data: {(whole[1] - idle) / data:.2f}")
    report("size of the page in MB", size, "< 1.5", size < 1.5)


if __name__ == "__main__":
    main()
