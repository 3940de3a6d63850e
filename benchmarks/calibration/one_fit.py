"""Count false alarms of every test, and write the table of the docs.

    python benchmarks/calibration/one_fit.py --out docs/measured/calibration.md

Each cell draws p and q from one distribution thousands of times.
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

from benchmarks.calibration.checks import (
    BROKEN,
    CELLS,
    RESAMPLES,
    SIZES,
    check_pvalues,
    equal_gradient_rejections,
    equal_risk_rejections,
    null_pvalues,
)
from benchmarks.calibration.counting import NOT_YET, Counted, Counts, write_page

PART, SLOW_PART = 250, 50  # draws of a block; slow cells have fewer draws in all
DRAWS, BROKEN_DRAWS = 2000, 1000

INTRO = """\
# Calibration

<!-- Written by benchmarks/calibration/one_fit.py (make calibrate); do not edit. -->

False alarms of every test when p and q come from one distribution. A test is right if its p-values
are uniform: the columns show rejections at 0.05 and 0.10, and how surprising the whole distribution
is (chi-square over all cells). A cell fails when one of the three is less likely than 0.001; it is
then run once more with new draws, four times as many, and that result stays.

Draw `i` comes from `default_rng([20, i])`; the test's own seed is `i` (fresh) or 0 (fixed).
Command (`make calibrate`):
`python benchmarks/calibration/one_fit.py --out docs/measured/calibration.md`.\
"""
HEAD = "draws | at 0.05 | at 0.10 | chi-square p | verdict |"


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.split("\n")
    yield from _cells(counts)
    yield from _broken_variants(counts)
    yield from _risks(counts)
    yield from _mean_gradients(counts)


# --- p-values -------------------------------------------------------------------------------------


def cell_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a cell that is given by its name."""
    named = next(one for one in CELLS if one.name == cell["cell"])
    return null_pvalues(named, tuple(cell["sizes"]), draws, fixed_seed=cell["fixed"])


def broken_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a test with a mistake."""
    return BROKEN[cell["broken"]](SIZES[0], draws)


def _cells(counts: Counts) -> Iterator[str]:
    yield from ("", f"| test | rows | seed | {HEAD}", "|---|---|---|---|---|---|---|---|")
    for cell in CELLS:
        for sizes in SIZES:
            check = partial(check_pvalues, n_resamples=cell.resamples_at(sizes))
            size = PART if cell.draws == 5000 else SLOW_PART
            for fixed in (False, True):
                key = {"cell": cell.name, "sizes": list(sizes), "fixed": fixed}
                told = counts.level(cell_pvalues, key, cell.draws, size, check)
                seed, rows = "fixed" if fixed else "fresh", f"{sizes[0]} + {sizes[1]}"
                yield f"| {cell.name} | {rows} | {seed} | {told} |"


def _broken_variants(counts: Counts) -> Iterator[str]:
    yield from ("", "## Broken on purpose", "")
    yield "The same check on tests with one mistake each; it must reject them."
    yield from ("", f"| mistake | rows | {HEAD}", "|---|---|---|---|---|---|---|")
    check = partial(check_pvalues, n_resamples=RESAMPLES[SIZES[0]])
    for name in BROKEN:
        key = {"broken": name}
        told = counts.level(broken_pvalues, key, BROKEN_DRAWS, PART, check, broken=True)
        yield f"| {name} | 20 + 30 | {told} |"


# --- equal risks, or equal mean gradients ---------------------------------------------------------


def risk_rejections(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """False alarms when mean losses agree and nothing else."""
    return {"rejected": equal_risk_rejections(draws, studentize=cell["risks, studentised"])}


def gradient_rejections(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """False alarms when mean gradients agree and nothing else."""
    found = equal_gradient_rejections(
        draws,
        tuple(cell["sizes"]),
        correlation=cell["correlation"],
        studentize=cell["gradients, studentised"],
    )
    return {"rejected": found}


def _share(found: Counted) -> str:
    """The share of draws that are rejected, and of how many unless all are counted."""
    if not found.draws:
        return NOT_YET
    rate = f"{found.total('rejected') / found.draws:.4f}"
    return rate if found.complete else f"{rate} ({found.shown} draws)"


def _risks(counts: Counts) -> Iterator[str]:
    draws = counts.of(DRAWS)
    yield from ("", "## Equal risks, different distributions", "")
    yield f"Mean losses equal, standard deviations 3 and 1, 50 + 400 rows, {draws} draws, at 0.05."
    yield from ("", "| ranked | false alarms |", "|---|---|")
    for name, studentize in (("gap over its standard error", True), ("plain gap", False)):
        key = {"risks, studentised": studentize}
        yield f"| {name} | {_share(counts.count(risk_rejections, key, range(draws), PART))} |"


def _mean_gradients(counts: Counts) -> Iterator[str]:
    draws = counts.of(DRAWS)
    yield from ("", "## Equal mean gradients, different distributions", "")
    yield f"Six columns, 99 permutations, {draws} draws, at 0.05. The null of score speaks of equal"
    yield "distributions, or of equal mean gradients where sizes or correlations are equal too."
    yield from (
        "",
        "| what differs | rows | score | without standard errors |",
        "|---|---|---|---|",
    )
    for what, correlation, sizes in (
        ("standard deviations 3 and 1", 0.0, (50, 400)),
        ("correlations .6 and -.6", 0.6, (50, 400)),
        ("correlations .6 and -.6", 0.6, (200, 200)),
    ):
        shares = []
        for how in (True, False):
            key = {"gradients, studentised": how, "correlation": correlation, "sizes": list(sizes)}
            shares.append(_share(counts.count(gradient_rejections, key, range(draws), PART)))
        yield f"| {what} | {sizes[0]} + {sizes[1]} | {shares[0]} | {shares[1]} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration")


if __name__ == "__main__":
    from benchmarks.calibration.one_fit import main as start  # where workers find it

    start()
