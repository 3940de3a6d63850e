"""How often any of several levels gets a false word, alone or in a row, and what that needs.

    python benchmarks/calibration/levels.py --out docs/measured/calibration_levels.md

Levels share one reference. Numbers per row are given (a loss of the model in use, a loss and a
gradient of the shared model), so that a draw is cheap and each question can be true or false by
itself. Broken variants must be caught by the same count: a loop that judges every level at the full
alpha, a word that is given without its own question, and a run that is chosen by its data and then
tested as if it had been named before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import NOT_YET, UNFINISHED, Counts, rate, write_page

from rdiv import Comparisons, compare_many
from rdiv.comparison.family import Family
from rdiv.comparison.verdicts import verdict_of
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.multiplicity import Correction
from rdiv.samples.pool import Pool

ALPHA = 0.05
SEED = 72
PART = 50


@dataclass(frozen=True)
class Columns:
    """A shared model whose loss and gradient are columns of the table."""

    held_out = True
    row_loss = "number"

    def fit(self, pool: Pool, rng: np.random.Generator) -> Columns:
        """Nothing to fit."""
        del pool, rng
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """The first column."""
        return pool.numbers()[:, 0].astype(float)

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """The second column."""
        return pool.numbers()[:, 1:2].astype(float)


SETTINGS: dict[str, Any] = {
    "loss": "loss", "target": "y", "retrain": Columns(), "drivers": False, "n_resamples": 199,
}  # fmt: skip


class Cell(NamedTuple):
    """One setting: sizes, how many levels, and what moves in every one of them."""

    reference: int
    rows: int
    levels: int = 5
    loss: float = 0.0
    gradient: float = 0.0
    draws: int = 1000


CELLS = {
    "nothing moved, 60 + 5 x 60": Cell(60, 60),
    "nothing moved, 300 + 5 x 40": Cell(300, 40),
    "the model in use alone moved, 300 + 5 x 60": Cell(300, 60, loss=0.75, draws=600),
    "gradients alone moved, 300 + 5 x 60": Cell(300, 60, gradient=0.45, draws=600),
}
BROKEN = ("each level alone (broken)", "hidden shift without its own question (broken)")
CORRECTED: tuple[Correction, ...] = ("holm", "bh")
IN_A_ROW = ("in a row, chosen in every permutation", "in a row, as if named (broken)")
DAYS = Cell(400, 40, levels=10, draws=200)


def table(n: int, rng: np.random.Generator, loss: float, gradient: float) -> pl.DataFrame:
    """Rows with skewed losses in use, and a loss and a gradient of the shared model."""
    moved = rng.normal(size=n) ** 2 + loss
    first, second, y = rng.normal(size=(3, n))
    return pl.DataFrame({"loss": moved, "a": first, "b": second + gradient, "y": y})


Drawn = tuple[pl.DataFrame, dict[str, pl.DataFrame]]


def compared(
    cell: Cell, seed: int, gaps: tuple[float, ...] | None = None
) -> tuple[Comparisons, Drawn]:
    """One draw of a cell and its tables; `gaps` moves the loss of every level by its own amount."""
    rng = np.random.default_rng([SEED, seed, cell.reference, cell.rows, cell.levels])
    reference = table(cell.reference, rng, 0.0, 0.0)
    moved = gaps or (cell.loss,) * cell.levels
    levels = {
        f"level {k}": table(cell.rows, rng, moved[k], cell.gradient) for k in range(cell.levels)
    }
    kept = {**SETTINGS, "n_resamples": max(199, 40 * (cell.levels + 1) - 1)}
    return compare_many(reference, levels, rng=seed, **kept), (reference, levels)


def false_words(found: Comparisons, cell: Cell) -> dict[str, bool]:
    """Whether each procedure gives any level a word that is wrong."""
    ones = {level.name: level.comparison for level in found.tested if level.comparison}
    run, size = found.run, len(ones) + 1
    families = {name: Family(size, ALPHA, name, None, 0) for name in CORRECTED}
    judged = {name: family.judged(ones, run) for name, family in families.items()}
    words: dict[str, bool] = {
        name: any(_wrong(str(level.verdict), cell) for level in levels.values())
        for name, levels in judged.items()
    }
    if not cell.loss and not cell.gradient:  # then levels in a row are a false word, too
        for name, family in families.items():
            row = family.adjusted_run(ones, run)
            words[name] |= row is not None and row.shown
    alone = [verdict_of(one.adjusted_pvalues, one.pvalue, ALPHA, "in-use") for one in ones.values()]
    words[BROKEN[0]] = any(_wrong(str(word), cell) for word in alone)
    blind = [
        "hidden shift" if level.verdict == "shift, kind not established" else str(level.verdict)
        for level in judged["holm"].values()
    ]
    words[BROKEN[1]] = any(_wrong(w, cell) for w in blind)
    return words


def _wrong(word: str, cell: Cell) -> bool:
    """Whether a word says of a level what is not so; nothing is said by "kind not established"."""
    if not cell.loss and not cell.gradient:
        return word != "no shift"
    return word == ("hidden shift" if cell.loss else "risk shift")


def false_runs(found: Comparisons, drawn: Drawn, seed: int) -> dict[str, bool]:
    """Whether consecutive levels raise a false alarm at .05, by the real and the broken p-value."""
    if found.run is None:
        return dict.fromkeys(IN_A_ROW, False)
    reference, levels = drawn
    chosen = pl.concat([levels[name] for name in found.run.levels])
    losses = np.concatenate([reference["loss"].to_numpy(), chosen["loss"].to_numpy()])
    is_p = np.arange(len(losses)) < len(reference)
    rng = np.random.default_rng([SEED, 1, seed])
    named = permute(mean_gap(losses), is_p, PermutationSettings(n_resamples=99), rng=rng)
    return dict(zip(IN_A_ROW, (found.run.pvalue <= ALPHA, named.pvalue <= ALPHA), strict=True))


def wrong_words(key: dict[str, Any], draws: range) -> dict[str, Any]:
    """In how many draws each procedure gives a false word."""
    cell, total = CELLS[key["cell"]], dict.fromkeys(procedures(key["cell"]), 0)
    for seed in draws:
        found, drawn = compared(cell, seed)
        both = false_words(found, cell)
        if IN_A_ROW[0] in total:
            both |= false_runs(found, drawn, seed)
        for procedure in total:
            total[procedure] += int(both[procedure])
    return total


def procedures(name: str) -> tuple[str, ...]:
    """The procedures that are judged in a cell."""
    if name.startswith("nothing"):
        return (*CORRECTED, *BROKEN, *IN_A_ROW)
    return ("holm", *BROKEN)  # bh bounds a share, not the probability of any


def ten_days(key: dict[str, Any], draws: range) -> dict[str, Any]:
    """In how many draws any of ten worse days is shown alone, and in a row."""
    alone = together = 0
    for seed in draws:
        gaps = tuple(np.random.default_rng([SEED, 2, seed]).uniform(0.33, 0.61, DAYS.levels))
        found, _ = compared(DAYS, seed, gaps)
        alone += any(level.verdict == "risk shift" for level in found.levels)
        together += found.run_shown
    return {"alone": alone, "row": together}


HEAD = """# Many levels, no shift

