"""Count false alarms of every test, and write the table of the docs.

    python benchmarks/calibration/one_fit.py --out docs/measured/calibration.md

Each cell draws p and q from one distribution thousands of times, in parts of 250 draws that are
kept in a journal: a run that was stopped goes on where it was. A cell that fails is run once more
with new draws and four times as many, and that result stays.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import (
    BROKEN,
    CELLS,
    RESAMPLES,
    SIZES,
    Cell,
    Check,
    check_pvalues,
    equal_gradient_rejections,
    equal_risk_rejections,
    null_pvalues,
)

from rdiv.studies.journal import resume_map

PART = 250
JOURNAL = Path(__file__).resolve().parents[1] / "studies/journals/calibration.jsonl"


def main() -> None:
    """Run all cells and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full counts to run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, default=JOURNAL, help="the journal")
    args = parser.parse_args()
    cells = Cells(args.share, args.jobs, args.rows)
    lines = [*page(cells)]
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


def page(cells: Cells) -> Iterator[str]:
    """Lines of the page, printed as they come."""
    sections = (_broken_variants, _risks, _mean_gradients)
    for line in chain(_intro(), _cells(cells), *(section(cells.share) for section in sections)):
        print(line, flush=True)
        yield line


@dataclass(frozen=True)
class Cells:
    """Counts cells, each part of draws once: finished ones are in the journal."""

    share: float
    jobs: int
    journal: Path

    def check(self, cell: Cell, sizes: tuple[int, int], fixed: bool) -> tuple[Check, str]:
        """Counts of a cell and the verdict."""
        draws = PART * max(1, round(cell.draws * self.share / PART))
        check = self._count(cell, sizes, fixed, range(draws))
        if check.passed:
            return check, "holds"
        check = self._count(cell, sizes, fixed, range(draws, 5 * draws))
        return check, "holds (second run)" if check.passed else "FAILS"

    def _count(self, cell: Cell, sizes: tuple[int, int], fixed: bool, draws: range) -> Check:
        keys = [
            {"cell": cell.name, "sizes": list(sizes), "fixed": fixed, "start": start}
            for start in range(draws.start, draws.stop, PART)
        ]
        parts = resume_map(counted, keys, file=self.journal, n_jobs=self.jobs)
        counts = np.sum([part["pvalues"] for part in parts], axis=0)
        return check_pvalues(np.repeat(np.arange(1, len(counts) + 1), counts) / len(counts),
                             len(counts) - 1)  # fmt: skip


def counted(key: dict[str, Any]) -> dict[str, Any]:
    """How many p-values of a part are 1/(B+1), 2/(B+1), ..., 1."""
    cell, sizes = next(one for one in CELLS if one.name == key["cell"]), tuple(key["sizes"])
    draws = range(key["start"], key["start"] + PART)
    pvalues = null_pvalues(cell, sizes, draws, fixed_seed=key["fixed"])
    places = np.rint(pvalues * (cell.resamples_at(sizes) + 1)).astype(int)
    return {"pvalues": np.bincount(places, minlength=cell.resamples_at(sizes) + 2)[1:].tolist()}


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


def _intro() -> Iterator[str]:
    yield from INTRO.split("\n")


def _cells(cells: Cells) -> Iterator[str]:
    yield ""
    yield "| test | rows | seed | draws | at 0.05 | at 0.10 | chi-square p | verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    for cell in CELLS:
        for sizes in SIZES:
            for fixed in (False, True):
                check, verdict = cells.check(cell, sizes, fixed)
                seed, rows = "fixed" if fixed else "fresh", f"{sizes[0]} + {sizes[1]}"
                counts = f"{seed} | {check.draws} | {_rates(check)}"
                yield f"| {cell.name} | {rows} | {counts} | {verdict} |"


def _rates(check: Check) -> str:
    rates = [f"{count / check.draws:.4f}" for count in check.rejections]
    return f"{rates[0]} | {rates[1]} | {check.surprises[-1]:.3f}"


def _broken_variants(share: float) -> Iterator[str]:
    yield ""
    yield "## Broken on purpose"
    yield ""
    yield "The same check on tests with one mistake each; it must reject them."
    yield ""
    yield "| mistake | rows | draws | at 0.05 | at 0.10 | chi-square p | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for name, run in BROKEN.items():
        check = check_pvalues(
            run((20, 30), range(max(400, round(1000 * share)))), RESAMPLES[20, 30]
        )
        verdict = "NOT CAUGHT" if check.passed else "caught"
        yield f"| {name} | 20 + 30 | {check.draws} | {_rates(check)} | {verdict} |"


def _risks(share: float) -> Iterator[str]:
    draws = max(400, round(2000 * share))
    yield ""
    yield "## Equal risks, different distributions"
    yield ""
    yield f"Mean losses equal, standard deviations 3 and 1, 50 + 400 rows, {draws} draws, at 0.05."
    yield ""
    yield "| ranked | false alarms |"
    yield "|---|---|"
    for name, studentize in (("gap over its standard error", True), ("plain gap", False)):
        yield f"| {name} | {equal_risk_rejections(draws, studentize=studentize) / draws:.4f} |"


def _mean_gradients(share: float) -> Iterator[str]:
    draws = max(100, round(2000 * share))
    yield ""
    yield "## Equal mean gradients, different distributions"
    yield ""
    yield f"Six columns, 99 permutations, {draws} draws, at 0.05. The null of score speaks of equal"
    yield "distributions, or of equal mean gradients where sizes or correlations are equal too."
    yield ""
    yield "| what differs | rows | score | without standard errors |"
    yield "|---|---|---|---|"
    for what, correlation, sizes in (
        ("standard deviations 3 and 1", 0.0, (50, 400)),
        ("correlations .6 and -.6", 0.6, (50, 400)),
        ("correlations .6 and -.6", 0.6, (200, 200)),
    ):
        rates = [
            equal_gradient_rejections(draws, sizes, correlation=correlation, studentize=how) / draws
            for how in (True, False)
        ]
        yield f"| {what} | {sizes[0]} + {sizes[1]} | {rates[0]:.4f} | {rates[1]:.4f} |"


if __name__ == "__main__":
    main()
