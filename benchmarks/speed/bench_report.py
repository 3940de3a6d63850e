"""A report of large samples: seconds, peak memory and size of the page, beside the bare work.

    python benchmarks/speed/bench_report.py --rows 1000000 --columns 20

Each side is a parquet file of so many rows, with a yes/no target. The bare work is reading both
files and fitting the same model in the same folds on all rows, with one thread, in a new
interpreter; the whole is ``rdiv compare --html`` in another, and both load their libraries. Peak
memory is the largest resident size of that process, interpreter and libraries included; the data
are the numbers of both files as floats.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.speed.timing import Fresh, fresh, ratio, report, show  # noqa: E402

# One side: normal inputs, a target that follows two of them, a little noisier in current. Written
# in an interpreter of its own: a process inherits the peak memory of the one that starts it.
WRITE = """
import sys
import numpy as np
import polars as pl
file, rows, columns, seed = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(seed)
x = rng.normal(size=(rows, columns))
yes = x[:, 0] + 0.5 * x[:, 1] + (1 + 0.02 * seed) * rng.normal(size=rows) > 0
frame = pl.DataFrame({f"c{i}": x[:, i] for i in range(columns)})
frame.with_columns(y=pl.Series(np.where(yes, "yes", "no"))).write_parquet(file)
"""
LIBRARIES = "import rdiv.comparison.compare, rdiv.report.pages, matplotlib, polars, jinja2"

BARE = """
import sys
import numpy as np
from rdiv.models import BY_NAME, CrossFit
from rdiv.samples.pool import Pool
from rdiv.samples.files import read
from rdiv.parallel.threads import one_thread
import polars as pl
with one_thread():
    frame = pl.concat([read(sys.argv[1]), read(sys.argv[2])])
    y = (frame["y"] == "yes").to_numpy().astype(np.intp)
    pool = Pool(frame.drop("y").to_numpy(), y, "classification", classes=np.array(["no", "yes"]))
    CrossFit(BY_NAME[sys.argv[3]](), 5).fit(pool, np.random.default_rng(0)).losses(pool)
"""
WHOLE = """
import sys
from rdiv.cli import main
if main(sys.argv[1:]) not in (0, 1):
    sys.exit("rdiv compare failed")
"""


def show_all(name: str, run: Fresh) -> None:
    """Both times and the peak memory of one run."""
    show(f"{name}, {run.megabytes:.0f} MB", run.seconds)


def main() -> None:
    """Print one line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows per side")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--model", default="boosting")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("p.parquet", "q.parquet")]
        for seed, file in enumerate(files):
            fresh(WRITE, str(file), str(given.rows), str(given.columns), str(seed))
        pair, page = [str(file) for file in files], Path(folder) / "report.html"
        idle = fresh(LIBRARIES)
        bare = fresh(BARE, *pair, given.model)
        options = ["--target", "y", "--model", given.model, "--html", str(page)]
        whole = fresh(WHOLE, "compare", *pair, *options)
        size = page.stat().st_size / 1e6
    data = 2 * given.rows * given.columns * 8 / 1e6
    print(f"{given.rows} x {given.columns} per side ({data:.0f} MB), {given.model} in "
          "5 folds, one run each")  # fmt: skip
    show_all("load the libraries", idle)
    show_all("read and fit", bare)
    show_all("read, test and write", whole)
    ratio("read, test and write / read and fit", whole.seconds, bare.seconds, "<= 3")
    # Libraries weigh 80 MB whatever the rows: what is promised is promised for large files.
    report("peak memory / data", whole.megabytes / data, "< 4" if data >= 320 else None)
    report("size of the page in MB", size, "< 1.5")


if __name__ == "__main__":
    main()
