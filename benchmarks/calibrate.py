"""Count false alarms of every test, and write the table of the docs.

    python benchmarks/calibrate.py --out docs/calibration.md

Each cell draws p and q from one distribution thousands of times. A cell that fails is run once
more with new draws and four times as many, and that result stays.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.calibration import (
    BROKEN,
    CELLS,
    RESAMPLES,
    SIZES,
    Cell,
    Check,
    check_pvalues,
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
    args = parser.parse_args()
    lines = [*page(args.share, args.jobs)]
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


def page(share: float, jobs: int) -> Iterator[str]:
    """Lines of the page, printed as they come."""
    for line in (*_intro(), *_cells(share, jobs), *_twins(share), *_risks(share)):
        print(line, flush=True)
        yield line


INTRO = """\
# Calibration

<!-- Written by benchmarks/calibrate.py (make calibrate); do not edit. -->

False alarms of every test when p and q come from one distribution. A test is right if its p-values
are uniform: the columns show rejections at 0.05 and 0.10, and how surprising the whole distribution
is (chi-square over all cells). A cell fails when one of the three is less likely than 0.001; it is
then run once more with new draws, four times as many, and that result stays.

Draw `i` comes from `default_rng([20, i])`; the test's own seed is `i` (fresh) or 0 (fixed).
Command: `python benchmarks/calibrate.py --out docs/calibration.md` (`make calibrate`).\
"""


def _intro() -> Iterator[str]:
    yield from INTRO.split("\n")


def _cells(share: float, jobs: int) -> Iterator[str]:
    yield ""
    yield "| test | rows | seed | draws | at 0.05 | at 0.10 | chi-square p | verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    for cell in CELLS:
        for sizes in SIZES:
            for fixed in (False, True):
                yield _row(cell, sizes, fixed, share, jobs)


def _row(cell: Cell, sizes: tuple[int, int], fixed: bool, share: float, jobs: int) -> str:
    draws = max(CHUNK, round(cell.draws * share))
    start = time.perf_counter()
    check = _run(cell, sizes, fixed, range(draws), jobs)
    verdict = "holds"
    if not check.passed:
        check = _run(cell, sizes, fixed, range(draws, 5 * draws), jobs)
        verdict = "holds (second run)" if check.passed else "FAILS"
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    seed = "fixed" if fixed else "fresh"
    rows = f"{sizes[0]} + {sizes[1]}"
    return f"| {cell.name} | {rows} | {seed} | {check.draws} | {_rates(check)} | {verdict} |"


def _run(cell: Cell, sizes: tuple[int, int], fixed: bool, draws: range, jobs: int) -> Check:
    # Cells are named, not sent: their functions are local to the module.
    chunks = [range(i, min(i + CHUNK, draws.stop)) for i in range(draws.start, draws.stop, CHUNK)]
    place = CELLS.index(cell)
    parts = Parallel(n_jobs=jobs)(delayed(_chunk)(place, sizes, fixed, chunk) for chunk in chunks)
    return check_pvalues(np.concatenate(parts), RESAMPLES[sizes])


def _chunk(place: int, sizes: tuple[int, int], fixed: bool, draws: range) -> np.ndarray:
    return null_pvalues(CELLS[place], sizes, draws, fixed_seed=fixed)


def _rates(check: Check) -> str:
    rates = [f"{count / check.draws:.4f}" for count in check.rejections]
    return f"{rates[0]} | {rates[1]} | {check.surprises[-1]:.3f}"


def _twins(share: float) -> Iterator[str]:
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


if __name__ == "__main__":
    main()
