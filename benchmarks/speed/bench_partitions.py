"""What rdiv compare costs on tables that are read in partitions: time, and memory of all processes.

    python benchmarks/speed/bench_partitions.py --rows 1000000,5000000,20000000 [--model logistic]

Two parquet directories of so many rows a side, 20 columns and a yes/no target, in files of a
million rows, made in a temporary folder and deleted afterwards. The command runs in a process of
its own; the resident memory of it and of all its children is looked at ten times a second.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

COLUMNS = 20
FILE_ROWS = 1_000_000


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="1000000", help="rows per side, several with commas")
    parser.add_argument("--model", default="logistic")
    parser.add_argument("--folder", type=Path, help="where the tables are made; a temporary folder")
    parser.add_argument("options", nargs="*", help="more options of rdiv compare, after --")
    given = parser.parse_args()
    sizes = [int(text) for text in given.rows.split(",")]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for rows in sizes:
            sides = [_made(Path(folder) / f"{rows}-{side}", rows, side) for side in (0, 1)]
            _measure(sides, rows, ["--model", given.model, *given.options])
            for side in sides:
                for file in side.iterdir():
                    file.unlink()


def _made(folder: Path, rows: int, side: int) -> Path:
    """One side as a directory of parquet files; current has a little more noise."""
    folder.mkdir()
    for part, start in enumerate(range(0, rows, FILE_ROWS)):
        n = min(FILE_ROWS, rows - start)
        rng = np.random.default_rng([side, part])
        x = rng.normal(size=(n, COLUMNS))
        yes = x[:, 0] + 0.5 * x[:, 1] + (1 + 0.02 * side) * rng.normal(size=n) > 0
        frame = pl.DataFrame({f"c{i}": x[:, i] for i in range(COLUMNS)})
        frame = frame.with_columns(y=pl.Series(np.where(yes, "yes", "no")))
        frame.write_parquet(folder / f"{part:04d}.parquet")
    return folder


def _measure(sides: list[Path], rows: int, options: list[str]) -> None:
    command = [sys.executable, "-m", "rdiv", "compare", *map(str, sides), "--target", "y",
               "--json", os.devnull, *options]  # fmt: skip
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command)
    watch = _Watch(process.pid)
    watch.start()
    code = process.wait()
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    watch.done = True
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{rows} rows a side: exit {code}, {cpu:.0f} processor seconds "
        f"({1e6 * cpu / (2 * rows):.2f} per million rows of both sides), {seconds:.0f} s on the "
        f"clock, peak {watch.most / 1e9:.2f} GB resident", flush=True,
    )  # fmt: skip


class _Watch(threading.Thread):
    """Largest resident memory of a process and its children, looked at ten times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.done = pid, 0, False
        self.trace = os.environ.get("TRACE")

    def run(self) -> None:
        start = time.monotonic()
        while not self.done:
            now = _resident(self.pid)
            self.most = max(self.most, now)
            if self.trace and int(time.monotonic() - start) % 5 == 0:
                print(f"  {time.monotonic() - start:.0f} s {now / 1e9:.2f} GB", flush=True)
                time.sleep(1)
            time.sleep(0.1)


def _resident(pid: int) -> int:
    """Bytes of a process and all below it that are in memory; shared pages count once each."""
    total = 0
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        total = pages * os.sysconf("SC_PAGE_SIZE")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return total
    return total + sum(_resident(int(child)) for child in children)


if __name__ == "__main__":
    main()
