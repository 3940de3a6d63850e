"""How much the p-value of a small pool depends on the seed that draws its folds.

    python benchmarks/calibration/fold_luck.py --out docs/measured/fold_luck.md

The same two samples are tested with many seeds: once with losses of a single draw of the folds,
once with the default, which takes the mean over several draws.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import NOT_YET, Counts, pvalue_counts, write_page

import rdiv
from rdiv.discrepancies import RDivergence
from rdiv.models import Boosting, CrossFit, Ridge

TABLES, SEEDS, ROWS = 4, 30, 30
MODELS: dict[str, Any] = {"ridge": Ridge(), "boosting": Boosting()}
HEAD = """\
# Luck of the folds

<!-- Written by benchmarks/calibration/fold_luck.py (make calibrate); do not edit. -->

The p-value of r-div for the same {rows} + {rows} rows without a shift, over {seeds} seeds. A seed
draws the folds and the permutations; with 999 permutations the latter move a p-value by about .015.
*One draw*: `CrossFit(model, 5, repeats=1)`. *By default*: out-of-fold losses are means over three
label-blind draws of the folds (pools of up to 333 rows; two up to 500 rows, one above). Both tests
are exact; no draw is chosen by its result. Command:
`python benchmarks/calibration/fold_luck.py --out docs/measured/fold_luck.md`.

| model | table | one draw: p from | to | standard deviation | by default: p from | to | \
standard deviation |
|---|---|---|---|---|---|---|---|"""


def pvalues(cell: dict[str, Any], seeds: range) -> NDArray[np.float64]:
    """p-values of one pair of samples over some seeds."""
    rng = np.random.default_rng([81, cell["table"]])
    x = rng.normal(size=(2 * ROWS, 3))
    y = x[:, 0] + rng.normal(size=2 * ROWS)
    p, q = (x[:ROWS], y[:ROWS]), (x[ROWS:], y[ROWS:])
    test = RDivergence(CrossFit(MODELS[cell["model"]], 5, repeats=cell["repeats"]))
    return np.array([rdiv.two_sample_test(p, q, test, rng=seed).pvalue for seed in seeds])


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.format(rows=ROWS, seeds=SEEDS).split("\n")
    for name in MODELS:
        for table in range(TABLES):
            cells = [name, str(table + 1)]
            for repeats in (1, None):
                key = {"model": name, "table": table, "repeats": repeats}
                draws = range(max(2, counts.of(SEEDS)))
                found = counts.count(partial(pvalue_counts, pvalues), key, draws, SEEDS).pvalues
                cells += (
                    [f"{found.min():.2f}", f"{found.max():.2f}", f"{found.std(ddof=1):.3f}"]
                    if len(found)
                    else [NOT_YET, "", ""]
                )
            yield "| " + " | ".join(cells) + " |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "fold_luck")


if __name__ == "__main__":
    from benchmarks.calibration.fold_luck import main as start  # where workers find it

    start()