<!-- Written by benchmarks/calibration/levels.py (make calibrate); do not edit. -->

Levels against one reference: how often *any* level is given a word that is wrong, at alpha = .05.
Numbers per row are given (239 permutations). Where nothing moved, every word is wrong, that of
levels in a row included; the p-value of a run is counted by itself below it. Where the
loss of the model in use alone moved, "hidden shift" is: it claims that the shared loss or the
gradients changed. Where gradients alone moved, "risk shift" is. Holm promises at most .05; so does
Benjamini-Hochberg where nothing moved, since every finding is false then.

Broken variants must be caught where they can be: a loop that judges each level at .05; a "hidden
shift" that is said of every level that differs without a risk shift of its own; and a run of levels
that is chosen by its data and then tested as if it had been named before.

| what moved, rows | procedure | draws | any false word | 95 % interval | verdict |
|---|---|---|---|---|---|"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.split("\n")
    caught = dict.fromkeys((*BROKEN, IN_A_ROW[1]), False)
    complete = True
    for name, cell in CELLS.items():
        found = counts.count(wrong_words, {"cell": name}, range(counts.of(cell.draws)), PART)
        complete &= found.complete
        for procedure in procedures(name):
            many = too_many(found.total(procedure), found.draws)
            word = UNFINISHED if not found.complete else "FAILS" if many else "holds"
            if procedure in caught:
                caught[procedure] |= many
                word = "caught" if many else ""
            told = f"{found.shown} | {rate(found.total(procedure), found.draws)} | {word}"
            yield f"| {name} | {procedure} | {told} |"
    missed = [procedure for procedure, found_out in caught.items() if not found_out]
    if complete and missed:
        yield from ("", f"NOT CAUGHT in any line: {', '.join(missed)}.")
    yield from _days(counts)


def too_many(count: int, draws: int) -> bool:
    """Whether so many false words are too surprising at a level of .05."""
    return bool(draws and binomtest(count, draws, ALPHA, alternative="greater").pvalue < 0.001)


def _days(counts: Counts) -> Iterator[str]:
    found = counts.count(ten_days, {"cell": "ten days"}, range(counts.of(DAYS.draws)), 10)
    alone, together = (
        f"{found.total(name) / found.draws:.2f} of the draws" if found.draws else NOT_YET
        for name in ("alone", "row")
    )
    yield from (
        "",
        f"Ten days of 40 rows, each worse by .33 to .61, against 400 reference rows ({found.shown} "
        f"draws): any day alone was shown in {alone}, the days in a row in {together}.",
        "",
        "Seeds from 0 on. Command:",
        "`python benchmarks/calibration/levels.py --out docs/measured/calibration_levels.md`.",
    )


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_levels")


if __name__ == "__main__":
    from benchmarks.calibration.levels import main as start  # where workers find it

    start()
