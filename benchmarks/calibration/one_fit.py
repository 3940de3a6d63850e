"""Count false alarms of every test, and write the table of the docs.

    python benchmarks/calibration/one_fit.py --out docs/measured/calibration.md

Each cell draws p and q from one distribution thousands of times. A cell that fails is run once
more with new draws and four times as many, and that result stays.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

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

CHUNK = 100


def main() -> None:
    """Run all cells and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full counts to run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="keep finished cells here, and continue from it")
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
    """Runs cells, each once: finished ones are kept in a file if there is one."""

    share: float
    jobs: int
    kept: Path | None

    def check(self, cell: Cell, sizes: tuple[int, int], fixed: bool) -> tuple[Check, str]:
        """Counts of a cell and the verdict, from the file or from a run."""
        name = f"{cell.name}, {sizes}, {'fixed' if fixed else 'fresh'}"
        draws = max(CHUNK, round(cell.draws * self.share))
        finished = [row for row in self._rows() if row["cell"] == name and row["draws"] >= draws]
        if finished:
            row = max(finished, key=lambda row: row["draws"])
            return Check(row["draws"], row["rejections"], row["surprises"]), row["verdict"]
        check, verdict = self._run(cell, sizes, fixed, draws)
        if self.kept is not None:
            row = {"cell": name, "verdict": verdict, **asdict(check)}
            with self.kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return check, verdict

    def _rows(self) -> list[dict[str, Any]]:
        if self.kept is None or not self.kept.exists():
            return []
        return [json.loads(line) for line in self.kept.read_text().splitlines()]

    def _run(
        self, cell: Cell, sizes: tuple[int, int], fixed: bool, draws: int
    ) -> tuple[Check, str]:
        check = _run(cell, sizes, fixed, range(draws), self.jobs)
        if check.passed:
            return check, "holds"
        check = _run(cell, sizes, fixed, range(draws, 5 * draws), self.jobs)
        return check, "holds (second run)" if check.passed else "FAILS"


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


def _run(cell: Cell, sizes: tuple[int, int], fixed: bool, draws: range, jobs: int) -> Check:
    # Cells are named, not sent: their functions are local to the module.
    chunks = [range(i, min(i + CHUNK, draws.stop)) for i in range(draws.start, draws.stop, CHUNK)]
    place = CELLS.index(cell)
    parts = Parallel(n_jobs=jobs)(delayed(_chunk)(place, sizes, fixed, chunk) for chunk in chunks)
    return check_pvalues(np.concatenate(parts), cell.resamples_at(sizes))


def _chunk(place: int, sizes: tuple[int, int], fixed: bool, draws: range) -> np.ndarray:
    return null_pvalues(CELLS[place], sizes, draws, fixed_seed=fixed)


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
