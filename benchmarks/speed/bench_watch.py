"""What watching costs: a long stream, one step on a large state, bytes in its file.

python benchmarks/speed/bench_watch.py --out docs/measured/watching_cost.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rdiv
from rdiv.inference.betting import Wealth, bet_on_ranks, e_process
from rdiv.inference.conformal import conformal_pvalues, earlier_counts
from rdiv.monitoring import MonitorState

ROWS, BATCH = 1_000_000, 1000
HEAD = """\
# What watching costs

<!-- Written by benchmarks/speed/bench_watch.py; do not edit. -->

Processor time, one thread, exponential losses. Command:
`python benchmarks/speed/bench_watch.py --out docs/measured/watching_cost.md`.

| what | measured | limit |
|---|---|---|"""


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """Median processor time."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return median(found)


def main() -> None:
    """Measure and print, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(90)
    reference, stream = rng.exponential(size=5000), rng.exponential(size=ROWS)
    draws = 1 - rng.random(ROWS)
    e_process(conformal_pvalues(reference, stream[:30_000], draws[:30_000]), 5000)  # compile
    whole = seconds(lambda: e_process(conformal_pvalues(reference, stream, draws), 5000), 1)
    plain = seconds(lambda: _without_numba(stream, draws), 1)

    table = pl.DataFrame({"loss": stream})
    monitor = rdiv.Monitor(table, loss="loss", rng=0)
    state = monitor.start()
    batches = [pl.DataFrame({"loss": rng.exponential(size=BATCH)}) for _ in range(7)]
    monitor.update(state, batches[0])
    step = seconds(lambda: monitor.update(state, batches[1]), 7)
    state = monitor.update(state, batches[2])
    text = state.to_json()
    write = seconds(state.to_json)
    read = seconds(lambda: MonitorState.from_json(text))
    small = len(state.compacted().to_json())
    daily = rdiv.Monitor(table.head(5000), loss="loss", rng=0)
    day = daily.start()
    for first in range(0, 20_000, 100):
        day = daily.update(day, table[first : first + 100])
    lines = [
        f"| {ROWS:,} rows in one stream, with numba | {whole:.1f} s | 10 s |",
        f"| the same without numba | {plain:.1f} s | 10 s |",
        f"| `update` of {BATCH:,} rows on a state of {ROWS:,} | {1000 * step:.0f} ms | 100 ms |",
        f"| reading that state, writing it | {read:.2f} s, {write:.2f} s | |",
        f"| bytes per row in its file | {len(text) / (ROWS + BATCH):.1f} | 20 |",
        f"| bytes per row, 5,000 and 200 batches of 100 | {len(day.to_json()) / 25_000:.1f} | 20 |",
        f"| the large state with `--compact` | {small / 1e6:.2f} MB | |",
    ]
    page = "\n".join([HEAD, *lines]) + "\n"
    print(page)
    if given.out is not None:
        given.out.write_text(page, encoding="utf-8")


def _without_numba(stream: Any, draws: Any) -> None:
    codes = np.unique(stream, return_inverse=True)[1].astype(np.int64)
    earlier_counts(codes, compiled=False)
    wealth = Wealth.at_start(5000)
    for first in range(0, len(draws), 1 << 16):
        wealth, _ = wealth.after(bet_on_ranks(draws[first : first + (1 << 16)]), compiled=False)


if __name__ == "__main__":
    main()
